// SPDX-License-Identifier: Apache-2.0
// Requests in, answers and kernel state out; no sockets, no root.
#include <cerrno>

#include <gtest/gtest.h>

#include "daemon/control_service.hpp"
#include "daemon/limits.hpp"
#include "fake_clock.hpp"
#include "fake_kernel.hpp"
#include "netlink/netlink_traffic_control.hpp"
#include "topologies.hpp"

namespace headway::test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t own_class = 0x10010;
constexpr std::uint32_t remote_class = 0x10011;
/// Of the worked example in alltoall_plan.hpp.
const ClassRate planned = BytesPerSecond{773'437};

Config demo_config() {
    Config config;
    config.file = "/etc/headway/headway.toml";
    config.node.name = "a0";
    config.topology = demo_topology();
    return config;
}

class ControlServiceTest : public testing::Test {
protected:
    ControlServiceTest() {
        kernel_.add_device("eth0", {20 * mbit});
        control_.emplace(*NetlinkTrafficControl::open(kernel_, "eth0"));
        start(demo_config());
    }

    void start(Config config) {
        auto planner = NodePlanner::make(std::move(config), "unused");
        ASSERT_TRUE(planner) << planner.error().message;
        const KernelLayout layout = planner->layout();
        kernel_.device("eth0").root = FakeDevice{}.root;
        ASSERT_TRUE(control_->apply(layout.set_up, ApplyMode::in_order));
        service_.emplace(std::move(*planner), BytesPerSecond{20 * mbit / 8}, *control_, clock_);
    }

    ControlService::SessionId connect(uid_t uid = 1000) {
        return *service_->open({.pid = 42, .uid = uid, .gid = 100});
    }

    Json ask(ControlService::SessionId session, const std::string& op,
             const Json& members = Json::object()) {
        Json request{{"v", 1}, {"id", 5}, {"op", op}};
        request.update(members);
        Json answer = Json::parse(service_->answer(session, request.dump()).text);
        EXPECT_EQ(answer["v"], 1);
        EXPECT_EQ(answer["id"], 5);
        return answer;
    }

    FakeClass& in_kernel(std::uint32_t classid) {
        return kernel_.device("eth0").root.classes.at(classid);
    }
    void expect_at_rest() {
        kernel_.end_linger();
        EXPECT_EQ(in_kernel(own_class), FakeClass{});
        EXPECT_EQ(in_kernel(remote_class), FakeClass{});
    }

    const Json everybody{{"operation", "alltoall"},
                         {"job_hosts", {"a[0-3]", "b[0-3]"}},
                         {"comm_hosts", {"a[0-3]", "b[0-3]"}}};

    FakeKernel kernel_;
    FakeClock clock_;
    std::optional<NetlinkTrafficControl> control_;
    std::optional<ControlService> service_;
};

TEST_F(ControlServiceTest, Hello) {
    const auto client = connect();
    const Json answer = ask(client, "hello", {{"job", "12.0"}, {"rank", 3}, {"pid", 77}});
    EXPECT_EQ(answer["ok"], true);
    EXPECT_EQ(answer["node"], "a0");
    EXPECT_EQ(answer["cluster"], "a");
    EXPECT_EQ(answer["min_message_bytes"], 2048);
}

TEST_F(ControlServiceTest, EnterSetsTheRatesBeforeItAnswers) {
    const auto client = connect();
    Json request = everybody;
    request["message_bytes"] = 65536;
    const Json answer = ask(client, "enter", request);
    EXPECT_EQ(answer["ok"], true) << answer;
    EXPECT_EQ(answer["paced"], true);
    EXPECT_EQ(answer["reason"],
              "the trunk of a (up) is shared by 4 senders: 25 Mbit/s x 0.99 / 4 = 6.187 Mbit/s "
              "for each");
    const Json rates{{{"classid", "1:10"}, {"cluster", "a"}, {"bytes_per_s", 773'437}},
                     {{"classid", "1:11"}, {"cluster", "b"}, {"bytes_per_s", 773'437}}};
    EXPECT_EQ(answer["rates"], rates);
    EXPECT_EQ(in_kernel(own_class).rate, planned);
    EXPECT_EQ(in_kernel(remote_class).rate, planned);

    EXPECT_EQ(ask(client, "leave")["ok"], true);
    EXPECT_EQ(in_kernel(remote_class).linger_ns, 10'000'000U);
    expect_at_rest();
}

TEST_F(ControlServiceTest, PreparedPatternsSpareTheHostLists) {
    const auto client = connect();
    const Json prepared = ask(client, "prepare", everybody);
    EXPECT_EQ(prepared["ok"], true) << prepared;
    EXPECT_EQ(prepared["pattern"], 1);
    EXPECT_EQ(prepared["paced"], true);
    EXPECT_EQ(prepared["min_message_bytes"], 2048);
    EXPECT_EQ(in_kernel(remote_class), FakeClass{}) << "preparing changes nothing";

    EXPECT_EQ(ask(client, "enter", {{"pattern", 1}, {"message_bytes", 2048}})["paced"], true);
    EXPECT_EQ(in_kernel(remote_class).rate, planned);
    // The same collective again keeps its id; another gets the next.
    EXPECT_EQ(ask(client, "prepare", everybody)["pattern"], 1);
    Json smaller = everybody;
    smaller["comm_hosts"] = {"a0", "b0"};
    EXPECT_EQ(ask(client, "prepare", smaller)["pattern"], 2);
}

TEST_F(ControlServiceTest, PatternsBelongToTheirConnection) {
    ask(connect(), "prepare", everybody);
    const auto other = connect();
    const Json answer = ask(other, "enter", {{"pattern", 1}});
    EXPECT_EQ(answer["ok"], false);
    EXPECT_EQ(answer["error"], "pattern 1 was not prepared on this connection");
    EXPECT_EQ(ask(other, "enter", {{"pattern", 0}})["ok"], false);
    expect_at_rest();
}

TEST_F(ControlServiceTest, SmallMessagesAreNotPacedButBalanced) {
    const auto client = connect();
    ask(client, "prepare", everybody);
    ask(client, "enter", {{"pattern", 1}, {"message_bytes", 65536}});
    const Json small = ask(client, "enter", {{"pattern", 1}, {"message_bytes", 2047}});
    EXPECT_EQ(small["ok"], true);
    EXPECT_EQ(small["paced"], false);
    EXPECT_NE(small["reason"].get<std::string>().find("2047"), std::string::npos);
    ask(client, "leave");
    EXPECT_EQ(in_kernel(remote_class).rate, planned) << "only the small one was left";
    EXPECT_FALSE(in_kernel(remote_class).lingers());
    ask(client, "leave");
    expect_at_rest();
    EXPECT_EQ(ask(client, "leave")["error"], "there is nothing to leave");
}

/// The demo's topology with buffers that hold short messages.
Config buffered_config() {
    Config config = demo_config();
    auto clusters = config.topology.clusters();
    for (Cluster& cluster : clusters) {
        cluster.trunk_buffer_bytes = cluster.host_buffer_bytes = 256 << 10;
    }
    config.topology = *Topology::make(std::move(clusters));
    return config;
}

// 4 KiB between 8 hosts: the buffers hold all that 4 x 4 messages can be.  With
// 8 ranks on each host it is 64 times as much.  All-to-allv names no one size.
TEST_F(ControlServiceTest, PlansForTheSizeWhereBuffersAreKnown) {
    start(buffered_config());
    const auto client = connect();
    Json alltoall = everybody;
    Json many_ranks = everybody;
    many_ranks["ranks_per_host"] = 8;
    Json alltoallv = everybody;
    alltoallv["operation"] = "alltoallv";
    EXPECT_EQ(ask(client, "prepare", alltoall)["paced"], true) << "for messages of any size";
    EXPECT_EQ(ask(client, "prepare", many_ranks)["pattern"], 2);
    EXPECT_EQ(ask(client, "prepare", alltoallv)["pattern"], 3);

    const auto paced = [&](int pattern, int bytes) {
        const Json answer = ask(client, "enter", {{"pattern", pattern}, {"message_bytes", bytes}});
        EXPECT_EQ(ask(client, "leave")["ok"], true);
        return answer["paced"].get<bool>();
    };
    EXPECT_FALSE(paced(1, 4096));
    EXPECT_TRUE(paced(1, 1 << 20));
    EXPECT_TRUE(paced(2, 4096));
    EXPECT_TRUE(paced(3, 4096));
    EXPECT_FALSE(paced(1, 4096)) << "remembered";

    Json direct = alltoall;
    direct["message_bytes"] = 4096;
    const Json answer = ask(client, "enter", direct);
    EXPECT_EQ(answer["paced"], false);
    EXPECT_NE(answer["reason"].get<std::string>().find("no buffer can overflow"), std::string::npos);
    for (const int ranks : {0, 4097}) {
        many_ranks["ranks_per_host"] = ranks;
        EXPECT_EQ(ask(client, "prepare", many_ranks)["ok"], false);
    }
}

TEST_F(ControlServiceTest, PlanTellsTheTimes) {
    const auto client = connect();
    const Json plan = ask(client, "plan", {{"operation", "alltoall"},
                                           {"hosts", {"a[0-3]", "b[0-3]"}},
                                           {"message_bytes", 65536}});
    EXPECT_LT(plan["predicted_paced"]["high_s"], plan["predicted_unpaced"]["high_s"]);
    EXPECT_EQ(plan["predicted_paced"]["timeouts"], 0);
}

TEST_F(ControlServiceTest, OneClusterIsNotPaced) {
    const auto client = connect();
    const Json answer = ask(client, "enter", {{"operation", "alltoall"},
                                              {"job_hosts", {"a[0-3]", "b[0-3]"}},
                                              {"comm_hosts", {"a[0-3]"}}});
    EXPECT_EQ(answer["paced"], false);
    expect_at_rest();
}

TEST_F(ControlServiceTest, SiblingsKnownNotToOverlapDoNotCount) {
    const auto client = connect();
    Json request{{"operation", "alltoallv"},
                 {"job_hosts", {"a[0-3]", "b[0-3]"}},
                 {"comm_hosts", {"a[0-1]", "b[0-1]"}}};
    EXPECT_EQ(ask(client, "prepare", request)["rates"][1]["bytes_per_s"], 773'437);
    request["siblings_disjoint"] = true;
    EXPECT_EQ(ask(client, "prepare", request)["rates"][1]["bytes_per_s"], 12'375'000 / 8);
}

TEST_F(ControlServiceTest, HostsMustMakeSense) {
    const auto client = connect();
    const auto error = [&](const Json& job, const Json& communicator) {
        const Json answer = ask(client, "enter", {{"operation", "alltoall"},
                                                  {"job_hosts", job},
                                                  {"comm_hosts", communicator}});
        EXPECT_EQ(answer["ok"], false);
        return answer.value("error", "");
    };
    EXPECT_EQ(error({"a0", "z1"}, {"a0"}), "job_hosts: not in the topology: \"z1\"");
    EXPECT_EQ(error({"a0"}, {"a0", "z1"}), "comm_hosts: not in the topology: \"z1\"");
    EXPECT_EQ(error({"a0", "b0"}, {"a0", "b1"}), "comm_hosts names hosts that are not in job_hosts");
    EXPECT_EQ(error({"a1", "b0"}, {"a1", "b0"}), "comm_hosts does not name this node, \"a0\"");
    expect_at_rest();
}

TEST_F(ControlServiceTest, AClosedConnectionUndoesItsEnters) {
    const auto client = connect();
    const auto other = connect();
    ask(client, "enter", everybody);
    ask(client, "enter", everybody);
    ask(other, "enter", everybody);
    service_->close(client);
    EXPECT_FALSE(in_kernel(remote_class).lingers()) << "another client is still in it";
    service_->close(other);
    expect_at_rest();
    EXPECT_EQ(service_->clients(), 0U);
    service_->close(other);
}

TEST_F(ControlServiceTest, TheStrictestOfTheNodesProcessesWins) {
    const auto few = connect();
    const auto all = connect();
    Json pair{{"operation", "alltoall"},
              {"job_hosts", {"a[0-1]", "b[0-1]"}},
              {"comm_hosts", {"a[0-1]", "b[0-1]"}}};
    ask(few, "enter", pair);
    EXPECT_EQ(in_kernel(remote_class).rate, ClassRate(BytesPerSecond{12'375'000 / 8}));
    ask(all, "enter", everybody);
    EXPECT_EQ(in_kernel(remote_class).rate, planned);
    service_->close(all);
    kernel_.end_linger();
    EXPECT_EQ(in_kernel(remote_class).rate, ClassRate(BytesPerSecond{12'375'000 / 8}));
}

TEST_F(ControlServiceTest, ARefusalOfTheKernelIsToldAndUndone) {
    kernel_.refuse = [](const nlmsghdr& request) -> std::optional<FakeKernel::Refusal> {
        const auto* tc = static_cast<const tcmsg*>(NLMSG_DATA(&request));
        if (request.nlmsg_type != RTM_NEWTCLASS || tc->tcm_handle != remote_class) return {};
        return FakeKernel::Refusal{ENOMEM, "no memory for a test"};
    };
    const auto client = connect();
    const Json answer = ask(client, "enter", everybody);
    EXPECT_EQ(answer["ok"], false);
    EXPECT_NE(answer["error"].get<std::string>().find("no memory for a test"), std::string::npos);
    EXPECT_EQ(ask(client, "leave")["ok"], false) << "it was not entered";
    EXPECT_EQ(ask(client, "status")["in_step"], false) << "the refused class is unknown now";
    kernel_.refuse = nullptr;
    clock_.advance(10s);
    service_->pacer().retry();
    EXPECT_EQ(ask(client, "status")["in_step"], true);
    expect_at_rest();
}

TEST_F(ControlServiceTest, PlanAnswersForAnyHosts) {
    const Json answer =
        ask(connect(), "plan", {{"operation", "alltoall"}, {"hosts", {"a[0-3]", "b[0-3]"}}});
    EXPECT_EQ(answer["paced"], true);
    EXPECT_EQ(answer["limiting_link"]["kind"], "trunk_up");
    EXPECT_EQ(answer["limiting_link"]["senders"], 4);
    EXPECT_EQ(answer["hosts_per_cluster"], (Json{{"a", 4}, {"b", 4}}));
    EXPECT_EQ(answer["classes"][1]["bytes_per_s"], 773'437);
    expect_at_rest();
    const Json small = ask(connect(), "plan",
                           {{"operation", "alltoall"}, {"hosts", {"a0", "b0"}}, {"message_bytes", 1}});
    EXPECT_EQ(small["paced"], false);
}

TEST_F(ControlServiceTest, StatusShowsWhatIsInForce) {
    const auto client = connect();
    ask(client, "hello", {{"job", "12.0"}, {"rank", 3}, {"pid", 77}});
    ask(client, "enter", everybody);
    clock_.advance(2s);
    Json status = ask(client, "status");
    EXPECT_EQ(status["daemon"]["uptime_s"], 2.0);
    EXPECT_EQ(status["daemon"]["config"], "/etc/headway/headway.toml");
    EXPECT_EQ(status["daemon"]["link_bits_per_s"], 20'000'000);
    EXPECT_EQ(status["classes"][1]["classid"], "1:11");
    EXPECT_EQ(status["classes"][1]["cluster"], "b");
    EXPECT_EQ(status["classes"][1]["wanted_bytes_per_s"], 773'437);
    EXPECT_EQ(status["classes"][1]["bytes_per_s"], 773'437);
    EXPECT_EQ(status["active_enters"], 1);
    EXPECT_EQ(status["clients"][0]["job"], "12.0");
    EXPECT_EQ(status["clients"][0]["pid"], 42) << "the kernel's word";
    EXPECT_EQ(status["clients"][0]["claimed_pid"], 77);
    EXPECT_EQ(status["clients"][0]["paced"], true);
    EXPECT_EQ(status["enter"]["count"], 1);

    ask(client, "leave");
    status = ask(client, "status");
    EXPECT_EQ(status["classes"][1]["wanted_bytes_per_s"], nullptr);
    EXPECT_EQ(status["classes"][1]["bytes_per_s"], 773'437) << "lingering";
    EXPECT_EQ(status["classes"][1]["next_bytes_per_s"], nullptr);
    EXPECT_TRUE(status["classes"][1].contains("next_bytes_per_s"));
}

TEST_F(ControlServiceTest, StatusTellsThatSomebodyRemovedTheQdisc) {
    const auto client = connect();
    kernel_.device("eth0").root = FakeDevice{}.root;
    EXPECT_EQ(ask(client, "status")["classes"][0]["in_kernel"], false);
    EXPECT_EQ(ask(client, "enter", everybody)["ok"], false);
}

// ------------------------------------------------------------- hostile clients

TEST_F(ControlServiceTest, NonsenseIsAnsweredAndHarmless) {
    const auto client = connect();
    for (const std::string& nonsense :
         {std::string(), std::string("{"), std::string(1000, '\0'), std::string(70'000, ' '),
          std::string(R"({"v":1,"id":1,"op":"enter","pattern":18446744073709551615})")}) {
        const Json answer = Json::parse(service_->answer(client, nonsense).text);
        EXPECT_EQ(answer["ok"], false);
        EXPECT_TRUE(answer["error"].is_string());
    }
    EXPECT_EQ(Json::parse(service_->answer(999, "{}").text)["ok"], false);
    expect_at_rest();
}

TEST_F(ControlServiceTest, EverythingAClientMakesIsBounded) {
    const auto client = connect();
    for (std::size_t i = 0; i < enters_per_client_max; ++i) {
        EXPECT_EQ(ask(client, "enter", everybody)["ok"], true);
    }
    EXPECT_EQ(ask(client, "enter", everybody)["ok"], false);
    service_->close(client);
    expect_at_rest();

    // The greatest topology makes enough different patterns.
    std::vector<Cluster> clusters;
    for (int c = 0; c < 2; ++c) clusters.push_back(make_cluster(c, 100, 20, 25));
    Config config = demo_config();
    config.topology = *Topology::make(clusters);
    start(std::move(config));
    const auto many = connect();
    int refused = 0;
    for (int hosts = 0; hosts < 100; ++hosts) {
        const Json list{"a[0-" + std::to_string(hosts) + "]", "b0"};
        const Json answer =
            ask(many, "prepare",
                {{"operation", "alltoall"}, {"job_hosts", list}, {"comm_hosts", list}});
        refused += answer["ok"] == false;
    }
    EXPECT_EQ(refused, 100 - static_cast<int>(patterns_per_client_max));
}

TEST_F(ControlServiceTest, OneUserCannotShutOthersOut) {
    for (std::size_t i = 0; i < clients_per_user_max; ++i) {
        ASSERT_TRUE(service_->open({.pid = 1, .uid = 1000, .gid = 1}));
    }
    const auto refused = service_->open({.pid = 1, .uid = 1000, .gid = 1});
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("user 1000"), std::string::npos);
    const auto other = service_->open({.pid = 1, .uid = 1001, .gid = 1});
    ASSERT_TRUE(other);
    service_->close(1);
    EXPECT_TRUE(service_->open({.pid = 1, .uid = 1000, .gid = 1}));
}

// The longest answer there can be: as many clusters, clients and names as
// allowed, all as long as allowed.  It must fit into a datagram.
TEST_F(ControlServiceTest, TheLongestStatusFitsIntoADatagram) {
    std::vector<Cluster> clusters;
    for (int c = 0; c < 128; ++c) {
        Cluster cluster = make_cluster(0, 1, 20, 15);
        cluster.name = std::string(60, 'x') + std::to_string(1000 + c);
        cluster.hosts = {fmt::format("h{}", c)};
        cluster.prefixes = {*parse_ip_prefix(fmt::format("10.0.{}.0/24", c))};
        clusters.push_back(std::move(cluster));
    }
    Config config = demo_config();
    config.node.name = "h0";
    config.topology = *Topology::make(std::move(clusters));
    start(std::move(config));
    for (std::size_t i = 0; i < clients_in_status_max + 10; ++i) {
        const auto client = connect();
        ask(client, "hello", {{"job", std::string(job_name_max_bytes, 'j')},
                              {"rank", 4'000'000'000U}, {"pid", 4'000'000'000U}});
        const Json hosts{"h[0-127]"};
        ASSERT_EQ(ask(client, "enter", {{"operation", "alltoall"},
                                        {"job_hosts", hosts}, {"comm_hosts", hosts}})["ok"], true);
    }
    const Json status = ask(1, "status");
    EXPECT_EQ(status["ok"], true) << status;
    EXPECT_EQ(status["classes"].size(), 128U);
    EXPECT_EQ(status["clients"].size(), clients_in_status_max);
    EXPECT_EQ(status["client_count"], clients_in_status_max + 10);
}

// ---------------------------------------------------------------------- reload

TEST_F(ControlServiceTest, ReloadPlansPatternsAnew) {
    const auto client = connect();
    ask(client, "prepare", everybody);
    ask(client, "enter", {{"pattern", 1}});
    Config config = demo_config();
    config.policy.plan.target_utilisation_millionths = 495'000;
    config.policy.linger = 25ms;
    ASSERT_TRUE(service_->reload(config));
    EXPECT_EQ(in_kernel(remote_class).rate, planned) << "a running collective keeps its rate";
    ask(client, "leave");
    EXPECT_EQ(in_kernel(remote_class).linger_ns, 25'000'000U);
    ask(client, "enter", {{"pattern", 1}});
    EXPECT_EQ(in_kernel(remote_class).rate, ClassRate(BytesPerSecond{773'437 / 2}));
}

TEST_F(ControlServiceTest, ReloadWithOtherHostsOutdatesPatterns) {
    const auto client = connect();
    ask(client, "prepare", everybody);
    Config config = demo_config();
    config.topology = *Topology::make({make_cluster(0, 5, 20, 25), make_cluster(1, 4, 20, 25)});
    ASSERT_TRUE(service_->reload(config));
    const Json answer = ask(client, "enter", {{"pattern", 1}});
    EXPECT_EQ(answer["ok"], false);
    EXPECT_NE(answer["error"].get<std::string>().find("prepare it again"), std::string::npos);
    EXPECT_EQ(ask(client, "prepare", everybody)["pattern"], 1);
    EXPECT_EQ(ask(client, "enter", {{"pattern", 1}})["ok"], true);
}

TEST_F(ControlServiceTest, ReloadRefusesWhatNeedsARestart) {
    const auto client = connect();
    ask(client, "prepare", everybody);
    const std::vector<std::function<void(Config&)>> changes{
        [](Config& c) { c.node.interface = "eth1"; },
        [](Config& c) { c.node.name = "b0"; },
        [](Config& c) { c.node.name = "z0"; },
        [](Config& c) { c.daemon.socket = "/run/other"; },
        [](Config& c) { c.daemon.group = "mpi"; },
        [](Config& c) { c.kernel.via = KernelVia::tc; },
        [](Config& c) { c.kernel.tc_plugin_dir = "/x"; },
        [](Config& c) {
            auto clusters = c.topology.clusters();
            std::swap(clusters[0], clusters[1]);
            c.topology = *Topology::make(clusters);
        },
        [](Config& c) {
            auto clusters = c.topology.clusters();
            clusters[1].prefixes = {*parse_ip_prefix("10.9.0.0/16")};
            c.topology = *Topology::make(clusters);
        },
        [](Config& c) {
            auto clusters = c.topology.clusters();
            clusters.push_back(make_cluster(2, 1, 20, 25));
            c.topology = *Topology::make(clusters);
        },
        [](Config& c) {
            auto clusters = c.topology.clusters();
            clusters[0].host_rate = {21 * mbit};  // the link has 20
            c.topology = *Topology::make(clusters);
        },
    };
    for (std::size_t i = 0; i < changes.size(); ++i) {
        Config config = demo_config();
        config.policy.plan.target_utilisation_millionths = 500'000;
        changes[i](config);
        const auto done = service_->reload(config);
        EXPECT_FALSE(done) << "change " << i;
    }
    ask(client, "enter", {{"pattern", 1}});
    EXPECT_EQ(in_kernel(remote_class).rate, planned) << "nothing of it was taken over";
}

TEST(NodePlannerTest, KnowsItsNode) {
    Config config = demo_config();
    config.node.name.reset();
    EXPECT_EQ(NodePlanner::make(config, "b3.example.org")->own_cluster().name, "b");
    const auto nowhere = NodePlanner::make(config, "login1");
    ASSERT_FALSE(nowhere);
    EXPECT_NE(nowhere.error().message.find("host \"login1\" (the host name) is in no cluster"),
              std::string::npos);
}

}  // namespace
}  // namespace headway::test
