// SPDX-License-Identifier: Apache-2.0
// A process without MPI and without headwayd that paces itself, by a planner of tests/mpi.
#include "own_pacing.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <tuple>

#include "../hang_limit.hpp"
#include "headway.h"

namespace headway::glue::test {
namespace {

using headway::test::hang_limit;
using namespace std::chrono_literals;
using Time = SendClock::Clock::time_point;

constexpr std::uint64_t message_bytes = 65536;
constexpr std::size_t frame_payload_bytes = 1448;
constexpr std::size_t a0 = 0, a1 = 1, b0 = 2, b1 = 3;

/// A planner that gives every node so many bytes of wire time per second towards each cluster.
class OwnPacingTest : public testing::Test {
protected:
    OwnPacingTest() : network_(testing::TempDir() + "own-pacing-" + std::to_string(::getpid())) {}
    ~OwnPacingTest() override { std::filesystem::remove(network_); }

    [[nodiscard]] PlannerPlan planner(std::uint64_t bytes_per_s,
                                      const std::string& more = "") const {
        std::ofstream(network_) << "{\"bytes_per_s\": " << bytes_per_s << more << "}";
        return {HEADWAY_SOURCE_DIR "/tests/mpi/fake_planner.py", network_, hang_limit};
    }
    [[nodiscard]] OwnPacing begin(std::uint64_t bytes_per_s, const std::string& own = "a0") const {
        auto begun = OwnPacing::begin(planner(bytes_per_s), hosts_, own, false);
        EXPECT_TRUE(begun) << begun.error().what;
        return std::move(*begun);
    }
    [[nodiscard]] static PatternKey alltoall() {
        return {Operation::alltoall, {0, 1, 2, 3}, no_root, Algorithm::linear};
    }

    std::string network_;
    JobHosts hosts_{{"a0", "a1", "b0", "b1"}, 2};
};

TEST_F(OwnPacingTest, EachClusterHasAClockAndEachHostItsTurn) {
    OwnPacing pacing = begin(2'000'000);  // of a node; this is one of its two processes
    const Time start{};
    ASSERT_EQ(pacing.enter(alltoall(), message_bytes, start), "");
    EXPECT_EQ(pacing.may_send(b0, message_bytes, start).bytes, frame_payload_bytes);
    EXPECT_EQ(pacing.may_send(a1, message_bytes, start).bytes, frame_payload_bytes);
    for (const std::size_t host : {a1, b1}) {
        const MaySend none = pacing.may_send(host, message_bytes, start);
        EXPECT_EQ(none.bytes, 0U);
        EXPECT_EQ(none.wait, 1538us) << "a full frame's time at a byte in a microsecond";
    }
    EXPECT_EQ(pacing.may_send(b0, message_bytes, start).wait, 2 * 1538us) << "after the turn of b1";
    EXPECT_EQ(pacing.may_send(b1, 100, start + 1538us).bytes, 100U);
    EXPECT_EQ(pacing.may_send(b1, message_bytes, start + 1538us).wait, 2 * 190us);
    EXPECT_EQ(pacing.may_send(a0, message_bytes, start).bytes, message_bytes) << "its own host";
}

TEST_F(OwnPacingTest, HostsOfAClusterBeginWithDifferentOnes) {
    for (const auto& [own, first, second] : {std::tuple{"a0", b0, b1}, std::tuple{"a1", b1, b0}}) {
        OwnPacing pacing = begin(2'000'000, own);
        ASSERT_EQ(pacing.enter(alltoall(), message_bytes, Time{}), "");
        EXPECT_EQ(pacing.may_send(second, message_bytes, Time{}).bytes, 0U) << own;
        EXPECT_EQ(pacing.may_send(first, message_bytes, Time{}).bytes, frame_payload_bytes) << own;
    }
}

TEST_F(OwnPacingTest, AGatherIsToItsRootAlone) {
    OwnPacing pacing = begin(2'000'000);
    const PatternKey gather{
        Operation::gather, {0, 1, 2, 3}, static_cast<int>(b1), Algorithm::linear};
    ASSERT_EQ(pacing.enter(gather, message_bytes, Time{}), "");
    EXPECT_EQ(pacing.may_send(b1, message_bytes, Time{}).bytes, frame_payload_bytes);
    EXPECT_EQ(pacing.may_send(b1, message_bytes, Time{}).wait, 1538us)
        << "all of the cluster's rate";
}

TEST_F(OwnPacingTest, APieceHasAsManyFramesAsThePlanAllows) {
    auto begun = OwnPacing::begin(planner(2'000'000, ", \"piece_frames\": 3"), hosts_, "a0", false);
    ASSERT_TRUE(begun) << begun.error().what;
    ASSERT_EQ(begun->enter(alltoall(), message_bytes, Time{}), "");
    EXPECT_EQ(begun->may_send(b0, message_bytes, Time{}).bytes, 3 * frame_payload_bytes);
    EXPECT_EQ(begun->may_send(b1, message_bytes, Time{}).wait, 3 * 1538us);
    EXPECT_EQ(begun->may_send(a1, 1449, Time{}).bytes, 1449U);
    EXPECT_EQ(begun->may_send(a1, 1449, Time{}).wait, 1449us + 2 * 90us) << "in two frames";
}

TEST_F(OwnPacingTest, SendsAtItsRateHoweverLateItIs) {
    OwnPacing pacing = begin(2'000'000);
    Time now{};
    ASSERT_EQ(pacing.enter(alltoall(), message_bytes, now), "");
    std::size_t sent = 0;
    for (std::size_t left = message_bytes; left > 0;) {
        const MaySend may = pacing.may_send(b0, left, now);
        now += may.wait + (may.bytes == 0 ? 20us : 0us);  // who sleeps wakes up late
        left -= may.bytes;
        sent += may.bytes;
    }
    EXPECT_EQ(sent, message_bytes);
    EXPECT_NEAR(std::chrono::duration<double>(now - Time{}).count(), 65536.0 / 1448 * 2 * 1538e-6,
                4 * 1538e-6)
        << "one of two hosts";
    now += 1s;
    EXPECT_GT(pacing.may_send(b0, 5000, now).bytes, 0U);
    EXPECT_GT(pacing.may_send(b0, 5000, now).bytes, 0U) << "a late process makes up for one piece";
    EXPECT_EQ(pacing.may_send(b0, 5000, now).bytes, 0U) << "and for no more";
}

TEST_F(OwnPacingTest, NothingIsLimitedOutsideAnExchange) {
    OwnPacing pacing = begin(1000);
    const int slack_ns = ::prctl(PR_GET_TIMERSLACK);
    EXPECT_EQ(pacing.may_send(b0, message_bytes, Time{}).bytes, message_bytes);
    ASSERT_EQ(pacing.enter(alltoall(), message_bytes, Time{}), "");
    EXPECT_EQ(::prctl(PR_GET_TIMERSLACK), 1);
    EXPECT_EQ(pacing.may_send(b0, message_bytes, Time{}).bytes, frame_payload_bytes);
    ASSERT_EQ(pacing.enter(alltoall(), message_bytes, Time{}), "") << "again, without having left";
    EXPECT_EQ(pacing.may_send(b0, message_bytes, Time{}).bytes, frame_payload_bytes);
    pacing.leave();
    EXPECT_EQ(pacing.may_send(b0, message_bytes, Time{}).bytes, message_bytes);
    EXPECT_EQ(::prctl(PR_GET_TIMERSLACK), slack_ns);
    EXPECT_EQ(pacing.may_send(100, 7, Time{}).bytes, 7U) << "there is no such host";
}

TEST_F(OwnPacingTest, WhatIsWithoutLimitIsNotPaced) {
    OwnPacing pacing = begin(0);
    ASSERT_EQ(pacing.enter(alltoall(), message_bytes, Time{}), "");
    EXPECT_EQ(pacing.may_send(b0, message_bytes, Time{}).bytes, message_bytes);
}

TEST_F(OwnPacingTest, SaysWhyThereIsNoPlan) {
    const auto why = [&](const PlannerPlan& plan, const std::string& own) {
        const auto begun = OwnPacing::begin(plan, hosts_, own, false);
        return begun ? "" : begun.error().what;
    };
    EXPECT_EQ(why(planner(1), "c0"), "c0 is none of the job's hosts");
    EXPECT_NE(why({"/nowhere/headway", "", hang_limit}, "a0").find("/nowhere/headway"),
              std::string::npos);
    EXPECT_NE(why({"/bin/true", "", hang_limit}, "a0"), "");
    auto gone = OwnPacing::begin(planner(1, ", \"answers\": 1"), hosts_, "a0", false);
    ASSERT_TRUE(gone) << gone.error().what;
    EXPECT_EQ(gone->enter(alltoall(), message_bytes, Time{}), "the planner has no answer");
    EXPECT_EQ(gone->may_send(b0, message_bytes, Time{}).bytes, message_bytes);
}

/// The C interface, with what `headway run` has in the environment.
class LibHeadwayAlone : public OwnPacingTest {
protected:
    void SetUp() override {
        const PlannerPlan plan = planner(100);  // a frame takes a quarter of a minute
        ::setenv("HEADWAY_PLANNER", plan.program.c_str(), 1);
        ::setenv("HEADWAY_NETWORK", plan.network.c_str(), 1);
        ::setenv("HEADWAY_NODE", "a0", 1);
    }
    void TearDown() override {
        headway_close(session_);
        for (const char* name : {"HEADWAY_PLANNER", "HEADWAY_NETWORK", "HEADWAY_NODE"})
            ::unsetenv(name);
    }
    headway_exchange* open(int paces_itself) {
        headway_options options{};
        options.size = sizeof(options);
        options.socket_path = "/nowhere/headway.sock";
        options.timeout_ms = static_cast<int>(std::chrono::milliseconds(hang_limit).count());
        options.paces_itself = paces_itself;
        session_ = headway_open(&options);
        EXPECT_EQ(headway_set_hosts(session_, names_.data(), names_.size(), 1), 0);
        return headway_exchange_of(session_, "alltoall", nullptr);
    }
    [[nodiscard]] std::size_t may_send(std::size_t host, std::uint64_t* wait_ns = nullptr) {
        return headway_may_send(session_, host, message_bytes, wait_ns);
    }

    std::array<const char*, 4> names_{"a0", "a1", "b0", "b1"};
    headway_session* session_ = nullptr;
};

TEST_F(LibHeadwayAlone, PacesAProgramThatAsksForIt) {
    headway_exchange* const all = open(1);
    EXPECT_EQ(headway_connected(session_), 0);
    const std::uint64_t entry = headway_enter(session_, all, message_bytes);
    ASSERT_NE(entry, 0U) << headway_reason(session_);
    std::uint64_t wait_ns = 0;
    EXPECT_EQ(may_send(b0, &wait_ns), frame_payload_bytes);
    EXPECT_EQ(wait_ns, 0U);
    EXPECT_EQ(may_send(b0, &wait_ns), 0U);
    EXPECT_GT(wait_ns, 0U);
    EXPECT_LE(wait_ns, 2 * 15'380'000'000U);
    EXPECT_EQ(may_send(b1), 0U);
    EXPECT_EQ(may_send(a0), message_bytes);
    headway_leave(session_, entry - 1);  // another's
    EXPECT_EQ(may_send(b1), 0U);
    headway_leave(session_, entry);
    EXPECT_EQ(may_send(b1), message_bytes);
    EXPECT_NE(headway_enter(session_, all, message_bytes), entry);
}

TEST_F(LibHeadwayAlone, LeavesOthersAlone) {
    headway_exchange* const all = open(0);
    EXPECT_EQ(headway_enter(session_, all, message_bytes), 0U);
    EXPECT_EQ(may_send(b0), message_bytes);
    EXPECT_EQ(headway_may_send(nullptr, b0, 7, nullptr), 7U);
}

TEST_F(LibHeadwayAlone, SaysWhatIsWrongAndPacesNothing) {
    ::setenv("HEADWAY_NODE", "c0", 1);
    headway_exchange* const all = open(1);
    for (int again = 0; again < 2; ++again) {
        EXPECT_EQ(headway_enter(session_, all, message_bytes), 0U);
        EXPECT_NE(std::string(headway_reason(session_)).find("c0 is none of the job's hosts"),
                  std::string::npos)
            << headway_reason(session_);
    }
    EXPECT_EQ(may_send(b0), message_bytes);
}

}  // namespace
}  // namespace headway::glue::test
