// SPDX-License-Identifier: Apache-2.0
#include "daemon/coordination_loop.hpp"

#include <ctime>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "base/log.hpp"

namespace headway {
namespace {

using namespace std::chrono_literals;

/// For the last requests: to take the lease back.
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
        if (value.empty()) return;
        command.emplace_back(option);
        command.push_back(value);
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

CoordinationLoop::CoordinationLoop(ControlService& service, TrafficControl& kernel,
                                   Reconciler& reconciler, spdlog::logger& log)
    : service_(service),
      reconciler_(reconciler),
      log_(log),
      coordinator_(*service.planner().shared_trunk(), *service.planner().config().coordination,
                   kernel,
                   [this](const std::string& packet) {
                       if (process_) process_->send(packet);
                   },
                   clock_, service.link_rate(), log),
      tick_every_(std::min<std::chrono::nanoseconds>(
          service.planner().config().coordination->timing.refresh_every / 2, 200ms)) {}

CoordinationLoop::~CoordinationLoop() {
    reconciler_.observe({});
    service_.show_coordination(nullptr);
    coordinator_.stop();
    if (!coordinator_.has_stopped()) {
        log_warning(log_, "HW-505 the lease at etcd is left to end by itself");
    }
    if (process_) process_->finish(farewell);
}

Result<std::unique_ptr<CoordinationLoop>> CoordinationLoop::start(sd_event* event,
                                                                  ControlService& service,
                                                                  TrafficControl& kernel,
                                                                  Reconciler& reconciler,
                                                                  spdlog::logger& log) {
    std::unique_ptr<CoordinationLoop> loop(new CoordinationLoop(service, kernel, reconciler, log));
    if (auto begun = loop->begin(event); !begun) return tl::unexpected(begun.error());
    return loop;
}

Result<void> CoordinationLoop::begin(sd_event* event) {
    sd_event_source* source = nullptr;
    // as the kernel's `expires`: time in which the node sleeps counts
    const int added = sd_event_add_time(event, &source, CLOCK_BOOTTIME, 0, 1000, on_tick, this);
    if (added < 0) return event_failure(added, "making a timer");
    timer_.reset(source);
    sd_event_source_set_priority(source, SD_EVENT_PRIORITY_IMPORTANT);
    sd_event_source* divide = nullptr;
    const int deferred = sd_event_add_defer(event, &divide, on_divide, this);
    if (deferred < 0) return event_failure(deferred, "deferring work");
    divide_.reset(divide);
    sd_event_source_set_priority(divide, SD_EVENT_PRIORITY_NORMAL + 1);
    const NodeTrunk& node = *service_.planner().shared_trunk();
    auto process = EtcdProcess::start(
        event,
        etcd_command(*service_.planner().config().coordination,
                     service_.planner().own_cluster().name, node.hosts[node.host]),
        node.hosts,
        {[this](const StoreReport& report) {
             auto taken = coordinator_.report(report);
             divide_later();
             return taken;
         },
         [this] { coordinator_.store_gone(); }},
        log_);
    if (!process) return tl::unexpected(process.error());
    process_ = std::move(*process);
    reconciler_.observe(coordinator_.observer());
    service_.show_coordination([this] { return coordinator_.status(); });
    tick();
    return {};
}

/// The kernel keeps the node within its share in any case: planning holds nothing up.
void CoordinationLoop::divide_later() {
    sd_event_source_set_enabled(divide_.get(), SD_EVENT_ONESHOT);
}

int CoordinationLoop::on_divide(sd_event_source*, void* loop) {
    auto& self = *static_cast<CoordinationLoop*>(loop);
    if (const auto division = self.coordinator_.division()) self.service_.divide_trunk(*division);
    return 0;
}

int CoordinationLoop::on_tick(sd_event_source*, std::uint64_t, void* loop) {
    static_cast<CoordinationLoop*>(loop)->tick();
    return 0;
}

void CoordinationLoop::tick() {
    coordinator_.tick(service_.jobs());
    divide_later();
    start_timer(timer_, std::chrono::duration_cast<std::chrono::microseconds>(tick_every_));
}

}  // namespace headway
