// SPDX-License-Identifier: Apache-2.0
// A device that has its own qdiscs while nobody is paced.  What the kernel does meanwhile is tested in guests
// (tests/daemon/cases_queues.py).
#include <cerrno>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "daemon/rest_loop.hpp"
#include "fake_kernel.hpp"
#include "kernel/kernel_diff.hpp"
#include "kernel/kernel_layout.hpp"
#include "kernel/netlink_traffic_control.hpp"
#include "kernel/resting_traffic_control.hpp"
#include "topologies.hpp"

namespace headway::test {
namespace {

constexpr BytesPerSecond limit{1000};
constexpr TcHandle trunk_class = tc_handle(1, 0x11), leaf_class = tc_handle(1, 0x111);
constexpr PhaseProgram program{17, 17};

/// A kernel that has all that is wanted, and pacing by it, which may rest.
struct Node {
    explicit Node(const KernelLayout& layout, std::optional<PhaseProgram> classifier = program) {
        kernel.add_device("eth0", {20 * mbit});
        link.emplace(*NetlinkTrafficControl::open(kernel, "eth0"));
        if (!link->apply(layout.set_up, ApplyMode::in_order)) std::abort();
        pacing.emplace(*link, classifier, [] { return BitsPerSecond{20 * mbit}; });
        pacing->when_woken([this](const Result<void>& done) { woken.push_back(done.has_value()); });
    }
    FakeDevice& device() { return kernel.device("eth0"); }
    Result<void> apply(const Change& change) { return pacing->apply_one(change); }

    FakeKernel kernel;
    std::optional<NetlinkTrafficControl> link;
    std::optional<RestingTrafficControl> pacing;
    std::vector<bool> woken;
};

class Resting : public testing::Test {
protected:
    void rest() {
        const auto done = node_.pacing->rest();
        ASSERT_TRUE(done) << done.error().message;
        ASSERT_TRUE(*done);
        ASSERT_TRUE(node_.device().has_default());
    }

    Node node_{with_phases(make_kernel_layout(demo_topology(), 0), program)};
    FakeQdisc before_ = node_.device().root;
};

// A client that is paced for a moment again and again changes the qdiscs ever less often.
TEST(RestPause, IsLongerAfterEachShortRestAndShortAfterALongOne) {
    using namespace std::chrono_literals;
    RestPause pause;
    std::chrono::seconds before = pause.get();
    EXPECT_EQ(before, 5s);
    for (int rests = 0; rests < 20; ++rests) {
        pause.ended_after(1s);
        EXPECT_TRUE(pause.get() == 2 * before || pause.get() == 600s);
        before = pause.get();
    }
    EXPECT_EQ(before, 600s);
    pause.ended_after(601s);
    EXPECT_EQ(pause.get(), 5s);
}

TEST_F(Resting, GivesTheDeviceItsDefaultAndShowsWhatThereWas) {
    const auto states = [&] { return *read_kernel(*node_.pacing); };
    const KernelState awake = states();
    rest();
    const KernelState resting = states();
    EXPECT_TRUE(is_ours(resting.root));
    EXPECT_EQ(resting.root->link_rate, awake.root->link_rate);
    ASSERT_EQ(resting.classes.size(), awake.classes.size());
    for (std::size_t i = 0; i < awake.classes.size(); ++i) {
        EXPECT_EQ(resting.classes[i].classid, awake.classes[i].classid);
        EXPECT_EQ(resting.classes[i].parent, awake.classes[i].parent);
    }
    ASSERT_EQ(resting.filters.size(), awake.filters.size());
    EXPECT_EQ(resting.filters[0].program_id, program.id);
    EXPECT_EQ(*node_.pacing->rest(), true) << "again";
    EXPECT_TRUE(node_.woken.empty());
}

TEST_F(Resting, EndsWithTheFirstLimitOfAnyKind) {
    const AddClass limited{.classid = tc_handle(1, 0x2000), .rate = limit, .parent = trunk_class};
    AddClass with_entry{.classid = tc_handle(1, 0x2000), .rate = {}, .parent = trunk_class};
    with_entry.table = {{3, limit}};
    const ClassLease lease{limit, std::chrono::seconds(3)};
    for (const Change& change : std::vector<Change>{
             ChangeClassRate{trunk_class, limit}, ChangeClassTable{leaf_class, {{1, std::nullopt}, {2, limit}}},
             ChangeClassLease{trunk_class, lease}, limited, with_entry}) {
        const KernelLayout layout = with_phases(make_kernel_layout(demo_topology(), 0), program);
        Node node(layout), never(layout);
        ASSERT_TRUE(*node.pacing->rest());
        EXPECT_TRUE(node.apply(change));
        EXPECT_TRUE(never.apply(change));
        for (Node* one : {&node, &never}) {
            for (auto& [handle, found] : one->device().root.classes) found.refreshes = 0;
        }
        EXPECT_EQ(node.device().root, never.device().root) << change_to_text(change);
        EXPECT_FALSE(node.pacing->is_resting());
        EXPECT_EQ(node.woken, std::vector<bool>{true});
    }
}

// The rule: whatever is changed while pacing rests is in the kernel once it does not, as if it had never rested.
TEST_F(Resting, ChangesNothingOfWhatIsInTheKernelThen) {
    const KernelLayout layout = with_phases(make_kernel_layout(demo_topology(), 0), program);
    for (unsigned seed = 0; seed < 200; ++seed) {
        std::mt19937 random(seed);
        const auto pick = [&](unsigned count) { return static_cast<unsigned>(random() % count); };
        const auto classid = [&] { return tc_handle(1, static_cast<std::uint16_t>(0x2000 + pick(4))); };
        Node resting(layout), awake(layout);
        ASSERT_TRUE(*resting.pacing->rest());
        for (int step = 0; step < 12; ++step) {
            AddClass added{.classid = classid(), .rate = {}, .parent = pick(2) == 0 ? trunk_class : tc_handle(1, 0x10)};
            added.burst_bytes = 1538 * pick(3);
            AddClassifier classifier{static_cast<std::uint16_t>(9 + pick(2)), program, root_handle};
            classifier.replaces = true;
            const std::vector<Change> kinds{
                added, DeleteClass{classid()}, ChangeClassRate{classid(), std::nullopt},
                ChangeClassTable{classid(), {{static_cast<TableEntry>(1 + pick(5)), std::nullopt}}},
                ChangeClassBurst{leaf_class, 1538 * (1 + pick(9))}, RefreshClass{classid()}, classifier,
                DeleteFilter{root_handle, static_cast<std::uint16_t>(9 + pick(2)), ETH_P_ALL, classifier_handle, "bpf"}};
            const Change& change = kinds[pick(static_cast<unsigned>(kinds.size()))];
            EXPECT_EQ(resting.apply(change).has_value(), awake.apply(change).has_value())
                << "seed " << seed << ": " << change_to_text(change);
        }
        EXPECT_TRUE(resting.device().has_default()) << "seed " << seed;
        ASSERT_TRUE(resting.apply(ChangeClassRate{trunk_class, limit}));
        ASSERT_TRUE(awake.apply(ChangeClassRate{trunk_class, limit}));
        EXPECT_EQ(resting.device().root.classes, awake.device().root.classes) << "seed " << seed;
        const auto places = [](Node& node) {
            std::set<std::pair<std::uint16_t, int>> all;
            for (const FakeFilter& one : node.device().root.filters) all.emplace(one.preference, one.program_fd);
            return all;
        };
        EXPECT_EQ(places(resting), places(awake)) << "seed " << seed;
    }
}

TEST_F(Resting, DoesNotBeginWhileAnythingIsLimitedOrWaits) {
    const auto refuses = [&](const char* what) {
        const auto done = node_.pacing->rest();
        ASSERT_TRUE(done);
        EXPECT_FALSE(*done) << what;
        EXPECT_FALSE(node_.device().has_default()) << what;
    };
    FakeQdisc& root = node_.device().root;
    root.classes.at(leaf_class.value).rate = limit;
    refuses("a rate");
    root = before_;
    root.classes.at(leaf_class.value).table = {{7, limit}};
    refuses("an entry");
    root = before_;
    root.classes.at(trunk_class.value).expires_ns = 5;
    refuses("a lease");
    root = before_;
    root.classes.at(leaf_class.value).backlog_bytes = 1;
    refuses("a packet");
    root = before_;
    root.filters[0].program_fd = 99;
    refuses("a classifier of an earlier run");
    root = before_;
    rest();
}

// Filters of prefixes, where there are no phases; one that somebody has narrowed is nobody's to put back.
TEST_F(Resting, KeepsTheFiltersOfPrefixes) {
    Node node(make_kernel_layout(demo_topology(), 0), std::nullopt);
    const FakeQdisc before = node.device().root;
    ASSERT_TRUE(*node.pacing->rest());
    ASSERT_TRUE(node.apply(ChangeClassRate{trunk_class, limit}));
    EXPECT_EQ(node.device().root.filters, before.filters);
    ASSERT_TRUE(node.apply(ChangeClassRate{trunk_class, std::nullopt}));
    node.device().root.filters[0].destination = "not a prefix";
    EXPECT_FALSE(*node.pacing->rest());
}

TEST_F(Resting, ComesBackWithGapFrames) {
    node_.device().root.backend = GAP_BACKEND_GAP;
    rest();
    EXPECT_EQ((*node_.pacing->root_qdisc())->backend, std::uint32_t{GAP_BACKEND_GAP});
    ASSERT_TRUE(node_.apply(ChangeClassRate{trunk_class, limit}));
    EXPECT_EQ(node_.device().root.backend, std::uint32_t{GAP_BACKEND_GAP});
}

TEST_F(Resting, LeavesAnotherRootAloneAndSaysWhoseItIs) {
    rest();
    const FakeQdisc foreign{"htb", 0x70000, {}, {}};
    node_.device().root = foreign;
    EXPECT_TRUE(somebody_elses(*node_.pacing->root_qdisc()));
    const auto done = node_.apply(ChangeClassRate{trunk_class, limit});
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().error_number, EEXIST);
    EXPECT_EQ(node_.device().root, foreign);
    EXPECT_TRUE(node_.pacing->is_resting());
    EXPECT_EQ(node_.woken, std::vector<bool>{false});
    node_.device().root = FakeDevice{}.root;
    EXPECT_TRUE(node_.apply(ChangeClassRate{trunk_class, limit})) << "the next one finds it free";
}

TEST_F(Resting, AFailureOnTheWayBackLeavesNothingBehind) {
    for (const std::uint16_t type : {RTM_NEWQDISC, RTM_NEWTCLASS, RTM_NEWTFILTER}) {
        Node node(with_phases(make_kernel_layout(demo_topology(), 0), program));
        ASSERT_TRUE(*node.pacing->rest());
        node.kernel.refuse = [type](const nlmsghdr& request) -> std::optional<FakeKernel::Refusal> {
            if (request.nlmsg_type != type) return std::nullopt;
            return FakeKernel::Refusal{ENOMEM, "no memory"};
        };
        const auto done = node.apply(ChangeClassRate{trunk_class, limit});
        ASSERT_FALSE(done);
        EXPECT_EQ(done.error().error_number, ENOMEM);
        EXPECT_TRUE(node.device().has_default());
        node.kernel.refuse = nullptr;
        EXPECT_TRUE(node.apply(ChangeClassRate{trunk_class, limit}));
        EXPECT_EQ(node.device().root.classes.at(trunk_class.value).rate, limit);
    }
}

}  // namespace
}  // namespace headway::test
