// SPDX-License-Identifier: Apache-2.0
#include "control/protocol.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <limits>
#include <type_traits>

#include <sys/types.h>

#include "base/hostlist.hpp"
#include "base/json_text.hpp"
#include "base/limits.hpp"
#include "trunk/shares.hpp"

namespace headway {

namespace {

using Input = nlohmann::json;

/// Reads the members of one JSON object.  The first mistake is kept; what is
/// read after it does not matter any more.
class ObjectReader {
public:
    explicit ObjectReader(const Input& object) : object_(object) {}

    [[nodiscard]] bool has(const char* key) const { return object_.contains(key); }

    std::optional<std::uint64_t> number(const char* key) {
        return value<std::uint64_t>(key, &Input::is_number_unsigned,
                                    "\"{}\" must be a whole number from 0");
    }

    /// A number, or none for null; nothing else will do.
    std::optional<std::uint64_t> number_or_null(const char* key) {
        const Input* value = find(key);
        if (value == nullptr) fail("\"{}\" must be a whole number, or null", key);
        return value == nullptr || value->is_null() ? std::nullopt : number(key);
    }

    /// From 1 on; 1 if it is not told.
    std::uint32_t count(const char* key, std::uint32_t most) {
        const std::uint64_t count = number(key).value_or(1);
        if (count < 1 || count > most) fail("\"{}\" must be 1 .. {}", key, most);
        return static_cast<std::uint32_t>(count);
    }

    std::optional<bool> boolean(const char* key) {
        return value<bool>(key, &Input::is_boolean, "\"{}\" must be true or false");
    }

    std::optional<std::string> string(const char* key, std::size_t max_bytes) {
        const auto fits = [&](const Input& value) {
            return value.is_string() && value.get_ref<const std::string&>().size() <= max_bytes;
        };
        return value<std::string>(key, fits, "\"{}\" must be a string of at most {} bytes",
                                  max_bytes);
    }

    std::vector<std::string> strings(const char* key, std::size_t most) {
        const auto fits = [&](const Input& value) {
            return value.is_array() && value.size() <= most &&
                   std::ranges::all_of(value, &Input::is_string);
        };
        return value<std::vector<std::string>>(
                   key, fits, "\"{}\" must be an array of at most {} strings", most)
            .value_or(std::vector<std::string>());
    }

    /// Triples of whole numbers; the first two are places in a list of so many.
    std::vector<HostFlow> flows(const char* key, std::size_t places) {
        std::vector<HostFlow> flows;
        const Input* value = find(key);
        const auto is_flow = [&](const Input& item) {
            return item.is_array() && item.size() == 3 &&
                   std::ranges::all_of(item, &Input::is_number_unsigned) &&
                   item[0].get<std::uint64_t>() < places && item[1].get<std::uint64_t>() < places;
        };
        if (value == nullptr || !value->is_array() || !std::ranges::all_of(*value, is_flow)) {
            fail("\"{}\" must be an array of [from, to, amount]: two places in the list of hosts, "
                 "counted from 0, and a whole number", key);
            return flows;
        }
        for (const Input& item : *value) {
            flows.push_back({item[0].get<std::uint32_t>(), item[1].get<std::uint32_t>(),
                             item[2].get<double>()});
        }
        return flows;
    }

    /// Not expanded: the items, each of which may be a list, as one list.
    std::string host_list(const char* key) {
        std::string list;
        const Input* value = find(key);
        if (value == nullptr || !value->is_array() || value->empty()) {
            fail("\"{}\" must be an array of host names", key);
            return list;
        }
        for (const Input& item : *value) {
            if (!item.is_string()) {
                fail("\"{}\" must hold strings only", key);
                return list;
            }
            list += item.get_ref<const std::string&>();
            list += ',';
        }
        list.pop_back();
        return list;
    }

    std::vector<std::string> hosts(const char* key) {
        const std::string list = host_list(key);
        if (error_) return {};
        auto names = parse_hostlist(list, hosts_per_request_max);
        if (!names) {
            fail("\"{}\": {}", key, names.error().message);
            return {};
        }
        return std::move(*names);
    }

    template <class... Args>
    void fail(fmt::format_string<Args...> format, Args&&... args) {
        if (!error_) error_ = Error{fmt::format(format, std::forward<Args>(args)...)};
    }

    /// The first mistake, if there is one.  Unknown members are refused, so that a later
    /// version may give them a meaning.
    const std::optional<Error>& finish() {
        for (const auto& [key, value] : object_.items()) {
            if (std::ranges::find(known_, key) == known_.end()) {
                fail("unknown member \"{}\"", key.substr(0, 32));
            }
        }
        return error_;
    }

private:
    /// None if it is not there, or not as it must be, which is told.
    template <class Value, class Fits, class... Args>
    std::optional<Value> value(const char* key, Fits fits,
                               fmt::format_string<const char*&, const Args&...> otherwise,
                               const Args&... args) {
        const Input* value = find(key);
        if (value == nullptr) return std::nullopt;
        if (std::invoke(fits, *value)) return value->template get<Value>();
        fail(otherwise, key, args...);
        return std::nullopt;
    }

    const Input* find(const char* key) {
        known_.emplace_back(key);
        const auto found = object_.find(key);
        return found == object_.end() ? nullptr : &*found;
    }

    const Input& object_;
    std::vector<std::string_view> known_{"v", "id", "op"};
    std::optional<Error> error_;
};

/// Characters that mean nothing special in logs and terminals.
bool is_job_char(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view(".:@/+-_").find(c) != std::string_view::npos;
}

const PlannedOperation* read_operation(ObjectReader& reader) {
    const auto name = reader.string("operation", 32);
    const PlannedOperation* operation = name ? find_operation(*name) : nullptr;
    if (operation == nullptr) {
        reader.fail("\"operation\" must be one of {}", operation_names());
    }
    return operation;
}

/// What knows hosts only, and no root.
const PlannedOperation* read_alltoall(ObjectReader& reader) {
    const PlannedOperation* operation = read_operation(reader);
    if (operation != nullptr &&
        (operation->as != PlannedAs::alltoall || operation->is_linear_only)) {
        reader.fail("\"operation\" of a plan must be \"alltoall\" or \"alltoallv\"");
    }
    return operation;
}

void read_root(ObjectReader& reader, CollectiveHosts& hosts) {
    hosts.root = reader.string("root", host_name_max_bytes);
    if (hosts.operation == nullptr || hosts.operation->has_root == hosts.root.has_value()) return;
    if (hosts.root) {
        reader.fail("\"root\": {} has none", hosts.operation->name);
    } else {
        reader.fail("\"root\" must name the host of the root of {}", hosts.operation->name);
    }
}

/// Names that are not known in "algorithms" are of a client that knows more.
AlgorithmChoice read_algorithm_choice(ObjectReader& reader, const PlannedOperation* operation) {
    AlgorithmChoice choice;
    for (const std::string& name : reader.strings("algorithms", algorithms_per_request_max)) {
        if (name == name_of(ClientAlgorithm::linear)) choice.able_to_linear = true;
        if (name == name_of(ClientAlgorithm::ring))
            choice.able_to_ring = operation != nullptr && operation->ring;
    }
    const auto name = reader.string("algorithm", 32);
    if (!name) return choice;
    choice.is_linear = name == name_of(ClientAlgorithm::linear);
    if (!choice.is_linear || (operation != nullptr && !operation->can_be_linear())) {
        reader.fail("\"algorithm\": there are no plans of the operation for \"{}\"",
                    name->substr(0, 32));
    }
    return choice;
}

CollectiveHosts read_collective(ObjectReader& reader) {
    CollectiveHosts hosts;
    hosts.operation = read_operation(reader);
    read_root(reader, hosts);
    hosts.ranks_per_host = reader.count("ranks_per_host", ranks_per_host_max);
    hosts.communicator = reader.host_list("comm_hosts");
    hosts.job = reader.host_list("job_hosts");
    hosts.siblings_disjoint = reader.boolean("siblings_disjoint").value_or(false);
    hosts.algorithm = read_algorithm_choice(reader, hosts.operation);
    return hosts;
}

std::string read_job(ObjectReader& reader) {
    std::string job = reader.string("job", job_name_max_bytes).value_or("");
    if (!std::ranges::all_of(job, is_job_char)) {
        reader.fail("\"job\" may have letters, digits and .:@/+-_ only");
    }
    return job;
}

std::string read_named_job(ObjectReader& reader, std::string_view what = "the job") {
    std::string job = read_job(reader);
    if (job.empty()) reader.fail("\"job\" must name {}", what);
    return job;
}

std::optional<std::uint64_t> read_uid(ObjectReader& reader) {
    const auto uid = reader.number("uid");
    if (uid >= std::numeric_limits<uid_t>::max()) reader.fail("\"uid\" is no user's number");
    return uid;
}

void read_job_pattern(ObjectReader& reader, StartJobRequest& start) {
    if (reader.has("operation")) {
        const PlannedOperation* operation = read_operation(reader);
        start.is_alltoall = true;
        if (operation != nullptr && operation->name != "alltoall") {
            reader.fail("\"operation\" of a job must be \"alltoall\"");
        }
    }
    if (reader.has("flows")) {
        if (start.is_alltoall) reader.fail("\"operation\" and \"flows\": a job has one pattern");
        if (start.hosts.size() > traffic_hosts_max) {
            reader.fail("\"hosts\" may name {} at most, with \"flows\"", traffic_hosts_max);
        }
        start.flows = reader.flows("flows", start.hosts.size());
    }
    if (start.hosts.empty() && (start.is_alltoall || !start.flows.empty())) {
        reader.fail("\"hosts\" are needed for a pattern");
    }
}

// -------------------------------------------------- the members of each kind

/// Of a kind that has none.
template <class Body>
    requires std::is_empty_v<Body>
void read(ObjectReader&, Body&) {}

void read(ObjectReader& reader, HelloRequest& hello) {
    hello.job = read_job(reader);
    hello.rank = reader.number("rank").value_or(0);
    hello.pid = reader.number("pid").value_or(0);
    hello.start = reader.number("start").value_or(0);
}

void read(ObjectReader& reader, PlanRequest& plan) {
    plan.operation = read_alltoall(reader);
    plan.hosts = reader.hosts("hosts");
    plan.ranks_per_host = reader.count("ranks_per_host", ranks_per_host_max);
    plan.message_bytes = reader.number("message_bytes");
}

void read(ObjectReader& reader, CollectiveRequest& collective) {
    collective.hosts = read_collective(reader);
    collective.message_bytes = reader.number("message_bytes");
}

void read(ObjectReader& reader, EnterRequest& enter) {
    enter.message_bytes = reader.number("message_bytes");
    if (reader.has("pattern")) {
        if (reader.has("operation")) read_operation(reader);
        enter.who = reader.number("pattern").value_or(0);
    } else {
        enter.who = read_collective(reader);
    }
}

void read(ObjectReader& reader, LeaveRequest& leave) { leave.entered = reader.number("entered"); }

void read(ObjectReader& reader, JoinRequest& join) {
    join.job = read_named_job(reader, "the job that the process belongs to");
}

void read(ObjectReader& reader, TrafficRequest& traffic) {
    traffic.hosts = reader.hosts("hosts");
    if (traffic.hosts.size() > traffic_hosts_max) {
        reader.fail("\"hosts\" may name {} at most", traffic_hosts_max);
    }
    traffic.flows = reader.flows("flows", traffic.hosts.size());
}

void read(ObjectReader& reader, RateRequest& rate) {
    rate.bytes_per_s = reader.number_or_null("bytes_per_s");
    if (rate.bytes_per_s == 0) reader.fail("\"bytes_per_s\" must be at least 1");
}

void read(ObjectReader& reader, StartJobRequest& start) {
    start.job = read_named_job(reader);
    start.uid = read_uid(reader);
    if (reader.has("hosts")) start.hosts = reader.hosts("hosts");
    start.ranks_per_host = reader.count("ranks_per_host", ranks_per_host_max);
    start.weight = reader.count("weight", share_weight_max);
    start.start = reader.number("start").value_or(0);
    start.is_lasting = reader.boolean("lasting").value_or(false);
    read_job_pattern(reader, start);
}

void read(ObjectReader& reader, EndJobRequest& end) {
    end.job = read_named_job(reader);
    end.uid = read_uid(reader);
}

// ----------------------------------------------------------------- all kinds

template <class Body>
RequestBody without_members() {
    return Body{};
}

struct Kind {
    std::string_view name;
    RequestBody (*without_members)();
};

constexpr std::array<Kind, std::variant_size_v<RequestBody>> kinds{{
    {"hello", without_members<HelloRequest>},
    {"status", without_members<StatusRequest>},
    {"ready", without_members<ReadyRequest>},
    {"plan", without_members<PlanRequest>},
    {"prepare", without_members<PrepareRequest>},
    {"enter", without_members<EnterRequest>},
    {"leave", without_members<LeaveRequest>},
    {"join", without_members<JoinRequest>},
    {"phase", without_members<PhaseRequest>},
    {"traffic", without_members<TrafficRequest>},
    {"rate", without_members<RateRequest>},
    {"job_start", without_members<StartJobRequest>},
    {"job_end", without_members<EndJobRequest>},
    {"jobs", without_members<JobsRequest>},
    {"more", without_members<MoreRequest>},
    {"off", without_members<OffRequest>},
    {"on", without_members<OnRequest>},
}};

tl::unexpected<Error> no_such_kind() {
    std::string names;
    for (const Kind& kind : kinds) names += (names.empty() ? "" : ", ") + std::string(kind.name);
    return failure("\"op\" must be one of {}", names);
}

}  // namespace

Request parse_request(std::string_view datagram) {
    const Input object = parse_json<Input>(datagram);
    if (!object.is_object()) return {std::nullopt, "", failure("a request is one JSON object")};
    const auto id = object.find("id");
    if (id == object.end() || !id->is_number_unsigned()) {
        return {std::nullopt, "", failure("\"id\" must be a whole number from 0")};
    }
    Request request{id->get<std::uint64_t>(), "", RequestBody{}};
    ObjectReader reader(object);
    if (reader.number("v") != protocol_version) {
        request.body = failure("\"v\" must be {}, the version of the protocol", protocol_version);
        return request;
    }
    const std::string name = reader.string("op", 32).value_or("");
    const auto kind = std::ranges::find(kinds, name, &Kind::name);
    if (kind == kinds.end()) {
        request.body = no_such_kind();
        return request;
    }
    request.op = name;
    request.body = kind->without_members();
    std::visit([&](auto& members) { read(reader, members); }, *request.body);
    if (const auto& error = reader.finish()) request.body = tl::unexpected(*error);
    return request;
}

Json make_answer(const std::optional<std::uint64_t>& id) {
    Json answer = Json::object();
    answer.get_ref<Json::object_t&>().reserve(8);  // most have no more members
    answer["v"] = protocol_version;
    answer["id"] = id ? Json(*id) : Json(nullptr);
    answer["ok"] = true;
    return answer;
}

Json make_refusal(const std::optional<std::uint64_t>& id, std::string_view error) {
    Json answer = make_answer(id);
    answer["ok"] = false;
    answer["error"] = error;
    return answer;
}

std::string to_datagram(const Json& answer) {
    return json_text(answer);
}

}  // namespace headway
