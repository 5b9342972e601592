// SPDX-License-Identifier: Apache-2.0
// Nodes with a kernel each and a store for all, in memory, all steps in order.
#include "base/limits.hpp"
#include "trunk/coordinator.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>

#include "daemon/kernel_setup.hpp"
#include "fake_clock.hpp"
#include "fake_kernel.hpp"
#include "kernel/netlink_traffic_control.hpp"
#include "topologies.hpp"
#include "trunk/etcd_link.hpp"
#include "trunk/member_record.hpp"

namespace headway::test {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

/// As headway-etcd's answers and reports of one store.
class FakeEtcd {
public:
    void attach(Coordinator& watcher, HostNumbers& numbers, const std::string& host) {
        watchers_[host] = {&watcher, &numbers};
    }
    void detach(const std::string& host) { watchers_.erase(host); }

    void tell_snapshot(const std::string& host) {
        send(host, SnapshotBegins{revision_, settled_by_, records_.size()});
        for (const auto& [name, record] : records_) {
            send(host, ReportedMember{name, record.lease, record.changed, acknowledged_[name], record.text});
        }
        deliver();
    }

    void ask(const std::string& host, const StoreRequest& request) {
        if (is_down) return;
        std::visit([&](const auto& verb) { carry_out(host, request.id, verb); }, request.verb);
    }

    /// Somebody's record, by no request of a node.
    void put(const std::string& host, LeaseId lease, const std::string& text) {
        records_[host] = {lease, revision_ + 1, text};
        change(ReportedRecord{host, lease, text});
    }
    void acknowledge(const std::string& host, Revision epoch) {
        acknowledged_[host] = epoch;
        change(ReportedAcknowledgement{host, epoch});
    }
    void end_lease(LeaseId lease) {
        std::erase(leases_, lease);
        for (auto record = records_.begin(); record != records_.end();) {
            const auto [host, old] = *record++;
            if (old.lease != lease) continue;
            records_.erase(host);
            acknowledged_.erase(host);
            change(ReportedGone{host});
        }
    }
    [[nodiscard]] LeaseId lease_of(const std::string& host) const { return records_.at(host).lease; }
    [[nodiscard]] bool has(const std::string& host) const { return records_.contains(host); }
    bool is_down = false;

private:
    struct Record {
        LeaseId lease = 0;
        Revision changed = 0;
        std::string text;
    };

    void carry_out(const std::string& host, RequestId id, const GrantLease&) {
        leases_.push_back(++last_lease_);
        tell(host, StoreAnswer{.id = id, .done = true, .lease = last_lease_});
    }
    void carry_out(const std::string& host, RequestId id, const ProlongLease& prolong) {
        const bool lives = std::ranges::count(leases_, prolong.lease) > 0;
        tell(host, StoreAnswer{.id = id, .done = lives, .lease_lost = !lives});
    }
    void carry_out(const std::string&, RequestId, const RevokeLease& revoke) { end_lease(revoke.lease); }
    void carry_out(const std::string& host, RequestId id, const PutRecordText& put) {
        const bool done = !records_.contains(host) || records_[host].lease == put.lease;
        if (done) this->put(host, put.lease, put.text);
        tell(host, StoreAnswer{.id = id, .done = done, .revision = revision_});
    }
    void carry_out(const std::string& host, RequestId id, const PutAcknowledgement& put) {
        const bool done = records_.contains(host) && records_[host].lease == put.lease;
        if (done) {
            acknowledged_[host] = put.epoch;
            change(ReportedAcknowledgement{host, put.epoch});
        }
        tell(host, StoreAnswer{.id = id, .done = done, .revision = revision_});
    }
    void carry_out(const std::string& host, RequestId id, const PutSettled& put) {
        const bool done = settled_by_ == 0;
        if (done) {
            settled_by_ = put.lease;
            change(SettledPut{put.lease});
        }
        tell(host, StoreAnswer{.id = id, .done = done, .revision = revision_});
    }

    void change(const ReportedChange& change) {
        const ReportedChanges changes{++revision_, {change}};
        for (const auto& [host, watcher] : watchers_) send(host, changes);
        deliver();
    }

    void tell(const std::string& host, const EtcdReport& report) {
        send(host, report);
        deliver();
    }
    void send(const std::string& host, const EtcdReport& report) {
        packets_.emplace_back(host, to_packet(report));
    }
    /// Reports come one after the other, as packets do.
    void deliver() {
        if (is_telling_) return;
        is_telling_ = true;
        while (!packets_.empty()) {
            const auto [to, packet] = std::move(packets_.front());
            packets_.pop_front();
            if (!watchers_.contains(to)) continue;
            const Watcher& watcher = watchers_.at(to);
            const auto taken = watcher.coordinator->report(*parse_store_report(packet, *watcher.numbers));
            EXPECT_TRUE(taken) << taken.error().message;
        }
        is_telling_ = false;
    }

    struct Watcher {
        Coordinator* coordinator;
        HostNumbers* numbers;
    };
    std::map<std::string, Watcher> watchers_;
    std::map<std::string, Record> records_;
    std::map<std::string, Revision> acknowledged_;
    std::vector<LeaseId> leases_;
    LeaseId last_lease_ = 100, settled_by_ = 0;
    Revision revision_ = 1;
    std::deque<std::pair<std::string, std::string>> packets_;
    bool is_telling_ = false;
};

constexpr BytesPerSecond link_rate{20 * mbit / 8};

/// A host of cluster a.
struct Node final : DesiredState {
    Node(FakeEtcd& store, const Clock& clock, std::size_t host)
        : store_(store),
          topology(demo_topology()),
          trunk(*node_trunk(topology, host, {}, config)),
          layout(make_kernel_layout(topology, 0, trunk.guard)) {
        kernel.add_device("eth0", link_rate.bits());
        control.emplace(*NetlinkTrafficControl::open(kernel, "eth0"));
        EXPECT_TRUE(set_up_kernel(*control, layout, {20 * mbit}));
        restart(clock);
    }

    /// Another daemon: it knows nothing of the last one.
    void restart(const Clock& clock) {
        store_.detach(name());
        coordinator.emplace(
            trunk, config, *control,
            [this](const std::string& packet) { store_.ask(name(), *parse_store_request(packet)); },
            clock, link_rate, numbers.emplace(trunk.hosts), log);
        reconciler.emplace(*control, clock, *this);
        reconciler->observe(coordinator->observer());
        store_.attach(*coordinator, *numbers, name());
        coordinator->want(jobs);
        coordinator->tick();
        store_.tell_snapshot(name());
    }
    [[nodiscard]] KernelDesire desired() const override { return {layout.set_up}; }
    void kernel_agrees(const std::optional<BytesPerSecond>&) override {}
    void kernel_differs() override {}

    const std::string& name() const { return trunk.hosts[trunk.host]; }
    FakeClass& guard() { return kernel.device("eth0").root.classes.at(guard_class.value); }
    FakeClass& cap() { return kernel.device("eth0").root.classes.at(cap_class.value); }
    BytesPerSecond in_force() {
        return std::min(guard().rate.value_or(link_rate), cap().rate.value_or(link_rate));
    }

    FakeEtcd& store_;
    CoordinationConfig config;
    Topology topology;
    NodeTrunk trunk;
    KernelLayout layout;
    FakeKernel kernel;
    std::optional<NetlinkTrafficControl> control;
    std::optional<HostNumbers> numbers;
    std::optional<Coordinator> coordinator;
    std::optional<Reconciler> reconciler;
    std::vector<JobHere> jobs;
    std::ostringstream said;
    spdlog::logger log{"test", std::make_shared<spdlog::sinks::ostream_sink_mt>(said)};
};

class CoordinatorTest : public testing::Test {
protected:
    CoordinatorTest() {
        for (std::size_t host = 0; host < 2; ++host) nodes_.push_back(std::make_unique<Node>(etcd_, clock_, host));
    }

    void pass(std::chrono::nanoseconds time) {
        for (auto passed = 0ns; passed < time; passed += 200ms) {
            clock_.advance(200ms);
            for (auto& node : nodes_) {
                if (stopped_.contains(node.get())) continue;
                node->coordinator->want(node->jobs);
                node->coordinator->tick();
            }
            std::uint64_t sum = 2 * fallback().value;  // of the hosts that are not there
            for (auto& node : nodes_) sum += node->in_force().value;
            EXPECT_LE(sum, trunk().capacity.value);
        }
    }
    const SharedTrunk& trunk() { return nodes_[0]->trunk.trunk; }
    BytesPerSecond fallback() { return trunk().fallback; }
    Node& node(std::size_t number) { return *nodes_[number]; }

    FakeEtcd etcd_;
    FakeClock clock_;
    std::vector<std::unique_ptr<Node>> nodes_;
    std::set<Node*> stopped_;
};

TEST_F(CoordinatorTest, BeginsAtTheFallbackUntilTheStoreIsSettled) {
    node(0).jobs = {{"solver"}};
    pass(5s);
    EXPECT_EQ(node(0).in_force(), fallback());
    EXPECT_FALSE(node(0).coordinator->status()["settled"]);
    pass(10s);
    EXPECT_TRUE(node(0).coordinator->status()["settled"]);
    // the job's only host may use what the three others' fallbacks leave, up to its link
    EXPECT_EQ(node(0).in_force(), link_rate);
    EXPECT_EQ(node(1).in_force(), fallback());
    EXPECT_TRUE(node(0).coordinator->status()["agreed"]);
}

TEST_F(CoordinatorTest, JobsShareAndOneHasTheTrunkWhenTheOtherEnds) {
    node(0).jobs = {{"first"}};
    node(1).jobs = {{"second"}};
    pass(15s);
    const std::uint64_t half = (trunk().capacity.value - 2 * fallback().value) / 2;
    EXPECT_NEAR(static_cast<double>(node(0).in_force().value), static_cast<double>(half), 4.0);
    EXPECT_EQ(node(0).in_force(), node(1).in_force());
    node(1).jobs = {};
    pass(1s);
    EXPECT_EQ(node(1).in_force(), fallback());
    EXPECT_EQ(node(0).in_force(), link_rate);
}

TEST_F(CoordinatorTest, WeightsCount) {
    node(0).jobs = {{"first", 1, true}};
    node(1).jobs = {{"second"}};
    node(0).config.weights = {{"first", 2}};
    node(0).restart(clock_);
    pass(15s);
    EXPECT_NEAR(static_cast<double>(node(0).in_force().value),
                2.0 * static_cast<double>(node(1).in_force().value), 8.0);
    node(0).jobs = {{"first"}};
    pass(15s);
    EXPECT_NEAR(static_cast<double>(node(0).in_force().value),
                static_cast<double>(node(1).in_force().value), 8.0)
        << "it is an administrator's to give, not whoever's that uses the name";
}

// A job is its user, start and name, spelled out.  Folded to 32 bits these two were one job, and
// whoever chose the second name had the first one's weight and a part of its share on each host.
TEST_F(CoordinatorTest, NoNameOfAnotherUsersIsThisJob) {
    node(0).jobs = {{"production", 2, true, 1000, 1'795'000'000}};
    node(1).jobs = {{"xd0AT6A", 1, false, 1001, 0}};
    pass(15s);
    EXPECT_NEAR(static_cast<double>(node(0).in_force().value),
                2.0 * static_cast<double>(node(1).in_force().value), 8.0);
}

// Whoever has many jobs is not more than so many to the others.
TEST_F(CoordinatorTest, AUsersManyJobsAreFewDemands) {
    for (int i = 0; i < 100; ++i) node(0).jobs.push_back({std::to_string(i), 1, false, 1000});
    node(1).jobs = {{"second", 1, false, 1001}};
    pass(15s);
    EXPECT_EQ(node(0).coordinator->division()->of_job.size(), demands_per_user_max);
}

TEST_F(CoordinatorTest, ARecordThatIsFullHasEachUsersFirstJobs) {
    constexpr uid_t users = 40;
    for (uid_t user = 1; user <= users; ++user) {
        for (std::uint64_t start = 1; start <= demands_per_user_max; ++start)
            node(0).jobs.push_back({std::string(job_name_max_bytes, 'a'), 1, false, user, start});
    }
    pass(15s);
    const auto division = *node(0).coordinator->division();
    EXPECT_EQ(division.of_job.size(), demands_per_host_max);
    for (uid_t user = 1; user <= users; ++user)
        EXPECT_TRUE(division.of_job.contains({user, 1, node(0).jobs[0].name})) << user;
}

TEST_F(CoordinatorTest, WeightsOfStartedJobsCountUnlessTheConfigurationHasOne) {
    const auto ratio = [this] {
        return static_cast<double>(node(0).in_force().value) /
               static_cast<double>(node(1).in_force().value);
    };
    node(0).jobs = {{"first", 2}};
    node(1).jobs = {{"second", 3}};
    pass(15s);
    EXPECT_NEAR(ratio(), 2.0 / 3, 1e-5);
    node(0).jobs = {{"first", 3}};
    pass(1s);
    EXPECT_NEAR(ratio(), 1.0, 1e-5) << "of a job that is there";
    node(0).jobs = {{"first", 3, true}};
    node(0).config.weights = {{"first", 1}};
    node(0).restart(clock_);
    pass(2s);
    EXPECT_NEAR(ratio(), 1.0 / 3, 1e-5);
}

TEST_F(CoordinatorTest, JobsOfANodeDivideWhatItMayUse) {
    node(0).jobs = {{"first"}, {"second", 2}};
    node(1).jobs = {{"third"}};
    EXPECT_EQ(node(0).coordinator->division()->of_node, fallback());
    EXPECT_TRUE(node(0).coordinator->division()->of_job.empty()) << "nobody knows yet";
    pass(15s);
    const auto is_divided = [this](double third) {
        const auto division = *node(0).coordinator->division();
        EXPECT_EQ(division.of_node, *node(0).cap().rate);
        EXPECT_NEAR(static_cast<double>(division.of_job.at(cluster_identity({"first"})).value), third, 4.0);
        EXPECT_NEAR(static_cast<double>(division.of_job.at(cluster_identity({"second"})).value), 2 * third, 4.0);
    };
    is_divided(static_cast<double>(trunk().capacity.value - 2 * fallback().value) / 4);
    node(0).coordinator->stop();
    is_divided(static_cast<double>(fallback().value) / 3);
}

TEST_F(CoordinatorTest, DeadNodeFallsBackByItselfAndTheOtherRisesWhenItsLeaseEnds) {
    node(0).jobs = {{"first"}};
    node(1).jobs = {{"second"}};
    pass(15s);
    const BytesPerSecond half = node(0).in_force();
    stopped_.insert(&node(1));
    etcd_.detach(node(1).name());
    node(1).kernel.expire("eth0", guard_class.value);
    pass(3s);
    EXPECT_EQ(node(1).in_force(), fallback());
    EXPECT_EQ(node(0).in_force(), half);
    etcd_.end_lease(etcd_.lease_of(node(1).name()));
    pass(1s);
    EXPECT_EQ(node(0).in_force(), link_rate);
}

TEST_F(CoordinatorTest, WithoutTheStoreTheLeaseEndsAndTheGuardIsNotRefreshed) {
    node(0).jobs = {{"first"}};
    pass(15s);
    etcd_.is_down = true;
    pass(10s);
    const std::uint32_t refreshes = node(0).guard().refreshes;
    pass(5s);
    EXPECT_EQ(node(0).guard().refreshes, refreshes);
    EXPECT_EQ(node(0).cap().rate, fallback());
}

TEST_F(CoordinatorTest, AnotherDaemonOfTheHostTakesOver) {
    node(0).jobs = {{"first"}};
    pass(15s);
    const LeaseId before = etcd_.lease_of("a0");
    node(0).restart(clock_);
    EXPECT_EQ(node(0).cap().rate, fallback());
    pass(2s);
    EXPECT_NE(etcd_.lease_of("a0"), before);
    EXPECT_EQ(node(0).in_force(), link_rate);
}

TEST_F(CoordinatorTest, StopGoesDownAndGivesTheLeaseBack) {
    node(0).jobs = {{"first"}};
    pass(15s);
    node(0).coordinator->stop();
    EXPECT_TRUE(node(0).coordinator->has_stopped());
    EXPECT_EQ(node(0).cap().rate, fallback());
    EXPECT_FALSE(etcd_.has("a0"));
}

TEST_F(CoordinatorTest, WhatOthersDoToGuardOrCapIsPutRight) {
    node(0).jobs = {{"first"}};
    pass(15s);
    const FakeQdisc before = node(0).kernel.device("eth0").root;
    const std::vector<Change> doings{
        ChangeClassRate{cap_class, BytesPerSecond{1000}},
        ChangeClassRate{guard_class, BytesPerSecond{1000}},
        ChangeClassLease{guard_class, {{1000}, 5s}},
        DeleteRootQdisc{root_handle},
    };
    for (const Change& doing : doings) {
        ASSERT_TRUE(node(0).control->apply(std::span(&doing, 1), ApplyMode::in_order));
        bool was_at_fallback = false;
        node(0).kernel.refuse = [&](const nlmsghdr&) -> std::optional<FakeKernel::Refusal> {
            const auto& classes = node(0).kernel.device("eth0").root.classes;
            const auto cap = classes.find(cap_class.value);
            was_at_fallback |= cap != classes.end() && cap->second.rate == ClassRate(fallback());
            return std::nullopt;
        };
        (void)node(0).reconciler->run();
        node(0).kernel.refuse = nullptr;
        EXPECT_TRUE(was_at_fallback) << change_to_text(doing);
        pass(2s);
        EXPECT_EQ(node(0).in_force(), link_rate) << change_to_text(doing);
        EXPECT_EQ(node(0).guard().fallback, ClassRate(fallback())) << change_to_text(doing);
        EXPECT_EQ(node(0).guard().expires_ns, 2'000'000'000U) << change_to_text(doing);
    }
    EXPECT_EQ(node(0).kernel.device("eth0").root.classes.size(), before.classes.size());
}

TEST_F(CoordinatorTest, OwnChangesAreNobodyElses) {
    node(0).jobs = {{"first"}};
    pass(15s);
    (void)node(0).reconciler->run();
    EXPECT_EQ(node(0).in_force(), link_rate);
    EXPECT_EQ(node(0).reconciler->status().mended, 0U);
}

TEST_F(CoordinatorTest, QdiscOfARunWithoutSharingIsTakenOver) {
    Node& one = node(0);
    const KernelLayout plain = make_kernel_layout(one.topology, 0);
    const Change removal = plain.tear_down;
    ASSERT_TRUE(one.control->apply(std::span(&removal, 1), ApplyMode::in_order));
    ASSERT_TRUE(set_up_kernel(*one.control, plain, {20 * mbit}));
    const auto report = set_up_kernel(*one.control, one.layout, {20 * mbit});
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_TRUE(report->is_adopted);
    const auto& classes = one.kernel.device("eth0").root.classes;
    EXPECT_EQ(classes.at(0x10011).parent, cap_class.value);
    EXPECT_EQ(classes.at(0x10010).parent, 0U);
    EXPECT_EQ(classes.at(cap_class.value).parent, guard_class.value);
}

TEST_F(CoordinatorTest, AdoptedGuardAndCapKeepTheirRates) {
    Node& one = node(0);
    one.jobs = {{"first"}};
    pass(15s);
    ASSERT_TRUE(set_up_kernel(*one.control, one.layout, {20 * mbit})->is_adopted);
    EXPECT_EQ(one.in_force(), link_rate);
}

TEST_F(CoordinatorTest, WhatIsOutOfPlaceIsRefused) {
    Coordinator& one = *node(0).coordinator;
    const auto nobody = std::make_shared<MemberRecord>();
    EXPECT_FALSE(one.report(SnapshotMember{0, {nobody, 1, 1, 1}}));
    EXPECT_FALSE(one.report(SnapshotBegins{1, 0, 1U << 20U}));
    EXPECT_FALSE(one.report(StoreChanges{1, {}})) << "revisions only rise";
    ASSERT_TRUE(one.report(SnapshotBegins{1000, 0, 1}));
    EXPECT_FALSE(one.report(SnapshotBegins{1001, 0, 1}));
    EXPECT_FALSE(one.report(StoreChanges{1002, {}})) << "the snapshot is not complete";
    one.store_gone();
    EXPECT_FALSE(one.report(StoreChanges{1002, {}}));
    EXPECT_TRUE(one.report(SnapshotBegins{1001, 0, 1}));
    const HostNumber other = *node(0).numbers->number_of("none of the trunk's");
    EXPECT_TRUE(one.report(SnapshotMember{other, {nobody, 1, 1, 1}}));
    EXPECT_TRUE(one.report(StoreChanges{1002, {{1002, RecordGone{other}}}}));
}

// ---- settings that differ -------------------------------------------------------------------

/// A record of another node's, whose daemon acknowledges what the two of the test wait for.
class DifferingSettings : public CoordinatorTest {
protected:
    DifferingSettings() {
        node(0).jobs = {{"first"}};
        pass(15s);
        EXPECT_EQ(node(0).in_force(), link_rate);
    }
    void put(const std::string& host, const std::string& text) {
        etcd_.put(host, 7, text);
        others_.insert(host);
        acknowledge();
        pass(1s);
    }
    /// The two of the test acknowledge at once, which is no new epoch.
    void acknowledge() {
        const Revision epoch = node(0).coordinator->status()["epoch"];
        for (const std::string& host : others_) etcd_.acknowledge(host, epoch);
    }
    Json status(std::size_t of) { return node(of).coordinator->status(); }
    static std::string record(const std::string& configuration, std::uint64_t fallback) {
        return R"({"configuration":")" + configuration + R"(","fallback":)" + std::to_string(fallback) +
               R"(,"demands":[]})";
    }

    std::set<std::string> others_;
};

TEST_F(DifferingSettings, AreNamedAndTheOthersGoOnSharing) {
    put("a3", record("00000000000000ff", fallback().value));
    EXPECT_EQ(node(0).in_force(), link_rate);
    EXPECT_EQ(node(0).said.str().find("HW-506"), node(0).said.str().rfind("HW-506"));
    EXPECT_NE(node(0).said.str().find("HW-506 compare settings: the settings of a3 differ from "
                                      "this node's"), std::string::npos);
    EXPECT_EQ(status(0)["differing"], Json::parse(R"([{"host":"a3","configuration":"00000000000000ff"}])"));
    EXPECT_EQ(status(0)["differing_hosts"], 1);
    EXPECT_EQ(status(0)["leading_configuration"], status(0)["configuration"]);
    etcd_.end_lease(7);
    pass(61s);
    EXPECT_TRUE(status(0)["differing"].empty());
    EXPECT_NE(node(0).said.str().find("the same settings for the trunk again"), std::string::npos);
}

TEST_F(DifferingSettings, HereMeanTheFallbackHereAlone) {
    put("a3", record("ffffffffffffffff", fallback().value));
    put("a2", record("ffffffffffffffff", fallback().value));
    EXPECT_EQ(node(0).in_force(), link_rate) << "of as many the smaller digest";
    put("b7", record("ffffffffffffffff", fallback().value));
    EXPECT_EQ(node(0).in_force(), fallback()) << "a host that this node's settings do not have counts";
    EXPECT_EQ(node(0).said.str().find("HW-506"), node(0).said.str().rfind("HW-506")) << "in a minute once";
    pass(60s);
    EXPECT_NE(node(0).said.str().find("HW-506 compare settings: this node's settings (" +
                                      status(0)["configuration"].get<std::string>() +
                                      ") are not those of most hosts (ffffffffffffffff)"), std::string::npos);
    EXPECT_EQ(status(0)["differing"].size(), 2U);
    EXPECT_EQ(status(0)["differing"][1]["host"], "a1");
}

/// The record of the version before this one had a job as a number.
TEST_F(DifferingSettings, OfAnEarlierVersionsRecordAreThoseOfOneThatNobodyUnderstands) {
    put("a3", R"({"configuration":"00000000000000ff","demands":[[17,1,18446744073709551615]]})");
    EXPECT_EQ(node(0).in_force(), link_rate);
    EXPECT_EQ(status(0)["differing"], Json::parse(R"([{"host":"a3","configuration":null}])"));
    put("a2", "?");
    EXPECT_EQ(node(0).in_force(), fallback()) << "as many are not understood";
    EXPECT_TRUE(status(0)["leading_configuration"].is_null());
    pass(60s);
    EXPECT_NE(node(0).said.str().find("HW-506 compare settings: nobody shares the trunk"),
              std::string::npos);
    etcd_.end_lease(7);
    pass(1s);
    EXPECT_EQ(node(0).in_force(), link_rate);
}

}  // namespace
}  // namespace headway::test
