// SPDX-License-Identifier: Apache-2.0
#include "trunk/store_link.hpp"

#include <algorithm>
#include <memory>
#include <optional>

#include "trunk/member_record.hpp"
#include "trunk/packet_fields.hpp"

namespace headway {
namespace {

using Json = nlohmann::json;

// ---- requests ----------------------------------------------------------------------

struct DeedToJson {
    Json operator()(const GrantLease& d) const {
        return {{"do", "grant"}, {"seconds", d.time.count()}};
    }
    Json operator()(const ProlongLease& d) const { return {{"do", "prolong"}, {"lease", d.lease}}; }
    Json operator()(const RevokeLease& d) const { return {{"do", "revoke"}, {"lease", d.lease}}; }
    Json operator()(const PutRecord& d) const {
        return {{"do", "record"}, {"lease", d.lease}, {"record", record_to_text(*d.record)}};
    }
    Json operator()(const PutAcknowledgement& d) const {
        return {{"do", "acknowledge"}, {"lease", d.lease}, {"epoch", d.epoch}};
    }
    Json operator()(const PutSettled& d) const { return {{"do", "settle"}, {"lease", d.lease}}; }
    // The kernel's to do.
    Json operator()(const SetCap&) const { return {}; }
    Json operator()(const RefreshGuard&) const { return {}; }
    Json operator()(const ReviveGuard&) const { return {}; }
};

// ---- reports -----------------------------------------------------------------------

/// Reads one object: a report, or a change in it.
class ReportReader {
public:
    ReportReader(const Json& object, HostNumbers& hosts) : fields_(object), hosts_(hosts) {}

    /// None: there is none, or something is wrong with it.
    std::optional<StoreReport> report() {
        auto report = read_report(fields_.word("is"));
        return good() ? std::move(report) : std::nullopt;
    }

private:
    [[nodiscard]] bool good() const { return fields_.good() && are_hosts_known_; }

    std::optional<StoreReport> read_report(const std::string& is) {
        if (is == "answer") {
            return StoreAnswer{.id = static_cast<RequestId>(fields_.number("id")),
                               .done = fields_.flag("done"),
                               .lease = fields_.number("lease"),
                               .lease_lost = fields_.flag("lost"),
                               .revision = fields_.number("revision")};
        }
        if (is == "snapshot") {
            return SnapshotBegins{fields_.number("revision"), fields_.number("settled_by"),
                                  static_cast<std::uint64_t>(fields_.number("members"))};
        }
        if (is == "member") {
            const HostNumber host = number_of_host();
            return SnapshotMember{host,
                                  {record_of(host), fields_.number("lease"),
                                   fields_.number("changed"), fields_.number("acknowledged")}};
        }
        if (is == "changes") return read_changes();
        if (is == "condition") {
            return StoreCondition{fields_.flag("watched"), fields_.text("text", 1024)};
        }
        return std::nullopt;
    }

    std::optional<StoreReport> read_changes() {
        StoreChanges changes{fields_.number("revision"), {}};
        for (const Json& one : fields_.list("changes")) {
            ReportReader reader(one, hosts_);
            auto change = reader.read_change(reader.fields_.word("put"));
            if (!change || !reader.good()) return std::nullopt;
            changes.changes.push_back({changes.revision, *std::move(change)});
        }
        return changes;
    }

    std::optional<StoreChange> read_change(const std::string& put) {
        if (put == "settled") return SettledPut{fields_.number("by")};
        const HostNumber host = number_of_host();
        if (put == "record") return RecordPut{host, fields_.number("lease"), record_of(host)};
        if (put == "nothing") return RecordGone{host};
        if (put == "acknowledgement") return AcknowledgementPut{host, fields_.number("epoch")};
        return std::nullopt;
    }

    HostNumber number_of_host() {
        const std::string name = fields_.host();
        const auto number = fields_.good() ? hosts_.number_of(name) : std::nullopt;
        are_hosts_known_ = are_hosts_known_ && number;
        return number.value_or(0);
    }

    MemberRecordPtr record_of(HostNumber host) {
        return std::make_shared<MemberRecord>(record_from_text(fields_.record(), host));
    }

    PacketFields fields_;
    HostNumbers& hosts_;
    bool are_hosts_known_ = true;
};

}  // namespace

std::optional<HostNumber> HostNumbers::number_of(const std::string& name) {
    const auto end = names_.begin() + static_cast<std::ptrdiff_t>(trunk_hosts_);
    const auto found = std::lower_bound(names_.begin(), end, name);
    if (found != end && *found == name) return static_cast<HostNumber>(found - names_.begin());
    if (const auto other = others_.find(name); other != others_.end()) return other->second;
    if (others_.size() >= others_max) return std::nullopt;
    names_.push_back(name);
    return others_.emplace(name, static_cast<HostNumber>(names_.size() - 1)).first->second;
}

std::string to_packet(const Action& action) {
    Json packet = std::visit(DeedToJson{}, action.deed);
    packet["id"] = action.id;
    return json_text(packet);
}

Result<StoreReport> parse_store_report(std::string_view packet, HostNumbers& hosts) {
    const Json object = parse_packet(packet);
    if (!object.is_object()) return failure("a report of headway-etcd is a JSON object");
    auto report = ReportReader(object, hosts).report();
    if (!report) return failure("no report that headway-etcd makes");
    return *std::move(report);
}

}  // namespace headway
