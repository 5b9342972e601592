// SPDX-License-Identifier: Apache-2.0
// headway-etcd's end of the link that store_link.hpp describes: records as texts, hosts by
// their names.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "trunk/store_link.hpp"

namespace headway {

// ---- headwayd's requests -----------------------------------------------------------

/// PutRecord with the record as text.
struct PutRecordText {
    LeaseId lease;
    std::string text;
};
using StoreVerb = std::variant<GrantLease, ProlongLease, RevokeLease, PutRecordText,
                               PutAcknowledgement, PutSettled>;

struct StoreRequest {
    RequestId id = 0;
    StoreVerb verb;
};

[[nodiscard]] Result<StoreRequest> parse_store_request(std::string_view packet);

// ---- headway-etcd's reports ---------------------------------------------------------

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

using EtcdReport =
    std::variant<StoreAnswer, SnapshotBegins, ReportedMember, ReportedChanges, StoreCondition>;

[[nodiscard]] std::string to_packet(const EtcdReport& report);

}  // namespace headway
