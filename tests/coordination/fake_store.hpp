// SPDX-License-Identifier: Apache-2.0
// A store in memory with what the coordination uses of etcd: revisions, leases,
// conditional puts, a log of changes that may be compacted; and what goes wrong.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "trunk/store_view.hpp"

namespace headway::test {

class FakeStore {
public:
    using Time = std::chrono::nanoseconds;

    /// `lease`: how long a lease lasts by the simulation's clock.
    FakeStore(std::uint32_t hosts, Time lease) : hosts_(hosts), lease_(lease) {}

    // ---- requests; 0 and false: refused ----
    LeaseId grant(Time now);
    bool prolong(Time now, LeaseId lease);
    void revoke(LeaseId lease);
    Revision put_record(HostNumber host, LeaseId lease, const MemberRecordPtr& record);
    Revision put_acknowledgement(HostNumber host, LeaseId lease, Revision epoch);
    Revision put_settled(HostNumber host, LeaseId lease);

    [[nodiscard]] StoreSnapshot snapshot() const;
    /// Changes after `after` up to `until`; none: no longer in the log.
    [[nodiscard]] std::optional<std::span<const StoreChangeAt>> changes(Revision after,
                                                                        Revision until) const;
    [[nodiscard]] Revision revision() const { return revision_; }
    [[nodiscard]] LeaseId settled_by() const { return settled_by_; }
    [[nodiscard]] LeaseId lease_of(HostNumber host) const {
        return hosts_[host].record ? hosts_[host].lease : 0;
    }
    [[nodiscard]] const HostKeys& keys_of(HostNumber host) const { return hosts_[host]; }
    /// All live members have acknowledged the last epoch.
    [[nodiscard]] bool is_agreed() const;

    // ---- time and mishaps ----
    void end_leases(Time now);
    void compact() { compacted_ = revision_; log_.clear(); }
    /// Nobody is leader for a while: leases last anew from the end of that.
    void renew_leases(Time now);
    /// A leader that was replaced at `now` prolongs leases in vain until `until`.
    void replace_leader(Time now, Time until);
    /// All data are gone, the revisions too.
    void lose_everything();

private:
    using Host = HostKeys;

    void change(StoreChange what);
    void remove_keys(LeaseId lease);

    std::vector<Host> hosts_;
    Time lease_;
    std::map<LeaseId, Time> leases_;  ///< and when they end
    LeaseId last_lease_ = 0;
    LeaseId settled_by_ = 0;
    Revision revision_ = 1;
    Revision compacted_ = 1;
    Revision epoch_ = 1;
    std::vector<StoreChangeAt> log_;
    Time prolongs_in_vain_until_ = Time::min();
};

}  // namespace headway::test
