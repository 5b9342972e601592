// SPDX-License-Identifier: Apache-2.0
#include "trunk/etcd_link.hpp"

#include <optional>

#include "trunk/packet_fields.hpp"

namespace headway {
namespace {

using Json = nlohmann::json;

// ---- requests ----------------------------------------------------------------------

std::optional<StoreVerb> read_verb(const std::string& verb, PacketFields& fields) {
    if (verb == "grant") return GrantLease{std::chrono::seconds(fields.number("seconds"))};
    if (verb == "prolong") return ProlongLease{fields.number("lease")};
    if (verb == "revoke") return RevokeLease{fields.number("lease")};
    if (verb == "record") return PutRecordText{fields.number("lease"), fields.record()};
    if (verb == "acknowledge") return PutAcknowledgement{fields.number("lease"), fields.number("epoch")};
    if (verb == "settle") return PutSettled{fields.number("lease")};
    return std::nullopt;
}

// ---- reports -----------------------------------------------------------------------

struct ChangeToJson {
    Json operator()(const ReportedRecord& change) const {
        return {{"put", "record"}, {"host", change.host}, {"lease", change.lease}, {"record", change.text}};
    }
    Json operator()(const ReportedGone& change) const { return {{"put", "nothing"}, {"host", change.host}}; }
    Json operator()(const ReportedAcknowledgement& change) const {
        return {{"put", "acknowledgement"}, {"host", change.host}, {"epoch", change.epoch}};
    }
    Json operator()(const SettledPut& change) const { return {{"put", "settled"}, {"by", change.by}}; }
};

struct ReportToJson {
    Json operator()(const StoreAnswer& answer) const {
        return {{"is", "answer"},       {"id", answer.id},
                {"done", answer.done},  {"lease", answer.lease},
                {"lost", answer.lease_lost}, {"revision", answer.revision}};
    }
    Json operator()(const SnapshotBegins& begins) const {
        return {{"is", "snapshot"},
                {"revision", begins.revision},
                {"settled_by", begins.settled_by},
                {"members", begins.members}};
    }
    Json operator()(const ReportedMember& member) const {
        return {{"is", "member"},
                {"host", member.host},
                {"lease", member.lease},
                {"changed", member.changed},
                {"acknowledged", member.acknowledged},
                {"record", member.text}};
    }
    Json operator()(const ReportedChanges& changes) const {
        Json list = Json::array();
        for (const ReportedChange& change : changes.changes) list.push_back(std::visit(ChangeToJson{}, change));
        return {{"is", "changes"}, {"revision", changes.revision}, {"changes", std::move(list)}};
    }
    Json operator()(const StoreCondition& condition) const {
        return {{"is", "condition"}, {"watched", condition.is_watched}, {"text", condition.text}};
    }
};

}  // namespace

Result<StoreRequest> parse_store_request(std::string_view packet) {
    const Json object = parse_packet(packet);
    if (!object.is_object()) return failure("a request to headway-etcd is a JSON object");
    PacketFields fields(object);
    const auto verb = read_verb(fields.word("do"), fields);
    const auto id = static_cast<RequestId>(fields.number("id"));
    if (!verb || !fields.good()) return failure("headway-etcd does not know such a request");
    return StoreRequest{id, *verb};
}

std::string to_packet(const EtcdReport& report) { return json_text(std::visit(ReportToJson{}, report)); }

}  // namespace headway
