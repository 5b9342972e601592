// SPDX-License-Identifier: Apache-2.0
// Jobs: who is in which, what part of the links each has, and the requests that
// start, end and list them.
#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/limits.hpp"
#include "daemon/control_service.hpp"
#include "jobs/plan_json.hpp"

namespace headway {
namespace {

/// True if both configurations put the same things into the kernel and listen
/// on the same socket.
bool same_set_up(const NodePlanner& a, const NodePlanner& b) {
    const auto& clusters_a = a.config().topology.clusters();
    const auto& clusters_b = b.config().topology.clusters();
    const auto same_cluster = [](const Cluster& x, const Cluster& y) {
        return x.name == y.name && x.prefixes == y.prefixes;
    };
    return std::equal(clusters_a.begin(), clusters_a.end(), clusters_b.begin(), clusters_b.end(),
                      same_cluster) &&
           a.layout().own_cluster == b.layout().own_cluster && a.node_name() == b.node_name() &&
           a.config().node.interface == b.config().node.interface &&
           a.config().kernel.phases == b.config().kernel.phases &&
           a.config().coordination == b.config().coordination &&
           a.shared_trunk() == b.shared_trunk() &&
           a.config().daemon.socket == b.config().daemon.socket &&
           a.config().daemon.group == b.config().daemon.group;
}

/// Writes the parts of its plans' rates that the job has, by cluster; null: it has all of them.
Json parts_json(const Topology& topology, const KernelLayout& layout, const Job& job) {
    if (job.parts.empty()) return nullptr;
    Json parts = Json::object();
    for (std::size_t i = 0; i < job.parts.size(); ++i) {
        parts[topology.clusters()[layout.classes[i].cluster].name] =
            static_cast<double>(job.parts[i].value) / static_cast<double>(LinkPart::one);
    }
    return parts;
}

Json job_json(const Topology& topology, const KernelLayout& layout, const Job& job) {
    Json json = object_for(11);
    json["job"] = job.name;
    json["uid"] = job.user;
    json["started"] = job.started.has_value();
    json["processes"] = job.processes;
    json["weight"] = job.weight();
    json["start"] = job.start() == 0 ? Json(nullptr) : Json(job.start());
    json["hosts"] = job.hosts ? Json(topology.count(*job.hosts).total()) : Json(nullptr);
    json["parts"] = parts_json(topology, layout, job);
    if (job.started) json["lasting"] = job.started->is_lasting;
    json["trunk_bytes_per_s"] = rate_json(job.parts.empty() ? ClassRate() : job.parts.back().most);
    return json;
}

}  // namespace

// ---------------------------------------------------------------------- sharing

void ControlService::divide_trunk(const TrunkDivision& division) {
    sharing_.divide_trunk(division);
    settle_apart();
}

void ControlService::retry() {
    pacer_.retry();
    sharing_.retry();
    settle_apart();
}

std::optional<std::chrono::nanoseconds> ControlService::retry_at() const {
    const auto pacer = pacer_.retry_at(), sharing = sharing_.retry_at();
    if (!pacer || !sharing) return pacer ? pacer : sharing;
    return std::min(*pacer, *sharing);
}

std::optional<Error> ControlService::take_error() {
    if (auto error = pacer_.take_error()) return error;
    return sharing_.take_error();
}

// ---------------------------------------------------------------- who is in which

void ControlService::attach_job(ControlSession& session, const std::string& name) {
    if (session.job) {
        const Job& job = jobs_.at(*session.job);
        if (job.name == name) return;
        detach_job(session);
    }
    session.job = jobs_.attach(session.peer.uid, name);
    // of its allocation it may be one more that sends
    if (const Job& job = jobs_.at(*session.job); job.hosts && job.processes == 1) sharing_.share_or_retry();
}

void ControlService::detach_job(ControlSession& session) {
    if (!session.job) return;
    const JobId id = *std::exchange(session.job, std::nullopt);
    const bool is_last = jobs_.at(id).processes == 1;
    const bool has_counted = jobs_.at(id).hosts.has_value();
    const auto ended = jobs_.detach(id);
    if (!is_last) return;
    if (ended) leave_pattern(ended->entered);
    if (has_counted) sharing_.set_due(session.account);  // else nobody's part has been another by it
}

/// A plan is wanted for these.  Names that are not known the planner will refuse.
Result<void> ControlService::learn_hosts(ControlSession& session, const CollectiveHosts& collective) {
    const auto hosts = planner_.hosts_of(collective.job);
    return hosts ? learn_hosts(session, **hosts) : Result<void>{};
}

Result<void> ControlService::learn_hosts(ControlSession& session, const HostSet& hosts) {
    if (!session.job) attach_job(session, session.hello ? session.hello->job : "");
    auto before = jobs_.at(*session.job).hosts;
    const auto are_new = jobs_.learn(*session.job, hosts);
    if (!are_new) return tl::unexpected(are_new.error());
    if (!*are_new) return {};
    auto done = sharing_.share();
    if (!done) (void)jobs_.set_hosts(*session.job, std::move(before));
    return done;
}

// -------------------------------------------------------------------- by command

/// Plans the job's pattern for this node; without rates if it has no pattern, or none here.
Result<ActiveEnter> ControlService::plan_job(const StartJobRequest& request) const {
    ActiveEnter entered;
    const Topology& topology = planner_.config().topology;
    if (!request.is_alltoall && request.flows.empty()) return entered;
    const auto hosts = topology.resolve(request.hosts);
    if (!hosts) return tl::unexpected(hosts.error().within("hosts"));
    if (!hosts->contains(*topology.find_host(planner_.node_name()))) return entered;
    const auto plan = request.is_alltoall
                          ? planner_.plan_job_alltoall(request.hosts, request.ranks_per_host)
                          : planner_.plan(TrafficRequest{request.hosts, request.flows});
    if (!plan) return tl::unexpected(plan.error());
    entered.reason = plan->reason;
    entered.rates = plan->paced ? plan->rates
                                : std::vector<ClassRate>(planner_.layout().classes.size(), link_rate());
    entered.is_uncontended = !plan->paced;
    for (const ClassRate& rate : entered.rates) {
        if (rate && rate->value < link_rate().value / slowest_rate_divisor) {
            return failure("{} is less than a thousandth of the node's link of {}",
                           rate_to_text(rate->bits()), rate_to_text(link_rate().bits()));
        }
    }
    return entered;
}

void ControlService::leave_pattern(const std::optional<ActiveEnter>& entered) {
    if (entered && entered->id) pacer_.leave(std::span(&*entered->id, 1));
}

/// Gives the job the hosts and the pattern of the command.  The rates of an earlier pattern stay in
/// force until the links are shared; the caller does that next.
Result<void> ControlService::plan_started(JobId id) {
    const StartJobRequest& request = *jobs_.at(id).started;
    auto planned = plan_job(request);
    if (!planned) return tl::unexpected(planned.error());
    if (!request.hosts.empty()) {
        auto hosts = planner_.config().topology.resolve(request.hosts);
        if (!hosts) return tl::unexpected(hosts.error().within("hosts"));
        if (auto set = jobs_.set_hosts(id, std::move(*hosts)); !set) return set;
    }
    auto& entered = jobs_.at(id).entered;
    if (entered) {
        planned->id = entered->id;
        planned->in_force = std::move(entered->in_force);
    }
    entered = std::move(*planned);
    return {};
}

/// In one step.
Result<void> ControlService::begin_job(JobId id) {
    Job& job = jobs_.at(id);
    auto hosts_before = job.hosts;
    auto entered_before = job.entered;
    auto done = plan_started(id);
    if (done) done = sharing_.share();
    if (done) return done;
    (void)jobs_.set_hosts(id, std::move(hosts_before));
    job.entered = std::move(entered_before);
    return done;
}

Result<Json> ControlService::serve(ControlSession& session, const StartJobRequest& request, Json answer) {
    StartJobRequest told = request;
    told.uid = request.uid.value_or(session.peer.uid);
    told.is_granted = is_administrator(session.peer);
    const auto user = static_cast<uid_t>(*told.uid);
    const auto known = jobs_.find(user, told.job);
    const auto before = known ? jobs_.at(*known).started : std::nullopt;
    const auto id = jobs_.start(user, told);
    if (!id) return tl::unexpected(id.error());
    Job& job = jobs_.at(*id);
    if (auto begun = begin_job(*id); !begun) {
        jobs_.take_back_start(*id, before);
        return tl::unexpected(begun.error());
    }
    answer.update(job_json(planner_.config().topology, planner_.layout(), job));
    answer["paced"] = job.entered->id.has_value();
    answer["reason"] = job.entered->reason.empty() ? Json(nullptr) : Json(job.entered->reason);
    return answer;
}

Result<Json> ControlService::serve(ControlSession& session, const EndJobRequest& request, Json answer) {
    const auto user = static_cast<uid_t>(request.uid.value_or(session.peer.uid));
    const auto id = jobs_.find(user, request.job);
    if (!id || !jobs_.at(*id).started) {
        return failure("no job \"{}\" of user {} has been started", request.job, user);
    }
    leave_pattern(std::exchange(jobs_.at(*id).entered, std::nullopt));
    answer["ended"] = jobs_.end(*id).has_value();
    sharing_.set_due(session.account);
    return answer;
}

// ------------------------------------------------------------------------ restart

Result<void> ControlService::restore_jobs(std::string_view text) {
    if (auto restored = jobs_.restore(text); !restored) return restored;
    Result<void> first;
    for (const JobId id : jobs_.ids()) {
        const auto planned = plan_started(id);
        if (planned) continue;
        const auto ended = jobs_.end(id);
        if (first) first = tl::unexpected(planned.error().within("job " + ended->name));
    }
    sharing_.share_or_retry();
    if (first) kept_.were_read(jobs_);
    return first;
}

bool ControlService::has_deserted_jobs() const { return !jobs_.deserted().empty(); }

void ControlService::end_deserted_jobs() {
    const auto deserted = jobs_.deserted();
    if (deserted.empty()) return;
    for (const JobId id : deserted) leave_pattern(jobs_.end(id)->entered);
    sharing_.set_due(0);
}

ControlService::HostNames ControlService::names_of_hosts() const {
    HostNames names;
    for (const auto& [id, job] : jobs_.jobs()) {
        if (job.hosts) names.emplace(id, planner_.config().topology.names_of(*job.hosts));
    }
    return names;
}

// ------------------------------------------------- another configuration or topology

/// In another topology the same hosts have other numbers.  A job keeps those that are
/// left: its part of the links must not become everything until it asks again.
void ControlService::renumber_hosts(const HostNames& names) {
    const Topology& topology = planner_.config().topology;
    for (const auto& [id, of_job] : names) {
        std::optional<HostSet> hosts;
        for (const std::string& name : of_job) {
            const auto number = topology.find_host(name);
            if (!number) continue;
            if (!hosts) hosts.emplace(topology.host_count());
            hosts->add(*number);
        }
        (void)jobs_.set_hosts(id, std::move(hosts));
    }
}

void ControlService::distrust(std::optional<std::uint32_t> divisor_factor_thousandths) {
    const auto before = planner_.layout().classes;
    planner_.distrust(divisor_factor_thousandths);
    set_bursts(before);
    plan_anew();
}

/// Classes whose buffers are trusted no more, or are known now, get other bursts.  What the kernel refuses
/// now, the next pass mends.
void ControlService::set_bursts(const std::vector<ClassLayout>& before) {
    std::vector<Change> changes;
    for (std::size_t i = 0; i < before.size(); ++i) {
        const ClassLayout& target = planner_.layout().classes[i];
        const TcHandle leaf = phases_ ? shared_class(target.classid) : target.classid;
        if (target.burst_bytes != before[i].burst_bytes) {
            changes.emplace_back(ChangeClassBurst{leaf, target.burst_bytes});
        }
    }
    if (changes.empty()) return;
    if (const auto done = kernel_.apply(changes, ApplyMode::together); !done) sharing_.tell_error(done.error().error);
}

/// Phases and started jobs follow the planner.
void ControlService::plan_anew() {
    if (phases_) phases_->jobs().new_generation_of_all();
    for (const JobId id : jobs_.ids()) {
        if (!jobs_.at(id).started) continue;
        const auto planned = plan_started(id);
        if (!planned) sharing_.tell_error(planned.error().within("job " + jobs_.at(id).name));
    }
    sharing_.share_or_retry();
    settle_apart();
}

Result<void> ControlService::reload(Config config) {
    auto next = NodePlanner::make(std::move(config), planner_.node_name());
    if (!next) return tl::unexpected(next.error());
    if (!same_set_up(planner_, *next)) {
        return failure("it changes the node, the interface, the socket, the way to the kernel, "
                       "the coordination or the trunk that it is about, or the clusters' names, "
                       "order or prefixes, which needs a restart");
    }
    if (next->own_cluster().host_rate > link_rate().bits()) {
        return failure("host_rate is {}, but the interface drives a link of {}",
                       rate_to_text(next->own_cluster().host_rate),
                       rate_to_text(link_rate().bits()));
    }
    const bool keep_patterns = std::ranges::equal(planner_.config().topology.clusters(),
                                                  next->config().topology.clusters(), {}, &Cluster::hosts, &Cluster::hosts);
    for (auto& [id, session] : sessions_.all()) {
        for (auto& [number, prepared] : session.patterns) prepared.is_current &= keep_patterns;
    }
    next->distrust(planner_.divisor_factor());
    const HostNames names = names_of_hosts();
    const auto before = planner_.layout().classes;
    planner_ = std::move(*next);
    set_bursts(before);
    renumber_hosts(names);
    plan_anew();
    return {};
}

// ------------------------------------------------------------------------- telling

Json ControlService::jobs_json(std::size_t most, bool with_phases) const {
    Json list = Json::array();
    for (const auto& [id, job] : jobs_.jobs()) {
        if (list.size() == most) break;
        Json entry = job_json(planner_.config().topology, planner_.layout(), job);
        if (job.started) entry["paced"] = !off() && job.entered && job.entered->id;
        if (with_phases && job.phases) phases_->add_phases_json(*job.phases, entry);
        list.push_back(std::move(entry));
    }
    return list;
}

Result<Json> ControlService::serve(ControlSession&, const JobsRequest&, Json answer) {
    answer["job_count"] = jobs_.jobs().size();
    answer["jobs"] = jobs_json(jobs_.jobs().size(), false);
    return answer;
}

}  // namespace headway
