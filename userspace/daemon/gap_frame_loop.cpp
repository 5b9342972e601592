// SPDX-License-Identifier: Apache-2.0
#include "daemon/gap_frame_loop.hpp"

#include <algorithm>
#include <fstream>
#include <thread>

#include "base/log.hpp"
#include "gap_attr.h"
#include "kernel/kernel_diff.hpp"

namespace headway {

GapFrameLoop::GapFrameLoop(EventLoop& loop, ControlService& service, TrafficControl& kernel,
                           spdlog::logger& log)
    : service_(service),
      kernel_(kernel),
      log_(log),
      interface_(service.planner().config().node.interface),
      timer_(loop.timer([this] { step(); })) {
    if (goes_on_with_gap_frames()) return;
    look();
    while (test_) {
        std::this_thread::sleep_for(GapFrameTest::step_time);
        step();
    }
}

GapFrameLoop::~GapFrameLoop() {
    if (test_) test_->cancel();
}

bool GapFrameLoop::is_wanted() const { return service_.planner().config().kernel.gap_frames; }

/// Goes on with gap frames if an earlier run has left them, having tested the device without being
/// interrupted.
bool GapFrameLoop::goes_on_with_gap_frames() {
    const auto root = kernel_.root_qdisc();
    if (!root || !is_ours(*root) || (*root)->backend != GAP_BACKEND_GAP) return false;
    if (!is_wanted()) {
        if (!kernel_.apply_one(ChangeBackend{(*root)->handle, GAP_BACKEND_TIMER})) {
            log_warning(log_, "HW-209 cannot end gap frames on {}", interface_);
        }
        return false;
    }
    const auto classes = kernel_.classes();
    const auto is_of_test = [](const ClassState& one) {
        return one.classid.minor() == GapFrameTest::class_minor;
    };
    if (!classes || std::ranges::any_of(*classes, is_of_test)) return false;
    tested_at_ = carrier_ups();
    service_.status().use_backend(gap_backend_name(GAP_BACKEND_GAP), "tested by an earlier run");
    return true;
}

/// Counts how often the carrier came up; none: there is no carrier, or nobody knows.
std::optional<std::uint64_t> GapFrameLoop::carrier_ups() const {
    const std::string folder = "/sys/class/net/" + interface_ + "/";
    int carrier = 0;
    std::uint64_t ups = 0;
    if (!(std::ifstream(folder + "carrier") >> carrier) || carrier == 0) return std::nullopt;
    if (!(std::ifstream(folder + "carrier_up_count") >> ups)) return std::nullopt;
    return ups;
}

void GapFrameLoop::look() {
    const auto root = kernel_.root_qdisc();
    if (test_ || !root || !is_ours(*root)) return;
    const auto ups = carrier_ups();
    // A qdisc that was made anew begins with the timer, as on a device that was made anew.
    const bool is_new = service_.status().backend() == gap_backend_name(GAP_BACKEND_GAP) &&
                        (*root)->backend == GAP_BACKEND_TIMER && (*root)->reason == GAP_REASON_ASKED;
    if (is_wanted() && ups && (ups != tested_at_ || is_new)) return begin();
    if (gap_backend_name((*root)->backend) == service_.status().backend()) return;
    use((*root)->backend, gap_reason_text((*root)->reason), false);
}

/// It warns only if the reason is unexpected: some devices never have gap frames.
void GapFrameLoop::use(std::uint32_t backend, const std::string& why, bool is_expected) {
    service_.status().use_backend(gap_backend_name(backend), why);
    if (backend == GAP_BACKEND_GAP) {
        log_info(log_, "pacing {} by gap frames: {}", interface_, why);
    } else if (is_expected) {
        log_info(log_, "pacing {} by the timer: {}", interface_, why);
    } else {
        log_warning(log_, "HW-209 pacing {} by the timer: {}", interface_, why);
    }
}

void GapFrameLoop::begin() {
    tested_at_ = carrier_ups();
    auto device = open_packet_device(interface_);
    if (!device) return end(tl::unexpected(device.error()));
    test_.emplace(kernel_, std::move(*device), clock_);
    step();
}

void GapFrameLoop::step() {
    const auto result = test_->step();
    if (result && !*result) return start_timer(timer_, GapFrameTest::step_time);
    set_timer(timer_, std::nullopt);
    test_.reset();
    end(result ? Result<GapFrameEvidence>(**result) : tl::unexpected(result.error()));
}

/// A processor or a card that is held up for a moment makes a good card look bad, but hardly
/// twice: only the second test can fail.
void GapFrameLoop::end(const Result<GapFrameEvidence>& result) {
    const bool is_refused = result && result->verdict == GapFrameVerdict::refused;
    const bool passed = result && result->verdict == GapFrameVerdict::passed;
    if (result && !passed && !is_refused && !std::exchange(is_second_, true)) return begin();
    is_second_ = false;
    use(passed ? GAP_BACKEND_GAP : GAP_BACKEND_TIMER,
        result ? result->reason : result.error().message, is_refused);
}

}  // namespace headway
