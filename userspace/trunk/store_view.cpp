// SPDX-License-Identifier: Apache-2.0
#include "trunk/store_view.hpp"

#include <algorithm>

namespace headway {

void StoreView::reset(const StoreSnapshot& snapshot) {
    std::ranges::fill(hosts_, HostKeys{});
    revision_ = snapshot_revision_ = snapshot.revision;
    settled_by_ = snapshot.settled_by;
    live_ = 0;
    for (const SnapshotMember& member : snapshot.members) {
        if (member.host >= hosts_.size()) continue;
        hosts_[member.host] = member.keys;
        ++live_;
    }
    // nobody has acknowledged this number: it is never agreed on
    begin_epoch(snapshot.revision);
}

void StoreView::apply(const StoreChangeAt& change) {
    revision_ = change.revision;
    std::visit([&](const auto& one) { apply_at(change.revision, one); }, change.change);
}

void StoreView::apply_at(Revision revision, const RecordPut& put) {
    if (put.host >= hosts_.size()) return;
    HostKeys& host = hosts_[put.host];
    if (!host.record) ++live_;
    host.record = put.record;
    host.lease = put.lease;
    host.changed = revision;
    begin_epoch(revision);
}

void StoreView::apply_at(Revision revision, const RecordGone& gone) {
    if (gone.host >= hosts_.size() || !hosts_[gone.host].record) return;
    hosts_[gone.host] = {};
    --live_;
    begin_epoch(revision);
}

void StoreView::apply_at(Revision, const AcknowledgementPut& put) {
    if (put.host >= hosts_.size() || !hosts_[put.host].record) return;
    Revision& acknowledged = hosts_[put.host].acknowledged;
    if (acknowledged == epoch_) ++waiting_;
    acknowledged = put.epoch;
    if (acknowledged == epoch_) --waiting_;
}

void StoreView::apply_at(Revision, const SettledPut& put) { settled_by_ = put.by; }

void StoreView::begin_epoch(Revision revision) {
    epoch_ = revision;
    waiting_ = live_;
}

Shares StoreView::shares(ShareFunction compute, const SharedTrunk& trunk, HostNumber own) const {
    std::vector<Demand> demands;
    std::size_t own_first = 0, own_count = 0;
    const std::uint64_t* configuration = nullptr;
    for (HostNumber number = 0; number < hosts_.size(); ++number) {
        const MemberRecordPtr& record = hosts_[number].record;
        if (!record) continue;
        if (configuration && *configuration != record->configuration) return compute(trunk, {});
        configuration = &record->configuration;
        if (number == own) {
            own_first = demands.size();
            own_count = record->demands.size();
        }
        demands.insert(demands.end(), record->demands.begin(), record->demands.end());
        // whatever the record says, a member demands for itself only
        for (std::size_t i = demands.size() - record->demands.size(); i < demands.size(); ++i)
            demands[i].host = number;
    }
    Shares shares = compute(trunk, demands);
    const auto own_begin = shares.of_demand.begin() + static_cast<std::ptrdiff_t>(own_first);
    shares.of_demand = {own_begin, own_begin + static_cast<std::ptrdiff_t>(own_count)};
    return shares;
}

}  // namespace headway
