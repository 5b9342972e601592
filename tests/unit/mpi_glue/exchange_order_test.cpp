// SPDX-License-Identifier: Apache-2.0
#include "exchange_order.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

namespace headway::glue::test {
namespace {

using HostOfRank = std::vector<int>;

const std::vector<HostOfRank>& placements() {
    static const std::vector<HostOfRank> all{
        {0},
        {0, 1, 2, 3, 4},
        {0, 0, 0, 1, 1, 1, 2, 2, 2},
        {2, 0, 1, 2, 0, 1},              // one by one
        {7, 7, 7, 7, 3, 5, 5, 9, 9, 9},  // uneven
        {4, 4, 4},
    };
    return all;
}

std::vector<ExchangeOrder> orders_of(const HostOfRank& host_of_rank) {
    std::vector<ExchangeOrder> orders;
    for (int rank = 0; rank < static_cast<int>(host_of_rank.size()); ++rank)
        orders.emplace_back(host_of_rank, rank);
    return orders;
}

TEST(ExchangeOrders, EachRankMeetsEachOnce) {
    for (const HostOfRank& hosts : placements()) {
        for (const ExchangeOrder& order : orders_of(hosts)) {
            std::multiset<int> to;
            std::multiset<int> from;
            for (int step = 0; step < order.steps(); ++step) {
                if (order.to(step) != nobody) to.insert(order.to(step));
                if (order.from(step) != nobody) from.insert(order.from(step));
            }
            std::multiset<int> all;
            for (int rank = 0; rank < static_cast<int>(hosts.size()); ++rank) all.insert(rank);
            EXPECT_EQ(to, all);
            EXPECT_EQ(from, all);
        }
    }
}

TEST(ExchangeOrders, AMessageHasTheSameStepAtBothEnds) {
    for (const HostOfRank& hosts : placements()) {
        const auto orders = orders_of(hosts);
        for (int rank = 0; rank < static_cast<int>(hosts.size()); ++rank) {
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
    for (const HostOfRank& hosts : placements()) {
        const auto orders = orders_of(hosts);
        for (int step = 0; step < orders.front().steps(); ++step) {
            std::map<int, std::set<int>> sources_of_host;
            std::multiset<int> receivers;
            for (int rank = 0; rank < static_cast<int>(hosts.size()); ++rank) {
                const int to = orders[static_cast<std::size_t>(rank)].to(step);
                if (to == nobody) continue;
                receivers.insert(to);
                sources_of_host[hosts[static_cast<std::size_t>(to)]].insert(
                    hosts[static_cast<std::size_t>(rank)]);
            }
            for (const auto& [host, sources] : sources_of_host) EXPECT_EQ(sources.size(), 1U);
            EXPECT_EQ(std::set<int>(receivers.begin(), receivers.end()).size(), receivers.size());
        }
    }
}

TEST(ExchangeOrders, OneRankAHostBeginsWithTheNextAndEndsWithItself) {
    const ExchangeOrder order({0, 1, 2, 3}, 2);
    EXPECT_EQ(order.to(0), 3);
    EXPECT_EQ(order.from(0), 1);
    EXPECT_EQ(order.to(3), 2);
}

}  // namespace
}  // namespace headway::glue::test
