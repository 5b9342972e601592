// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/json.hpp"
#include "base/limits.hpp"
#include "daemon/control_service.hpp"

namespace headway {
namespace {

template <class Body>
Body body_of(const char* datagram) {
    const Request request = parse_request(datagram);
    EXPECT_TRUE(request.body) << request.body.error().message;
    if (!request.body || !std::holds_alternative<Body>(*request.body)) {
        ADD_FAILURE() << "another kind of request: " << datagram;
        return {};
    }
    return std::get<Body>(*request.body);
}

TEST(Protocol, ReadsRequests) {
    const auto hello =
        body_of<HelloRequest>(R"({"v":1,"id":7,"op":"hello","job":"4711.0","rank":3,"pid":123})");
    EXPECT_EQ(hello.job, "4711.0");
    EXPECT_EQ(hello.rank, 3U);
    EXPECT_EQ(hello.pid, 123U);
    EXPECT_EQ(parse_request(R"({"v":1,"id":7,"op":"status"})").id, 7U);
    body_of<StatusRequest>(R"({"v":1,"id":0,"op":"status"})");
    EXPECT_EQ(body_of<LeaveRequest>(R"({"v":1,"id":0,"op":"leave"})").entered, std::nullopt);
    EXPECT_EQ(body_of<LeaveRequest>(R"({"v":1,"id":0,"op":"leave","entered":7})").entered, 7U);

    const auto plan = body_of<PlanRequest>(
        R"({"v":1,"id":0,"op":"plan","operation":"alltoall","hosts":["a[0-1]","b0"],)"
        R"("message_bytes":65536})");
    EXPECT_EQ(plan.hosts, (std::vector<std::string>{"a0", "a1", "b0"}));
    EXPECT_EQ(plan.message_bytes, 65536U);

    const auto prepare = body_of<PrepareRequest>(
        R"({"v":1,"id":0,"op":"prepare","operation":"alltoallv","job_hosts":["a0","b0"],)"
        R"("comm_hosts":["a0"],"siblings_disjoint":true})");
    EXPECT_EQ(prepare.hosts.job, "a0,b0");
    EXPECT_EQ(prepare.hosts.communicator, "a0");
    EXPECT_TRUE(prepare.hosts.siblings_disjoint);

    const auto pattern =
        body_of<EnterRequest>(R"({"v":1,"id":0,"op":"enter","pattern":3,"message_bytes":9})");
    EXPECT_EQ(std::get<std::uint64_t>(pattern.who), 3U);
    EXPECT_EQ(pattern.message_bytes, 9U);
    const auto hosts = body_of<EnterRequest>(
        R"({"v":1,"id":0,"op":"enter","operation":"alltoall","job_hosts":["a0"],)"
        R"("comm_hosts":["a0"]})");
    EXPECT_FALSE(std::get<CollectiveHosts>(hosts.who).siblings_disjoint);
    EXPECT_FALSE(hosts.message_bytes);
}

TEST(Protocol, ReadsRequestsAboutPhases) {
    EXPECT_EQ(body_of<JoinRequest>(R"({"v":1,"id":7,"op":"join","job":"4711.0"})").job, "4711.0");
    const auto traffic = body_of<TrafficRequest>(
        R"({"v":1,"id":7,"op":"traffic","hosts":["a[0-2]"],"flows":[[0,2,7],[2,1,0]]})");
    EXPECT_EQ(traffic.hosts, (std::vector<std::string>{"a0", "a1", "a2"}));
    ASSERT_EQ(traffic.flows.size(), 2U);
    EXPECT_EQ(traffic.flows[0].to, 2U);
    EXPECT_EQ(traffic.flows[0].bytes, 7.0);
    EXPECT_EQ(body_of<RateRequest>(R"({"v":1,"id":7,"op":"rate","bytes_per_s":5})").bytes_per_s, 5U);
    EXPECT_FALSE(
        body_of<RateRequest>(R"({"v":1,"id":7,"op":"rate","bytes_per_s":null})").bytes_per_s);
    const auto phase = body_of<PhaseRequest>(
        R"({"v":1,"id":0,"op":"phase","operation":"gatherv","root":"b0","job_hosts":["a0","b0"],)"
        R"("comm_hosts":["a0","b0"],"message_bytes":4096})");
    EXPECT_EQ(phase.hosts.operation->name, "gatherv");
    EXPECT_FALSE(phase.hosts.operation->sizes_agree);
    EXPECT_EQ(phase.hosts.root, "b0");
    EXPECT_EQ(phase.message_bytes, 4096U);
}

struct BadRequest {
    const char* datagram;
    const char* words;
    bool has_id = true;
};

class ProtocolRefuses : public testing::TestWithParam<BadRequest> {};

TEST_P(ProtocolRefuses, AndSaysWhy) {
    const Request request = parse_request(GetParam().datagram);
    ASSERT_FALSE(request.body) << GetParam().datagram;
    EXPECT_NE(request.body.error().message.find(GetParam().words), std::string::npos)
        << request.body.error().message;
    EXPECT_EQ(request.id.has_value(), GetParam().has_id);
}

INSTANTIATE_TEST_SUITE_P(
    Table, ProtocolRefuses,
    testing::Values(
        BadRequest{"", "one JSON object", false}, BadRequest{"{", "one JSON object", false},
        BadRequest{"[]", "one JSON object", false}, BadRequest{"7", "one JSON object", false},
        BadRequest{"{} {}", "one JSON object", false},
        BadRequest{"\xff\xfe", "one JSON object", false},
        BadRequest{R"({"v":1,"op":"status"})", "id: ", false},
        BadRequest{R"({"v":1,"id":-1,"op":"status"})", "id: ", false},
        BadRequest{R"({"v":1,"id":1.5,"op":"status"})", "id: ", false},
        BadRequest{R"({"v":1,"id":"1","op":"status"})", "id: ", false},
        BadRequest{R"({"id":1,"op":"status"})", "v: must be 1"},
        BadRequest{R"({"v":2,"id":1,"op":"status"})", "v: must be 1"},
        BadRequest{R"({"v":1,"id":1})", "op: must be one of"},
        BadRequest{R"({"v":1,"id":1,"op":"reboot"})", "op: must be one of"},
        BadRequest{R"({"v":1,"id":1,"op":5})", "op: must be one of"},
        BadRequest{R"({"v":1,"id":1,"op":"status","x":1})", "x: unknown key"},
        BadRequest{R"({"v":1,"id":1,"op":"leave","pattern":1})", "pattern: unknown key"},
        BadRequest{R"({"v":1,"id":1,"op":"hello","job":7})", "job: "},
        BadRequest{R"({"v":1,"id":1,"op":"hello","job":"a b"})", "job: may have"},
        BadRequest{R"({"v":1,"id":1,"op":"hello","job":"\u001b[31m"})", "job: may have"},
        BadRequest{R"({"v":1,"id":1,"op":"hello","rank":-1})", "rank: "},
        BadRequest{R"({"v":1,"id":1,"op":"plan","hosts":["a0"]})", "operation: "},
        BadRequest{R"({"v":1,"id":1,"op":"plan","operation":"bcast","hosts":["a0"]})",
                   "\"alltoall\" or \"alltoallv\""},
        BadRequest{R"({"v":1,"id":1,"op":"prepare","operation":"barrier","job_hosts":["a0"],)"
                   R"("comm_hosts":["a0"]})",
                   "must be one of alltoall, alltoallv, alltoallw, allgather,"},
        BadRequest{R"({"v":1,"id":1,"op":"phase","operation":"gather","job_hosts":["a0"],)"
                   R"("comm_hosts":["a0"]})",
                   "root: must name the host of the root of gather"},
        BadRequest{R"({"v":1,"id":1,"op":"phase","operation":"alltoall","root":"a0",)"
                   R"("job_hosts":["a0"],"comm_hosts":["a0"]})",
                   "root: alltoall has none"},
        BadRequest{R"({"v":1,"id":1,"op":"phase","pattern":1})", "operation: "},
        BadRequest{R"({"v":1,"id":1,"op":"join"})", "job: must name"},
        BadRequest{R"({"v":1,"id":1,"op":"join","job":"a b"})", "job: may have"},
        BadRequest{R"({"v":1,"id":1,"op":"join","job":"a","rank":1})", "rank: unknown key"},
        BadRequest{R"({"v":1,"id":1,"op":"traffic","flows":[]})", "hosts: "},
        BadRequest{R"({"v":1,"id":1,"op":"traffic","hosts":["a"]})", "flows: "},
        BadRequest{R"({"v":1,"id":1,"op":"traffic","hosts":["a"],"flows":[[0,1,2]]})",
                   "flows[0][1]: must be a whole number from 0 to 0"},
        BadRequest{R"({"v":1,"id":1,"op":"traffic","hosts":["a"],"flows":[[0,0]]})",
                   "flows[0]: must be an array of 3"},
        BadRequest{R"({"v":1,"id":1,"op":"traffic","hosts":["a"],"flows":[[0,0,-1]]})",
                   "flows[0][2]: must be a whole number"},
        BadRequest{R"({"v":1,"id":1,"op":"traffic","hosts":["a[0-512]"],"flows":[]})",
                   "512 at most"},
        BadRequest{R"({"v":1,"id":1,"op":"rate"})", "bytes_per_s: "},
        BadRequest{R"({"v":1,"id":1,"op":"rate","bytes_per_s":0})",
                   "bytes_per_s: must be a whole number from 1"},
        BadRequest{R"({"v":1,"id":1,"op":"rate","bytes_per_s":"1"})", "bytes_per_s: "},
        BadRequest{R"({"v":1,"id":1,"op":"rate","bytes_per_s":-1})", "bytes_per_s: "},
        BadRequest{R"({"v":1,"id":1,"op":"plan","operation":"alltoall"})", "hosts: "},
        BadRequest{R"({"v":1,"id":1,"op":"plan","operation":"alltoall","hosts":[]})", "hosts: "},
        BadRequest{R"({"v":1,"id":1,"op":"plan","operation":"alltoall","hosts":"a0"})",
                   "hosts: must be an array"},
        BadRequest{R"({"v":1,"id":1,"op":"plan","operation":"alltoall","hosts":[5]})",
                   "hosts[0]: must be a string"},
        BadRequest{R"({"v":1,"id":1,"op":"plan","operation":"alltoall","hosts":["a["]})",
                   "'[' without"},
        BadRequest{R"({"v":1,"id":1,"op":"plan","operation":"alltoall","hosts":["","a0"]})",
                   "hosts[0]: must name a host"},
        BadRequest{R"({"v":1,"id":1,"op":"plan","operation":"alltoall","hosts":["a0",", "]})",
                   "hosts[1]: must name a host"},
        // Short to write, long to expand: bounded.
        BadRequest{R"({"v":1,"id":1,"op":"plan","operation":"alltoall","hosts":["a[0-9999999]"]})",
                   "more than 16384"},
        BadRequest{R"({"v":1,"id":1,"op":"enter"})", "operation: "},
        BadRequest{R"({"v":1,"id":1,"op":"enter","pattern":"1"})", "pattern: "},
        BadRequest{R"({"v":1,"id":1,"op":"enter","pattern":1,"comm_hosts":["a0"]})",
                   "comm_hosts: unknown key"},
        BadRequest{R"({"v":1,"id":1,"op":"enter","operation":"alltoall","job_hosts":["a0"]})",
                   "comm_hosts: "},
        BadRequest{R"({"v":1,"id":1,"op":"prepare","operation":"alltoall","job_hosts":["a0"],)"
                   R"("comm_hosts":["a0"],"siblings_disjoint":1})",
                   "siblings_disjoint: must be true or false"},
        BadRequest{R"({"v":1,"id":1,"op":"enter","pattern":1,"message_bytes":1e99})",
                   "message_bytes: "},
        BadRequest{R"({"v":1,"id":1,"op":"enter","pattern":99999999999999999999})",
                   "pattern: "}));

TEST(Protocol, SurvivesDeepNesting) {
    EXPECT_FALSE(parse_request(std::string(datagram_max_bytes, '[')).body);
    std::string deep = R"({"v":1,"id":1,"op":)" + std::string(30'000, '[') +
                       std::string(30'000, ']') + "}";
    EXPECT_FALSE(parse_request(deep).body);
}

TEST(Protocol, WritesAnswers) {
    EXPECT_EQ(json_text(make_answer(7)), R"({"v":1,"id":7,"ok":true})");
    EXPECT_EQ(json_text(make_refusal(7, "no")), R"({"v":1,"id":7,"ok":false,"error":"no"})");
    EXPECT_EQ(json_text(make_refusal(std::nullopt, "no")),
              R"({"v":1,"id":null,"ok":false,"error":"no"})");
    // Not UTF-8 (a message of the system): replaced, not thrown.
    EXPECT_NE(json_text(make_refusal(7, "\xff")).find("\xef\xbf\xbd"), std::string::npos);
}

}  // namespace
}  // namespace headway
