// SPDX-License-Identifier: Apache-2.0
// What headwayd does for a job, for a message and for the kernel's state: the real
// planner, control service, sockets and reconciler; only the kernel is one in memory.
#include <malloc.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <spdlog/logger.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <memory>

#include <benchmark/benchmark.h>
#include <spdlog/sinks/null_sink.h>

#include "daemon/control_server.hpp"
#include "daemon/control_socket.hpp"
#include "daemon_node.hpp"

namespace headway::test {
namespace {

constexpr int clusters = 32;
constexpr int hosts_per_cluster = 32;

Topology thousand_hosts() { return bench_topology(clusters, hosts_per_cluster); }

/// All hosts of the first `count` clusters, as a JSON array of host lists.
std::string hosts_of(int count) {
    std::string list;
    for (int c = 0; c < count; ++c) {
        list += fmt::format(R"({}"c{}-[0-{}]")", c == 0 ? "" : ",", c, hosts_per_cluster - 1);
    }
    return "[" + list + "]";
}

std::string start_request(const std::string& job, const std::string& hosts) {
    return fmt::format(R"({{"v":1,"id":1,"op":"job_start","job":"{}","hosts":{},)"
                       R"("operation":"alltoall","lasting":true}})", job, hosts);
}

std::string end_request(const std::string& job) {
    return fmt::format(R"({{"v":1,"id":1,"op":"job_end","job":"{}"}})", job);
}

std::string collective(const char* op, const std::string& hosts, std::uint32_t ranks_per_host = 1) {
    return fmt::format(R"({{"v":1,"id":1,"op":"{}","operation":"alltoall","job_hosts":{},)"
                       R"("comm_hosts":{},"ranks_per_host":{},"message_bytes":1048576}})", op,
                       hosts, hosts, ranks_per_host);
}

std::size_t heap_bytes() {
    const struct mallinfo2 heap = mallinfo2();
    return heap.uordblks + heap.hblkhd;
}

/// Jobs of 64 hosts that were started before, this node among each one's.
bool start_others(BenchNode& node, ControlService::SessionId root, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
        if (!node.ask(root, start_request(fmt::format("other-{}", i), hosts_of(2)))) return false;
    }
    return true;
}

// ------------------------------------------------------------------------- jobs

/// From `headway job start` of a job of 1024 hosts to its rates in the kernel, while so
/// many others are there: their rates change with it.
void BM_StartJob(benchmark::State& state) {
    BenchNode node(thousand_hosts(), true);
    const auto root = node.connect();
    if (!start_others(node, root, state.range(0) - 1)) state.SkipWithError("others refused");
    const std::string start = start_request("job", hosts_of(clusters)), end = end_request("job");
    for (auto _ : state) {
        const bool is_granted = node.ask(root, start);
        state.PauseTiming();
        if (!is_granted || node.limited_classes() == 0) {
            state.SkipWithError("no rates in the kernel");
            break;
        }
        node.ask(root, end);
        state.ResumeTiming();
    }
}
BENCHMARK(BM_StartJob)->Arg(1)->Arg(10)->Arg(100)->Unit(benchmark::kMillisecond);

/// Times a job's first process from its connection until it may store the number of its phase,
/// whose class is in the kernel.  Another number of ranks is another plan.
void BM_FirstProcess(benchmark::State& state) {
    BenchNode node(thousand_hosts(), true);
    if (!start_others(node, node.connect(), state.range(0) - 1)) state.SkipWithError("others refused");
    std::uint32_t ranks = 0;
    for (auto _ : state) {
        state.PauseTiming();
        ranks = ranks % ranks_per_host_max + 1;
        const std::string phase = collective("phase", hosts_of(clusters), ranks);
        state.ResumeTiming();
        const auto rank = node.connect();
        const bool granted = node.ask(rank, R"({"v":1,"id":1,"op":"join","job":"job"})") &&
                             node.ask(rank, phase);
        state.PauseTiming();
        if (!granted || node.limited_classes() == 0) {
            state.SkipWithError("no rates in the kernel");
            break;
        }
        node.service().close(rank);
        state.ResumeTiming();
    }
}
BENCHMARK(BM_FirstProcess)->Arg(1)->Arg(10)->Arg(100)->Unit(benchmark::kMillisecond);

/// Measures the heap that 100 jobs of 1024 hosts hold, and 1000 clients with a plan each.
void BM_MemoryOfJobs(benchmark::State& state) {
    for (auto _ : state) {
        BenchNode node(thousand_hosts(), true);
        const auto root = node.connect();
        const std::size_t before = heap_bytes();
        for (std::int64_t i = 0; i < state.range(0); ++i) {
            if (!node.ask(root, start_request(fmt::format("job-{}", i), hosts_of(clusters)))) {
                state.SkipWithError("refused");
            }
        }
        state.counters["held_bytes"] = static_cast<double>(heap_bytes() - before);
    }
}
BENCHMARK(BM_MemoryOfJobs)->Arg(100)->Iterations(1)->Unit(benchmark::kMillisecond);

void BM_MemoryOfClients(benchmark::State& state) {
    for (auto _ : state) {
        BenchNode node(thousand_hosts(), true);
        const std::size_t before = heap_bytes();
        const std::string prepare = collective("prepare", hosts_of(clusters));
        for (std::int64_t i = 0; i < state.range(0); ++i) {
            const auto rank = node.connect(1000);
            if (!node.ask(rank, R"({"v":1,"id":1,"op":"hello","job":"1","rank":0,"pid":1})") ||
                !node.ask(rank, prepare)) {
                state.SkipWithError("refused");
            }
        }
        state.counters["held_bytes"] = static_cast<double>(heap_bytes() - before);
    }
}
BENCHMARK(BM_MemoryOfClients)->Arg(1000)->Iterations(1)->Unit(benchmark::kMillisecond);

// --------------------------------------------------------------------- messages

/// The daemon's socket and event loop, and clients in the same thread.
class Socket {
public:
    explicit Socket(BenchNode& node) {
        char name[] = "/tmp/headway-bench-XXXXXX";
        dir_ = mkdtemp(name);
        socket_.emplace(*ControlSocket::bind(dir_ / "control.sock", std::nullopt));
        is_ready_ = socket_->listen().has_value();
        server_ =
            std::make_unique<ControlServer>(loop_, socket_->fd(), node.service(), hand_over_, log_);
    }
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;
    ~Socket() {
        server_.reset();
        socket_.reset();
        std::filesystem::remove_all(dir_);
    }

    [[nodiscard]] bool is_ready() const { return is_ready_; }

    FileDescriptor connect() {
        FileDescriptor client(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0));
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        (dir_ / "control.sock").string().copy(address.sun_path, sizeof(address.sun_path) - 1);
        is_ready_ = ::connect(client.get(), reinterpret_cast<const sockaddr*>(&address),
                              sizeof(address)) == 0 && is_ready_;
        run();
        return client;
    }

    /// Until nothing is left to do.
    void run() {
        while (sd_event_run(loop_.get(), 0) > 0) {
        }
    }

private:
    std::filesystem::path dir_;
    bool is_ready_ = false;
    EventLoop loop_;
    spdlog::logger log_{"bench", std::make_shared<spdlog::sinks::null_sink_st>()};
    std::optional<ControlSocket> socket_;
    HandOver hand_over_{nullptr, log_};
    std::unique_ptr<ControlServer> server_;
};

bool say(const FileDescriptor& client, const std::string& request) {
    return send(client.get(), request.data(), request.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(request.size());
}

bool is_granted(const FileDescriptor& client) {
    static std::array<char, datagram_max_bytes> buffer;
    const ssize_t got = recv(client.get(), buffer.data(), buffer.size(), 0);
    return got > 0 && std::string_view(buffer.data(), static_cast<std::size_t>(got))
                              .find("\"ok\":true") != std::string_view::npos;
}

/// Each client sends one request, then all read their answers; the clients' part counts
/// as well.
void messages(benchmark::State& state, const std::vector<std::string>& preparing,
              const std::vector<std::string>& requests) {
    BenchNode node(thousand_hosts(), true);
    Socket socket(node);
    std::vector<FileDescriptor> clients;
    bool is_well = socket.is_ready();
    const auto all_ask = [&](const std::string& request) {
        for (const FileDescriptor& client : clients) is_well = say(client, request) && is_well;
        socket.run();
        for (const FileDescriptor& client : clients) is_well = is_granted(client) && is_well;
    };
    for (std::int64_t i = 0; i < state.range(0); ++i) clients.push_back(socket.connect());
    for (const std::string& request : preparing) all_ask(request);
    for (auto _ : state) {
        for (const std::string& request : requests) all_ask(request);
    }
    if (!is_well) state.SkipWithError("a request was refused or lost");
    state.SetItemsProcessed(state.iterations() * state.range(0) *
                            static_cast<std::int64_t>(requests.size()));
}

void BM_Hello(benchmark::State& state) {
    messages(state, {}, {R"({"v":1,"id":1,"op":"hello","job":"1","rank":0,"pid":1})"});
}
void BM_EnterLeave(benchmark::State& state) {
    messages(state, {collective("prepare", hosts_of(clusters))},
             {R"({"v":1,"id":1,"op":"enter","pattern":1,"message_bytes":1048576})",
              R"({"v":1,"id":1,"op":"leave"})"});
}
/// As each process of a job asks once per kind of collective.
void BM_Phase(benchmark::State& state) {
    messages(state, {R"({"v":1,"id":1,"op":"join","job":"1"})"},
             {collective("phase", hosts_of(clusters))});
}
void BM_Status(benchmark::State& state) {
    messages(state, {}, {R"({"v":1,"id":1,"op":"status"})"});
}
BENCHMARK(BM_Hello)->Arg(1)->Arg(64)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_EnterLeave)->Arg(1)->Arg(64)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Phase)->Arg(1)->Arg(64)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Status)->Arg(1)->Arg(64)->Unit(benchmark::kMillisecond);

// -------------------------------------------------------------------- reconcile

/// A pass over so many classes with a filter each; `break_some` spoils the kernel's
/// state before each.  The kernel in memory answers within the time.
template <class BreakSome>
void reconcile(benchmark::State& state, bool mends, BreakSome break_some) {
    BenchNode node(bench_topology(static_cast<int>(state.range(0)), 1), false);
    Reconciler reconciler(node.service().kernel(), node.clock(), node.service());
    const FakeQdisc whole = node.qdisc();
    if (!node.is_ready() || whole.classes.size() != static_cast<std::size_t>(state.range(0))) {
        state.SkipWithError("not set up");
    }
    for (auto _ : state) {
        state.PauseTiming();
        break_some(node.qdisc());
        state.ResumeTiming();
        const KernelDiff diff = reconciler.run();
        state.PauseTiming();
        const bool is_right = node.qdisc() == whole && diff.changes.empty() != mends;
        if (reconciler.status().error || !is_right) {
            state.SkipWithError("not put right");
            break;
        }
        state.ResumeTiming();
    }
    state.SetItemsProcessed(state.iterations() * state.range(0));
}

void BM_ReconcileNothing(benchmark::State& state) {
    reconcile(state, false, [](FakeQdisc&) {});
}
void BM_ReconcileRates(benchmark::State& state) {
    reconcile(state, true, [](FakeQdisc& root) {
        std::size_t number = 0;
        for (auto& [handle, one] : root.classes) {
            if (++number % 100 == 0) one.rate = BytesPerSecond{1'000'000};
        }
    });
}
void BM_ReconcileAll(benchmark::State& state) {
    reconcile(state, true, [](FakeQdisc& root) { root = FakeDevice{}.root; });
}
BENCHMARK(BM_ReconcileNothing)->Arg(1'000)->Arg(10'000)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_ReconcileRates)->Arg(1'000)->Arg(10'000)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_ReconcileAll)->Arg(1'000)->Arg(10'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace headway::test
