// SPDX-License-Identifier: Apache-2.0
// What headwayd and headway-etcd tell each other, one JSON object per packet of a
// SOCK_SEQPACKET socket: here as headwayd writes and reads it, in etcd_link.hpp as
// headway-etcd does.  headway-etcd knows keys, leases and revisions, and hosts by their
// names; what a host's record says is headwayd's to write and read (member_record.hpp).
//
// headwayd asks for what TrunkMember wants done, headway-etcd answers those requests that
// have an answer, and reports what is in the store: a snapshot, then all changes after
// it, the changes of one revision in one packet.  After it has lost sight of
// some change, another snapshot.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.hpp"
#include "trunk/trunk_member.hpp"

namespace headway {

/// Less than what Linux lets through a socket without being asked.
inline constexpr std::size_t store_packet_max_bytes = 128 * 1024;
/// A record as text; what is longer in the store is told as an empty one.
inline constexpr std::size_t record_text_max_bytes = 48 * 1024;

/// The request of an action that is the store's to do.
[[nodiscard]] std::string to_packet(const Action& action);

/// The store's keys at a revision; that many SnapshotMember follow.
struct SnapshotBegins {
    Revision revision = 0;
    LeaseId settled_by = 0;
    std::uint64_t members = 0;
};

/// All of one revision.
struct StoreChanges {
    Revision revision = 0;
    std::vector<StoreChangeAt> changes;
};

/// For people: whether the store is being watched, or why not.
struct StoreCondition {
    bool is_watched = false;
    std::string text;
};

using StoreReport =
    std::variant<StoreAnswer, SnapshotBegins, SnapshotMember, StoreChanges, StoreCondition>;

/// Hosts by numbers: those of the trunk as all its members number them, and behind them others that
/// are heard of in the store, for whoever has other settings has other hosts, maybe.
class HostNumbers {
public:
    /// Numbers the hosts of the trunk, which are sorted.
    explicit HostNumbers(std::vector<std::string> hosts)
        : trunk_hosts_(hosts.size()), names_(std::move(hosts)) {}

    /// None: more others have been heard of than are kept.
    [[nodiscard]] std::optional<HostNumber> number_of(const std::string& name);
    [[nodiscard]] const std::string& name_of(HostNumber number) const { return names_.at(number); }

    static constexpr std::size_t others_max = 16384;

private:
    std::size_t trunk_hosts_;
    std::vector<std::string> names_;
    std::map<std::string, HostNumber> others_;
};

/// Parses any packet: a report with names and texts of bounded size, or a reason why it is none.
[[nodiscard]] Result<StoreReport> parse_store_report(std::string_view packet, HostNumbers& hosts);

}  // namespace headway
