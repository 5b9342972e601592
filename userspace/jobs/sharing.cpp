// SPDX-License-Identifier: Apache-2.0
#include "jobs/sharing.hpp"

#include <algorithm>
#include <map>

namespace headway {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::nanoseconds retry_pause = 1s;

}  // namespace

// ------------------------------------------------------------------------- parts

/// The parts that follow from the jobs there are.
JobTable::Parts Sharing::parts_of_jobs() const {
    const std::vector<CountingJob> counting = jobs_.counting();
    std::vector<SharingJob> sharing;
    std::map<std::size_t, std::uint32_t> jobs_of_allocation;
    for (const CountingJob& job : counting) {
        sharing.push_back({*jobs_.at(job.id).hosts, jobs_.at(job.id).account, job.weight, job.allocation});
        ++jobs_of_allocation[job.allocation];
    }
    auto shared = share_links(planner_.config().topology, planner_.layout(),
                              planner_.config().policy.share, sharing);
    JobTable::Parts parts;
    for (std::size_t i = 0; i < counting.size(); ++i) {
        limit_beyond_trunk(counting[i].id, jobs_of_allocation[counting[i].allocation], shared[i]);
        const bool is_whole = std::ranges::count(shared[i], LinkPart{}) == std::ssize(shared[i]);
        if (!is_whole) parts.emplace(counting[i].id, std::move(shared[i]));
    }
    return parts;
}

/// To the job's share on this node, of a trunk that is shared by agreement: that of its
/// allocation, which so many jobs on the node divide.  Not what stays in the cluster,
/// whose class is the first.
void Sharing::limit_beyond_trunk(JobId id, std::uint32_t sharers, std::vector<LinkPart>& parts) const {
    if (!trunk_division_) return;
    const auto own = trunk_division_->of_job.find(cluster_identity(jobs_.cluster_job(id)));
    BytesPerSecond most = own != trunk_division_->of_job.end() ? own->second : trunk_division_->of_node;
    most.value = std::max<std::uint64_t>(most.value / sharers, 1);
    if (most >= link_rate_) return;
    for (std::size_t i = 1; i < parts.size(); ++i) parts[i].most = most;
}

void Sharing::divide_trunk(const TrunkDivision& division) {
    if (trunk_division_ == division) return;
    trunk_division_ = division;
    share_or_retry();
}

// ------------------------------------------------------------------------- rates

std::vector<ClassRate> Sharing::shared_rates(std::optional<JobId> job, const ActiveEnter& entered) const {
    if (entered.rates.empty()) return {};
    const std::vector<LinkPart> parts = job ? jobs_.at(*job).parts : std::vector<LinkPart>{};
    if (parts.empty() && entered.is_uncontended) return {};
    std::vector<ClassRate> rates = entered.rates;
    const BytesPerSecond slowest{link_rate_.value / slowest_rate_divisor};
    for (std::size_t i = 0; i < rates.size(); ++i) {
        if (i < parts.size()) rates[i] = part_of(rates[i], parts[i], link_rate_);
        if (rates[i]) rates[i] = std::max(*rates[i], slowest);  // it holds for the whole node
    }
    return rates;
}

/// Everything that somebody is in by request, of a job each.
std::vector<std::pair<std::optional<JobId>, ActiveEnter*>> Sharing::all_enters() {
    std::vector<std::pair<std::optional<JobId>, ActiveEnter*>> all;
    for (auto& [id, session] : sessions_.all()) {
        for (ActiveEnter& entered : session.enters) all.emplace_back(session.job, &entered);
    }
    for (const auto& [id, job] : jobs_.jobs()) {
        if (job.entered) all.emplace_back(id, &*jobs_.at(id).entered);
    }
    return all;
}

/// First the new rates, then the old ones go: nothing is unpaced between them.
Result<void> Sharing::enter_anew() {
    struct Renewal {
        ActiveEnter* enter;
        std::vector<ClassRate> rates;
        std::optional<Pacer::EnterId> id{};
    };
    std::vector<Renewal> renewals;
    std::vector<Pacer::EnterId> gone;
    for (auto& [job, enter] : all_enters()) {
        auto rates = shared_rates(job, *enter);
        if (rates == enter->in_force) continue;
        renewals.push_back({enter, std::move(rates)});
        if (renewals.back().rates.empty()) continue;
        const auto made = pacer_.enter(renewals.back().rates);
        if (!made) {
            for (const Renewal& one : renewals) {
                if (one.id) gone.push_back(*one.id);
            }
            pacer_.leave(gone);
            return tl::unexpected(made.error());
        }
        renewals.back().id = *made;
    }
    for (Renewal& one : renewals) {
        if (one.enter->id) gone.push_back(*one.enter->id);
        one.enter->id = one.id;
        one.enter->in_force = std::move(one.rates);
    }
    pacer_.leave(gone);
    return {};
}

Result<void> Sharing::share() {
    due_for_.clear();
    const JobTable::Parts before = jobs_.parts(), parts = parts_of_jobs();
    Result<void> done;
    if (phases_ != nullptr) done = phases_->jobs().share(parts);
    if (done) {
        jobs_.set_parts(parts);
        done = enter_anew();
        if (!done) jobs_.set_parts(before);
        if (!done && phases_ != nullptr) (void)phases_->jobs().share(before);
    }
    if (done) {
        retry_at_.reset();
        return done;
    }
    retry_at_ = clock_.now() + retry_pause;
    return tl::unexpected(done.error().within("the kernel"));
}

// ------------------------------------------------------------------- in the loop's turns

void Sharing::share_or_retry() {
    if (const auto done = share(); !done) error_ = done.error().within("sharing the links anew");
}

std::set<uid_t> Sharing::settle() {
    auto due_for = std::exchange(due_for_, {});
    if (!due_for.empty()) share_or_retry();
    return due_for;
}

void Sharing::retry() {
    if (retry_at_ && clock_.now() >= *retry_at_) share_or_retry();
}

}  // namespace headway
