// SPDX-License-Identifier: Apache-2.0
#include "jobs/job_table.hpp"

#include <algorithm>

#include "base/json.hpp"
#include "base/limits.hpp"

namespace headway {
namespace {

std::string started_text(const Job& job) {
    const StartJobRequest& told = *job.started;
    Json json{{"v", protocol_version}, {"id", 0},           {"op", "job_start"},
              {"job", job.name},       {"uid", job.user},   {"weight", told.weight},
              {"lasting", told.is_lasting}, {"ranks_per_host", told.ranks_per_host},
              {"start", told.start}};
    if (!told.hosts.empty()) json["hosts"] = told.hosts;
    if (told.is_alltoall) json["operation"] = "alltoall";
    for (const HostFlow& flow : told.flows) {
        json["flows"].push_back({flow.from, flow.to, static_cast<std::uint64_t>(flow.bytes)});
    }
    json["granted"] = told.is_granted;
    return json_text(json);
}

/// The request that the job was started with, and whether it had processes.
Result<std::pair<StartJobRequest, bool>> read_job(Json& entry) {
    const bool is_granted = entry.is_object() && entry.value("granted", Json(false)) == true;
    if (entry.is_object()) entry.erase("granted");
    if (!entry.is_object() || !entry.contains("had_processes") ||
        !entry["had_processes"].is_boolean()) {
        return failure("no list of jobs");
    }
    const bool had_processes = entry["had_processes"].get<bool>();
    entry.erase("had_processes");
    auto request = parse_request(json_text(entry));
    if (!request.body) return tl::unexpected(request.body.error());
    auto* const start = std::get_if<StartJobRequest>(&*request.body);
    if (start == nullptr || !start->uid) return failure("no list of jobs");
    start->is_granted = is_granted;
    return std::pair(std::move(*start), had_processes);
}

bool has_something_to_send(const Job& job) {
    return job.processes > 0 ||
           (job.started && (job.started->is_alltoall || !job.started->flows.empty()));
}

/// Says whether the name is an allocation's number, as a batch system gives it.
bool is_number(std::string_view name) {
    return !name.empty() && name.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

std::string_view allocation_of(std::string_view name) {
    const std::string_view number = name.substr(0, name.find('.'));
    return is_number(number) ? number : name;
}

JobHere JobTable::cluster_job(JobId id) const {
    const Job& job = at(id);
    const std::string name(allocation_of(job.name));
    return {name, job.weight(), job.started && job.started->is_granted, job.user,
            is_number(name) ? start_of(job.user, name) : job.start()};
}

/// Its steps begin at different times: only what the command says of the allocation itself
/// is the same on all its nodes.
std::uint64_t JobTable::start_of(uid_t user, const std::string& allocation) const {
    const auto whole = find(user, allocation);
    return whole && at(*whole).started ? at(*whole).start() : 0;
}

// -------------------------------------------------------------------- sharing

namespace {

/// All jobs of a user that are of one allocation.
struct Allocation {
    std::size_t number = 0;
    bool has_sender = false;
    bool is_told = false;      ///< the weight, by command of the allocation itself
    std::uint32_t weight = 1;  ///< or else the most that was said of anything in it

    void add(const Job& job, std::string_view name) {
        has_sender = has_sender || (job.hosts && has_something_to_send(job));
        if (is_told) return;
        is_told = job.started && job.name == name;
        weight = is_told ? job.weight() : std::max(weight, job.weight());
    }
};

}  // namespace

std::vector<CountingJob> JobTable::counting() const {
    std::map<std::pair<uid_t, std::string_view>, Allocation> allocations;
    std::vector<std::pair<JobId, const Allocation*>> with_hosts;
    for (const auto& [id, job] : jobs_) {
        const std::string_view name = allocation_of(job.name);
        if (!job.hosts && !job.started) continue;
        Allocation& its = allocations.try_emplace({job.user, name}, Allocation{allocations.size()}).first->second;
        its.add(job, name);
        if (job.hosts) with_hosts.emplace_back(id, &its);
    }
    std::vector<CountingJob> counting;
    for (const auto& [id, allocation] : with_hosts) {
        if (allocation->has_sender && !has_something_to_send(at(id))) continue;
        counting.push_back({id, allocation->number, allocation->weight});
    }
    return counting;
}

JobTable::Parts JobTable::parts() const {
    Parts parts;
    for (const auto& [id, job] : jobs_) {
        if (!job.parts.empty()) parts.emplace_hint(parts.end(), id, job.parts);
    }
    return parts;
}

const std::vector<LinkPart>& JobTable::parts_of(const Parts& parts, JobId id) {
    static const std::vector<LinkPart> all;
    const auto found = parts.find(id);
    return found == parts.end() ? all : found->second;
}

void JobTable::set_parts(const Parts& parts) {
    auto next = parts.begin();  // both are in the order of jobs
    for (auto& [id, job] : jobs_) {
        while (next != parts.end() && next->first < id) ++next;
        if (job.phases) continue;
        if (next != parts.end() && next->first == id) job.parts = next->second;
        else job.parts.clear();
    }
}

// ------------------------------------------------------------------ processes

JobId JobTable::find_or_begin(uid_t user, const std::string& name) {
    const auto [known, is_new] = by_name_.try_emplace({user, name}, next_);
    if (!is_new) return known->second;
    Job job;
    job.user = user;
    job.account = accounts_.of(user);
    job.name = name;
    jobs_.emplace(next_, std::move(job));
    return next_++;
}

void JobTable::end_unused(JobId id) {
    if (const Job& job = jobs_.at(id); job.processes == 0 && !job.started) (void)take(id);
}

Job JobTable::take(JobId id) {
    Job& job = jobs_.at(id);
    set_started(job, std::nullopt);
    (void)set_hosts(id, std::nullopt);
    by_name_.erase({job.user, job.name});
    return std::move(jobs_.extract(id).mapped());
}

JobId JobTable::attach(uid_t user, const std::string& name) {
    const JobId id = find_or_begin(user, name);
    Job& job = jobs_.at(id);
    ++job.processes;
    ++process_changes_;
    if (job.started && !job.had_processes) ++started_changes_;
    job.had_processes = true;
    return id;
}

std::optional<Job> JobTable::detach(JobId id) {
    Job& job = jobs_.at(id);
    ++process_changes_;
    if (--job.processes > 0 || (job.started && job.started->is_lasting)) return std::nullopt;
    return take(id);
}

void JobTable::tell_start(JobId id, std::uint64_t start) {
    Job& job = jobs_.at(id);
    if (job.told_start != 0 || start == 0) return;
    job.told_start = start;
    ++process_changes_;
}

Result<bool> JobTable::learn(JobId id, const HostSet& hosts) {
    Job& job = jobs_.at(id);
    if (!job.hosts) return set_hosts(id, hosts).map([] { return true; });
    const bool are_new = job.hosts->add_all(hosts);
    if (are_new) ++host_changes_;
    return are_new;
}

Result<void> JobTable::set_hosts(JobId id, std::optional<HostSet> hosts) {
    Job& job = jobs_.at(id);
    const bool is_one_of_few = job.started || job.phases;
    if (hosts && !job.hosts && !(is_one_of_few && of_sharing_.take_again(job.account, 1))) {
        if (auto taken = of_sharing_.take(job.account); !taken) return taken;
    }
    if (!hosts && job.hosts) of_sharing_.give_back(job.account);
    job.hosts = std::move(hosts);
    ++host_changes_;
    return {};
}

// ------------------------------------------------------------------- commands

void JobTable::set_started(Job& job, std::optional<StartJobRequest> request) {
    if (!request && job.started) of_started_.give_back(job.account);
    if (request || job.started) ++started_changes_;
    job.started = std::move(request);
    job.started_text = job.started ? started_text(job) : "";
}

Result<JobId> JobTable::start(uid_t user, const StartJobRequest& request) {
    const auto known = find(user, request.job);
    if (!known || !jobs_.at(*known).started) {
        if (auto taken = of_started_.take(accounts_.of(user)); !taken) return tl::unexpected(taken.error());
    }
    const JobId id = find_or_begin(user, request.job);
    set_started(jobs_.at(id), request);
    return id;
}

void JobTable::take_back_start(JobId id, std::optional<StartJobRequest> before) {
    set_started(jobs_.at(id), std::move(before));
    end_unused(id);
}

std::optional<Job> JobTable::end(JobId id) {
    Job& job = jobs_.at(id);
    set_started(job, std::nullopt);
    if (job.processes > 0) return std::nullopt;
    return take(id);
}

std::optional<JobId> JobTable::find(uid_t user, const std::string& name) const {
    const auto known = by_name_.find({user, name});
    return known == by_name_.end() ? std::nullopt : std::optional(known->second);
}

std::vector<JobId> JobTable::ids() const {
    std::vector<JobId> ids;
    for (const auto& [id, job] : jobs_) ids.push_back(id);
    return ids;
}

// -------------------------------------------------------------------- restart

std::string JobTable::to_text() const {
    std::string list;
    for (const auto& [id, job] : jobs_) {
        if (!job.started) continue;
        list += fmt::format("{}{{\"had_processes\":{},{}", list.empty() ? "" : ",", job.had_processes,
                            std::string_view(job.started_text).substr(1));
    }
    return fmt::format("[{}]\n", list);
}

Result<void> JobTable::restore(std::string_view text) {
    Json list = parse_json<Json>(text);
    if (!list.is_array()) return failure("no list of jobs");
    std::vector<std::pair<StartJobRequest, bool>> found;
    for (Json& entry : list) {
        auto job = read_job(entry);
        if (!job) return tl::unexpected(job.error());
        found.push_back(std::move(*job));
    }
    if (found.size() > started_jobs_max) return failure("more than {} jobs were started", started_jobs_max);
    for (auto& [request, had_processes] : found) {
        const JobId id = find_or_begin(static_cast<uid_t>(*request.uid), request.job);
        Job& job = jobs_.at(id);
        // each user has as many as before, whoever comes first
        if (!job.started) (void)of_started_.take_again(job.account, 1);
        set_started(job, std::move(request));
        job.had_processes = had_processes;
    }
    return {};
}

std::vector<JobId> JobTable::deserted() const {
    std::vector<JobId> deserted;
    for (const auto& [id, job] : jobs_) {
        const bool waits = job.started && !job.started->is_lasting && job.had_processes;
        if (waits && job.processes == 0) deserted.push_back(id);
    }
    return deserted;
}

}  // namespace headway
