// SPDX-License-Identifier: Apache-2.0
// Do gap frames take their time on the wire?
//
// The qdisc is told to use them, and a class of its own gets short frames at so low a
// rate that gap frames fill the wire between them.  What the driver has given back by
// the end is held against what the link can carry in that time: more means that
// something drops gap frames instead of sending them; much less, that the device is
// slower than its speed says.  Other traffic goes on meanwhile, in place of gap frames.
//
// The short frames are PAUSE frames with a pause time of zero, as gap frames are: the
// port at the other end of the cable consumes them.  They go out through a packet socket.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "kernel/traffic_control.hpp"

namespace headway {

enum class GapFrameVerdict {
    passed,     ///< gap frames take their time
    lost,       ///< more was given back than the link can carry: something drops them
    slow,       ///< the device is slower than its speed says
    uncounted,  ///< the driver does not say how many bytes it has sent (no byte queue limits)
    stalled,    ///< no gap frame was sent: no carrier, or other traffic fills the link
    refused,    ///< the kernel does not use gap frames on this device
};

/// All amounts are of the time in which the wire was to be full.
struct GapFrameEvidence {
    GapFrameVerdict verdict = GapFrameVerdict::refused;
    std::string reason;  ///< in words
    std::optional<BytesPerSecond> link_rate;
    std::uint64_t took_ns = 0;
    std::uint64_t link_bytes = 0;  ///< what the link can carry in that time
    std::uint64_t sent_bytes = 0;  ///< on the wire, by what the driver has given back
    std::uint64_t gap_packets = 0;
    std::uint64_t underruns = 0;
};

/// Hands so many short frames to that class of the device that is tested, or as many as
/// there is room for; returns how many.  Never blocks.
using SendFrames = std::function<Result<std::size_t>(TcHandle classid, std::size_t frames)>;

/// One test.  The root qdisc is a gap; afterwards it uses gap frames if they passed, and
/// the timer else.
class GapFrameTest {
public:
    /// The class that exists during a test, below the root qdisc.
    static constexpr std::uint16_t class_minor = 0xfff0;
    static constexpr std::chrono::milliseconds step_time{5};

    /// The references must outlive the test.
    GapFrameTest(TrafficControl& kernel, SendFrames send, const Clock& clock)
        : kernel_(kernel), send_(std::move(send)), clock_(clock) {}

    /// Call it every step_time until there is a result.  A failure ends the test as well,
    /// with the timer in use.
    [[nodiscard]] Result<std::optional<GapFrameEvidence>> step();

    /// A test under way ends, with the timer in use.
    void cancel() { (void)end(false); }

private:
    [[nodiscard]] Result<std::optional<GapFrameEvidence>> begin();
    [[nodiscard]] Result<std::optional<GapFrameEvidence>> go_on();
    [[nodiscard]] Result<void> send();
    [[nodiscard]] bool end(bool passed);
    [[nodiscard]] std::chrono::nanoseconds duration() const;

    TrafficControl& kernel_;
    SendFrames send_;
    const Clock& clock_;
    TcHandle classid_;
    bool uses_gap_frames_ = false;  ///< so the kernel was told
    std::optional<BytesPerSecond> link_rate_;
    std::size_t frames_left_ = 0;
    std::chrono::nanoseconds began_at_{0};
    std::optional<GapCounters> first_;
};

/// Sends on that interface, as long as the result lives.  Fails without CAP_NET_RAW, and if
/// there is no such interface.
[[nodiscard]] Result<SendFrames> open_packet_device(const std::string& interface);

}  // namespace headway
