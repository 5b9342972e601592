// SPDX-License-Identifier: Apache-2.0
#include "trunk/store_view.hpp"

#include <algorithm>
#include <map>

namespace headway {

void StoreView::reset(const StoreSnapshot& snapshot) {
    std::ranges::fill(hosts_, HostKeys{});
    revision_ = snapshot_revision_ = snapshot.revision;
    settled_by_ = snapshot.settled_by;
    live_ = 0;
    for (const SnapshotMember& member : snapshot.members) {
        HostKeys& keys = keys_of(member.host);
        if (!keys.record) ++live_;
        keys = member.keys;
        if (keys.acknowledged >= snapshot.revision) keys.acknowledged = 0;
    }
    // nobody has acknowledged this number: it is never agreed on
    begin_epoch(snapshot.revision);
}

/// Hosts that are none of the trunk's come as they are heard of.
HostKeys& StoreView::keys_of(HostNumber host) {
    if (host >= hosts_.size()) hosts_.resize(std::size_t{host} + 1);
    return hosts_[host];
}

void StoreView::apply(const StoreChangeAt& change) {
    revision_ = change.revision;
    std::visit([&](const auto& one) { apply_at(change.revision, one); }, change.change);
}

void StoreView::apply_at(Revision revision, const RecordPut& put) {
    HostKeys& host = keys_of(put.host);
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

/// An epoch that had not begun when it was acknowledged was not acknowledged.
void StoreView::apply_at(Revision revision, const AcknowledgementPut& put) {
    if (put.host >= hosts_.size() || !hosts_[put.host].record) return;
    Revision& acknowledged = hosts_[put.host].acknowledged;
    if (acknowledged == epoch_) ++waiting_;
    acknowledged = put.epoch < revision ? put.epoch : 0;
    if (acknowledged == epoch_) --waiting_;
}

void StoreView::apply_at(Revision, const SettledPut& put) { settled_by_ = put.by; }

void StoreView::begin_epoch(Revision revision) {
    epoch_ = revision;
    waiting_ = live_;
}

std::uint64_t StoreView::leading_configuration() const {
    std::map<std::uint64_t, std::size_t> records;
    for (const HostKeys& host : hosts_) {
        if (host.record) ++records[host.record->configuration];
    }
    // the first of those that are as many has the smallest digest
    const auto most = std::ranges::max_element(records, {}, [](const auto& one) { return one.second; });
    return most == records.end() ? 0 : most->first;
}

/// The trunk without what those members send at their fallback that do not share, as far as
/// it is more than the fallback that each of the trunk's hosts is counted with anyway.
BytesPerSecond StoreView::room_beside_others(const SharedTrunk& trunk, std::uint64_t configuration) const {
    std::uint64_t room = trunk.capacity.value - trunk.fallback.value * trunk.hosts;
    for (HostNumber number = 0; number < hosts_.size(); ++number) {
        const MemberRecordPtr& record = hosts_[number].record;
        if (!record || record->configuration == configuration) continue;
        const std::uint64_t counted = number < trunk.hosts ? trunk.fallback.value : 0;
        const std::uint64_t own = std::max(record->fallback.value != 0 ? record->fallback.value
                                                                       : trunk.fallback.value,
                                           counted);
        room -= std::min(room, own - counted);
    }
    return {trunk.fallback.value * trunk.hosts + room};
}

Shares StoreView::shares(ShareFunction compute, const SharedTrunk& trunk, std::uint64_t configuration,
                         HostNumber own) const {
    if (leading_configuration() != configuration) return compute(trunk, {});
    std::vector<Demand> demands;
    std::size_t own_first = 0, own_count = 0;
    for (HostNumber number = 0; number < trunk.hosts; ++number) {
        const MemberRecordPtr& record = hosts_[number].record;
        if (!record || record->configuration != configuration) continue;
        if (number == own) {
            own_first = demands.size();
            own_count = record->demands.size();
        }
        demands.insert(demands.end(), record->demands.begin(), record->demands.end());
        // whatever the record says, a member demands for itself only
        for (std::size_t i = demands.size() - record->demands.size(); i < demands.size(); ++i)
            demands[i].host = number;
    }
    SharedTrunk rest = trunk;
    rest.capacity = room_beside_others(trunk, configuration);
    Shares shares = compute(rest, demands);
    const auto own_begin = shares.of_demand.begin() + static_cast<std::ptrdiff_t>(own_first);
    shares.of_demand = {own_begin, own_begin + static_cast<std::ptrdiff_t>(own_count)};
    return shares;
}

}  // namespace headway
