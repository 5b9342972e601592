// SPDX-License-Identifier: Apache-2.0
// PlogPT's all-to-alls: closed forms, N_RTO, and the simulation beside them.
#include <gtest/gtest.h>

#include <set>

#include "models/plogpt_closed.hpp"
#include "plogpt_systems.hpp"

namespace headway::test {
namespace {

using Algorithm = PlogptAlltoall::Algorithm;

constexpr double gap_s = 1.4e-3;
constexpr double latency_s = 60e-6;

PlogptRto rto_of(const char* policy) { return *parse_plogpt_rto(policy); }

PlogptRun simulate(const PlogptTree& tree, Algorithm algorithm, unsigned levels,
                   double message_bytes, const char* policy) {
    const auto programs = *PlogptAlltoall::make(algorithm, 1U << levels, message_bytes);
    return *simulate_plogpt({tree, constant_gap(gap_s), latency_s}, programs, rto_of(policy));
}

PlogptAlltoallTimes closed(const PlogptTree& tree, unsigned levels, double message_bytes) {
    return plogpt_alltoall(tree, {levels, message_bytes, gap_s, latency_s, 0.2});
}

// The example of plogpt_closed.hpp: b = 3, 4; g = 8, L = 3, P = 4.
//   (23) 1 x 8 + 2 (2 x 3/4 x 8) + 3 x 3 = 41; (25) 32 + 3 = 35
TEST(PlogptAlltoall, WorkedExample) {
    const auto times = plogpt_alltoall(sample_system().tree, {2, 0, 8, 3, 0.2});
    EXPECT_DOUBLE_EQ(times.a_s, 41);
    EXPECT_DOUBLE_EQ(times.b_s, 35);
    EXPECT_TRUE(times.rto_heights.empty());
}

// (24) with Table II: B(1) = 251 us x 72.525 MB/s = 18 204 bytes,
// B(4) = 455 us x 72 MB/s = 32 760 bytes.  Strictly: B < m.
TEST(PlogptAlltoall, RtoStepsOfTable2) {
    using Heights = std::vector<unsigned>;
    const auto heights = [](unsigned levels, double bytes) {
        return plogpt_rto_heights(table_2_tree(), levels, bytes);
    };
    EXPECT_EQ(heights(5, 18.20e3), Heights{});
    EXPECT_EQ(heights(5, 18.21e3), Heights{1});
    EXPECT_EQ(heights(5, 32.75e3), Heights{1});
    EXPECT_EQ(heights(5, 32.77e3), (Heights{1, 4}));
    EXPECT_EQ(heights(2, 1e6), Heights{1}) << "4 processes do not use height 5";
    EXPECT_EQ(heights(1, 1e6), Heights{});
}

// (25) - (23) = N_RTO T_RTO - (P - 2) L
TEST(PlogptAlltoall, BPaysForTimeOuts) {
    for (const double bytes : {10e3, 25e3, 100e3}) {
        const auto times = closed(table_2_tree(), 5, bytes);
        EXPECT_NEAR(times.b_s - times.a_s,
                    0.2 * static_cast<double>(times.rto_heights.size()) - 30 * latency_s, 1e-12);
    }
}

// (26) (27): A is faster than B exactly when N_RTO > 0.
TEST(PlogptAlltoall, AIsFasterExactlyWithTimeOuts) {
    for (unsigned levels = 2; levels <= 5; ++levels) {
        for (double bytes = 1e3; bytes < 200e3; bytes *= 1.3) {
            const auto times = closed(table_2_tree(), levels, bytes);
            EXPECT_EQ(times.a_s < times.b_s, !times.rto_heights.empty()) << levels << ' ' << bytes;
        }
    }
}

// Without RTO the simulation is (23) and (25), P = 4 to 64; a tree in which b per
// leaf falls at every height: 100, 90, 60, 60, 31, 20.
TEST(PlogptAlltoall, SimulationEqualsClosedForms) {
    PlogptLinks links;
    for (const double per_leaf : {100., 90., 60., 60., 31., 20.}) {
        const auto h = static_cast<int>(links.bandwidth_bytes_per_s.size());
        links.bandwidth_bytes_per_s.push_back(std::ldexp(per_leaf, h));
    }
    links.buffer_delay_s.resize(6, 1e-3);
    const PlogptTree tree = *PlogptTree::make(links, 0.01, PlogptTree::Clamp::yes);
    for (unsigned levels = 2; levels <= 6; ++levels) {
        const auto expected = closed(tree, levels, 0);
        const double a_s = simulate(tree, Algorithm::a, levels, 0, "none").makespan_s;
        const double b_s = simulate(tree, Algorithm::b, levels, 0, "none").makespan_s;
        EXPECT_NEAR(a_s, expected.a_s, 1e-12 * expected.a_s) << levels;
        EXPECT_NEAR(b_s, expected.b_s, 1e-12 * expected.b_s) << levels;
    }
}

// With full bisection bandwidth both are PlogP, (18) and (19), also with RTO:
// there is no switch.
TEST(PlogptAlltoall, FullBisectionIsPlogp) {
    for (unsigned levels = 2; levels <= 6; ++levels) {
        const PlogptTree tree = full_bisection_tree(levels, 125e6);
        const double plogp_a = plogp_alltoall_a_s(1U << levels, gap_s, latency_s);
        const double plogp_b = plogp_alltoall_b_s(1U << levels, gap_s, latency_s);
        const auto expected = closed(tree, levels, 1e6);
        EXPECT_NEAR(expected.a_s, plogp_a, 1e-12 * plogp_a);
        EXPECT_NEAR(expected.b_s, plogp_b, 1e-12 * plogp_b);
        EXPECT_NEAR(simulate(tree, Algorithm::a, levels, 1e6, "all").makespan_s, plogp_a,
                    1e-12 * plogp_a);
        EXPECT_NEAR(simulate(tree, Algorithm::b, levels, 1e6, "all").makespan_s, plogp_b,
                    1e-12 * plogp_b);
    }
}

// The policy "all" gives (25): at each height of N_RTO everybody is delayed.
TEST(PlogptAlltoall, PolicyAllIsEquation25) {
    for (unsigned levels = 2; levels <= 5; ++levels) {
        for (const double bytes : {10e3, 25e3, 100e3}) {
            const auto expected = closed(table_2_tree(), levels, bytes);
            const PlogptRun run = simulate(table_2_tree(), Algorithm::b, levels, bytes, "all");
            EXPECT_NEAR(run.makespan_s, expected.b_s, 1e-12) << levels << ' ' << bytes;
            EXPECT_EQ(run.rto_count, expected.rto_heights.size() << levels);
        }
    }
}

// In A nobody sends at the time another ends: L lies between, more than eps_T.
TEST(PlogptAlltoall, ADoesNotTimeOut) {
    for (const char* policy : {"chrono", "random:3", "all"}) {
        const PlogptRun run = simulate(table_2_tree(), Algorithm::a, 5, 100e3, policy);
        EXPECT_EQ(run.rto_count, 0U);
        EXPECT_NEAR(run.makespan_s, closed(table_2_tree(), 5, 100e3).a_s, 1e-12);
    }
}

// One transition, at P = 4: ranks r and r xor 3 end height 1 at once and go on to
// each other's former destination.  In chrono the first of each pair is delayed,
// 0 and 1; then the other's witness is gone.  So 2 of 4, and not 4 as in "all".
TEST(PlogptAlltoall, ChronoDelaysOneOfEachPair) {
    const PlogptRun run = simulate(table_2_tree(), Algorithm::b, 2, 25e3, "chrono");
    EXPECT_EQ(run.rto_count, 2U);
    EXPECT_GE(run.makespan_s, 0.2);
    EXPECT_LT(run.makespan_s, 0.4);
}

// Section 1 of the models: B is a range, in which (25) need not be the end.
TEST(PlogptAlltoall, RangeOverSeeds) {
    const PlogptSystem system{table_2_tree(), constant_gap(gap_s), latency_s};
    const auto programs = *PlogptAlltoall::make(Algorithm::b, 32, 100e3);
    const auto range = simulate_plogpt_range(system, programs, {}, 8);
    ASSERT_TRUE(range);
    EXPECT_NEAR(range->without_rto_s, closed(table_2_tree(), 5, 0).b_s, 1e-12);
    EXPECT_GE(range->least_s, range->without_rto_s + 0.2);
    EXPECT_GT(range->most_s, range->least_s);
    const auto none = simulate_plogpt_range(system, programs, {}, 0);
    EXPECT_EQ(none->most_s, none->without_rto_s);
}

TEST(PlogptAlltoall, SeedDecidesAndRepeats) {
    const auto at = [](const char* policy) {
        return simulate(table_2_tree(), Algorithm::b, 5, 100e3, policy).makespan_s;
    };
    EXPECT_EQ(at("random:1"), at("random:1"));
    EXPECT_NE(at("random:1"), at("random:2"));
}

TEST(PlogptAlltoall, ParsesPolicies) {
    EXPECT_EQ(parse_plogpt_rto("random:18446744073709551615")->seed, UINT64_MAX);
    for (const char* wrong : {"", "None", "random", "random:", "random:x", "random:1x",
                              "random:18446744073709551616", "random:-1"}) {
        EXPECT_FALSE(parse_plogpt_rto(wrong)) << wrong;
    }
}

TEST(PlogptAlltoall, NumberOfProcesses) {
    EXPECT_TRUE(PlogptAlltoall::make(Algorithm::a, 1, 1));
    EXPECT_TRUE(PlogptAlltoall::make(Algorithm::a, 4096, 1));
    for (const std::uint32_t wrong : {0U, 4097U}) {
        EXPECT_FALSE(PlogptAlltoall::make(Algorithm::a, wrong, 1));
    }
}

/// Every process sends to every other one, in an order in which nobody receives from two at once.
TEST(PlogptAlltoall, OfAnyNumberOfProcessesIsWhole) {
    for (const std::uint32_t processes : {2U, 3U, 6U, 8U, 13U}) {
        const auto programs = *PlogptAlltoall::make(Algorithm::a, processes, 1);
        std::set<std::pair<std::uint32_t, std::uint32_t>> sent;
        for (std::uint32_t number = 0; number < programs.messages(); ++number) {
            const PlogptMessage message = programs.message(number);
            EXPECT_NE(message.source, message.destination);
            sent.insert({message.source, message.destination});
        }
        EXPECT_EQ(sent.size(), std::size_t{processes} * (processes - 1));
        for (std::uint32_t process = 0; process < processes; ++process) {
            for (std::uint32_t index = 0; index < programs.steps(process); index += 4) {
                EXPECT_EQ(programs.message(programs.step(process, index).message).destination, process);
                EXPECT_EQ(programs.message(programs.step(process, index + 1).message).source, process);
            }
        }
    }
}

/// On leaves whose edges nobody shares, P - 1 rounds of one message; at the leaves of one half, as if
/// the other were not there.
TEST(PlogptAlltoall, TakesPlaceAtOtherLeaves) {
    const PlogptTree tree = *PlogptTree::make({{100, 200, 400}, {1, 1, 1}}, plogpt_default_eps_s, PlogptTree::Clamp::yes);
    const PlogptSystem system{tree, constant_gap(gap_s), latency_s};
    const auto three = *PlogptAlltoall::make(Algorithm::a, 3, 1);
    const auto placed = [&](std::vector<std::uint32_t> leaves) {
        return simulate_plogpt(system, PlogptPlacedPrograms(three, std::move(leaves), 8), rto_of("none"))->makespan_s;
    };
    EXPECT_NEAR(placed({0, 1, 2}), 2 * (gap_s + latency_s), 1e-12);
    EXPECT_NEAR(placed({7, 2, 4}), 2 * (gap_s + latency_s), 1e-12);
    const auto four = *PlogptAlltoall::make(Algorithm::b, 4, 1);
    EXPECT_DOUBLE_EQ(simulate_plogpt(system, PlogptPlacedPrograms(four, {4, 5, 6, 7}, 8), rto_of("none"))->makespan_s,
                     simulate_plogpt(system, four, rto_of("none"))->makespan_s);
}

}  // namespace
}  // namespace headway::test
