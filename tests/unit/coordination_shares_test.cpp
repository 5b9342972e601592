// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "trunk/shares.hpp"

namespace headway::test {
namespace {

constexpr SharedTrunk trunk_of(std::uint64_t capacity, std::uint64_t fallback, std::uint32_t hosts,
                               SharePolicy policy = SharePolicy::per_job) {
    return {{capacity}, {fallback}, hosts, policy};
}

std::vector<std::uint64_t> values(const std::vector<BytesPerSecond>& rates) {
    std::vector<std::uint64_t> all;
    for (const BytesPerSecond rate : rates) all.push_back(rate.value);
    return all;
}

std::vector<std::uint64_t> host_shares(const SharedTrunk& trunk,
                                       const std::vector<Demand>& demands) {
    return values(compute_shares(trunk, demands).of_host);
}

using Rates = std::vector<std::uint64_t>;

JobIdentity job(std::uint64_t number) { return {1000, number, "solver"}; }

TEST(Trunk, HasRoomForAllFallbacks) {
    EXPECT_EQ(default_fallback({1'000'000}, 10).value, 10'000U);
    EXPECT_EQ(default_fallback({5}, 10).value, 1U);
    EXPECT_TRUE(check_trunk(trunk_of(1000, 10, 100)));
    EXPECT_FALSE(check_trunk(trunk_of(1000, 11, 100)));
    EXPECT_FALSE(check_trunk(trunk_of(1000, 0, 100)));
    EXPECT_FALSE(check_trunk(trunk_of(0, 1, 1)));
    EXPECT_FALSE(check_trunk(trunk_of(1000, 10, 0)));
    EXPECT_FALSE(check_trunk(trunk_of(GAP_RATE_MAX + 1, 10, 1)));
}

TEST(Shares, AreTheFallbackWithoutDemands) {
    EXPECT_EQ(host_shares(trunk_of(1000, 10, 3), {}), (Rates{10, 10, 10}));
}

TEST(Shares, LeaveTheFallbackToHostsWithoutDemands) {
    const std::vector<Demand> one{{.host = 1, .job = job(5)}};
    EXPECT_EQ(host_shares(trunk_of(1000, 10, 4), one), (Rates{10, 970, 10, 10}));
}

TEST(Shares, AreEqualPerJob) {
    // one job on three hosts, one on a fourth
    const std::vector<Demand> demands{{0, job(1)}, {1, job(1)}, {2, job(1)}, {3, job(2)}};
    EXPECT_EQ(host_shares(trunk_of(1200, 10, 4), demands), (Rates{200, 200, 200, 600}));
}

TEST(Shares, AreEqualPerHost) {
    const std::vector<Demand> demands{{0, job(1)}, {1, job(1)}, {2, job(1)}, {3, job(2)}, {3, job(3)}};
    const Shares shares = compute_shares(trunk_of(1200, 10, 4, SharePolicy::per_host), demands);
    EXPECT_EQ(values(shares.of_host), (Rates{300, 300, 300, 300}));
    EXPECT_EQ(values(shares.of_demand), (Rates{300, 300, 300, 150, 150}));
}

TEST(Shares, FollowTheLargestWeightOfAJob) {
    const std::vector<Demand> demands{{0, job(1), 1}, {1, job(1), 3}, {2, job(2), 1}};
    EXPECT_EQ(host_shares(trunk_of(1200, 10, 3), demands), (Rates{450, 450, 300}));
}

TEST(Shares, TellJobsApartByUserStartAndName) {
    const std::vector<Demand> demands{
        {0, {1, 1, "a"}, 9}, {1, {2, 1, "a"}}, {2, {1, 2, "a"}}, {3, {1, 1, "b"}}};
    EXPECT_EQ(host_shares(trunk_of(1200, 10, 4), demands), (Rates{900, 100, 100, 100}));
}

TEST(Shares, GiveToOthersWhatAJobDoesNotWant) {
    const std::vector<Demand> demands{{0, job(1), 1, {100}}, {1, job(2)}, {2, job(3)}};
    EXPECT_EQ(host_shares(trunk_of(1200, 10, 3), demands), (Rates{100, 550, 550}));
}

TEST(Shares, GiveToAJobsOtherHostsWhatOneDoesNotWant) {
    const std::vector<Demand> demands{{0, job(1), 1, {50}}, {1, job(1)}, {2, job(2)}};
    EXPECT_EQ(host_shares(trunk_of(1200, 10, 3), demands), (Rates{50, 550, 600}));
}

TEST(Shares, NeverFallBelowTheFallback) {
    // what the fallback adds is taken from those that have more
    const std::vector<Demand> demands{{0, job(1), 1, {0}}, {1, job(2), 1, {7}}, {2, job(3)}};
    EXPECT_EQ(host_shares(trunk_of(1000, 100, 3), demands), (Rates{100, 100, 800}));
}

TEST(Shares, IgnoreHostsThatAreNotConfigured) {
    const std::vector<Demand> demands{{9, job(1)}, {1, job(1)}};
    const Shares shares = compute_shares(trunk_of(1000, 10, 2), demands);
    EXPECT_EQ(values(shares.of_host), (Rates{10, 990}));
    EXPECT_EQ(values(shares.of_demand), (Rates{0, 990}));
}

/// Random demands with all their corners.
class RandomDemands {
public:
    explicit RandomDemands(std::uint64_t seed) : random_(seed) {
        trunk.hosts = 1 + below(40);
        trunk.capacity = {trunk.hosts + below(below(2) ? 1000 : GAP_RATE_MAX - 1000)};
        trunk.fallback = {1 + below(trunk.capacity.value / trunk.hosts)};
        trunk.policy = below(2) ? SharePolicy::per_job : SharePolicy::per_host;
        const std::uint64_t jobs = 1 + below(6);
        for (std::uint32_t host = 0; host < trunk.hosts; ++host) {
            for (std::uint64_t number = 0; number < jobs; ++number) {
                if (below(2)) demands.push_back({host, job(number), weight(), wanted()});
            }
        }
    }
    std::uint64_t below(std::uint64_t n) { return random_() % n; }
    std::mt19937_64& engine() { return random_; }

    SharedTrunk trunk;
    std::vector<Demand> demands;

private:
    std::uint32_t weight() {
        return static_cast<std::uint32_t>(below(3) ? 1 : 1 + below(share_weight_max));
    }
    BytesPerSecond wanted() {
        return below(2) ? no_limit_wanted : BytesPerSecond{below(trunk.capacity.value + 1)};
    }
    std::mt19937_64 random_;
};

class RandomShares : public testing::TestWithParam<int> {};

TEST_P(RandomShares, FitIntoTheTrunkWhateverIsWanted) {
    RandomDemands one(static_cast<std::uint64_t>(GetParam()));
    const Rates shares = host_shares(one.trunk, one.demands);
    EXPECT_LE(std::accumulate(shares.begin(), shares.end(), std::uint64_t{0}),
              one.trunk.capacity.value);
    EXPECT_GE(*std::ranges::min_element(shares), one.trunk.fallback.value);
}

TEST_P(RandomShares, DoNotDependOnTheOrderOrOnJobsNames) {
    RandomDemands one(static_cast<std::uint64_t>(GetParam()));
    const Rates shares = host_shares(one.trunk, one.demands);
    std::vector<Demand> other = one.demands;
    for (Demand& demand : other) demand.job = {2000, 0, std::to_string(1'000'000 - demand.job.start * 7)};
    std::ranges::shuffle(other, one.engine());
    EXPECT_EQ(host_shares(one.trunk, other), shares);
}

/// No demand that is not satisfied could have more: whoever has more per weight would have to give;
/// so nobody has, and nothing is left over.
TEST_P(RandomShares, AreMaxMin) {
    RandomDemands one(static_cast<std::uint64_t>(GetParam()));
    const Shares shares = compute_shares(one.trunk, one.demands);
    const bool per_job = one.trunk.policy == SharePolicy::per_job;
    struct Group {
        std::uint64_t weight = 1, sum = 0, most = 0;
        bool is_hungry = false;
    };
    std::map<std::pair<HostNumber, JobIdentity>, Group> groups;
    const auto key = [&](const Demand& demand) {
        return per_job ? std::pair{HostNumber{0}, demand.job} : std::pair{demand.host, JobIdentity{}};
    };
    const auto is_hungry = [&](std::size_t i) {
        return shares.of_demand[i] < std::min(one.demands[i].wanted, one.trunk.capacity);
    };
    for (std::size_t i = 0; i < one.demands.size(); ++i) {
        const Demand& demand = one.demands[i];
        Group& group = groups[key(demand)];
        if (per_job) group.weight = std::max<std::uint64_t>(group.weight, demand.weight);
        group.sum += shares.of_demand[i].value;
        group.most = std::max(group.most, shares.of_demand[i].value);
        group.is_hungry |= is_hungry(i);
    }
    bool anybody_hungry = false;
    for (std::size_t i = 0; i < one.demands.size(); ++i) {
        if (!is_hungry(i)) continue;
        anybody_hungry = true;
        const Demand& demand = one.demands[i];
        const Group& own = groups[key(demand)];
        EXPECT_EQ(shares.of_demand[i].value, own.most) << "a demand of the group has more";
        for (const auto& [whose, other] : groups) {
            const double own_level = static_cast<double>(own.sum + one.demands.size() + 1) /
                                     static_cast<double>(own.weight);
            EXPECT_LE(static_cast<double>(other.sum) / static_cast<double>(other.weight),
                      own_level + 1)
                << "a group has more for its weight";
        }
    }
    const Rates hosts = values(shares.of_host);
    const std::uint64_t sum = std::accumulate(hosts.begin(), hosts.end(), std::uint64_t{0});
    if (anybody_hungry) {
        EXPECT_GE(sum + 2 * one.demands.size() + 2, one.trunk.capacity.value)
            << "some is left over";
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomShares, testing::Range(0, 300));

}  // namespace
}  // namespace headway::test
