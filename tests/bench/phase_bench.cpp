// SPDX-License-Identifier: Apache-2.0
// What it costs to change the rate of a node's packets, in four ways, and how
// soon the wire shows it.  Runs in a guest in which headwayd, with phases, has
// the simwire device; prints a JSON object per way.
//   phase_bench DEVICE SOCKET CLASS ADDRESS HOST...
//   phase_bench --store       the store alone, anywhere
// CLASS is the trunk's, ADDRESS an IPv4 address behind it.
//
// Under -icount a nanosecond is an instruction, of whoever executes it: kernel,
// daemon and client share the one processor.
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <tl/expected.hpp>

#include "daemon_link.hpp"
#include "kernel/netlink_exchange.hpp"
#include "kernel/netlink_traffic_control.hpp"
#include "phase_slot.hpp"

namespace headway {
namespace {

using glue::DaemonLink;
using glue::ObjectText;
using Json = nlohmann::json;

[[noreturn]] void die(const std::string& what) {
    std::fprintf(stderr, "phase_bench: %s\n", what.c_str());
    std::exit(1);
}

template <class Value, class Failure>
Value must(tl::expected<Value, Failure> result, const char* what) {
    if (!result) die(what);
    if constexpr (!std::is_void_v<Value>) return std::move(*result);
}

std::uint64_t now_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(now.tv_nsec);
}

template <class Number>
Number median(std::vector<Number> values) {
    std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
    return values[values.size() / 2];
}

/// A way to change the rate to the plan's and back.
struct Way {
    std::string name;
    std::function<void()> slow;
    std::function<void()> rest;
    int rounds;
    int repeats = 1;  ///< within a round, for what is too short to be timed once
};

/// Nanoseconds of one switch: to the rate, or back.
std::uint64_t cost_ns(const Way& way, const std::function<void()>& action,
                      const std::function<void()>& back) {
    std::vector<std::uint64_t> costs;
    for (int round = 0; round < way.rounds; ++round) {
        std::uint64_t spent = 0;
        if (way.repeats == 1) {
            const std::uint64_t start = now_ns();
            action();
            spent = now_ns() - start;
            back();
        } else {
            // as many of both, half of the time each
            const std::uint64_t start = now_ns();
            for (int i = 0; i < way.repeats; ++i) {
                action();
                back();
            }
            spent = (now_ns() - start) / (2 * static_cast<std::uint64_t>(way.repeats));
        }
        costs.push_back(spent);
    }
    return median(costs);
}

// ---------------------------------------------------------------------- wire

class Wire {
public:
    Wire(const std::string& device, const std::string& address)
        : folder_("/sys/class/net/" + device + "/simwire/"),
          socket_(socket(AF_PACKET, SOCK_RAW, htons(ETH_P_IP))) {
        sockaddr_ll place{};
        place.sll_family = AF_PACKET;
        place.sll_protocol = htons(ETH_P_IP);
        place.sll_ifindex = static_cast<int>(if_nametoindex(device.c_str()));
        if (bind(socket_, reinterpret_cast<sockaddr*>(&place), sizeof(place)) != 0) die("bind");
        frame_.assign(1014, 'x');
        std::memcpy(frame_.data(), "\2\0\0\0\0\2\2\0\0\0\0\1\x08\0", ETH_HLEN);
        ip header{};
        header.ip_v = 4;
        header.ip_hl = 5;
        header.ip_len = htons(1000);
        header.ip_ttl = 64;
        header.ip_p = 17;
        inet_pton(AF_INET, address.c_str(), &header.ip_dst);
        std::memcpy(frame_.data() + ETH_HLEN, &header, sizeof(header));
    }

    void record() { std::ofstream(folder_ + "record_frames") << 1024; }
    void send() {
        if (::send(socket_, frame_.data(), frame_.size(), 0) < 0) die("send");
    }
    /// When each data frame started; waits for that many.
    std::vector<std::uint64_t> starts(std::size_t count) {
        for (int tries = 0; tries < 10000; ++tries) {
            std::vector<std::uint64_t> found = read();
            if (found.size() >= count) return found;
            usleep(100);
        }
        die("the frames did not leave");
    }

private:
    struct Record {
        std::uint64_t start_ns;
        std::uint32_t wire_bytes;
        std::uint16_t protocol;
        std::uint16_t reserved;
    };

    std::vector<std::uint64_t> read() {
        std::ifstream in(folder_ + "records", std::ios::binary);
        const std::string bytes(std::istreambuf_iterator<char>(in), {});
        std::vector<std::uint64_t> starts;
        for (std::size_t at = 0; at + sizeof(Record) <= bytes.size(); at += sizeof(Record)) {
            Record record{};
            std::memcpy(&record, bytes.data() + at, sizeof(record));
            if (record.protocol == htons(ETH_P_IP)) starts.push_back(record.start_ns);
        }
        return starts;
    }

    std::string folder_;
    int socket_;
    std::string frame_;
};

struct OnTheWire {
    std::uint64_t first_ns;    ///< from the switch to the first frame after it
    std::uint64_t spacing_ns;  ///< from that to the next
};

/// A switch, and frames right behind it.
OnTheWire watch(Wire& wire, const Way& way) {
    wire.record();
    const std::uint64_t start = now_ns();
    way.slow();
    for (int i = 0; i < 3; ++i) wire.send();
    const auto starts = wire.starts(3);
    way.rest();
    return {starts[0] - start, starts[2] - starts[1]};
}

// ---------------------------------------------------------------------- ways

/// A client that has joined, and its phase of the all-to-all.
struct Client {
    DaemonLink link;
    glue::PhaseSlot slot;
    glue::Phase phase;
    std::uint64_t pattern;
    std::uint64_t bytes_per_s;  ///< towards the remote cluster
};

Client connect(const std::string& socket, const std::vector<std::string>& hosts) {
    auto link = must(DaemonLink::connect(socket, std::chrono::seconds(20)), "connect");
    auto joined = must(link.ask_for_file(ObjectText("join").text("job", "bench")), "join");
    auto slot = glue::PhaseSlot::map(joined.file, {*joined.body.whole_number("map_bytes"),
                                                   *joined.body.whole_number("slot_offset"),
                                                   *joined.body.whole_number("generation_offset")});
    if (!slot) die("mapping the slot");
    const auto request = [&](const char* op) {
        ObjectText text(op);
        text.text("operation", "alltoall").texts("job_hosts", hosts).texts("comm_hosts", hosts);
        return Json::parse(must(link.ask(text), op).received());
    };
    const Json phase = request("phase");
    const Json pattern = request("prepare");
    return {std::move(link), std::move(*slot), {phase["phase"], phase["bytes_per_s"]},
            pattern["pattern"], phase["rates"].back()["bytes_per_s"]};
}

void run(const std::vector<std::string>& words) {
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    pid_t child = 0;
    int status = 0;
    if (posix_spawnp(&child, arguments[0], nullptr, nullptr, arguments.data(), environ) != 0 ||
        waitpid(child, &status, 0) != child || status != 0) {
        die(words.front());
    }
}

std::vector<Way> ways(Client& client, TrafficControl& kernel, const std::string& device,
                      TcHandle classid) {
    const auto set = [&kernel, classid](ClassRate rate) {
        const Change change = ChangeClassRate{classid, rate};
        if (!kernel.apply(std::span(&change, 1), ApplyMode::together)) die("netlink");
    };
    const auto tc = [device, classid](const std::string& rate) {
        run({"tc", "class", "change", "dev", device, "parent", "1:", "classid",
             classid.to_string(), "gap", "rate", rate});
    };
    const BytesPerSecond rate{client.bytes_per_s};
    return {
        {"store", [&client] { client.slot.enter(1, client.phase); },
         [&client] { client.slot.leave(1); }, 101, 1000},
        {"request",
         [&client] {
             must(client.link.ask(ObjectText("enter").number("pattern", client.pattern)), "enter");
         },
         [&client] { must(client.link.ask(ObjectText("leave")), "leave"); }, 101},
        {"netlink", [set, rate] { set(rate); }, [set] { set(std::nullopt); }, 101},
        {"tc", [tc, rate] { tc(rate_to_tc(rate.bits())); }, [tc] { tc("unlimited"); }, 7},
    };
}

Json measure(Wire& wire, const Way& way) {
    Json result{{"way", way.name},
                {"switch_ns", cost_ns(way, way.slow, way.rest)}};
    std::vector<std::uint64_t> first, spacing;
    for (int i = 0; i < 7; ++i) {
        const OnTheWire seen = watch(wire, way);
        first.push_back(seen.first_ns);
        spacing.push_back(seen.spacing_ns);
    }
    result["first_frame_ns"] = median(first);
    result["spacing_ns"] = median(spacing);
    return result;
}

int run(int argc, char** argv) {
    const std::string device = argv[1];
    Client client = connect(argv[2], {argv + 5, argv + argc});
    const std::string minor = std::string(argv[3]).substr(2);
    const TcHandle classid =
        tc_handle(1, static_cast<std::uint16_t>(std::stoul(minor, nullptr, 16)));
    auto transport = must(MnlTransport::open(), "netlink");
    auto kernel = must(NetlinkTrafficControl::open(transport, device), "device");
    Wire wire(device, argv[4]);
    for (const Way& way : ways(client, kernel, device, classid)) {
        Json result = measure(wire, way);
        // 1014 bytes and 24 of overhead
        result["expected_spacing_ns"] = 1038 * 1'000'000'000ULL / client.bytes_per_s;
        std::printf("%s\n", result.dump().c_str());
        std::fflush(stdout);
    }
    return 0;
}

/// Against memory that nobody reads.
int run_store() {
    const glue::UniqueFd memory(memfd_create("slots", MFD_CLOEXEC));
    if (ftruncate(memory.get(), 4096) != 0) die("memfd");
    auto slot = glue::PhaseSlot::map(memory, {260, 0, 256});
    const Way way{"store", [&] { slot->enter(1, {1, 1}); }, [&] { slot->leave(1); }, 101, 100'000};
    std::printf("{\"way\":\"store\",\"host_ns\":%llu}\n",
                static_cast<unsigned long long>(cost_ns(way, way.slow, way.rest)));
    return 0;
}

}  // namespace
}  // namespace headway

int main(int argc, char** argv) {
    if (argc == 2 && std::string(argv[1]) == "--store") return headway::run_store();
    if (argc < 6) headway::die("see the head of phase_bench.cpp");
    return headway::run(argc, argv);
}
