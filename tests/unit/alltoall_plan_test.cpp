// SPDX-License-Identifier: Apache-2.0
#include <random>

#include <gtest/gtest.h>

#include "models/matb.hpp"
#include "models/alltoall_algorithms.hpp"
#include "topologies.hpp"

namespace headway::test {
namespace {

using namespace std::chrono_literals;

constexpr PlanPolicy whole_link{utilisation_one, std::nullopt};

AllToAllPlan plan_all(const Topology& topology, const PlanPolicy& policy) {
    const HostCounts all = topology.count(every_host(topology));
    return *plan_alltoall(topology, policy, {all, all, false});
}

// Table I of Takano et al., FT and IS: MATB = B / N.  Their set-up: two
// clusters of 32 nodes with 1 Gbit/s edges and a trunk of 10 Gbit/s:
//   10e9 / 32 = 312.5 Mbit/s = 39 062 500 byte/s.
TEST(AllToAllPlan, GivesThePapersMatb) {
    const Topology topology =
        *Topology::make({make_cluster(0, 32, 1000, 10'000), make_cluster(1, 32, 1000, 10'000)});
    const AllToAllPlan plan = plan_all(topology, whole_link);
    ASSERT_TRUE(plan.paced());
    EXPECT_EQ(plan.limit->kind, LinkKind::trunk_up);
    EXPECT_EQ(plan.limit->senders, 32U);
    EXPECT_EQ(plan.rates[0][1]->value, 39'062'500U);
    EXPECT_EQ(remote_rate(plan, 0).value, 39'062'500U);
}

// The worked example of alltoall_plan.hpp:
//   trunk 16 x <= 24.75, x = 1.546875 Mbit/s; 4 x = 6.1875 Mbit/s = 773 437.5 byte/s
//   own cluster min(6.1875, 19.8 - 6.1875)
TEST(AllToAllPlan, WorkedExample) {
    const AllToAllPlan plan = plan_all(demo_topology(), PlanPolicy{});
    EXPECT_EQ(plan.rates[0][1]->value, 773'437U);
    EXPECT_EQ(plan.rates[0][0]->value, 773'437U);
    EXPECT_EQ(plan.pair_rate.value, 1'546'875U);
    EXPECT_EQ(plan.reason,
              "the trunk of a (up) is shared by 4 senders: 25 Mbit/s x 0.99 / 4 = 6.187 Mbit/s "
              "for each");
    EXPECT_TRUE(plan.notes.empty());
}

// Sizes 2 and 6, trunks 100, edges 100, U = 1.  Pairs over either trunk: 12.
//   trunks 12 x <= 100: x = 8.333; edges 7 x <= 100: x <= 14.3.  The trunk limits.
//   node of a: towards b 6 x = 50, own 2 x = 16.67; node of b: 2 x = 16.67, own
//   min(6 x = 50, 100 - 2 x = 83.3) = 50.
// Up a: 2 senders x 50 = 100; up b: 6 x 16.67 = 100.
TEST(AllToAllPlan, UnequalClusters) {
    const Topology topology =
        *Topology::make({make_cluster(0, 2, 100, 100), make_cluster(1, 6, 100, 100)});
    const AllToAllPlan plan = plan_all(topology, whole_link);
    EXPECT_EQ(plan.rates[0][1]->value, 50 * mbit / 8);
    EXPECT_EQ(plan.rates[0][0]->value, 100 * mbit / 6 / 8);
    EXPECT_EQ(plan.rates[1][0]->value, 100 * mbit / 6 / 8);
    EXPECT_EQ(plan.rates[1][1]->value, 50 * mbit / 8);
}

// Three clusters of 2, trunks 80, 40, 80.  Pairs over each trunk: 2 x 4 = 8.
//   8 x <= 40: x = 5 (trunk of b); towards each remote cluster 2 x = 10.
TEST(AllToAllPlan, ThreeClustersShareTheSlowestTrunk) {
    const Topology topology = *Topology::make(
        {make_cluster(0, 2, 100, 80), make_cluster(1, 2, 100, 40), make_cluster(2, 2, 100, 80)});
    const AllToAllPlan plan = plan_all(topology, whole_link);
    EXPECT_EQ(plan.limit->kind, LinkKind::trunk_up);
    EXPECT_EQ(plan.limit->owner, 1U);
    EXPECT_EQ(plan.pair_rate.value, 5 * mbit);
    EXPECT_EQ(plan.rates[0][1]->value, 10 * mbit / 8);
    EXPECT_EQ(plan.rates[0][2]->value, 10 * mbit / 8);
    EXPECT_EQ(remote_rate(plan, 0).value, 20 * mbit / 8);
}

// Each direction by itself: down of b is 10 where everything else is 100.
//   4 hosts, 2 + 2: pairs 4, 4 x <= 10.
TEST(AllToAllPlan, DirectionsDiffer) {
    std::vector<Cluster> clusters{make_cluster(0, 2, 100, 100), make_cluster(1, 2, 100, 100)};
    clusters[1].trunk_down_rate = {10 * mbit};
    const AllToAllPlan plan = plan_all(*Topology::make(clusters), whole_link);
    EXPECT_EQ(plan.limit->kind, LinkKind::trunk_down);
    EXPECT_EQ(plan.limit->owner, 1U);
    EXPECT_EQ(plan.limit->senders, 2U);
    EXPECT_EQ(plan.pair_rate.value, 2'500'000U);
}

// A trunk with room for all: the receivers' edges limit (incast).
//   8 hosts: 7 x <= 20, x = 2.857; towards the other cluster 4 x = 11.43, own
//   min(11.43, 20 - 11.43 = 8.571) = 3 x.
TEST(AllToAllPlan, ReceiversEdgesLimit) {
    const Topology topology =
        *Topology::make({make_cluster(0, 4, 20, 1000), make_cluster(1, 4, 20, 1000)});
    const AllToAllPlan plan = plan_all(topology, whole_link);
    EXPECT_EQ(plan.limit->kind, LinkKind::edge_in);
    EXPECT_EQ(plan.limit->senders, 7U);
    EXPECT_EQ(plan.rates[0][1]->value, 20 * mbit * 4 / 7 / 8);
    EXPECT_EQ(plan.rates[0][0]->value, 20 * mbit * 3 / 7 / 8);
}

// Slower hosts in b: their edges limit all pairs, those of a as well.
TEST(AllToAllPlan, SlowestEdgeLimitsAllPairs) {
    const Topology topology =
        *Topology::make({make_cluster(0, 2, 1000, 1000), make_cluster(1, 2, 30, 1000)});
    const AllToAllPlan plan = plan_all(topology, whole_link);
    EXPECT_EQ(plan.limit->kind, LinkKind::edge_in);
    EXPECT_EQ(plan.limit->owner, 1U);
    EXPECT_EQ(plan.pair_rate.value, 10 * mbit);
}

// The paper's section VI found B/2N better than B/N on IS: divisor 64 for 32
// nodes halves every share.
TEST(AllToAllPlan, FixedDivisor) {
    const Topology topology =
        *Topology::make({make_cluster(0, 32, 1000, 10'000), make_cluster(1, 32, 1000, 10'000)});
    PlanPolicy policy = whole_link;
    policy.trunk_divisor_thousandths = 64 * divisor_one;
    AllToAllPlan plan = plan_all(topology, policy);
    EXPECT_EQ(plan.rates[0][1]->value, 39'062'500U / 2);
    EXPECT_TRUE(plan.notes.empty());

    // Fewer than the senders: as asked, but not without a word.
    policy.trunk_divisor_thousandths = 31'500;
    plan = plan_all(topology, policy);
    EXPECT_EQ(plan.rates[0][1]->value, static_cast<std::uint64_t>(10e9 / 31.5 / 8));
    ASSERT_FALSE(plan.notes.empty());
    EXPECT_NE(plan.notes[0].find("divisor 31.5 is less than the 32 senders"), std::string::npos);
}

TEST(AllToAllPlan, OneClusterIsNotPaced) {
    const Topology topology = demo_topology();
    const HostCounts own{{4, 0}};
    const auto plan = *plan_alltoall(topology, PlanPolicy{}, {own, own, false});
    EXPECT_FALSE(plan.paced());
    EXPECT_TRUE(plan.rates.empty());
    EXPECT_NE(plan.reason.find("one cluster"), std::string::npos);
    // Even if the job spans both: this communicator crosses nothing.
    EXPECT_FALSE(plan_alltoall(topology, PlanPolicy{}, {HostCounts{{4, 4}}, own, false})->paced());
    const HostCounts alone{{1, 0}};
    EXPECT_FALSE(plan_alltoall(topology, PlanPolicy{}, {alone, alone, false})->paced());
}

// One host each side, trunk faster than the edges: a sender's own edge is the
// only limit, and that alone never causes pacing.  A slower trunk does.
TEST(AllToAllPlan, PacesOnlyWhatCanOverflow) {
    const HostCounts pair{{1, 1}};
    const auto fast = *Topology::make({make_cluster(0, 1, 20, 25), make_cluster(1, 1, 20, 25)});
    EXPECT_FALSE(plan_alltoall(fast, PlanPolicy{}, {pair, pair, false})->paced());
    const auto slow = *Topology::make({make_cluster(0, 1, 20, 15), make_cluster(1, 1, 20, 15)});
    const auto plan = *plan_alltoall(slow, whole_link, {pair, pair, false});
    EXPECT_EQ(plan.rates[0][1]->value, 15 * mbit / 8);
    EXPECT_FALSE(plan.rates[0][0].has_value()) << "there is nobody else in the own cluster";
    // A receiver slower than the sender.
    const auto uneven = *Topology::make({make_cluster(0, 1, 50, 100), make_cluster(1, 1, 20, 100)});
    EXPECT_EQ(plan_alltoall(uneven, whole_link, {pair, pair, false})->rates[0][1]->value,
              20 * mbit / 8);
}

// Two of four hosts on each side.  Its siblings may exchange as well, so all 8
// hosts count: 6.1875 Mbit/s; if they are known not to, only 4 do:
//   trunk 4 x <= 24.75, edges 3 x <= 19.8: x = 6.1875, two hosts 12.375.
TEST(AllToAllPlan, CommunicatorSmallerThanItsJob) {
    const Topology topology = demo_topology();
    AllToAllPattern pattern{HostCounts{{4, 4}}, HostCounts{{2, 2}}, false};
    const auto shared = *plan_alltoall(topology, PlanPolicy{}, pattern);
    EXPECT_EQ(shared.rates[0][1]->value, 773'437U);
    ASSERT_EQ(shared.notes.size(), 1U);
    EXPECT_NE(shared.notes[0].find("4 of the job's 8 hosts"), std::string::npos);

    pattern.siblings_disjoint = true;
    const auto alone = *plan_alltoall(topology, PlanPolicy{}, pattern);
    EXPECT_EQ(alone.rates[0][1]->value, 12'375'000U / 8);
    EXPECT_TRUE(alone.notes.empty());
}

TEST(AllToAllPlan, ClassesOfClustersOutsideTheJobAreFree) {
    const Topology topology = *Topology::make(
        {make_cluster(0, 2, 100, 80), make_cluster(1, 2, 100, 40), make_cluster(2, 2, 100, 10)});
    const HostCounts two{{2, 2, 0}};
    const auto plan = *plan_alltoall(topology, whole_link, {two, two, false});
    EXPECT_EQ(plan.limit->owner, 1U) << "the slow trunk of c is not crossed";
    EXPECT_FALSE(plan.rates[0][2].has_value());
    EXPECT_FALSE(plan.rates[2][0].has_value());
    EXPECT_TRUE(plan.rates[0][1].has_value());
}

TEST(AllToAllPlan, RefusesRatesBelowTheKernels) {
    std::vector<Cluster> clusters{make_cluster(0, 100, 1, 1), make_cluster(1, 100, 1, 1)};
    clusters[0].trunk_up_rate = {80};
    const Topology topology = *Topology::make(clusters);
    const HostCounts all = topology.count(every_host(topology));
    const auto plan = plan_alltoall(topology, whole_link, {all, all, false});
    ASSERT_FALSE(plan);
    EXPECT_NE(plan.error().message.find("trunk of a (up)"), std::string::npos);
}

// The greatest numbers that the format allows: nothing runs over.
//   x = 1.6e12 / 32768^2; 32768 x / 8 = 1.6e12 / 32768 / 8 byte/s
TEST(AllToAllPlan, HoldsTheGreatestNumbers) {
    std::vector<Cluster> clusters{make_cluster(0, 1, 1, 1), make_cluster(1, 1, 1, 1)};
    for (Cluster& cluster : clusters) {
        cluster.host_rate = cluster.trunk_up_rate = cluster.trunk_down_rate = rate_max;
    }
    const Topology topology = *Topology::make(clusters);
    const HostCounts half{{32'768, 32'768}};
    const auto plan = *plan_alltoall(topology, whole_link, {half, half, false});
    EXPECT_EQ(plan.rates[0][1]->value, 1'600'000'000'000 / 8 / 32'768);

    PlanPolicy policy{1, divisor_max};
    EXPECT_EQ(plan_alltoall(topology, policy, {half, half, false})->rates[0][1]->value,
              1'600'000'000'000 / 8 / 1'000'000 / 65'536);
}

// x times the round trip: 1.546875 Mbit/s over 2 x 1 ms is 3093.75 bit.
TEST(AllToAllPlan, WindowOfAPair) {
    std::vector<Cluster> clusters = demo_topology().clusters();
    for (Cluster& cluster : clusters) cluster.trunk_delay = 1ms;
    const Topology topology = *Topology::make(clusters);
    const AllToAllPlan plan = plan_all(topology, PlanPolicy{});
    EXPECT_EQ(pair_window_bytes(plan, topology, 0, 1), 387U);  // 386.7 rounded up
    EXPECT_EQ(pair_window_bytes(plan, topology, 0, 0), 0U);
}

// ------------------------------------------------------------------ invariant

/// Sums up what the planned classes put on every directed link, against U times its capacity;
/// exactly, in integers.
class LinkSums {
public:
    LinkSums(const Topology& topology, const PlanPolicy& policy, const AllToAllPlan& plan)
        : topology_(topology), policy_(policy), plan_(plan) {}

    void expect_within_capacity() const {
        for (std::size_t c = 0; c < topology_.clusters().size(); ++c) {
            if (hosts(c) == 0) continue;
            const Cluster& cluster = topology_.clusters()[c];
            const Wide remote = remote_rate(plan_, c).value;
            EXPECT_TRUE(fits(hosts(c) * remote, cluster.trunk_up_rate))
                << "trunk up of " << cluster.name;
            EXPECT_TRUE(fits(into_cluster(c), cluster.trunk_down_rate))
                << "trunk down of " << cluster.name;
            // Classes are spread evenly over the hosts behind them; times
            // hosts(c), so that nothing is divided.
            EXPECT_TRUE(fits(into_cluster(c) + hosts(c) * own(c),
                             {cluster.host_rate.value * plan_.hosts.per_cluster[c]}))
                << "edge of a receiver in " << cluster.name;
            EXPECT_TRUE(fits(remote + own(c), cluster.host_rate))
                << "edge of a sender in " << cluster.name;
        }
    }

private:
    using Wide = unsigned __int128;

    Wide hosts(std::size_t c) const { return plan_.hosts.per_cluster[c]; }
    Wide own(std::size_t c) const { return plan_.rates[c][c].value_or(BytesPerSecond{}).value; }
    Wide into_cluster(std::size_t c) const {
        Wide sum = 0;
        for (std::size_t from = 0; from < plan_.rates.size(); ++from) {
            if (from != c && plan_.rates[from][c]) sum += hosts(from) * plan_.rates[from][c]->value;
        }
        return sum;
    }
    bool fits(Wide bytes_per_s, BitsPerSecond capacity) const {
        return bytes_per_s * 8 * utilisation_one <=
               Wide{capacity.value} * policy_.target_utilisation_millionths;
    }

    const Topology& topology_;
    const PlanPolicy& policy_;
    const AllToAllPlan& plan_;
};

Topology random_topology(std::mt19937& random) {
    std::uniform_int_distribution<int> cluster_count(2, 6);
    std::uniform_int_distribution<int> host_count(1, 40);
    std::uniform_int_distribution<std::uint64_t> bits(100'000, 40'000'000'000);
    std::vector<Cluster> clusters;
    for (int c = cluster_count(random); c > 0; --c) {
        Cluster cluster = make_cluster(static_cast<int>(clusters.size()), host_count(random), 1, 1);
        cluster.host_rate = {bits(random)};
        cluster.trunk_up_rate = {bits(random)};
        cluster.trunk_down_rate = {bits(random)};
        clusters.push_back(std::move(cluster));
    }
    return *Topology::make(std::move(clusters));
}

HostCounts random_job(const Topology& topology, std::mt19937& random) {
    HostCounts job;
    for (const Cluster& cluster : topology.clusters()) {
        std::uniform_int_distribution<std::uint32_t> some(
            0, static_cast<std::uint32_t>(cluster.hosts.size()));
        job.per_cluster.push_back(some(random));
    }
    return job;
}

// The promise of the planner, over 5000 topologies: no directed link is asked
// for more than U of its capacity, and the limiting one is used up to
// rounding (8 bit/s for each sender and class).
TEST(AllToAllPlan, NeverAsksALinkForMoreThanItHas) {
    std::mt19937 random(20061130);
    int paced = 0;
    for (int round = 0; round < 5000; ++round) {
        const Topology topology = random_topology(random);
        const HostCounts job = random_job(topology, random);
        PlanPolicy policy;
        policy.target_utilisation_millionths =
            std::uniform_int_distribution<std::uint32_t>(500'000, utilisation_one)(random);
        const auto plan = plan_alltoall(topology, policy, {job, job, false});
        ASSERT_TRUE(plan) << plan.error().message;
        if (!plan->paced()) continue;
        ++paced;
        LinkSums(topology, policy, *plan).expect_within_capacity();

        const LinkShare& limit = *plan->limit;
        if (limit.kind == LinkKind::trunk_up) {
            const double used = 8.0 * job.per_cluster[limit.owner] *
                                static_cast<double>(remote_rate(*plan, limit.owner).value);
            const double target = static_cast<double>(limit.capacity.value) *
                                  policy.target_utilisation_millionths / utilisation_one;
            const double rounding = 8.0 * limit.senders * static_cast<double>(job.clusters_used());
            EXPECT_NEAR(used, target, rounding);
        }
        if (testing::Test::HasFailure()) FAIL() << "round " << round;
    }
    EXPECT_GT(paced, 4000) << "the topologies are not worth testing";
}

// ------------------------------------------------------------ trees of clusters

// The worked example's second part.  16 hosts; a cluster's trunk carries 4 x 12
// pairs, an upper one 8 x 8:
//   upper 40: 24.75 / 48 = 0.515625 < 39.6 / 64     -> the clusters' trunks limit
//   upper 30: 29.7 / 64 = 0.4640625 < 24.75 / 48    -> the upper ones do
TEST(AllToAllPlanTree, TheNarrowestLevelLimits) {
    const AllToAllPlan lower = plan_all(two_level_topology(40), PlanPolicy{});
    ASSERT_TRUE(lower.paced());
    EXPECT_EQ(lower.pair_rate.value, 515'625U);
    EXPECT_EQ(lower.limit->senders, 4U);
    EXPECT_EQ(lower.limit->pairs_per_sender, 12U);
    EXPECT_EQ(lower.rates[0][1]->value, 4 * 515'625U / 8);
    EXPECT_EQ(lower.rates[0][3]->value, 4 * 515'625U / 8);

    const Topology narrow = two_level_topology(30);
    const AllToAllPlan upper = plan_all(narrow, PlanPolicy{});
    EXPECT_EQ(upper.pair_rate.value, 464'062U);
    EXPECT_EQ(upper.limit->senders, 8U);
    EXPECT_EQ(narrow.name_of(*upper.limit), "trunk of left (up)");
    EXPECT_EQ(upper.reason, "the trunk of left (up) is shared by 8 senders: 30 Mbit/s x 0.99 / 8 = "
                            "3.712 Mbit/s for each");
}

// Only below "left" the upper trunks are not crossed: as the demo's scene.
TEST(AllToAllPlanTree, TrunksAboveAllHostsDoNotCount) {
    const Topology topology = two_level_topology(1);
    const HostCounts left{{4, 4, 0, 0}};
    const AllToAllPlan plan = *plan_alltoall(topology, PlanPolicy{}, {left, left, false});
    EXPECT_EQ(plan.pair_rate.value, 1'546'875U);
    EXPECT_FALSE(plan.rates[0][2]);
}

/// Clusters of up to 6 hosts somewhere below up to 4 switches.
Topology random_tree(std::mt19937& random) {
    const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
    std::vector<TrunkSwitch> switches(1 + below(4));
    for (unsigned s = 0; s < switches.size(); ++s) {
        const std::uint64_t up = (20 + below(200)) * mbit;
        const std::string parent = s > 0 && below(2) > 0 ? fmt::format("s{}", below(s)) : "";
        switches[s] = {fmt::format("s{}", s), parent, {up}, {up + below(20) * mbit}, {}, {}};
    }
    std::vector<Cluster> clusters;
    for (int c = 0; c < 6; ++c) {
        clusters.push_back(
            make_cluster(c, 1 + static_cast<int>(below(6)), 100, 50 + below(300)));
        if (below(4) > 0) clusters.back().parent = switches[below(switches.size())].name;
    }
    return *Topology::make(clusters, switches);
}

MatbResult matb_of_all(const Topology& topology, const std::vector<std::uint32_t>& inside) {
    std::vector<MatbEdge> edges;
    for (std::size_t t = 0; t < topology.trunk_count(); ++t) {
        const TrunkSwitch& trunk = topology.trunk(t);
        if (inside[t] == 0) continue;
        edges.push_back({trunk.name, trunk.parent.empty() ? "centre" : trunk.parent,
                         static_cast<double>(trunk.trunk_up_rate.value),
                         static_cast<double>(trunk.trunk_down_rate.value)});
    }
    for (const Cluster& cluster : topology.clusters()) {
        for (const auto& host : cluster.hosts) edges.push_back({host, cluster.name, 1e8, 1e8});
    }
    const MatbTree tree = *MatbTree::make(edges);
    std::vector<MatbPair> pairs;
    for (MatbTree::Node a = 0; a < tree.size(); ++a) {
        for (MatbTree::Node b = 0; b < tree.size(); ++b) {
            if (a != b && tree.is_host(a) && tree.is_host(b)) pairs.push_back({a, b});
        }
    }
    MatbResult result = *matb(tree, pairs, MatbLinks::trunk);
    std::erase_if(result.links, [&](const MatbShare& link) { return tree.is_host(link.child); });
    for (MatbShare& link : result.links) {  // by trunk instead of by node
        std::size_t number = 0;
        while (topology.trunk(number).name != tree.name(link.child)) ++number;
        link.child = static_cast<MatbTree::Node>(number);
    }
    return result;
}

// Random trees: what all hosts together may send over a trunk never exceeds it,
// and what each may send over the one that limits is the share that matb.hpp
// finds on the same tree.
TEST(AllToAllPlanTree, NeverOversubscribesAndAgreesWithMatb) {
    std::mt19937 random(5);
    int limited_above_clusters = 0;
    for (int round = 0; round < 200; ++round) {
        const Topology topology = random_tree(random);
        const AllToAllPlan plan = plan_all(topology, whole_link);
        ASSERT_TRUE(plan.paced());
        for (std::size_t t = 0; t < topology.trunk_count(); ++t) {
            double up_bps = 0;
            for (std::size_t from = 0; from < topology.clusters().size(); ++from) {
                for (std::size_t to = 0; to < topology.clusters().size(); ++to) {
                    if (!topology.is_below(from, t) || topology.is_below(to, t)) continue;
                    up_bps += 8.0 * plan.hosts.per_cluster[from] *
                              static_cast<double>(plan.rates[from][to]->value);
                }
            }
            EXPECT_LE(up_bps, static_cast<double>(topology.trunk(t).trunk_up_rate.value));
        }
        if (plan.limit->kind == LinkKind::edge_in) continue;
        limited_above_clusters += plan.limit->owner >= topology.clusters().size();
        const MatbResult shares = matb_of_all(topology, topology.hosts_below(plan.hosts));
        const auto wanted = plan.limit->kind == LinkKind::trunk_up ? MatbDirection::up
                                                                    : MatbDirection::down;
        const auto link = std::find_if(shares.links.begin(), shares.links.end(), [&](auto& one) {
            return one.child == plan.limit->owner && one.direction == wanted;
        });
        ASSERT_NE(link, shares.links.end());
        EXPECT_EQ(link->senders, plan.limit->senders);
        EXPECT_NEAR(link->share_bps,
                    static_cast<double>(plan.pair_rate.value) * plan.limit->pairs_per_sender,
                    plan.limit->pairs_per_sender);
    }
    EXPECT_GT(limited_above_clusters, 20);
}

}  // namespace
}  // namespace headway::test
