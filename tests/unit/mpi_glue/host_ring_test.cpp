// SPDX-License-Identifier: Apache-2.0
#include "host_ring.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace headway::glue::test {
namespace {

// Five hosts in the order of the ring, whose ranks are scattered.
const HostRing::Hosts hosts{{1, 3, 6, 7, 8, 12}, {4}, {0, 2}, {5, 9, 11}, {10}};
constexpr int ranks = 13;

int host_of(int rank) {
    for (std::size_t host = 0; host < hosts.size(); ++host) {
        if (std::find(hosts[host].begin(), hosts[host].end(), rank) != hosts[host].end())
            return static_cast<int>(host);
    }
    return nobody;
}

/// How many steps each rank is away from the root of the tree.
std::map<int, int> depths(const std::map<int, TreePlace>& tree) {
    std::map<int, int> found;
    for (const auto& [rank, place] : tree) {
        int at = rank;
        int depth = 0;
        for (; tree.at(at).parent != nobody && depth <= ranks; ++depth) at = tree.at(at).parent;
        found[rank] = depth;
    }
    return found;
}

/// Whoever has a parent is its child, once, and nobody else is.
void expect_consistent(const std::map<int, TreePlace>& tree) {
    std::multiset<std::pair<int, int>> down;
    std::multiset<std::pair<int, int>> up;
    for (const auto& [rank, place] : tree) {
        if (place.parent != nobody) up.emplace(place.parent, rank);
        for (const int child : place.children()) down.emplace(rank, child);
    }
    EXPECT_EQ(down, up);
}

TEST(HostRing, LeadersAreTheFirstOrTheRoot) {
    const HostRing ring(hosts, 2);
    EXPECT_EQ(ring.hosts(), 5);
    EXPECT_FALSE(ring.is_leader());
    EXPECT_EQ(ring.leader(0), 0);
    EXPECT_EQ(ring.leader(1), 5);
    EXPECT_EQ(ring.leader(-1), 4);
    EXPECT_EQ(ring.leader(-7), 1) << "once round, and two back";
    EXPECT_EQ(ring.led_by(11).leader(1), 11);
    EXPECT_TRUE(ring.led_by(2).is_leader());
    EXPECT_EQ(ring.ranks_on(3), hosts[0]);
}

TEST(HostRing, ChainsAndTreesFromEveryRank) {
    for (const auto shape : {HostRing::Shape::chain, HostRing::Shape::tree}) {
        for (int root = 0; root < ranks; ++root) {
            std::map<int, TreePlace> places;
            for (int rank = 0; rank < ranks; ++rank)
                places[rank] = HostRing(hosts, rank).led_by(root).from_root(shape);
            expect_consistent(places);
            for (const auto& [rank, place] : places) {
                EXPECT_EQ(place.parent == nobody, rank == root);
                if (rank == root || host_of(place.parent) == host_of(rank)) continue;
                if (shape == HostRing::Shape::chain) {
                    EXPECT_EQ((host_of(place.parent) + 1) % 5, host_of(rank)) << root << " " << rank;
                }
            }
            // four hosts behind the root's, or three steps of a tree of five; and three more in a host of six
            const int most = shape == HostRing::Shape::chain ? 4 : 3;
            for (const auto& [rank, depth] : depths(places)) EXPECT_LE(depth, most + 3);
        }
    }
}

TEST(HostRing, TreesWithinHosts) {
    std::map<int, TreePlace> tree;
    for (int rank = 0; rank < ranks; ++rank) tree[rank] = HostRing(hosts, rank).within_host();
    expect_consistent(tree);
    for (const auto& [rank, place] : tree) {
        EXPECT_EQ(place.parent == nobody, HostRing(hosts, rank).is_leader());
        if (place.parent == nobody) continue;
        EXPECT_EQ(host_of(place.parent), host_of(rank));
    }
    EXPECT_TRUE(std::ranges::equal(tree[1].children(), std::vector{8, 6, 3})) << "the largest part first";
}

}  // namespace
}  // namespace headway::glue::test
