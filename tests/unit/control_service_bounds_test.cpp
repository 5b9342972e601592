// SPDX-License-Identifier: Apache-2.0
// What a client cannot do to the daemon, and what a reload does to clients.
#include "control_service_fixture.hpp"

namespace headway::test {
namespace {

/// An all-to-all of a0 to a`last` and b0.
Json hosts_up_to(int last) {
    const Json list{"a[0-" + std::to_string(last) + "]", "b0"};
    return {{"operation", "alltoall"}, {"job_hosts", list}, {"comm_hosts", list}};
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
    close_session(client);
    expect_at_rest();

    // The greatest topology makes enough different patterns.
    std::vector<Cluster> clusters;
    for (int c = 0; c < 2; ++c) clusters.push_back(make_cluster(c, 100, 20, 25));
    Config config = demo_config();
    config.topology = *Topology::make(clusters);
    start(std::move(config));
    const auto many = connect();
    for (int hosts = 0; hosts < 100; ++hosts) {
        EXPECT_EQ(ask(many, "prepare", hosts_up_to(hosts))["pattern"], hosts + 1);
    }
    EXPECT_EQ(ask(many, "status")["clients"][0]["patterns"], patterns_per_client_max);
}

// A program with many communicators does not run out of patterns.
TEST_F(ControlServiceTest, ThePatternUsedLongestAgoIsForgotten) {
    std::vector<Cluster> clusters;
    for (int c = 0; c < 2; ++c) clusters.push_back(make_cluster(c, 100, 20, 25));
    Config config = demo_config();
    config.topology = *Topology::make(clusters);
    start(std::move(config));
    const auto client = connect();
    const int most = static_cast<int>(patterns_per_client_max);
    for (int hosts = 0; hosts < most; ++hosts) ask(client, "prepare", hosts_up_to(hosts));
    EXPECT_EQ(ask(client, "enter", {{"pattern", 1}})["ok"], true) << "used since";
    EXPECT_EQ(ask(client, "prepare", hosts_up_to(1))["pattern"], 2) << "used since, too";
    EXPECT_EQ(ask(client, "prepare", hosts_up_to(most))["pattern"], most + 1);
    const Json answer = ask(client, "enter", {{"pattern", 3}});
    EXPECT_EQ(answer["error"], "pattern 3 was forgotten because others were used since: prepare "
                               "it again on this connection");
    for (const int pattern : {1, 2, 4, most, most + 1}) {
        EXPECT_EQ(ask(client, "enter", {{"pattern", pattern}})["ok"], true) << pattern;
    }
    EXPECT_EQ(ask(client, "prepare", hosts_up_to(2))["pattern"], most + 2) << "another number";
    EXPECT_EQ(ask(client, "enter", {{"pattern", most + 3}})["error"],
              "pattern " + std::to_string(most + 3) + " was not prepared on this connection");
}

TEST_F(ControlServiceTest, OneUserCannotShutOthersOut) {
    std::size_t clients = 0;
    while (service_->open({.pid = 1, .uid = 1000})) ++clients;
    EXPECT_EQ(clients, (clients_max - administrators_clients) / 2);
    const auto refused = service_->open({.pid = 1, .uid = 1000});
    EXPECT_EQ(refused.error().message.find("user 1000 has 1016 clients"), 0U) << refused.error().message;
    close_session(1);
    EXPECT_TRUE(service_->open({.pid = 1, .uid = 1000}));
    EXPECT_TRUE(service_->open({.pid = 1, .uid = 1001}));
}

// A rootless container's ids are one user's, for clients, jobs with phases and all else.
TEST_F(ControlServiceTest, SubordinateIdsTakeFromTheirOwnersQuota) {
    service_->count_by(Accounts("alice:100000:65536", [](const std::string&) { return uid_t{1000}; }));
    std::size_t clients = 0;
    while (service_->open({.pid = 1, .uid = static_cast<uid_t>(100'000 + clients)})) ++clients;
    EXPECT_EQ(clients, (clients_max - administrators_clients) / 2);
    EXPECT_FALSE(service_->open({.pid = 1, .uid = 1000}));
    EXPECT_TRUE(service_->open({.pid = 1, .uid = 1001}));
}

TEST(JobTable, SubordinateIdsTakeFromTheirOwnersQuota) {
    JobTable table;
    table.count_by(Accounts("alice:100000:65536", [](const std::string&) { return uid_t{1000}; }));
    const HostSet hosts(4);
    std::size_t sharing = 0;
    while (table.learn(table.attach(static_cast<uid_t>(100'000 + sharing), "job"), hosts)) ++sharing;
    EXPECT_EQ(sharing, (sharing_jobs_max - administrators_jobs) / 2);
    EXPECT_FALSE(table.learn(table.attach(1000, "job"), hosts));
    EXPECT_TRUE(table.learn(table.attach(1001, "job"), hosts));
}

// Neither two users nor twenty, root least of all.
TEST_F(ControlServiceTest, NoNumberOfUsersShutsOthersOut) {
    service_->administrate_by(77);
    for (uid_t user = 1000; user < 1020; ++user) {
        while (service_->open({.pid = 1, .uid = user})) {
        }
        EXPECT_TRUE(service_->open({.pid = 1, .uid = user + 1})) << user;
    }
    for (std::size_t i = 0; i < administrators_clients; ++i) {
        Peer administrator{.pid = 1, .uid = i % 2 == 0 ? 0U : 1000U};
        if (administrator.uid != 0) administrator.groups = {77};
        ASSERT_TRUE(service_->open(administrator)) << i;
    }
}

/// As many clusters as allowed, with names as long as allowed.
Config greatest_config() {
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
    return config;
}

// Answers have any size: these are megabytes.
TEST_F(ControlServiceTest, AsManyClustersAndJobsAsThereMayBeAreTold) {
    start(greatest_config());
    constexpr int jobs = 1000;
    for (int i = 0; i < jobs; ++i) {
        const auto client = connect(static_cast<uid_t>(1000 + i % 4));
        ask(client, "hello", {{"job", std::string(job_name_max_bytes - 4, 'j') + std::to_string(1000 + i)},
                              {"rank", 4'000'000'000U}, {"pid", 4'000'000'000U}});
        if (i < jobs - 100) continue;
        const Json prepared = ask(client, "prepare", {{"operation", "alltoall"}, {"job_hosts", {"h[0-127]"}},
                                                      {"comm_hosts", {"h[0-127]"}}});
        EXPECT_EQ(prepared["ok"], true) << prepared;
    }
    const auto client = connect(7);
    const Json status = ask(client, "status");
    EXPECT_EQ(status["ok"], true) << status;
    EXPECT_EQ(status["classes"].size(), 128U);
    EXPECT_EQ(status["clients"].size(), clients_in_status_max);
    EXPECT_EQ(status["client_count"], jobs + 1);
    const Json list = ask(client, "jobs");
    EXPECT_EQ(list["job_count"], jobs);
    EXPECT_EQ(list["jobs"].size(), static_cast<std::size_t>(jobs));
    EXPECT_EQ(list["jobs"][jobs - 1]["parts"].size(), 128U);
    EXPECT_EQ(ask(client, "ready")["in_step"], true) << "the one thing that `headway wait` asks";
    EXPECT_EQ(ask(client, "more")["ok"], false) << "nothing is left";
}

TEST_F(ControlServiceTest, WhatAUserDoesNotFetchIsBounded) {
    start(greatest_config());
    for (int i = 0; i < 400; ++i) {
        ask(connect(7), "hello", {{"job", std::string(job_name_max_bytes - 4, 'j') + std::to_string(1000 + i)}});
    }
    const auto first_piece = [&](uid_t user) {
        const auto client = connect(user);
        return Json::parse(service_->answer(client, R"({"v":1,"id":5,"op":"jobs"})").text);
    };
    const Json piece = first_piece(1000);
    ASSERT_GT(piece["left"], 50'000);
    const std::size_t most = long_answers_max_bytes / 2 / piece["left"].get<std::size_t>() + 2;
    bool is_refused = false;
    for (std::size_t i = 0; i < most && !is_refused; ++i) {
        is_refused = first_piece(1000)["ok"] == false;
    }
    EXPECT_TRUE(is_refused);
    EXPECT_EQ(first_piece(1001)["ok"], true) << "another user's are his own";
}

TEST_F(ControlServiceTest, OneUsersPatternsAreBounded) {
    std::vector<Cluster> clusters;
    for (int c = 0; c < 2; ++c) clusters.push_back(make_cluster(c, 100, 20, 25));
    Config config = demo_config();
    config.topology = *Topology::make(clusters);
    start(std::move(config));
    for (std::size_t i = 0; i < patterns_max / 2 / patterns_per_client_max; ++i) {
        const auto client = connect();
        for (int hosts = 0; hosts < static_cast<int>(patterns_per_client_max); ++hosts)
            ASSERT_EQ(ask(client, "prepare", hosts_up_to(hosts))["ok"], true);
    }
    EXPECT_EQ(ask(connect(), "prepare", hosts_up_to(1))["ok"], false);
    EXPECT_EQ(ask(connect(1001), "prepare", hosts_up_to(1))["ok"], true);
}

// ---------------------------------------------------------------------- reload

// Buffers that are known only now hold bursts from now on; those that are trusted no more, none.
TEST_F(ControlServiceTest, BurstsFollowWhatIsKnownOfBuffers) {
    Config config = demo_config();
    std::vector<Cluster> clusters = config.topology.clusters();
    for (Cluster& one : clusters) one.host_buffer_bytes = 256 << 10;
    config.topology = *Topology::make(std::move(clusters));
    EXPECT_EQ(in_kernel(own_class).burst_bytes, 0U);
    ASSERT_TRUE(service_->reload(config));
    EXPECT_EQ(in_kernel(own_class).burst_bytes, 9362U);
    EXPECT_EQ(in_kernel(remote_class).burst_bytes, 0U) << "the trunk's buffer is not known";
    const Json classes = ask(connect(), "status")["classes"];
    EXPECT_EQ(classes[0]["burst_bytes"], 9362);
    EXPECT_EQ(classes[1]["burst_bytes"], 0);
    service_->distrust(divisor_one);
    EXPECT_EQ(in_kernel(own_class).burst_bytes, 0U);
    service_->distrust(std::nullopt);
    EXPECT_EQ(in_kernel(own_class).burst_bytes, 9362U);
}

TEST_F(ControlServiceTest, ReloadPlansPatternsAnew) {
    const auto client = connect();
    ask(client, "prepare", everybody);
    ask(client, "enter", {{"pattern", 1}});
    Config config = demo_config();
    config.policy.plan.target_utilisation_millionths = 495'000;
    ASSERT_TRUE(service_->reload(config));
    EXPECT_EQ(in_kernel(remote_class).rate, planned) << "a running collective keeps its rate";
    ask(client, "leave");
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

// Else the first that asks anew would be alone, and the others keep what they had.
TEST_F(ControlServiceTest, ReloadWithOtherHostsKeepsJobsParts) {
    const auto one = connect(), other = connect();
    ask(one, "hello", {{"job", "1"}});
    ask(other, "hello", {{"job", "2"}});
    ask(one, "enter", everybody);
    ask(other, "enter", everybody);
    EXPECT_EQ(in_kernel(remote_class).rate, ClassRate(BytesPerSecond{773'437 / 2}));
    Config config = demo_config();
    config.topology = *Topology::make({make_cluster(0, 5, 20, 25), make_cluster(1, 4, 20, 25)});
    ASSERT_TRUE(service_->reload(config));
    const Json listed = ask(one, "jobs");
    for (const Json& job : listed["jobs"]) {
        EXPECT_EQ(job["hosts"], 8) << job;
        EXPECT_EQ(job["parts"]["b"], 0.5) << job;
    }
    ask(one, "leave");
    ask(one, "enter", everybody);
    EXPECT_LE(in_kernel(remote_class).rate->value, 773'437U / 2);
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

}  // namespace
}  // namespace headway::test
