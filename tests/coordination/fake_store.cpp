// SPDX-License-Identifier: Apache-2.0
#include "fake_store.hpp"

#include <algorithm>

namespace headway::test {

LeaseId FakeStore::grant(Time now) {
    leases_[++last_lease_] = now + lease_;
    return last_lease_;
}

bool FakeStore::prolong(Time now, LeaseId lease) {
    const auto found = leases_.find(lease);
    if (found == leases_.end()) return false;
    if (now >= prolongs_in_vain_until_) found->second = now + lease_;
    return true;
}

void FakeStore::revoke(LeaseId lease) {
    if (leases_.erase(lease)) remove_keys(lease);
}

Revision FakeStore::put_record(HostNumber host, LeaseId lease, const MemberRecordPtr& record) {
    Host& there = hosts_[host];
    if (!leases_.contains(lease) || (there.record && there.lease != lease)) return 0;
    there.record = record;
    there.lease = lease;
    ++revision_;
    there.changed = revision_;
    change(RecordPut{host, lease, record});
    return revision_;
}

Revision FakeStore::put_acknowledgement(HostNumber host, LeaseId lease, Revision epoch) {
    Host& there = hosts_[host];
    if (!leases_.contains(lease) || !there.record || there.lease != lease) return 0;
    there.acknowledged = epoch;
    ++revision_;
    change(AcknowledgementPut{host, epoch});
    return revision_;
}

Revision FakeStore::put_settled(HostNumber host, LeaseId lease) {
    if (settled_by_ || !leases_.contains(lease) || lease_of(host) != lease) return 0;
    settled_by_ = lease;
    ++revision_;
    change(SettledPut{lease});
    return revision_;
}

StoreSnapshot FakeStore::snapshot() const {
    StoreSnapshot all{revision_, settled_by_, {}};
    for (HostNumber host = 0; host < hosts_.size(); ++host) {
        const Host& there = hosts_[host];
        if (!there.record) continue;
        all.members.push_back({host, there});
    }
    return all;
}

std::optional<std::span<const StoreChangeAt>> FakeStore::changes(Revision after,
                                                                 Revision until) const {
    if (after < compacted_ || after > revision_) return {};
    const auto first = std::ranges::upper_bound(log_, after, {}, &StoreChangeAt::revision);
    const auto end = std::ranges::upper_bound(log_, until, {}, &StoreChangeAt::revision);
    return std::span(first, end);
}

void FakeStore::end_leases(Time now) {
    for (auto lease = leases_.begin(); lease != leases_.end();) {
        if (lease->second > now) {
            ++lease;
            continue;
        }
        const LeaseId ended = lease->first;
        lease = leases_.erase(lease);
        remove_keys(ended);
    }
}

void FakeStore::renew_leases(Time now) {
    for (auto& [lease, end] : leases_) end = now + lease_;
}

void FakeStore::replace_leader(Time now, Time until) {
    renew_leases(now);
    prolongs_in_vain_until_ = until;
}

void FakeStore::lose_everything() {
    std::ranges::fill(hosts_, Host{});
    leases_.clear();
    log_.clear();
    settled_by_ = 0;
    revision_ = compacted_ = epoch_ = 1;
}

void FakeStore::change(StoreChange what) {
    if (std::holds_alternative<RecordPut>(what) || std::holds_alternative<RecordGone>(what)) epoch_ = revision_;
    log_.push_back({revision_, std::move(what)});
}

bool FakeStore::is_agreed() const {
    return std::ranges::all_of(hosts_, [this](const Host& host) {
        return !host.record || host.acknowledged == epoch_;
    });
}

/// All keys of a lease go at one revision.
void FakeStore::remove_keys(LeaseId lease) {
    bool is_first = true;
    for (HostNumber host = 0; host < hosts_.size(); ++host) {
        if (!hosts_[host].record || hosts_[host].lease != lease) continue;
        hosts_[host] = {};
        if (is_first) ++revision_;
        is_first = false;
        change(RecordGone{host});
    }
}

}  // namespace headway::test
