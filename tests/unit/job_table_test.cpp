// SPDX-License-Identifier: Apache-2.0
// When jobs begin and end, and what is left of them over a restart.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/limits.hpp"
#include "daemon/state_file.hpp"
#include "jobs/job_table.hpp"

namespace headway::test {

/// Lists what was stored for good, and renamed, in this order.
std::vector<std::string>& stored();
std::vector<std::string>& stored() {
    static std::vector<std::string> names;
    return names;
}

namespace {

constexpr uid_t alice = 1000;

StartJobRequest request(const std::string& name, uid_t user = alice) {
    StartJobRequest start;
    start.job = name;
    start.uid = user;
    return start;
}

TEST(JobTable, AJobOfProcessesEndsWithTheLast) {
    JobTable table;
    const JobId job = table.attach(alice, "12");
    EXPECT_EQ(table.attach(alice, "12"), job);
    EXPECT_NE(table.attach(alice + 1, "12"), job) << "another user's";
    EXPECT_FALSE(table.detach(job));
    EXPECT_TRUE(table.detach(job));
    EXPECT_FALSE(table.find(alice, "12"));
}

TEST(JobTable, AStartedJobWithoutProcessesEndsByCommandOnly) {
    JobTable table;
    const JobId job = *table.start(alice, request("12"));
    EXPECT_EQ(table.find(alice, "12"), job);
    EXPECT_TRUE(table.end(job));
    EXPECT_TRUE(table.jobs().empty());
}

TEST(JobTable, AStartedJobEndsWithItsLastProcessUnlessItIsToLast) {
    JobTable table;
    StartJobRequest lasting = request("lasting");
    lasting.is_lasting = true;
    const JobId first = *table.start(alice, request("12")), second = *table.start(alice, lasting);
    EXPECT_EQ(table.attach(alice, "12"), first);
    EXPECT_EQ(table.attach(alice, "lasting"), second);
    EXPECT_TRUE(table.detach(first));
    EXPECT_FALSE(table.detach(second));
    EXPECT_EQ(table.attach(alice, "lasting"), second) << "its next step";
    EXPECT_FALSE(table.end(second)) << "goes on as its process's";
    EXPECT_EQ(table.at(second).weight(), 1U);
    EXPECT_TRUE(table.detach(second));
}

TEST(JobTable, TheFirstProcessThatTellsAStartIsBelieved) {
    JobTable table;
    const JobId job = table.attach(alice, "solver");
    EXPECT_EQ(table.cluster_job(job).start, 0U);
    table.tell_start(job, 0);
    table.tell_start(job, 5);
    table.tell_start(job, 6);
    EXPECT_EQ(table.cluster_job(job).start, 5U);
}

// Nodes on which none of its processes run know only what the command says.
TEST(JobTable, OfAStartedJobTheCommandsStartHolds) {
    JobTable table;
    const JobId job = table.attach(alice, "solver");
    table.tell_start(job, 5);
    ASSERT_EQ(*table.start(alice, request("solver")), job);
    EXPECT_EQ(table.cluster_job(job).start, 0U);
    StartJobRequest anew = request("solver");
    anew.start = 7;
    ASSERT_EQ(*table.start(alice, anew), job);
    table.tell_start(job, 8);
    EXPECT_EQ(table.cluster_job(job).start, 7U) << "as it was started last";
    table.end(job);
    EXPECT_EQ(table.cluster_job(job).start, 5U) << "its processes go on as they began";
}

TEST(JobTable, AnAllocationHasOneStart) {
    JobTable table;
    const JobId step = table.attach(alice, "4711.0");
    table.tell_start(step, 5);
    EXPECT_EQ(table.cluster_job(step), (JobHere{"4711", 1, false, alice, 0}))
        << "its steps begin at different times";
    StartJobRequest whole = request("4711");
    whole.start = 1'700'000'000;
    const JobId allocation = *table.start(alice, whole);
    EXPECT_EQ(table.cluster_job(step).start, whole.start);
    EXPECT_EQ(cluster_identity(table.cluster_job(step)), cluster_identity(table.cluster_job(allocation)));
    const JobId of_another = table.attach(alice + 1, "4711.0");
    EXPECT_EQ(table.cluster_job(of_another).start, 0U);
    table.end(allocation);
    EXPECT_EQ(table.cluster_job(step).start, 0U);
}

TEST(JobTable, AllocationsAreToldByTheirNumber) {
    EXPECT_EQ(allocation_of("4711"), "4711");
    EXPECT_EQ(allocation_of("4711.0"), "4711");
    EXPECT_EQ(allocation_of("4711.node-1-42"), "4711");
    EXPECT_EQ(allocation_of("node.example-42"), "node.example-42");
    EXPECT_EQ(allocation_of(".5"), ".5");
    EXPECT_EQ(allocation_of(""), "");
}

HostSet some_hosts() {
    HostSet hosts(4);
    hosts.add(0);
    hosts.add(1);
    return hosts;
}

JobId attach_with_hosts(JobTable& table, const std::string& name, uid_t user = alice) {
    const JobId job = table.attach(user, name);
    EXPECT_TRUE(table.set_hosts(job, some_hosts()));
    return job;
}

TEST(JobTable, AnAllocationCountsOnceUnderAllItsNames) {
    JobTable table;
    StartJobRequest prolog = request("4711");
    prolog.weight = 3;
    prolog.is_lasting = true;
    const JobId started = *table.start(alice, prolog);
    EXPECT_TRUE(table.counting().empty()) << "its hosts are not known";
    ASSERT_TRUE(table.set_hosts(started, some_hosts()));
    ASSERT_EQ(table.counting().size(), 1U) << "nothing else is known of it";

    const JobId first = attach_with_hosts(table, "4711.0"), second = attach_with_hosts(table, "4711.1");
    attach_with_hosts(table, "4711.0", alice + 1);
    const auto counting = table.counting();
    ASSERT_EQ(counting.size(), 3U) << "the steps do, not the prolog's name";
    EXPECT_EQ(counting[0].id, first);
    EXPECT_EQ(counting[1].id, second);
    EXPECT_EQ(counting[0].allocation, counting[1].allocation);
    EXPECT_NE(counting[0].allocation, counting[2].allocation) << "another user's";
    EXPECT_EQ(counting[0].weight, 3U);
    EXPECT_EQ(counting[1].weight, 3U);
    EXPECT_EQ(counting[2].weight, 1U);

    EXPECT_TRUE(table.detach(first));
    EXPECT_TRUE(table.detach(second));
    EXPECT_EQ(table.counting().front().id, started) << "until its next step";
}

TEST(JobTable, AnAllocationThatSendsItselfCountsBesideItsSteps) {
    JobTable table;
    StartJobRequest pattern = request("4711");
    pattern.is_alltoall = true;
    const JobId started = *table.start(alice, pattern);
    ASSERT_TRUE(table.set_hosts(started, some_hosts()));
    attach_with_hosts(table, "4711.0");
    EXPECT_EQ(table.counting().size(), 2U);
}

TEST(JobTable, StartingAgainSaysItAnew) {
    JobTable table;
    StartJobRequest start = request("12");
    const JobId job = *table.start(0, start);
    start.weight = 5;
    EXPECT_EQ(*table.start(0, start), table.find(0, "12"));
    EXPECT_EQ(table.at(job).weight(), 5U);
}

TEST(JobTable, IsBounded) {
    JobTable table;
    std::size_t started = 0;
    while (table.start(alice, request(std::to_string(started)))) ++started;
    EXPECT_EQ(started, (started_jobs_max - administrators_jobs) / 2);
    EXPECT_TRUE(table.start(alice, request("0"))) << "is one of them";
    EXPECT_TRUE(table.start(alice + 1, request("0"))) << "another user's";
    for (started += 1; started < started_jobs_max; ++started) {
        ASSERT_TRUE(table.start(0, request(std::to_string(started), 0)));
    }
    EXPECT_FALSE(table.start(0, request("more", 0)));
    table.end(*table.find(alice, "0"));
    EXPECT_TRUE(table.start(0, request("more", 0)));
}

// Each had as many as he might when he started them; now the other's job comes first.
TEST(JobTable, WhoHadStartedManyHasThemAfterARestart) {
    JobTable table;
    const uid_t other = alice + 1;
    (void)table.attach(other, "first");
    for (std::size_t i = 0; i < (started_jobs_max - administrators_jobs) / 2; ++i) {
        ASSERT_TRUE(table.start(alice, request(std::to_string(i))));
    }
    ASSERT_TRUE(table.start(other, request("first")));
    JobTable next;
    const auto restored = next.restore(table.to_text());
    ASSERT_TRUE(restored) << restored.error().message;
    EXPECT_EQ(next.to_text(), table.to_text());
    EXPECT_FALSE(next.start(alice, request("more"))) << "they count";
    for (const JobId id : next.ids()) EXPECT_TRUE(next.set_hosts(id, some_hosts())) << next.at(id).name;
}

// Sharing is work for each pair of a job and a host.
TEST(JobTable, JobsThatShareLinksAreBounded) {
    JobTable table;
    std::size_t sharing = 0;
    const auto learns = [&](uid_t user) {
        const JobId job = table.attach(user, std::to_string(table.jobs().size()));
        return table.learn(job, some_hosts()).has_value();
    };
    while (learns(alice)) ++sharing;
    EXPECT_EQ(sharing, (sharing_jobs_max - administrators_jobs) / 2);
    const JobId first = table.jobs().begin()->first;
    table.detach(first);
    EXPECT_TRUE(learns(alice)) << "in the place of the one that has ended";
    EXPECT_TRUE(learns(alice + 1)) << "another user's";
}

TEST(JobTable, StartedJobsOutliveARestart) {
    JobTable table;
    StartJobRequest start = request("12");
    start.hosts = {"a0", "a1"};
    start.weight = 3;
    start.is_lasting = true;
    start.flows = {{0, 1, 17}};
    ASSERT_TRUE(table.start(alice, start));
    StartJobRequest whole = request("whole");
    whole.hosts = {"a0", "b0"};
    whole.is_alltoall = true;
    ASSERT_TRUE(table.start(alice, whole));
    table.attach(alice, "not started");

    JobTable next;
    const auto restored = next.restore(table.to_text());
    ASSERT_TRUE(restored) << restored.error().message;
    ASSERT_EQ(next.jobs().size(), 2U);
    const Job& job = next.at(*next.find(alice, "12"));
    EXPECT_EQ(job.started->hosts, start.hosts);
    EXPECT_EQ(job.started->weight, 3U);
    EXPECT_TRUE(job.started->is_lasting);
    ASSERT_EQ(job.started->flows.size(), 1U);
    EXPECT_EQ(job.started->flows[0].bytes, 17);
    EXPECT_TRUE(next.at(*next.find(alice, "whole")).started->is_alltoall);
    EXPECT_EQ(next.to_text(), table.to_text());
}

TEST(JobTable, ProcessesHaveTimeToComeBack) {
    JobTable table;
    for (const char* name : {"back", "gone", "never-had-any"}) {
        ASSERT_TRUE(table.start(alice, request(name)));
    }
    table.attach(alice, "back");
    table.attach(alice, "gone");
    JobTable next;
    ASSERT_TRUE(next.restore(table.to_text()));
    next.attach(alice, "back");
    EXPECT_EQ(next.jobs().size(), 3U);
    EXPECT_EQ(next.deserted(), std::vector{*next.find(alice, "gone")});
}

TEST(JobTable, WhatIsNoListOfJobsRestoresNone) {
    for (const char* text : {"", "{}", "[1]", "[{}]", "[{\"had_processes\":true}]",
                             "[{\"v\":1,\"id\":0,\"op\":\"status\",\"had_processes\":true}]",
                             "[{\"v\":1,\"id\":0,\"op\":\"job_start\",\"job\":\"x\",\"had_processes\":1}]"}) {
        JobTable table;
        EXPECT_FALSE(table.restore(text)) << text;
        EXPECT_TRUE(table.jobs().empty()) << text;
    }
}

class StateFileTest : public testing::Test {
protected:
    StateFileTest() : folder_(testing::TempDir() + "/job-file-XXXXXX") {
        EXPECT_NE(mkdtemp(folder_.data()), nullptr);
    }
    ~StateFileTest() override { std::filesystem::remove_all(folder_); }

    std::string folder_;
};

TEST_F(StateFileTest, HasTheLastTextOrNone) {
    const StateFile file = jobs_file(folder_ + "/control.sock");
    const auto none = file.read();
    ASSERT_TRUE(none);
    EXPECT_FALSE(*none);
    ASSERT_TRUE(file.write("[1]\n"));
    ASSERT_TRUE(file.write("[]\n"));
    EXPECT_EQ(**file.read(), "[]\n");
    EXPECT_EQ(std::filesystem::status(file.path()).permissions(),
              std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    file.remove();
    EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

// A power cut may come at any time: a file must be stored before it has its name, and then the
// name.
TEST_F(StateFileTest, IsStoredBeforeItHasItsName) {
    const std::string folder = std::filesystem::canonical(folder_);
    const StateFile file = jobs_file(folder + "/control.sock");
    stored().clear();
    ASSERT_TRUE(file.write("[]\n"));
    EXPECT_EQ(stored(), (std::vector<std::string>{file.path() + ".new", "rename", folder}));
    stored().clear();
    EXPECT_TRUE(file.remove());
    EXPECT_TRUE(file.remove()) << "there is none any more";
    EXPECT_EQ(stored(), std::vector<std::string>{folder});
}

TEST_F(StateFileTest, FollowsNoLink) {
    const StateFile file = jobs_file(folder_ + "/control.sock");
    std::filesystem::create_symlink(folder_ + "/elsewhere", file.path());
    std::filesystem::create_symlink(folder_ + "/elsewhere", file.path() + ".new");
    EXPECT_FALSE(file.read());
    EXPECT_FALSE(file.write("[]\n"));
    EXPECT_FALSE(std::filesystem::exists(folder_ + "/elsewhere"));
}

}  // namespace
}  // namespace headway::test

// In the place of the C library's, for the whole program.
extern "C" int fsync(int fd) {
    std::array<char, 4096> path{};
    const std::string link = "/proc/self/fd/" + std::to_string(fd);
    if (readlink(link.c_str(), path.data(), path.size() - 1) > 0) headway::test::stored().emplace_back(path.data());
    return static_cast<int>(syscall(SYS_fsync, fd));
}
extern "C" int rename(const char* from, const char* to) noexcept {
    headway::test::stored().emplace_back("rename");
    return static_cast<int>(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}
