// SPDX-License-Identifier: Apache-2.0
// PlogPT's simulation of programs.
#include <random>

#include <gtest/gtest.h>

#include "plogpt_systems.hpp"

namespace headway::test {
namespace {

Result<PlogptRun> simulate(const PlogptSystem& system, const Operations& operations,
                           const PlogptRto& rto = {}) {
    const auto programs = PlogptListedPrograms::make(operations);
    if (!programs) return tl::unexpected(programs.error());
    return simulate_plogpt(system, *programs, rto, PlogptRecord::times);
}

std::string mistake(const Operations& operations) {
    const auto run = simulate(sample_system(), operations);
    return run ? "" : run.error().message;
}

// III-E: (16) (17) f_noRTO = 24/2 = 12, received at 15, the last Wait left at 26;
// Figure 12 has every time.
TEST(PlogptSimulator, SampleOfThePaper) {
    const auto run = simulate(sample_system(), sample_programs());
    ASSERT_TRUE(run);
    EXPECT_EQ(run->makespan_s, 26);
    EXPECT_EQ(run->leave_s[0], (std::vector<double>{0, 0, 12, 15, 15, 23}));
    EXPECT_EQ(run->leave_s[1], (std::vector<double>{0, 0, 12, 15}));
    EXPECT_EQ(run->leave_s[2], (std::vector<double>{0, 0, 12, 15}));
    EXPECT_EQ(run->leave_s[3], (std::vector<double>{0, 0, 12, 15, 15, 26}));
}

// (15): an Irecv is finished L after its Isend, even if that is before it was
// posted.  0 sends at once: 8 s, arrives at 11; 1 sends first to 2 (8 s), waits
// for it, and posts the Irecv only then, at 8; its Wait takes the later: 11.
TEST(PlogptSimulator, LateReceive) {
    const PlogptSystem system{full_bisection_tree(2, 3), constant_gap(8), 3};
    const auto run =
        simulate(system, {{isend(1), wait(0)}, {isend(2), wait(0), irecv(0), wait(2)},
                          {irecv(1), wait(0)}});
    ASSERT_TRUE(run);
    EXPECT_EQ(run->leave_s[1], (std::vector<double>{0, 8, 8, 11}));
    const PlogptSystem quick{full_bisection_tree(2, 3), constant_gap(8), 0};
    EXPECT_EQ(simulate(quick, {{isend(1), wait(0)}, {isend(2), wait(0), irecv(0), wait(2)},
                               {irecv(1), wait(0)}})->leave_s[1].back(), 8);
}

// Messages of a pair match in program order: of 0's two to 1, the second (longer
// by its size) belongs to 1's second Irecv.  g: 1 s per byte, one after the other.
TEST(PlogptSimulator, MatchesInProgramOrder) {
    const PlogptSystem system{full_bisection_tree(1, 1), *GapTable::make({{0, 0}, {1, 1}}), 0};
    const auto run = simulate(system, {{isend(1, 2), wait(0), isend(1, 5), wait(2)},
                                       {irecv(0), irecv(0), wait(1), wait(0)}});
    ASSERT_TRUE(run);
    EXPECT_EQ(run->leave_s[1], (std::vector<double>{0, 0, 7, 7}));
}

// (6) with a rate that changes: b = 2, 2.  0->2 has 24 bytes, 1->3 has 8.  Both
// share the edge of height 2 at 1 byte/s until 8; then 0->2 has 2 for its other
// 16: 16 s in all.
TEST(PlogptSimulator, RatesChangeOnTheWay) {
    const PlogptSystem system{
        *PlogptTree::make({{2, 2}, {0, 0}}, 0, PlogptTree::Clamp::yes),
        *GapTable::make({{0, 0}, {1, 0.5}}), 0};
    const auto run = simulate(system, {{isend(2, 24), wait(0)}, {isend(3, 8), wait(0)},
                                       {irecv(0)}, {irecv(1)}});
    ASSERT_TRUE(run);
    EXPECT_EQ(run->sent_s, (std::vector<double>{16, 8}));
}

TEST(PlogptSimulator, SelfMessagesAreSkipped) {
    const auto run = simulate(sample_system(), {{isend(0), wait(0), irecv(0), wait(2)}, {}});
    ASSERT_TRUE(run);
    EXPECT_EQ(run->makespan_s, 0);
}

TEST(PlogptSimulator, NothingToDo) {
    EXPECT_EQ(simulate(sample_system(), {})->makespan_s, 0);
    EXPECT_EQ(simulate(sample_system(), {{}, {}})->makespan_s, 0);
}

// ---------------------------------------------------------------- wrong programs

TEST(PlogptSimulator, NamesWhatDoesNotMatch) {
    EXPECT_EQ(mistake({{isend(1)}, {}}), "rank 0 op 0: the isend to 1 has no irecv");
    EXPECT_EQ(mistake({{}, {irecv(0)}}), "rank 1 op 0: the irecv from 0 has no isend");
    EXPECT_EQ(mistake({{isend(1), isend(1)}, {irecv(0)}}),
              "rank 0 op 1: the isend to 1 has no irecv");
    EXPECT_EQ(mistake({{isend(7)}, {}}), "rank 0 op 0: there is no rank 7");
    EXPECT_EQ(mistake({{isend(1), wait(1)}, {irecv(0)}}),
              "rank 0 op 1: waits for op 1, which is no earlier isend or irecv");
    EXPECT_EQ(mistake({{isend(1), wait(0), wait(1)}, {irecv(0)}}),
              "rank 0 op 2: waits for op 1, which is no earlier isend or irecv");
}

// Both wait for the other's message before they send their own.
TEST(PlogptSimulator, NamesWhoWaitsForEver) {
    EXPECT_EQ(mistake({{irecv(1), wait(0), isend(1)}, {irecv(0), wait(0), isend(0)}}),
              "rank 0 op 1: waits for ever");
}

TEST(PlogptSimulator, RefusesMoreProcessesThanLeaves) {
    EXPECT_EQ(mistake(Operations(5)), "5 processes in a tree of 4 leaves");
}

TEST(PlogptSimulator, RefusesTimesThatOverflow) {
    const PlogptSystem huge{full_bisection_tree(1, 1e300), constant_gap(1e300), 0};
    EXPECT_FALSE(simulate(huge, {{isend(1), wait(0)}, {irecv(0)}}));
}

// --------------------------------------------------------------------------- RTO

constexpr double window_s = 0.5;
constexpr double timeout_s = 100;

PlogptRto rto(PlogptRtoPolicy policy) { return {policy, 1, timeout_s, window_s}; }

/// b = 4, 8 with a switch between, buffers for 1 byte (d b = 0.25 x 4).
PlogptSystem switched_system() {
    return {*PlogptTree::make({{4, 8}, {0.25, 0.5}}, 0.01, PlogptTree::Clamp::yes),
            constant_gap(2), 3};
}

/// 1 sends to 0 from time 0 to 2; 2 sends to 0 when its message to 3 is sent, at
/// 2 as well.
Operations two_senders(double first_bytes) {
    return {{irecv(1), irecv(2)},
            {isend(0, first_bytes), wait(0)},
            {isend(3), wait(0), isend(0), wait(2)},
            {irecv(2)}};
}

// (14): all conditions hold: 2 starts to 0 when 1 ends, heights 2 and 1 have a
// switch between, B = 0.25 x 4 = 1 < 9 bytes.
TEST(PlogptSimulator, TimesOut) {
    const auto run = simulate(switched_system(), two_senders(9), rto(PlogptRtoPolicy::chrono));
    ASSERT_TRUE(run);
    EXPECT_EQ(run->rto_count, 1U);
    EXPECT_EQ(run->leave_s[1].back(), 2 + timeout_s);
    EXPECT_EQ(run->leave_s[2].back(), 4) << "1 uses no bandwidth while it waits";
}

TEST(PlogptSimulator, DoesNotTimeOutIfBuffersSuffice) {
    EXPECT_EQ(simulate(switched_system(), two_senders(1), rto(PlogptRtoPolicy::chrono))
                  ->rto_count, 0U) << "(9) is strict: B = m";
}

TEST(PlogptSimulator, DoesNotTimeOutWithoutASwitch) {
    const PlogptSystem system{full_bisection_tree(2, 4), constant_gap(2), 3};
    EXPECT_EQ(simulate(system, two_senders(9), rto(PlogptRtoPolicy::chrono))->rto_count, 0U);
}

// The witness has to be another process: 1 goes on to 0 itself.
TEST(PlogptSimulator, DoesNotTimeOutForOneself) {
    const Operations programs{{irecv(1), irecv(1)}, {isend(0, 9), wait(0), isend(0, 9), wait(2)}};
    EXPECT_EQ(simulate(switched_system(), programs, rto(PlogptRtoPolicy::chrono))->rto_count, 0U);
}

/// 1 sends to 0 from 0 to 2; 2 starts to 0 at `time`.
bool times_out_when_witness_starts_at(double time) {
    const PlogptSystem system{switched_system().tree, *GapTable::make({{1, time}, {9, 2}}), 3};
    return simulate(system, two_senders(9), rto(PlogptRtoPolicy::chrono))->rto_count > 0;
}

// |O'.e - O.f| < 0.5, on both sides.  A start at s < 2 halves the rate at 0: 1's
// message then ends at s + 2 (2 - s), so that 4 - 2 s < 0.5 is asked: s > 1.75.
TEST(PlogptSimulator, WindowHasTwoSides) {
    EXPECT_TRUE(times_out_when_witness_starts_at(1.875));
    EXPECT_FALSE(times_out_when_witness_starts_at(1.75));
    EXPECT_FALSE(times_out_when_witness_starts_at(1));
    EXPECT_TRUE(times_out_when_witness_starts_at(2.25));
    EXPECT_FALSE(times_out_when_witness_starts_at(2.5));
    EXPECT_FALSE(times_out_when_witness_starts_at(3));
}

// -------------------------------------------------------------------- properties

/// Many to few, with waits as they come; nobody waits for ever.
Operations random_programs(std::mt19937& random, std::uint32_t processes) {
    Operations programs(processes);
    for (int i = 0; i < 100; ++i) {
        const auto from = static_cast<std::uint32_t>(random() % processes);
        const auto to = static_cast<std::uint32_t>(random() % (i % 2 ? processes : 2));
        if (from == to) continue;
        programs[from].push_back(isend(to, 1 + random() % 20));
        programs[to].push_back(irecv(from));
        for (const std::uint32_t p : {from, to}) {
            const auto last = static_cast<std::uint32_t>(programs[p].size() - 1);
            if (random() % 2) programs[p].push_back(wait(last));
        }
    }
    return programs;
}

PlogptSystem random_system_16() {
    return {*PlogptTree::make({{4, 8, 10, 15}, {0.25, 0.5, 0.5, 1}}, 0.01, PlogptTree::Clamp::yes),
            *GapTable::make({{1, 0.5}, {10, 3}, {20, 4}}), 0.125};
}

// The numbering within a switch does not matter: rank r in the place of r xor x.
// Not with chrono, which decides ties by rank.
TEST(PlogptSimulator, IsFreeOfOrder) {
    std::mt19937 random(3);
    for (int i = 0; i < 20; ++i) {
        const Operations programs = random_programs(random, 16);
        for (const PlogptRtoPolicy policy : {PlogptRtoPolicy::none, PlogptRtoPolicy::all}) {
            const auto run = simulate(random_system_16(), programs, rto(policy));
            for (const std::uint32_t x : {1U, 6U, 15U}) {
                Operations moved(16);
                for (std::uint32_t r = 0; r < 16; ++r) {
                    moved[r ^ x] = programs[r];
                    for (PlogptOperation& operation : moved[r ^ x]) operation.peer ^= x;
                }
                const auto other = simulate(random_system_16(), moved, rto(policy));
                EXPECT_NEAR(other->makespan_s, run->makespan_s, 1e-9 * run->makespan_s);
                EXPECT_EQ(other->rto_count, run->rto_count);
            }
        }
    }
}

// Twice the bandwidth and half of every delay d is the same system: what is moved
// is b(1) g(m), and B = d b.  Twice every time is twice the result.  Factors of
// two are exact.
TEST(PlogptSimulator, Scales) {
    std::mt19937 random(4);
    for (int i = 0; i < 20; ++i) {
        const Operations programs = random_programs(random, 16);
        const auto run = simulate(random_system_16(), programs, rto(PlogptRtoPolicy::chrono));
        const PlogptTree fast = *PlogptTree::make(
            {{8, 16, 20, 30}, {0.125, 0.25, 0.25, 0.5}}, 0.01, PlogptTree::Clamp::yes);
        EXPECT_EQ(simulate({fast, random_system_16().gap, 0.125}, programs,
                           rto(PlogptRtoPolicy::chrono))->leave_s, run->leave_s);

        const GapTable slow = *GapTable::make({{1, 1}, {10, 6}, {20, 8}});
        const PlogptRto twice{PlogptRtoPolicy::chrono, 1, 2 * timeout_s, 2 * window_s};
        EXPECT_EQ(simulate({random_system_16().tree, slow, 0.25}, programs, twice)->makespan_s,
                  2 * run->makespan_s);
    }
}

// A wider tree around the processes changes nothing.
TEST(PlogptSimulator, IgnoresHeightsAbove) {
    std::mt19937 random(5);
    const Operations programs = random_programs(random, 4);
    const PlogptTree small = *PlogptTree::make({{4, 8}, {0.25, 0.5}}, 0, PlogptTree::Clamp::yes);
    const PlogptTree large = *PlogptTree::make({{4, 8, 1, 1, 1}, {0.25, 0.5, 1, 1, 1}}, 0,
                                               PlogptTree::Clamp::yes);
    EXPECT_EQ(simulate({small, constant_gap(1), 1}, programs)->leave_s,
              simulate({large, constant_gap(1), 1}, programs)->leave_s);
}

}  // namespace
}  // namespace headway::test
