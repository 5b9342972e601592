// SPDX-License-Identifier: Apache-2.0
// What a member knows of the store: for one trunk, each host's record and the
// epoch it has acknowledged.  An exact image of some past state of the store.
//
// An epoch is the store's revision at which a member's record last came, changed
// or went.  All records count, also those of hosts that this member's settings do not have:
// members whose settings differ know the same epochs, and the same settings as those of most.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "trunk/shares.hpp"

namespace headway {

using Revision = std::int64_t;  ///< the store counts its changes; 0: none
using LeaseId = std::int64_t;

/// The record by which a member tells the others its demands.
struct MemberRecord {
    std::uint64_t configuration = 0;  ///< a digest; 0: of a record that nobody understands
    std::vector<Demand> demands;      ///< all of its own host
    BytesPerSecond fallback{};        ///< the host's own; 0: not told

    friend bool operator==(const MemberRecord&, const MemberRecord&) = default;
};
using MemberRecordPtr = std::shared_ptr<const MemberRecord>;

struct RecordPut {
    HostNumber host;
    LeaseId lease;
    MemberRecordPtr record;
};
struct RecordGone {
    HostNumber host;
};
struct AcknowledgementPut {
    HostNumber host;
    Revision epoch;
};
/// The first member of a new store waits before it puts this, for the store may
/// stand in for one that is lost, of which members still use shares.
struct SettledPut {
    LeaseId by;
};

/// A key of the store was put or deleted.  An acknowledgement that goes, goes
/// with its record and is not told.
using StoreChange = std::variant<RecordPut, RecordGone, AcknowledgementPut, SettledPut>;

struct StoreChangeAt {
    Revision revision;
    StoreChange change;
};

/// A host's keys.
struct HostKeys {
    MemberRecordPtr record;     ///< none: no live member
    LeaseId lease = 0;
    Revision changed = 0;       ///< revision at which the record was put
    Revision acknowledged = 0;  ///< 0: nothing yet, or what was no epoch then
};

struct SnapshotMember {
    HostNumber host;
    HostKeys keys;
};

/// All keys at one revision.
struct StoreSnapshot {
    Revision revision = 0;
    LeaseId settled_by = 0;  ///< tells a store from another; 0: not settled
    std::vector<SnapshotMember> members;
};

class StoreView {
public:
    /// Views a trunk of so many hosts, which have the first numbers.
    explicit StoreView(std::uint32_t hosts) : hosts_(hosts) {}

    void reset(const StoreSnapshot& snapshot);
    /// The next change after those known.
    void apply(const StoreChangeAt& change);

    /// Returns the keys of any host up to hosts(), also of one that is not the trunk's.
    [[nodiscard]] const HostKeys& host(HostNumber number) const { return hosts_[number]; }
    [[nodiscard]] HostNumber hosts() const { return static_cast<HostNumber>(hosts_.size()); }
    [[nodiscard]] Revision revision() const { return revision_; }
    /// The revision of the snapshot: epochs up to here are not known exactly, for records that went
    /// before cannot be seen in it.
    [[nodiscard]] Revision snapshot_revision() const { return snapshot_revision_; }
    [[nodiscard]] Revision epoch() const { return epoch_; }
    [[nodiscard]] LeaseId settled_by() const { return settled_by_; }
    /// Live members that have not acknowledged the epoch.
    [[nodiscard]] std::size_t waiting() const { return waiting_; }

    /// The settings' digest that most live records have, of as many the smallest: those members
    /// share.  0, and nobody does, if that is what nobody understands.
    [[nodiscard]] std::uint64_t leading_configuration() const;

    /// Each host's rate, and those of `own` host's demands in their order, as a member with this
    /// `configuration` of `trunk` has them.
    [[nodiscard]] Shares shares(ShareFunction compute, const SharedTrunk& trunk,
                                std::uint64_t configuration, HostNumber own) const;

private:
    HostKeys& keys_of(HostNumber host);
    [[nodiscard]] BytesPerSecond room_beside_others(const SharedTrunk& trunk,
                                                    std::uint64_t configuration) const;
    void apply_at(Revision revision, const RecordPut& put);
    void apply_at(Revision revision, const RecordGone& gone);
    void apply_at(Revision revision, const AcknowledgementPut& put);
    void apply_at(Revision revision, const SettledPut& put);
    void begin_epoch(Revision revision);

    std::vector<HostKeys> hosts_;
    Revision revision_ = 0;
    Revision snapshot_revision_ = 0;
    Revision epoch_ = 0;
    std::size_t live_ = 0;
    std::size_t waiting_ = 0;
    LeaseId settled_by_ = 0;
};

}  // namespace headway
