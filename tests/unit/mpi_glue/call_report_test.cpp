// SPDX-License-Identifier: Apache-2.0
// The report on a job's collectives, as one rank counts it and as rank 0 puts it together.
#include "call_report.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <random>

namespace headway::glue::test {

using Json = nlohmann::json;

namespace {

using namespace std::chrono_literals;

const CallKind paced_alltoall{"MPI_COMM_WORLD", "alltoall", 16, "linear", true, ""};
const CallKind small_bcast{"MPI_COMM_WORLD", "bcast", 3, "native", false,
                           "messages under 2048 bytes are not paced"};

TEST(DurationsOfCalls, HaveExactEndsAndAMedianWithinThreePerCent) {
    std::mt19937_64 random(1);
    for (const std::uint64_t largest : {50ULL, 5'000ULL, 90'000'000ULL, 4'000'000'000'000ULL}) {
        Durations durations;
        std::vector<std::uint64_t> all;
        for (int i = 0; i < 1001; ++i) {
            all.push_back(random() % largest);
            durations.add(all.back());
        }
        std::sort(all.begin(), all.end());
        EXPECT_EQ(durations.shortest_ns(), all.front());
        EXPECT_EQ(durations.longest_ns(), all.back());
        EXPECT_NEAR(static_cast<double>(durations.median_ns()), static_cast<double>(all[500]),
                    0.0313 * static_cast<double>(all[500]));
    }
}

TEST(DurationsOfCalls, AreTheSameAfterJson) {
    Durations durations;
    for (const std::uint64_t ns : {1ULL, 63ULL, 64ULL, 12'345'678ULL}) durations.add(ns);
    const auto read_of = [](const std::string& json) {
        return Durations::from_json(*JsonObject::read("{\"x\":" + json + "}"), "x");
    };
    const auto read = read_of(durations.to_json());
    ASSERT_TRUE(read);
    EXPECT_EQ(read->to_json(), durations.to_json());
    EXPECT_EQ(read->count(), 4U);
    for (const char* wrong : {R"({"min_ns":1})", R"({"min_ns":1,"max_ns":2,"classes":3})",
                              R"({"min_ns":1,"max_ns":2,"classes":[[1,2],[3]]})",
                              R"({"min_ns":1,"max_ns":2,"classes":[[1,2],true]})"})
        EXPECT_FALSE(read_of(wrong)) << wrong;
}

CallReport report_of_rank(int rank, std::chrono::nanoseconds duration) {
    CallReport report;
    for (int call = 0; call < 3; ++call) report.add(paced_alltoall, 65536, duration);
    report.rows().at(paced_alltoall).predicted_s = 0.004;
    report.add(small_bcast, 8, 1us);
    report.set_node(rank < 2 ? "a0" : "b0", {rank < 2 ? 1U : 0U, 7, {2, 3, 1}});
    report.set_daemon_wait(rank * 1ms);
    return report;
}

CallReport whole_report() {
    CallReport whole = report_of_rank(0, 4ms);
    whole.add(report_of_rank(1, 5ms));
    whole.add(report_of_rank(2, 6ms));
    return whole;
}

Json tree_of(const CallReport& report) { return Json::parse(report.to_json()); }

TEST(CallReports, OfAllRanksCountACollectiveOnce) {
    CallReport whole = whole_report();
    const CallRow& row = whole.rows().at(paced_alltoall);
    EXPECT_EQ(row.calls, 3U);
    EXPECT_EQ(row.bytes, 3U * 65536);
    EXPECT_EQ(row.durations.count(), 9U);
    EXPECT_EQ(row.durations.shortest_ns(), 4'000'000U);
    EXPECT_EQ(row.durations.longest_ns(), 6'000'000U);
}

TEST(CallReports, AreTheSameAfterJson) {
    const CallReport whole = whole_report();
    const auto read = CallReport::from_json(whole.to_json());
    ASSERT_TRUE(read) << read.error();
    EXPECT_EQ(read->to_json(), whole.to_json());
    EXPECT_EQ(tree_of(whole)["nodes"].size(), 2U);
    EXPECT_EQ(tree_of(whole)["nodes"][0]["own_connections"],
              (Json{{"count", 4}, {"retransmitted_segments", 6}, {"timeouts", 2}}))
        << "of both ranks of the node";
    EXPECT_EQ(tree_of(whole)["daemon_wait_ns"], 2'000'000);
}

TEST(CallReports, KnowTheRunsThatTheyAreOf) {
    CallReport first = whole_report(), second = whole_report(), old = whole_report();
    first.set_run(UINT64_MAX);
    second.set_run(7);
    EXPECT_FALSE(first.has_run_of(second));
    EXPECT_FALSE(old.has_run_of(old)) << "nobody knows";
    first.add_run(second);
    first.add_run(old);
    const auto read = CallReport::from_json(first.to_json());
    ASSERT_TRUE(read) << read.error();
    EXPECT_TRUE(read->has_run_of(second));
    EXPECT_FALSE(second.has_run_of(old));
    EXPECT_EQ(tree_of(*read)["runs"], (Json{UINT64_MAX, 7}));
}

TEST(CallReports, RefuseWhatIsNoReport) {
    const Json right = tree_of(whole_report());
    for (const char* wrong : {"", "null", "[]", "{}", R"({"collectives":3})", R"({"collectives":[],"nodes":[]})",
                              R"({"collectives":{},"nodes":[],"daemon_wait_ns":0})",
                              R"({"collectives":[3],"nodes":[],"daemon_wait_ns":0})",
                              R"({"collectives":[],"nodes":[null],"daemon_wait_ns":0})"})
        EXPECT_FALSE(CallReport::from_json(wrong)) << wrong;
    EXPECT_TRUE(CallReport::from_json(R"({"collectives":[],"nodes":[],"daemon_wait_ns":0})"));
    for (const char* name : {"calls", "operation", "duration", "message_bytes_most"}) {
        Json wrong = right;
        wrong["collectives"][0][name] = -1;
        EXPECT_FALSE(CallReport::from_json(wrong.dump())) << name;
    }
}

TEST(CallReports, CountACallWhoseEndNobodySaw) {
    CallReport report;
    const CallKind kind{"MPI_COMM_WORLD", "ialltoall", 16, "native", true, ""};
    report.add(kind, 65536, std::nullopt);
    report.rows().at(kind).predicted_s = 0.004;
    CallReport whole;
    whole.add(*CallReport::from_json(report.to_json()));
    EXPECT_EQ(whole.rows().at(kind).calls, 1U);
    EXPECT_EQ(tree_of(whole)["collectives"][0]["ratio"], nullptr);
    EXPECT_NE(whole.table().find("yes         -          -       -         4.000      -\n"),
              std::string::npos)
        << whole.table();

    report.add(kind, 65536, 5ms);
    whole.add(*CallReport::from_json(report.to_json()));
    EXPECT_EQ(whole.rows().at(kind).calls, 2U);
    EXPECT_EQ(whole.rows().at(kind).durations.count(), 1U);
    EXPECT_EQ(whole.rows().at(kind).durations.shortest_ns(), 5'000'000U);
}

TEST(CallReports, SayThatAKernelCountsNoTimeOutsByConnection) {
    CallReport whole = whole_report();
    CallReport old_kernel;
    old_kernel.set_node("b1", {0, 0, {1, 1, std::nullopt}});
    whole.add(*CallReport::from_json(old_kernel.to_json()));
    EXPECT_NE(whole.table().find("10 segments lost and sent again, time-outs are not counted by this kernel\n"),
              std::string::npos)
        << whole.table();
    EXPECT_EQ(tree_of(whole)["nodes"][2]["own_connections"]["timeouts"], nullptr);
}

TEST(CallReports, ShowATableWithTheLongestFirst) {
    EXPECT_EQ(whole_report().table(),
              "communicator    operation  message up to  calls   bytes  algorithm  paced  min ms  "
              "median ms  max ms  predicted ms  ratio\n"
              "MPI_COMM_WORLD  alltoall          64 KiB      3  196608  linear     yes     4.000      "
              "4.981   6.000         4.000   1.25\n"
              "MPI_COMM_WORLD  bcast                8 B      1       8  native     no      0.001      "
              "0.001   0.001             -      -\n"
              "not paced, bcast: messages under 2048 bytes are not paced\n"
              "TCP between the job's ranks, 6 ends of connections that were open at the end: "
              "9 segments lost and sent again, 3 time-outs\n"
              "TCP of the job's 2 nodes, all programs': 1 time-outs, 14 segments sent again\n"
              "waiting for headwayd took a rank 2.000 ms at most\n");
}

}  // namespace
}  // namespace headway::glue::test
