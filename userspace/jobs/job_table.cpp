// SPDX-License-Identifier: Apache-2.0
#include "jobs/job_table.hpp"

#include <algorithm>

#include "base/json.hpp"
#include "base/limits.hpp"

namespace headway {
namespace {

Json job_json(const Job& job) {
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
    return json;
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

/// As a batch system numbers its allocations.
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

/// What was said by command of the allocation itself, or else the most that was said of
/// anything in it.
std::uint32_t JobTable::weight_of(uid_t user, std::string_view allocation) const {
    std::uint32_t most = 1;
    for (const auto& [id, job] : jobs_) {
        if (job.user != user || allocation_of(job.name) != allocation) continue;
        if (job.started && job.name == allocation) return job.weight();
        most = std::max(most, job.weight());
    }
    return most;
}

std::vector<CountingJob> JobTable::counting() const {
    std::map<std::pair<uid_t, std::string_view>, std::size_t> numbers;
    std::map<std::size_t, bool> has_sender;
    for (const auto& [id, job] : jobs_) {
        const auto number = numbers.try_emplace({job.user, allocation_of(job.name)}, numbers.size());
        if (job.hosts && has_something_to_send(job)) has_sender[number.first->second] = true;
    }
    std::vector<CountingJob> counting;
    for (const auto& [id, job] : jobs_) {
        const std::string_view allocation = allocation_of(job.name);
        const std::size_t number = numbers.at({job.user, allocation});
        if (!job.hosts || (has_sender[number] && !has_something_to_send(job))) continue;
        counting.push_back({id, number, weight_of(job.user, allocation)});
    }
    return counting;
}

JobTable::Parts JobTable::parts() const {
    Parts parts;
    for (const auto& [id, job] : jobs_) parts.emplace(id, job.parts);
    return parts;
}

void JobTable::set_parts(const Parts& parts) {
    for (auto& [id, job] : jobs_) {
        if (!job.phases) job.parts = parts.at(id);
    }
}

// ------------------------------------------------------------------ processes

JobId JobTable::find_or_begin(uid_t user, const std::string& name) {
    if (const auto known = find(user, name)) return *known;
    Job job;
    job.user = user;
    job.name = name;
    jobs_.emplace(next_, std::move(job));
    return next_++;
}

void JobTable::end_unused(JobId id) {
    if (const Job& job = jobs_.at(id); job.processes == 0 && !job.started) jobs_.erase(id);
}

std::optional<Job> JobTable::take(JobId id) {
    auto taken = jobs_.extract(id);
    return std::move(taken.mapped());
}

JobId JobTable::attach(uid_t user, const std::string& name) {
    const JobId id = find_or_begin(user, name);
    ++jobs_.at(id).processes;
    jobs_.at(id).had_processes = true;
    return id;
}

std::optional<Job> JobTable::detach(JobId id) {
    Job& job = jobs_.at(id);
    if (--job.processes > 0 || (job.started && job.started->is_lasting)) return std::nullopt;
    return take(id);
}

void JobTable::tell_start(JobId id, std::uint64_t start) {
    Job& job = jobs_.at(id);
    if (job.told_start == 0) job.told_start = start;
}

bool JobTable::learn(JobId id, const HostSet& hosts) {
    Job& job = jobs_.at(id);
    if (job.hosts) return job.hosts->add_all(hosts);
    job.hosts = hosts;
    return true;
}

// ------------------------------------------------------------------- commands

std::size_t JobTable::started() const {
    return static_cast<std::size_t>(std::count_if(
        jobs_.begin(), jobs_.end(), [](const auto& one) { return one.second.started.has_value(); }));
}

std::size_t JobTable::started_by(uid_t user) const {
    return static_cast<std::size_t>(
        std::count_if(jobs_.begin(), jobs_.end(), [&](const auto& one) {
            return one.second.started && one.second.user == user;
        }));
}

Result<JobId> JobTable::start(uid_t user, const StartJobRequest& request) {
    const auto known = find(user, request.job);
    if (!known || !jobs_.at(*known).started) {
        if (started() >= started_jobs_max) return failure("{} jobs are started already", started());
        if (user != 0 && started_by(user) >= started_jobs_per_user_max) {
            return failure("user {} has started {} jobs already", user, started_by(user));
        }
    }
    const JobId id = find_or_begin(user, request.job);
    jobs_.at(id).started = request;
    return id;
}

std::optional<Job> JobTable::end(JobId id) {
    Job& job = jobs_.at(id);
    job.started.reset();
    if (job.processes > 0) return std::nullopt;
    return take(id);
}

std::optional<JobId> JobTable::find(uid_t user, const std::string& name) const {
    for (const auto& [id, job] : jobs_) {
        if (job.user == user && job.name == name) return id;
    }
    return std::nullopt;
}

std::vector<JobId> JobTable::ids() const {
    std::vector<JobId> ids;
    for (const auto& [id, job] : jobs_) ids.push_back(id);
    return ids;
}

// -------------------------------------------------------------------- restart

std::string JobTable::to_text() const {
    Json list = Json::array();
    for (const auto& [id, job] : jobs_) {
        if (!job.started) continue;
        list.push_back(job_json(job));
        list.back()["had_processes"] = job.had_processes;
        list.back()["granted"] = job.started->is_granted;
    }
    return json_text(list) + "\n";
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
    for (const auto& [request, had_processes] : found) {
        const auto id = start(static_cast<uid_t>(*request.uid), request);
        if (!id) return tl::unexpected(id.error());
        jobs_.at(*id).had_processes = had_processes;
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
