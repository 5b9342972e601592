// SPDX-License-Identifier: Apache-2.0
// Several jobs on the nodes of a cluster, each node with its own daemon before a
// fake kernel: what their classes may send together, whatever the jobs.
#include <gtest/gtest.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <nlohmann/json.hpp>

#include <memory>
#include <random>
#include <set>

#include "daemon/control_service.hpp"
#include "fake_clock.hpp"
#include "fake_kernel.hpp"
#include "fake_phase_maps.hpp"
#include "kernel/netlink_traffic_control.hpp"
#include "topologies.hpp"
#include "trunk/member_record.hpp"

namespace headway::test {
namespace {

using Session = ControlService::SessionId;
constexpr std::uint32_t own = 0, remote = 1;  ///< classes
constexpr std::uint64_t link_bytes_per_s = 20 * mbit / 8;
/// All plans together may ask so much of the trunk: 0.99 * 25 Mbit/s.
constexpr std::uint64_t trunk_bytes_per_s = 25 * mbit / 8 * 99 / 100;

class Node {
public:
    explicit Node(const std::string& name, SharePolicy policy = SharePolicy::per_job) {
        kernel_.add_device("eth0", {20 * mbit});
        control_.emplace(*NetlinkTrafficControl::open(kernel_, "eth0"));
        auto planner = *NodePlanner::make(config(name, policy), "unused");
        const auto layout = with_phases(planner.layout(), {17, 17});
        EXPECT_TRUE(control_->apply(layout.set_up, ApplyMode::in_order));
        service_.emplace(planner_.emplace(std::move(planner)), BytesPerSecond{link_bytes_per_s}, *control_, clock_);
        service_->use_phases(maps_, {17, 17});
        service_->kept().keep_jobs_with([this](const std::string& text) { kept_ = text; });
    }

    static Config config(const std::string& name, SharePolicy policy) {
        Config config;
        config.node.name = name;
        config.topology = demo_topology();
        config.policy.share = policy;
        return config;
    }

    Session connect(uid_t user) { return *service_->open({.pid = 42, .uid = user}); }
    void close_session(Session session) {
        service_->close(session);
        (void)service_->settle();
    }
    /// With what the daemon's loop does after a request.
    Json ask(Session session, const std::string& op, const Json& members = Json::object()) {
        Json request{{"v", 1}, {"id", 5}, {"op", op}};
        request.update(members);
        Json answer = Json::parse(service_->answer(session, request.dump()).text);
        (void)service_->settle();
        return answer;
    }
    Json command(const std::string& op, const Json& members, uid_t user = 0) {
        const Session session = connect(user);
        Json answer = ask(session, op, members);
        close_session(session);
        return answer;
    }
    /// A process of the job in the phase of an all-to-all of these.
    Json enter(Session session, const std::string& job, const Json& hosts) {
        Json joined = ask(session, "join", {{"job", job}});
        EXPECT_EQ(joined["ok"], true) << joined;
        // which array that is, a process knows by its descriptor
        joined["test_job"] = maps_.config().process[maps_.config().process_count - 1].job;
        const auto is_here = [](const Json& host) { return host.get<std::string>().front() == 'a'; };
        if (std::all_of(hosts.begin(), hosts.end(), is_here)) stays_here_.insert(joined["test_job"].get<std::uint32_t>());
        else stays_here_.erase(joined["test_job"].get<std::uint32_t>());
        enter_phase(session, joined, hosts);
        return joined;
    }
    Json enter_phase(Session session, const Json& joined, const Json& hosts) {
        Json phase = ask(session, "phase", {{"operation", "alltoall"},
                                            {"job_hosts", hosts},
                                            {"comm_hosts", hosts},
                                            {"message_bytes", 65536}});
        EXPECT_EQ(phase["ok"], true) << phase;
        store(joined, phase["phase"]);
        return phase;
    }
    /// As the process that has joined does it.
    void store(const Json& joined, std::uint32_t number) {
        const auto job = joined["test_job"].get<std::uint32_t>();
        const auto slot = joined["slot"].get<std::uint32_t>();
        __atomic_store_n(&maps_.slots(job).phase[slot], number, __ATOMIC_RELEASE);
    }

    /// The class that a packet to the other cluster goes to, as the kernel has it.
    ClassRate rate(std::uint32_t trunk = remote) const {
        const auto choice = maps_.classify(trunk);
        return rate_in(const_cast<Node*>(this)->kernel_.device("eth0").root, choice.minor, choice.entry);
    }
    ClassRate requested_rate() { return kernel_.device("eth0").root.classes.at(0x10011).rate; }
    /// Adds up all active phases' rates towards the other cluster.
    std::uint64_t sum_of_active() {
        std::map<std::uint32_t, std::uint64_t> rates;
        for (std::uint32_t i = 0; i < maps_.config().process_count; ++i) {
            const auto process = maps_.config().process[i];
            const std::uint32_t phase = maps_.slots(process.job).phase[process.slot];
            if (phase == 0 || phase >= maps_.config().phase_count[process.job]) continue;
            if (stays_here_.contains(process.job)) continue;  // it sends nothing there
            const auto& rate = maps_.rates(process.job, phase)[remote];
            if (rate.bytes_per_s == ~std::uint64_t{0}) {
                rates[0] = link_bytes_per_s;
                continue;
            }
            const ClassRate in_kernel = rate_in(kernel_.device("eth0").root, 0x111,
                                                static_cast<TableEntry>(rate.entry));
            EXPECT_EQ(in_kernel, BytesPerSecond{rate.bytes_per_s}) << "kernel and map";
            rates[rate.entry] = in_kernel->value;
        }
        std::uint64_t sum = 0;
        for (const auto& [entry, bytes_per_s] : rates) sum += bytes_per_s;
        return std::min(sum, link_bytes_per_s);
    }

    FakeKernel kernel_;
    FakeClock clock_;
    std::optional<NetlinkTrafficControl> control_;
    FakePhaseMaps maps_{2};
    std::optional<NodePlanner> planner_;
    std::optional<ControlService> service_;
    std::string kept_;
    std::set<std::uint32_t> stays_here_;  ///< jobs whose hosts are all of this cluster
};

const Json all_hosts{"a[0-3]", "b[0-3]"};
const ClassRate alone = BytesPerSecond{773'437};
const ClassRate halved = BytesPerSecond{773'437 / 2};

// The cluster's coordination asks for the trunk by these jobs.
TEST(SharedLinks, StartedJobsAreThisNodesOrNobodysInParticular) {
    Node node("a0");
    EXPECT_TRUE(node.service_->jobs().empty());
    node.command("job_start", {{"job", "far"}, {"hosts", {"a1", "b1"}}});
    node.command("job_start", {{"job", "here"}, {"hosts", {"a0", "b1"}}, {"weight", 3}});
    node.command("job_start", {{"job", "anywhere"}});
    const Json hosts{"a0", "b1"};
    const Json pattern{{"operation", "alltoall"}, {"job_hosts", hosts}, {"comm_hosts", hosts}};
    const Session session = node.connect(1000);
    node.ask(session, "hello", {{"job", "4711.0"}});
    node.ask(session, "prepare", pattern);
    const Session step = node.connect(1000);
    node.ask(step, "hello", {{"job", "4711.1"}});
    node.ask(step, "prepare", pattern);
    const JobHere anywhere{"anywhere", 1, true};
    EXPECT_EQ(node.service_->jobs(),
              (std::vector<JobHere>{anywhere, {"here", 3, true}, {"4711", 1, false, 1000}}))
        << "the steps are of one allocation";
    node.command("job_end", {{"job", "here"}});
    node.close_session(session);
    node.close_session(step);
    EXPECT_EQ(node.service_->jobs(), std::vector{anywhere});
}

// A job has as much of the trunk that nodes share by agreement as they agreed on, in the phase that
// its process is in and in what it has entered.
TEST(SharedLinks, RatesFollowTheShareOfTheTrunk) {
    Node node("a0");
    const Session session = node.connect(0);
    const Json joined = node.enter(session, "12", all_hosts);
    const Session other = node.connect(0);
    node.ask(other, "hello", {{"job", "12"}});
    node.ask(other, "enter",
             {{"operation", "alltoall"}, {"job_hosts", all_hosts}, {"comm_hosts", all_hosts}});
    ASSERT_EQ(node.rate(), alone);
    ASSERT_EQ(node.requested_rate(), alone);
    const ClassRate inside = node.rate(own);
    const BytesPerSecond share{300'000};
    node.service_->divide_trunk({{400'000}, {{cluster_identity({"12", 1, false, 0}), share}}});
    EXPECT_EQ(node.rate(), ClassRate(share));
    EXPECT_EQ(node.requested_rate(), ClassRate(share));
    EXPECT_EQ(node.rate(own), inside) << "what stays in the cluster";
    EXPECT_NE(node.enter_phase(session, joined, all_hosts)["phase"], 0);
    EXPECT_EQ(node.rate(), ClassRate(share)) << "the answer after that";
    node.service_->divide_trunk({{400'000}, {}});
    EXPECT_EQ(node.rate(), ClassRate(BytesPerSecond{400'000})) << "not more than the node";
    node.service_->divide_trunk({{2'000'000}, {{cluster_identity({"12", 1, false, 0}), {1'000'000}}}});
    EXPECT_EQ(node.rate(), alone) << "the plan asks for less";
}

TEST(SharedLinks, AKernelThatRefusesKeepsTheRatesUntilItTakesTheShare) {
    Node node("a0");
    node.enter(node.connect(1000), "12", all_hosts);
    node.kernel_.refuse = [](const nlmsghdr& request) -> std::optional<FakeKernel::Refusal> {
        if (request.nlmsg_type != RTM_NEWTCLASS) return std::nullopt;
        return FakeKernel::Refusal{ENOMEM, "no memory for a test"};
    };
    const TrunkDivision division{{300'000}, {}};
    node.service_->divide_trunk(division);
    EXPECT_EQ(node.rate(), alone);
    node.kernel_.refuse = nullptr;
    node.service_->divide_trunk(division);  // nothing new
    EXPECT_EQ(node.rate(), alone);
    node.clock_.advance(std::chrono::seconds(1));
    node.service_->retry();
    EXPECT_EQ(node.rate(), ClassRate(BytesPerSecond{300'000}));
}

TEST(SharedLinks, ALoneJobsRatesAreAsEver) {
    Node node("a0");
    node.enter(node.connect(1000), "12", all_hosts);
    EXPECT_EQ(node.rate(), alone);
    EXPECT_EQ(node.command("jobs", Json::object())["jobs"][0]["parts"], nullptr);
}

TEST(SharedLinks, AnotherJobTakesHalfAtOnceAndGivesItBack) {
    Node node("a0");
    const Session first = node.connect(1000);
    const Json joined = node.enter(first, "12", all_hosts);
    const auto before = node.kernel_.device("eth0").root.classes;
    const auto generation = node.maps_.slots(0).generation;

    const Json told = node.command("job_start", {{"job", "13"}, {"hosts", {"a1", "b1"}}});
    ASSERT_EQ(told["ok"], true) << told;
    EXPECT_EQ(told["parts"]["b"], 0.5);
    EXPECT_EQ(node.rate(), halved) << "it is still in its phase";
    EXPECT_GT(node.maps_.slots(0).generation, generation) << "it may ask again";
    for (const auto& [classid, state] : node.kernel_.device("eth0").root.classes) {
        EXPECT_NE(state.rate, alone) << "an old rate in class " << std::hex << classid;
    }
    const Json asked = node.enter_phase(first, joined, all_hosts);
    EXPECT_EQ(asked["bytes_per_s"], halved->value);
    EXPECT_EQ(asked["rates"][1]["bytes_per_s"], halved->value);
    EXPECT_EQ(asked["predicted"], nullptr) << "that is of a job that is alone";

    EXPECT_EQ(node.command("job_end", {{"job", "13"}})["ended"], true);
    EXPECT_EQ(node.rate(), alone);
    EXPECT_EQ(node.kernel_.device("eth0").root.classes, before) << "nothing is left of it";
}

TEST(SharedLinks, JobsOfProcessesShareToo) {
    Node node("a0");
    const Session first = node.connect(1000), second = node.connect(1001);
    node.enter(first, "12", all_hosts);
    node.enter(second, "13", all_hosts);
    EXPECT_EQ(node.rate(), halved);
    node.close_session(second);
    EXPECT_EQ(node.rate(), alone);
}

// Slurm's prolog starts the job, and other names in the allocation speak to the daemon.
TEST(SharedLinks, AnAllocationHasOneShareUnderAllItsNames) {
    Node node("a0");
    ASSERT_EQ(node.command("job_start", {{"job", "4711"}, {"hosts", all_hosts}, {"lasting", true}, {"uid", 1000}})["ok"],
              true);
    const Session step = node.connect(1000);
    const Json joined = node.enter(step, "4711.0", all_hosts);
    EXPECT_EQ(node.rate(), alone) << "the prolog's name takes nothing from its step";
    node.command("job_start", {{"job", "13"}, {"hosts", {"a1", "b1"}}});
    EXPECT_EQ(node.rate(), halved);

    const Session second = node.connect(1000);
    node.enter(second, "4711.1", all_hosts);
    EXPECT_EQ(node.rate(), BytesPerSecond{773'437 / 4}) << "two steps divide what the allocation has";
    const Json jobs = node.command("jobs", Json::object())["jobs"];
    ASSERT_EQ(jobs[2]["job"], "13");
    EXPECT_EQ(jobs[2]["parts"]["b"], 0.5) << "whatever the other is divided into";
    node.close_session(second);
    EXPECT_EQ(node.rate(), halved);
    node.close_session(step);
    node.command("job_end", {{"job", "13"}});
    EXPECT_EQ(node.command("jobs", Json::object())["jobs"][0]["parts"], nullptr);
}

// A process under the very name of the allocation, beside a step.
TEST(SharedLinks, AnAllocationsOwnProcessesTakePartFromWhenTheyAreThere) {
    Node node("a0");
    node.command("job_start", {{"job", "4711"}, {"hosts", all_hosts}, {"lasting", true}, {"uid", 1000}});
    node.enter(node.connect(1000), "4711.0", all_hosts);
    ASSERT_EQ(node.rate(), alone);
    const Session batch = node.connect(1000);
    node.ask(batch, "hello", {{"job", "4711"}});
    EXPECT_EQ(node.rate(), halved);
    node.close_session(batch);
    EXPECT_EQ(node.rate(), alone);
}

TEST(SharedLinks, WeightsAreRootsToGive) {
    Node node("a0");
    node.enter(node.connect(1000), "12", all_hosts);
    const Json heavy{{"job", "13"}, {"hosts", {"a1", "b1"}}, {"weight", 3}};
    EXPECT_EQ(node.command("job_start", heavy, 1001)["ok"], false);
    EXPECT_EQ(node.rate(), alone);
    EXPECT_EQ(node.command("job_start", heavy, 0)["ok"], true);
    EXPECT_EQ(node.rate(), BytesPerSecond{773'437 / 4});
    EXPECT_EQ(node.command("job_end", {{"job", "13"}, {"uid", 0}}, 1001)["ok"], false);
    Json foreign = heavy;
    foreign["uid"] = 1000;
    EXPECT_EQ(node.command("job_start", foreign, 1001)["ok"], false);
}

TEST(SharedLinks, WhatIsUnlimitedAloneIsNotWithOthers) {
    Node node("a0");
    const Session session = node.connect(1000);
    const Json pair{"a0", "b0"};
    const Json joined = node.enter(session, "12", pair);
    EXPECT_EQ(node.rate(), std::nullopt) << "one sender cannot fill the trunk";
    node.command("job_start", {{"job", "13"}, {"hosts", {"a1", "b1"}}});
    EXPECT_EQ(node.enter_phase(session, joined, pair)["paced"], true);
    EXPECT_EQ(node.rate(), BytesPerSecond{link_bytes_per_s / 2});
    node.command("job_end", {{"job", "13"}});
    EXPECT_EQ(node.rate(), BytesPerSecond{link_bytes_per_s}) << "which is no limit";
}

TEST(SharedLinks, APatternIsInForceAsLongAsTheJob) {
    Node node("a0");
    const Json told = node.command("job_start",
                                   {{"job", "12"}, {"hosts", all_hosts}, {"operation", "alltoall"}});
    EXPECT_EQ(told["paced"], true) << told;
    EXPECT_EQ(node.requested_rate(), alone);
    node.command("job_start", {{"job", "13"}, {"hosts", {"a1", "b1"}}});
    EXPECT_EQ(node.requested_rate(), halved);
    node.command("job_end", {{"job", "13"}});
    EXPECT_EQ(node.requested_rate(), alone);
    node.command("job_end", {{"job", "12"}});
    EXPECT_EQ(node.requested_rate(), std::nullopt);
}

TEST(SharedLinks, CollectivesByRequestShareToo) {
    Node node("a0");
    const Session session = node.connect(0);
    const Json members{{"operation", "alltoall"}, {"job_hosts", all_hosts}, {"comm_hosts", all_hosts}};
    EXPECT_EQ(node.ask(session, "enter", members)["ok"], true);
    EXPECT_EQ(node.requested_rate(), alone);
    node.command("job_start", {{"job", "13"}, {"hosts", {"a1", "b1"}}});
    EXPECT_EQ(node.requested_rate(), halved);
    node.close_session(session);
    EXPECT_EQ(node.requested_rate(), std::nullopt);
}

TEST(SharedLinks, WhatTheKernelRefusesChangesNothing) {
    Node node("a0");
    node.enter(node.connect(1000), "12", all_hosts);
    const auto before = node.kernel_.device("eth0").root.classes;
    int changes = 0;
    node.kernel_.refuse = [&](const nlmsghdr& request) -> std::optional<FakeKernel::Refusal> {
        if (request.nlmsg_type != RTM_NEWTCLASS || ++changes != 1) return std::nullopt;
        return FakeKernel::Refusal{ENOMEM, "no memory"};
    };
    const Json refused = node.command("job_start", {{"job", "13"}, {"hosts", {"a1", "b1"}}});
    EXPECT_EQ(refused["ok"], false);
    EXPECT_NE(refused["error"].get<std::string>().find("no memory"), std::string::npos);
    EXPECT_EQ(node.kernel_.device("eth0").root.classes, before);
    EXPECT_EQ(node.rate(), alone);
    EXPECT_EQ(node.command("jobs", Json::object())["job_count"], 1);
}

TEST(SharedLinks, AnEndThatTheKernelRefusesIsTriedAgain) {
    Node node("a0");
    node.enter(node.connect(1000), "12", all_hosts);
    node.command("job_start", {{"job", "13"}, {"hosts", {"a1", "b1"}}});
    bool refusing = true;
    node.kernel_.refuse = [&](const nlmsghdr& request) -> std::optional<FakeKernel::Refusal> {
        if (!refusing || request.nlmsg_type != RTM_NEWTCLASS) return std::nullopt;
        return FakeKernel::Refusal{ENOMEM, "no memory"};
    };
    EXPECT_EQ(node.command("job_end", {{"job", "13"}})["ok"], true);
    EXPECT_EQ(node.rate(), halved) << "too slow, but safe";
    EXPECT_TRUE(node.service_->take_error());
    refusing = false;
    ASSERT_TRUE(node.service_->retry_at());
    node.clock_.advance(std::chrono::seconds(2));
    node.service_->retry();
    EXPECT_EQ(node.rate(), alone);
    EXPECT_FALSE(node.service_->retry_at());
}

// Whoever kills the daemon after the answer.
TEST(SharedLinks, AStartedJobIsKeptBeforeItIsAnswered) {
    Node node("a0");
    const Json start{{"v", 1}, {"id", 5}, {"op", "job_start"}, {"job", "13"}, {"hosts", all_hosts}, {"uid", 1000}};
    (void)node.service_->answer(node.connect(0), start.dump());
    EXPECT_NE(node.kept_.find("\"job\":\"13\""), std::string::npos) << node.kept_;
}

TEST(SharedLinks, StartedJobsOutliveTheDaemon) {
    Node first("a0");
    const Json start{{"job", "13"}, {"hosts", all_hosts}, {"operation", "alltoall"}, {"uid", 1000}};
    ASSERT_EQ(first.command("job_start", start)["ok"], true);
    Node next("a0");
    ASSERT_TRUE(next.service_->restore_jobs(first.kept_));
    EXPECT_EQ(next.requested_rate(), alone);
    EXPECT_FALSE(next.service_->has_deserted_jobs()) << "it never had a process";
    EXPECT_EQ(next.command("job_end", {{"job", "13"}}, 1000)["ended"], true);
    EXPECT_EQ(next.kept_, "[]\n");
}

TEST(SharedLinks, AReloadPlansStartedJobsAnew) {
    Node node("a0");
    node.command("job_start", {{"job", "12"}, {"hosts", all_hosts}, {"operation", "alltoall"}});
    Config config = Node::config("a0", SharePolicy::per_job);
    config.policy.plan.target_utilisation_millionths = utilisation_one / 2;
    ASSERT_TRUE(node.service_->reload(config));
    EXPECT_EQ(node.requested_rate(), BytesPerSecond{390'625}) << "half of the trunk for four";
}

// Jobs come and go on random hosts of both clusters; every node is told of all.
class RandomJobs : public testing::TestWithParam<SharePolicy> {};

TEST_P(RandomJobs, TogetherNeverAskForMoreThanTheTrunk) {
    std::mt19937 random(5);
    std::vector<std::string> names;
    for (const char* cluster : {"a", "b"}) {
        for (int i = 0; i < 4; ++i) names.push_back(cluster + std::to_string(i));
    }
    std::vector<std::unique_ptr<Node>> nodes;
    for (int i = 0; i < 4; ++i) nodes.push_back(std::make_unique<Node>(names[i], GetParam()));
    struct Process {
        Node* node;
        Session session;
        Json joined;
    };
    struct Running {
        std::string name;
        Json hosts;
        std::vector<Process> processes;
    };
    const auto ask_for = [&] {
        std::uint64_t sum = 0;
        for (auto& node : nodes) sum += node->sum_of_active();
        return sum;
    };
    std::vector<Running> running;
    int busiest = 0;
    for (int step = 0; step < 150; ++step) {
        if (running.size() < 5 && random() % 2 == 0) {
            Json hosts = Json::array();
            for (const std::string& name : names) {
                if (random() % 2 == 0) hosts.push_back(name);
            }
            if (hosts.size() < 2) continue;
            Running job{fmt::format("job{}", step), hosts, {}};
            const std::uint32_t weight = 1 + random() % 4 / 3;
            for (auto& node : nodes) {
                const Json told = node->command(
                    "job_start", {{"job", job.name}, {"uid", 1000}, {"hosts", hosts},
                                  {"lasting", true}, {"weight", weight}});
                ASSERT_EQ(told["ok"], true) << told;
            }
            for (std::size_t i = 0; i < nodes.size(); ++i) {
                if (std::find(hosts.begin(), hosts.end(), names[i]) == hosts.end()) continue;
                const Session session = nodes[i]->connect(1000);
                Json joined = nodes[i]->enter(session, job.name, hosts);
                job.processes.push_back({nodes[i].get(), session, std::move(joined)});
            }
            running.push_back(std::move(job));
        } else if (!running.empty()) {
            const auto gone = running.begin() + static_cast<std::ptrdiff_t>(random() % running.size());
            for (const Process& one : gone->processes) one.node->close_session(one.session);
            for (auto& node : nodes) {
                EXPECT_EQ(node->command("job_end", {{"job", gone->name}, {"uid", 1000}})["ok"], true);
            }
            running.erase(gone);
        }
        ASSERT_LE(ask_for(), trunk_bytes_per_s) << "in the phases they are in, step " << step;
        for (Running& job : running) {
            for (Process& one : job.processes) one.node->enter_phase(one.session, one.joined, job.hosts);
        }
        const std::uint64_t sum = ask_for();
        ASSERT_LE(sum, trunk_bytes_per_s) << "step " << step << ", " << running.size() << " jobs";
        if (sum > trunk_bytes_per_s / 2) ++busiest;
    }
    EXPECT_GT(busiest, 20) << "the trunk is used, too";
    for (const Running& job : running) {
        for (const Process& one : job.processes) one.node->close_session(one.session);
        for (auto& node : nodes) node->command("job_end", {{"job", job.name}, {"uid", 1000}});
    }
    for (auto& node : nodes) EXPECT_EQ(node->command("jobs", Json::object())["job_count"], 0);
}

INSTANTIATE_TEST_SUITE_P(Policies, RandomJobs,
                         testing::Values(SharePolicy::per_job, SharePolicy::per_host));

}  // namespace
}  // namespace headway::test
