// SPDX-License-Identifier: Apache-2.0
#include "daemon/daemon.hpp"

#include <sys/resource.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <memory>

#include "daemon/control_server.hpp"
#include "daemon/control_service.hpp"
#include "daemon/control_socket.hpp"
#include "daemon/host_name.hpp"
#include "daemon/kernel_access.hpp"
#include "daemon/kernel_setup.hpp"
#include "daemon/version.hpp"
#include "phase/bpf_phase_maps.hpp"

namespace headway {
namespace {

struct EventUnref {
    void operator()(sd_event* event) const { sd_event_unref(event); }
};
using Event = std::unique_ptr<sd_event, EventUnref>;

/// Signals are read from the event loop; until it runs they wait.
void block_signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, signal);
    sigprocmask(SIG_BLOCK, &set, nullptr);
}

/// Room for every client that limits.hpp allows.
void raise_descriptor_limit(spdlog::logger& log) {
    // its socket and its process, and the arrays of jobs
    constexpr rlim_t wanted = 2 * clients_max + HEADWAY_PHASE_JOBS + 64;
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return;
    limit.rlim_cur = std::min(wanted, limit.rlim_max);
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < wanted) {
        log.warn("only {} descriptors: fewer clients than {} can connect", limit.rlim_cur,
                 clients_max);
    }
}

/// The running daemon: event loop, signals and clients.
class Daemon {
public:
    Daemon(Event event, ControlService& service, spdlog::logger& log)
        : event_(std::move(event)), service_(service), log_(log) {}

    Result<void> watch_signals() {
        for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
            const int added = sd_event_add_signal(event_.get(), nullptr, signal,
                                                  signal == SIGHUP ? on_reload : on_stop, this);
            if (added < 0) {
                return system_failure(-added, "watching signals: {}", std::strerror(-added));
            }
        }
        sd_event_set_watchdog(event_.get(), 1);
        return {};
    }

    Result<void> serve(ControlSocket& socket) {
        if (auto listening = socket.listen(); !listening) return listening;
        auto server = ControlServer::start(event_.get(), socket.fd(), service_, log_);
        if (!server) return tl::unexpected(server.error());
        sd_notifyf(0, "READY=1\nSTATUS=pacing %s",
                   service_.planner().config().node.interface.c_str());
        const int ended = sd_event_loop(event_.get());
        sd_notify(0, "STOPPING=1");
        if (ended < 0) return system_failure(-ended, "event loop: {}", std::strerror(-ended));
        return {};
    }

private:
    static int on_stop(sd_event_source* source, const signalfd_siginfo* signal, void* daemon) {
        static_cast<Daemon*>(daemon)->log_.info(
            "stopping: {}", strsignal(static_cast<int>(signal->ssi_signo)));
        return sd_event_exit(sd_event_source_get_event(source), 0);
    }

    static int on_reload(sd_event_source*, const signalfd_siginfo*, void* daemon) {
        static_cast<Daemon*>(daemon)->reload();
        return 0;
    }

    void reload() {
        const auto now = std::chrono::steady_clock::now().time_since_epoch();
        sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%lld",
                   static_cast<long long>(
                       std::chrono::duration_cast<std::chrono::microseconds>(now).count()));
        const std::string file = service_.planner().config().file;
        auto config = load_config(file);
        if (!config) {
            for (const ConfigError& error : config.error()) log_.error("{}", error.to_string());
            log_.error("{}: not reloaded, the earlier configuration stays in force", file);
        } else if (const auto done = service_.reload(std::move(*config)); !done) {
            log_.error("{}: not reloaded, the earlier configuration stays in force: {}", file,
                       done.error().message);
        } else {
            log_.info("{}: reloaded", file);
        }
        sd_notify(0, "READY=1");
    }

    Event event_;
    ControlService& service_;
    spdlog::logger& log_;
};

/// The classifier, loaded but not yet in use.
Result<std::unique_ptr<BpfPhaseMaps>> load_classifier(const NodePlanner& planner) {
    const KernelConfig& config = planner.config().kernel;
    if (!config.phases) return failure("[kernel] phases is \"off\"");
    if (config.via == KernelVia::tc) return failure("tc cannot attach a program without a file");
    std::vector<PhaseTrunk> trunks;
    for (const ClassLayout& target : planner.layout().classes) {
        trunks.push_back({planner.config().topology.clusters()[target.cluster].prefixes,
                          rest_class(target.classid).minor()});
    }
    return BpfPhaseMaps::load(trunks);
}

/// What is in the kernel.
struct SetUp {
    SetUpReport report;
    std::unique_ptr<BpfPhaseMaps> phases;  ///< none: rates change by requests only
};

/// With phases where the kernel can; if they are what it refuses, without.
Result<SetUp> set_up(TrafficControl& kernel, const NodePlanner& planner, spdlog::logger& log) {
    const BitsPerSecond host_rate = planner.own_cluster().host_rate;
    auto phases = load_classifier(planner);
    if (phases) {
        const KernelLayout layout = with_phases(planner.layout(), (*phases)->program_fd(),
                                                planner.config().policy.linger);
        auto report = set_up_kernel(kernel, layout, host_rate);
        if (report) return SetUp{*report, std::move(*phases)};
        phases = tl::unexpected(report.error());
    }
    auto report = set_up_kernel(kernel, planner.layout(), host_rate);
    if (!report) return tl::unexpected(report.error());
    if (planner.config().kernel.phases) {
        log.warn("no phases, rates change by requests: {}", phases.error().message);
    }
    return SetUp{*report, nullptr};
}

/// With the kernel set up; whatever happens here, the caller takes it down.
Result<void> serve(NodePlanner planner, const SetUp& done, TrafficControl& kernel,
                   ControlSocket& socket, spdlog::logger& log) {
    sd_event* event = nullptr;
    if (const int made = sd_event_new(&event); made < 0) {
        return system_failure(-made, "event loop: {}", std::strerror(-made));
    }
    const SteadyClock clock;
    ControlService service(std::move(planner), done.report.link_rate, kernel, clock);
    if (done.phases) service.use_phases(*done.phases);
    Daemon daemon(Event(event), service, log);
    if (auto watching = daemon.watch_signals(); !watching) return watching;
    return daemon.serve(socket);
}

Result<void> run(NodePlanner planner, spdlog::logger& log) {
    const Config config = planner.config();
    const auto lock_path = interface_lock_path(config.node.interface);
    if (!lock_path) return tl::unexpected(lock_path.error());
    const auto lock = LockFile::acquire(*lock_path);
    if (!lock) return tl::unexpected(lock.error());
    auto socket = ControlSocket::bind(config.daemon.socket, config.daemon.group);
    if (!socket) return tl::unexpected(socket.error());

    auto access = KernelAccess::open(config);
    if (!access) return tl::unexpected(access.error());
    TrafficControl& kernel = (*access)->traffic_control();
    const KernelLayout layout = planner.layout();
    const auto done = set_up(kernel, planner, log);
    if (!done) {
        return tl::unexpected(done.error().within("setting up " + config.node.interface));
    }
    if (done->report.replaced_earlier_run) {
        log.warn("{}: replaced the gap qdisc of an earlier run", config.node.interface);
    }
    log.info("{}: node {} of cluster {}, {} classes on a link of {}, {} phases",
             config.node.interface, planner.node_name(), planner.own_cluster().name,
             layout.classes.size(), rate_to_text(done->report.link_rate.bits()),
             done->phases ? "with" : "without");

    const auto served = serve(std::move(planner), *done, kernel, *socket, log);
    if (const auto removed = tear_down_kernel(kernel, layout); !removed) {
        log.error("{}: {}", config.node.interface, removed.error().message);
        return removed;
    }
    log.info("{}: qdisc removed", config.node.interface);
    return served;
}

}  // namespace

ExitStatus run_daemon(Config config, spdlog::logger& log) {
    // Reloading must find the file whatever the working directory.
    config.file = std::filesystem::absolute(config.file);
    block_signals();
    raise_descriptor_limit(log);
    auto planner = NodePlanner::make(std::move(config), host_name());
    if (!planner) {
        log.error("{}", planner.error().message);
        return ExitStatus::bad_config;
    }
    log.info("headwayd {} starting with {}", version, planner->config().file);
    if (const auto done = run(std::move(*planner), log); !done) {
        log.error("{}", done.error().message);
        return ExitStatus::failure;
    }
    return ExitStatus::ok;
}

}  // namespace headway
