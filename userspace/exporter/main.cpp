// SPDX-License-Identifier: Apache-2.0
// headway-exporter: headwayd's state for Prometheus.
//
// A process of its own, so that no HTTP server and no thread is in the one that has
// CAP_NET_ADMIN: this one has no privilege at all.  Each scrape asks the control
// socket for the status, as `headway status` does.
#include <csignal>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <prometheus/exposer.h>
#include <systemd/sd-daemon.h>

#include "base/command_line.hpp"
#include "base/exit_status.hpp"
#include "base/host_name.hpp"
#include "base/version.hpp"
#include "config/config.hpp"
#include "exporter/exporter_metrics.hpp"
#include "jobs/node_planner.hpp"
#include "look/gap_counters.hpp"
#include "protocol/control_client.hpp"

namespace headway {
namespace {

class Node final : public prometheus::Collectable {
public:
    Node(std::vector<ExportedClass> classes, std::string socket, std::string interface)
        : metrics_(std::move(classes)), socket_(std::move(socket)), interface_(std::move(interface)) {}

    [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override {
        const std::lock_guard lock(mutex_);
        ExportedState state{std::nullopt, read_tcp_counters(), std::nullopt};
        if (auto client = ControlClient::connect(socket_)) {
            if (auto status = client->request("status")) state.status = std::move(*status);
            // the status tells of a few jobs only
            auto jobs = client->request("jobs");
            if (jobs && state.status) (*state.status)["jobs"] = (*jobs)["jobs"];
        }
        if (auto gaps = read_gap_counters(interface_)) state.gaps = *gaps;
        return metrics_.families(state);
    }

private:
    mutable std::mutex mutex_;  // the server has threads
    mutable ExporterMetrics metrics_;
    std::string socket_;
    std::string interface_;
};

std::vector<ExportedClass> classes_of(const NodePlanner& planner) {
    std::vector<ExportedClass> classes;
    for (const ClassLayout& one : planner.layout().classes) {
        classes.push_back({one.classid.to_string(),
                           planner.config().topology.clusters()[one.cluster].name});
    }
    return classes;
}

int fail(ExitStatus status, std::string_view why) {
    fmt::print(stderr, "headway-exporter: {}\n", why);
    return static_cast<int>(status);
}

sigset_t ending_signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGTERM, SIGINT}) sigaddset(&set, signal);
    return set;
}

/// Serves until a signal ends it.
int serve(const std::string& listen, const std::shared_ptr<Node>& node) {
    const sigset_t ending = ending_signals();
    sigprocmask(SIG_BLOCK, &ending, nullptr);  // the server's threads inherit it
    std::unique_ptr<prometheus::Exposer> server;
    try {  // prometheus-cpp knows no other way
        server = std::make_unique<prometheus::Exposer>(listen, 1);
        server->RegisterCollectable(node);
    } catch (const std::exception& error) {
        return fail(ExitStatus::failure, fmt::format("listening at {}: {}", listen, error.what()));
    }
    sd_notifyf(0, "READY=1\nSTATUS=serving at %s", listen.c_str());
    for (const int port : server->GetListeningPorts()) {
        fmt::print(stderr, "headway-exporter: port {} of {}\n", port, listen);
    }
    int signal = 0;
    sigwait(&ending, &signal);
    return 0;
}

int run(int argc, char** argv) {
    std::string file = config_default_path;
    std::string socket;
    std::string listen = "127.0.0.1:9853";
    const CommandLine line("headway-exporter",
                           "Serves headwayd's state to Prometheus; see headway-exporter(8).", version);
    const Verb program = line.program();
    program.add_option("--config", file, "configuration file of headwayd").shows_default();
    program.add_option("--socket", socket, "control socket (default: as the configuration says)");
    program.add_option("--listen", listen, "address and port to serve at").shows_default();
    if (const auto status = line.read({argv + 1, argv + argc})) return static_cast<int>(*status);
    auto config = load_config(file);
    if (!config) {
        report_config_errors(config.error());
        return static_cast<int>(ExitStatus::bad_config);
    }
    const auto planner = NodePlanner::make(std::move(*config), host_name());
    if (!planner) return fail(ExitStatus::bad_config, planner.error().message);
    if (socket.empty()) socket = planner->config().daemon.socket;
    return serve(listen, std::make_shared<Node>(classes_of(*planner), socket,
                                                planner->config().node.interface));
}

}  // namespace
}  // namespace headway

int main(int argc, char** argv) { return headway::run(argc, argv); }
