// SPDX-License-Identifier: Apache-2.0
// Classes that are kept in maps instead of a qdisc gap.  What the kernel does with them, and
// with the requests for fq and clsact, is tested in guests (tests/daemon/cases_programs.py,
// tests/phase/fq_pacing_test.cpp).
#include <array>
#include <cerrno>
#include <cstring>
#include <map>

#include <gtest/gtest.h>

#include "fake_clock.hpp"
#include "fake_kernel.hpp"
#include "kernel/kernel_diff.hpp"
#include "kernel/netlink_traffic_control.hpp"
#include "phase/bpf_traffic_control.hpp"
#include "phase/map_update.hpp"

namespace headway::test {
namespace {

using namespace std::chrono_literals;

/// The arrays that the programs and headwayd share, with room for so many classes.
struct Tables {
    explicit Tables(std::size_t room) : classes(1 + room + HEADWAY_BPF_SPARE), clocks(1 + room) {}

    operator ClassTables() { return {places, classes, clocks}; }  // NOLINT(google-explicit-constructor)
    headway_bpf_clock& clock(TcHandle classid) { return clocks[HEADWAY_BPF_CLOCK_OF(places[classid.minor()])]; }

    std::vector<std::uint64_t> places = std::vector<std::uint64_t>(HEADWAY_BPF_MINORS);
    std::vector<headway_bpf_class> classes;
    std::vector<headway_bpf_clock> clocks;
};

constexpr BytesPerSecond slow{1000}, fast{2000};
constexpr TcHandle guard = tc_handle(1, 2), trunk = tc_handle(1, 0x11), shared = tc_handle(1, 0x111);

class BpfClassesOfTheKernel : public testing::Test {
protected:
    BpfClassesOfTheKernel() {
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
    Tables tables_{3};
    BpfClasses classes_{tables_};
    FakeClock clock_;
    std::optional<BpfTrafficControl> fq_;
};

TEST_F(BpfClassesOfTheKernel, AreReadAsTheyWereMade) {
    apply({AddClass{trunk, std::nullopt}, AddClass{.classid = shared, .rate = slow, .parent = trunk,
                                                   .table = {{1, fast}, {7, std::nullopt}}}});
    tables_.clock(shared) = {0, 3076, 2};
    const ClassState one = state(shared);
    EXPECT_EQ(one.parent, trunk);
    EXPECT_EQ(one.rate, slow);
    EXPECT_EQ(one.table, (RateTable{{1, fast}, {7, std::nullopt}})) << "an unlimited entry is one, too";
    EXPECT_EQ(one.wire_bytes, 3076U);
    EXPECT_EQ(one.packets, 2U);
    EXPECT_EQ(state(trunk).rate, std::nullopt);
    EXPECT_EQ(state(trunk).parent, TcHandle{});
}

TEST_F(BpfClassesOfTheKernel, Change) {
    apply({AddClass{trunk, slow}, ChangeClassRate{trunk, fast}, ChangeClassTable{trunk, {{3, slow}}}});
    EXPECT_EQ(state(trunk).rate, fast);
    EXPECT_EQ(state(trunk).table, (RateTable{{3, slow}}));
    apply({ChangeClassTable{trunk, {{4, fast}}}});
    EXPECT_EQ(state(trunk).table, (RateTable{{3, slow}, {4, fast}})) << "the others stay";
    apply({DeleteClass{trunk}});
    EXPECT_TRUE(fq_->classes()->empty());
}

TEST_F(BpfClassesOfTheKernel, LeasesEndAsThoseOfGapDo) {
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

TEST_F(BpfClassesOfTheKernel, OneThatIsThereKeepsItsRateIfThatIsAsked) {
    apply({AddClass{guard, fast}});
    AddClass again{guard, slow};
    again.keeps_rate = true;
    apply({again});
    EXPECT_EQ(state(guard).rate, fast);
}

TEST_F(BpfClassesOfTheKernel, TellWhatFailedAndWhatWasDone) {
    const std::vector<Change> changes{AddClass{trunk, slow}, ChangeClassRate{shared, slow}, AddClass{guard, slow}};
    const auto in_order = fq_->apply(changes, ApplyMode::in_order);
    ASSERT_FALSE(in_order);
    EXPECT_EQ(in_order.error().applied, std::vector<std::size_t>{0});
    EXPECT_EQ(in_order.error().error.message, "setting class 1:111 to 8 kbit/s: there is no class 1:111");
    const auto together = fq_->apply(changes, ApplyMode::together);
    ASSERT_FALSE(together);
    EXPECT_EQ(together.error().applied, (std::vector<std::size_t>{0, 2}));
    apply({AddClass{shared, slow}});
    const Change more = AddClass{tc_handle(1, 0x112), slow};
    EXPECT_FALSE(fq_->apply(std::span(&more, 1), ApplyMode::in_order));
    const Change filter = AddFilter{10, 1, *parse_ip_prefix("10.1.0.0/16"), trunk};
    EXPECT_EQ(fq_->apply(std::span(&filter, 1), ApplyMode::in_order).error().error.error_number, EOPNOTSUPP);
}

// One packet has one departure time, whatever its class.
TEST_F(BpfClassesOfTheKernel, PacketsAreAsLongAsTheShortestBurstOfAllClassesThatHavePackets) {
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

TEST_F(BpfClassesOfTheKernel, BurstsOfAnEarlierRunCount) {
    ASSERT_TRUE(classes_.put(shared.minor(), {.burst_bytes = 4 * 1538}));
    apply({AddClass{.classid = guard, .rate = {}, .burst_bytes = 50 * 1538}});
    EXPECT_EQ(kernel_.device("eth0").segments_max, 4U);
}

TEST_F(BpfClassesOfTheKernel, ALengthThatTheKernelRefusesFailsTheChange) {
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

TEST_F(BpfClassesOfTheKernel, AProgramSeesTheOldOneOrTheNewOneWhole) {
    apply({AddClass{trunk, slow}});
    const std::uint64_t before = tables_.places[trunk.minor()];
    const headway_bpf_class old = tables_.classes[HEADWAY_BPF_CLASS_OF(before)];
    tables_.clock(trunk).next_ticks = 7;
    for (unsigned i = 1; i < HEADWAY_BPF_SPARE; ++i) {
        apply({ChangeClassRate{trunk, fast}});
        ASSERT_NE(HEADWAY_BPF_CLASS_OF(tables_.places[trunk.minor()]), HEADWAY_BPF_CLASS_OF(before)) << i;
        ASSERT_EQ(std::memcmp(&tables_.classes[HEADWAY_BPF_CLASS_OF(before)], &old, sizeof(old)), 0)
            << "who reads the old one meanwhile still has it, change " << i;
    }
    EXPECT_EQ(tables_.clock(trunk).next_ticks, 7U) << "the clock stays";
}

TEST_F(BpfClassesOfTheKernel, TheNextRunFindsThem) {
    apply({AddClass{trunk, slow}, AddClass{.classid = shared, .rate = fast, .parent = trunk}, DeleteClass{trunk}});
    BpfClasses next(tables_);
    EXPECT_EQ(next.minors(), std::vector{shared.minor()});
    for (const std::uint16_t minor : {0x200, 0x201}) EXPECT_TRUE(next.put(minor, {})) << minor;
    EXPECT_EQ(next.put(0x202, {}).error().error_number, E2BIG) << "it knows which places are taken";
    EXPECT_EQ(next.find(shared.minor())->bytes_per_s[0], fast.value);
}

TEST_F(BpfClassesOfTheKernel, ANewClassHasAClockThatHasNotBegun) {
    apply({AddClass{trunk, slow}});
    tables_.clock(trunk) = {7, 8, 9};
    apply({DeleteClass{trunk}, AddClass{trunk, slow}, AddClass{shared, slow}, AddClass{guard, slow}});
    for (const TcHandle one : {trunk, shared, guard}) EXPECT_EQ(state(one).packets, 0U) << one.to_string();
}

// ------------------------------------------------------------------------ the qdisc

class BpfQdiscOfTheKernel : public BpfClassesOfTheKernel {
protected:
    void pace(bool knows_earlier) {
        fq_.emplace(*link_, classes_, clock_, [] { return BitsPerSecond{1'000'000'000}; },
                    ProgramPacing{ProgramQdisc::bpf, [this](int ifindex) -> Result<QdiscName> {
                                      claims_.push_back(ifindex);
                                      if (refusal_) return tl::unexpected(*refusal_);
                                      kernel_.other_kinds.insert("headway");
                                      return QdiscName();
                                  },
                                  knows_earlier});
    }
    [[nodiscard]] const FakeQdisc& root() { return kernel_.device("eth0").root; }

    std::vector<int> claims_;
    std::optional<Error> refusal_;
};

TEST_F(BpfQdiscOfTheKernel, IsNamedForTheDeviceAndMade) {
    pace(false);
    apply({AddRootQdisc{tc_handle(1, 0)}});
    EXPECT_EQ(claims_, std::vector{link_->ifindex()});
    EXPECT_EQ(root().kind, "headway");
    EXPECT_EQ(root().handle, root_handle_of(ProgramQdisc::bpf).value);
    EXPECT_EQ((*fq_->root_qdisc())->link_rate, BytesPerSecond{125'000'000}) << "it is ours";
}

TEST_F(BpfQdiscOfTheKernel, IsNotMadeWithoutItsName) {
    pace(false);
    refusal_ = Error{"no", EPERM};
    const Change change = AddRootQdisc{tc_handle(1, 0)};
    EXPECT_FALSE(fq_->apply(std::span(&change, 1), ApplyMode::in_order));
    EXPECT_EQ(root().kind, "fq_codel");
}

TEST_F(BpfQdiscOfTheKernel, OfAnEarlierRunIsOursIfItKnowsTheseClasses) {
    for (const bool knows : {true, false}) {
        kernel_.device("eth0").root = {"headway", root_handle_of(ProgramQdisc::bpf).value, {}, {}};
        pace(knows);
        EXPECT_EQ((*fq_->root_qdisc())->is_default(), !knows) << "else it makes room";
        apply({AddRootQdisc{tc_handle(1, 0)}});
        EXPECT_FALSE((*fq_->root_qdisc())->is_default());
    }
}

TEST_F(BpfQdiscOfTheKernel, EachProgramKnowsItsOwnRootOnly) {
    for (const ProgramQdisc other : {ProgramQdisc::fq, ProgramQdisc::bpf}) {
        for (const bool is_mq : {false, true}) {
            const TcHandle handle = is_mq ? mq_handle_of(other) : root_handle_of(other);
            const RootQdisc found{is_mq ? "mq" : kind_of(other), handle};
            EXPECT_EQ(program_qdisc_of(found), other) << found.kind << " " << handle.to_string();
            EXPECT_TRUE(is_ours(found));
            EXPECT_FALSE(program_qdisc_of(RootQdisc{"pfifo", handle}));
            EXPECT_FALSE(program_qdisc_of(RootQdisc{found.kind, tc_handle(0x8001, 0)}));
        }
    }
}

TEST_F(BpfClassesOfTheKernel, TheRootIsOursOnlyWithOurHandle) {
    const auto root = [&](const char* kind, std::uint32_t handle) {
        kernel_.device("eth0").root = {kind, handle, {}, {}};
        return **fq_->root_qdisc();
    };
    EXPECT_EQ(root("fq", root_handle_of(ProgramQdisc::fq).value).link_rate, BytesPerSecond{125'000'000});
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
