// SPDX-License-Identifier: Apache-2.0
#include "exchange_order.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

namespace headway::glue::test {
namespace {

const std::vector<RanksByCluster>& placements() {
    static const std::vector<RanksByCluster> all{
        {{{0}}},
        {{{0}, {1}, {2}, {3}, {4}}},
        {{{0, 1, 2}, {3, 4, 5}, {6, 7, 8}}},
        {{{1, 4}, {2, 5}, {0, 3}}},                // one by one
        {{{4}, {5, 6}, {0, 1, 2, 3}, {7, 8, 9}}},  // uneven
        {{{0, 1, 2}}},
        {{{0}, {1}, {2}}, {{3}, {4}, {5}}},
        {{{3}, {0}}, {{1, 5}}, {{2}, {4}, {6, 7}}},  // clusters are uneven, too
    };
    return all;
}

std::size_t count_ranks(const RanksByCluster& clusters) {
    std::size_t ranks = 0;
    for (const auto& hosts : clusters)
        for (const auto& on_host : hosts) ranks += on_host.size();
    return ranks;
}

std::vector<ExchangeOrder> orders_of(const RanksByCluster& clusters) {
    std::vector<ExchangeOrder> orders;
    for (std::size_t rank = 0; rank < count_ranks(clusters); ++rank) orders.emplace_back(clusters, static_cast<int>(rank));
    return orders;
}

TEST(ExchangeOrders, EachRankMeetsEachOnce) {
    for (const RanksByCluster& clusters : placements()) {
        const auto orders = orders_of(clusters);
        for (const ExchangeOrder& order : orders) {
            std::multiset<int> to;
            std::multiset<int> from;
            for (int step = 0; step < order.steps(); ++step) {
                if (order.to(step) != nobody) to.insert(order.to(step));
                if (order.from(step) != nobody) from.insert(order.from(step));
            }
            std::multiset<int> all;
            for (int rank = 0; rank < static_cast<int>(orders.size()); ++rank) all.insert(rank);
            EXPECT_EQ(to, all);
            EXPECT_EQ(from, all);
        }
    }
}

TEST(ExchangeOrders, AMessageHasTheSameStepAtBothEnds) {
    for (const RanksByCluster& clusters : placements()) {
        const auto orders = orders_of(clusters);
        for (int rank = 0; rank < static_cast<int>(orders.size()); ++rank) {
            const ExchangeOrder& own = orders[static_cast<std::size_t>(rank)];
            for (int step = 0; step < own.steps(); ++step) {
                const int to = own.to(step);
                if (to == nobody) continue;
                EXPECT_EQ(orders[static_cast<std::size_t>(to)].from(step), rank);
            }
        }
    }
}

TEST(ExchangeOrders, InEachStepAHostGetsFromOneHostOnly) {
    for (const RanksByCluster& clusters : placements()) {
        const auto orders = orders_of(clusters);
        for (int step = 0; step < orders.front().steps(); ++step) {
            std::map<std::size_t, std::set<std::size_t>> sources_of_host;
            std::multiset<int> receivers;
            for (const ExchangeOrder& order : orders) {
                const int to = order.to(step);
                if (to == nobody) continue;
                receivers.insert(to);
                sources_of_host[orders[static_cast<std::size_t>(to)].own_host()].insert(order.own_host());
            }
            for (const auto& [host, sources] : sources_of_host) EXPECT_EQ(sources.size(), 1U);
            EXPECT_EQ(std::set<int>(receivers.begin(), receivers.end()).size(), receivers.size());
        }
    }
}

// A node's messages to each cluster wait in a queue of their own, so that only the order within it
// tells whom the hosts of a cluster send to at the same time.
TEST(ExchangeOrders, HostsOfAClusterBeginWithDifferentHostsOfAnother) {
    const RanksByCluster clusters{{{0}, {1}, {2}, {3}}, {{4}, {5}, {6}, {7}}};
    const auto orders = orders_of(clusters);
    for (int receiving = 0; receiving < 2; ++receiving) {
        std::vector<std::set<int>> hosts(4);  // by turn: that hosts 0 to 3 send to
        for (int rank = 0; rank < 4; ++rank) {
            std::size_t turn = 0;
            for (int step = 0; step < orders[0].steps(); ++step) {
                const int to = orders[static_cast<std::size_t>(rank)].to(step);
                if (to / 4 == receiving) hosts[turn++].insert(to);
            }
        }
        for (const auto& at_once : hosts) EXPECT_EQ(at_once.size(), 4U);
    }
}

TEST(ExchangeOrders, OneRankAHostBeginsWithTheNextAndEndsWithItself) {
    const ExchangeOrder order({{{0}, {1}, {2}, {3}}}, 2);
    EXPECT_EQ(order.to(0), 3);
    EXPECT_EQ(order.from(0), 1);
    EXPECT_EQ(order.to(3), 2);
    const ExchangeOrder between({{{0}, {1}}, {{2}, {3}}}, 1);
    EXPECT_EQ(between.to(0), 3) << "the host at the same place in the other cluster";
    EXPECT_EQ(between.to(1), 0);
    EXPECT_EQ(between.to(3), 1);
}

}  // namespace
}  // namespace headway::glue::test
