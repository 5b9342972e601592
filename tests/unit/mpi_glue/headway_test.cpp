// SPDX-License-Identifier: Apache-2.0
// libheadway's C interface, against a daemon that answers as the test says.
#include "headway.h"

#include <sys/wait.h>

#include <atomic>
#include <thread>
#include <vector>

#include "scripted_daemon.hpp"

namespace headway::glue::test {
namespace {

constexpr std::uint64_t size = 65536;
constexpr auto hang_limit_ms = static_cast<int>(std::chrono::milliseconds(hang_limit).count());

class LibHeadway : public testing::Test {
protected:
    void SetUp() override {
        daemon_.answers["hello"] = [](const Json& request) {
            return Json{{"node", "a0"}, {"cluster", "a"}, {"phases", true},
                        {"job", request.at("job")}};
        };
        // the rates are those of the algorithm that was asked for
        for (const char* op : {"prepare", "phase"}) {
            daemon_.answers[op] = [this, answer = daemon_.answers[op]](const Json& request) {
                asked_ = request;
                auto body = answer(request);
                if (request.contains("algorithm")) (*body)["algorithm"] = request["algorithm"];
                return body;
            };
        }
        daemon_.answers["plan"] = [](const Json&) {
            return Json{{"paced", true},
                        {"reason", "the trunk of a is shared"},
                        {"pair_bits_per_s", 5e6},
                        {"predicted_paced", {{"low_s", 0.5}, {"high_s", 0.5}}},
                        {"predicted_unpaced", {{"low_s", 0.4}, {"high_s", 0.7}}}};
        };
        daemon_.answers["traffic"] = [this](const Json& request) {
            asked_ = request;
            return Json{{"phase", 2}, {"bytes_per_s", 10}, {"generation", 1}};
        };
    }
    void TearDown() override { headway_close(session_); }

    void open() {
        const std::string path = daemon_.path();
        const headway_options options{sizeof(options), "job", 3, path.c_str(), hang_limit_ms, 0, 0};
        session_ = headway_open(&options);
        ASSERT_NE(session_, nullptr);
    }
    void start_and_open() {
        daemon_.start();
        open();
        ASSERT_EQ(headway_set_hosts(session_, hosts_.data(), hosts_.size(), 2), 0)
            << headway_reason(session_);
    }

    ScriptedDaemon daemon_;
    Json asked_;
    std::array<const char*, 3> hosts_{"a0", "a1", "b0"};
    headway_session* session_ = nullptr;
};

TEST_F(LibHeadway, TellsThatThePacketsOfAContainerAreNotKnown) {
    daemon_.answers["hello"] = [](const Json&) {
        return Json{{"node", "a0"}, {"own_network", true}, {"prefixes", {"198.51.100.0/24"}}};
    };
    daemon_.start();
    open();
    EXPECT_EQ(headway_connected(session_), 0);
    EXPECT_NE(std::string(headway_reason(session_)).find("in a network namespace of its own"),
              std::string::npos)
        << headway_reason(session_);
}

TEST_F(LibHeadway, SaysThatADaemonWithoutPhasesPacesNothing) {
    daemon_.answers["hello"] = [](const Json&) { return Json{{"node", "a0"}, {"phases", false}}; };
    start_and_open();
    EXPECT_EQ(headway_connected(session_), 0);
    headway_exchange* const all = headway_exchange_of(session_, "alltoall", nullptr);
    EXPECT_EQ(headway_enter(session_, all, size), 0U);
    EXPECT_EQ(std::string(headway_reason(session_)).find("headwayd has no phases on this node: "), 0U)
        << headway_reason(session_);
    EXPECT_EQ(headway_traffic(session_, nullptr), -1);
    EXPECT_EQ(std::string(headway_reason(session_)).find("headwayd has no phases on this node: "), 0U);
    EXPECT_EQ(daemon_.asked("prepare"), 0U);
}

TEST_F(LibHeadway, EntersAnExchangeByAStore) {
    start_and_open();
    EXPECT_EQ(headway_connected(session_), 1);
    EXPECT_STREQ(headway_node(session_), "a0");
    EXPECT_STREQ(headway_cluster(session_), "a");
    headway_exchange* const all = headway_exchange_of(session_, "alltoall", nullptr);
    ASSERT_NE(all, nullptr) << headway_reason(session_);
    EXPECT_EQ(headway_exchange_of(session_, "alltoall", nullptr), all);
    for (int call = 0; call < 3; ++call) {
        const std::uint64_t entry = headway_enter(session_, all, size);
        ASSERT_NE(entry, 0U) << headway_reason(session_);
        EXPECT_EQ(daemon_.memory->phase(), 1U);
        headway_leave(session_, entry);
        EXPECT_EQ(daemon_.memory->phase(), 0U);
    }
    EXPECT_EQ(daemon_.asked("phase"), 1U);
    EXPECT_EQ(asked_["algorithm"], "linear");
    EXPECT_EQ(asked_["comm_hosts"], (Json{"a0", "a1", "b0"}));
    EXPECT_EQ(asked_["ranks_per_host"], 2);
}

TEST_F(LibHeadway, TellsTheRootOfOperationsThatHaveOne) {
    start_and_open();
    EXPECT_EQ(headway_exchange_of(session_, "gather", nullptr), nullptr);
    EXPECT_STREQ(headway_reason(session_), "gather needs a root, which is one of the job's hosts");
    headway_exchange* const gather = headway_exchange_of(session_, "gather", "a1");
    ASSERT_NE(gather, nullptr);
    EXPECT_NE(headway_enter(session_, gather, size), 0U);
    EXPECT_EQ(asked_["root"], "a1");
}

TEST_F(LibHeadway, DescribesAnExchangeAmongSomeHosts) {
    start_and_open();
    const std::array<const char*, 2> some{"b0", "a1"};
    headway_exchange* const all = headway_exchange_among(session_, "alltoall", nullptr, some.data(), some.size());
    ASSERT_NE(all, nullptr) << headway_reason(session_);
    EXPECT_NE(all, headway_exchange_of(session_, "alltoall", nullptr));
    EXPECT_NE(headway_enter(session_, all, size), 0U);
    EXPECT_EQ(asked_["job_hosts"], (Json{"a0", "a1", "b0"}));
    EXPECT_EQ(asked_["comm_hosts"], (Json{"a1", "b0"}));
    const std::array<const char*, 2> other_way{"a1", "b0"};
    EXPECT_EQ(headway_exchange_among(session_, "alltoall", nullptr, other_way.data(), 2), all);
    EXPECT_EQ(headway_exchange_among(session_, "gather", "a0", some.data(), some.size()), nullptr);
    EXPECT_STREQ(headway_reason(session_), "gather needs a root, which is one of the job's hosts");
    EXPECT_NE(headway_exchange_among(session_, "gather", "b0", some.data(), some.size()), nullptr);
    for (const auto& [first, second] : {std::pair("a1", "a1"), std::pair("a1", "elsewhere")}) {
        const std::array<const char*, 2> wrong{first, second};
        EXPECT_EQ(headway_exchange_among(session_, "alltoall", nullptr, wrong.data(), 2), nullptr);
        EXPECT_STREQ(headway_reason(session_), "an exchange needs hosts of headway_set_hosts(), each once");
    }
    EXPECT_EQ(headway_exchange_among(session_, "alltoall", nullptr, nullptr, 2), nullptr);
}

TEST_F(LibHeadway, EntersARing) {
    start_and_open();
    const std::array<const char*, 3> order{"b0", "a0", "a1"};
    headway_exchange* const ring = headway_exchange_among(session_, "ring", nullptr, order.data(), order.size());
    ASSERT_NE(ring, nullptr) << headway_reason(session_);
    const std::uint64_t entry = headway_enter(session_, ring, size);
    ASSERT_NE(entry, 0U) << headway_reason(session_);
    EXPECT_EQ(asked_["hosts"], (Json{"a0", "a1", "b0"}));
    EXPECT_EQ(asked_["flows"], (Json{{0, 1, 1000}, {1, 2, 1000}, {2, 0, 1000}}));
    EXPECT_EQ(daemon_.memory->phase(), 2U);
    headway_leave(session_, entry);
    EXPECT_EQ(daemon_.memory->phase(), 0U);
    headway_plan plan{sizeof(plan), 0, 0, 0, 0, 0};
    EXPECT_EQ(headway_plan_of(session_, ring, size, &plan), -1);
    EXPECT_STREQ(headway_reason(session_), "headwayd tells no plan of a ring");
    EXPECT_EQ(headway_exchange_of(session_, "ring", nullptr), ring) << "it goes round in the same order";
    const std::array<const char*, 3> back{"b0", "a1", "a0"};
    EXPECT_NE(headway_exchange_among(session_, "ring", nullptr, back.data(), back.size()), ring);
}

TEST_F(LibHeadway, IsUsedByThreadsTogether) {
    start_and_open();
    headway_exchange* const all = headway_exchange_of(session_, "alltoall", nullptr);
    ASSERT_NE(headway_exchange_of(session_, "nonsense", nullptr), all);
    constexpr int threads = 4, calls = 200;
    std::vector<std::thread> running;
    std::atomic<int> wrong = 0;
    for (int thread = 0; thread < threads; ++thread) {
        running.emplace_back([&] {
            for (int call = 0; call < calls; ++call) {
                const std::uint64_t entry = headway_enter(session_, all, size);
                if (entry == 0 || daemon_.memory->phase() != 1 || headway_reason(session_)[0] != '\0') ++wrong;
                headway_leave(session_, entry);
            }
        });
    }
    for (std::thread& thread : running) thread.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(daemon_.memory->phase(), 0U);
    EXPECT_EQ(daemon_.asked("phase"), 1U);
    EXPECT_STREQ(headway_reason(session_), "nonsense is no operation that can be paced here") << "this thread's last call";
}

TEST_F(LibHeadway, TakesWhatTorchrunTells) {
    Json hello;
    daemon_.answers["hello"] = [&](const Json& request) {
        hello = request;
        return Json{{"node", "a0"}, {"phases", true}};
    };
    daemon_.start();
    setenv("RANK", "5", 1);
    setenv("WORLD_SIZE", "7", 1);
    const std::string path = daemon_.path();
    const headway_options options{sizeof(options), "job", 0, path.c_str(), hang_limit_ms, 0, 0};
    session_ = headway_open(&options);
    EXPECT_EQ(headway_set_hosts(session_, hosts_.data(), hosts_.size(), 0), 0) << headway_reason(session_);
    unsetenv("RANK");
    unsetenv("WORLD_SIZE");
    EXPECT_NE(headway_enter(session_, headway_exchange_of(session_, "alltoall", nullptr), size), 0U);
    EXPECT_EQ(hello.value("rank", -1), 5) << hello;
    EXPECT_EQ(asked_["ranks_per_host"], 3) << "7 processes on 3 hosts";
}

TEST_F(LibHeadway, RefusesWhatMakesNoSense) {
    daemon_.start();
    open();
    EXPECT_EQ(headway_exchange_of(session_, "alltoall", nullptr), nullptr);
    EXPECT_STREQ(headway_reason(session_), "headway_set_hosts() has not been called");
    const std::array<const char*, 2> twice{"a0", "a0"};
    EXPECT_EQ(headway_set_hosts(session_, twice.data(), twice.size(), 1), -1);
    EXPECT_EQ(headway_set_hosts(session_, hosts_.data(), hosts_.size(), 0), -1);
    EXPECT_EQ(headway_set_hosts(session_, nullptr, 3, 1), -1);
    EXPECT_EQ(headway_set_hosts(session_, hosts_.data(), hosts_.size(), 1), 0);
    EXPECT_EQ(headway_exchange_of(session_, "bcast", "a0"), nullptr);
    EXPECT_EQ(headway_exchange_of(session_, "nonsense", nullptr), nullptr);
    EXPECT_EQ(headway_exchange_of(session_, nullptr, nullptr), nullptr);
    EXPECT_NE(headway_exchange_of(session_, "alltoall", nullptr), nullptr);
    EXPECT_EQ(headway_set_hosts(session_, hosts_.data(), hosts_.size(), 1), -1);
}

TEST_F(LibHeadway, TellsThePlan) {
    start_and_open();
    headway_plan plan{sizeof(plan), 0, 0, 0, 0, 0};
    const headway_exchange* const all = headway_exchange_of(session_, "alltoall", nullptr);
    ASSERT_EQ(headway_plan_of(session_, all, size, &plan), 0);
    EXPECT_EQ(plan.paced, 1);
    EXPECT_EQ(plan.pair_bits_per_s, 5e6);
    EXPECT_EQ(plan.paced_s, 0.5);
    EXPECT_EQ(plan.unpaced_low_s, 0.4);
    EXPECT_EQ(plan.unpaced_high_s, 0.7);
    EXPECT_STREQ(headway_reason(session_), "the trunk of a is shared");
}

TEST_F(LibHeadway, HoldsTheRatesOfOtherTraffic) {
    start_and_open();
    const std::array<std::uint64_t, 9> bytes{7, 0, 100, 0, 0, 50, 0, 0, 0};
    ASSERT_EQ(headway_traffic(session_, bytes.data()), 0) << headway_reason(session_);
    EXPECT_EQ(daemon_.memory->phase(), 2U);
    EXPECT_EQ(asked_["flows"], (Json{{0, 2, 1000}, {1, 2, 500}}));
    ASSERT_EQ(headway_traffic(session_, nullptr), 0);
    EXPECT_EQ(daemon_.memory->phase(), 0U);
}

TEST_F(LibHeadway, GoesOnUnpacedWithoutADaemon) {
    open();
    EXPECT_EQ(headway_connected(session_), 0);
    EXPECT_NE(std::string(headway_reason(session_)), "");
    ASSERT_EQ(headway_set_hosts(session_, hosts_.data(), hosts_.size(), 1), 0);
    headway_exchange* const all = headway_exchange_of(session_, "alltoall", nullptr);
    ASSERT_NE(all, nullptr);
    EXPECT_EQ(headway_enter(session_, all, size), 0U);
    headway_leave(session_, 0);
    headway_plan plan{sizeof(plan), 0, 0, 0, 0, 0};
    EXPECT_EQ(headway_plan_of(session_, all, size, &plan), -1);
    EXPECT_EQ(headway_traffic(session_, nullptr), -1);
}

TEST_F(LibHeadway, DoesNothingWhenSwitchedOff) {
    daemon_.start();
    setenv("HEADWAY", "off", 1);
    open();
    unsetenv("HEADWAY");
    EXPECT_STREQ(headway_reason(session_), "HEADWAY=off");
    EXPECT_EQ(headway_set_hosts(session_, hosts_.data(), hosts_.size(), 1), -1);
    EXPECT_EQ(headway_exchange_of(session_, "alltoall", nullptr), nullptr);
    EXPECT_EQ(headway_enter(session_, nullptr, size), 0U);
    EXPECT_EQ(daemon_.asked("hello"), 0U);
}

TEST_F(LibHeadway, IsNamedAsItsStepInSlurm) {
    std::string job;
    daemon_.answers["hello"] = [&](const Json& request) {
        job = request.at("job");
        return Json{{"node", "a0"}, {"phases", true}};
    };
    daemon_.start();
    setenv("SLURM_JOB_ID", "4711", 1);
    setenv("SLURM_STEP_ID", "2", 1);
    const std::string path = daemon_.path();
    const headway_options options{sizeof(options), nullptr, 0, path.c_str(), hang_limit_ms, 0, 0};
    session_ = headway_open(&options);
    unsetenv("SLURM_JOB_ID");
    unsetenv("SLURM_STEP_ID");
    EXPECT_EQ(headway_connected(session_), 1) << headway_reason(session_);
    EXPECT_EQ(job, "4711.2");
}

TEST_F(LibHeadway, TellsTheJobsStart) {
    std::vector<Json> starts;
    daemon_.answers["hello"] = [&](const Json& request) {
        starts.push_back(request.value("start", Json()));
        return Json{{"node", "a0"}, {"phases", true}};
    };
    daemon_.start();
    const std::string path = daemon_.path();
    setenv("HEADWAY_JOB_START", "5", 1);
    for (const std::uint64_t start : {std::uint64_t{0}, std::uint64_t{4711}, std::uint64_t{1} << 53}) {
        const headway_options options{sizeof(options), "job", 0, path.c_str(), hang_limit_ms, start};
        headway_close(session_);
        session_ = headway_open(&options);
    }
    unsetenv("HEADWAY_JOB_START");
    EXPECT_EQ(starts, (std::vector<Json>{5, 4711, 5}));
    EXPECT_STREQ(headway_reason(session_), "a job_start above 2^53 - 1 is not taken");
}

// Programs of an earlier header, and of a later one.
TEST_F(LibHeadway, KnowsHowLargeStructuresAre) {
    struct Later {
        headway_options options{};
        std::uint64_t more = 0;
    } later;
    daemon_.start();
    const std::string path = daemon_.path();
    // The last is the address that a program of a header without sizes has in that place.
    for (const std::size_t no_size : {std::size_t{0}, std::size_t{4097}, reinterpret_cast<std::size_t>(path.c_str())}) {
        headway_close(session_);
        later.options = {no_size, "job", 3, path.c_str(), hang_limit_ms, 0, 0};
        session_ = headway_open(&later.options);
        EXPECT_STREQ(headway_reason(session_), "headway_options.size is not sizeof(struct headway_options)");
        EXPECT_EQ(headway_connected(session_), 0);
    }
    for (const std::uint64_t more : {0, 1}) {
        headway_close(session_);
        later.options.size = sizeof(later);
        later.more = more;
        session_ = headway_open(&later.options);
        EXPECT_EQ(headway_connected(session_), 1);
        EXPECT_STREQ(headway_reason(session_),
                     more != 0 ? "this library knows less of headway_options than the program" : "");
    }
    ASSERT_EQ(headway_set_hosts(session_, hosts_.data(), hosts_.size(), 2), 0);
    const headway_exchange* const all = headway_exchange_of(session_, "alltoall", nullptr);
    struct LaterPlan {
        headway_plan plan{};
        std::uint64_t more = 7;
        std::uint64_t behind = 8;
    } plan;
    for (const std::size_t no_size : {std::size_t{0}, std::size_t{4097}, ~std::size_t{0}}) {
        plan.plan.size = no_size;
        EXPECT_EQ(headway_plan_of(session_, all, size, &plan.plan), -1);
        EXPECT_STREQ(headway_reason(session_), "headway_plan.size is not sizeof(struct headway_plan)");
    }
    plan.plan.size = offsetof(LaterPlan, behind);
    EXPECT_EQ(headway_plan_of(session_, all, size, &plan.plan), 0);
    EXPECT_EQ(plan.plan.pair_bits_per_s, 5e6);
    EXPECT_EQ(plan.plan.size, offsetof(LaterPlan, behind));
    EXPECT_EQ(plan.more, 0U) << "the default of what is not known";
    EXPECT_EQ(plan.behind, 8U);
}

TEST_F(LibHeadway, AChildLeavesItsParentsPhaseAlone) {
    start_and_open();
    headway_exchange* const all = headway_exchange_of(session_, "alltoall", nullptr);
    const std::uint64_t entry = headway_enter(session_, all, size);
    ASSERT_NE(entry, 0U);
    const std::size_t asked = daemon_.asked("phase");
    const pid_t child = fork();
    if (child == 0) {
        bool is_left_alone = headway_enter(session_, all, 64 * size) == 0;
        is_left_alone &= std::string(headway_reason(session_)) == "the session is this process's parent's";
        headway_leave(session_, entry);
        is_left_alone &= headway_traffic(session_, nullptr) == -1;
        headway_close(session_);
        is_left_alone &= daemon_.memory->phase() == 1;
        _exit(is_left_alone ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(daemon_.memory->phase(), 1U);
    EXPECT_EQ(daemon_.asked("phase"), asked);
    headway_leave(session_, entry);
    EXPECT_EQ(daemon_.memory->phase(), 0U);
    EXPECT_NE(headway_enter(session_, all, size), 0U) << headway_reason(session_);
}

TEST(LibHeadwayWithoutASession, IsHarmless) {
    EXPECT_EQ(headway_enter(nullptr, nullptr, size), 0U);
    headway_leave(nullptr, 1);
    EXPECT_STREQ(headway_reason(nullptr), "memory is short");
    headway_close(nullptr);
}

}  // namespace
}  // namespace headway::glue::test
