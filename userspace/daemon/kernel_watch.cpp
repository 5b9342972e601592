// SPDX-License-Identifier: Apache-2.0
#include "daemon/kernel_watch.hpp"

#include <utility>

#include "base/log.hpp"

namespace headway {
namespace {

using namespace std::chrono_literals;

/// A helper library looks for a daemon again within a second.
constexpr std::chrono::microseconds adopted_rates_hold = 5s;
constexpr std::chrono::microseconds longest_deafness = 2s;

}  // namespace

/// Before clients: what they ask for is asked of a kernel that has been put right.
KernelWatch::KernelWatch(EventLoop& loop, KernelMonitor monitor, const NetlinkTrafficControl& link,
                         ControlService& service, Reconciler& reconciler, spdlog::logger& log,
                         std::function<void()> look_also)
    : monitor_(std::move(monitor)),
      link_(link),
      service_(service),
      reconciler_(reconciler),
      log_(log),
      device_(service.planner().config().node.interface),
      loop_(loop),
      anew_(loop.timer([this] { listen_anew(); })),
      due_(loop.timer([this] { run_if_due(); })),
      release_(loop.timer([this] { release_adopted(); })),
      look_also_(std::move(look_also)) {
    listen_for_news();
    service.status().show(reconciler.status());
}

void KernelWatch::listen_for_news() {
    news_ = loop_.readable(monitor_.fd(), "watching the kernel", [this] { listen(); },
                           SD_EVENT_PRIORITY_IMPORTANT);
}

/// A socket that cannot be read stays readable: nobody listens to it any more.  Another one takes its place
/// at once, and if that cannot be read either, after a while.
void KernelWatch::listen_later() {
    news_.reset();
    start_timer(anew_, std::exchange(anew_after_, longest_deafness));
}

void KernelWatch::listen_anew() {
    if (const auto opened = monitor_.reopen(); !opened) {
        log_warning(log_, "HW-205 cannot listen to the kernel about {}, trying again: {}", device_,
                    opened.error().message);
        return listen_later();
    }
    listen_for_news();
    reconciler_.notice();
    run_if_due();
    look_also_();
}

void KernelWatch::release_adopted_later() { start_timer(release_, adopted_rates_hold); }

void KernelWatch::release_adopted() {
    service_.release_adopted();
    service_.end_deserted_jobs();
    const KernelDiff diff = reconciler_.run_for_own_change();
    if (reconciler_.status().error) {
        tell(diff);
    } else {
        service_.lift_adopted();
        log_info(log_, "released {}: nothing of the earlier run is in force any more", device_);
    }
    set_timer(due_, reconciler_.due_at());
}

void KernelWatch::listen() {
    const auto concerned = monitor_.read({device_, link_.ifindex()});
    if (!concerned) {
        log_warning(log_, "HW-205 cannot read news of {}, looking at everything anew: {}", device_,
                    concerned.error().message);
        return listen_later();
    }
    anew_after_ = 0us;
    if (*concerned) reconciler_.notice();
    run_if_due();
    if (*concerned) look_also_();
}

void KernelWatch::run_if_due() {
    if (reconciler_.is_due()) {
        const BytesPerSecond link_before = service_.link_rate();
        tell(reconciler_.run());
        tell_link(link_before);
    }
    set_timer(due_, reconciler_.due_at());
}

void KernelWatch::tell(const KernelDiff& diff) {
    const auto& error = reconciler_.status().error;
    if (error) {
        if (std::exchange(last_error_, error->message) != error->message) {
            const std::string found =
                diff.changes.empty() ? "" : diff_to_text(diff) + ": ";
            log_error(log_, "HW-206 cannot set up {}: {}{}; trying again until it succeeds",
                      device_, found, error->message);
        }
        return;
    }
    if (!diff.changes.empty()) {
        log_warning(log_, "HW-207 set up {} again: {} ({} changes); `tc monitor` shows who changes "
                          "it", device_, diff_to_text(diff), diff.changes.size());
    }
    if (!std::exchange(last_error_, "").empty()) {
        log_info(log_, "set up {}: the kernel holds what is wanted again", device_);
    }
}

void KernelWatch::tell_link(BytesPerSecond before) {
    const BytesPerSecond now = service_.link_rate();
    if (now == before) return;
    log_info(log_, "noticed on {}: the link's rate is {} now", device_, rate_to_text(now.bits()));
    const BitsPerSecond planned = service_.planner().own_cluster().host_rate;
    if (planned > now.bits()) {
        log_warning(log_,
                    "HW-208 planning for a host_rate of {}, which the link of {} does not have; "
                    "look at cable and port, or correct host_rate",
                    rate_to_text(planned), device_);
    }
}

}  // namespace headway
