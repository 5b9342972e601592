// SPDX-License-Identifier: Apache-2.0
#include "trunk/store_link.hpp"

#include <optional>

#include <nlohmann/json.hpp>

#include "base/hostlist.hpp"
#include "base/json_text.hpp"

namespace headway {
namespace {

using Json = nlohmann::json;

Json parse(std::string_view packet) {
    if (packet.size() > store_packet_max_bytes) return Json();
    return parse_json<Json>(packet);
}

/// Reads an object's members; remembers whether all were as they should be.
class Fields {
public:
    explicit Fields(const Json& object) : object_(object) {}

    std::int64_t number(const char* key) {
        const Json* value = find(key);
        if (value == nullptr || !value->is_number_integer()) return fail(std::int64_t{0});
        const bool is_too_large = value->is_number_unsigned() &&
                                  value->get<std::uint64_t>() > std::uint64_t{INT64_MAX};
        if (is_too_large || value->get<std::int64_t>() < 0) return fail(std::int64_t{0});
        return value->get<std::int64_t>();
    }
    bool flag(const char* key) {
        const Json* value = find(key);
        if (value == nullptr || !value->is_boolean()) return fail(false);
        return value->get<bool>();
    }
    std::string text(const char* key, std::size_t max_bytes) {
        const Json* value = find(key);
        if (value == nullptr || !value->is_string()) return fail(std::string());
        auto text = value->get<std::string>();
        if (text.size() > max_bytes) return fail(std::string());
        return text;
    }
    std::string host() { return text("host", host_name_max_bytes); }
    std::string record() { return text("record", record_text_max_bytes); }

    [[nodiscard]] bool good() const { return good_; }

private:
    const Json* find(const char* key) const {
        const auto found = object_.find(key);
        return found == object_.end() ? nullptr : &*found;
    }
    template <class Value>
    Value fail(Value value) {
        good_ = false;
        return value;
    }

    const Json& object_;
    bool good_ = true;
};

std::string word_of(const Json& object, const char* key) {
    if (!object.is_object()) return {};
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// ---- requests ----------------------------------------------------------------------

struct VerbToJson {
    Json operator()(const GrantOf& verb) const { return {{"do", "grant"}, {"seconds", verb.seconds}}; }
    Json operator()(const ProlongLease& verb) const { return {{"do", "prolong"}, {"lease", verb.lease}}; }
    Json operator()(const RevokeLease& verb) const { return {{"do", "revoke"}, {"lease", verb.lease}}; }
    Json operator()(const PutRecordText& verb) const {
        return {{"do", "record"}, {"lease", verb.lease}, {"record", verb.text}};
    }
    Json operator()(const PutAcknowledgement& verb) const {
        return {{"do", "acknowledge"}, {"lease", verb.lease}, {"epoch", verb.epoch}};
    }
    Json operator()(const PutSettled& verb) const { return {{"do", "settle"}, {"lease", verb.lease}}; }
};

std::optional<StoreVerb> read_verb(const std::string& verb, Fields& fields) {
    if (verb == "grant") return GrantOf{fields.number("seconds")};
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

std::optional<ReportedChange> read_change(const Json& object) {
    const std::string put = word_of(object, "put");
    std::optional<ReportedChange> change;
    Fields fields(object);
    if (put == "record") change = ReportedRecord{fields.host(), fields.number("lease"), fields.record()};
    if (put == "nothing") change = ReportedGone{fields.host()};
    if (put == "acknowledgement") change = ReportedAcknowledgement{fields.host(), fields.number("epoch")};
    if (put == "settled") change = SettledPut{fields.number("by")};
    return fields.good() ? change : std::nullopt;
}

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

std::optional<ReportedChanges> read_changes(const Json& object, Fields& fields) {
    ReportedChanges changes{fields.number("revision"), {}};
    const auto list = object.find("changes");
    if (list == object.end() || !list->is_array()) return std::nullopt;
    for (const Json& one : *list) {
        auto change = read_change(one);
        if (!change) return std::nullopt;
        changes.changes.push_back(*std::move(change));
    }
    return changes;
}

std::optional<StoreReport> read_report(const Json& object, const std::string& is, Fields& fields) {
    if (is == "answer") {
        StoreAnswer answer;
        answer.id = static_cast<RequestId>(fields.number("id"));
        answer.done = fields.flag("done");
        answer.lease = fields.number("lease");
        answer.lease_lost = fields.flag("lost");
        answer.revision = fields.number("revision");
        return answer;
    }
    if (is == "snapshot") {
        return SnapshotBegins{fields.number("revision"), fields.number("settled_by"),
                              static_cast<std::uint64_t>(fields.number("members"))};
    }
    if (is == "member") {
        return ReportedMember{fields.host(), fields.number("lease"), fields.number("changed"),
                              fields.number("acknowledged"), fields.record()};
    }
    if (is == "changes") return read_changes(object, fields);
    if (is == "condition") return StoreCondition{fields.flag("watched"), fields.text("text", 1024)};
    return std::nullopt;
}

}  // namespace

std::string to_packet(const StoreRequest& request) {
    Json packet = std::visit(VerbToJson{}, request.verb);
    packet["id"] = request.id;
    return json_text(packet);
}

Result<StoreRequest> parse_store_request(std::string_view packet) {
    const Json object = parse(packet);
    if (!object.is_object()) return failure("a request to headway-etcd is a JSON object");
    Fields fields(object);
    const auto verb = read_verb(word_of(object, "do"), fields);
    const auto id = static_cast<RequestId>(fields.number("id"));
    if (!verb || !fields.good()) return failure("headway-etcd does not know such a request");
    return StoreRequest{id, *verb};
}

std::string to_packet(const StoreReport& report) { return json_text(std::visit(ReportToJson{}, report)); }

Result<StoreReport> parse_store_report(std::string_view packet) {
    const Json object = parse(packet);
    if (!object.is_object()) return failure("a report of headway-etcd is a JSON object");
    Fields fields(object);
    auto report = read_report(object, word_of(object, "is"), fields);
    if (!report || !fields.good()) return failure("no report that headway-etcd makes");
    return *std::move(report);
}

}  // namespace headway
