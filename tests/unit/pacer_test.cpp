// SPDX-License-Identifier: Apache-2.0
#include <cerrno>

#include <gtest/gtest.h>

#include "fake_clock.hpp"
#include "fake_kernel.hpp"
#include "kernel/netlink_traffic_control.hpp"
#include "kernel/pacing.hpp"
#include "topologies.hpp"

namespace headway::test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t own_class = 0x10010;
constexpr std::uint32_t remote_class = 0x10011;

ClassRate rate(std::uint64_t bytes_per_s) { return BytesPerSecond{bytes_per_s}; }

class PacerTest : public testing::Test {
protected:
    PacerTest() {
        kernel_.add_device("eth0", {1000 * mbit});
        control_.emplace(*NetlinkTrafficControl::open(kernel_, "eth0"));
        mirror_.emplace(*control_);
        EXPECT_TRUE(mirror_->apply(layout_.set_up, ApplyMode::in_order));
        pacer_.emplace(*mirror_, clock_, layout_);
    }

    FakeClass& in_kernel(std::uint32_t classid) {
        return kernel_.device("eth0").root.classes.at(classid);
    }
    void leave(Pacer::EnterId id) { pacer_->leave(std::span(&id, 1)); }

    /// The kernel refuses changes of that class.
    void refuse_class(std::uint32_t classid) {
        kernel_.refuse = [=](const nlmsghdr& request) -> std::optional<FakeKernel::Refusal> {
            const auto* tc = static_cast<const tcmsg*>(NLMSG_DATA(&request));
            if (request.nlmsg_type != RTM_NEWTCLASS || tc->tcm_handle != classid) return {};
            return FakeKernel::Refusal{ENOMEM, "no memory"};
        };
    }

    FakeKernel kernel_;
    FakeClock clock_;
    KernelLayout layout_ = make_kernel_layout(demo_topology(), 0);
    std::optional<NetlinkTrafficControl> control_;
    std::optional<KernelMirror> mirror_;
    std::optional<Pacer> pacer_;
};

TEST_F(PacerTest, SetsAndRestoresAtOnce) {
    const auto id = pacer_->enter({rate(1'000), rate(2'000)});
    ASSERT_TRUE(id);
    EXPECT_EQ(in_kernel(own_class).rate, rate(1'000));
    EXPECT_EQ(in_kernel(remote_class).rate, rate(2'000));

    leave(*id);
    EXPECT_EQ(in_kernel(own_class), FakeClass{});
    EXPECT_EQ(in_kernel(remote_class), FakeClass{});
}

TEST_F(PacerTest, OneSystemCallForAllClasses) {
    const auto sends = kernel_.sends();
    ASSERT_TRUE(pacer_->enter({rate(1'000), rate(2'000)}));
    EXPECT_EQ(kernel_.sends() - sends, 1U);
}

TEST_F(PacerTest, TouchesOnlyClassesWithAWish) {
    const auto requests = kernel_.requests();
    ASSERT_TRUE(pacer_->enter({std::nullopt, rate(2'000)}));
    EXPECT_EQ(kernel_.requests() - requests, 1U);
    EXPECT_EQ(in_kernel(own_class), FakeClass{});
    ASSERT_TRUE(pacer_->enter({std::nullopt, std::nullopt}));
    EXPECT_EQ(kernel_.requests() - requests, 1U);
}

TEST_F(PacerTest, TheStrictestWins) {
    const auto loose = pacer_->enter({rate(5'000), rate(5'000)});
    const auto strict = pacer_->enter({rate(9'000), rate(1'000)});
    EXPECT_EQ(in_kernel(own_class).rate, rate(5'000));
    EXPECT_EQ(in_kernel(remote_class).rate, rate(1'000));
    leave(*strict);
    EXPECT_EQ(in_kernel(remote_class).rate, rate(5'000));
    leave(*loose);
    EXPECT_EQ(in_kernel(remote_class), FakeClass{});
}

// The ranks of a node enter the same collective: one kernel change for all.
TEST_F(PacerTest, EqualWishesCostNothing) {
    const auto first = pacer_->enter({rate(1'000), rate(2'000)});
    const auto requests = kernel_.requests();
    const auto second = pacer_->enter({rate(1'000), rate(2'000)});
    leave(*first);
    EXPECT_EQ(kernel_.requests(), requests);
    EXPECT_EQ(in_kernel(remote_class).rate, rate(2'000));
    leave(*second);
    EXPECT_EQ(kernel_.requests(), requests + 2);
}

TEST_F(PacerTest, LeavingTwiceOrNothingIsHarmless) {
    const auto id = pacer_->enter({rate(1'000), rate(2'000)});
    leave(*id);
    leave(*id);
    leave(77);
    pacer_->leave({});
    EXPECT_EQ(in_kernel(remote_class), FakeClass{});
    EXPECT_EQ(pacer_->active(), 0U);
}

// --------------------------------------------------------------------- failures

// The second class is refused: the first must not stay slowed down.
TEST_F(PacerTest, ARefusedEnterLeavesNothingBehind) {
    refuse_class(remote_class);
    const auto id = pacer_->enter({rate(1'000), rate(2'000)});
    ASSERT_FALSE(id);
    EXPECT_NE(id.error().message.find("setting class 1:11 to 16 kbit/s: no memory"),
              std::string::npos)
        << id.error().message;
    EXPECT_EQ(pacer_->active(), 0U);
    kernel_.refuse = nullptr;
    EXPECT_EQ(in_kernel(own_class), FakeClass{});
    EXPECT_EQ(in_kernel(remote_class), FakeClass{});
}

TEST_F(PacerTest, ARefusedEnterKeepsWhatOthersAskedFor) {
    ASSERT_TRUE(pacer_->enter({rate(5'000), rate(5'000)}));
    refuse_class(remote_class);
    ASSERT_FALSE(pacer_->enter({rate(1'000), rate(2'000)}));
    kernel_.refuse = nullptr;
    clock_.advance(1s);
    pacer_->retry();
    EXPECT_EQ(in_kernel(own_class).rate, rate(5'000));
    EXPECT_EQ(in_kernel(remote_class).rate, rate(5'000));
    EXPECT_FALSE(pacer_->retry_at());
}

// The kernel set the rates but its answers were lost: the client was told no,
// so the rates must go, although nobody saw them come.
TEST_F(PacerTest, ALostAnswerLeavesNothingBehind) {
    kernel_.lost_acknowledgements = 1;  // of both
    ASSERT_FALSE(pacer_->enter({rate(1'000), rate(2'000)}));
    EXPECT_EQ(in_kernel(own_class), FakeClass{});
    EXPECT_EQ(in_kernel(remote_class), FakeClass{});
    EXPECT_FALSE(pacer_->retry_at());
}

TEST_F(PacerTest, RetriesUntilARateIsGone) {
    const auto id = pacer_->enter({rate(1'000), rate(2'000)});
    refuse_class(remote_class);
    leave(*id);
    const auto error = pacer_->take_error();
    ASSERT_TRUE(error);
    EXPECT_NE(error->message.find("no memory"), std::string::npos);
    EXPECT_FALSE(pacer_->take_error()) << "told once";
    ASSERT_TRUE(pacer_->retry_at());

    // Not before its time.
    const auto requests = kernel_.requests();
    pacer_->retry();
    EXPECT_EQ(kernel_.requests(), requests);

    // The pauses grow: 100 ms, 200 ms, ... and stay at 10 s.
    auto pause = *pacer_->retry_at() - clock_.now();
    EXPECT_EQ(pause, 100ms);
    for (int i = 0; i < 10; ++i) {
        clock_.advance(pause);
        pacer_->retry();
        const auto next = *pacer_->retry_at() - clock_.now();
        EXPECT_EQ(next, std::min<std::chrono::nanoseconds>(2 * pause, 10s));
        pause = next;
    }

    kernel_.refuse = nullptr;
    clock_.advance(pause);
    pacer_->retry();
    EXPECT_FALSE(pacer_->retry_at());
    EXPECT_EQ(in_kernel(remote_class), FakeClass{});
}

TEST_F(PacerTest, ALaterEnterMendsAsWell) {
    const auto id = pacer_->enter({rate(1'000), rate(2'000)});
    refuse_class(own_class);
    leave(*id);
    kernel_.refuse = nullptr;
    ASSERT_TRUE(pacer_->enter({std::nullopt, rate(3'000)}));
    EXPECT_EQ(in_kernel(own_class), FakeClass{});
    EXPECT_EQ(in_kernel(remote_class).rate, rate(3'000));
    EXPECT_FALSE(pacer_->retry_at());
}

// ----------------------------------------------------------------------- mirror

using KernelMirrorTest = PacerTest;

TEST_F(KernelMirrorTest, AsksForEntriesThatTheKernelDoesNotHave) {
    const TcHandle classid{remote_class};
    ASSERT_TRUE(mirror_->apply_one(ChangeClassTable{classid, {{1, rate(1'000)}, {2, rate(2'000)}}}));
    const auto requests = kernel_.requests();
    ASSERT_TRUE(mirror_->apply_one(ChangeClassTable{classid, {{1, rate(1'000)}, {2, rate(2'000)}}}));
    EXPECT_EQ(kernel_.requests(), requests);
    in_kernel(remote_class).table[1] = rate(7);  // by somebody else, and nobody has looked since
    ASSERT_TRUE(mirror_->apply_one(ChangeClassTable{classid, {{1, rate(1'000)}, {2, rate(3'000)}}}));
    EXPECT_EQ(in_kernel(remote_class).table, (RateTable{{1, rate(7)}, {2, rate(3'000)}}));
    ASSERT_TRUE(mirror_->classes());
    ASSERT_TRUE(mirror_->apply_one(ChangeClassTable{classid, {{1, rate(1'000)}}}));
    EXPECT_EQ(in_kernel(remote_class).table.at(1), rate(1'000));
}

TEST_F(KernelMirrorTest, WhatFailedIsInDoubt) {
    kernel_.lost_acknowledgements = 1;
    const Change change = ChangeClassRate{TcHandle{remote_class}, rate(1'000)};
    EXPECT_FALSE(mirror_->apply_one(change));
    const auto requests = kernel_.requests();
    ASSERT_TRUE(mirror_->apply_one(change));
    EXPECT_EQ(kernel_.requests(), requests + 1);
    ASSERT_TRUE(mirror_->apply_one(change));
    EXPECT_EQ(kernel_.requests(), requests + 1);
    mirror_->doubt();
    ASSERT_TRUE(mirror_->apply_one(change));
    EXPECT_EQ(kernel_.requests(), requests + 2);
}

TEST_F(KernelMirrorTest, ALaterChangeOfTheSameBatchIsMade) {
    const TcHandle classid{remote_class};
    const std::vector<Change> changes{ChangeClassRate{classid, rate(1'000)},
                                      ChangeClassRate{classid, std::nullopt}};
    ASSERT_TRUE(mirror_->apply(changes, ApplyMode::together));
    EXPECT_EQ(in_kernel(remote_class).rate, ClassRate()) << "as it was before, which is no reason";
}

TEST_F(KernelMirrorTest, TellsWhichChangesAreInTheKernel) {
    refuse_class(remote_class);
    const std::vector<Change> changes{ChangeClassRate{TcHandle{own_class}, std::nullopt},
                                      ChangeClassRate{TcHandle{remote_class}, rate(1'000)},
                                      ChangeClassRate{TcHandle{own_class}, rate(2'000)}};
    const auto done = mirror_->apply(changes, ApplyMode::together);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().applied, (std::vector<std::size_t>{0, 2})) << "the first is there already";
}

TEST_F(KernelMirrorTest, ARateBeyondTheLinkIsNone) {
    ASSERT_TRUE(mirror_->root_qdisc());
    const TcHandle classid{remote_class};
    ASSERT_TRUE(mirror_->apply_one(ChangeClassRate{classid, rate(1'000)}));
    ASSERT_TRUE(mirror_->apply_one(ChangeClassRate{classid, rate(1'000'000'000)}));
    EXPECT_EQ(in_kernel(remote_class).rate, ClassRate());
    ASSERT_TRUE(mirror_->apply_one(ChangeClassTable{classid, {{1, rate(1'000'000'000)}}}));
    EXPECT_EQ(in_kernel(remote_class).table, (RateTable{{1, std::nullopt}}));
}

// It may fall back by itself at any time.
TEST_F(KernelMirrorTest, ALeasedClassIsAlwaysAsked) {
    const TcHandle classid = tc_handle(1, 0x99);
    AddClass leased{classid, rate(1'000)};
    leased.lease = ClassLease{{10}, 1s};
    ASSERT_TRUE(mirror_->apply_one(leased));
    const auto requests = kernel_.requests();
    ASSERT_TRUE(mirror_->apply_one(ChangeClassRate{classid, rate(1'000)}));
    EXPECT_EQ(kernel_.requests(), requests + 1);
}

}  // namespace
}  // namespace headway::test
