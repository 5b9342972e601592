// SPDX-License-Identifier: Apache-2.0
// Requests in, answers and kernel state out; no sockets, no root.
#include <cerrno>

#include "control_service_fixture.hpp"

namespace headway::test {
namespace {

TEST_F(ControlServiceTest, Hello) {
    const auto client = connect();
    const Json answer = ask(client, "hello", {{"job", "12.0"}, {"rank", 3}, {"pid", 77}});
    EXPECT_EQ(answer["ok"], true);
    EXPECT_EQ(answer["node"], "a0");
    EXPECT_EQ(answer["cluster"], "a");
    EXPECT_EQ(answer["min_message_bytes"], 2048);
    EXPECT_EQ(answer["own_network"], false);
    EXPECT_EQ(answer["prefixes"], Json({"10.1.0.0/16"}));
}

TEST_F(ControlServiceTest, HelloAndStatusTellOfANetworkNamespaceOfItsOwn) {
    const auto client = *service_->open({.pid = 42, .uid = 0, .has_own_network = true});
    EXPECT_EQ(ask(client, "hello")["own_network"], true);
    EXPECT_EQ(ask(client, "status")["clients"][0]["own_network"], true);
    EXPECT_EQ(ask(connect(), "status")["clients"][1]["own_network"], false);
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
    expect_at_rest();
}

TEST_F(ControlServiceTest, ACollectiveIsLeftByItsNumber) {
    const auto client = connect();
    const Json paced = ask(client, "enter", everybody);
    Json small = everybody;
    small["message_bytes"] = 1;
    const Json unpaced = ask(client, "enter", small);
    EXPECT_EQ(paced["paced"], true) << paced;
    EXPECT_EQ(unpaced["paced"], false) << unpaced;
    EXPECT_EQ(ask(client, "leave", {{"entered", paced["entered"]}})["ok"], true);
    expect_at_rest();
    EXPECT_EQ(ask(client, "leave", {{"entered", paced["entered"]}})["ok"], false);
    EXPECT_EQ(ask(client, "leave", {{"entered", unpaced["entered"]}})["ok"], true);
    EXPECT_EQ(ask(client, "leave")["ok"], false) << "nothing is left";
}

TEST_F(ControlServiceTest, WhoEntersWhatHasARootIsToldItsEnd) {
    const auto entered = [&](const char* operation, bool has_root) {
        Json request = everybody;
        request["operation"] = operation;
        request["message_bytes"] = 65536;
        if (has_root) request["root"] = "a0";
        return ask(connect(), "enter", request);
    };
    EXPECT_GT(entered("gather", true)["predicted"]["low_s"].get<double>(), 0);
    const Json scatter = entered("scatter", true);
    EXPECT_EQ(scatter.contains("predicted"), scatter["paced"] == true) << scatter;
    EXPECT_FALSE(entered("alltoall", false).contains("predicted")) << "who has received all may go";
}

TEST_F(ControlServiceTest, PreparedPatternsSpareTheHostLists) {
    const auto client = connect();
    const Json prepared = ask(client, "prepare", everybody);
    EXPECT_EQ(prepared["ok"], true) << prepared;
    EXPECT_EQ(prepared["pattern"], 1);
    EXPECT_EQ(prepared["paced"], true);
    EXPECT_EQ(prepared["min_message_bytes"], 2048);
    EXPECT_EQ(in_kernel(remote_class), FakeClass{}) << "preparing changes nothing";

    const Json entered = ask(client, "enter", {{"pattern", 1}, {"message_bytes", 2048}});
    EXPECT_EQ(entered["paced"], true);
    EXPECT_FALSE(entered.contains("reason") || entered.contains("rates")) << "prepare told them";
    EXPECT_EQ(in_kernel(remote_class).rate, planned);
    // A collective keeps its id when it is asked for again; another gets the next.
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
    close_session(client);
    EXPECT_EQ(in_kernel(remote_class).rate, planned) << "another client is still in it";
    close_session(other);
    expect_at_rest();
    EXPECT_EQ(service_->clients(), 0U);
    close_session(other);
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
    close_session(all);
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
                           {{"operation", "alltoall"}, {"hosts", {"a[0-3]", "b[0-3]"}}, {"message_bytes", 1}});
    EXPECT_EQ(small["paced"], false);
    EXPECT_EQ(small["classes"][1]["bytes_per_s"], nullptr) << "as it will be";
    EXPECT_EQ(small["predicted_paced"], nullptr);
}

// Buffers that hold the surplus of short messages make plans depend on the size.
TEST_F(ControlServiceTest, PlanIsForTheSizeThatPhasesArePlannedFor) {
    Config config = demo_config();
    auto clusters = config.topology.clusters();
    for (Cluster& cluster : clusters) cluster.trunk_buffer_bytes = cluster.host_buffer_bytes = 256 << 10;
    config.topology = *Topology::make(std::move(clusters));
    start(std::move(config));
    const auto plan_of = [&](const char* operation, std::uint64_t bytes) {
        Json plan = ask(connect(), "plan", {{"operation", operation}, {"hosts", {"a[0-3]", "b[0-3]"}},
                                            {"message_bytes", bytes}});
        EXPECT_EQ(plan["message_bytes"], bytes) << "as it was asked";
        plan.erase("message_bytes");
        return plan;
    };
    EXPECT_NE(plan_of("alltoall", 32'768), plan_of("alltoall", 65'536));
    EXPECT_EQ(plan_of("alltoall", 40'000), plan_of("alltoall", 65'536));
    EXPECT_EQ(plan_of("alltoallv", 40'000), plan_of("alltoallv", 65'536)) << "of any size";
    Json entered = everybody;
    entered["message_bytes"] = 40'000;
    EXPECT_EQ(ask(connect(), "enter", entered)["rates"], plan_of("alltoall", 40'000)["classes"]);
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
    EXPECT_EQ(status["classes"][1]["bytes_per_s"], nullptr);
}

TEST_F(ControlServiceTest, StatusTellsThatSomebodyRemovedTheQdisc) {
    const auto client = connect();
    kernel_.device("eth0").root = FakeDevice{}.root;
    EXPECT_EQ(ask(client, "status")["classes"][0]["in_kernel"], false);
    EXPECT_EQ(ask(client, "enter", everybody)["ok"], false);
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
