// SPDX-License-Identifier: Apache-2.0
// What part of the links each job of the node has now, and the rates in the kernel that follow.
//
// A job that begins, or learns hosts, needs its part before it is answered: share().  When one
// ends, the others may only get more, and nobody waits for it: set_due(), and one settle() after
// all that happened in a turn of the daemon's loop.
#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "jobs/job_table.hpp"
#include "jobs/node_planner.hpp"
#include "jobs/phase_service.hpp"
#include "jobs/sessions.hpp"
#include "kernel/pacing.hpp"

namespace headway {

class Sharing {
public:
    /// The references must outlive this object; the planner may become another value.
    Sharing(JobTable& jobs, Sessions& sessions, const NodePlanner& planner, Pacer& pacer,
            BytesPerSecond link_rate, const Clock& clock)
        : jobs_(jobs), sessions_(sessions), planner_(planner), pacer_(pacer), link_rate_(link_rate),
          clock_(clock) {}
    /// Jobs have phases, which must outlive this object.
    void use_phases(PhaseService& phases) { phases_ = &phases; }

    [[nodiscard]] BytesPerSecond link_rate() const { return link_rate_; }
    void set_link_rate(BytesPerSecond link_rate) { link_rate_ = link_rate; }
    /// Sets the node's share of the trunk that nodes share by agreement.  The rates follow in one
    /// step, though those that the kernel has until then may not fit.
    void divide_trunk(const TrunkDivision& division);

    /// All rates become what the jobs' parts are now, or none do.
    [[nodiscard]] Result<void> share();
    /// Shares where nobody can be told of a failure; retry() tries again.
    void share_or_retry();
    /// A job of this account has ended: the next settle() shares.
    void set_due(uid_t account) { due_for_.insert(account); }
    /// Shares if that is due.  Those for whom it was.
    std::set<uid_t> settle();
    /// The kernel has the rates that follow from the jobs that there are.
    [[nodiscard]] bool holds() const { return !retry_at_; }
    void retry();
    /// When retry() wants to be called; none: all is as wanted.
    [[nodiscard]] std::optional<std::chrono::nanoseconds> retry_at() const { return retry_at_; }
    void tell_error(Error error) { error_ = std::move(error); }
    /// The last failure that no client was told, once.
    [[nodiscard]] std::optional<Error> take_error() { return std::exchange(error_, std::nullopt); }

    /// The rates of a collective of that job as the kernel is to have them; empty: none.
    [[nodiscard]] std::vector<ClassRate> shared_rates(std::optional<JobId> job,
                                                      const ActiveEnter& entered) const;

private:
    [[nodiscard]] JobTable::Parts parts_of_jobs() const;
    void limit_beyond_trunk(JobId id, std::uint32_t sharers, std::vector<LinkPart>& parts) const;
    std::vector<std::pair<std::optional<JobId>, ActiveEnter*>> all_enters();
    Result<void> enter_anew();

    JobTable& jobs_;
    Sessions& sessions_;
    const NodePlanner& planner_;
    Pacer& pacer_;
    PhaseService* phases_ = nullptr;
    BytesPerSecond link_rate_;
    const Clock& clock_;
    std::optional<TrunkDivision> trunk_division_;  ///< none: not shared by agreement, or not yet
    std::set<uid_t> due_for_;
    std::optional<Error> error_;
    std::optional<std::chrono::nanoseconds> retry_at_;
};

}  // namespace headway
