// SPDX-License-Identifier: Apache-2.0
// Requests of the control socket as values.  The protocol is specified in
// Documentation/control-protocol.rst.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/error.hpp"
#include "plan/planned_operation.hpp"
#include "plan/traffic_plan.hpp"

namespace headway {

using Json = nlohmann::ordered_json;

inline constexpr std::uint64_t protocol_version = 1;

/// The client says who it is; the kernel's word (SO_PEERCRED) stands beside it.
struct HelloRequest {
    std::string job;
    std::uint64_t rank = 0;
    std::uint64_t pid = 0;
    std::uint64_t start = 0;  ///< drawn once for the job, the same on all its nodes; 0: none
};

struct StatusRequest {};

/// Asks for the cluster of each of these hosts.
struct ClustersRequest {
    std::vector<std::string> hosts;
};

struct PlanRequest {
    const PlannedOperation* operation = nullptr;  ///< never none in a request
    std::vector<std::string> hosts;
    std::uint32_t ranks_per_host = 1;
    std::optional<std::uint64_t> message_bytes;
};

/// The hosts of a collective, and the operation that says who exchanges with whom.
struct CollectiveHosts {
    const PlannedOperation* operation = nullptr;  ///< never none in a request
    /// Lists of hosts in short form (base/hostlist.hpp), which the planner expands and remembers:
    /// all processes of a job send the same.
    std::string job;
    std::string communicator;
    bool siblings_disjoint = false;
    std::uint32_t ranks_per_host = 1;
    std::optional<std::string> root;  ///< of an operation that has one
    AlgorithmChoice algorithm{};
};

struct CollectiveRequest {
    CollectiveHosts hosts;
    std::optional<std::uint64_t> message_bytes;  ///< none: large enough to be paced
};

struct PrepareRequest : CollectiveRequest {};

struct EnterRequest {
    std::variant<std::uint64_t, CollectiveHosts> who;  ///< a prepared pattern's id, or hosts
    std::optional<std::uint64_t> message_bytes;        ///< none: large enough to be paced
};

struct LeaveRequest {
    std::optional<std::uint64_t> entered;  ///< as enter answered; none: the innermost
};

/// The process wants a slot of its own in the array of its job.
struct JoinRequest {
    std::string job;
};

/// Asks for the phase of a collective.
struct PhaseRequest : CollectiveRequest {};

/// Asks for the phase of a program that sends so much between hosts.
struct TrafficRequest {
    std::vector<std::string> hosts;
    std::vector<HostFlow> flows;
    /// The flows are those of one call of a collective; the answer holds until this process asks
    /// again.
    bool one_call = false;

    friend auto operator<=>(const TrafficRequest&, const TrafficRequest&) = default;
};

/// Asks for the phase of a rate, for each process of the job on this node.
struct RateRequest {
    std::optional<std::uint64_t> bytes_per_s;  ///< none: no limit
};

/// A job begins, whether or not its processes will ever say so themselves.
struct StartJobRequest {
    std::string job;
    std::optional<std::uint64_t> uid;  ///< whose it is; none: the client's
    std::vector<std::string> hosts;    ///< empty: not told
    std::uint32_t ranks_per_host = 1;
    std::uint32_t weight = 1;
    std::uint64_t start = 0;           ///< as in HelloRequest
    bool is_granted = false;           ///< an administrator has asked for it
    bool is_lasting = false;           ///< only a request ends it
    bool is_alltoall = false;          ///< it is paced as one all the time; needs hosts
    std::vector<HostFlow> flows;       ///< or as such traffic; needs hosts
};

struct EndJobRequest {
    std::string job;
    std::optional<std::uint64_t> uid;
};

struct JobsRequest {};

/// Is everything in the kernel?
struct ReadyRequest {};
/// The next piece of an answer that is longer than a datagram.
struct MoreRequest {};

/// Pacing is switched off on this node, or on again.
struct OffRequest {};
struct OnRequest {};

/// The members of any kind of request.
using RequestBody =
    std::variant<HelloRequest, StatusRequest, ReadyRequest, ClustersRequest, PlanRequest, PrepareRequest,
                 EnterRequest, LeaveRequest, JoinRequest, PhaseRequest, TrafficRequest,
                 RateRequest, StartJobRequest, EndJobRequest, JobsRequest, MoreRequest,
                 OffRequest, OnRequest>;

/// Documentation/security.rst says what follows from it.
enum class Authority {
    anybody,        ///< who may connect: it changes nothing that is another's
    own_job,        ///< of the job's user
    administrator,  ///< root, and the group that [access] names
};

/// A kind of request: everything but its members, which read() in protocol.cpp reads, and its
/// answer, which ControlService::serve() gives for its type of body.
struct RequestKind {
    std::string_view name;
    RequestBody (*without_members)();
    Authority who;
    std::string_view timed_as{};  ///< in the status; empty: not told
    bool is_handed_on = false;    ///< it changes what the next run of the daemon is told of the client
    bool needs_phases = false;
    bool gives_slots = false;     ///< a descriptor of the job's slots goes with the answer
};

/// The one table of them.
[[nodiscard]] std::span<const RequestKind> request_kinds();
/// Null: there is none of that name.
[[nodiscard]] const RequestKind* find_request(std::string_view name);

/// Why only an administrator may ask this of the job of that user; none: the user may.
[[nodiscard]] std::optional<std::string> beyond_own_job(const RequestBody& body, std::uint64_t user);

struct Request {
    std::optional<std::uint64_t> id;  ///< whatever else is wrong, the answer carries it
    const RequestKind* kind;          ///< null: it is not known
    Result<RequestBody> body;
};

/// Never throws, whatever the bytes are.
[[nodiscard]] Request parse_request(std::string_view datagram);

/// {"v":1,"id":...,"ok":true}, to be filled.
[[nodiscard]] Json make_answer(const std::optional<std::uint64_t>& id);
[[nodiscard]] Json make_refusal(const std::optional<std::uint64_t>& id, std::string_view error);

}  // namespace headway
