// SPDX-License-Identifier: Apache-2.0
// Zhu's congestion factors: the paper's examples, each rule by itself, and
// random patterns against a naive reference.
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "models/congestion.hpp"
#include "naive_congestion.hpp"

namespace headway::test {
namespace {

using Variant = CongestionVariant;
constexpr double nic = 940;
constexpr double optical = 9400;
constexpr std::array every_variant{Variant::paper, Variant::feasible, Variant::fairness_only,
                                   Variant::bidirectional_max_min};

CongestionPattern pattern(std::vector<std::uint32_t> racks, std::vector<CongestionLink> links,
                          double backbone = optical) {
    return {nic, backbone, std::nullopt, std::move(racks), std::move(links)};
}

/// Node 0 receives from `in` nodes and sends to `out` others, all in one rack.
CongestionPattern star(std::uint32_t in, std::uint32_t out) {
    CongestionPattern p = pattern(std::vector<std::uint32_t>(1 + in + out, 0), {});
    for (std::uint32_t i = 0; i < in; ++i) p.links.push_back({1 + i, 0});
    for (std::uint32_t i = 0; i < out; ++i) p.links.push_back({0, 1 + in + i});
    return p;
}

void expect_near(const std::vector<double>& got, const std::vector<double>& wanted) {
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
        EXPECT_NEAR(got[i], wanted[i], 1e-9 * std::abs(wanted[i])) << "link " << i;
    }
}

double total(const std::vector<double>& list) {
    return std::accumulate(list.begin(), list.end(), 0.0);
}

// Figure 1: racks X (nodes 0, 1, 2) and Y (3, 4, 5).  Links 1, 3, 4 go from X to
// Y, 2 stays in X; 1 and 2 leave by the same NIC.  S_1 = <{1,3,4}, {1,2}, {1}>,
// so k_1 = max(3 beta_O, 2 beta_N, beta_N) = 2 beta_N with an optical backbone.
TEST(Congestion, FactorsOfFigure1) {
    const auto p = pattern({0, 0, 0, 1, 1, 1}, {{0, 3}, {0, 1}, {1, 4}, {2, 5}, {3, 5}});
    const auto factors = congestion_factors(p).value();
    EXPECT_DOUBLE_EQ(factors[0].with_flow, 2);
    EXPECT_DOUBLE_EQ(factors[0].contra_flow, 1);  // link 5 leaves the NIC that link 1 enters
    EXPECT_DOUBLE_EQ(factors[2].with_flow, 1);
    EXPECT_DOUBLE_EQ(factors[3].with_flow, 2);  // into node 5
}

// With a backbone as slow as a NIC the three links between the racks count.
TEST(Congestion, FactorsSeeTheBackbone) {
    const auto p = pattern({0, 0, 0, 1, 1, 1}, {{0, 3}, {1, 4}, {2, 5}, {3, 0}, {1, 0}}, nic);
    const auto factors = congestion_factors(p).value();
    EXPECT_DOUBLE_EQ(factors[0].with_flow, 3);
    EXPECT_DOUBLE_EQ(factors[0].contra_flow, 2);  // into node 0: from node 3 and node 1
    EXPECT_DOUBLE_EQ(factors[3].with_flow, 2);
    EXPECT_DOUBLE_EQ(factors[3].contra_flow, 3);
    EXPECT_DOUBLE_EQ(factors[4].with_flow, 2);    // within the rack: no rack sets
    EXPECT_DOUBLE_EQ(factors[4].contra_flow, 1);
}

// (5): n links on a NIC share it; on the optical backbone only from the 11th on.
TEST(Congestion, FairnessProperty) {
    EXPECT_DOUBLE_EQ(congestion_fair_share(4, nic, nic), 235);
    EXPECT_DOUBLE_EQ(congestion_fair_share(10, optical, nic), 940);
    EXPECT_DOUBLE_EQ(congestion_fair_share(20, optical, nic), 470);
    EXPECT_DOUBLE_EQ(congestion_fair_share(0, optical, nic), 940);
    for (const std::uint32_t n : {1U, 9U, 10U, 11U, 25U}) {
        CongestionPattern p = pattern({}, {});
        for (std::uint32_t i = 0; i < 2 * n; ++i) p.rack_of_node.push_back(i / n);
        for (std::uint32_t i = 0; i < n; ++i) p.links.push_back({i, n + i});
        for (const Variant variant : every_variant) {
            expect_near(congestion_bandwidths(p, variant).value(),
                        std::vector<double>(n, congestion_fair_share(n, optical, nic)));
        }
    }
}

// (6), 2 in and 1 out on 940: all 470.  Fairness alone would give the one 940.
TEST(Congestion, AsymmetricProperty2To1) {
    const auto p = star(2, 1);
    EXPECT_DOUBLE_EQ(congestion_asymmetric_share(2, 1, nic, nic), 470);
    for (const Variant variant :
         {Variant::paper, Variant::feasible, Variant::bidirectional_max_min}) {
        expect_near(congestion_bandwidths(p, variant).value(), {470, 470, 470});
    }
    expect_near(congestion_bandwidths(p, Variant::fairness_only).value(), {470, 470, 940});
}

// (6), 12 in and 1 out: 13/12 x 940 in total, not 2 x 940.
TEST(Congestion, AsymmetricProperty12To1) {
    const auto p = star(12, 1);
    for (const Variant variant :
         {Variant::paper, Variant::feasible, Variant::bidirectional_max_min}) {
        EXPECT_NEAR(total(congestion_bandwidths(p, variant).value()), 13.0 / 12 * 940, 1e-9);
    }
    EXPECT_NEAR(total(congestion_bandwidths(p, Variant::fairness_only).value()), 2 * 940, 1e-9);
    EXPECT_DOUBLE_EQ(congestion_asymmetric_share(12, 1, nic, nic), 940.0 / 12);
    EXPECT_DOUBLE_EQ(congestion_asymmetric_share(12, 1, optical, nic), 9400.0 / 12);
    EXPECT_DOUBLE_EQ(congestion_asymmetric_share(3, 10, optical, nic), 940);
}

// Contra-flow that saturates nothing is forgotten: links 0->1 and 2->1 are held
// to 940/5 by what else leaves 0 and 2; so what enters 1 does not fill its NIC,
// and 1->11 is not slowed to half.
TEST(Congestion, UnsaturatedContraFlowIsEmptied) {
    CongestionPattern p = pattern(std::vector<std::uint32_t>(12, 0), {{0, 1}, {2, 1}, {1, 11}});
    for (std::uint32_t i = 0; i < 4; ++i) p.links.push_back({0, 3 + i});
    for (std::uint32_t i = 0; i < 4; ++i) p.links.push_back({2, 7 + i});
    const auto bandwidths = congestion_bandwidths(p, Variant::paper).value();
    EXPECT_NEAR(bandwidths[0], 188, 1e-9);
    EXPECT_NEAR(bandwidths[1], 188, 1e-9);
    EXPECT_NEAR(bandwidths[2], 940, 1e-9);
}

// beta_E caps a link that is alone.
TEST(Congestion, UnsharedBandwidthIsAParameter) {
    CongestionPattern p = pattern({0, 0}, {{0, 1}});
    p.unshared_bandwidth = 500;
    for (const Variant variant : every_variant) {
        expect_near(congestion_bandwidths(p, variant).value(), {500});
    }
}

// Progressive filling by hand: 0->1, 0->2, 3->2, 3->4 and 5->4, 6->4.  Into 4
// come three: 940/3 each, which stops 3->4 too; it stops nobody backwards but
// what enters 3 or leaves 4.  0->1 and 0->2 share NIC 0: 470; 3->2 is stopped
// there as node 2 is full (470 + 470).
TEST(Congestion, MaxMinByHand) {
    const auto p = pattern(std::vector<std::uint32_t>(7, 0),
                           {{0, 1}, {0, 2}, {3, 2}, {3, 4}, {5, 4}, {6, 4}});
    const double third = 940.0 / 3;
    expect_near(congestion_bandwidths(p, Variant::bidirectional_max_min).value(),
                {470, 470, 470, third, third, third});
}

// A resource that is filled by the last of its users at the level at which
// another fills: links backwards over it stop as well.
TEST(Congestion, MaxMinStopsBehindAResourceFilledBySomebodyElse) {
    // 0->2 and 1->2 fill node 2 at 470.  2->0 goes backwards over 2: 470.
    // 3->2' (node 4) and 3->5 fill 3's NIC at 470 at the same time.
    const auto p = pattern(std::vector<std::uint32_t>(6, 0),
                           {{0, 2}, {1, 2}, {2, 0}, {3, 4}, {3, 5}, {4, 3}});
    expect_near(congestion_bandwidths(p, Variant::bidirectional_max_min).value(),
                {470, 470, 470, 470, 470, 470});
}

// ------------------------------------------------------------------------ times

// 2 in and 1 out of equal size: all end together.  The one out of half the size
// ends first; the others are alone with the NIC then, but share it still.
TEST(CongestionTimes, RunAgainWhenALinkFinishes) {
    const auto p = star(2, 1);
    const std::vector together{470.0, 470.0, 235.0};
    expect_near(congestion_static_times_s(p, Variant::paper, together).value(), {1, 1, 0.5});
    expect_near(congestion_dynamic_times_s(p, Variant::paper, together).value(), {1, 1, 0.5});
    // One of the two in ends after 0.5 s; then all that is left has 940.
    expect_near(
        congestion_dynamic_times_s(p, Variant::paper, std::vector{235.0, 470.0, 470.0}).value(),
        {0.5, 0.75, 0.75});
    expect_near(congestion_dynamic_times_s(p, Variant::paper, std::vector{0.0, 940.0, 0.0}).value(),
                {0, 1, 0});
}

TEST(CongestionTimes, RefuseSizesThatDoNotFit) {
    const auto p = star(1, 1);
    EXPECT_FALSE(congestion_static_times_s(p, Variant::paper, std::vector{1.0}));
    EXPECT_FALSE(congestion_dynamic_times_s(p, Variant::paper, std::vector{1.0, -1.0}));
}

// ------------------------------------------------------------------- properties

CongestionPattern random_pattern(std::mt19937& random, std::uint32_t racks) {
    const std::uint32_t nodes = 2 + random() % 12;
    CongestionPattern p;
    p.nic_bandwidth = random() % 3 == 0 ? 1000 : nic;
    constexpr std::array backbones{940.0, 9400.0, 2820.0, 5000.0, 1.0e4};
    p.backbone_bandwidth = backbones[random() % backbones.size()];
    for (std::uint32_t i = 0; i < nodes; ++i) p.rack_of_node.push_back(i % std::min(racks, nodes));
    const std::uint32_t links = random() % 40;
    for (std::uint32_t i = 0; i < links; ++i) {
        const std::uint32_t from = random() % nodes;
        const std::uint32_t distance = 1 + random() % (nodes - 1);
        p.links.push_back({from, (from + distance) % nodes});
    }
    return p;
}

TEST(CongestionProperty, AgreesWithTheNaiveReference) {
    std::mt19937 random(1);
    int exact_zeros = 0;
    for (int i = 0; i < 400; ++i) {
        const auto p = random_pattern(random, 1 + i % 4);
        const NaiveCongestion naive(p);
        const auto factors = congestion_factors(p).value();
        for (std::size_t e = 0; e < p.links.size(); ++e) {
            const double k = naive.factor(naive.with_flow(e)) * p.nic_bandwidth;
            const double kbar = naive.factor(naive.contra_flow(e)) * p.nic_bandwidth;
            ASSERT_NEAR(factors[e].with_flow, k, 1e-9 * k);
            ASSERT_NEAR(factors[e].contra_flow, kbar, 1e-9 * kbar);
        }
        for (const Variant variant : {Variant::paper, Variant::feasible, Variant::fairness_only}) {
            const auto got = congestion_bandwidths(p, variant);
            const auto wanted = naive.algorithm1(variant);
            ASSERT_EQ(got.has_value(), wanted.has_value()) << "pattern " << i;
            if (wanted) expect_near(*got, *wanted);
            else ++exact_zeros;
        }
        expect_near(congestion_bandwidths(p, Variant::bidirectional_max_min).value(),
                    naive.max_min());
        ASSERT_FALSE(HasFailure()) << "pattern " << i;
    }
    EXPECT_GT(exact_zeros, 0);  // they do happen, and both see them
}

/// Most that any resource is asked for, as a part of what it has.
double worst_load(const CongestionPattern& p, const std::vector<double>& bandwidths) {
    const NaiveCongestion naive(p);
    double worst = 0;
    for (std::size_t e = 0; e < p.links.size(); ++e) {
        const auto sets = naive.with_flow(e);
        for (std::size_t i = 0; i < sets.size(); ++i) {
            double load = 0;
            for (const std::size_t other : sets[i]) load += bandwidths[other];
            worst = std::max(worst, load * naive.beta(i));
        }
    }
    return worst;
}

// The two that keep to the capacities do, for any number of racks; the paper's
// does not always.
TEST(CongestionProperty, NeverOverSubscribes) {
    std::mt19937 random(2);
    double worst_of_paper = 0;
    for (int i = 0; i < 300; ++i) {
        const auto p = random_pattern(random, 1 + i % 4);
        for (const Variant variant : {Variant::feasible, Variant::bidirectional_max_min}) {
            ASSERT_LE(worst_load(p, congestion_bandwidths(p, variant).value()), 1 + 1e-9);
        }
        if (const auto paper = congestion_bandwidths(p, Variant::paper)) {
            worst_of_paper = std::max(worst_of_paper, worst_load(p, *paper));
        }
    }
    EXPECT_GT(worst_of_paper, 1.01);
}

TEST(CongestionProperty, MaxMinKnowsNoOrder) {
    std::mt19937 random(3);
    for (int i = 0; i < 100; ++i) {
        auto p = random_pattern(random, 1 + i % 3);
        const auto before = congestion_bandwidths(p, Variant::bidirectional_max_min).value();
        std::vector<std::size_t> order(p.links.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::shuffle(order.begin(), order.end(), random);
        auto shuffled = p;
        std::vector<double> wanted;
        for (std::size_t e = 0; e < order.size(); ++e) {
            shuffled.links[e] = p.links[order[e]];
            wanted.push_back(before[order[e]]);
        }
        expect_near(congestion_bandwidths(shuffled, Variant::bidirectional_max_min).value(),
                    wanted);
    }
}

// Twice the capacities, twice the bandwidths; reversed links, the same
// bandwidths in the variant without order.
TEST(CongestionProperty, ScalesWithCapacityAndReverses) {
    std::mt19937 random(4);
    for (int i = 0; i < 100; ++i) {
        const auto p = random_pattern(random, 1 + i % 3);
        auto twice = p;
        twice.nic_bandwidth *= 2;
        twice.backbone_bandwidth *= 2;
        for (const Variant variant : every_variant) {
            const auto once = congestion_bandwidths(p, variant);
            const auto doubled = congestion_bandwidths(twice, variant);
            ASSERT_EQ(once.has_value(), doubled.has_value());
            if (!once) continue;
            auto wanted = *once;
            for (double& bandwidth : wanted) bandwidth *= 2;
            expect_near(*doubled, wanted);
        }
        auto reversed = p;
        for (auto& link : reversed.links) std::swap(link.source, link.destination);
        expect_near(congestion_bandwidths(reversed, Variant::bidirectional_max_min).value(),
                    congestion_bandwidths(p, Variant::bidirectional_max_min).value());
    }
}

// Many equal links on one resource: the last one's share is the first one's.
TEST(CongestionProperty, ManyLinksLoseNoPrecision) {
    constexpr std::uint32_t n = 20'000;
    CongestionPattern p = pattern(std::vector<std::uint32_t>(n + 1, 0), {});
    for (std::uint32_t i = 0; i < n; ++i) p.links.push_back({i + 1, 0});
    for (const Variant variant : every_variant) {
        const auto bandwidths = congestion_bandwidths(p, variant).value();
        for (const double bandwidth : bandwidths) {
            ASSERT_NEAR(bandwidth, nic / n, 1e-9 * nic / n);
        }
    }
}

TEST(Congestion, RefusesWhatIsNoPattern) {
    EXPECT_FALSE(congestion_factors(pattern({0, 0}, {{0, 2}})));
    EXPECT_FALSE(congestion_factors(pattern({0, 7}, {{0, 1}})));
    auto p = pattern({0, 0}, {{0, 1}});
    p.nic_bandwidth = 0;
    EXPECT_FALSE(congestion_bandwidths(p, Variant::bidirectional_max_min));
    p.nic_bandwidth = nic;
    p.backbone_bandwidth = -1;
    EXPECT_FALSE(congestion_bandwidths(p, Variant::paper));
    for (const Variant variant : every_variant) {
        EXPECT_TRUE(congestion_bandwidths(pattern({}, {}), variant).value().empty());
    }
}

}  // namespace
}  // namespace headway::test
