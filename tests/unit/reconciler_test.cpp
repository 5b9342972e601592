// SPDX-License-Identifier: Apache-2.0
// Others change the kernel; the reconciler puts it right.
#include <cerrno>

#include "control_service_fixture.hpp"
#include "daemon/kernel_setup.hpp"
#include "fake_phase_maps.hpp"
#include "kernel/reconciler.hpp"

namespace headway::test {
namespace {

class ReconcilerTest : public ControlServiceTest {
protected:
    ReconcilerTest() {
        reconciler_.emplace(service_->kernel(), clock_, *service_);
        service_->status().show(reconciler_->status());
    }

    void use_phases() {
        const auto layout = with_phases(service_->planner().layout(), {17, 17});
        device().root = FakeDevice{}.root;
        ASSERT_TRUE(control_->apply(layout.set_up, ApplyMode::in_order));
        service_->use_phases(maps_, {17, 17});
    }
    FakeDevice& device() { return kernel_.device("eth0"); }

    /// Somebody has done something: the monitor tells, and passes come as they are due.
    void settle() {
        reconciler_->notice();
        for (int i = 0; i < 100 && reconciler_->due_at(); ++i) {
            if (!reconciler_->is_due()) clock_.advance(*reconciler_->due_at() - clock_.now());
            reconciler_->run();
        }
        EXPECT_FALSE(reconciler_->due_at());
    }
    void refuse(std::uint16_t type) {
        kernel_.refuse = [type](const nlmsghdr& request) -> std::optional<FakeKernel::Refusal> {
            if (request.nlmsg_type != type) return std::nullopt;
            return FakeKernel::Refusal{ENOMEM, "no memory for a test"};
        };
    }
    Json status() { return ask(connect(), "status"); }

    FakePhaseMaps maps_{2};
    std::optional<Reconciler> reconciler_;
};

TEST_F(ReconcilerTest, ADeletedQdiscComesBackWithTheRatesOfCollectives) {
    const auto client = connect();
    ask(client, "enter", everybody);
    const FakeQdisc before = device().root;
    EXPECT_EQ(before.classes.at(remote_class).rate, planned);
    device().root = FakeDevice{}.root;
    reconciler_->notice();
    EXPECT_TRUE(reconciler_->is_due());
    reconciler_->run();
    EXPECT_EQ(device().root, before);
    EXPECT_EQ(status()["reconcile"]["mended"], 1);
    ask(client, "leave");
    expect_at_rest();
}

TEST_F(ReconcilerTest, AndWithTheTablesOfPhases) {
    use_phases();
    const auto client = connect();
    ask(client, "join", {{"job", "1"}});
    EXPECT_EQ(ask(client, "rate", {{"bytes_per_s", 100'000}})["phase"], 1);
    const FakeQdisc before = device().root;
    EXPECT_EQ(before.classes.at(0x10111).table.size(), 1U);
    device().root = FakeDevice{}.root;
    settle();
    EXPECT_EQ(device().root, before);
    EXPECT_EQ(ask(client, "rate", {{"bytes_per_s", 100'000}})["phase"], 1);
    EXPECT_EQ(device().root, before);
}

TEST_F(ReconcilerTest, AChangedRateIsPutRight) {
    const auto client = connect();
    ask(client, "enter", everybody);
    in_kernel(remote_class).rate = std::nullopt;
    settle();
    EXPECT_EQ(in_kernel(remote_class).rate, planned);
}

TEST_F(ReconcilerTest, WhatIsRefusedIsTriedAgainWithGrowingPauses) {
    device().root = FakeDevice{}.root;
    refuse(RTM_NEWTFILTER);
    reconciler_->notice();
    std::chrono::nanoseconds pause{};
    for (const auto expected : {100ms, 200ms, 400ms}) {
        reconciler_->run();
        pause = *reconciler_->due_at() - clock_.now();
        EXPECT_EQ(pause, expected);
        EXPECT_FALSE(reconciler_->is_due());
        clock_.advance(pause);
    }
    const Json shown = status();
    EXPECT_EQ(shown["in_step"], false);
    EXPECT_EQ(shown["reconcile"]["failed"],
              (Json{"adding the filter for 10.1.0.0/16", "adding the filter for 10.2.0.0/16"}));
    EXPECT_NE(shown["reconcile"]["error"].get<std::string>().find("no memory for a test"),
              std::string::npos);
    EXPECT_EQ(device().root.classes.size(), 2U) << "the others are there all the same";
    for (int i = 0; i < 20; ++i) {
        reconciler_->run();
        EXPECT_LE(*reconciler_->due_at() - clock_.now(), 10s);
        clock_.advance(*reconciler_->due_at() - clock_.now());
    }
    kernel_.refuse = nullptr;
    settle();
    EXPECT_EQ(status()["in_step"], true);
    EXPECT_EQ(device().root.filters.size(), 2U);
    EXPECT_EQ(status()["reconcile"]["error"], nullptr);
}

TEST_F(ReconcilerTest, ACollectiveIsNotEnteredWhileItsClassIsMissing) {
    device().root = FakeDevice{}.root;
    refuse(RTM_NEWTCLASS);
    reconciler_->notice();
    reconciler_->run();
    EXPECT_EQ(ask(connect(), "enter", everybody)["ok"], false);
    kernel_.refuse = nullptr;
    settle();
    EXPECT_EQ(ask(connect(), "enter", everybody)["ok"], true);
    EXPECT_EQ(in_kernel(remote_class).rate, planned);
}

TEST_F(ReconcilerTest, SomebodyElsesQdiscStaysUntilItGoes) {
    const FakeQdisc foreign{"fq", 0x80010000, {}, {}};
    device().root = foreign;
    reconciler_->notice();
    reconciler_->run();
    EXPECT_EQ(device().root, foreign);
    EXPECT_NE(status()["reconcile"]["error"].get<std::string>().find("somebody else"),
              std::string::npos);
    EXPECT_FALSE(reconciler_->is_due());
    device().root = FakeDevice{}.root;
    reconciler_->notice();
    EXPECT_TRUE(reconciler_->is_due()) << "news count more than a pause";
    settle();
    EXPECT_EQ(device().root.kind, "gap");
}

TEST_F(ReconcilerTest, WhoNeverStopsIsAnsweredOnceASecond) {
    const auto begin = clock_.now();
    std::size_t passes = 0;
    while (clock_.now() - begin < 60s) {
        device().root.classes.erase(remote_class);
        device().root.filters.clear();
        reconciler_->notice();
        if (reconciler_->is_due()) {
            reconciler_->run();
            ++passes;
        }
        clock_.advance(1ms);
    }
    EXPECT_GT(passes, 55U);
    EXPECT_LT(passes, 75U);
    settle();
    clock_.advance(11s);
    device().root = FakeDevice{}.root;
    reconciler_->notice();
    EXPECT_TRUE(reconciler_->is_due()) << "once it has been calm, the first one is answered at once";
    reconciler_->run();
    EXPECT_EQ(device().root.kind, "gap");
}

TEST_F(ReconcilerTest, AnInterfaceMadeAnewIsFoundByItsName) {
    kernel_.remove_device("eth0");
    reconciler_->notice();
    reconciler_->run();
    EXPECT_NE(status()["reconcile"]["error"].get<std::string>().find("network interface eth0"),
              std::string::npos);
    kernel_.remake_device("eth0");
    settle();
    EXPECT_EQ(device().root.kind, "gap");
    EXPECT_EQ(device().root.filters.size(), 2U);
    EXPECT_EQ(ask(connect(), "enter", everybody)["ok"], true);
    EXPECT_EQ(in_kernel(remote_class).rate, planned);
}

TEST_F(ReconcilerTest, InterruptedDumpsAreAskedForAgain) {
    device().root.classes.erase(remote_class);
    kernel_.interrupted_dumps = 5;
    settle();
    EXPECT_EQ(device().root.classes.size(), 2U);
    EXPECT_EQ(status()["reconcile"]["error"], nullptr);
    kernel_.interrupted_dumps = 1000;
    reconciler_->notice();
    clock_.advance(1s);
    reconciler_->run();
    EXPECT_TRUE(reconciler_->status().error);
    kernel_.interrupted_dumps = 0;
    settle();
}

TEST_F(ReconcilerTest, ALinkOfAnotherSpeed) {
    use_phases();
    const auto client = connect();
    ask(client, "join", {{"job", "1"}});
    const auto before = ask(client, "rate", {{"bytes_per_s", 2'000'000}})["generation"];
    device().link_rate = {10 * mbit / 8};
    settle();
    EXPECT_EQ(service_->link_rate().bits().value, 10 * mbit);
    EXPECT_EQ(status()["daemon"]["link_bits_per_s"], 10 * mbit);
    const Json again = ask(client, "rate", {{"bytes_per_s", 2'000'000}});
    EXPECT_NE(again["generation"], before) << "answers are out of date";
    EXPECT_EQ(again["phase"], 0) << "the link is slower anyway";
    device().root = FakeDevice{}.root;
    settle();
    device().link_rate = {20 * mbit / 8};
    settle();
    EXPECT_EQ(device().root.classes.at(0x10111).table.at(1), ClassRate{BytesPerSecond{2'000'000}});
}

// ---------------------------------------------------------------------- restart

class AdoptTest : public ReconcilerTest {
protected:
    using Choice = FakePhaseMaps::Choice;
    /// Another daemon on the kernel as the last one left it.
    SetUpReport restart() {
        auto planner = *NodePlanner::make(demo_config(), "unused");
        const auto layout = with_phases(planner.layout(), {18, 18});
        const auto report = set_up_kernel(*control_, layout, {20 * mbit});
        EXPECT_TRUE(report) << report.error().message;
        service_.emplace(planner_.emplace(std::move(planner)), report->link_rate, *control_, clock_);
        leave_resting_packets(next_maps_, report->earlier_program.has_value());
        service_->use_phases(next_maps_, {18, 18});
        if (report->is_adopted) service_->adopt(report->found, report->earlier_program);
        reconciler_.emplace(service_->kernel(), clock_, *service_);
        return *report;
    }

    void expect_rest() {
        EXPECT_EQ(in_kernel(own_class).rate, std::nullopt);
        EXPECT_EQ(in_kernel(remote_class).rate, std::nullopt);
    }

    FakePhaseMaps next_maps_{2};
};

TEST_F(AdoptTest, TheQdiscAndItsRatesStay) {
    use_phases();
    const auto client = connect();
    ask(client, "join", {{"job", "1"}});
    ask(client, "rate", {{"bytes_per_s", 100'000}});
    ask(client, "enter", everybody);
    FakeQdisc before = device().root;
    kernel_.refuse = [](const nlmsghdr& request) -> std::optional<FakeKernel::Refusal> {
        const bool removes =
            request.nlmsg_type == RTM_DELQDISC || request.nlmsg_type == RTM_DELTCLASS;
        if (removes) return FakeKernel::Refusal{EPERM, "nothing is to go"};
        return std::nullopt;
    };
    EXPECT_EQ(restart().earlier_program, 17U);
    EXPECT_EQ(next_maps_.classify(1), (Choice{0, 0})) << "the earlier run's classifier decides";
    before.filters.push_back(before.filters[0]);
    before.filters[1].preference = 9;
    before.filters[1].program_fd = 18;
    EXPECT_EQ(device().root, before);
    settle();
    EXPECT_EQ(device().root, before) << "what was found is what is desired";

    // A client that comes back finds its class, and no other is made.
    const auto again = connect();
    ask(again, "join", {{"job", "1"}});
    EXPECT_EQ(ask(again, "rate", {{"bytes_per_s", 100'000}})["phase"], 1);
    EXPECT_EQ(device().root, before);
    ask(again, "enter", everybody);
    service_->release_adopted();
    EXPECT_EQ(next_maps_.classify(1), (Choice{0x111, 0}));
    settle();
    before.filters = {before.filters[1]};
    before.filters[0].preference = 10;
    EXPECT_EQ(device().root, before) << "its collective wants the same";
    ask(again, "leave");
    expect_rest();
}

TEST_F(AdoptTest, RatesThatNobodyWantsGoInTheEnd) {
    use_phases();
    ask(connect(0), "enter", everybody);
    restart();
    EXPECT_EQ(in_kernel(remote_class).rate, planned);
    EXPECT_EQ(status()["active_enters"], 0);
    service_->release_adopted();
    expect_rest();
    settle();
    expect_rest();
}

TEST_F(AdoptTest, AnEarlierRunsClassifierIsNotMissed) {
    use_phases();
    restart();
    device().root = FakeDevice{}.root;
    settle();
    EXPECT_EQ(next_maps_.classify(1), (Choice{0x111, 0}));
    ASSERT_EQ(device().root.filters.size(), 1U);
    EXPECT_EQ(device().root.filters[0].program_fd, 18);
    EXPECT_EQ(device().root.filters[0].preference, 10);
}

TEST_F(AdoptTest, AnEarlierRunThatWasTakingOver) {
    use_phases();
    device().root.filters.push_back({9, 0x0003, 1, "", 0x10000, 16});
    EXPECT_EQ(restart().earlier_program, 17U);
    ASSERT_EQ(device().root.filters.size(), 2U);
    EXPECT_EQ(device().root.filters[0].program_fd, 17);
    EXPECT_EQ(device().root.filters[1].program_fd, 18);
}

TEST_F(AdoptTest, AnEarlierRunWithoutPhases) {
    const auto report = restart();
    EXPECT_TRUE(report.is_adopted);
    EXPECT_EQ(device().root.classes.size(), 4U);
    ASSERT_EQ(device().root.filters.size(), 1U);
    EXPECT_EQ(device().root.filters[0].program_fd, 18);
}

TEST_F(AdoptTest, WhatCannotBeTakenOverIsMadeAnew) {
    device().root.classes[own_class].backlog_bytes = 1;
    int refusals = 1;
    kernel_.refuse = [&](const nlmsghdr& request) -> std::optional<FakeKernel::Refusal> {
        if (request.nlmsg_type != RTM_NEWTCLASS || refusals-- <= 0) return std::nullopt;
        return FakeKernel::Refusal{EBUSY, "it holds packets"};
    };
    const auto report = restart();
    EXPECT_FALSE(report.is_adopted);
    ASSERT_TRUE(report.not_adopted);
    EXPECT_NE(report.not_adopted->message.find("it holds packets"), std::string::npos);
    EXPECT_EQ(device().root.classes.size(), 4U);
}

}  // namespace
}  // namespace headway::test
