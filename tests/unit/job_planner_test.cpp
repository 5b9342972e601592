// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <vector>

#include "jobs/job_planner.hpp"
#include "topologies.hpp"

namespace headway::test {
namespace {

const std::vector<std::string> planned_job_hosts{"a0", "a1", "a2", "a3", "b0", "b1", "b2", "b3"};

JobPlanner planner_of(Topology topology) {
    Config config;
    config.file = "network.toml";
    config.topology = std::move(topology);
    auto planner = JobPlanner::make(std::move(config));
    EXPECT_TRUE(planner) << planner.error().message;
    return std::move(*planner);
}

Json asked(JobPlanner& planner, Json request) {
    request["v"] = 1;
    request["id"] = 7;
    Json answer = Json::parse(planner.answer(request.dump()));
    EXPECT_EQ(answer["id"], 7);
    return answer;
}

Json collective(const std::string& operation, const std::vector<std::string>& hosts) {
    Json request{{"op", "phase"}, {"operation", operation}, {"job_hosts", hosts}, {"comm_hosts", hosts},
                 {"ranks_per_host", 1}, {"algorithms", {"linear"}}, {"message_bytes", 65536}};
    if (operation.starts_with("gather") || operation.starts_with("scatter")) request["root"] = hosts.front();
    return request;
}

// Two clusters of 4, trunks of 25 Mbit/s: of these 0.97 are for data, and 0.99 of that is planned.
TEST(JobPlanner, EveryNodeGetsItsShareOfWhatIsLeftBesideAcknowledgements) {
    JobPlanner planner = planner_of(demo_topology());
    const Json answer = asked(planner, collective("alltoall", planned_job_hosts));
    ASSERT_EQ(answer["ok"], true) << answer;
    EXPECT_EQ(answer["paced"], true);
    EXPECT_EQ(answer["algorithm"], "linear");
    EXPECT_EQ(answer["clusters"], (Json{"a", "b"}));
    for (const double rate : answer["bytes_per_s"]) EXPECT_NEAR(rate, 25e6 / 8 * 0.97 * 0.99 / 4, 1);
}

// A receiver's edge of 20 Mbit/s is shared by 7, wherever the root is.  Nothing but acknowledgments goes
// the other way.
TEST(JobPlanner, AGatherHasRatesForARootInAnyCluster) {
    JobPlanner planner = planner_of(demo_topology());
    const Json answer = asked(planner, collective("gather", planned_job_hosts));
    ASSERT_EQ(answer["ok"], true) << answer;
    ASSERT_EQ(answer["bytes_per_s"].size(), 4U);
    for (const double rate : answer["bytes_per_s"]) EXPECT_NEAR(rate, 20e6 / 8 * 0.99 / 7, 2e3);
}

TEST(JobPlanner, AClusterOfOneHostIsPlanned) {
    JobPlanner planner = planner_of(*Topology::make({make_cluster(0, 1, 20, 25), make_cluster(1, 6, 20, 10)}));
    for (const char* operation : {"alltoall", "gather", "gatherv", "scatter"}) {
        const Json answer = asked(planner, collective(operation, {"a0", "b0", "b1", "b2", "b3", "b4", "b5"}));
        EXPECT_EQ(answer["ok"], true) << answer;
        EXPECT_EQ(answer["bytes_per_s"].size(), 4U) << operation;
    }
}

// 20 Mbit/s are shared by 7: on a cable of 20 ms, there and back, 14 KB are under way; ten frames are 15.
TEST(JobPlanner, WhatTcpsWindowHoldsUpIsNotPacedByRanks) {
    const auto planned_by_ranks = [](const char* operation, std::uint32_t hosts, int delay_ms,
                                     std::optional<int> bytes) {
        std::vector<Cluster> clusters{make_cluster(0, hosts, 20, 25), make_cluster(1, hosts, 20, 25)};
        for (Cluster& cluster : clusters) cluster.trunk_delay = std::chrono::milliseconds(delay_ms);
        JobPlanner planner = planner_of(*Topology::make(std::move(clusters)));
        std::vector<std::string> names;
        for (std::uint32_t host = 0; host < hosts; ++host) {
            names.push_back("a" + std::to_string(host));
            names.push_back("b" + std::to_string(host));
        }
        Json request = collective(operation, names);
        if (bytes) request["message_bytes"] = *bytes;
        else request.erase("message_bytes");
        return asked(planner, request);
    };
    EXPECT_EQ(planned_by_ranks("gather", 4, 20, 1 << 18)["paced"], true);
    const Json held = planned_by_ranks("gather", 4, 40, 1 << 18);
    EXPECT_EQ(held["paced"], false);
    EXPECT_NE(held["reason"].get<std::string>().find("TCP's window"), std::string::npos) << held;
    EXPECT_EQ(held["algorithm"], nullptr);
    EXPECT_EQ(planned_by_ranks("gather", 4, 40, 1 << 16)["paced"], true);
    EXPECT_EQ(planned_by_ranks("gather", 4, 40, std::nullopt)["paced"], true)
        << "each call's size is known";
    EXPECT_EQ(planned_by_ranks("gatherv", 4, 40, std::nullopt)["paced"], false)
        << "and here it is not";
    EXPECT_EQ(planned_by_ranks("alltoall", 4, 40, 1 << 18)["paced"], true);
}

TEST(JobPlanner, AnUnknownHostHasNoCluster) {
    JobPlanner planner = planner_of(demo_topology());
    const Json answer = asked(planner, {{"op", "clusters"}, {"hosts", {"b1", "c0", "a3"}}});
    EXPECT_EQ(answer["network"], "network.toml");
    EXPECT_EQ(answer["clusters"], (Json{"b", "", "a"}));
    EXPECT_EQ(answer["min_message_bytes"], 2048);
    const Json refused = asked(planner, collective("alltoall", {"a0", "c0"}));
    EXPECT_EQ(refused["ok"], false);
    EXPECT_NE(refused["error"].get<std::string>().find("c0"), std::string::npos) << refused;
}

// Of which 0.97 are for data, and 0.99 of that is planned.
TEST(JobPlanner, SaysWhatTheLinksOfTheHostsCarry) {
    JobPlanner planner = planner_of(demo_topology());
    const auto bytes_per_s = [](double mbit) { return mbit * 1e6 / 8 * 0.97 * 0.99; };
    const Json links = asked(planner, {{"op", "clusters"}, {"hosts", {"b1", "a3"}}})["links"];
    EXPECT_EQ(links["clusters"], (Json{"a", "b"}));
    for (const double rate : links["host_bytes_per_s"]) EXPECT_NEAR(rate, bytes_per_s(20), 2);
    for (const char* direction : {"trunk_up_bytes_per_s", "trunk_down_bytes_per_s"}) {
        ASSERT_EQ(links[direction].size(), 2U);
        for (const double rate : links[direction]) EXPECT_NEAR(rate, bytes_per_s(25), 2);
    }
    EXPECT_EQ(links["below_trunk"], (Json{1, 0, 0, 1}));
    EXPECT_NEAR(links["part_for_larger_pieces"].get<double>(), 0.94 / 0.97, 1e-6);
    const Json of_one = asked(planner, {{"op", "clusters"}, {"hosts", {"a0", "a3"}}})["links"];
    EXPECT_EQ(of_one["clusters"], Json{"a"});
    EXPECT_EQ(of_one["below_trunk"], Json::array()) << "nothing crosses a trunk";
}

// Of one of four links, and as how many all four may be filled: by one message as one, by 64 in two
// directions as 64 / 27.
TEST(JobPlanner, SaysHowFullTheFullestOfSeveralLinksMayBe) {
    auto clusters = demo_topology().clusters();
    for (Cluster& cluster : clusters) cluster.trunk_links = {4};
    JobPlanner planner = planner_of(*Topology::make(clusters));
    const Json links = asked(planner, {{"op", "clusters"}, {"hosts", {"b1", "a3"}}})["links"];
    EXPECT_NEAR(links["trunk_up_bytes_per_s"][0].get<double>(), 25e6 / 8 * 0.97 * 0.99, 2);
    const auto effective = links["trunk_effective_thousandths"].get<std::vector<int>>();
    ASSERT_EQ(effective.size(), 2 * 13U);
    EXPECT_EQ(effective[0], 1000);
    EXPECT_EQ(effective[6], 64 * 1000 / 27);
    EXPECT_LT(effective[12], 4000);
    for (Cluster& cluster : clusters) cluster.trunk_links.hash = LinkHash::pair;
    JobPlanner by_pair = planner_of(*Topology::make(clusters));
    const Json of_pairs = asked(by_pair, {{"op", "clusters"}, {"hosts", {"b1", "a3"}}})["links"];
    for (const int one : of_pairs["trunk_effective_thousandths"]) EXPECT_EQ(one, 1000);
    JobPlanner plain = planner_of(demo_topology());
    const Json of_one = asked(plain, {{"op", "clusters"}, {"hosts", {"b1", "a3"}}})["links"];
    EXPECT_FALSE(of_one.contains("trunk_effective_thousandths"));
}

TEST(JobPlanner, OfTooManyClustersItSaysNothing) {
    std::vector<Cluster> clusters;
    std::vector<std::string> hosts;
    for (std::size_t number = 0; number < 33; ++number) {
        Cluster cluster = make_cluster(0, 1, 20, 25);
        cluster.name = "rack" + std::to_string(number);
        cluster.hosts = {cluster.name + "-0"};
        cluster.prefixes.clear();
        hosts.push_back(cluster.hosts.front());
        clusters.push_back(std::move(cluster));
    }
    JobPlanner planner = planner_of(*Topology::make(std::move(clusters)));
    EXPECT_EQ(asked(planner, {{"op", "clusters"}, {"hosts", hosts}})["links"], nullptr);
    hosts.pop_back();
    EXPECT_EQ(asked(planner, {{"op", "clusters"}, {"hosts", hosts}})["links"]["clusters"].size(), 32U);
}

Topology fast_network(std::optional<std::uint64_t> buffer_bytes) {
    std::vector<Cluster> clusters{make_cluster(0, 4, 10'000, 20'000),
                                  make_cluster(1, 4, 10'000, 20'000)};
    for (Cluster& cluster : clusters)
        cluster.host_buffer_bytes = cluster.trunk_buffer_bytes = buffer_bytes;
    return *Topology::make(std::move(clusters));
}

Json any_alltoall(std::uint32_t ranks_per_host = 1) {
    Json request = collective("alltoall", planned_job_hosts);
    request.erase("message_bytes");
    request["ranks_per_host"] = ranks_per_host;
    return request;
}

// 20 Gbit/s for 4 nodes are 5 for each, towards either cluster: 1.2 GB/s, of which a rank hands
// over 8.4 KB in 7 us.
TEST(JobPlanner, APieceHasAsManyFramesAsTheProcessorNeeds) {
    JobPlanner planner = planner_of(fast_network(1 << 20));
    const Json answer = asked(planner, any_alltoall());
    ASSERT_EQ(answer["paced"], true) << answer;
    EXPECT_EQ(answer["piece_frames"], 6);
    for (const double rate : answer["bytes_per_s"])
        EXPECT_NEAR(rate, 20e9 / 8 * 0.94 * 0.99 / 4, 20);
    EXPECT_EQ(asked(planner, any_alltoall(4))["piece_frames"], 2)
        << "four ranks have a processor each";
    EXPECT_EQ(asked(planner, any_alltoall(8))["piece_frames"], 1);
    Json of_a_size = any_alltoall();
    of_a_size["message_bytes"] = 1 << 20;
    EXPECT_EQ(asked(planner, of_a_size)["piece_frames"], 6) << "the same for all sizes";
    JobPlanner slow = planner_of(demo_topology());
    EXPECT_EQ(asked(slow, any_alltoall())["piece_frames"], 1);
}

// 8 senders' pieces of 6 frames are 74 KB, for which 0.75 of a buffer is relied on.
TEST(JobPlanner, APieceThatPortsDoNotHoldIsNone) {
    JobPlanner enough = planner_of(fast_network(99'000));
    EXPECT_EQ(asked(enough, any_alltoall())["paced"], true);
    for (const std::optional<std::uint64_t> buffer :
         {std::optional<std::uint64_t>(98'000), std::optional<std::uint64_t>()}) {
        JobPlanner planner = planner_of(fast_network(buffer));
        const Json answer = asked(planner, any_alltoall());
        EXPECT_EQ(answer["paced"], false) << answer;
        EXPECT_EQ(answer["algorithm"], nullptr) << "the MPI library's own is as good";
        EXPECT_NE(answer["reason"].get<std::string>().find("headwayd can pace such links"),
                  std::string::npos);
        Json gather = collective("gather", planned_job_hosts);
        EXPECT_EQ(asked(planner, gather)["paced"], true)
            << "single frames are enough for a seventh of a port";
    }
    Topology partly = fast_network(1 << 20);
    auto clusters = partly.clusters();
    clusters[1].trunk_buffer_bytes.reset();
    JobPlanner planner = planner_of(*Topology::make(std::move(clusters)));
    EXPECT_EQ(asked(planner, any_alltoall())["paced"], false) << "of one trunk nothing is known";
}

// The node's daemon has a kernel, jobs and clients; this one has none of them.
TEST(JobPlanner, WhatIsNoPlanIsRefused) {
    JobPlanner planner = planner_of(demo_topology());
    for (const RequestKind& kind : request_kinds()) {
        if (kind.name == "clusters" || kind.name == "phase") continue;
        const Json answer = asked(planner, {{"op", std::string(kind.name)}});
        EXPECT_EQ(answer["ok"], false) << kind.name;
    }
    for (const std::string nonsense : {"", "{", "[]", "{\"v\":1}", "\xff"}) {
        EXPECT_EQ(Json::parse(planner.answer(nonsense))["ok"], false) << nonsense;
    }
}

TEST(JobPlanner, ANetworkWithoutHostsIsNone) {
    EXPECT_FALSE(JobPlanner::make(Config{}));
}

}  // namespace
}  // namespace headway::test
