// SPDX-License-Identifier: Apache-2.0
#include "daemon/daemon.hpp"

#include <nlohmann/json.hpp>
#include <sys/resource.h>
#include <systemd/sd-daemon.h>

#include <csignal>
#include <cstring>
#include <filesystem>

#include "base/host_name.hpp"
#include "base/json.hpp"
#include "base/log.hpp"
#include "base/version.hpp"
#include "daemon/control_server.hpp"
#include "daemon/control_service.hpp"
#include "daemon/control_socket.hpp"
#include "daemon/coordination_loop.hpp"
#include "daemon/feedback_loop.hpp"
#include "daemon/gap_frame_loop.hpp"
#include "daemon/hand_over.hpp"
#include "daemon/kernel_setup.hpp"
#include "daemon/kernel_watch.hpp"
#include "daemon/rest_loop.hpp"
#include "daemon/state_file.hpp"
#include "jobs/process_cgroup.hpp"
#include "kernel/kernel_diff.hpp"
#include "kernel/netlink_exchange.hpp"
#include "kernel/netlink_traffic_control.hpp"
#include "kernel/reconciler.hpp"
#include "kernel/resting_traffic_control.hpp"
#include "kernel/tested_kernels.hpp"
#include "look/device_speed.hpp"
#include "look/netlink_route.hpp"
#include "phase/bpf_phase_maps.hpp"
#include "phase/bpf_traffic_control.hpp"

namespace headway {
namespace {

using namespace std::chrono_literals;

/// Signals are read from the event loop; until it runs they wait.
void block_signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, signal);
    sigprocmask(SIG_BLOCK, &set, nullptr);
}

/// Room for every client that limits.hpp allows.
void raise_descriptor_limit(spdlog::logger& log) {
    const rlim_t wanted = descriptors_for(clients_max);
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return;
    limit.rlim_cur = std::min(wanted, limit.rlim_max);
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < wanted) {
        log_warning(log, "HW-301 allowing fewer clients than {}: there are only {} descriptors; "
                         "raise LimitNOFILE= of the unit", clients_max, limit.rlim_cur);
    }
}

/// The group that [access] names; none: only root administrates.
Result<std::optional<gid_t>> administrators_of(const Config& config) {
    if (!config.access.administrators) return std::nullopt;
    return group_number(*config.access.administrators, "[access] administrators")
        .map([](gid_t group) { return std::optional(group); });
}

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

/// The kernel as headwayd has set it up.
struct SetUp {
    SetUpReport report;
    std::unique_ptr<BpfPhaseMaps> phases{};  ///< none: rates change by requests only
    std::unique_ptr<BpfClasses> classes{};
    std::unique_ptr<BpfTrafficControl> program{};  ///< none: the qdisc gap paces
    std::string backend = "gap";
    std::string why{};  ///< not gap
};

/// Sets up phases with that program, which goes on with what an earlier run's remembers.
Result<SetUp> set_up_phases(TrafficControl& kernel, const NodePlanner& planner,
                            std::unique_ptr<BpfPhaseMaps> phases) {
    const KernelLayout layout = with_phases(planner.layout(), phases->program());
    // Packets rest until it is known that no earlier run's classifier is to decide.
    leave_resting_packets(*phases, true);
    const auto report = set_up_kernel(kernel, layout, planner.own_cluster().host_rate);
    if (!report) return tl::unexpected(report.error());
    if (!report->earlier_program) leave_resting_packets(*phases, false);
    return SetUp{*report, std::move(phases)};
}

/// A program of an earlier run paces until gap is there, and if gap is refused.
Result<void> replace_program(NetlinkTrafficControl& link) {
    const auto root = link.root_qdisc();
    if (!root || !program_qdisc_of(*root)) return {};
    if (auto done = link.apply_one(AddRootQdisc{.handle = root_handle, .replaces = true}); !done) return done;
    return remove_rest_of_program(link);
}

/// Sets up gap, with phases where the kernel can; without them if they are what it refuses.
Result<SetUp> set_up_gap(NetlinkTrafficControl& link, const NodePlanner& planner,
                         const std::map<std::string, int>& earlier, spdlog::logger& log) {
    if (auto replaced = replace_program(link); !replaced) return tl::unexpected(replaced.error());
    auto phases = load_classifier(planner, phase_classifier_object(), earlier);
    if (phases) {
        auto done = set_up_phases(link, planner, std::move(*phases));
        if (done || is_module_missing(done.error())) return done;
        phases = tl::unexpected(done.error());
    }
    auto report = set_up_kernel(link, planner.layout(), planner.own_cluster().host_rate);
    if (!report) return tl::unexpected(report.error());
    if (planner.config().kernel.phases) {
        log_warning(log, "HW-202 going on without phases, rates change by requests only: {}",
                    phases.error().message);
    }
    return SetUp{*report};
}

/// Sets up a program that paces by itself, on that qdisc.
Result<SetUp> set_up_program(NetlinkTrafficControl& link, const NodePlanner& planner, ProgramQdisc qdisc,
                             const std::map<std::string, int>& earlier) {
    const bool is_bpf = qdisc == ProgramQdisc::bpf;
    const PhaseObject object = is_bpf ? pacing_qdisc_object(link.tx_queues()) : fq_pacing_object();
    auto phases = load_classifier(planner, object, earlier);
    if (!phases) return tl::unexpected(phases.error());
    auto classes = (*phases)->classes();
    if (!classes) return tl::unexpected(classes.error());
    ProgramPacing pacing{.qdisc = qdisc};
    if (is_bpf) {
        pacing.name = [&maps = **phases](int ifindex) { return maps.name_qdisc(ifindex); };
        pacing.knows_earlier = (*phases)->has_classes_of_earlier();
    }
    static const SteadyClock clock;
    auto program = std::make_unique<BpfTrafficControl>(link, **classes, clock, [&planner] {
        const auto speed = device_speed(planner.config().node.interface);
        return speed.value_or(planner.own_cluster().host_rate);
    }, std::move(pacing));
    auto done = set_up_phases(*program, planner, std::move(*phases));
    if (!done) return done;
    done->classes = std::move(*classes);
    done->program = std::move(program);
    done->backend = is_bpf ? "bpf" : "fq";
    return done;
}

Result<SetUp> set_up_by(PacingQdisc qdisc, NetlinkTrafficControl& link, const NodePlanner& planner,
                        const std::map<std::string, int>& earlier, spdlog::logger& log) {
    if (qdisc == PacingQdisc::gap) return set_up_gap(link, planner, earlier, log);
    return set_up_program(link, planner, qdisc == PacingQdisc::fq ? ProgramQdisc::fq : ProgramQdisc::bpf, earlier);
}

Card card_of(const NetlinkTrafficControl& link, const NodePlanner& planner) {
    const auto has_none = [](const ClassLayout& one) { return one.burst_bytes == 0; };
    const auto speed = device_speed(planner.config().node.interface);
    // fq paces by the program that phases need
    return {link.tx_queues(), speed.value_or(planner.own_cluster().host_rate),
            planner.config().kernel.phases && std::ranges::none_of(planner.layout().classes, has_none)};
}

/// Why a program paces, and not gap.  `bpf_refusal`: why not as a qdisc itself, where the kernel takes those.
std::string why_not_gap(PacingQdisc asked, const SetUp& done, PacingQdisc first, const Card& card,
                        const std::string& bpf_refusal) {
    if (asked != PacingQdisc::automatic) return fmt::format("[kernel] backend is \"{}\"", done.backend);
    if (first == PacingQdisc::fq) {
        return fmt::format("it keeps the {} TX queues of a link of {}, and buffers take bursts", card.tx_queues,
                           rate_to_text(card.link_rate));
    }
    const std::string untested = why_kernel_is_not_tested(running_kernel());
    std::string why = "the module sch_gap is not there" + (untested.empty() ? "" : ": " + untested);
    if (!bpf_refusal.empty()) why += "; " + bpf_refusal;
    return why;
}

/// A refusal lets the next one try: of gap only where its module is not there.
Result<SetUp> set_up(NetlinkTrafficControl& link, const NodePlanner& planner,
                     const std::map<std::string, int>& earlier, spdlog::logger& log) {
    const PacingQdisc asked = planner.config().kernel.qdisc;
    const Card card = card_of(link, planner);
    const auto order = qdiscs_for(asked, card);
    std::string refusals, bpf_refusal;
    for (const PacingQdisc one : order) {
        auto done = set_up_by(one, link, planner, earlier, log);
        if (done) {
            if (done->program) done->why = why_not_gap(asked, *done, order.front(), card, bpf_refusal);
            return done;
        }
        const Error& refusal = done.error();
        if (one == PacingQdisc::gap && !is_module_missing(refusal)) return done;
        if (one == PacingQdisc::bpf && refusal.error_number != EOPNOTSUPP) bpf_refusal = refusal.message;
        if (one == PacingQdisc::fq && one != order.back()) {
            log_warning(log, "HW-212 pacing with one TX queue of {}, by gap: fq cannot pace: {}", card.tx_queues,
                        refusal.message);
        }
        refusals += (refusals.empty() ? "" : "; nor can another qdisc pace: ") + refusal.message;
    }
    return failure("{}", refusals);
}

void tell_set_up(const NodePlanner& planner, const SetUp& done, spdlog::logger& log) {
    const std::string& interface = planner.config().node.interface;
    const std::string& qdisc = done.backend;
    if (done.report.is_adopted) {
        log_info(log, "took over the {} qdisc of an earlier run on {}", qdisc, interface);
    } else if (done.report.not_adopted) {
        log_warning(log, "HW-203 replaced the {} qdisc of an earlier run on {}: {}", qdisc,
                    interface, done.report.not_adopted->message);
    }
    if (done.program) log_info(log, "pacing {} by {}: {}", interface, done.backend, done.why);
    if (!done.report.has_speed) {
        log_warning(log, "HW-210 taking {}, which reports no speed, for a link of {}, its "
                         "cluster's host_rate", interface,
                    rate_to_text(done.report.link_rate.bits()));
    }
    log_info(log, "set up {}: node {} of cluster {}, {} classes on a link of {}, {} phases",
             interface, planner.node_name(), planner.own_cluster().name,
             planner.layout().classes.size(), rate_to_text(done.report.link_rate.bits()),
             done.phases ? "with" : "without");
}

/// Jobs that were started during an earlier run, and from now on a file of them.
void take_up_jobs(ControlService& service, const StateFile& file, spdlog::logger& log) {
    const auto text = file.read();
    if (!text) {
        log_warning(log, "HW-401 cannot read the jobs of an earlier run, start them again: {}",
                    text.error().message);
    } else if (*text) {
        if (const auto done = service.restore_jobs(**text); !done) {
            log_warning(log, "HW-401 cannot take up all jobs of the earlier run in {}: {}",
                        file.path(), done.error().message);
        }
    }
    service.kept().keep_jobs_with([&file, &log](const std::string& jobs) {
        if (const auto done = file.write(jobs); !done) {
            log_warning(log, "HW-402 cannot keep started jobs over a restart: {}",
                        done.error().message);
        }
    });
}

void log_off(const PacingOff& off, spdlog::logger& log) {
    log_warning(log, "HW-403 pacing nothing: user {} has switched pacing off; `headway on` "
                     "switches it on", off.uid);
}

/// Pacing that was switched off stays off.  A file that cannot be read may be one that
/// says so.  From now on each switch goes into the file, the kernel and the log.
void take_up_off(ControlService& service, const StateFile& file, Reconciler& reconciler,
                 spdlog::logger& log) {
    const auto text = file.read();
    if (!text) {
        log_warning(log, "HW-404 cannot read whether pacing was switched off: {}",
                    text.error().message);
    } else if (*text) {
        service.stay_off(parse_off(**text));
        log_off(*service.off(), log);
    }
    service.kept().keep_off_with([&](const std::optional<PacingOff>& off) -> Result<void> {
        (void)reconciler.run_for_own_change();  // what is refused is tried again
        if (off) log_off(*off, log);
        else log_info(log, "pacing again: pacing is switched on");
        Result<void> kept;
        if (off) kept = file.write(json_text(off_json(*off)) + "\n");
        else if (!file.remove()) kept = errno_failure("removing " + file.path());
        if (!kept) {
            log_warning(log, "HW-404 cannot store that pacing is {}: {}", off ? "off" : "on",
                        kept.error().message);
        }
        return kept;
    });
}

/// Learns what a lost packet costs here at most: of all clusters, the longest least time-out.
void learn_timeouts(Topology& topology) {
    auto transport = MnlTransport::open();
    if (!transport) return;
    NetlinkExchange kernel(*transport);
    double longest_s = 0;
    for (const Cluster& cluster : topology.clusters()) {
        for (const IpPrefix& prefix : cluster.prefixes)
            longest_s = std::max(longest_s, least_timeout_s(kernel, prefix).value_or(0));
    }
    if (longest_s > 0) topology.set_least_timeout_s(longest_s);
}

Result<void> take_over(ControlService& service, Config config) {
    learn_timeouts(config.topology);
    const auto group = administrators_of(config);
    if (!group) return tl::unexpected(group.error());
    auto done = service.reload(std::move(config));
    if (!done) return done;
    service.administrate_by(*group);
    service.count_by(read_accounts());
    return done;
}

void reload(ControlService& service, FeedbackLoop& feedback, spdlog::logger& log) {
    const auto now = SteadyClock().now();
    sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%lld", static_cast<long long>(now / 1us));
    const std::string file = service.planner().config().file;
    auto config = load_config(file);
    if (!config) {
        for (const FileError& error : config.error()) {
            log_error(log, "HW-101 found a mistake: {}", error.to_string());
        }
        log_error(log, "HW-102 did not reload {}; the earlier configuration stays in force", file);
    } else if (const auto done = take_over(service, std::move(*config)); !done) {
        log_error(log, "HW-102 did not reload {}; the earlier configuration stays in force: {}",
                  file, done.error().message);
    } else {
        feedback.configured();
        log_info(log, "reloaded {}", file);
    }
    sd_notify(0, "READY=1");
}

/// Serves clients until a signal ends it.
Result<void> serve_clients(EventLoop& loop, ControlService& service, ControlSocket& socket,
                           Task task, HandOver& hand_over, std::vector<HandOver::Client> returned,
                           spdlog::logger& log) {
    if (auto listening = socket.listen(); !listening) return listening;
    ControlServer server(loop, socket.fd(), service, hand_over, log);
    if (auto done = server.take_back(std::move(returned)); !done) return done;
    sd_notifyf(0, "READY=1\nSTATUS=pacing %s", service.planner().config().node.interface.c_str());
    auto ended = loop.run();
    sd_notify(0, "STOPPING=1");
    if (task == Task::pace_and_keep) server.keep_what_clients_hold();
    return ended;
}

/// Serves once the kernel is set up; whatever happens here, the caller takes it down.
Result<void> serve(NodePlanner& planner, const SetUp& done, NetlinkTrafficControl& link,
                   KernelMonitor monitor, ControlSocket& socket, Task task,
                   std::vector<StoredDescriptor> received, spdlog::logger& log) {
    EventLoop loop;
    RestingTrafficControl kernel(done.program ? static_cast<TrafficControl&>(*done.program) : link,
                                 done.phases ? std::optional(done.phases->program()) : std::nullopt,
                                 [&planner] { return device_speed(planner.config().node.interface); });
    const SteadyClock clock;
    ControlService service(planner, done.report.link_rate, kernel, clock);
    const auto administrators = administrators_of(service.planner().config());
    if (!administrators) return tl::unexpected(administrators.error());
    service.administrate_by(*administrators);
    service.count_by(read_accounts());
    if (done.phases) service.use_phases(*done.phases, done.phases->program());
    // If this fails, the strictest phase of all holds, as on a node with one job.
    if (PhaseService* const phases = service.phases()) {
        phases->tell_apart_with(
            [](const Peer& peer) { return cgroup_of(peer.pid, peer.process); },
            [&log](const Error& why) {
                log_debug(log, "cannot tell packets apart: {}", why.message);
            });
    }
    if (done.report.is_adopted) service.adopt(done.report.found, done.report.earlier_program);
    const std::string& path = service.planner().config().daemon.socket;
    const StateFile off = off_file(path);
    Reconciler reconciler(service.kernel(), clock, service);
    take_up_off(service, off, reconciler, log);
    const StateFile jobs = jobs_file(path);
    take_up_jobs(service, jobs, log);
    const auto store = service_manager_store();
    HandOver hand_over(store.get(), log);
    HandOver::TakenUp taken = hand_over.take_up(service, std::move(received));
    if (taken.is_complete) service.earlier_run_is_back();
    std::optional<GapFrameLoop> gap_frames;
    KernelWatch watch(loop, std::move(monitor), link, service, reconciler, log, [&] {
        if (gap_frames) gap_frames->look();
    });
    if (done.report.is_adopted || service.has_deserted_jobs()) watch.release_adopted_later();
    std::optional<CoordinationLoop> coordination;
    if (service.planner().shared_trunk()) {
        coordination.emplace(loop, service, service.kernel(), reconciler, log,
                             etcd_command(*planner.config().coordination, planner.own_cluster().name,
                                          planner.node_name()));
        if (auto started = coordination->start(); !started) return started;
    }
    if (done.program) service.status().use_backend(done.backend, done.why);
    else gap_frames.emplace(loop, service, kernel, log);
    // A device of one queue gains nothing by a qdisc of its own.
    std::optional<RestLoop> rest;
    if (link.tx_queues() > 1) {
        rest.emplace(loop, service, kernel, log, [&] {
            if (gap_frames) gap_frames->look();
        });
    }
    FeedbackLoop feedback(loop, service, log);
    const auto stop = [&](int number) {
        return loop.signal(number, [&loop, &log, number] {
            log_info(log, "stopping: {}", strsignal(number));
            sd_event_exit(loop.get(), 0);
        });
    };
    const EventSource terminated = stop(SIGTERM), interrupted = stop(SIGINT);
    const EventSource hung_up = loop.signal(SIGHUP, [&] { reload(service, feedback, log); });
    sd_event_set_watchdog(loop.get(), 1);
    // or KernelWatch::release_adopted() tries again
    if (taken.is_complete || service.off()) (void)reconciler.run_for_own_change();
    auto served =
        serve_clients(loop, service, socket, task, hand_over, std::move(taken.clients), log);
    if (task == Task::pace) jobs.remove();
    return served;
}

/// `program`, or null: the qdisc gap paces, or nobody knows.
Result<bool> remove_ours(NetlinkTrafficControl& link, TrafficControl* program,
                         const NodePlanner& planner) {
    const auto root = link.root_qdisc();
    if (program == nullptr && root && program_qdisc_of(*root)) {
        return remove_program(link, (*root)->handle).map([] { return true; });
    }
    auto removed = tear_down_kernel(program != nullptr ? *program : link, planner.layout());
    // Somebody may have put another root there, which leaves our classifier.
    if (program != nullptr && removed && !*removed) (void)remove_rest_of_program(link);
    return removed;
}

Result<void> take_down(NetlinkTrafficControl& link, TrafficControl* program, const NodePlanner& planner,
                       spdlog::logger& log) {
    const std::string& interface = planner.config().node.interface;
    const auto removed = remove_ours(link, program, planner);
    if (!removed) return tl::unexpected(removed.error().within(interface));
    if (*removed) log_info(log, "removed the qdisc from {}", interface);
    else log_info(log, "found no qdisc of ours on {}", interface);
    return {};
}

Result<void> run(NodePlanner& planner, Task task, std::vector<StoredDescriptor> received,
                 spdlog::logger& log) {
    const Config& config = planner.config();
    log_info(log, "starting headwayd {} with {}", version, config.file);
    const std::string& interface = config.node.interface;
    const auto lock = lock_interface(interface);
    if (!lock) return tl::unexpected(lock.error());
    auto socket = ControlSocket::bind(config.daemon.socket, config.daemon.group);
    if (!socket) return tl::unexpected(socket.error());

    auto transport = MnlTransport::open();
    if (!transport) return tl::unexpected(transport.error());
    auto link = NetlinkTrafficControl::open(*transport, interface);
    if (!link) return tl::unexpected(link.error());
    auto monitor = KernelMonitor::open(transport->port_id());
    if (!monitor) return tl::unexpected(monitor.error());
    std::map<std::string, int> earlier;  // as PhaseMaps::memory(), as far as it was stored
    for (const StoredDescriptor& one : received) earlier.emplace(one.name, one.fd.get());
    const auto done = set_up(*link, planner, earlier, log);
    if (!done) return tl::unexpected(done.error().within("setting up " + interface));
    tell_set_up(planner, *done, log);

    const auto served = serve(planner, *done, *link, std::move(*monitor), *socket, task,
                              std::move(received), log);
    if (task == Task::pace_and_keep) {
        log_info(log, "leaving qdisc and rates of {} to the next run", interface);
        return served;
    }
    if (auto down = take_down(*link, done->program.get(), planner, log); !down) return down;
    return served;
}

Result<void> restore(const NodePlanner& planner, spdlog::logger& log) {
    const std::string& interface = planner.config().node.interface;
    const auto lock = lock_interface(interface);
    // A process that cannot make a lock finds none either: then no daemon has one.
    const int error = lock ? 0 : lock.error().error_number;
    if (!lock && error != EWOULDBLOCK && error != EROFS && error != EACCES) {
        return tl::unexpected(lock.error());
    }
    if (error == EWOULDBLOCK) {
        log_info(log, "leaving {} alone: a headwayd runs", interface);
        return {};
    }
    auto transport = MnlTransport::open();
    if (!transport) return tl::unexpected(transport.error());
    auto link = NetlinkTrafficControl::open(*transport, interface);
    if (!link) return tl::unexpected(link.error());
    return take_down(*link, nullptr, planner, log);
}

}  // namespace

ExitStatus run_daemon(Config config, Task task, spdlog::logger& log) {
    // Reloading must find the file whatever the working directory.
    config.file = std::filesystem::absolute(config.file);
    auto received = received_descriptors();  // before any child could have them
    if (task != Task::restore) {
        block_signals();
        raise_descriptor_limit(log);
        learn_timeouts(config.topology);
    }
    auto planner = NodePlanner::make(std::move(config), host_name());
    if (!planner) {
        log_error(log, "HW-103 cannot plan for this host: {}", planner.error().message);
        return ExitStatus::bad_config;
    }
    const Result<void> done = task == Task::restore ? restore(*planner, log)
                                                    : run(*planner, task, std::move(received), log);
    if (done) return ExitStatus::ok;
    log_error(log, "HW-201 cannot pace: {}", done.error().message);
    return ExitStatus::failure;
}

}  // namespace headway
