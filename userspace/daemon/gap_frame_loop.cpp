// SPDX-License-Identifier: Apache-2.0
#include "daemon/gap_frame_loop.hpp"

#include <algorithm>
#include <fstream>
#include <span>
#include <thread>

#include "base/log.hpp"
#include "gap_attr.h"
#include "kernel/kernel_diff.hpp"

namespace headway {
namespace {

const char* const gap_frames = gap_backend_name(GAP_BACKEND_GAP);
const char* const timer = gap_backend_name(GAP_BACKEND_TIMER);

}  // namespace

GapFrameLoop::GapFrameLoop(ControlService& service, TrafficControl& kernel, spdlog::logger& log)
    : service_(service),
      kernel_(kernel),
      log_(log),
      interface_(service.planner().config().node.interface) {}

Result<std::unique_ptr<GapFrameLoop>> GapFrameLoop::start(sd_event* event, ControlService& service,
                                                          TrafficControl& kernel,
                                                          spdlog::logger& log) {
    std::unique_ptr<GapFrameLoop> loop(new GapFrameLoop(service, kernel, log));
    auto timer = make_timer(event, on_step, loop.get());
    if (!timer) return tl::unexpected(timer.error());
    loop->timer_ = std::move(*timer);
    if (loop->goes_on_with_gap_frames()) return loop;
    loop->look();
    while (loop->test_) {
        std::this_thread::sleep_for(GapFrameTest::step_time);
        loop->step();
    }
    return loop;
}

GapFrameLoop::~GapFrameLoop() {
    if (test_) test_->cancel();
}

bool GapFrameLoop::is_wanted() const { return service_.planner().config().kernel.gap_frames; }

/// As an earlier run has left them, which tested the device and was not interrupted in it.
bool GapFrameLoop::goes_on_with_gap_frames() {
    const auto root = kernel_.root_qdisc();
    if (!root || !is_ours(*root) || (*root)->backend != GAP_BACKEND_GAP) return false;
    if (!is_wanted()) {
        if (!kernel_.apply_one(ChangeBackend{(*root)->handle, GAP_BACKEND_TIMER})) {
            log_warning(log_, "HW-209 {}: the kernel does not end gap frames", interface_);
        }
        return false;
    }
    const auto classes = kernel_.classes();
    const auto is_of_test = [](const ClassState& one) {
        return one.classid.minor() == GapFrameTest::class_minor;
    };
    if (!classes || std::any_of(classes->begin(), classes->end(), is_of_test)) return false;
    tested_at_ = carrier_ups();
    service_.use_backend(gap_frames, "tested by an earlier run");
    return true;
}

/// None: there is no carrier, or nobody knows.
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
    const bool is_new = service_.backend() == gap_frames &&
                        (*root)->backend == GAP_BACKEND_TIMER && (*root)->reason == GAP_REASON_ASKED;
    if (is_wanted() && ups && (ups != tested_at_ || is_new)) {
        begin();
        return;
    }
    if (gap_backend_name((*root)->backend) == service_.backend()) return;
    const char* const why = gap_reason_text((*root)->reason);
    service_.use_backend(gap_backend_name((*root)->backend), why);
    if ((*root)->backend == GAP_BACKEND_GAP) {
        log_info(log_, "{}: paced by gap frames: {}", interface_, why);
    } else {
        log_warning(log_, "HW-209 {}: paced by the timer: {}", interface_, why);
    }
}

void GapFrameLoop::begin() {
    tested_at_ = carrier_ups();
    auto device = open_packet_device(interface_);
    if (!device) {
        end(tl::unexpected(device.error()));
        return;
    }
    test_.emplace(kernel_, std::move(*device), clock_);
    step();
}

void GapFrameLoop::step() {
    const auto result = test_->step();
    if (result && !*result) {
        start_timer(timer_, GapFrameTest::step_time);
        return;
    }
    set_timer(timer_, std::nullopt);
    test_.reset();
    end(result ? Result<GapFrameEvidence>(**result) : tl::unexpected(result.error()));
}

/// A processor or a card that is held up for a moment makes a good card look bad, but hardly
/// twice: only the second test can fail.
void GapFrameLoop::end(const Result<GapFrameEvidence>& result) {
    const bool is_refused = result && result->verdict == GapFrameVerdict::refused;
    const bool passed = result && result->verdict == GapFrameVerdict::passed;
    if (result && !passed && !is_refused && !std::exchange(is_second_, true)) {
        begin();
        return;
    }
    is_second_ = false;
    if (passed) {
        service_.use_backend(gap_frames, result->reason);
        log_info(log_, "{}: paced by gap frames: {}", interface_, result->reason);
        return;
    }
    const std::string why = result ? result->reason : result.error().message;
    service_.use_backend(timer, why);
    // Devices that never have gap frames are no reason for a warning.
    if (is_refused) {
        log_info(log_, "{}: paced by the timer: {}", interface_, why);
    } else {
        log_warning(log_, "HW-209 {}: paced by the timer: {}", interface_, why);
    }
}

int GapFrameLoop::on_step(sd_event_source*, std::uint64_t, void* loop) {
    static_cast<GapFrameLoop*>(loop)->step();
    return 0;
}

}  // namespace headway
