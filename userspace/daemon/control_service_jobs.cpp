// SPDX-License-Identifier: Apache-2.0
// Jobs: who is in which, what part of the links each has, and the requests that
// start, end and list them.
#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/limits.hpp"
#include "daemon/control_service.hpp"
#include "jobs/plan_json.hpp"
#include "trunk/member_record.hpp"

namespace headway {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::nanoseconds share_retry_pause = 1s;

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

/// Those that the job has of its plans' rates, by cluster; null: all.
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
    Json json{{"job", job.name},
              {"uid", job.user},
              {"started", job.started.has_value()},
              {"processes", job.processes},
              {"weight", job.weight()},
              {"start", job.start() == 0 ? Json(nullptr) : Json(job.start())},
              {"hosts", nullptr},
              {"parts", parts_json(topology, layout, job)}};
    if (job.hosts) json["hosts"] = topology.count(*job.hosts).total();
    if (job.started) json["lasting"] = job.started->is_lasting;
    json["trunk_bytes_per_s"] = rate_json(job.parts.empty() ? ClassRate() : job.parts.back().most);
    return json;
}

}  // namespace

// ---------------------------------------------------------------------- sharing

/// The parts that follow from the jobs there are.
JobTable::Parts ControlService::parts_of_jobs() const {
    const std::vector<CountingJob> counting = jobs_.counting();
    std::vector<SharingJob> sharing;
    std::map<std::size_t, std::uint32_t> jobs_of_allocation;
    for (const CountingJob& job : counting) {
        sharing.push_back({*jobs_.at(job.id).hosts, jobs_.at(job.id).user, job.weight, job.allocation});
        ++jobs_of_allocation[job.allocation];
    }
    auto shared = share_links(planner_.config().topology, planner_.layout(),
                              planner_.config().policy.share, sharing);
    JobTable::Parts parts;
    for (const JobId id : jobs_.ids()) parts[id];
    for (std::size_t i = 0; i < counting.size(); ++i) {
        limit_beyond_trunk(counting[i].id, jobs_of_allocation[counting[i].allocation], shared[i]);
        const bool is_whole = std::ranges::count(shared[i], LinkPart{}) == std::ssize(shared[i]);
        if (!is_whole) parts[counting[i].id] = std::move(shared[i]);
    }
    return parts;
}

/// To the job's share on this node, of a trunk that is shared by agreement: that of its
/// allocation, which so many jobs on the node divide.  Not what stays in the cluster,
/// whose class is the first.
void ControlService::limit_beyond_trunk(JobId id, std::uint32_t sharers,
                                        std::vector<LinkPart>& parts) const {
    if (!trunk_division_) return;
    const auto own =
        trunk_division_->of_job.find(job_number(cluster_identity(jobs_.cluster_job(id))));
    BytesPerSecond most = own != trunk_division_->of_job.end() ? own->second : trunk_division_->of_node;
    most.value = std::max<std::uint64_t>(most.value / sharers, 1);
    if (most >= link_rate_) return;
    for (std::size_t i = 1; i < parts.size(); ++i) parts[i].most = most;
}

void ControlService::divide_trunk(const TrunkDivision& division) {
    if (trunk_division_ == division) return;
    trunk_division_ = division;
    share_or_retry();
}

/// Everything that somebody is in by request, of a job each.
std::vector<std::pair<std::optional<JobId>, ActiveEnter*>> ControlService::all_enters() {
    std::vector<std::pair<std::optional<JobId>, ActiveEnter*>> all;
    for (auto& [id, session] : sessions_) {
        for (ActiveEnter& entered : session.enters) all.emplace_back(session.job, &entered);
    }
    for (const JobId id : jobs_.ids()) {
        if (auto& entered = jobs_.at(id).entered) all.emplace_back(id, &*entered);
    }
    return all;
}

/// First the new rates, then the old ones go: nothing is unpaced between them.
Result<void> ControlService::enter_anew() {
    std::vector<std::pair<ActiveEnter*, std::optional<Pacer::EnterId>>> entered;
    std::vector<Pacer::EnterId> gone;
    for (auto& [job, enter] : all_enters()) {
        const auto rates = shared_rates(job, *enter);
        if (rates == enter->in_force) continue;
        entered.emplace_back(enter, std::nullopt);
        if (rates.empty()) continue;
        const auto made = pacer_.enter(rates);
        if (!made) {
            for (const auto& [one, its] : entered) {
                if (its) gone.push_back(*its);
            }
            pacer_.leave(gone);
            return tl::unexpected(made.error());
        }
        entered.back().second = *made;
    }
    for (const auto& [enter, id] : entered) {
        if (enter->id) gone.push_back(*enter->id);
        enter->id = id;
    }
    for (auto& [job, enter] : all_enters()) enter->in_force = shared_rates(job, *enter);
    pacer_.leave(gone);
    return {};
}

/// The set of jobs is another: all rates follow, or none do.
Result<void> ControlService::share_anew() {
    const JobTable::Parts before = jobs_.parts(), parts = parts_of_jobs();
    Result<void> done;
    if (phases_) done = phases_->jobs().share(parts);
    if (done) {
        jobs_.set_parts(parts);
        done = enter_anew();
        if (!done) jobs_.set_parts(before);
        if (!done && phases_) (void)phases_->jobs().share(before);
    }
    if (done) {
        share_retry_at_.reset();
        return done;
    }
    share_retry_at_ = clock_.now() + share_retry_pause;
    return tl::unexpected(done.error().within("the kernel"));
}

/// Where nobody can be told that it failed.
void ControlService::share_or_retry() {
    if (const auto done = share_anew(); !done) {
        share_error_ = done.error().within("sharing the links anew");
    }
    settle_apart();
}

void ControlService::retry() {
    pacer_.retry();
    if (share_retry_at_ && clock_.now() >= *share_retry_at_) share_or_retry();
}

std::optional<std::chrono::nanoseconds> ControlService::retry_at() const {
    const auto pacer = pacer_.retry_at();
    if (!pacer || !share_retry_at_) return pacer ? pacer : share_retry_at_;
    return std::min(*pacer, *share_retry_at_);
}

std::optional<Error> ControlService::take_error() {
    if (auto error = pacer_.take_error()) return error;
    return std::exchange(share_error_, std::nullopt);
}

// ---------------------------------------------------------------- whose packets

void ControlService::tell_apart_with(ReadCgroup read, TellError tell) {
    read_cgroup_ = std::move(read);
    tell_apart_error_ = std::move(tell);
}

/// Where it fails, the strictest phase of all holds for the process's packets.
void ControlService::learn_cgroup(const ControlSession& session) {
    if (!read_cgroup_) return;
    const auto cgroup = read_cgroup_(session.peer);
    if (!cgroup) {
        tell_apart_error_(cgroup.error().within(fmt::format("the cgroup of pid {}", session.peer.pid)));
    } else if (const auto known = phases_->jobs().know_cgroup(*session.seat, *cgroup); !known) {
        tell_apart_error_(known.error());
    }
}

/// After everything that could change whether jobs are told apart.
void ControlService::settle_apart() {
    if (!phases_) return;
    if (const auto done = phases_->settle_apart(!share_retry_at_); !done) {
        tell_apart_error_(done.error().within("telling jobs apart"));
    }
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
    if (const Job& job = jobs_.at(*session.job); job.hosts && job.processes == 1) share_or_retry();
    keep_jobs();
}

void ControlService::detach_job(ControlSession& session) {
    if (!session.job) return;
    const JobId id = *std::exchange(session.job, std::nullopt);
    const bool is_last = jobs_.at(id).processes == 1;
    const bool has_counted = jobs_.at(id).hosts.has_value();
    const auto ended = jobs_.detach(id);
    if (!is_last) return;
    if (ended) leave_pattern(ended->entered);
    if (has_counted) share_or_retry();  // else nobody's part has been another by it
    keep_jobs();
}

/// A plan is wanted for these.  Names that are not known the planner will refuse.
Result<void> ControlService::learn_hosts(ControlSession& session, const CollectiveHosts& collective) {
    const auto hosts = planner_.hosts_of(collective.job);
    return hosts ? learn_hosts(session, **hosts) : Result<void>{};
}

Result<void> ControlService::learn_hosts(ControlSession& session, const HostSet& hosts) {
    if (!session.job) attach_job(session, session.hello ? session.hello->job : "");
    auto before = jobs_.at(*session.job).hosts;
    if (!jobs_.learn(*session.job, hosts)) return {};
    auto done = share_anew();
    if (!done) jobs_.at(*session.job).hosts = std::move(before);
    ++job_changes_;
    return done;
}

// -------------------------------------------------------------------- by command

/// Of the job's pattern on this node; no rates: it has none, or not here.
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
                                : std::vector<ClassRate>(planner_.layout().classes.size(), link_rate_);
    entered.is_uncontended = !plan->paced;
    for (const ClassRate& rate : entered.rates) {
        if (rate && rate->value < link_rate_.value / slowest_rate_divisor) {
            return failure("{} is less than a thousandth of the node's link of {}",
                           rate_to_text(rate->bits()), rate_to_text(link_rate_.bits()));
        }
    }
    return entered;
}

void ControlService::leave_pattern(const std::optional<ActiveEnter>& entered) {
    if (entered && entered->id) pacer_.leave(std::span(&*entered->id, 1));
}

/// What the command says of a job becomes its hosts and its pattern, in one step.
Result<void> ControlService::begin_job(JobId id) {
    const StartJobRequest& request = *jobs_.at(id).started;
    auto planned = plan_job(request);
    if (!planned) return tl::unexpected(planned.error());
    Job& job = jobs_.at(id);
    const auto hosts_before = job.hosts;
    if (!request.hosts.empty()) {
        auto hosts = planner_.config().topology.resolve(request.hosts);
        if (!hosts) return tl::unexpected(hosts.error().within("hosts"));
        job.hosts = std::move(*hosts);
    }
    auto before = std::exchange(job.entered, std::move(*planned));
    if (auto shared = share_anew(); !shared) {
        job.hosts = hosts_before;
        job.entered = std::move(before);
        return shared;
    }
    leave_pattern(before);
    return {};
}

Result<Json> ControlService::start_job(ControlSession& session, const StartJobRequest& request,
                                       Json answer) {
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
        if (known) job.started = before;
        else (void)jobs_.end(*id);
        return tl::unexpected(begun.error());
    }
    ++job_changes_;  // the hosts that it was given
    keep_jobs();
    answer.update(job_json(planner_.config().topology, planner_.layout(), job));
    answer["paced"] = job.entered->id.has_value();
    answer["reason"] = job.entered->reason.empty() ? Json(nullptr) : Json(job.entered->reason);
    return answer;
}

Result<Json> ControlService::end_job(ControlSession& session, const EndJobRequest& request,
                                     Json answer) {
    const auto user = static_cast<uid_t>(request.uid.value_or(session.peer.uid));
    const auto id = jobs_.find(user, request.job);
    if (!id || !jobs_.at(*id).started) {
        return failure("no job \"{}\" of user {} has been started", request.job, user);
    }
    leave_pattern(std::exchange(jobs_.at(*id).entered, std::nullopt));
    answer["ended"] = jobs_.end(*id).has_value();
    share_or_retry();
    keep_jobs();
    return answer;
}

// ------------------------------------------------------------------------ restart

Result<void> ControlService::restore_jobs(std::string_view text) {
    if (auto restored = jobs_.restore(text); !restored) return restored;
    kept_ = text;
    Result<void> first;
    for (const JobId id : jobs_.ids()) {
        const auto begun = begin_job(id);
        if (begun) continue;
        const auto ended = jobs_.end(id);
        if (first) first = tl::unexpected(begun.error().within("job " + ended->name));
    }
    return first;
}

bool ControlService::has_deserted_jobs() const { return !jobs_.deserted().empty(); }

void ControlService::end_deserted_jobs() {
    const auto deserted = jobs_.deserted();
    if (deserted.empty()) return;
    for (const JobId id : deserted) leave_pattern(jobs_.end(id)->entered);
    share_or_retry();
    keep_jobs();
}

/// Only what has changed is written.
void ControlService::keep_jobs() {
    if (!keep_) return;
    std::string text = jobs_.to_text();
    if (text == kept_) return;
    keep_(text);
    kept_ = std::move(text);
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
        jobs_.at(id).hosts = std::move(hosts);
    }
}

void ControlService::distrust(std::optional<std::uint32_t> divisor_factor_thousandths) {
    planner_.distrust(divisor_factor_thousandths);
    plan_anew();
}

/// Phases and started jobs follow the planner.
void ControlService::plan_anew() {
    if (phases_) phases_->jobs().new_generation_of_all();
    for (const JobId id : jobs_.ids()) {
        if (!jobs_.at(id).started) continue;
        const auto begun = begin_job(id);
        if (!begun) share_error_ = begun.error().within("job " + jobs_.at(id).name);
    }
    share_or_retry();
}

Result<void> ControlService::reload(Config config) {
    auto next = NodePlanner::make(std::move(config), planner_.node_name());
    if (!next) return tl::unexpected(next.error());
    if (!same_set_up(planner_, *next)) {
        return failure("it changes the node, the interface, the socket, the way to the kernel, "
                       "the coordination or the trunk that it is about, or the clusters' names, "
                       "order or prefixes, which needs a restart");
    }
    if (next->own_cluster().host_rate > link_rate_.bits()) {
        return failure("host_rate is {}, but the interface drives a link of {}",
                       rate_to_text(next->own_cluster().host_rate),
                       rate_to_text(link_rate_.bits()));
    }
    const bool keep_patterns = std::ranges::equal(planner_.config().topology.clusters(),
                                                  next->config().topology.clusters(), {}, &Cluster::hosts, &Cluster::hosts);
    for (auto& [id, session] : sessions_) {
        for (auto& [number, prepared] : session.patterns) prepared.is_current &= keep_patterns;
    }
    next->distrust(planner_.divisor_factor());
    const HostNames names = names_of_hosts();
    planner_ = std::move(*next);
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
        if (job.started) entry["paced"] = !off_ && job.entered && job.entered->id;
        if (with_phases && job.phases) phases_->add_phases_json(*job.phases, entry);
        list.push_back(std::move(entry));
    }
    return list;
}

Result<Json> ControlService::list_jobs(ControlSession&, const JobsRequest&, Json answer) {
    answer["job_count"] = jobs_.jobs().size();
    answer["jobs"] = jobs_json(jobs_.jobs().size(), false);
    return answer;
}

}  // namespace headway
