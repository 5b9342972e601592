// SPDX-License-Identifier: Apache-2.0
#include "daemon/daemon.hpp"

#include <nlohmann/json.hpp>
#include <sys/resource.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <memory>

#include "base/host_name.hpp"
#include "base/json_text.hpp"
#include "base/log.hpp"
#include "base/version.hpp"
#include "daemon/control_server.hpp"
#include "daemon/control_service.hpp"
#include "daemon/control_socket.hpp"
#include "daemon/coordination_loop.hpp"
#include "daemon/feedback_loop.hpp"
#include "daemon/gap_frame_loop.hpp"
#include "daemon/hand_over.hpp"
#include "daemon/kernel_access.hpp"
#include "daemon/kernel_setup.hpp"
#include "daemon/kernel_watch.hpp"
#include "daemon/state_file.hpp"
#include "jobs/process_cgroup.hpp"
#include "kernel/kernel_diff.hpp"
#include "kernel/reconciler.hpp"
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
    // its socket and its process, and the arrays of jobs, of the last run as well
    constexpr rlim_t wanted = 2 * clients_max + 2 * HEADWAY_PHASE_JOBS + 64;
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return;
    limit.rlim_cur = std::min(wanted, limit.rlim_max);
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < wanted) {
        log_warning(log, "HW-301 only {} descriptors: fewer clients than {} can connect", limit.rlim_cur,
                 clients_max);
    }
}

/// The group that [access] names; none: only root administrates.
Result<std::optional<gid_t>> administrators_of(const Config& config) {
    if (!config.access.administrators) return std::nullopt;
    const auto group = group_number(*config.access.administrators, "[access] administrators");
    if (!group) return tl::unexpected(group.error());
    return *group;
}

/// The running daemon: event loop, signals and clients.
class Daemon {
public:
    Daemon(sd_event* event, ControlService& service, FeedbackLoop& feedback, spdlog::logger& log)
        : event_(event), service_(service), feedback_(feedback), log_(log) {}

    Result<void> watch_signals() {
        for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
            const int added = sd_event_add_signal(event_, nullptr, signal,
                                                  signal == SIGHUP ? on_reload : on_stop, this);
            if (added < 0) {
                return system_failure(-added, "watching signals: {}", std::strerror(-added));
            }
        }
        sd_event_set_watchdog(event_, 1);
        return {};
    }

    /// `hand_over` (or null) knows of clients that have returned.
    Result<void> serve(ControlSocket& socket, AtTheEnd at_the_end, HandOver* hand_over,
                       std::vector<HandOver::Returned> returned) {
        if (auto listening = socket.listen(); !listening) return listening;
        auto server = ControlServer::start(event_, socket.fd(), service_, log_);
        if (!server) return tl::unexpected(server.error());
        if (hand_over != nullptr) {
            auto done = (*server)->hand_over_to(*hand_over, std::move(returned));
            if (!done) return done;
        }
        sd_notifyf(0, "READY=1\nSTATUS=pacing %s",
                   service_.planner().config().node.interface.c_str());
        const int ended = sd_event_loop(event_);
        sd_notify(0, "STOPPING=1");
        if (at_the_end == AtTheEnd::keep) (*server)->keep_what_clients_hold();
        if (ended < 0) return system_failure(-ended, "event loop: {}", std::strerror(-ended));
        return {};
    }

private:
    static int on_stop(sd_event_source* source, const signalfd_siginfo* signal, void* daemon) {
        log_info(static_cast<Daemon*>(daemon)->log_,
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
            for (const ConfigError& error : config.error()) {
                log_error(log_, "HW-101 {}", error.to_string());
            }
            log_error(log_, "HW-102 {}: not reloaded, the earlier configuration stays in force", file);
        } else if (const auto done = take_over(std::move(*config)); !done) {
            log_error(log_, "HW-102 {}: not reloaded, the earlier configuration stays in force: {}", file,
                       done.error().message);
        } else {
            feedback_.configured();
            log_info(log_, "{}: reloaded", file);
        }
        sd_notify(0, "READY=1");
    }

    Result<void> take_over(Config config) {
        const auto group = administrators_of(config);
        if (!group) return tl::unexpected(group.error());
        auto done = service_.reload(std::move(config));
        if (done) service_.administrate_by(*group);
        return done;
    }

    sd_event* event_;
    ControlService& service_;
    FeedbackLoop& feedback_;
    spdlog::logger& log_;
};

/// The classifier, loaded but not yet in use.
Result<std::unique_ptr<BpfPhaseMaps>> load_classifier(const NodePlanner& planner, const PhaseObject& object,
                                                      const std::map<std::string, int>& earlier) {
    const KernelConfig& config = planner.config().kernel;
    if (!config.phases) return failure("[kernel] phases is \"off\"");
    std::vector<PhaseTrunk> trunks;
    for (const ClassLayout& target : planner.layout().classes) {
        trunks.push_back({planner.config().topology.clusters()[target.cluster].prefixes,
                          shared_class(target.classid).minor()});
    }
    return BpfPhaseMaps::load(trunks, object, earlier);
}

/// What is in the kernel.
struct SetUp {
    SetUpReport report;
    std::unique_ptr<BpfPhaseMaps> phases;  ///< none: rates change by requests only
    std::string why_fq{};                  ///< empty: the qdisc gap paces
};

/// With that program, which goes on with what an earlier run's remembers.
Result<SetUp> set_up_phases(TrafficControl& kernel, const NodePlanner& planner,
                            std::unique_ptr<BpfPhaseMaps> phases) {
    const KernelLayout layout = with_phases(planner.layout(), phases->program());
    // Until it is known that no earlier run's classifier is to decide.
    leave_resting_packets(*phases, true);
    const auto report = set_up_kernel(kernel, layout, planner.own_cluster().host_rate);
    if (!report) return tl::unexpected(report.error());
    if (!report->earlier_program) leave_resting_packets(*phases, false);
    return SetUp{*report, std::move(phases)};
}

/// fq of an earlier run paces until gap is there, and if gap is refused.
Result<void> replace_fq(NetlinkTrafficControl& link) {
    const auto root = link.root_qdisc();
    if (!root || !is_our_fq(*root)) return {};
    if (auto done = link.apply_one(AddRootQdisc{.handle = root_handle, .replaces = true}); !done) return done;
    return remove_rest_of_fq(link);
}

/// With phases where the kernel can; if they are what it refuses, without.
Result<SetUp> set_up_gap(KernelAccess& access, const NodePlanner& planner,
                         const std::map<std::string, int>& earlier, spdlog::logger& log) {
    if (auto replaced = replace_fq(access.link()); !replaced) return tl::unexpected(replaced.error());
    TrafficControl& kernel = access.traffic_control();
    auto phases = load_classifier(planner, phase_classifier_object(), earlier);
    if (phases) {
        auto done = set_up_phases(kernel, planner, std::move(*phases));
        if (done || is_module_missing(done.error())) return done;
        phases = tl::unexpected(done.error());
    }
    auto report = set_up_kernel(kernel, planner.layout(), planner.own_cluster().host_rate);
    if (!report) return tl::unexpected(report.error());
    if (planner.config().kernel.phases) {
        log_warning(log, "HW-202 no phases, rates change by requests: {}", phases.error().message);
    }
    return SetUp{*report, nullptr};
}

Result<SetUp> set_up_fq(KernelAccess& access, const NodePlanner& planner,
                        const std::map<std::string, int>& earlier, std::string why) {
    auto phases = load_classifier(planner, fq_pacing_object(), earlier);
    if (!phases) return tl::unexpected(phases.error());
    access.use_fq(**phases, planner.own_cluster().host_rate);
    auto done = set_up_phases(access.traffic_control(), planner, std::move(*phases));
    if (done) done->why_fq = std::move(why);
    return done;
}

Result<SetUp> set_up(KernelAccess& access, const NodePlanner& planner,
                     const std::map<std::string, int>& earlier, spdlog::logger& log) {
    const PacingQdisc wanted = planner.config().kernel.qdisc;
    if (wanted == PacingQdisc::fq) return set_up_fq(access, planner, earlier, "[kernel] backend is \"fq\"");
    auto gap = set_up_gap(access, planner, earlier, log);
    if (gap || wanted == PacingQdisc::gap || !is_module_missing(gap.error())) return gap;
    auto fq = set_up_fq(access, planner, earlier, "the module sch_gap is not there");
    if (fq) return fq;
    return failure("{}; nor can fq pace: {}", gap.error().message, fq.error().message);
}

void tell_set_up(const NodePlanner& planner, const SetUp& done, spdlog::logger& log) {
    const std::string& interface = planner.config().node.interface;
    const char* const qdisc = done.why_fq.empty() ? "gap" : "fq";
    if (done.report.is_adopted) {
        log_info(log, "{}: took over the {} qdisc of an earlier run", interface, qdisc);
    } else if (done.report.not_adopted) {
        log_warning(log, "HW-203 {}: replaced the {} qdisc of an earlier run: {}", interface, qdisc,
                 done.report.not_adopted->message);
    }
    if (!done.why_fq.empty()) log_info(log, "{}: paced by fq: {}", interface, done.why_fq);
    log_info(log, "{}: node {} of cluster {}, {} classes on a link of {}, {} phases", interface,
             planner.node_name(), planner.own_cluster().name, planner.layout().classes.size(),
             rate_to_text(done.report.link_rate.bits()), done.phases ? "with" : "without");
}

/// Jobs that were started during an earlier run, and from now on a file of them.
void take_up_jobs(ControlService& service, const StateFile& file, spdlog::logger& log) {
    const auto text = file.read();
    if (!text) {
        log_warning(log, "HW-401 no jobs of an earlier run: {}", text.error().message);
    } else if (*text) {
        if (const auto done = service.restore_jobs(**text); !done) {
            log_warning(log, "HW-401 {}: not all jobs of the earlier run: {}", file.path(),
                     done.error().message);
        }
    }
    service.keep_jobs_with([&file, &log](const std::string& jobs) {
        if (const auto done = file.write(jobs); !done) {
            log_warning(log, "HW-402 started jobs would not survive a restart: {}", done.error().message);
        }
    });
}

void log_off(const PacingOff& off, spdlog::logger& log) {
    log_warning(log, "HW-403 pacing is off, user {} has switched it off; `headway on` switches it on",
                off.uid);
}

/// Pacing that was switched off stays off.  A file that cannot be read may be one that
/// says so.
void take_up_off(ControlService& service, const StateFile& file, spdlog::logger& log) {
    const auto text = file.read();
    if (!text) log_warning(log, "HW-404 whether pacing is off: {}", text.error().message);
    else if (*text) {
        service.stay_off(parse_off(**text));
        log_off(*service.off(), log);
    }
}

/// From now on each switch goes into the file, the kernel and the log.
void keep_off(ControlService& service, const StateFile& file, Reconciler& reconciler,
              spdlog::logger& log) {
    service.keep_off_with([&](const std::optional<PacingOff>& off) -> Result<void> {
        (void)reconciler.run_for_own_change();  // what is refused is tried again
        if (off) log_off(*off, log);
        else log_info(log, "pacing is on");
        Result<void> kept;
        if (off) kept = file.write(json_text(off_json(*off)) + "\n");
        else if (!file.remove()) kept = errno_failure("removing " + file.path());
        if (!kept) log_warning(log, "HW-404 the next run will not know: {}", kept.error().message);
        return kept;
    });
}

/// Where it fails, the strictest phase of all holds, as on a node with one job.
void tell_jobs_apart(ControlService& service, spdlog::logger& log) {
    service.tell_apart_with([](const Peer& peer) { return cgroup_of(peer.pid, peer.process); },
                            [&log](const Error& why) { log_debug(log, "not told apart: {}", why.message); });
}

/// With the kernel set up; whatever happens here, the caller takes it down.
Result<void> serve(NodePlanner planner, const SetUp& done, KernelAccess& access,
                   KernelMonitor monitor, ControlSocket& socket, AtTheEnd at_the_end,
                   std::vector<StoredDescriptor> received, spdlog::logger& log) {
    sd_event* made = nullptr;
    if (const int error = sd_event_new(&made); error < 0) {
        return system_failure(-error, "event loop: {}", std::strerror(-error));
    }
    Event event(made);
    TrafficControl& kernel = access.traffic_control();
    const SteadyClock clock;
    ControlService service(std::move(planner), done.report.link_rate, kernel, clock);
    const auto administrators = administrators_of(service.planner().config());
    if (!administrators) return tl::unexpected(administrators.error());
    service.administrate_by(*administrators);
    if (done.phases) service.use_phases(*done.phases, done.phases->program());
    tell_jobs_apart(service, log);
    if (done.report.is_adopted) service.adopt(done.report.found, done.report.earlier_program);
    const std::string& path = service.planner().config().daemon.socket;
    const StateFile off = off_file(path);
    take_up_off(service, off, log);
    const StateFile jobs = jobs_file(path);
    take_up_jobs(service, jobs, log);
    const auto store = ServiceManagerStore::open();
    std::optional<HandOver> hand_over;
    HandOver::TakenUp taken;
    if (store) taken = hand_over.emplace(*store, log).take_up(service, std::move(received));
    if (taken.is_complete) service.earlier_run_is_back();
    Reconciler reconciler(service.kernel(), clock, service);
    auto watch = KernelWatch::start(event.get(), std::move(monitor), access, service, reconciler, log);
    if (!watch) return tl::unexpected(watch.error());
    if (done.report.is_adopted || service.has_deserted_jobs()) (*watch)->release_adopted_later();
    keep_off(service, off, reconciler, log);
    std::unique_ptr<CoordinationLoop> coordination;
    if (service.planner().shared_trunk()) {
        auto started = CoordinationLoop::start(event.get(), service, service.kernel(), reconciler, log);
        if (!started) return tl::unexpected(started.error());
        coordination = std::move(*started);
    }
    std::unique_ptr<GapFrameLoop> gap_frames;
    if (access.uses_fq()) {
        service.use_backend("fq", done.why_fq);
    } else {
        auto started = GapFrameLoop::start(event.get(), service, kernel, log);
        if (!started) return tl::unexpected(started.error());
        gap_frames = std::move(*started);
        (*watch)->look_also_with([&] { gap_frames->look(); });
    }
    auto feedback = FeedbackLoop::start(event.get(), service, log);
    if (!feedback) return tl::unexpected(feedback.error());
    Daemon daemon(event.get(), service, **feedback, log);
    if (auto watching = daemon.watch_signals(); !watching) return watching;
    if (taken.is_complete || service.off()) (void)reconciler.run_for_own_change();  // or on_release tries again
    auto served = daemon.serve(socket, at_the_end, hand_over ? &*hand_over : nullptr,
                               std::move(taken.clients));
    if (at_the_end == AtTheEnd::restore) jobs.remove();
    return served;
}

/// The interface is ours as long as this exists.
Result<LockFile> lock_interface(const Config& config) {
    const auto path = interface_lock_path(config.node.interface);
    if (!path) return tl::unexpected(path.error());
    return LockFile::acquire(*path);
}

Result<bool> remove_ours(KernelAccess& access, const NodePlanner& planner) {
    const auto root = access.link().root_qdisc();
    if (!access.uses_fq() && root && is_our_fq(*root)) {
        if (auto removed = remove_fq(access.link()); !removed) return tl::unexpected(removed.error());
        return true;
    }
    auto removed = tear_down_kernel(access.traffic_control(), planner.layout());
    // Somebody may have put another root there, which leaves our classifier.
    if (access.uses_fq() && removed && !*removed) (void)remove_rest_of_fq(access.link());
    return removed;
}

Result<void> take_down(KernelAccess& access, const NodePlanner& planner, spdlog::logger& log) {
    const std::string& interface = planner.config().node.interface;
    const auto removed = remove_ours(access, planner);
    if (!removed) return tl::unexpected(removed.error().within(interface));
    log_info(log, "{}: {}", interface, *removed ? "qdisc removed" : "there is no qdisc of ours");
    return {};
}

Result<void> run(NodePlanner planner, AtTheEnd at_the_end, std::vector<StoredDescriptor> received,
                 spdlog::logger& log) {
    const Config config = planner.config();
    const auto lock = lock_interface(config);
    if (!lock) return tl::unexpected(lock.error());
    auto socket = ControlSocket::bind(config.daemon.socket, config.daemon.group);
    if (!socket) return tl::unexpected(socket.error());

    auto access = KernelAccess::open(config.node.interface);
    if (!access) return tl::unexpected(access.error());
    auto monitor = KernelMonitor::open((*access)->port_id());
    if (!monitor) return tl::unexpected(monitor.error());
    const auto done = set_up(**access, planner, memory_of(received), log);
    if (!done) {
        return tl::unexpected(done.error().within("setting up " + config.node.interface));
    }
    tell_set_up(planner, *done, log);

    const auto served = serve(planner, *done, **access, std::move(*monitor), *socket, at_the_end,
                              std::move(received), log);
    if (at_the_end == AtTheEnd::keep) {
        log_info(log, "{}: qdisc and rates stay for the next run", config.node.interface);
        return served;
    }
    if (auto down = take_down(**access, planner, log); !down) return down;
    return served;
}

Result<void> restore(const NodePlanner& planner, spdlog::logger& log) {
    const auto lock = lock_interface(planner.config());
    // Who cannot make a lock finds none either: then no daemon has one.
    const int error = lock ? 0 : lock.error().error_number;
    if (!lock && error != EWOULDBLOCK && error != EROFS && error != EACCES) {
        return tl::unexpected(lock.error());
    }
    if (error == EWOULDBLOCK) {
        log_info(log, "{}: nothing to restore, a headwayd runs", planner.config().node.interface);
        return {};
    }
    auto access = KernelAccess::open(planner.config().node.interface);
    if (!access) return tl::unexpected(access.error());
    return take_down(**access, planner, log);
}

template <class Work>
ExitStatus with_planner(Config config, spdlog::logger& log, Work work) {
    auto planner = NodePlanner::make(std::move(config), host_name());
    if (!planner) {
        log_error(log, "HW-103 {}", planner.error().message);
        return ExitStatus::bad_config;
    }
    const Result<void> done = work(std::move(*planner));
    if (done) return ExitStatus::ok;
    log_error(log, "HW-201 {}", done.error().message);
    return ExitStatus::failure;
}

}  // namespace

ExitStatus run_daemon(Config config, AtTheEnd at_the_end, spdlog::logger& log) {
    // Reloading must find the file whatever the working directory.
    config.file = std::filesystem::absolute(config.file);
    auto received = received_descriptors();  // before any child could have them
    block_signals();
    raise_descriptor_limit(log);
    return with_planner(std::move(config), log, [&](NodePlanner planner) {
        log_info(log, "headwayd {} starting with {}", version, planner.config().file);
        return run(std::move(planner), at_the_end, std::move(received), log);
    });
}

ExitStatus restore_interface(Config config, spdlog::logger& log) {
    return with_planner(std::move(config), log,
                        [&](const NodePlanner& planner) { return restore(planner, log); });
}

}  // namespace headway
