// SPDX-License-Identifier: Apache-2.0
// Requests of the control socket: whatever a client sends is a request within
// the bounds, or is refused with a sentence that can be sent back.
#include <nlohmann/json.hpp>

#include "base/json.hpp"
#include "base/limits.hpp"
#include "fuzz_text.hh"
#include "protocol/protocol.hpp"
#include "trunk/shares.hpp"

namespace headway::fuzz {
namespace {

void check(const CollectiveHosts& hosts) {
    require(hosts.operation != nullptr, "an operation");
    require(hosts.operation->has_root == hosts.root.has_value(), "a root where one belongs");
    require(hosts.ranks_per_host >= 1 && hosts.ranks_per_host <= ranks_per_host_max, "ranks");
}

struct Check {
    void operator()(const HelloRequest& r) const { job(r.job); }
    void operator()(const JoinRequest& r) const {
        job(r.job);
        require(!r.job.empty(), "a job's name");
    }
    void operator()(const ClustersRequest& r) const {
        require(!r.hosts.empty() && r.hosts.size() <= hosts_per_request_max, "hosts");
    }
    void operator()(const PlanRequest& r) const {
        require(!r.hosts.empty() && r.hosts.size() <= hosts_per_request_max, "hosts");
    }
    void operator()(const PrepareRequest& r) const { check(r.hosts); }
    void operator()(const PhaseRequest& r) const { check(r.hosts); }
    void operator()(const EnterRequest& r) const {
        if (const auto* hosts = std::get_if<CollectiveHosts>(&r.who)) check(*hosts);
    }
    void operator()(const TrafficRequest& r) const {
        if (r.hosts.empty() || r.hosts.size() > traffic_hosts_max) std::abort();
        for (const HostFlow& flow : r.flows) {
            if (flow.from >= r.hosts.size() || flow.to >= r.hosts.size()) std::abort();
        }
    }
    void operator()(const RateRequest& r) const {
        require(!r.bytes_per_s || *r.bytes_per_s > 0, "a rate");
    }
    void operator()(const StartJobRequest& r) const {
        job(r.job);
        require(!r.job.empty(), "a job's name");
        require(r.hosts.size() <= hosts_per_request_max, "bounded names");
        require(r.weight >= 1 && r.weight <= share_weight_max, "a weight");
        require(!r.hosts.empty() || (!r.is_alltoall && r.flows.empty()), "hosts of a pattern");
        for (const HostFlow& flow : r.flows) {
            require(flow.from < r.hosts.size() && flow.to < r.hosts.size(), "places of flows");
        }
    }
    void operator()(const EndJobRequest& r) const { job(r.job); }
    void operator()(const JobsRequest&) const {}
    void operator()(const StatusRequest&) const {}
    void operator()(const LeaveRequest&) const {}
    void operator()(const ReadyRequest&) const {}
    void operator()(const MoreRequest&) const {}
    void operator()(const OffRequest&) const {}
    void operator()(const OnRequest&) const {}

    static void job(const std::string& name) {
        require(name.size() <= job_name_max_bytes, "a bounded name");
        require(name.find_first_of("\n\r\033\"") == std::string::npos, "a name fit to be shown");
    }
};

void check(std::string_view datagram) {
    const Request request = parse_request(datagram);
    if (request.body) {
        require(request.id.has_value(), "an id");
        std::visit(Check{}, *request.body);
        return;
    }
    const std::string& why = request.body.error().message;
    require(!why.empty(), "a reason");
    require(json_text(make_refusal(request.id, why)).size() <= datagram_max_bytes,
            "a refusal that can be sent");
}

/// Whatever kind the request says it is of.
constexpr const char* kinds[]{"hello", "status", "ready",   "plan", "prepare",   "enter",
                              "leave", "join",   "phase",   "traffic", "rate",   "job_start",
                              "job_end", "jobs", "more",    "off",  "on"};

}  // namespace
}  // namespace headway::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace headway;
    const auto text = fuzz::text_of(data, size);
    fuzz::check(text);
    Json request = parse_json<Json>(text);
    if (!request.is_object()) return 0;
    for (const char* const kind : fuzz::kinds) {
        request["op"] = kind;
        fuzz::check(json_text(request));
    }
    return 0;
}
