// SPDX-License-Identifier: Apache-2.0
// The self-test of gap frames against devices in memory.
#include <gtest/gtest.h>

#include "fake_clock.hpp"
#include "fake_kernel.hpp"
#include "kernel/gap_frame_test.hpp"
#include "kernel/netlink_traffic_control.hpp"
#include "topologies.hpp"

namespace headway::test {
namespace {

using namespace std::chrono_literals;

/// Sends what it is given at a rate of its own while gap frames are in use.
class DeviceInMemory {
public:
    DeviceInMemory(FakeKernel& kernel, const FakeClock& clock, double bytes_per_s)
        : kernel_(kernel), clock_(clock), bytes_per_s_(bytes_per_s) {}

    GapCounters counters() const {
        const auto ns = static_cast<std::uint64_t>((clock_.now() - sending_since_).count());
        const double sent = sending_ ? bytes_per_s_ * static_cast<double>(ns) / 1e9 : 0;
        GapCounters counters{};
        counters.stamp_ns = ns;
        counters.gap_wire_bytes = static_cast<std::uint64_t>(sent);
        counters.gap_packets = counters.gap_wire_bytes / 1538;
        if (counts) counters.device_queued_bytes = static_cast<std::uint32_t>(sent) + 3000;
        if (counts) counters.device_completed_bytes = static_cast<std::uint32_t>(sent);
        return counters;
    }
    SendFrames sender() {
        return [this](TcHandle classid, std::size_t frames) { return send(classid, frames); };
    }

    bool counts = true;
    bool has_carrier = true;
    bool fails = false;
    std::size_t sent_frames = 0;

private:
    Result<std::size_t> send(TcHandle classid, std::size_t frames) {
        if (fails) return failure("no such device");
        EXPECT_TRUE(kernel_.device("eth0").root.classes.contains(classid.value));
        if (!sending_) sending_since_ = clock_.now();
        sending_ = has_carrier;
        const std::size_t taken = std::min<std::size_t>(frames, 100);
        sent_frames += taken;
        return taken;
    }

    FakeKernel& kernel_;
    const FakeClock& clock_;
    double bytes_per_s_;
    std::chrono::nanoseconds sending_since_{0};
    bool sending_ = false;
};

class GapFrames : public testing::Test {
protected:
    GapFrames() {
        kernel_.add_device("eth0", {1000 * mbit});
        control_.emplace(*NetlinkTrafficControl::open(kernel_, "eth0"));
        const Change root = AddRootQdisc{tc_handle(1, 0)};
        EXPECT_TRUE(control_->apply(std::span(&root, 1), ApplyMode::in_order));
    }

    Result<GapFrameEvidence> test(DeviceInMemory& device) {
        GapFrameTest test(*control_, device.sender(), clock_);
        for (int step = 0; step < 10'000; ++step) {
            kernel_.device("eth0").counters = device.counters();
            auto result = test.step();
            if (!result) return tl::unexpected(result.error());
            if (*result) return **result;
            EXPECT_TRUE(root().classes.contains(0x1fff0));
            clock_.advance(GapFrameTest::step_time);
            ++steps_;
        }
        return failure("the test does not end");
    }
    GapFrameVerdict verdict_at(double bytes_per_s) {
        DeviceInMemory device(kernel_, clock_, bytes_per_s);
        const auto result = test(device);
        EXPECT_TRUE(result) << result.error().message;
        EXPECT_TRUE(root().classes.empty()) << "nothing is left behind";
        const bool passed = result->verdict == GapFrameVerdict::passed;
        EXPECT_EQ(root().backend, passed ? GAP_BACKEND_GAP : GAP_BACKEND_TIMER);
        return result->verdict;
    }
    FakeQdisc& root() { return kernel_.device("eth0").root; }

    static constexpr double gigabit = 125e6;
    FakeKernel kernel_;
    FakeClock clock_;
    std::optional<NetlinkTrafficControl> control_;
    int steps_ = 0;
};

TEST_F(GapFrames, PassWhereTheyTakeTheirTime) {
    EXPECT_EQ(verdict_at(gigabit), GapFrameVerdict::passed);
    EXPECT_LE(steps_, 10) << "50 ms";
    EXPECT_EQ(verdict_at(gigabit * 1.0001), GapFrameVerdict::passed) << "another clock";
    EXPECT_EQ(verdict_at(gigabit * 0.9999), GapFrameVerdict::passed);
}

TEST_F(GapFrames, AreLostWhereMoreIsSentThanTheLinkCarries) {
    EXPECT_EQ(verdict_at(gigabit * 2), GapFrameVerdict::lost);
    EXPECT_EQ(verdict_at(gigabit * 1.25), GapFrameVerdict::lost);
}

TEST_F(GapFrames, ASlowDeviceIsNotPacedByThem) { EXPECT_EQ(verdict_at(gigabit / 2), GapFrameVerdict::slow); }

TEST_F(GapFrames, AreNotUsedWhereNobodyCounts) {
    DeviceInMemory device(kernel_, clock_, gigabit);
    device.counts = false;
    EXPECT_EQ(test(device)->verdict, GapFrameVerdict::uncounted);
    EXPECT_EQ(root().backend, std::uint32_t{GAP_BACKEND_TIMER});
}

TEST_F(GapFrames, AreNotWaitedForWithoutACarrier) {
    DeviceInMemory device(kernel_, clock_, gigabit);
    device.has_carrier = false;
    EXPECT_EQ(test(device)->verdict, GapFrameVerdict::stalled);
    EXPECT_LE(steps_, 300);
    EXPECT_TRUE(root().classes.empty());
}

TEST_F(GapFrames, ASlowLinkTakesLonger) {
    kernel_.device("eth0").link_rate = BytesPerSecond{1'250'000};
    EXPECT_EQ(verdict_at(1'250'000), GapFrameVerdict::passed);
    EXPECT_GT(steps_, 600) << "4 MiB";
}

TEST_F(GapFrames, WhatTheKernelRefusesIsSaid) {
    kernel_.refuse = [](const nlmsghdr& request) -> std::optional<FakeKernel::Refusal> {
        if (request.nlmsg_type != RTM_NEWQDISC) return std::nullopt;
        return FakeKernel::Refusal{EOPNOTSUPP, "a gap frame takes no time on a virtual device"};
    };
    DeviceInMemory device(kernel_, clock_, gigabit);
    const auto result = test(device);
    EXPECT_EQ(result->verdict, GapFrameVerdict::refused);
    EXPECT_NE(result->reason.find("virtual device"), std::string::npos);
    EXPECT_EQ(device.sent_frames, 0U);
}

TEST_F(GapFrames, TheKernelsOwnFindingEndsTheTest) {
    DeviceInMemory device(kernel_, clock_, gigabit);
    GapFrameTest test(*control_, device.sender(), clock_);
    ASSERT_TRUE(test.step());
    root().backend = GAP_BACKEND_TIMER;
    root().reason = GAP_REASON_LOST;
    const auto result = test.step();
    ASSERT_TRUE(result && *result);
    EXPECT_EQ((*result)->verdict, GapFrameVerdict::lost);
    EXPECT_TRUE(root().classes.empty());
}

TEST_F(GapFrames, AFailureLeavesTheTimer) {
    DeviceInMemory device(kernel_, clock_, gigabit);
    GapFrameTest test(*control_, device.sender(), clock_);
    ASSERT_TRUE(test.step());
    device.fails = true;
    EXPECT_FALSE(test.step());
    EXPECT_EQ(root().backend, std::uint32_t{GAP_BACKEND_TIMER});
    EXPECT_TRUE(root().classes.empty());
}

TEST_F(GapFrames, ATestThatWasKilledIsInNobodysWay) {
    const Change left = AddClass{tc_handle(1, GapFrameTest::class_minor), BytesPerSecond{1000}};
    ASSERT_TRUE(control_->apply(std::span(&left, 1), ApplyMode::in_order));
    EXPECT_EQ(verdict_at(gigabit), GapFrameVerdict::passed);
}

TEST_F(GapFrames, AnotherQdiscIsNotTested) {
    kernel_.add_device("eth1", {1000 * mbit});
    auto other = *NetlinkTrafficControl::open(kernel_, "eth1");
    DeviceInMemory device(kernel_, clock_, gigabit);
    EXPECT_FALSE(GapFrameTest(other, device.sender(), clock_).step());
}

}  // namespace
}  // namespace headway::test
