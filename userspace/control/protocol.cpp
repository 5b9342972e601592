// SPDX-License-Identifier: Apache-2.0
#include "control/protocol.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>

#include <sys/types.h>

#include "base/hostlist.hpp"
#include "base/json_text.hpp"
#include "base/limits.hpp"
#include "trunk/shares.hpp"

namespace headway {

using Input = nlohmann::json;

/// Reads the members of one JSON object.  The first mistake is kept; what is
/// read after it does not matter any more.
class ObjectReader {
public:
    explicit ObjectReader(const Input& object) : object_(object) {}

    [[nodiscard]] bool has(const char* key) const { return object_.contains(key); }

    std::optional<std::uint64_t> number(const char* key) {
        const Input* value = find(key);
        if (value == nullptr) return std::nullopt;
        if (value->is_number_unsigned()) return value->get<std::uint64_t>();
        fail("\"{}\" must be a whole number from 0", key);
        return std::nullopt;
    }

    /// A number, or none for null; nothing else will do.
    std::optional<std::uint64_t> number_or_null(const char* key) {
        const Input* value = find(key);
        if (value != nullptr && value->is_null()) return std::nullopt;
        if (value != nullptr) return number(key);
        fail("\"{}\" must be a whole number, or null", key);
        return std::nullopt;
    }

    std::optional<bool> boolean(const char* key) {
        const Input* value = find(key);
        if (value == nullptr) return std::nullopt;
        if (value->is_boolean()) return value->get<bool>();
        fail("\"{}\" must be true or false", key);
        return std::nullopt;
    }

    std::optional<std::string> string(const char* key, std::size_t max_bytes) {
        const Input* value = find(key);
        if (value == nullptr) return std::nullopt;
        if (value->is_string() && value->get_ref<const std::string&>().size() <= max_bytes) {
            return value->get<std::string>();
        }
        fail("\"{}\" must be a string of at most {} bytes", key, max_bytes);
        return std::nullopt;
    }

    std::vector<std::string> strings(const char* key, std::size_t most) {
        std::vector<std::string> strings;
        const Input* value = find(key);
        if (value == nullptr) return strings;
        const bool fits = value->is_array() && value->size() <= most &&
                          std::all_of(value->begin(), value->end(),
                                      [](const Input& item) { return item.is_string(); });
        if (!fits) {
            fail("\"{}\" must be an array of at most {} strings", key, most);
            return strings;
        }
        for (const Input& item : *value) strings.push_back(item.get<std::string>());
        return strings;
    }

    /// Triples of whole numbers; the first two are places in a list of so many.
    std::vector<HostFlow> flows(const char* key, std::size_t places) {
        std::vector<HostFlow> flows;
        const Input* value = find(key);
        const auto is_flow = [&](const Input& item) {
            return item.is_array() && item.size() == 3 &&
                   std::all_of(item.begin(), item.end(),
                               [](const Input& part) { return part.is_number_unsigned(); }) &&
                   item[0].get<std::uint64_t>() < places && item[1].get<std::uint64_t>() < places;
        };
        if (value == nullptr || !value->is_array() ||
            !std::all_of(value->begin(), value->end(), is_flow)) {
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

    /// The request if all was well and no member is unknown.  Unknown members
    /// are refused, so that a later version may give them a meaning.
    Result<RequestBody> finish(RequestBody body) {
        for (const auto& [key, value] : object_.items()) {
            if (std::find(known_.begin(), known_.end(), key) == known_.end()) {
                fail("unknown member \"{}\"", key.substr(0, 32));
            }
        }
        if (error_) return tl::unexpected(*error_);
        return body;
    }

private:
    const Input* find(const char* key) {
        known_.emplace_back(key);
        const auto found = object_.find(key);
        return found == object_.end() ? nullptr : &*found;
    }

    const Input& object_;
    std::vector<std::string_view> known_{"v", "id", "op"};
    std::optional<Error> error_;
};

namespace {

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

std::uint32_t read_ranks_per_host(ObjectReader& reader) {
    const std::uint64_t ranks = reader.number("ranks_per_host").value_or(1);
    if (ranks < 1 || ranks > ranks_per_host_max) {
        reader.fail("\"ranks_per_host\" must be 1 .. {}", ranks_per_host_max);
        return 1;
    }
    return static_cast<std::uint32_t>(ranks);
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
    hosts.ranks_per_host = read_ranks_per_host(reader);
    hosts.communicator = reader.host_list("comm_hosts");
    hosts.job = reader.host_list("job_hosts");
    hosts.siblings_disjoint = reader.boolean("siblings_disjoint").value_or(false);
    hosts.algorithm = read_algorithm_choice(reader, hosts.operation);
    return hosts;
}

std::string read_job(ObjectReader& reader) {
    std::string job = reader.string("job", job_name_max_bytes).value_or("");
    if (!std::all_of(job.begin(), job.end(), is_job_char)) {
        reader.fail("\"job\" may have letters, digits and .:@/+-_ only");
    }
    return job;
}

std::string read_named_job(ObjectReader& reader) {
    std::string job = read_job(reader);
    if (job.empty()) reader.fail("\"job\" must name the job");
    return job;
}

std::optional<std::uint64_t> read_uid(ObjectReader& reader) {
    const auto uid = reader.number("uid");
    if (uid && *uid >= std::numeric_limits<uid_t>::max()) reader.fail("\"uid\" is no user's number");
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

}  // namespace

Result<RequestBody> read_hello(ObjectReader& reader) {
    HelloRequest hello;
    hello.job = read_job(reader);
    hello.rank = reader.number("rank").value_or(0);
    hello.pid = reader.number("pid").value_or(0);
    hello.start = reader.number("start").value_or(0);
    return reader.finish(hello);
}

Result<RequestBody> read_status(ObjectReader& reader) { return reader.finish(StatusRequest{}); }

Result<RequestBody> read_plan(ObjectReader& reader) {
    PlanRequest plan;
    plan.operation = read_alltoall(reader);
    plan.hosts = reader.hosts("hosts");
    plan.ranks_per_host = read_ranks_per_host(reader);
    plan.message_bytes = reader.number("message_bytes");
    return reader.finish(std::move(plan));
}

Result<RequestBody> read_prepare(ObjectReader& reader) {
    PrepareRequest prepare{read_collective(reader), reader.number("message_bytes")};
    return reader.finish(std::move(prepare));
}

Result<RequestBody> read_enter(ObjectReader& reader) {
    EnterRequest enter{std::uint64_t{0}, reader.number("message_bytes")};
    if (reader.has("pattern")) {
        if (reader.has("operation")) read_operation(reader);
        enter.who = reader.number("pattern").value_or(0);
    } else {
        enter.who = read_collective(reader);
    }
    return reader.finish(std::move(enter));
}

Result<RequestBody> read_leave(ObjectReader& reader) {
    return reader.finish(LeaveRequest{reader.number("entered")});
}

Result<RequestBody> read_join(ObjectReader& reader) {
    JoinRequest join{read_job(reader)};
    if (join.job.empty()) reader.fail("\"job\" must name the job that the process belongs to");
    return reader.finish(std::move(join));
}

Result<RequestBody> read_phase(ObjectReader& reader) {
    PhaseRequest phase;
    phase.hosts = read_collective(reader);
    phase.message_bytes = reader.number("message_bytes");
    return reader.finish(std::move(phase));
}

Result<RequestBody> read_traffic(ObjectReader& reader) {
    TrafficRequest traffic;
    traffic.hosts = reader.hosts("hosts");
    if (traffic.hosts.size() > traffic_hosts_max) {
        reader.fail("\"hosts\" may name {} at most", traffic_hosts_max);
    }
    traffic.flows = reader.flows("flows", traffic.hosts.size());
    return reader.finish(std::move(traffic));
}

Result<RequestBody> read_rate(ObjectReader& reader) {
    RateRequest rate{reader.number_or_null("bytes_per_s")};
    if (rate.bytes_per_s && *rate.bytes_per_s == 0) {
        reader.fail("\"bytes_per_s\" must be at least 1");
    }
    return reader.finish(rate);
}

Result<RequestBody> read_job_start(ObjectReader& reader) {
    StartJobRequest start;
    start.job = read_named_job(reader);
    start.uid = read_uid(reader);
    if (reader.has("hosts")) start.hosts = reader.hosts("hosts");
    start.ranks_per_host = read_ranks_per_host(reader);
    const std::uint64_t weight = reader.number("weight").value_or(1);
    if (weight < 1 || weight > share_weight_max) {
        reader.fail("\"weight\" must be 1 .. {}", share_weight_max);
    }
    start.weight = static_cast<std::uint32_t>(weight);
    start.start = reader.number("start").value_or(0);
    start.is_lasting = reader.boolean("lasting").value_or(false);
    read_job_pattern(reader, start);
    return reader.finish(std::move(start));
}

Result<RequestBody> read_job_end(ObjectReader& reader) {
    EndJobRequest end;
    end.job = read_named_job(reader);
    end.uid = read_uid(reader);
    return reader.finish(std::move(end));
}

Result<RequestBody> read_jobs(ObjectReader& reader) { return reader.finish(JobsRequest{}); }
Result<RequestBody> read_ready(ObjectReader& reader) { return reader.finish(ReadyRequest{}); }
Result<RequestBody> read_more(ObjectReader& reader) { return reader.finish(MoreRequest{}); }
Result<RequestBody> read_off(ObjectReader& reader) { return reader.finish(OffRequest{}); }
Result<RequestBody> read_on(ObjectReader& reader) { return reader.finish(OnRequest{}); }

Request parse_request(std::string_view datagram, const FindReader& find) {
    const Input object = parse_json<Input>(datagram);
    if (!object.is_object()) return {std::nullopt, "", failure("a request is one JSON object")};
    const auto id = object.find("id");
    if (id == object.end() || !id->is_number_unsigned()) {
        return {std::nullopt, "", failure("\"id\" must be a whole number from 0")};
    }
    Request request{id->get<std::uint64_t>(), "", RequestBody{}};
    ObjectReader reader(object);
    const auto version = reader.number("v");
    if (!version || *version != protocol_version) {
        request.body = failure("\"v\" must be {}, the version of the protocol", protocol_version);
        return request;
    }
    const std::string name = reader.string("op", 32).value_or("");
    const auto read = find(name);
    if (!read) {
        request.body = tl::unexpected(read.error());
        return request;
    }
    request.op = name;
    request.body = (*read)(reader);
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
