// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "plan/burst.hpp"
#include "topologies.hpp"

namespace headway::test {
namespace {

constexpr std::uint64_t kib = 1024;

/// Two racks of 4.
Topology racks(std::optional<std::uint64_t> port_bytes, std::optional<std::uint64_t> trunk_bytes) {
    std::vector<Cluster> clusters{make_cluster(0, 4, 20, 25), make_cluster(1, 4, 20, 25)};
    for (Cluster& one : clusters) {
        one.host_buffer_bytes = port_bytes;
        one.trunk_buffer_bytes = trunk_bytes;
    }
    return *Topology::make(std::move(clusters));
}

std::vector<std::uint32_t> bytes_of(const Topology& topology, std::size_t own_cluster = 0) {
    std::vector<std::uint32_t> bytes;
    for (const ClassBurst& one : plan_bursts(topology, own_cluster)) bytes.push_back(one.bytes);
    EXPECT_EQ(bytes, plan_burst_bytes(topology, own_cluster));
    return bytes;
}

using Bytes = std::vector<std::uint32_t>;

TEST(PlanBursts, WhatIsNotKnownHoldsNone) {
    EXPECT_EQ(bytes_of(demo_topology()), (Bytes{0, 0}));
    EXPECT_EQ(bytes_of(racks(std::nullopt, 512 * kib)), (Bytes{0, 0}));
    // hosts of the own cluster are reached without the trunk
    EXPECT_EQ(bytes_of(racks(256 * kib, std::nullopt)), (Bytes{9362, 0}));
    EXPECT_EQ(plan_bursts(racks(256 * kib, std::nullopt), 0)[1].reason,
              "no buffer is known in front of the trunk of a (up)");
}

// A quarter of 256 KiB for 7 senders; of the trunk's 512 KiB for 4.
TEST(PlanBursts, TheLeastPartOfThePathsBuffers) {
    EXPECT_EQ(bytes_of(racks(256 * kib, 512 * kib)), (Bytes{9362, 9362}));
    EXPECT_EQ(bytes_of(racks(256 * kib, 128 * kib)), (Bytes{9362, 8192}));
    EXPECT_EQ(bytes_of(racks(256 * kib, 128 * kib), 1), (Bytes{8192, 9362}));
    EXPECT_EQ(plan_bursts(racks(256 * kib, 128 * kib), 0)[1].reason,
              "what plans leave of the 128KiB in front of the trunk of a (up) holds so much of each of 4 senders");
}

TEST(PlanBursts, SingleFramesWhereTwoHaveNoRoom) {
    constexpr std::uint64_t two_frames_of_seven = 4 * 7 * 2 * 1538;
    EXPECT_EQ(bytes_of(racks(two_frames_of_seven, 512 * kib)), (Bytes{3076, 3076}));
    const auto less = plan_bursts(racks(two_frames_of_seven - 4, 512 * kib), 0);
    EXPECT_EQ(less[0].bytes + less[1].bytes, 0U);
    EXPECT_NE(less[0].reason.find("holds no two frames of each of 7 senders"), std::string::npos) << less[0].reason;
}

TEST(PlanBursts, NoMoreThanTheKernelTakes) {
    EXPECT_EQ(bytes_of(racks(1 << 30, 1 << 30)), (Bytes{GAP_BURST_MAX_BYTES, GAP_BURST_MAX_BYTES}));
}

// However all hosts send, at most all their bursts wait in front of a link: they stay within what
// plans leave of its buffer.
TEST(PlanBursts, AllBurstsTogetherFit) {
    std::vector<Cluster> clusters;
    for (int c = 0; c < 4; ++c) {
        clusters.push_back(make_cluster(c, 3 + c, 20, 25));
        clusters.back().parent = c < 2 ? "left" : "right";
        clusters.back().host_buffer_bytes = (300 + 40 * static_cast<unsigned>(c)) * kib;
        clusters.back().trunk_buffer_bytes = (500 - 60 * static_cast<unsigned>(c)) * kib;
    }
    const TrunkSwitch left{"left", "", {40 * mbit}, {40 * mbit}, {}, 700 * kib};
    TrunkSwitch right = left;
    right.name = "right";
    const Topology topology = *Topology::make(std::move(clusters), {left, right});
    const std::size_t count = topology.clusters().size();
    std::vector<Bytes> bursts;
    for (std::size_t from = 0; from < count; ++from) bursts.push_back(bytes_of(topology, from));
    for (std::size_t to = 0; to < count; ++to) {
        double at_host = 0;
        for (std::size_t from = 0; from < count; ++from) {
            EXPECT_GT(bursts[from][to], 0U);
            at_host += static_cast<double>(bursts[from][to] * topology.clusters()[from].hosts.size());
        }
        at_host -= bursts[to][to];  // no host sends to itself
        EXPECT_LE(at_host, 0.25 * static_cast<double>(*topology.clusters()[to].host_buffer_bytes)) << to;
    }
    for (std::size_t trunk = 0; trunk < topology.trunk_count(); ++trunk) {
        for (const LinkKind kind : {LinkKind::trunk_up, LinkKind::trunk_down}) {
            double waiting = 0;
            for (std::size_t from = 0; from < count; ++from) {
                std::uint64_t of_host = 0;
                for (std::size_t to = 0; to < count; ++to) {
                    const auto path = topology.trunk_path(from, to);
                    const bool crosses = std::ranges::find(path, TopologyLink{kind, trunk}) != path.end();
                    if (crosses) of_host += bursts[from][to];
                }
                waiting += static_cast<double>(of_host * topology.clusters()[from].hosts.size());
            }
            EXPECT_LE(waiting, 0.25 * static_cast<double>(*topology.trunk(trunk).trunk_buffer_bytes)) << trunk;
        }
    }
}

}  // namespace
}  // namespace headway::test
