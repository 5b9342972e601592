// SPDX-License-Identifier: Apache-2.0
// The difference between what should be and what is, without a kernel.
#include <gtest/gtest.h>

#include "fake_kernel.hpp"
#include "kernel/kernel_diff.hpp"
#include "kernel/kernel_layout.hpp"
#include "kernel/netlink_traffic_control.hpp"
#include "topologies.hpp"

namespace headway::test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t job_class_rate = 1'000'000;

/// The demo's layout with phases and one phase's class, in a fake kernel.
class KernelDiffTest : public testing::Test {
protected:
    KernelDiffTest() {
        kernel_.add_device("eth0", {20 * mbit});
        control_.emplace(*NetlinkTrafficControl::open(kernel_, "eth0"));
        const KernelLayout plain = make_kernel_layout(demo_topology(), 0, {}, {9000, 8000});
        desire_.build = with_phases(plain, {17, 17}).set_up;
        desire_.build.insert(desire_.build.end() - 1,
                             AddClass{tc_handle(1, 0x1001), BytesPerSecond{job_class_rate}, tc_handle(1, 0x11)});
        make(desire_.build);
        plain_.build = plain.set_up;
    }

    void make(const std::vector<Change>& changes) {
        const auto made = control_->apply(changes, ApplyMode::in_order);
        ASSERT_TRUE(made) << made.error().error.message;
    }
    FakeQdisc& root() { return kernel_.device("eth0").root; }
    AddClass& wanted(std::uint16_t minor) {
        for (Change& change : desire_.build) {
            auto* const one = std::get_if<AddClass>(&change);
            if (one != nullptr && one->classid == tc_handle(1, minor)) return *one;
        }
        throw std::logic_error("no such class");
    }
    KernelDiff diff() { return diff_kernel(desire_, *read_kernel(*control_)); }
    std::vector<std::string> found() {
        std::vector<std::string> texts;
        for (const Change& change : diff().changes) texts.push_back(change_to_text(change));
        return texts;
    }
    /// The changes mend what is found in one go, with nothing left to do.
    void expect_mended(const std::vector<std::string>& texts) {
        EXPECT_EQ(found(), texts);
        const FakeQdisc before = whole_;
        make(diff().changes);
        EXPECT_EQ(found(), std::vector<std::string>{});
        EXPECT_EQ(root(), before);
    }

    FakeKernel kernel_;
    std::optional<NetlinkTrafficControl> control_;
    KernelDesire desire_;
    KernelDesire plain_;
    FakeQdisc whole_;
};

using Texts = std::vector<std::string>;

TEST_F(KernelDiffTest, NothingToDo) {
    EXPECT_EQ(found(), Texts{});
    EXPECT_EQ(diff().unfinished, 0U);
    EXPECT_EQ(diff_to_text(diff()), "nothing to do");
}

TEST_F(KernelDiffTest, OfPlainFilters) {
    make({DeleteRootQdisc{root_handle}});
    make(plain_.build);
    desire_ = plain_;
    EXPECT_EQ(found(), Texts{});
    whole_ = root();
    root().filters.erase(root().filters.begin());
    std::rotate(whole_.filters.begin(), whole_.filters.begin() + 1, whole_.filters.end());
    expect_mended({"adding the filter for 10.1.0.0/16"});
}

TEST_F(KernelDiffTest, AMissingQdiscIsEverything) {
    whole_ = root();
    root() = FakeDevice{}.root;
    EXPECT_EQ(diff_to_text(diff()), "the root qdisc was gone with its classes and filters");
    make(diff().changes);
    EXPECT_EQ(root(), whole_);
}

TEST_F(KernelDiffTest, AMissingClassOrClassifier) {
    whole_ = root();
    root().classes.erase(0x10110);
    root().classes.erase(0x11001);
    root().filters.clear();
    EXPECT_EQ(diff_to_text(diff()), "it was changed: adding class 1:110, adding class 1:1001, "
                                    "adding the BPF classifier");
    expect_mended({"adding class 1:110", "adding class 1:1001", "adding the BPF classifier"});
}

TEST_F(KernelDiffTest, ParentsComeBackBeforeTheirChildren) {
    whole_ = root();
    for (const std::uint32_t gone : {0x10011, 0x10111, 0x11001}) root().classes.erase(gone);
    expect_mended({"adding class 1:11", "adding class 1:111", "adding class 1:1001"});
}

TEST_F(KernelDiffTest, RatesArePutRight) {
    root().classes.at(0x10011).rate = BytesPerSecond{job_class_rate};
    ASSERT_EQ(diff().changes.size(), 1U);
    EXPECT_EQ(std::get<ChangeClassRate>(diff().changes[0]).rate, std::nullopt);
    whole_ = root();
    whole_.classes.at(0x10011).rate.reset();
    expect_mended({"setting class 1:11 to unlimited"});
}

TEST_F(KernelDiffTest, BurstsArePutRight) {
    EXPECT_EQ(root().classes.at(0x10110).burst_bytes, 9000U);
    EXPECT_EQ(root().classes.at(0x10010).burst_bytes, 0U) << "only the leaf has packets";
    whole_ = root();
    root().classes.at(0x10110).burst_bytes = 0;
    root().classes.at(0x10111).burst_bytes = 9000;
    root().classes.at(0x11001).burst_bytes = 4000;
    expect_mended({"setting the burst of class 1:110", "setting the burst of class 1:111",
                   "setting the burst of class 1:1001"});
}

// The kernel refuses a burst to a class that has children; those with packets stay for a while.
TEST_F(KernelDiffTest, ABurstWaitsUntilTheChildrenAreGone) {
    root().classes.at(0x10110).backlog_bytes = 1000;
    make(diff_kernel(plain_, *read_kernel(*control_)).changes);
    EXPECT_EQ(root().classes.at(0x10010).burst_bytes, 0U);
    EXPECT_GT(diff_kernel(plain_, *read_kernel(*control_)).unfinished, 0U);
    root().classes.at(0x10110).backlog_bytes = 0;
    make(diff_kernel(plain_, *read_kernel(*control_)).changes);
    EXPECT_EQ(root().classes.at(0x10010).burst_bytes, 9000U);
}

// Then the module cuts all packets, and nobody asks again and again.
TEST_F(KernelDiffTest, AModuleThatIsOlderThanBursts) {
    kernel_.knows_bursts = false;
    make({DeleteRootQdisc{root_handle}});
    make(desire_.build);
    EXPECT_EQ(root().classes.at(0x10110).burst_bytes, 0U);
    EXPECT_EQ(found(), Texts{});
    make({ChangeClassBurst{tc_handle(1, 0x110), 5000}, ChangeClassRate{tc_handle(1, 0x110), BytesPerSecond{5000}}});
    EXPECT_EQ(root().classes.at(0x10110).rate, BytesPerSecond{5000});
}

TEST_F(KernelDiffTest, TablesArePutRight) {
    wanted(0x1001).table = {{1, BytesPerSecond{1000}}, {2, BytesPerSecond{30 * mbit / 8}}};
    root().classes.at(0x11001).table = {{1, BytesPerSecond{2000}}, {7, BytesPerSecond{5}}};
    whole_ = root();
    whole_.classes.at(0x11001).table = {{1, BytesPerSecond{1000}}, {2, std::nullopt}, {7, BytesPerSecond{5}}};
    expect_mended({"setting 2 rates in the table of class 1:1001"});
}

TEST_F(KernelDiffTest, WhatALinkCannotIsNoLimit) {
    wanted(0x11).rate = BytesPerSecond{30 * mbit / 8};
    EXPECT_EQ(found(), Texts{});
    root().classes.erase(0x11001);
    wanted(0x1001).rate = BytesPerSecond{30 * mbit / 8};
    make(diff().changes);
    EXPECT_EQ(root().classes.at(0x11001).rate, std::nullopt);
    EXPECT_EQ(found(), Texts{});
}

TEST_F(KernelDiffTest, OthersClassesGoOnceTheyAreEmpty) {
    whole_ = root();
    root().classes[0x10099] = FakeClass{};
    root().classes[0x1009a].parent = 0x10099;
    root().classes[0x1009b].parent = 0x10010;
    root().classes[0x1009b].backlog_bytes = 1500;
    EXPECT_EQ(found(), (Texts{"deleting class 1:9a", "deleting class 1:99"}));
    EXPECT_EQ(diff().unfinished, 1U);
    root().classes.at(0x1009b).backlog_bytes = 0;
    expect_mended({"deleting class 1:9b", "deleting class 1:9a", "deleting class 1:99"});
}

TEST_F(KernelDiffTest, OthersFiltersGo) {
    whole_ = root();
    root().classes[0x10099] = FakeClass{};
    root().filters.push_back({5, 0x0800, 7, "0.0.0.0/0", 0x10099});
    expect_mended({"deleting a flower filter with preference 5", "deleting class 1:99"});
}

TEST_F(KernelDiffTest, ANarrowedFilterIsMadeAnew) {
    make({DeleteRootQdisc{root_handle}});
    make(plain_.build);
    desire_ = plain_;
    whole_ = root();
    root().filters[1].destination = "";  // the fake shows another key
    expect_mended({"deleting a flower filter with preference 10",
                   "adding the filter for 10.2.0.0/16"});
}

TEST_F(KernelDiffTest, AnotherProgramIsReplacedInItsPlace) {
    whole_ = root();
    root().filters[0].program_fd = 16;
    expect_mended({"replacing the BPF classifier"});
}

TEST_F(KernelDiffTest, AClassBelowTheWrongParentIsMadeAnew) {
    whole_ = root();
    root().classes.at(0x11001).parent = 0x10010;
    root().classes.at(0x11001).backlog_bytes = 1500;
    expect_mended({"deleting class 1:1001", "adding class 1:1001"});
}

TEST_F(KernelDiffTest, ATrunkBelowTheWrongParentTakesItsChildrenAlong) {
    whole_ = root();
    root().classes.at(0x10011).parent = 0x10010;
    EXPECT_EQ(found(), (Texts{"deleting class 1:111", "deleting class 1:1001", "deleting class 1:11",
                              "adding class 1:11"}));
    EXPECT_EQ(diff().unfinished, 2U);
    make(diff().changes);
    expect_mended({"adding class 1:111", "adding class 1:1001"});
}

TEST_F(KernelDiffTest, AFilterDoesNotHoldAClassInTheWrongPlace) {
    make({DeleteRootQdisc{root_handle}});
    make(plain_.build);
    desire_ = plain_;
    whole_ = root();
    root().classes.at(0x10011).parent = 0x10010;
    expect_mended({"deleting a flower filter with preference 10", "deleting class 1:11",
                   "adding class 1:11", "adding the filter for 10.2.0.0/16"});
}

TEST_F(KernelDiffTest, FromPlainToPhasesAndBack) {
    const FakeQdisc with = root();
    make(diff_kernel(plain_, *read_kernel(*control_)).changes);
    make({DeleteRootQdisc{root_handle}});
    make(plain_.build);
    const FakeQdisc without = root();
    make(diff().changes);
    EXPECT_EQ(root(), with);
    make(diff_kernel(plain_, *read_kernel(*control_)).changes);
    EXPECT_EQ(root(), without);
}

TEST_F(KernelDiffTest, TellsSomebodyElsesFromOurs) {
    EXPECT_FALSE(somebody_elses(std::nullopt));
    EXPECT_FALSE(somebody_elses(RootQdisc{"fq_codel", {}, {}}));
    EXPECT_FALSE(somebody_elses(RootQdisc{"gap", root_handle, {}}));
    EXPECT_TRUE(somebody_elses(RootQdisc{"gap", tc_handle(7, 0), {}}));
    EXPECT_TRUE(somebody_elses(RootQdisc{"htb", root_handle, {}}));
}

}  // namespace
}  // namespace headway::test
