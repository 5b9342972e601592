// SPDX-License-Identifier: Apache-2.0
// Classes that are kept in maps instead of a qdisc gap.  What the kernel does with them, and
// with the requests for fq and clsact, is tested in guests (tests/daemon/cases_fq.py,
// tests/phase/fq_pacing_test.cpp).
#include <array>
#include <cerrno>
#include <map>

#include <gtest/gtest.h>

#include "fake_clock.hpp"
#include "fake_kernel.hpp"
#include "kernel/netlink_traffic_control.hpp"
#include "phase/fq_traffic_control.hpp"
#include "phase/map_update.hpp"

namespace headway::test {
namespace {

using namespace std::chrono_literals;

class FakeFqClasses final : public FqClasses {
public:
    Result<void> put(std::uint16_t minor, const headway_fq_class& wanted) override {
        if (classes.size() == room && !classes.contains(minor)) return system_failure(E2BIG, "no room");
        classes[minor] = wanted;
        clocks.try_emplace(minor);
        return {};
    }
    void remove(std::uint16_t minor) override {
        classes.erase(minor);
        clocks.erase(minor);
    }
    std::optional<headway_fq_class> find(std::uint16_t minor) const override {
        const auto found = classes.find(minor);
        return found == classes.end() ? std::nullopt : std::optional(found->second);
    }
    headway_fq_clock clock(std::uint16_t minor) const override { return clocks.at(minor); }
    std::vector<std::uint16_t> minors() const override {
        std::vector<std::uint16_t> all;
        for (const auto& [minor, one] : classes) all.push_back(minor);
        return all;
    }

    std::map<std::uint16_t, headway_fq_class> classes;
    std::map<std::uint16_t, headway_fq_clock> clocks;
    std::size_t room = 100;
};

constexpr BytesPerSecond slow{1000}, fast{2000};
constexpr TcHandle guard = tc_handle(1, 2), trunk = tc_handle(1, 0x11), shared = tc_handle(1, 0x111);

class FqClassesOfTheKernel : public testing::Test {
protected:
    FqClassesOfTheKernel() {
        kernel_.add_device("eth0", {1'000'000'000});
        link_.emplace(*NetlinkTrafficControl::open(kernel_, "eth0"));
        fq_.emplace(*link_, classes_, clock_, [] { return BitsPerSecond{1'000'000'000}; });
    }

    void apply(std::initializer_list<Change> changes) {
        const auto done = fq_->apply(std::span(changes.begin(), changes.size()), ApplyMode::in_order);
        ASSERT_TRUE(done) << done.error().error.message;
    }
    ClassState state(TcHandle classid) {
        const auto all = fq_->classes();
        for (const ClassState& one : *all) {
            if (one.classid == classid) return one;
        }
        ADD_FAILURE() << classid.to_string() << " is not there";
        return {};
    }

    FakeKernel kernel_;
    std::optional<NetlinkTrafficControl> link_;
    FakeFqClasses classes_;
    FakeClock clock_;
    std::optional<FqTrafficControl> fq_;
};

TEST_F(FqClassesOfTheKernel, AreReadAsTheyWereMade) {
    apply({AddClass{trunk, std::nullopt}, AddClass{.classid = shared, .rate = slow, .parent = trunk,
                                                   .table = {{1, fast}, {7, std::nullopt}}}});
    classes_.clocks.at(0x111) = {0, 3076, 2};
    const ClassState one = state(shared);
    EXPECT_EQ(one.parent, trunk);
    EXPECT_EQ(one.rate, slow);
    EXPECT_EQ(one.table, (RateTable{{1, fast}, {7, std::nullopt}})) << "an unlimited entry is one, too";
    EXPECT_EQ(one.wire_bytes, 3076U);
    EXPECT_EQ(one.packets, 2U);
    EXPECT_EQ(state(trunk).rate, std::nullopt);
    EXPECT_EQ(state(trunk).parent, TcHandle{});
}

TEST_F(FqClassesOfTheKernel, Change) {
    apply({AddClass{trunk, slow}, ChangeClassRate{trunk, fast}, ChangeClassTable{trunk, {{3, slow}}}});
    EXPECT_EQ(state(trunk).rate, fast);
    EXPECT_EQ(state(trunk).table, (RateTable{{3, slow}}));
    apply({ChangeClassTable{trunk, {{4, fast}}}});
    EXPECT_EQ(state(trunk).table, (RateTable{{3, slow}, {4, fast}})) << "the others stay";
    apply({DeleteClass{trunk}});
    EXPECT_TRUE(fq_->classes()->empty());
}

TEST_F(FqClassesOfTheKernel, LeasesEndAsThoseOfGapDo) {
    const ClassLease lease{slow, 3s};
    apply({AddClass{.classid = guard, .rate = std::nullopt, .lease = lease}});
    clock_.advance(2s);
    apply({RefreshClass{guard}});
    clock_.advance(2s);
    EXPECT_FALSE(state(guard).expired);
    EXPECT_EQ(state(guard).lease, lease);
    clock_.advance(2s);
    EXPECT_TRUE(state(guard).expired);
    EXPECT_EQ(state(guard).rate, slow) << "the fallback";
    apply({RefreshClass{guard}});
    EXPECT_TRUE(state(guard).expired) << "it stays so";
    apply({ChangeClassLease{guard, lease, true}});
    EXPECT_FALSE(state(guard).expired);
    EXPECT_EQ(state(guard).rate, std::nullopt);
}

TEST_F(FqClassesOfTheKernel, OneThatIsThereKeepsItsRateIfThatIsAsked) {
    apply({AddClass{guard, fast}});
    AddClass again{guard, slow};
    again.keeps_rate = true;
    apply({again});
    EXPECT_EQ(state(guard).rate, fast);
}

TEST_F(FqClassesOfTheKernel, TellWhatFailedAndWhatWasDone) {
    const std::vector<Change> changes{AddClass{trunk, slow}, ChangeClassRate{shared, slow}, AddClass{guard, slow}};
    const auto in_order = fq_->apply(changes, ApplyMode::in_order);
    ASSERT_FALSE(in_order);
    EXPECT_EQ(in_order.error().applied, std::vector<std::size_t>{0});
    EXPECT_EQ(in_order.error().error.message, "setting class 1:111 to 8 kbit/s: there is no class 1:111");
    const auto together = fq_->apply(changes, ApplyMode::together);
    ASSERT_FALSE(together);
    EXPECT_EQ(together.error().applied, (std::vector<std::size_t>{0, 2}));
    classes_.room = 2;
    const Change more = AddClass{shared, slow};
    EXPECT_FALSE(fq_->apply(std::span(&more, 1), ApplyMode::in_order));
    const Change filter = AddFilter{10, 1, *parse_ip_prefix("10.1.0.0/16"), trunk};
    EXPECT_EQ(fq_->apply(std::span(&filter, 1), ApplyMode::in_order).error().error.error_number, EOPNOTSUPP);
}

// One packet has one departure time, whatever its class.
TEST_F(FqClassesOfTheKernel, PacketsAreAsLongAsTheShortestBurstOfAllClassesThatHavePackets) {
    constexpr std::uint32_t frame_bytes = 1538;
    const auto segments = [&] { return kernel_.device("eth0").segments_max; };
    apply({AddClass{.classid = trunk, .rate = {}, .burst_bytes = 10 * frame_bytes}});
    EXPECT_EQ(segments(), 10U);
    apply({AddClass{.classid = shared, .rate = {}, .parent = trunk, .burst_bytes = 7 * frame_bytes - 1}});
    EXPECT_EQ(segments(), 6U);
    apply({ChangeClassBurst{shared, 100 * frame_bytes}});
    EXPECT_EQ(segments(), 100U) << "the packets of the parent are its child's";
    EXPECT_EQ(state(shared).burst_bytes, 100 * frame_bytes);
    apply({AddClass{guard, slow}});
    EXPECT_EQ(segments(), 1U) << "it has no burst";
    apply({DeleteClass{guard}});
    EXPECT_EQ(segments(), 100U);
    apply({ChangeClassBurst{shared, frame_bytes - 1}});
    EXPECT_EQ(segments(), 1U);
    kernel_.device("eth0").own_segments_max = 20;
    ASSERT_TRUE(link_->find_device());
    apply({ChangeClassBurst{shared, 100 * frame_bytes}});
    EXPECT_EQ(segments(), 20U) << "the device can do no more";
}

TEST_F(FqClassesOfTheKernel, BurstsOfAnEarlierRunCount) {
    classes_.put(shared.minor(), {.burst_bytes = 4 * 1538});
    apply({AddClass{.classid = guard, .rate = {}, .burst_bytes = 50 * 1538}});
    EXPECT_EQ(kernel_.device("eth0").segments_max, 4U);
}

TEST_F(FqClassesOfTheKernel, ALengthThatTheKernelRefusesFailsTheChange) {
    kernel_.refuse = [](const nlmsghdr& request) -> std::optional<FakeKernel::Refusal> {
        if (request.nlmsg_type != RTM_SETLINK) return std::nullopt;
        return FakeKernel::Refusal{EINVAL, "no"};
    };
    const Change change = AddClass{.classid = shared, .rate = {}, .burst_bytes = 4 * 1538};
    const auto done = fq_->apply(std::span(&change, 1), ApplyMode::together);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().applied, std::vector<std::size_t>{0});
    EXPECT_NE(done.error().error.message.find("setting gso_max_segs to 4: "), std::string::npos)
        << done.error().error.message;
    kernel_.refuse = nullptr;
    apply({ChangeClassBurst{shared, 4 * 1538}});
    EXPECT_EQ(kernel_.device("eth0").segments_max, 4U) << "the next change sets it";
}

TEST_F(FqClassesOfTheKernel, TheRootIsOursOnlyWithOurHandle) {
    const auto root = [&](const char* kind, std::uint32_t handle) {
        kernel_.device("eth0").root = {kind, handle, {}, {}};
        return **fq_->root_qdisc();
    };
    EXPECT_EQ(root("fq", fq_root_handle.value).link_rate, BytesPerSecond{125'000'000});
    EXPECT_EQ(root("fq", 0x80010000).link_rate, std::nullopt);
    EXPECT_TRUE(root("gap", 0x10000).is_default()) << "an earlier run's makes room";
    EXPECT_FALSE(root("htb", 0x10000).is_default());
}

// ------------------------------------------------------------------------ elements of maps

/// Returns the answer of an update that finds no memory so many times, how often it was tried, and
/// how often it waited.
std::array<int, 3> updated(int without_memory, int then) {
    int attempts = 0, pauses = 0;
    const int answer = repeated_without_memory([&] { return attempts++ < without_memory ? -ENOMEM : then; },
                                               [&] { ++pauses; });
    return {answer, attempts, pauses};
}

TEST(MapUpdate, IsRepeatedUntilTheKernelHasRefilledItsReserve) {
    EXPECT_EQ(updated(0, 0), (std::array{0, 1, 0}));
    EXPECT_EQ(updated(3, 0), (std::array{0, 4, 3}));
    EXPECT_EQ(updated(map_update_attempts - 1, 0), (std::array{0, map_update_attempts, map_update_attempts - 1}));
}

TEST(MapUpdate, TellsWhatNoRepetitionMends) {
    EXPECT_EQ(updated(0, -E2BIG), (std::array{-E2BIG, 1, 0}));
    EXPECT_EQ(updated(2, -EEXIST), (std::array{-EEXIST, 3, 2}));
    EXPECT_EQ(updated(1000, 0), (std::array{-ENOMEM, map_update_attempts, map_update_attempts - 1}));
}

}  // namespace
}  // namespace headway::test
