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
        for (const int child : place.children) down.emplace(rank, child);
    }
    EXPECT_EQ(down, up);
}

TEST(HostRing, LeadersAreTheFirstOrTheRoot) {
    const HostRing ring(hosts, 2);
    EXPECT_EQ(ring.hosts(), 5);
    EXPECT_EQ(ring.ranks(), ranks);
    EXPECT_FALSE(ring.is_leader());
    EXPECT_EQ(ring.leader(0), 0);
    EXPECT_EQ(ring.leader(1), 5);
    EXPECT_EQ(ring.leader(-1), 4);
    EXPECT_EQ(ring.leader(-7), 1) << "once round, and two back";
    EXPECT_EQ(ring.led_by(11).leader(1), 11);
    EXPECT_TRUE(ring.led_by(2).is_leader());
    EXPECT_EQ(ring.ranks_on(3), hosts[0]);
}

TEST(HostRing, TreesFromAndToEveryRank) {
    for (int root = 0; root < ranks; ++root) {
        std::map<int, TreePlace> down;
        std::map<int, TreePlace> up;
        for (int rank = 0; rank < ranks; ++rank) {
            const HostRing ring = HostRing(hosts, rank).led_by(root);
            down[rank] = ring.from_root();
            up[rank] = ring.to_root();
        }
        for (const auto* tree : {&down, &up}) {
            expect_consistent(*tree);
            for (const auto& [rank, place] : *tree) {
                EXPECT_EQ(place.parent == nobody, rank == root);
                if (rank == root || host_of(place.parent) == host_of(rank)) continue;
                // along the ring, towards the root or from it
                const int from = host_of(tree == &down ? place.parent : rank);
                const int to = host_of(tree == &down ? rank : place.parent);
                EXPECT_EQ((from + 1) % 5, to) << root << " " << rank;
            }
            // four hosts behind the root's, and three more steps in a host of six
            for (const auto& [rank, depth] : depths(*tree)) EXPECT_LE(depth, 4 + 3);
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
    EXPECT_EQ(tree[1].children, (std::vector{8, 6, 3})) << "the largest part first";
}

}  // namespace
}  // namespace headway::glue::test
