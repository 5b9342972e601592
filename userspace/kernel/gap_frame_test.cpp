// SPDX-License-Identifier: Apache-2.0
#include "kernel/gap_frame_test.hpp"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/pkt_sched_gap.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <memory>

#include "base/file_descriptor.hpp"
#include "gap_attr.h"

namespace headway {
namespace {

using namespace std::chrono_literals;

/// One short frame in so much time: the qdisc sleeps through longer gaps.
constexpr auto frame_interval = 300us;
constexpr auto duration_min = 40ms;
/// As much as a ring and the device's memory can hold ahead of the wire makes no
/// difference in so many bytes.
constexpr double bytes_min = 4.0 * 1024 * 1024;
constexpr double ahead_bytes = 640.0 * 1024;
/// Clocks of a host and of its network card differ by less.
constexpr double clock_tolerance = 1.0005;
constexpr double slow_below = 0.85;
constexpr auto stalled_after = 1s;

std::string rate_words(std::uint64_t bytes, std::uint64_t ns) {
    const double bits_per_s = 8e9 * static_cast<double>(bytes) / static_cast<double>(ns);
    return rate_to_text({static_cast<std::uint64_t>(std::llround(bits_per_s))});
}

/// Judges what was sent between two readings of the counters.
GapFrameEvidence judge_gap_frames(const GapCounters& begin, const GapCounters& end,
                                  BytesPerSecond link_rate) {
    GapFrameEvidence evidence;
    evidence.link_rate = link_rate;
    evidence.took_ns = end.stamp_ns - begin.stamp_ns;
    evidence.gap_packets = end.gap_packets - begin.gap_packets;
    evidence.underruns = end.underruns - begin.underruns;
    const double could = static_cast<double>(link_rate.value) * static_cast<double>(evidence.took_ns) / 1e9;
    evidence.link_bytes = static_cast<std::uint64_t>(std::llround(could));
    // Bytes that the driver was handed and has not completed were not sent.
    const auto with_driver = [](const GapCounters& c) {
        return std::int64_t{c.device_queued_bytes - c.device_completed_bytes};
    };
    const auto handed = static_cast<std::int64_t>(end.wire_bytes - begin.wire_bytes + end.gap_wire_bytes -
                                                  begin.gap_wire_bytes);
    const std::int64_t sent = handed - (with_driver(end) - with_driver(begin));
    evidence.sent_bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(sent, 0));
    const auto sent_bytes = static_cast<double>(evidence.sent_bytes);
    const std::string rates = fmt::format("{} on a link of {}", rate_words(evidence.sent_bytes, evidence.took_ns),
                                          rate_to_text(link_rate.bits()));
    const auto judged = [&](GapFrameVerdict verdict, std::string reason) {
        evidence.verdict = verdict;
        evidence.reason = std::move(reason);
        return evidence;
    };
    if (end.device_queued_bytes == 0 && end.device_completed_bytes == 0) {
        return judged(GapFrameVerdict::uncounted,
                      "the driver does not say how much it has sent (no byte queue limits)");
    }
    if (sent_bytes > could * clock_tolerance + ahead_bytes) {
        return judged(GapFrameVerdict::lost, "gap frames are dropped before the wire: " + rates);
    }
    if (sent_bytes < could * slow_below) {
        return judged(GapFrameVerdict::slow, "the device is slower than its speed: " + rates);
    }
    return judged(GapFrameVerdict::passed, "gap frames take their time: " + rates);
}

}  // namespace

std::chrono::nanoseconds GapFrameTest::duration() const {
    const auto needed = std::chrono::nanoseconds(
        std::llround(1e9 * bytes_min / static_cast<double>(link_rate_->value)));
    return std::max<std::chrono::nanoseconds>(needed, duration_min);
}

Result<std::optional<GapFrameEvidence>> GapFrameTest::step() {
    auto result = link_rate_ ? go_on() : begin();
    if (result && !*result) return result;
    const bool has_ended = end(result && (*result)->verdict == GapFrameVerdict::passed);
    if (result && !has_ended) return failure("the kernel did not let the self-test's class go");
    return result;
}

Result<std::optional<GapFrameEvidence>> GapFrameTest::begin() {
    const auto root = kernel_.root_qdisc();
    if (!root) return tl::unexpected(root.error());
    if (!*root || (*root)->kind != "gap") return failure("its root qdisc is no gap");
    classid_ = tc_handle((*root)->handle.major(), class_minor);
    if (auto done = kernel_.apply_one(ChangeBackend{(*root)->handle, GAP_BACKEND_GAP}); !done) {
        return GapFrameEvidence{GapFrameVerdict::refused, done.error().message, (*root)->link_rate};
    }
    uses_gap_frames_ = true;
    if (!(*root)->link_rate) {
        return GapFrameEvidence{GapFrameVerdict::refused, "the link rate is unknown", {}};
    }
    link_rate_ = (*root)->link_rate;
    const auto rate = BytesPerSecond{GAP_SLOT_MIN_BYTES * (1s / frame_interval)};
    (void)kernel_.apply_one(DeleteClass{classid_});  // of a test that was killed
    if (auto done = kernel_.apply_one(AddClass{classid_, std::min(rate, *link_rate_)}); !done) {
        return tl::unexpected(std::move(done.error()));
    }
    began_at_ = clock_.now();
    frames_left_ = static_cast<std::size_t>(2 * duration() / frame_interval);
    if (auto sent = send(); !sent) return tl::unexpected(sent.error());
    return std::nullopt;
}

Result<void> GapFrameTest::send() {
    const auto sent = send_(classid_, frames_left_);
    if (!sent) return tl::unexpected(sent.error());
    frames_left_ -= *sent;
    return {};
}

Result<std::optional<GapFrameEvidence>> GapFrameTest::go_on() {
    const auto root = kernel_.root_qdisc();
    if (!root) return tl::unexpected(root.error());
    if (!*root || (*root)->kind != "gap") return failure("its root qdisc is gone");
    const GapCounters& now = (*root)->counters;
    if ((*root)->backend != GAP_BACKEND_GAP) {
        const bool is_lost = (*root)->reason == GAP_REASON_LOST;
        return GapFrameEvidence{is_lost ? GapFrameVerdict::lost : GapFrameVerdict::refused,
                                gap_reason_text((*root)->reason), link_rate_};
    }
    if (auto sent = send(); !sent) return tl::unexpected(sent.error());
    if (!first_ && now.gap_packets > 0) {
        first_ = now;
        return std::nullopt;
    }
    const auto elapsed = clock_.now() - began_at_;
    const auto needed_ns = static_cast<std::uint64_t>(duration().count());
    if (first_ && now.stamp_ns - first_->stamp_ns >= needed_ns) {
        return judge_gap_frames(*first_, now, *link_rate_);
    }
    if (elapsed > 3 * duration() + stalled_after) {
        return GapFrameEvidence{GapFrameVerdict::stalled,
                                "no gap frame was sent: there is no carrier, or other traffic "
                                "fills the link",
                                link_rate_};
    }
    return std::nullopt;
}

bool GapFrameTest::end(bool passed) {
    std::vector<Change> changes;
    if (!passed && uses_gap_frames_) {
        changes.emplace_back(ChangeBackend{tc_handle(classid_.major(), 0), GAP_BACKEND_TIMER});
    }
    if (link_rate_) changes.emplace_back(DeleteClass{classid_});
    return changes.empty() || kernel_.apply(changes, ApplyMode::together).has_value();
}

namespace {

/// 802.3x: to the port at the other end, opcode 1 (pause), pause time 0.
constexpr std::array<std::uint8_t, ETH_ALEN> pause_address{0x01, 0x80, 0xc2, 0x00, 0x00, 0x01};
constexpr std::uint8_t pause_opcode = 1;

tl::unexpected<Error> socket_failure(const std::string& name, const char* what) {
    const char* const advice = errno == EPERM ? "; this needs root, or CAP_NET_RAW" : "";
    return system_failure(errno, "{}: {}: {}{}", name, what, std::strerror(errno), advice);
}

class PacketDevice {
public:
    PacketDevice(std::string name, FileDescriptor socket, const sockaddr& own_address)
        : name_(std::move(name)), socket_(std::move(socket)) {
        std::copy(pause_address.begin(), pause_address.end(), frame_.begin());
        std::copy_n(own_address.sa_data, ETH_ALEN, frame_.begin() + ETH_ALEN);
        frame_[12] = ETH_P_PAUSE >> 8;
        frame_[13] = ETH_P_PAUSE & 0xff;
        frame_[15] = pause_opcode;
    }

    Result<std::size_t> send(TcHandle classid, std::size_t frames) const {
        const std::uint32_t priority = classid.value;
        if (setsockopt(socket_.get(), SOL_SOCKET, SO_PRIORITY, &priority, sizeof(priority)) != 0) {
            return socket_failure(name_, "naming the class of the test's frames");
        }
        for (std::size_t sent = 0; sent < frames; ++sent) {
            if (::send(socket_.get(), frame_.data(), frame_.size(), 0) >= 0) continue;
            if (errno == EAGAIN || errno == ENOBUFS) return sent;
            return socket_failure(name_, "sending the test's frames");
        }
        return frames;
    }

private:
    static constexpr std::size_t frame_bytes = 60;

    std::string name_;
    FileDescriptor socket_;
    std::array<std::uint8_t, frame_bytes> frame_{};
};

}  // namespace

Result<SendFrames> open_packet_device(const std::string& name) {
    FileDescriptor socket(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) return socket_failure(name, "opening a packet socket");
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_ifindex = static_cast<int>(if_nametoindex(name.c_str()));
    if (address.sll_ifindex == 0) return socket_failure(name, "looking for the interface");
    if (bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
        return socket_failure(name, "binding a packet socket");
    }
    ifreq request{};
    name.copy(request.ifr_name, IFNAMSIZ - 1);
    if (ioctl(socket.get(), SIOCGIFHWADDR, &request) != 0) {
        return socket_failure(name, "reading the hardware address");
    }
    const auto device = std::make_shared<PacketDevice>(name, std::move(socket), request.ifr_hwaddr);
    return [device](TcHandle classid, std::size_t frames) { return device->send(classid, frames); };
}

}  // namespace headway
