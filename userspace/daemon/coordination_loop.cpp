// SPDX-License-Identifier: Apache-2.0
#include "daemon/coordination_loop.hpp"

#include <ctime>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "base/log.hpp"

namespace headway {
namespace {

using namespace std::chrono_literals;

/// The last requests, which give the lease back, may take so long.
constexpr std::chrono::milliseconds farewell = 1500ms;

}  // namespace

std::chrono::nanoseconds BootClock::now() const {
    timespec time{};
    clock_gettime(CLOCK_BOOTTIME, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

std::vector<std::string> etcd_command(const CoordinationConfig& config, const std::string& trunk,
                                      const std::string& host) {
    std::error_code error;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
    std::vector<std::string> command{self.parent_path() / "headway-etcd"};
    const auto add = [&](const char* option, const std::string& value) {
        if (!value.empty()) command.insert(command.end(), {option, value});
    };
    for (const std::string& endpoint : config.endpoints) add("--endpoint", endpoint);
    add("--prefix", config.prefix + trunk + "/");
    add("--host", host);
    add("--ca-file", config.ca_file);
    add("--cert-file", config.cert_file);
    add("--key-file", config.key_file);
    add("--user", config.user);
    add("--password-file", config.password_file);
    add("--timeout-ms", fmt::format("{}", config.timing.request_timeout / 1ms));
    return command;
}

CoordinationLoop::CoordinationLoop(EventLoop& loop, ControlService& service, TrafficControl& kernel,
                                   Reconciler& reconciler, spdlog::logger& log,
                                   std::vector<std::string> command)
    : service_(service),
      reconciler_(reconciler),
      log_(log),
      hosts_(service.planner().shared_trunk()->hosts),
      process_(loop, std::move(command), hosts_,
               {[this](const StoreReport& report) {
                    auto taken = coordinator_.report(report);
                    divide_later();
                    return taken;
                },
                [this] { coordinator_.store_gone(); }},
               log),
      coordinator_(*service.planner().shared_trunk(), *service.planner().config().coordination,
                   kernel, [this](const std::string& packet) { process_.send(packet); }, clock_,
                   service.link_rate(), hosts_, log),
      tick_every_(std::min<std::chrono::nanoseconds>(
          service.planner().config().coordination->timing.refresh_every / 2, 200ms)),
      // as the kernel's `expires`: time in which the node sleeps counts
      timer_(loop.timer([this] { tick(); }, CLOCK_BOOTTIME)),
      tell_(loop.deferred([this] { tell_jobs(); })),
      changed_(loop.after_events([this] {
          if (jobs_of_ != service_.job_changes())
              sd_event_source_set_enabled(tell_.get(), SD_EVENT_ONESHOT);
      })),
      divide_(loop.deferred([this] {
          if (const auto division = coordinator_.division()) service_.divide_trunk(*division);
      })) {
    // Before everything else, ends of processes included: without it the share ends in the kernel.
    sd_event_source_set_priority(timer_.get(), SD_EVENT_PRIORITY_IMPORTANT - 1);
}

CoordinationLoop::~CoordinationLoop() {
    reconciler_.observe({});
    service_.status().show_coordination(nullptr);
    coordinator_.stop();
    if (!coordinator_.has_stopped()) {
        log_warning(log_, "HW-505 leaving the lease at etcd to end by itself: etcd did not answer");
    }
    process_.finish(farewell);
}

Result<void> CoordinationLoop::start() {
    if (auto started = process_.start(); !started) return started;
    reconciler_.observe(coordinator_.observer());
    service_.status().show_coordination([this] { return coordinator_.status(); });
    tick();
    return {};
}

/// The kernel keeps the node within its share in any case: planning holds nothing up.
void CoordinationLoop::divide_later() {
    sd_event_source_set_enabled(divide_.get(), SD_EVENT_ONESHOT);
}

/// At once, and on a node that has no time for that, with the next tick.
void CoordinationLoop::tell_jobs() {
    if (jobs_of_ == service_.job_changes()) return;
    jobs_of_ = service_.job_changes();
    coordinator_.want(service_.jobs());
    divide_later();
}

void CoordinationLoop::tick() {
    tell_jobs();
    coordinator_.tick();
    divide_later();
    start_timer(timer_, std::chrono::duration_cast<std::chrono::microseconds>(tick_every_));
}

}  // namespace headway
