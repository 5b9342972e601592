// SPDX-License-Identifier: Apache-2.0
// `headway off`: nothing is paced, nobody fails, and `headway on` has all of it back.
#include <cerrno>

#include "control_service_fixture.hpp"
#include "daemon/state_file.hpp"
#include "fake_phase_maps.hpp"
#include "kernel/reconciler.hpp"

namespace headway::test {
namespace {

constexpr uid_t root_user = 0;

class PacingOffTest : public ControlServiceTest {
protected:
    PacingOffTest() { follow(); }

    void follow() {
        reconciler_.emplace(service_->kernel(), clock_, *service_);
        service_->status().show(reconciler_->status());
        service_->kept().keep_off_with([this](const std::optional<PacingOff>& off) -> Result<void> {
            kept_ = off;
            (void)reconciler_->run_for_own_change();
            return {};
        });
    }
    void use_phases() {
        qdisc() = FakeDevice{}.root;
        const auto layout = with_phases(service_->planner().layout(), {17, 17});
        ASSERT_TRUE(control_->apply(layout.set_up, ApplyMode::in_order));
        service_->use_phases(maps_, {17, 17});
    }
    FakeQdisc& qdisc() { return kernel_.device("eth0").root; }
    Json administrator(const std::string& op) { return ask(connect(root_user), op); }

    FakePhaseMaps maps_{2};
    std::optional<Reconciler> reconciler_;
    std::optional<PacingOff> kept_;
};

TEST_F(PacingOffTest, AllRatesAndFiltersGoAndComeBack) {
    const auto client = connect();
    ask(client, "enter", everybody);
    const FakeQdisc before = qdisc();
    const Json off = administrator("off");
    EXPECT_EQ(off["ok"], true) << off;
    EXPECT_EQ(off["kept"], true);
    EXPECT_EQ(off["in_step"], true);
    EXPECT_EQ(kept_->uid, root_user);
    expect_at_rest();
    EXPECT_TRUE(qdisc().filters.empty()) << "no packet goes to a class";

    const Json entered = ask(client, "enter", everybody);
    EXPECT_EQ(entered["ok"], true) << "a job does not fail";
    EXPECT_EQ(entered["paced"], false);
    EXPECT_TRUE(entered["off"].is_object());
    EXPECT_EQ(entered["reason"].get<std::string>().find("pacing is switched off on this node"), 0U);
    EXPECT_FALSE(entered.contains("rates"));
    expect_at_rest();
    EXPECT_EQ(ask(client, "leave")["ok"], true);

    EXPECT_EQ(administrator("on")["off"], nullptr);
    EXPECT_FALSE(kept_);
    EXPECT_EQ(qdisc(), before) << "what the client is still in is in force at once";
}

TEST_F(PacingOffTest, StatusTells) {
    const auto client = connect();
    ask(client, "enter", everybody);
    EXPECT_EQ(ask(client, "status")["off"], nullptr);
    administrator("off");
    const Json status = ask(client, "status");
    EXPECT_EQ(status["off"]["uid"], root_user);
    EXPECT_GT(status["off"]["since_unix_s"], 1'600'000'000);
    EXPECT_EQ(status["in_step"], true);
    EXPECT_EQ(status["clients"][0]["paced"], false);
    EXPECT_EQ(status["classes"][1]["wanted_bytes_per_s"], nullptr);
}

TEST_F(PacingOffTest, OnlyAdministratorsSwitch) {
    const auto client = connect();
    ask(client, "enter", everybody);
    EXPECT_EQ(ask(client, "off")["ok"], false);
    EXPECT_EQ(in_kernel(remote_class).rate, planned);
    administrator("off");
    EXPECT_EQ(ask(client, "on")["ok"], false);
    expect_at_rest();
}

TEST_F(PacingOffTest, PhasesAreReleasedAndHoldAgain) {
    use_phases();
    const auto client = connect();
    ask(client, "join", {{"job", "1"}});
    const std::uint32_t number = ask(client, "phase", everybody)["phase"].get<std::uint32_t>();
    __atomic_store_n(&maps_.slots(0).phase[0], number, __ATOMIC_RELEASE);
    const auto paced = maps_.classify(1);
    EXPECT_EQ(rate_in(qdisc(), paced.minor, paced.entry), planned);
    const std::uint32_t generation = maps_.slots(0).generation;

    administrator("off");
    EXPECT_EQ(maps_.classify(1), FakePhaseMaps::Choice{});
    EXPECT_EQ(rate_in(qdisc(), paced.minor, paced.entry), std::nullopt)
        << "packets that wait are let go";
    EXPECT_NE(maps_.slots(0).generation, generation);
    const Json asked = ask(client, "phase", everybody);
    EXPECT_EQ(asked["ok"], true);
    EXPECT_EQ(asked["phase"], number) << "it holds when pacing is on again";
    EXPECT_EQ(asked["paced"], false);
    Json few = everybody;
    few["job_hosts"] = few["comm_hosts"] = {"a[0-1]", "b[0-1]"};
    const std::uint32_t new_number = ask(client, "phase", few)["phase"].get<std::uint32_t>();
    for (const auto& [entry, rate] : qdisc().classes.at(0x10111).table) EXPECT_EQ(rate, std::nullopt);

    administrator("on");
    EXPECT_EQ(maps_.classify(1), paced);
    EXPECT_EQ(rate_in(qdisc(), paced.minor, paced.entry), planned);
    __atomic_store_n(&maps_.slots(0).phase[0], new_number, __ATOMIC_RELEASE);
    const auto loose = maps_.classify(1);
    EXPECT_EQ(rate_in(qdisc(), loose.minor, loose.entry), ClassRate(BytesPerSecond{12'375'000 / 8}));
}

// The library chooses, as without Headway: our own algorithms are for paced messages.
TEST_F(PacingOffTest, NoAlgorithmIsNamed) {
    use_phases();
    const auto client = connect();
    ask(client, "join", {{"job", "1"}});
    Json able = everybody;
    able["algorithms"] = {"linear"};
    able["message_bytes"] = 65536;
    EXPECT_EQ(ask(client, "phase", able)["algorithm"], "linear");
    administrator("off");
    EXPECT_EQ(ask(client, "phase", able)["algorithm"], nullptr);
}

TEST_F(PacingOffTest, ItStaysOffInTheNextRun) {
    const auto client = connect();
    ask(client, "enter", everybody);
    const std::vector<ClassState> found = *control_->classes();
    service_.emplace(planner_.emplace(*NodePlanner::make(demo_config(), "unused")), BytesPerSecond{20 * mbit / 8},
                     *control_, clock_);
    service_->adopt(found);
    service_->stay_off({12, root_user});
    follow();
    (void)reconciler_->run_for_own_change();
    expect_at_rest();
    EXPECT_TRUE(qdisc().filters.empty());
    EXPECT_EQ(ask(connect(), "status")["off"]["since_unix_s"], 12);
    administrator("on");
    expect_at_rest();
    EXPECT_FALSE(qdisc().filters.empty());
}

TEST_F(PacingOffTest, WhatTheKernelRefusesIsTriedAgain) {
    const auto client = connect();
    ask(client, "enter", everybody);
    kernel_.refuse = [](const nlmsghdr&) { return FakeKernel::Refusal{ENOMEM, "no memory"}; };
    EXPECT_EQ(administrator("off")["in_step"], false);
    kernel_.refuse = nullptr;
    clock_.advance(10s);
    EXPECT_TRUE(reconciler_->is_due());
    reconciler_->run();
    expect_at_rest();
    EXPECT_TRUE(qdisc().filters.empty());
    EXPECT_EQ(ask(client, "status")["in_step"], true);
}

TEST(PacingOff, IsKeptAsText) {
    const PacingOff off = parse_off(off_json({1'700'000'000, 1000}).dump());
    EXPECT_EQ(off.since_unix_s, 1'700'000'000U);
    EXPECT_EQ(off.uid, 1000U);
    EXPECT_EQ(parse_off("no JSON").since_unix_s, 0U) << "a damaged file still means off";
}

TEST(PacingOff, EachDaemonHasAFileOfItsOwn) {
    const std::string folder = testing::TempDir() + "/headway-state";
    ASSERT_EQ(setenv("STATE_DIRECTORY", folder.c_str(), 1), 0);
    const StateFile file = off_file("/run/headway/control.sock");
    unsetenv("STATE_DIRECTORY");
    EXPECT_EQ(file.path(), folder + "/run-headway-control.sock.off");
    EXPECT_EQ(off_file("/run/headway/control.sock").path(),
              "/var/lib/headway/run-headway-control.sock.off");
    ASSERT_TRUE(file.write("{}\n")) << "makes its folder";
    EXPECT_TRUE(file.remove());
    EXPECT_TRUE(file.remove()) << "there is none any more";
    EXPECT_EQ(rmdir(folder.c_str()), 0);
}

}  // namespace
}  // namespace headway::test
