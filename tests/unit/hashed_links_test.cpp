// SPDX-License-Identifier: Apache-2.0
#include "plan/hashed_links.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <vector>

#include "base/wire.hpp"
#include "models/alltoall_algorithms.hpp"
#include "models/network_alltoall.hpp"
#include "plan/planner.hpp"
#include "plan/ring_plan.hpp"
#include "plan/traffic_plan.hpp"
#include "topologies.hpp"

namespace headway::test {
namespace {

LinkFill fill_of_equal(std::uint32_t links, double flows, std::uint32_t draws = 2) {
    const EqualFlows equal{flows, 1000};
    return fill_of(links, {&equal, 1}, draws);
}

/// Bytes of the fullest link, with the number of assignments of flows to links
/// in which it has them: every assignment.
std::map<double, double> fullest_of_all(std::uint32_t links, const std::vector<double>& flows) {
    std::map<double, double> found;
    std::vector<double> load(links, 0);
    const auto assign = [&](const auto& self, std::size_t flow) -> void {
        if (flow == flows.size()) {
            found[*std::ranges::max_element(load)] += 1;
            return;
        }
        for (double& link : load) {
            link += flows[flow];
            self(self, flow + 1);
            link -= flows[flow];
        }
    };
    assign(assign, 0);
    return found;
}

/// The least that the fullest link of two draws exceeds in no more than one
/// case of a hundred.
double quantile_of_two_draws(const std::map<double, double>& fullest) {
    double all = 0, below = 0;
    for (const auto& [bytes, times] : fullest) all += times;
    for (const auto& [bytes, times] : fullest) {
        below += times;
        if (1 - below / all * below / all <= 0.01) return bytes;
    }
    return fullest.rbegin()->first;
}

double mean_of_two_draws(const std::map<double, double>& fullest) {
    double all = 0, below = 0, mean = 0;
    for (const auto& [bytes, times] : fullest) all += times;
    for (const auto& [bytes, times] : fullest) {
        const double before = below;
        below += times / all;
        mean += bytes * (below * below - before * before);
    }
    return mean;
}

// The header's example, and what 10 000 draws had for as many flows (99 % of
// both directions): 1.69, 1.34, 2.25, 1.16.
TEST(HashedLinks, WorkedExamples) {
    EXPECT_DOUBLE_EQ(fill_of_equal(4, 64).worst, 27.0 / 16);
    EXPECT_NEAR(fill_of_equal(4, 64).expected, 1.334, 0.02);
    EXPECT_NEAR(fill_of_equal(2, 64).worst, 1.344, 0.04);
    EXPECT_NEAR(fill_of_equal(8, 64).worst, 2.25, 0.13);
    EXPECT_NEAR(fill_of_equal(8, 64).expected, 1.638, 0.03);
    EXPECT_NEAR(fill_of_equal(2, 64).expected, 1.141, 0.001);
    EXPECT_NEAR(fill_of_equal(4, 1024).worst, 1.168, 0.01);
    EXPECT_EQ(carried_by({1'000'000'000}, fill_of_equal(4, 64)).value, 2'370'370'370U);
    EXPECT_EQ(fill_text(fill_of_equal(4, 64)),
              "4 links chosen by a hash, 64 flows: the fullest is expected to "
              "carry 1.32 times the mean, and at most "
              "1.69 times in 99 of 100 cases");
}

TEST(HashedLinks, EqualFlowsAreAsInAllAssignments) {
    for (const auto& [links, most] : {std::pair{2U, 16U}, {3U, 10U}, {4U, 8U}, {5U, 7U}}) {
        for (std::size_t flows = 1; flows <= most; ++flows) {
            const auto all = fullest_of_all(links, std::vector<double>(flows, 1));
            const double mean = static_cast<double>(flows) / links;
            const LinkFill fill = fill_of_equal(links, static_cast<double>(flows));
            EXPECT_GE(fill.worst * mean, quantile_of_two_draws(all) - 1e-9) << links << " links, " << flows;
            EXPECT_LE(fill.worst * mean, quantile_of_two_draws(all) + 1) << links << " links, " << flows;
            EXPECT_NEAR(fill.expected * mean, mean_of_two_draws(all), 0.15 * mean_of_two_draws(all))
                << links << " links, " << flows;
        }
    }
}

// Flows of 1 to 8, and one among many that is larger than all others together.
TEST(HashedLinks, UnequalFlowsAreNeverUnderrated) {
    std::mt19937 random(54);
    for (int round = 0; round < 40; ++round) {
        const std::uint32_t links = 2 + random() % 3;
        std::vector<double> flows;
        std::vector<EqualFlows> told;
        for (std::size_t f = 0; f < (links == 2 ? 14U : links == 3 ? 9U : 8U); ++f) {
            flows.push_back(f == 0 && round % 4 == 0 ? 40 : 1 + static_cast<double>(random() % 8));
            told.push_back({1, flows.back()});
        }
        double sum = 0;
        for (const double bytes : flows) sum += bytes;
        const double exact = quantile_of_two_draws(fullest_of_all(links, flows));
        const double worst = fill_of(links, told, 2).worst * sum / links;
        EXPECT_GE(worst, exact - 1e-9) << "round " << round;
        EXPECT_LE(worst, 1.2 * exact) << "round " << round;
    }
}

TEST(HashedLinks, OneLargeFlowTakesOneLink) {
    const std::vector<EqualFlows> flows{{1, 1e6}, {1000, 1e3}};
    EXPECT_NEAR(fill_of(4, flows, 2).worst, (1e6 + 1e6 / 4) / (2e6 / 4), 0.1);
}

TEST(HashedLinks, FillIsBetweenAllLinksAndOne) {
    for (std::uint32_t links = 1; links <= 16; ++links) {
        for (const double flows : {1.0, 2.0, 3.0, 7.0, 64.0, 1000.0, 1e6, 1e9, 1e13}) {
            const LinkFill fill = fill_of_equal(links, flows);
            EXPECT_GE(fill.expected, 1);
            EXPECT_GE(fill.worst, fill.expected - 1e-9) << links << " links, " << flows;
            EXPECT_LE(fill.worst, links);
            EXPECT_GE(fill.effective_links(), 1 - 1e-12);
        }
    }
    EXPECT_EQ(fill_of(4, {}, 2).worst, 1);
}

// A whole flow more or less on a link is a step: twice the flows are never
// worse, one more may be.
TEST(HashedLinks, MoreLinksAndTwiceTheFlowsAreNeverWorse) {
    for (double flows = 1; flows < 3000; flows = std::ceil(flows * 1.3)) {
        for (std::uint32_t links = 1; links <= 16; ++links) {
            const double effective = fill_of_equal(links, flows).effective_links();
            EXPECT_GE(fill_of_equal(links, 2 * flows).effective_links(), effective - 1e-9) << links << ", " << flows;
            EXPECT_GE(fill_of_equal(links + 1, flows).effective_links(), effective - 1e-9) << links << ", " << flows;
            EXPECT_LE(fill_of_equal(links, flows, 20).effective_links(), effective + 1e-9) << links << ", " << flows;
        }
    }
}

// ----------------------------------------------------------------------- plans

/// Of 8 hosts each; no buffer is known.
Topology hashed_leaves(ParallelLinks links, std::uint64_t link_mbit) {
    std::vector<Cluster> leaves{make_cluster(0, 8, 1000, link_mbit), make_cluster(1, 8, 1000, link_mbit)};
    for (Cluster& leaf : leaves) leaf.trunk_links = links;
    return *Topology::make(std::move(leaves));
}

CollectivePlan plan_hashed(const Topology& topology, std::optional<std::uint64_t> bytes, std::uint32_t ranks = 1) {
    const HostCounts all = topology.count(every_host(topology));
    return *plan_collective(topology, PlanPolicy{}, {all, all, false, ranks}, bytes);
}

double remote_bps(const CollectivePlan& plan) { return 8.0 * static_cast<double>(plan.shares.rates[0][1]->value); }

// 27 of 64 flows on one link of 1 Gbit/s: 64 / 27 x 0.99 / 8 Gbit/s for each
// host.
TEST(HashedPlan, RatesTheFullestLink) {
    const CollectivePlan plan = plan_hashed(hashed_leaves({4}, 1000), 65536);
    ASSERT_TRUE(plan.is_paced());
    EXPECT_NEAR(remote_bps(plan), 64.0 / 27 * 1e9 * 0.99 / 8, 100);
    EXPECT_EQ(plan.paced->timeouts, 0U);
    EXPECT_NEAR(plan.paced->low_s, 27 * tcp_wire_bytes_of(65536) * 8 / 0.99e9, 1e-6);
    EXPECT_EQ(plan.shares.reason,
              "the trunk of a (up) is shared by 8 senders: 2.37 Gbit/s of 4 "
              "hashed links of 1 Gbit/s, the fullest "
              "with 1.69 times the mean, x 0.99 / 8 = 293.333 Mbit/s for each");
    ASSERT_FALSE(plan.shares.notes.empty());
    EXPECT_NE(plan.shares.notes[0].find("4 links chosen by a hash, 64 flows: the "
                                        "fullest is expected to carry 1.32"),
              std::string::npos)
        << plan.shares.notes[0];
}

// Four ranks a host have sixteen connections to each other host, which lie more
// evenly; not where addresses alone choose.
TEST(HashedPlan, CountsConnectionsUnlessAddressesAloneChoose) {
    const double one = remote_bps(plan_hashed(hashed_leaves({4}, 1000), 65536));
    EXPECT_GT(remote_bps(plan_hashed(hashed_leaves({4}, 1000), 65536, 4)), 1.3 * one);
    EXPECT_EQ(remote_bps(plan_hashed(hashed_leaves({4, LinkHash::pair}, 1000), 65536, 4)), one);
}

// Two leaves, 8 hosts of 1 Gbit/s each, uplinks of 1 Gbit/s: what 64 KiB take.
TEST(HashedPlan, MoreLinksAreNeverSlowerNorAllOfThemFasterThanTheirSum) {
    for (const std::uint32_t ranks : {1U, 4U}) {
        double slowest = 0;
        for (std::uint32_t links = 1; links <= 8; ++links) {
            const double rate = remote_bps(plan_hashed(hashed_leaves({links}, 1000), {}, ranks));
            const double alone = remote_bps(plan_hashed(hashed_leaves({}, 1000), {}, ranks));
            EXPECT_GE(rate, std::max(slowest, alone)) << links;
            EXPECT_LE(rate, links * alone + 1) << links;
            slowest = rate;
        }
    }
}

// A surplus that the fullest link's own buffer holds needs no pacing, as with
// one link.
TEST(HashedPlan, BuffersAreOfOneLink) {
    const auto with_buffer = [](std::uint64_t bytes) {
        auto leaves = hashed_leaves({4}, 1000).clusters();
        for (Cluster& leaf : leaves) leaf.trunk_buffer_bytes = leaf.host_buffer_bytes = bytes;
        return plan_hashed(*Topology::make(std::move(leaves)), 2048);
    };
    // at most 27 messages of 2 KiB are under way to one link
    EXPECT_FALSE(with_buffer(27 * 2400 * 4 / 3).is_paced());
    EXPECT_TRUE(with_buffer(27 * 2400 / 4).is_paced());
}

// The paths of siblings are counted as if every host talked to as many as this
// communicator's do.
TEST(HashedPlan, FewPartnersFillLinksUnevenly) {
    const Topology topology = hashed_leaves({4}, 1000);
    const HostCounts job = topology.count(every_host(topology));
    const HostCounts few{{1, 1}};
    const auto plan = plan_alltoall(topology, PlanPolicy{}, {job, few, false});
    const LinkFill of_eight = fill_of_equal(4, 8);
    ASSERT_TRUE(plan && plan->paced());
    EXPECT_EQ(plan->limit->fill.flows, 8);
    EXPECT_EQ(plan->limit->capacity.value, carried_by({1'000'000'000}, of_eight).value);
    const auto sparse = plan_alltoall(topology, PlanPolicy{}, {job, job, false, 4, true});
    EXPECT_EQ(sparse->limit->capacity.value, plan->limit->capacity.value);
}

// One link of every trunk, and what all algorithms, exchanges and bounds say of
// it, are as before there were several.
TEST(HashedPlan, OneLinkIsAsAnother) {
    const Topology plain = hashed_leaves({}, 2500), one = hashed_leaves({1, LinkHash::pair}, 2500);
    for (const std::uint64_t bytes : {4096U, 65536U, 1048576U}) {
        const CollectivePlan a = plan_hashed(plain, bytes), b = plan_hashed(one, bytes);
        EXPECT_EQ(a.shares.rates, b.shares.rates);
        EXPECT_EQ(a.shares.reason, b.shares.reason);
        EXPECT_EQ(a.shares.notes, b.shares.notes);
        EXPECT_EQ(a.unpaced->high_s, b.unpaced->high_s);
        EXPECT_EQ(a.unpaced->reason, b.unpaced->reason);
    }
}

Exchange rooted_exchange(RootDoes root_does, const Topology& topology, double connections) {
    Exchange exchange = *exchange_with_root(root_does, topology.count(every_host(topology)), 0, 262144);
    exchange.connections = connections;
    return exchange;
}

/// What the flows of an exchange put on the fullest link of a trunk at the
/// most, at these rates, in bit/s.
double fullest_bps(const Topology& topology, const Exchange& exchange, const RatesByCluster& rates) {
    ExchangeNetwork network(topology, exchange, 1);
    network.cap_flows(rates);
    double fullest = 0;
    for (std::size_t l = 0; l < network.links.size(); ++l) {
        double bps = 0;
        for (const FluidGroup& group : network.fluid.groups)
            for (const FluidUse& use : group.path) bps += use.link == l ? use.flows * group.cap_bps : 0;
        if (network.links[l].is_trunk()) fullest = std::max(fullest, bps);
    }
    return fullest;
}

// Of no collective that is paced does the fullest link get more than it
// carries.
TEST(HashedPlan, NoCollectiveOverrunsTheFullestLink) {
    for (const LinkHash hash : {LinkHash::flow, LinkHash::pair}) {
        const Topology topology = hashed_leaves({4, hash}, 500);
        for (const RootDoes root_does : {RootDoes::receive, RootDoes::send}) {
            const Exchange exchange = rooted_exchange(root_does, topology, 2);
            const auto plan = plan_exchange(topology, PlanPolicy{}, exchange);
            ASSERT_TRUE(plan);
            if (plan->paced) EXPECT_LE(fullest_bps(topology, exchange, plan->rates), 0.5e9);
        }
        const HostCounts all = topology.count(every_host(topology));
        const CollectivePlan plan = plan_hashed(topology, 262144, 2);
        const Exchange exchange = exchange_among(all, 4 * 262144, 4);
        ASSERT_TRUE(plan.is_paced());
        EXPECT_NEAR(fullest_bps(topology, exchange, plan.shares.rates), 0.99 * 0.5e9, 1e4);
        for (const AlgorithmTime& time : predict_algorithms(topology, PlanPolicy{}, plan.shares, 4 * 262144))
            EXPECT_GE(time.unpaced.low_s, 262144 * 4 * 64 * 8.0 / 4 / 0.5e9) << "the mean of the links is a bound";
        const auto ring = plan_ring(topology, PlanPolicy{}, {all, all, true}, RingOperation::allgather, 262144);
        ASSERT_TRUE(ring && ring->predicted);
        EXPECT_GE(ring->predicted->low_s, 15 * 262144 * 8 / 0.5e9) << "a stream has one link";
    }
}

// Each host of a sends to one of b, one of them eight times as much.
TEST(HashedPlan, TrafficIsRatedByItsFullestLink) {
    const Topology topology = hashed_leaves({4}, 500);
    std::vector<std::size_t> hosts;
    for (std::size_t host = 0; host < 16; ++host) hosts.push_back(host);
    std::vector<HostFlow> flows;
    for (std::uint32_t host = 0; host < 8; ++host) flows.push_back({host, host + 8, host == 0 ? 8e6 : 1e6});
    const auto plan = plan_traffic(topology, PlanPolicy{}, hosts, flows);
    ASSERT_TRUE(plan && plan->paced);
    EXPECT_NE(plan->reason.find("fullest of the 4 links of the trunk of a (up)"), std::string::npos) << plan->reason;
    double sum = 0;
    for (std::size_t host = 0; host < 8; ++host) sum += 8.0 * static_cast<double>(plan->rates[host][1]->value);
    EXPECT_GT(sum, 0.49e9);
    EXPECT_LT(sum, 1.1e9) << "the large flow and some of the others may be on one link";
}

// A network file's own bound on an all-to-all, and the planner's.
TEST(HashedPlan, TheDrawnBoundIsThePlans) {
    std::vector<NetworkItem> items{{NetworkNodeKind::switch_node, "core", "", {}, false, {}}};
    for (const char* leaf : {"a", "b", "c"}) {
        NetworkEdge uplink{{1'000'000'000}, {1'000'000'000}, {}, {}, {}, {4}};
        items.push_back({NetworkNodeKind::switch_node, leaf, "core", uplink, false, {}});
        for (int h = 0; h < 8; ++h)
            items.push_back(
                {NetworkNodeKind::host, leaf + std::to_string(h), leaf, {{1'000'000'000}, {1'000'000'000}}, false, {}});
    }
    const NetworkTree tree = *NetworkTree::make(items);
    const Topology topology = *topology_of(items);
    const HostCounts all = topology.count(every_host(topology));
    const auto plan = plan_alltoall(topology, PlanPolicy{utilisation_one, {}}, {all, all, false});
    ASSERT_TRUE(plan && plan->paced());
    EXPECT_NEAR(alltoall_limits(tree).pair_rate_bps, static_cast<double>(plan->pair_rate.value), 1);
    EXPECT_EQ(plan->limit->fill.flows, 8 * 16);
    EXPECT_EQ(plan->limit->fill.worst, fill_of_equal(4, 8 * 16, 6).worst);
}

}  // namespace
}  // namespace headway::test
