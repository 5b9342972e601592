// SPDX-License-Identifier: Apache-2.0
// join, phase and rate through the daemon's requests.
#include <gtest/gtest.h>

#include <cerrno>

#include "base/limits.hpp"
#include "phase_service_fixture.hpp"

namespace headway::test {
namespace {

class PhaseRequests : public PhaseServiceTest {
protected:
    Session connect(uid_t uid = 1000, bool is_watched = true) {
        return *service_->open({.pid = 42, .uid = uid, .is_watched = is_watched});
    }
    Json join(Session session, const std::string& job = "12.0") {
        return ask(session, "join", {{"job", job}});
    }
    Session joined(uid_t uid = 1000) {
        const Session session = connect(uid);
        EXPECT_EQ(join(session)["ok"], true);
        return session;
    }
    static Json collective(const std::string& operation, std::uint64_t bytes = 65536) {
        return {{"operation", operation},
                {"job_hosts", {"a[0-3]", "b[0-3]"}},
                {"comm_hosts", {"a[0-3]", "b[0-3]"}},
                {"message_bytes", bytes}};
    }
    using Choice = FakePhaseMaps::Choice;
    ClassRate rate_of(Choice choice) {
        return rate_in(kernel_.device("eth0").root, choice.minor, choice.entry);
    }
};

TEST_F(PhaseRequests, TheLayoutHasAClassifierAndRestingClasses) {
    const FakeQdisc& root = kernel_.device("eth0").root;
    ASSERT_EQ(root.filters.size(), 1U);
    EXPECT_EQ(root.filters[0].program_fd, 17);
    EXPECT_EQ(root.filters[0].classid, 0x10000U) << "the program gives the minor number";
    EXPECT_EQ(root.classes.size(), 4U);
    EXPECT_EQ(root.classes.at(0x10111).parent, 0x10011U);
}

TEST_F(PhaseRequests, JoinGivesASlotInSharedMemory) {
    const Json answer = join(connect());
    ASSERT_EQ(answer["ok"], true) << answer;
    ASSERT_GE(fd_, 0);
    EXPECT_EQ(answer["map_bytes"], sizeof(headway_phase_slots));
    EXPECT_EQ(answer["slot_offset"], 0);
    EXPECT_EQ(answer["generation"], maps_.slots(0).generation);
    EXPECT_EQ(answer["generation_offset"], 1024);
    EXPECT_EQ(join(connect())["slot_offset"], 4);
}

TEST_F(PhaseRequests, JoiningTwiceIsTheSameSeat) {
    const Session session = joined();
    EXPECT_EQ(join(session)["slot"], 0);
    EXPECT_GE(fd_, 0);
    EXPECT_EQ(maps_.config().process_count, 1U);
    EXPECT_EQ(join(session, "other")["ok"], false);
}

TEST_F(PhaseRequests, AnotherUserGetsAnotherArray) {
    join(connect(1000));
    const int mine = fd_;
    join(connect(1001));
    EXPECT_NE(fd_, mine);
    EXPECT_NE(fd_, -1);
}

TEST_F(PhaseRequests, NothingWithoutJoin) {
    const Session session = connect();
    EXPECT_EQ(ask(session, "phase", collective("alltoall"))["ok"], false);
    EXPECT_EQ(ask(session, "rate", {{"bytes_per_s", 1000000}})["ok"], false);
    EXPECT_EQ(fd_, -1);
    EXPECT_EQ(join(connect(1000, false))["ok"], false) << "nobody would see it end";
}

TEST_F(PhaseRequests, APhaseHasThePlansRates) {
    const Session session = joined();
    const Json answer = ask(session, "phase", collective("alltoall"));
    ASSERT_EQ(answer["ok"], true) << answer;
    EXPECT_EQ(answer["phase"], 1);
    EXPECT_EQ(answer["paced"], true);
    EXPECT_GT(answer["predicted"]["high_s"], 0.3);
    EXPECT_EQ(answer["generation"], maps_.slots(0).generation);
    __atomic_store_n(&maps_.slots(0).phase[0], 1U, __ATOMIC_RELEASE);
    EXPECT_EQ(rate_of(maps_.classify(1)), ClassRate(BytesPerSecond{773'437}));
    EXPECT_EQ(ask(session, "phase", collective("alltoallv"))["phase"], 1) << "the same rates";
}

TEST_F(PhaseRequests, EveryOperationIsPlannedOrSaysWhyNot) {
    const Session session = joined();
    for (const char* name : {"alltoall", "alltoallv", "alltoallw", "allgather", "allgatherv",
                             "neighbor_alltoall", "neighbor_allgatherv"}) {
        const Json answer = ask(session, "phase", collective(name));
        EXPECT_EQ(answer["paced"], true) << answer;
    }
    for (const char* name : {"gather", "gatherv", "scatter", "scatterv", "bcast", "reduce"}) {
        EXPECT_EQ(ask(session, "phase", collective(name))["ok"], false) << "no root";
        Json request = collective(name);
        request["root"] = "b0";
        const Json answer = ask(session, "phase", request);
        EXPECT_EQ(answer["ok"], true) << answer;
        EXPECT_FALSE(answer["reason"].get<std::string>().empty());
    }
    for (const char* name : {"allreduce", "reduce_scatter", "reduce_scatter_block"}) {
        const Json answer = ask(session, "phase", collective(name));
        EXPECT_EQ(answer["phase"], 0);
        EXPECT_NE(answer["reason"].get<std::string>().find("not known"), std::string::npos);
    }
    EXPECT_EQ(ask(session, "phase", collective("barrier"))["ok"], false);
}

// A client that cannot carry it out by that algorithm must not take the rates.
TEST_F(PhaseRequests, PrepareNamesTheAlgorithmThatAPlanTakesForGranted) {
    const Session session = connect();
    Json request = collective("allgather");
    EXPECT_EQ(ask(session, "prepare", request)["algorithm"], "linear");
    request["operation"] = "alltoall";
    EXPECT_FALSE(ask(session, "prepare", request).contains("algorithm"));
}

// The client carries it out so, whatever the plan would have preferred.
TEST_F(PhaseRequests, TheAlgorithmThatAClientHasDecidedOnIsAnswered) {
    const Session session = joined();
    for (const char* operation : {"alltoall", "alltoallv", "alltoallw", "allgather"}) {
        Json request = collective(operation);
        request["algorithm"] = "linear";
        for (const char* op : {"phase", "prepare"}) {
            const Json answer = ask(session, op, request);
            EXPECT_EQ(answer["paced"], true) << answer;
            EXPECT_EQ(answer["algorithm"], "linear") << answer;
        }
        for (const char* other : {"ring", "hypercube"}) {
            request["algorithm"] = other;
            EXPECT_EQ(ask(session, "phase", request)["ok"], false) << "there is no such plan";
        }
    }
    Json request = collective("allreduce");
    request["algorithm"] = "linear";
    EXPECT_EQ(ask(session, "phase", request)["ok"], false);
}

// Rates of an algorithm are of no use to who cannot carry it out.
TEST_F(PhaseRequests, AnAlgorithmIsNamedToWhoIsAbleTo) {
    const Session session = joined();
    Json request = collective("alltoall");
    request["algorithms"] = {"linear", "one of a later version"};
    EXPECT_EQ(ask(session, "phase", request)["algorithm"], "linear") << "what the rates are for";
    for (const char* operation : {"alltoallv", "alltoallw"}) {
        request["operation"] = operation;
        EXPECT_EQ(ask(session, "phase", request)["algorithm"], "linear") << operation;
    }
    request["operation"] = "alltoall";
    request["algorithms"] = {"one of a later version"};
    EXPECT_TRUE(ask(session, "phase", request)["algorithm"].is_null());
    EXPECT_TRUE(ask(session, "phase", collective("alltoall"))["algorithm"].is_null());
    request["algorithms"] = {"linear", 7};
    EXPECT_EQ(ask(session, "phase", request)["ok"], false);
    request["algorithms"] = std::vector<std::string>(33, "linear");
    EXPECT_EQ(ask(session, "phase", request)["ok"], false);
}

TEST_F(PhaseRequests, AScatterGoesStraightToAllWithoutRates) {
    const Session session = joined();
    for (const char* name : {"scatter", "scatterv"}) {
        Json request = collective(name);
        request["root"] = "b0";
        EXPECT_TRUE(ask(session, "phase", request)["algorithm"].is_null());
        request["algorithms"] = {"linear"};
        const Json answer = ask(session, "phase", request);
        EXPECT_EQ(answer["algorithm"], "linear") << answer;
        EXPECT_EQ(answer["paced"], false) << answer;
    }
}

// Its rates are those of its traffic, for which the client asks then.
TEST_F(PhaseRequests, ARingIsNamedToWhoIsAbleTo) {
    const Session session = joined();
    for (const char* name : {"allgather", "allgatherv", "bcast"}) {
        Json request = collective(name);
        if (find_operation(name)->has_root) request["root"] = "b0";
        request["algorithms"] = {"ring"};
        const Json answer = ask(session, "phase", request);
        EXPECT_EQ(answer["algorithm"], "ring") << answer;
        EXPECT_EQ(answer["phase"], 0);
        EXPECT_EQ(answer["paced"], false);
        EXPECT_GT(answer["predicted"]["high_s"], 0.1) << answer;
        EXPECT_EQ(ask(session, "prepare", request)["algorithm"], "ring");
        request["message_bytes"] = 1000;
        EXPECT_TRUE(ask(session, "phase", request)["algorithm"].is_null()) << "too small";
        request["algorithms"] = {"linear"};
        request["message_bytes"] = 65536;
        EXPECT_NE(ask(session, "phase", request)["algorithm"], "ring");
    }
    for (const char* name : {"alltoall", "neighbor_alltoall", "reduce", "allreduce", "reduce_scatter",
                             "reduce_scatter_block"}) {
        Json request = collective(name);
        if (find_operation(name)->has_root) request["root"] = "b0";
        request["algorithms"] = {"ring"};
        EXPECT_NE(ask(session, "phase", request)["algorithm"], "ring");
    }
}

TEST_F(PhaseRequests, AGatherLimitsTheSendersTowardsTheRootOnly) {
    const Session session = joined();
    Json request = collective("gather", 1 << 20);
    request["root"] = "b0";
    const Json answer = ask(session, "phase", request);
    ASSERT_EQ(answer["paced"], true) << answer;
    EXPECT_EQ(answer["algorithm"], "linear");
    EXPECT_TRUE(answer["rates"][0]["bytes_per_s"].is_null());
    // 7 hosts into a link of 20 Mbit/s
    EXPECT_NEAR(answer["rates"][1]["bytes_per_s"].get<double>(), 0.99 * 20e6 / 8 / 7, 1000);
    request["root"] = "c7";
    EXPECT_EQ(ask(session, "phase", request)["ok"], false);
}

// A gather of any size is paced: though 1 % of a huge gather's time is more than a time-out.
TEST_F(PhaseRequests, AGatherOfAnySizeIsPaced) {
    const Session session = joined();
    for (const char* operation : {"gather", "gatherv"}) {
        Json request = collective(operation);
        request["root"] = "b0";
        request.erase("message_bytes");
        for (const char* op : {"prepare", "phase"}) {
            const Json answer = ask(session, op, request);
            ASSERT_EQ(answer["paced"], true) << answer;
            EXPECT_EQ(answer["algorithm"], "linear");
            EXPECT_NEAR(answer["rates"][1]["bytes_per_s"].get<double>(), 0.99 * 20e6 / 8 / 7, 10);
        }
    }
}

Json traffic(const Json& flows) {
    return {{"hosts", {"a[0-3]", "b[0-3]"}}, {"flows", flows}};
}

// a0 and a1 send to b0: its edge of 20 Mbit/s is less than the trunk's 25.
TEST_F(PhaseRequests, TrafficHasAPhase) {
    const Session session = joined();
    const Json answer = ask(session, "traffic", traffic({{0, 4, 500}, {1, 4, 500}}));
    ASSERT_EQ(answer["ok"], true) << answer;
    EXPECT_EQ(answer["paced"], true);
    EXPECT_EQ(answer["bytes_per_s"], 1'237'500);
    __atomic_store_n(&maps_.slots(0).phase[0], answer["phase"].get<std::uint32_t>(),
                     __ATOMIC_RELEASE);
    EXPECT_EQ(rate_of(maps_.classify(1)), ClassRate(BytesPerSecond{1'237'500}));
    EXPECT_EQ(maps_.classify(0), (Choice{0x110, 0})) << "nothing goes there";
    EXPECT_EQ(ask(session, "traffic", traffic({{0, 4, 500}, {1, 4, 500}})), answer)
        << "the plan was kept";
}

// The number is this process's alone, until it asks for the next call.
TEST_F(PhaseRequests, TrafficOfOneCallTellsWhenItEnds) {
    const Session session = joined();
    const auto of_call = [&](int bytes) {
        Json request = traffic({{0, 4, bytes}, {1, 4, 500}});
        request["one_call"] = true;
        return ask(session, "traffic", request);
    };
    const Json answer = of_call(500);
    ASSERT_EQ(answer["ok"], true) << answer;
    EXPECT_EQ(answer["bytes_per_s"], 1'237'500);
    EXPECT_NEAR(answer["end_s"].get<double>(), 500 * 1538.0 / 1448 / 1'237'500, 1e-6);
    for (int bytes = 501; bytes < 701; ++bytes) {
        EXPECT_EQ(of_call(bytes)["phase"], answer["phase"]);
    }
    EXPECT_FALSE(ask(session, "traffic", traffic({{0, 4, 500}})).contains("end_s"));
}

TEST_F(PhaseRequests, TrafficOfOthersIsNothingToPace) {
    const Session session = joined();
    const Json others = ask(session, "traffic", traffic({{2, 4, 500}, {1, 4, 500}}));
    EXPECT_EQ(others["ok"], true) << others;
    EXPECT_EQ(others["phase"], ask(session, "traffic", traffic(Json::array()))["phase"]);
    EXPECT_EQ(ask(session, "traffic", traffic(Json::array()))["paced"], false);
}

TEST_F(PhaseRequests, TrafficMustMakeSense) {
    EXPECT_EQ(ask(connect(), "traffic", traffic({{0, 4, 500}}))["ok"], false) << "not joined";
    const Session session = joined();
    const auto refused = [&](const Json& hosts) {
        const Json answer = ask(session, "traffic", {{"hosts", hosts}, {"flows", {{0, 1, 2}}}});
        EXPECT_EQ(answer["ok"], false) << answer;
        return answer["error"].get<std::string>();
    };
    EXPECT_NE(refused({"a0", "c9"}).find("c9"), std::string::npos);
    EXPECT_NE(refused({"a0", "b0", "a0"}).find("twice"), std::string::npos);
    EXPECT_NE(refused({"a1", "b0"}).find("this node"), std::string::npos);
}

TEST_F(PhaseRequests, ARateIsEachProcesss) {
    const Session session = joined(), sibling = joined();
    const Json answer = ask(session, "rate", {{"bytes_per_s", 100'000}});
    ASSERT_EQ(answer["ok"], true) << answer;
    __atomic_store_n(&maps_.slots(0).phase[0], answer["phase"].get<std::uint32_t>(),
                     __ATOMIC_RELEASE);
    EXPECT_EQ(rate_of(maps_.classify(1)), ClassRate(BytesPerSecond{200'000})) << "two processes'";
    EXPECT_EQ(maps_.classify(0), (Choice{0x110, 0})) << "the own cluster is not limited";
    close_session(sibling);
    EXPECT_NE(maps_.slots(0).generation, answer["generation"]) << "the answer is out of date";
    const Json again = ask(session, "rate", {{"bytes_per_s", 100'000}});
    EXPECT_NE(again["phase"], answer["phase"]);
    EXPECT_EQ(ask(session, "rate", {{"bytes_per_s", nullptr}})["phase"], 0);
    EXPECT_EQ(ask(session, "rate", {{"bytes_per_s", 1'000'000'000}})["phase"], 0);
}

TEST_F(PhaseRequests, NobodyStopsTheNode) {
    const Session session = joined();
    EXPECT_EQ(ask(session, "rate", {{"bytes_per_s", 0}})["ok"], false);
    EXPECT_EQ(ask(session, "rate", {{"bytes_per_s", 2'499}})["ok"], false);
    EXPECT_EQ(ask(session, "rate", {{"bytes_per_s", 2'500}})["ok"], true);
    EXPECT_EQ(ask(session, "rate")["ok"], false);
}

TEST_F(PhaseRequests, AClosedConnectionIsOutOfItsPhase) {
    const Session session = joined();
    ask(session, "phase", collective("alltoall"));
    __atomic_store_n(&maps_.slots(0).phase[0], 1U, __ATOMIC_RELEASE);
    ASSERT_NE(maps_.classify(1), (Choice{0x111, 0}));
    close_session(session);
    EXPECT_EQ(maps_.classify(1), (Choice{0x111, 0}));
    EXPECT_EQ(maps_.config().process_count, 0U);
}

TEST_F(PhaseRequests, AReloadPutsAnswersOutOfDate) {
    const Session session = joined();
    const Json before = ask(session, "phase", collective("alltoall"));
    Config slower = demo_config();
    slower.policy.plan.target_utilisation_millionths = 495'000;
    ASSERT_TRUE(service_->reload(slower));
    EXPECT_NE(maps_.slots(0).generation, before["generation"]);
    const Json after = ask(session, "phase", collective("alltoall"));
    EXPECT_EQ(after["generation"], maps_.slots(0).generation);
    EXPECT_NE(after["phase"], before["phase"]) << "a plan of before is not answered";
}

TEST_F(PhaseRequests, StatusShowsJobsAndSlots) {
    const Session session = joined();
    ask(session, "phase", collective("alltoall"));
    __atomic_store_n(&maps_.slots(0).phase[0], 1U, __ATOMIC_RELEASE);
    const Json status = ask(session, "status");
    EXPECT_EQ(status["daemon"]["phases"], true);
    EXPECT_EQ(status["jobs"][0]["job"], "12.0");
    EXPECT_EQ(status["jobs"][0]["processes"], 1);
    EXPECT_EQ(status["jobs"][0]["phases"][0]["bytes_per_s"], 773'437);
    EXPECT_EQ(status["clients"][0]["phase"], 1);
}

TEST_F(PhaseRequests, ADaemonWithoutPhasesSaysSo) {
    service_.reset();
    service_.emplace(planner_.emplace(*NodePlanner::make(demo_config(), "")), BytesPerSecond{20 * mbit / 8},
                     *control_, clock_);
    const Session session = connect();
    EXPECT_EQ(ask(session, "hello")["phases"], false);
    const Json answer = join(session);
    EXPECT_EQ(answer["ok"], false);
    EXPECT_NE(answer["error"].get<std::string>().find("enter"), std::string::npos);
}

}  // namespace
}  // namespace headway::test
