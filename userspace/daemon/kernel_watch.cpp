// SPDX-License-Identifier: Apache-2.0
#include "daemon/kernel_watch.hpp"

#include <sys/epoll.h>

#include <chrono>

#include "base/log.hpp"

namespace headway {
namespace {

using namespace std::chrono_literals;

/// A helper library looks for a daemon again within a second.
constexpr std::chrono::microseconds adopted_rates_hold = 5s;

}  // namespace

KernelWatch::KernelWatch(KernelMonitor monitor, const KernelAccess& access,
                         ControlService& service, Reconciler& reconciler, spdlog::logger& log)
    : monitor_(std::move(monitor)),
      access_(access),
      service_(service),
      reconciler_(reconciler),
      log_(log),
      device_(service.planner().config().node.interface) {}

Result<std::unique_ptr<KernelWatch>> KernelWatch::start(sd_event* event, KernelMonitor monitor,
                                                        const KernelAccess& access,
                                                        ControlService& service,
                                                        Reconciler& reconciler,
                                                        spdlog::logger& log) {
    std::unique_ptr<KernelWatch> watch(
        new KernelWatch(std::move(monitor), access, service, reconciler, log));
    if (auto done = watch->watch(event); !done) return tl::unexpected(done.error());
    service.show(reconciler.status());
    return watch;
}

/// Before clients: what they ask for is asked of a kernel that has been put right.
Result<void> KernelWatch::watch(sd_event* event) {
    sd_event_source* source = nullptr;
    const int added = sd_event_add_io(event, &source, monitor_.fd(), EPOLLIN, on_news, this);
    if (added < 0) return event_failure(added, "watching the kernel");
    news_.reset(source);
    sd_event_source_set_priority(source, SD_EVENT_PRIORITY_IMPORTANT);
    auto due = make_timer(event, on_due, this);
    if (!due) return tl::unexpected(due.error());
    due_ = std::move(*due);
    auto release = make_timer(event, on_release, this);
    if (!release) return tl::unexpected(release.error());
    release_ = std::move(*release);
    return {};
}

void KernelWatch::release_adopted_later() { start_timer(release_, adopted_rates_hold); }

int KernelWatch::on_release(sd_event_source*, std::uint64_t, void* watch) {
    auto& self = *static_cast<KernelWatch*>(watch);
    self.release_adopted();
    return 0;
}

void KernelWatch::release_adopted() {
    service_.release_adopted();
    service_.end_deserted_jobs();
    const KernelDiff diff = reconciler_.run_for_own_change();
    if (reconciler_.status().error) {
        tell(diff);
    } else {
        log_info(log_, "{}: nothing of the earlier run is in force any more", device_);
    }
    set_timer(due_, reconciler_.due_at());
}

int KernelWatch::on_news(sd_event_source*, int, std::uint32_t, void* watch) {
    static_cast<KernelWatch*>(watch)->listen();
    return 0;
}

void KernelWatch::listen() {
    const auto concerned = monitor_.read({device_, access_.ifindex()});
    if (!concerned) log_warning(log_, "HW-205 {}: {}", device_, concerned.error().message);
    if (!concerned || *concerned) reconciler_.notice();
    run_if_due();
    if (!concerned || *concerned) look_also_();
}

int KernelWatch::on_due(sd_event_source*, std::uint64_t, void* watch) {
    static_cast<KernelWatch*>(watch)->run_if_due();
    return 0;
}

void KernelWatch::run_if_due() {
    if (reconciler_.is_due()) {
        const BytesPerSecond link_before = service_.link_rate();
        const KernelDiff diff = reconciler_.run();
        tell(diff);
        tell_link(link_before);
    }
    set_timer(due_, reconciler_.due_at());
}

void KernelWatch::tell(const KernelDiff& diff) {
    const auto& error = reconciler_.status().error;
    if (error) {
        if (error->message != last_error_) {
            const std::string found =
                diff.changes.empty() ? "" : "mending what was found: " + diff_to_text(diff) + ": ";
            log_error(log_, "HW-206 {}: {}{}; trying again until it succeeds", device_, found,
                       error->message);
        }
        last_error_ = error->message;
        return;
    }
    if (!diff.changes.empty()) {
        log_warning(log_, "HW-207 {}: {}; set up again ({} changes)", device_, diff_to_text(diff),
                  diff.changes.size());
    }
    if (!last_error_.empty()) log_info(log_, "{}: the kernel holds what is wanted again", device_);
    last_error_.clear();
}

void KernelWatch::tell_link(BytesPerSecond before) {
    const BytesPerSecond now = service_.link_rate();
    if (now == before) return;
    log_info(log_, "{}: the link's rate is {} now", device_, rate_to_text(now.bits()));
    const BitsPerSecond planned = service_.planner().own_cluster().host_rate;
    if (planned > now.bits()) {
        log_warning(log_, "HW-208 {}: plans are for a host_rate of {}, which the link does not have", device_,
                  rate_to_text(planned));
    }
}

}  // namespace headway
