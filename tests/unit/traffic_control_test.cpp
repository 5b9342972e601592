// SPDX-License-Identifier: Apache-2.0
// What the netlink side sends, as the fake kernel understands it, and what it
// makes of the kernel's answers.
#include <cerrno>

#include <gtest/gtest.h>
#include <linux/if_ether.h>

#include "fake_kernel.hpp"
#include "kernel/kernel_layout.hpp"
#include "kernel/netlink_exchange.hpp"
#include "kernel/netlink_traffic_control.hpp"
#include "kernel/tc_batch.hpp"
#include "topologies.hpp"

namespace headway::test {
namespace {

using namespace std::chrono_literals;

constexpr BitsPerSecond link_rate{20 * mbit};

class TrafficControlTest : public testing::Test {
protected:
    TrafficControlTest() {
        kernel_.add_device("eth1", {1000 * mbit});
        kernel_.add_device("eth0", link_rate);
        control_.emplace(*NetlinkTrafficControl::open(kernel_, "eth0"));
    }

    FakeQdisc& root() { return kernel_.device("eth0").root; }

    void apply_all(const std::vector<Change>& changes) {
        const auto done = control_->apply(changes, ApplyMode::in_order);
        ASSERT_TRUE(done) << done.error().error.message;
    }

    FakeKernel kernel_;
    std::optional<NetlinkTrafficControl> control_;
};

const std::vector<Change> small_set_up{
    AddRootQdisc{tc_handle(1, 0)},
    AddClass{tc_handle(1, 0x10), std::nullopt},
    AddClass{tc_handle(1, 0x11), BytesPerSecond{12'345}},
};

TEST_F(TrafficControlTest, BuildsTheWholeLayout) {
    Cluster a = make_cluster(0, 4, 20, 25);
    a.prefixes.push_back(*parse_ip_prefix("fd00:1::/64"));
    a.prefixes.push_back(*parse_ip_prefix("192.168.7.5"));
    const Topology topology = *Topology::make(
        {make_cluster(1, 4, 20, 25), a, make_cluster(2, 4, 20, 25)});
    const KernelLayout layout = make_kernel_layout(topology, 1);
    apply_all(layout.set_up);

    EXPECT_EQ(root().kind, "gap");
    EXPECT_EQ(root().handle, 0x10000U);
    // The node's own cluster has 1:10; the others follow in the file's order.
    ASSERT_EQ(layout.classes.size(), 3U);
    EXPECT_EQ(layout.classes[0].cluster, 1U);
    EXPECT_EQ(layout.classes[1].cluster, 0U);
    EXPECT_EQ(layout.classes[2].cluster, 2U);
    ASSERT_EQ(root().classes.size(), 3U);
    for (const std::uint32_t classid : {0x10010U, 0x10011U, 0x10012U}) {
        EXPECT_EQ(root().classes.at(classid), FakeClass{}) << classid;
    }
    const std::vector<FakeFilter> expected{
        {10, 0x0800, 1, "10.1.0.0/16", 0x10010},
        {11, 0x86dd, 2, "fd00:1::/64", 0x10010},
        {10, 0x0800, 3, "192.168.7.5/32", 0x10010},
        {10, 0x0800, 4, "10.2.0.0/16", 0x10011},
        {10, 0x0800, 5, "10.3.0.0/16", 0x10012},
    };
    EXPECT_EQ(root().filters, expected);
    EXPECT_TRUE(kernel_.device("eth1").has_default()) << "another device was touched";
}

TEST_F(TrafficControlTest, KeepsAClassFromExpiringAndBringsItBack) {
    constexpr TcHandle guard = tc_handle(1, 2);
    const ClassLease lease{{12'500}, 2s};
    apply_all({AddRootQdisc{tc_handle(1, 0)}, AddClass{guard, std::nullopt, {}, lease}});
    FakeClass& kernels = root().classes.at(guard.value);
    EXPECT_EQ(kernels.fallback, lease.fallback);
    EXPECT_EQ(kernels.expires_ns, 2'000'000'000U);
    apply_all({RefreshClass{guard}});
    EXPECT_EQ(kernels.refreshes, 1U);
    EXPECT_EQ(control_->classes()->at(0).lease, lease);
    EXPECT_FALSE(control_->classes()->at(0).expired);

    kernel_.expire("eth0", guard.value);
    apply_all({RefreshClass{guard}, ChangeClassLease{guard, lease}});
    EXPECT_EQ(kernels.refreshes, 1U);
    EXPECT_TRUE(control_->classes()->at(0).expired);
    EXPECT_EQ(control_->classes()->at(0).rate, lease.fallback);

    const ClassLease other{{25'000}, 3s};
    apply_all({ChangeClassLease{guard, other, true}});
    EXPECT_FALSE(kernels.expired);
    EXPECT_EQ(control_->classes()->at(0).rate, std::nullopt);
    EXPECT_EQ(control_->classes()->at(0).lease, other);
}

TEST_F(TrafficControlTest, ClassWithoutALeaseHasNone) {
    apply_all(small_set_up);
    EXPECT_EQ(control_->classes()->at(0).lease, std::nullopt);
    EXPECT_FALSE(control_->apply(std::vector<Change>{ChangeClassLease{tc_handle(1, 0x10), {{1}, 1ns}}},
                                 ApplyMode::in_order));
}

TEST_F(TrafficControlTest, TablesAreGivenChangedAndRead) {
    apply_all(small_set_up);
    AddClass child{tc_handle(1, 0x1001), BytesPerSecond{12'345}, tc_handle(1, 0x10)};
    child.table = {{1, BytesPerSecond{1'000}}, {160, std::nullopt}};
    apply_all({child});
    EXPECT_EQ(root().classes.at(0x11001).table, child.table);
    EXPECT_EQ(control_->classes()->back().table, child.table);
    apply_all({ChangeClassTable{child.classid, {{2, BytesPerSecond{2'000}}, {160, BytesPerSecond{3}}}}});
    const RateTable changed{{1, BytesPerSecond{1'000}}, {2, BytesPerSecond{2'000}}, {160, BytesPerSecond{3}}};
    EXPECT_EQ(control_->classes()->back().table, changed);
    EXPECT_EQ(control_->classes()->back().rate, child.rate);
}

TEST_F(TrafficControlTest, AWholeTableFitsIntoOneMessage) {
    apply_all(small_set_up);
    RateTable whole;
    for (unsigned i = 1; i <= table_entries_max; ++i) whole[static_cast<TableEntry>(i)] = BytesPerSecond{i};
    apply_all({ChangeClassTable{tc_handle(1, 0x10), whole}});
    EXPECT_EQ(control_->classes()->front().table, whole);
    const std::vector<Change> many(50, ChangeClassTable{tc_handle(1, 0x11), whole});
    const std::size_t sends = kernel_.sends();
    ASSERT_TRUE(control_->apply(many, ApplyMode::together));
    EXPECT_EQ(kernel_.sends() - sends, 2U) << "64 KiB at a time";
}

TEST_F(TrafficControlTest, BuildsALayoutWithPhases) {
    const KernelLayout plain = make_kernel_layout(demo_topology(), 0);
    apply_all(with_phases(plain, {17, 17}).set_up);
    ASSERT_EQ(root().classes.size(), 4U);
    EXPECT_EQ(root().classes.at(0x10011).parent, 0U);
    EXPECT_EQ(root().classes.at(0x10111).parent, 0x10011U);
    ASSERT_EQ(root().filters.size(), 1U);
    EXPECT_EQ(root().filters[0].program_fd, 17);
    EXPECT_EQ(root().filters[0].classid, 0x10000U);
    EXPECT_EQ(root().filters[0].ethertype, ETH_P_ALL);

    apply_all({AddClass{tc_handle(1, 0x1001), BytesPerSecond{12'345}, tc_handle(1, 0x11)}});
    const auto states = control_->classes();
    ASSERT_TRUE(states);
    EXPECT_EQ(states->back().classid, tc_handle(1, 0x1001));
    EXPECT_EQ(states->back().parent, tc_handle(1, 0x11));
    EXPECT_EQ(states->front().parent, TcHandle{});

    const Change keeps = DeleteClass{tc_handle(1, 0x11)};
    EXPECT_FALSE(control_->apply(std::span(&keeps, 1), ApplyMode::in_order)) << "it has children";
    apply_all({DeleteClass{tc_handle(1, 0x1001)}});
    EXPECT_EQ(root().classes.size(), 4U);
}

TEST_F(TrafficControlTest, DeletesTheRoot) {
    apply_all(small_set_up);
    apply_all({DeleteRootQdisc{tc_handle(1, 0)}});
    EXPECT_TRUE(kernel_.device("eth0").has_default());
}

TEST_F(TrafficControlTest, ChangesRates) {
    apply_all(small_set_up);
    EXPECT_EQ(root().classes[0x10011].rate, BytesPerSecond{12'345});
    apply_all({ChangeClassRate{tc_handle(1, 0x11), BytesPerSecond{2'500'000}}});
    EXPECT_EQ(root().classes[0x10011].rate, BytesPerSecond{2'500'000});
    apply_all({ChangeClassRate{tc_handle(1, 0x11), std::nullopt}});
    EXPECT_EQ(root().classes[0x10011].rate, std::nullopt);
}

TEST_F(TrafficControlTest, SendsIndependentChangesInOneCall) {
    apply_all(small_set_up);
    const std::size_t sends = kernel_.sends();
    const std::vector<Change> changes{
        ChangeClassRate{tc_handle(1, 0x10), BytesPerSecond{1'000}},
        ChangeClassRate{tc_handle(1, 0x11), BytesPerSecond{2'000}},
    };
    ASSERT_TRUE(control_->apply(changes, ApplyMode::together));
    EXPECT_EQ(kernel_.sends() - sends, 1U);
    EXPECT_EQ(root().classes[0x10010].rate, BytesPerSecond{1'000});
    EXPECT_EQ(root().classes[0x10011].rate, BytesPerSecond{2'000});
}

TEST_F(TrafficControlTest, SplitsVeryManyChanges) {
    std::vector<Change> changes{AddRootQdisc{tc_handle(1, 0)}};
    for (std::uint16_t i = 0; i < 200; ++i) {
        changes.emplace_back(AddClass{tc_handle(1, static_cast<std::uint16_t>(0x10 + i)), {}});
    }
    apply_all(changes);
    changes.clear();
    for (std::uint16_t i = 0; i < 200; ++i) {
        changes.emplace_back(ChangeClassRate{tc_handle(1, static_cast<std::uint16_t>(0x10 + i)),
                                             BytesPerSecond{1'000U + i}});
    }
    const std::size_t sends = kernel_.sends();
    ASSERT_TRUE(control_->apply(changes, ApplyMode::together));
    EXPECT_EQ(kernel_.sends() - sends, 4U);
    EXPECT_EQ(root().classes[0x10010 + 199].rate, BytesPerSecond{1'199});
}

TEST_F(TrafficControlTest, StopsAtTheFirstFailureInOrder) {
    const std::vector<Change> changes{
        AddRootQdisc{tc_handle(1, 0)},
        AddClass{tc_handle(1, 0x10), std::nullopt},
        AddClass{tc_handle(1, 0x11), BytesPerSecond{link_rate.value}},  // 8 times the link
        AddClass{tc_handle(1, 0x12), std::nullopt},
    };
    const auto done = control_->apply(changes, ApplyMode::in_order);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().applied, (std::vector<std::size_t>{0, 1}));
    EXPECT_EQ(done.error().error.error_number, ERANGE);
    // The message has what was tried, the kernel's sentence, and the errno's.
    EXPECT_EQ(done.error().error.message,
              "adding class 1:11: the rate is above the link's (Numerical result out of range)");
    EXPECT_EQ(root().classes.size(), 1U);
}

TEST_F(TrafficControlTest, TellsWhichOfTheIndependentChangesFailed) {
    apply_all(small_set_up);
    const std::vector<Change> changes{
        ChangeClassRate{tc_handle(1, 0x10), BytesPerSecond{link_rate.value}},
        ChangeClassRate{tc_handle(1, 0x11), BytesPerSecond{2'000}},
        ChangeClassRate{tc_handle(1, 0x99), BytesPerSecond{2'000}},
    };
    const auto done = control_->apply(changes, ApplyMode::together);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().applied, (std::vector<std::size_t>{1}));
    EXPECT_EQ(done.error().error.error_number, ERANGE) << "the first error is told";
}

// Without NETLINK_CAP_ACK the refused request stands before the sentence.
TEST_F(TrafficControlTest, FindsTheKernelsSentenceBehindTheRequest) {
    kernel_.capped = false;
    kernel_.gap_module = false;
    const std::vector<Change> changes{AddRootQdisc{tc_handle(1, 0)}};
    const auto done = control_->apply(changes, ApplyMode::in_order);
    ASSERT_FALSE(done);
    EXPECT_NE(done.error().error.message.find("Specified qdisc kind is unknown"),
              std::string::npos);
}

TEST_F(TrafficControlTest, NeverSendsNumbersTheKernelCannotTake) {
    const std::vector<Change> zero{AddClass{tc_handle(1, 0x10), BytesPerSecond{0}}};
    const std::size_t requests = kernel_.requests();
    const auto done = control_->apply(zero, ApplyMode::in_order);
    ASSERT_FALSE(done);
    EXPECT_NE(done.error().error.message.find("adding class 1:10: rate: 8bit to"),
              std::string::npos);
    const std::vector<Change> slow{ChangeClassLease{tc_handle(1, 0x10), {{1}, 25h}}};
    EXPECT_FALSE(control_->apply(slow, ApplyMode::together));
    EXPECT_EQ(kernel_.requests(), requests);
}

TEST_F(TrafficControlTest, ReadsTheRoot) {
    auto found = control_->root_qdisc();
    ASSERT_TRUE(found && *found);
    EXPECT_EQ((*found)->kind, "fq_codel");
    EXPECT_TRUE((*found)->is_default());
    EXPECT_FALSE((*found)->link_rate);

    apply_all(small_set_up);
    found = control_->root_qdisc();
    EXPECT_EQ((*found)->kind, "gap");
    EXPECT_FALSE((*found)->is_default());
    EXPECT_EQ((*found)->handle, tc_handle(1, 0));
    EXPECT_EQ((*found)->link_rate->bits(), link_rate) << "eth1's is another";
}

TEST_F(TrafficControlTest, ReadsClasses) {
    apply_all(small_set_up);
    const auto classes = control_->classes();
    ASSERT_TRUE(classes);
    ASSERT_EQ(classes->size(), 2U);
    EXPECT_EQ((*classes)[0].classid, tc_handle(1, 0x10));
    EXPECT_EQ((*classes)[0].rate, std::nullopt);
    EXPECT_EQ((*classes)[0].wire_bytes, 1538U);
    EXPECT_EQ((*classes)[1].rate, BytesPerSecond{12'345});
}

TEST_F(TrafficControlTest, AsksAgainWhenADumpWasInterrupted) {
    apply_all(small_set_up);
    kernel_.interrupted_dumps = 3;
    const auto classes = control_->classes();
    ASSERT_TRUE(classes);
    EXPECT_EQ(classes->size(), 2U) << "classes of interrupted dumps must not count";

    kernel_.interrupted_dumps = 1000;
    const auto never = control_->classes();
    ASSERT_FALSE(never);
    EXPECT_EQ(never.error().error_number, EINTR);
}

TEST_F(TrafficControlTest, PassesOverAnswersToOtherQuestions) {
    kernel_.stray_answers = true;
    apply_all(small_set_up);
    EXPECT_EQ(control_->classes()->size(), 2U);
    EXPECT_EQ((*control_->root_qdisc())->kind, "gap");
}

TEST_F(TrafficControlTest, SilenceIsAFailureAndLateAnswersDoNotConfuse) {
    apply_all(small_set_up);
    kernel_.lost_acknowledgements = 1;
    const std::vector<Change> changes{
        ChangeClassRate{tc_handle(1, 0x10), BytesPerSecond{1'000}}};
    const auto done = control_->apply(changes, ApplyMode::together);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().error.error_number, ETIMEDOUT);
    EXPECT_TRUE(done.error().applied.empty()) << "unknown is not applied";
    EXPECT_TRUE(control_->apply(changes, ApplyMode::together));
}

// The next exchange does not suffer from what is left in a socket, or missing in it.
TEST_F(TrafficControlTest, ASilentSocketIsReplacedBeforeTheNextExchange) {
    apply_all(small_set_up);
    EXPECT_EQ(kernel_.reopens(), 0U);
    kernel_.lost_acknowledgements = 1;
    const std::vector<Change> changes{ChangeClassRate{tc_handle(1, 0x10), BytesPerSecond{1'000}},
                                      ChangeClassRate{tc_handle(1, 0x11), BytesPerSecond{2'000}}};
    const auto done = control_->apply(changes, ApplyMode::together);
    ASSERT_FALSE(done);
    EXPECT_TRUE(done.error().applied.empty()) << "one acknowledgement tells of both";
    EXPECT_EQ(kernel_.reopens(), 0U) << "not before it is needed";
    kernel_.failing_reopens = 1;
    const auto without = control_->classes();
    ASSERT_FALSE(without);
    EXPECT_EQ(without.error().error_number, EMFILE);
    EXPECT_EQ(control_->classes()->size(), 2U);
    EXPECT_EQ(kernel_.reopens(), 1U);
    EXPECT_TRUE(control_->apply(changes, ApplyMode::together));
    EXPECT_EQ(kernel_.reopens(), 1U) << "once";
}

TEST_F(TrafficControlTest, WhereTheKernelIsSilentTheRestIsNotSent) {
    apply_all(small_set_up);
    const std::vector<Change> many(200, ChangeClassRate{tc_handle(1, 0x10), BytesPerSecond{1'000}});
    kernel_.lost_acknowledgements = 1;
    const std::size_t sent = kernel_.requests();
    const auto done = control_->apply(many, ApplyMode::together);
    ASSERT_FALSE(done);
    EXPECT_EQ(kernel_.requests() - sent, 64U) << "of one system call";
    EXPECT_TRUE(done.error().applied.empty()) << "the acknowledgement of all of these is missing";
    EXPECT_EQ(done.error().error.error_number, ETIMEDOUT);
}

// The real kernel, which anybody may ask what "lo" is.
TEST(MnlTransport, ReopenedItHasItsPortAndNothingOfBefore) {
    using namespace std::chrono_literals;
    auto transport = MnlTransport::open();
    ASSERT_TRUE(transport) << transport.error().message;
    const auto soon = [] { return NetlinkTransport::Clock::now() + 20ms; };
    EXPECT_EQ(transport->receive(soon()).error().error_number, ETIMEDOUT);
    const std::uint32_t port = transport->port_id();
    NetlinkMessage question = encode_link_query("lo");
    ASSERT_TRUE(transport->send(question.bytes()));
    ASSERT_TRUE(transport->reopen());
    EXPECT_EQ(transport->port_id(), port);
    EXPECT_EQ(transport->receive(soon()).error().error_number, ETIMEDOUT) << "the answer went with the socket";
    NetlinkExchange exchange(*transport);
    const auto links = exchange.query<int>(encode_link_query("lo"),
                                           [](const nlmsghdr*) -> std::optional<int> { return 1; });
    ASSERT_TRUE(links) << links.error().message;
    EXPECT_EQ(links->size(), 1U);
}

TEST_F(TrafficControlTest, UnknownDevice) {
    const auto none = NetlinkTrafficControl::open(kernel_, "eth7");
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().message, "network interface eth7: No such device");
}

TEST(TcBatch, SaysTheSameInTcsLanguage) {
    std::vector<Change> changes = small_set_up;
    changes.emplace_back(
        AddFilter{10, 0x1f, *parse_ip_prefix("10.1.0.0/16"), tc_handle(1, 0x10)});
    changes.emplace_back(AddFilter{11, 2, *parse_ip_prefix("fd00:1::/64"), tc_handle(1, 0x11)});
    changes.emplace_back(ChangeClassRate{tc_handle(1, 0x11), BytesPerSecond{773'437}});
    changes.emplace_back(ChangeClassTable{tc_handle(1, 0x11), {{3, BytesPerSecond{125'000}}, {4, std::nullopt}}});
    changes.emplace_back(AddClass{.classid = tc_handle(1, 0x12), .rate = {}, .burst_bytes = 9362});
    changes.emplace_back(ChangeClassBurst{tc_handle(1, 0x12), 0});
    changes.emplace_back(DeleteRootQdisc{tc_handle(1, 0)});
    EXPECT_EQ(tc_batch("eth0", changes),
              "qdisc add dev eth0 root handle 1: gap bypass on\n"
              "class add dev eth0 parent 1: classid 1:10 gap rate unlimited\n"
              "class add dev eth0 parent 1: classid 1:11 gap rate 98760bit\n"
              "filter add dev eth0 parent 1: protocol ip pref 10 handle 0x1f flower dst_ip "
              "10.1.0.0/16 classid 1:10\n"
              "filter add dev eth0 parent 1: protocol ipv6 pref 11 handle 0x2 flower dst_ip "
              "fd00:1::/64 classid 1:11\n"
              "class change dev eth0 classid 1:11 gap rate 6187496bit\n"
              "class change dev eth0 classid 1:11 gap phase 3 1mbit phase 4 unlimited\n"
              "class add dev eth0 parent 1: classid 1:12 gap rate unlimited burst 9362\n"
              "class change dev eth0 classid 1:12 gap burst 0\n"
              "qdisc del dev eth0 root handle 1: gap\n");
}

// The real thing, read only: every network namespace has a loopback device.
TEST(MnlTransport, ReadsTheRunningKernel) {
    auto transport = MnlTransport::open();
    ASSERT_TRUE(transport) << transport.error().message;
    EXPECT_NE(transport->port_id(), 0U);
    auto control = NetlinkTrafficControl::open(*transport, "lo");
    ASSERT_TRUE(control) << control.error().message;
    const auto root = control->root_qdisc();
    ASSERT_TRUE(root) << root.error().message;
    const auto classes = control->classes();
    ASSERT_TRUE(classes) << classes.error().message;

    const auto none = NetlinkTrafficControl::open(*transport, "headway-none");
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().error_number, ENODEV);
}

}  // namespace
}  // namespace headway::test
