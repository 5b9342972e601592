// SPDX-License-Identifier: Apache-2.0
// What headwayd and headway-etcd tell each other, one JSON object per packet of a
// SOCK_SEQPACKET socket.  headway-etcd knows keys, leases and revisions; what a
// host's record says is headwayd's to write and read (member_record.hpp).
//
// headwayd asks (StoreRequest), headway-etcd answers those requests that have an
// answer, and reports what is in the store: a snapshot, then all changes after
// it, the changes of one revision in one packet.  After it has lost sight of
// some change, another snapshot.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.hpp"
#include "trunk/trunk_member.hpp"

namespace headway {

/// Less than what Linux lets through a socket without being asked.
inline constexpr std::size_t store_packet_max_bytes = 128 * 1024;
/// A record as text; what is longer in the store is told as an empty one.
inline constexpr std::size_t record_text_max_bytes = 48 * 1024;

// ---- headwayd's requests -----------------------------------------------------------

struct GrantOf {
    std::int64_t seconds;
};
/// PutRecord with the record as text.
struct PutRecordText {
    LeaseId lease;
    std::string text;
};
using StoreVerb = std::variant<GrantOf, ProlongLease, RevokeLease, PutRecordText,
                               PutAcknowledgement, PutSettled>;

struct StoreRequest {
    RequestId id = 0;
    StoreVerb verb;
};

[[nodiscard]] std::string to_packet(const StoreRequest& request);
[[nodiscard]] Result<StoreRequest> parse_store_request(std::string_view packet);

// ---- headway-etcd's reports ---------------------------------------------------------

/// The store's keys at a revision; that many ReportedMember follow.
struct SnapshotBegins {
    Revision revision = 0;
    LeaseId settled_by = 0;
    std::uint64_t members = 0;
};
struct ReportedMember {
    std::string host;
    LeaseId lease = 0;
    Revision changed = 0;
    Revision acknowledged = 0;
    std::string text;  ///< its record
};

struct ReportedRecord {
    std::string host;
    LeaseId lease;
    std::string text;
};
struct ReportedGone {
    std::string host;
};
struct ReportedAcknowledgement {
    std::string host;
    Revision epoch;
};
using ReportedChange =
    std::variant<ReportedRecord, ReportedGone, ReportedAcknowledgement, SettledPut>;

/// All of one revision.
struct ReportedChanges {
    Revision revision = 0;
    std::vector<ReportedChange> changes;
};

/// For people: whether the store is being watched, or why not.
struct StoreCondition {
    bool is_watched = false;
    std::string text;
};

using StoreReport =
    std::variant<StoreAnswer, SnapshotBegins, ReportedMember, ReportedChanges, StoreCondition>;

[[nodiscard]] std::string to_packet(const StoreReport& report);
/// Whatever arrives: a report with names and texts within the bounds above, or a
/// reason why it is none.
[[nodiscard]] Result<StoreReport> parse_store_report(std::string_view packet);

}  // namespace headway
