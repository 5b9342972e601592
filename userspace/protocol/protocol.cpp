// SPDX-License-Identifier: Apache-2.0
#include "protocol/protocol.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <type_traits>

#include <sys/types.h>

#include "base/hostlist.hpp"
#include "base/json.hpp"
#include "base/limits.hpp"
#include "trunk/shares.hpp"

namespace headway {

namespace {

/// Reads a number; none if it is left out.
std::optional<std::uint64_t> read_number(JsonReader& reader, std::string_view key,
                                         std::uint64_t most = UINT64_MAX) {
    const JsonValue value = reader.optional(key);
    if (!value.is_there()) return std::nullopt;
    return value.count(0, most);
}

/// From 1 on; 1 if it is left out.
std::uint32_t read_count(JsonReader& reader, std::string_view key, std::uint32_t most) {
    return static_cast<std::uint32_t>(reader.optional(key).count(1, most));
}

/// Joins the items, at least one, each of which may be a list, into one list that is not expanded.
std::string read_host_list(const JsonValue& items) {
    std::string list;
    for (std::size_t i = 0, all = items.size(1, datagram_max_bytes); i < all; ++i) {
        const std::string_view item = items[i].string(datagram_max_bytes);
        if (item.find_first_not_of(hostlist_separators) == std::string_view::npos)
            items[i].fail("must name a host");
        if (i > 0) list += ',';
        list += item;
    }
    return list;
}

std::vector<std::string> read_hosts(JsonReader& reader) {
    const JsonValue items = reader.optional("hosts");
    const std::string list = read_host_list(items);
    if (reader.has_failed()) return {};
    auto names = parse_hostlist(list, hosts_per_request_max);
    if (!names) items.fail("{}", names.error().message);
    return std::move(names).value_or(std::vector<std::string>());
}

/// Each from one place in the list of hosts to another, counted from 0, and an amount.
std::vector<HostFlow> read_flows(JsonReader& reader, const std::vector<std::string>& hosts) {
    if (hosts.size() > traffic_hosts_max) {
        reader.fail("hosts: may name {} at most, with flows", traffic_hosts_max);
    }
    const JsonValue triples = reader["flows"];
    std::vector<HostFlow> flows(triples.size(0, datagram_max_bytes));
    for (std::size_t i = 0; i < flows.size(); ++i) {
        const JsonValue triple = triples[i];
        if (triple.size(3, 3) == 0) return {};
        const auto place = [&](std::size_t end) {
            return static_cast<std::uint32_t>(
                triple[end].count(0, std::max<std::size_t>(hosts.size(), 1) - 1));
        };
        flows[i] = {place(0), place(1), static_cast<double>(triple[2].count(0, UINT64_MAX))};
    }
    return flows;
}

/// Names of operations, algorithms and kinds of requests are no longer than this.
constexpr std::size_t name_max_bytes = 32;

/// Characters that mean nothing special in logs and terminals.
bool is_job_char(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view(".:@/+-_").find(c) != std::string_view::npos;
}

const PlannedOperation* read_operation(JsonReader& reader) {
    const JsonValue name = reader.optional("operation");
    const PlannedOperation* operation = find_operation(name.string(name_max_bytes));
    if (operation == nullptr) name.fail("must be one of {}", operation_names());
    return operation;
}

/// Reads the operation of a request that knows hosts only, and so has no root.
const PlannedOperation* read_alltoall(JsonReader& reader) {
    const PlannedOperation* operation = read_operation(reader);
    if (operation != nullptr &&
        (operation->as != PlannedAs::alltoall || operation->is_linear_only)) {
        reader.fail("operation: of a plan must be \"alltoall\" or \"alltoallv\"");
    }
    return operation;
}

void read_root(JsonReader& reader, CollectiveHosts& hosts) {
    const JsonValue root = reader.optional("root");
    if (root.is_there()) hosts.root = root.string(host_name_max_bytes);
    if (hosts.operation == nullptr || hosts.operation->has_root == root.is_there()) return;
    if (root.is_there()) root.fail("{} has none", hosts.operation->name);
    else root.fail("must name the host of the root of {}", hosts.operation->name);
}

/// Names that are not known in "algorithms" are of a client that knows more.
AlgorithmChoice read_algorithm_choice(JsonReader& reader, const PlannedOperation* operation) {
    AlgorithmChoice choice;
    const JsonValue able = reader.optional("algorithms");
    for (std::size_t i = 0, all = able.size(0, algorithms_per_request_max); i < all; ++i) {
        const std::string_view name = able[i].string(datagram_max_bytes);
        if (name == name_of(ClientAlgorithm::linear)) choice.able_to_linear = true;
        if (name == name_of(ClientAlgorithm::ring))
            choice.able_to_ring = operation != nullptr && operation->ring;
    }
    const JsonValue wanted = reader.optional("algorithm");
    if (!wanted.is_there()) return choice;
    const std::string_view name = wanted.string(name_max_bytes);
    choice.is_linear = name == name_of(ClientAlgorithm::linear);
    if (!choice.is_linear || (operation != nullptr && !operation->can_be_linear())) {
        wanted.fail("there are no plans of the operation for \"{}\"", name);
    }
    return choice;
}

CollectiveHosts read_collective(JsonReader& reader) {
    CollectiveHosts hosts;
    hosts.operation = read_operation(reader);
    read_root(reader, hosts);
    hosts.ranks_per_host = read_count(reader, "ranks_per_host", ranks_per_host_max);
    hosts.communicator = read_host_list(reader.optional("comm_hosts"));
    hosts.job = read_host_list(reader.optional("job_hosts"));
    hosts.siblings_disjoint = reader.optional("siblings_disjoint").boolean();
    hosts.algorithm = read_algorithm_choice(reader, hosts.operation);
    return hosts;
}

std::string read_job(JsonReader& reader) {
    const JsonValue value = reader.optional("job");
    const std::string_view job = value.string(job_name_max_bytes);
    if (!std::ranges::all_of(job, is_job_char)) {
        value.fail("may have letters, digits and .:@/+-_ only");
    }
    return std::string(job);
}

std::string read_named_job(JsonReader& reader) {
    std::string job = read_job(reader);
    if (job.empty()) reader.fail("job: must name the job");
    return job;
}

std::optional<std::uint64_t> read_uid(JsonReader& reader) {
    return read_number(reader, "uid", std::numeric_limits<uid_t>::max() - 1);
}

void read_job_pattern(JsonReader& reader, StartJobRequest& start) {
    if (reader.has("operation")) {
        const PlannedOperation* operation = read_operation(reader);
        start.is_alltoall = true;
        if (operation != nullptr && operation->name != "alltoall") {
            reader.fail("operation: of a job must be \"alltoall\"");
        }
    }
    if (reader.has("flows")) {
        if (start.is_alltoall) reader.fail("operation and flows: a job has one pattern");
        start.flows = read_flows(reader, start.hosts);
    }
    if (start.hosts.empty() && (start.is_alltoall || !start.flows.empty())) {
        reader.fail("hosts: are needed for a pattern");
    }
}

// -------------------------------------------------- the members of each kind

/// A kind without members has nothing to read.
template <class Body>
    requires std::is_empty_v<Body>
void read(JsonReader&, Body&) {}

void read(JsonReader& reader, HelloRequest& hello) {
    hello.job = read_job(reader);
    hello.rank = read_number(reader, "rank").value_or(0);
    hello.pid = read_number(reader, "pid").value_or(0);
    hello.start = read_number(reader, "start").value_or(0);
}

void read(JsonReader& reader, ClustersRequest& clusters) { clusters.hosts = read_hosts(reader); }

void read(JsonReader& reader, PlanRequest& plan) {
    plan.operation = read_alltoall(reader);
    plan.hosts = read_hosts(reader);
    plan.ranks_per_host = read_count(reader, "ranks_per_host", ranks_per_host_max);
    plan.message_bytes = read_number(reader, "message_bytes");
}

void read(JsonReader& reader, CollectiveRequest& collective) {
    collective.hosts = read_collective(reader);
    collective.message_bytes = read_number(reader, "message_bytes");
}

void read(JsonReader& reader, EnterRequest& enter) {
    enter.message_bytes = read_number(reader, "message_bytes");
    if (reader.has("pattern")) {
        if (reader.has("operation")) read_operation(reader);
        enter.who = read_number(reader, "pattern").value_or(0);
    } else {
        enter.who = read_collective(reader);
    }
}

void read(JsonReader& reader, LeaveRequest& leave) {
    leave.entered = read_number(reader, "entered");
}

void read(JsonReader& reader, JoinRequest& join) {
    join.job = read_named_job(reader);
}

void read(JsonReader& reader, TrafficRequest& traffic) {
    traffic.hosts = read_hosts(reader);
    traffic.flows = read_flows(reader, traffic.hosts);
    traffic.one_call = reader.optional("one_call").boolean();
}

void read(JsonReader& reader, RateRequest& rate) {
    const JsonValue bytes = reader["bytes_per_s"];
    if (!bytes.is_null()) rate.bytes_per_s = bytes.count(1, UINT64_MAX);
}

void read(JsonReader& reader, StartJobRequest& start) {
    start.job = read_named_job(reader);
    start.uid = read_uid(reader);
    if (reader.has("hosts")) start.hosts = read_hosts(reader);
    start.ranks_per_host = read_count(reader, "ranks_per_host", ranks_per_host_max);
    start.weight = read_count(reader, "weight", share_weight_max);
    start.start = read_number(reader, "start").value_or(0);
    start.is_lasting = reader.optional("lasting").boolean();
    read_job_pattern(reader, start);
}

void read(JsonReader& reader, EndJobRequest& end) {
    end.job = read_named_job(reader);
    end.uid = read_uid(reader);
}

// ----------------------------------------------------------------- all kinds

template <class Body>
RequestBody without_members() {
    return Body{};
}

constexpr auto anybody = Authority::anybody;
constexpr auto own_job = Authority::own_job;
constexpr auto administrator = Authority::administrator;

constexpr std::array<RequestKind, std::variant_size_v<RequestBody>> kinds{{
    {"hello", without_members<HelloRequest>, anybody, "", true},
    {"status", without_members<StatusRequest>, anybody},
    {"ready", without_members<ReadyRequest>, anybody},
    {"clusters", without_members<ClustersRequest>, anybody},
    {"plan", without_members<PlanRequest>, anybody},
    {"prepare", without_members<PrepareRequest>, own_job, "", true},
    {"enter", without_members<EnterRequest>, own_job, "enter", true},
    {"leave", without_members<LeaveRequest>, own_job, "leave", true},
    {"join", without_members<JoinRequest>, own_job, "", false, true, true},
    {"phase", without_members<PhaseRequest>, own_job, "phase", false, true},
    {"traffic", without_members<TrafficRequest>, own_job, "phase", false, true},
    {"rate", without_members<RateRequest>, own_job, "phase", false, true},
    {"job_start", without_members<StartJobRequest>, own_job},
    {"job_end", without_members<EndJobRequest>, own_job},
    {"jobs", without_members<JobsRequest>, anybody},
    {"more", without_members<MoreRequest>, anybody},
    {"off", without_members<OffRequest>, administrator},
    {"on", without_members<OnRequest>, administrator},
}};

tl::unexpected<Error> no_such_kind() {
    std::string names;
    for (const RequestKind& kind : kinds) names += (names.empty() ? "" : ", ") + std::string(kind.name);
    return failure("op: must be one of {}", names);
}

}  // namespace

std::span<const RequestKind> request_kinds() { return kinds; }

const RequestKind* find_request(std::string_view name) {
    const auto found = std::ranges::find(kinds, name, &RequestKind::name);
    return found == kinds.end() ? nullptr : &*found;
}

std::optional<std::string> beyond_own_job(const RequestBody& body, std::uint64_t user) {
    const auto* const start = std::get_if<StartJobRequest>(&body);
    const auto* const end = std::get_if<EndJobRequest>(&body);
    const auto uid = start != nullptr ? start->uid : end != nullptr ? end->uid : std::nullopt;
    if (uid && *uid != user) return "start and end jobs of other users";
    if (start == nullptr) return std::nullopt;
    if (start->weight > 1) return "give a job a weight of more than 1";
    if (start->is_lasting) return "start a job that lasts until it is ended by command";
    if (start->is_alltoall || !start->flows.empty()) {
        return "give a job a pattern, which paces all that the node sends";
    }
    return std::nullopt;
}

Request parse_request(std::string_view datagram) {
    const auto object = parse_json<nlohmann::json>(datagram);
    if (!object.is_object()) return {std::nullopt, nullptr, failure("a request is one JSON object")};
    JsonReader reader(object);
    Request request{reader["id"].count(0, UINT64_MAX), nullptr, RequestBody{}};
    if (reader.has_failed()) {
        return {std::nullopt, nullptr, failure("id: must be a whole number from 0 to {}", UINT64_MAX)};
    }
    if (read_number(reader, "v") != protocol_version) {
        request.body = failure("v: must be {}, the version of the protocol", protocol_version);
        return request;
    }
    request.kind = find_request(reader.optional("op").string(name_max_bytes));
    if (request.kind == nullptr) {
        request.body = no_such_kind();
        return request;
    }
    request.body = request.kind->without_members();
    std::visit([&](auto& members) { read(reader, members); }, *request.body);
    if (const auto& error = reader.finish()) request.body = failure("{}", *error);
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

}  // namespace headway
