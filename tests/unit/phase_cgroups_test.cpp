// SPDX-License-Identifier: Apache-2.0
// Several jobs of root's on one node, told apart by the cgroups of their processes; those
// of other users are told from all others' always (authority_test.cpp).
#include <gtest/gtest.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>

#include <cerrno>

#include "phase_service_fixture.hpp"

namespace headway::test {
namespace {

constexpr std::uint32_t remote = 1;  ///< trunk
constexpr std::uint64_t nobodys = 999, first_cgroup = 70, second_cgroup = 80;
const ClassRate alone = BytesPerSecond{773'437};
const ClassRate halved = BytesPerSecond{773'437 / 2};

class Cgroups : public PhaseServiceTest {
protected:
    struct Process {
        Session session;
        std::uint32_t job;
        std::uint32_t slot;
    };

    Cgroups() {
        service_->phases()->tell_apart_with(cgroup_of, [this](const Error& why) { told_.push_back(why.message); });
    }

    /// As if its number were that of its cgroup.
    static Result<std::uint64_t> cgroup_of(const Peer& peer) {
        if (peer.pid == 0) return failure("no such process");
        return static_cast<std::uint64_t>(peer.pid);
    }
    Process join(const std::string& job, std::uint64_t cgroup) {
        const Session session = *service_->open({.pid = static_cast<pid_t>(cgroup), .uid = 0});
        const Json answer = ask(session, "join", {{"job", job}});
        EXPECT_EQ(answer["ok"], true) << answer;
        const auto process = maps_.config().process[maps_.config().process_count - 1];
        return {session, process.job, process.slot};
    }
    static void store(FakePhaseMaps& maps, const Process& process, std::uint32_t phase) {
        __atomic_store_n(&maps.slots(process.job).phase[process.slot], phase, __ATOMIC_RELEASE);
    }
    void store(const Process& process, std::uint32_t phase) { store(maps_, process, phase); }
    Json enter_phase(const Process& process, const Json& hosts = {"a[0-3]", "b[0-3]"}) {
        Json answer = ask(process.session, "phase", {{"operation", "alltoall"},
                                                     {"job_hosts", hosts},
                                                     {"comm_hosts", hosts},
                                                     {"message_bytes", 65536}});
        EXPECT_EQ(answer["ok"], true) << answer;
        store(process, answer["phase"].get<std::uint32_t>());
        return answer;
    }
    std::uint32_t class_of(std::uint64_t cgroup) { return maps_.classify(remote, cgroup).minor; }
    ClassRate rate_for(std::uint64_t cgroup) {
        const auto choice = maps_.classify(remote, cgroup);
        return rate_in(kernel_.device("eth0").root, choice.minor, choice.entry);
    }
    [[nodiscard]] bool are_apart() { return maps_.config().is_apart != 0; }
    /// Changes of the rates that phases stand for.
    void refuse_tables() {
        kernel_.refuse = [](const nlmsghdr& request) -> std::optional<FakeKernel::Refusal> {
            const bool is_change = request.nlmsg_type == RTM_NEWTCLASS && (request.nlmsg_flags & NLM_F_CREATE) == 0;
            if (!is_change) return std::nullopt;
            return FakeKernel::Refusal{ENOMEM, "no memory"};
        };
    }
    void refuse_own_classes() {
        kernel_.refuse = [this](const nlmsghdr& request) -> std::optional<FakeKernel::Refusal> {
            const auto* tc = static_cast<const tcmsg*>(mnl_nlmsg_get_payload(&request));
            if ((tc->tcm_handle & 0xffffU) < first_phase_minor) return std::nullopt;
            ++refused_;
            return FakeKernel::Refusal{ENOMEM, "no memory"};
        };
    }

    std::vector<std::string> told_;
    int refused_ = 0;
};

TEST_F(Cgroups, EachJobHasItsPartAtTheSameTime) {
    const Process first = join("one", first_cgroup), second = join("two", second_cgroup);
    enter_phase(first);
    enter_phase(second);
    EXPECT_TRUE(are_apart());
    EXPECT_NE(class_of(first_cgroup), class_of(second_cgroup));
    EXPECT_EQ(rate_for(first_cgroup), halved);
    EXPECT_EQ(rate_for(second_cgroup), halved);
    EXPECT_EQ(class_of(nobodys), 0x111U);
    EXPECT_EQ(rate_for(nobodys), halved) << "the strictest of all";
    store(first, 0);
    EXPECT_EQ(rate_for(first_cgroup), halved) << "the strictest of all";
    EXPECT_EQ(class_of(first_cgroup), 0x111U) << "which is one rate for all";
    store(second, 0);
    EXPECT_EQ(rate_for(second_cgroup), ClassRate());
}

TEST_F(Cgroups, TheLastOnesPacketsAreNotLookedAt) {
    const Process first = join("one", first_cgroup), second = join("two", second_cgroup);
    enter_phase(first);
    enter_phase(second);
    close_session(first.session);
    EXPECT_FALSE(are_apart());
    EXPECT_EQ(maps_.cgroups(), (std::map<std::uint64_t, std::uint32_t>{{second_cgroup, second.job}}));
    EXPECT_EQ(rate_for(second_cgroup), alone);
    EXPECT_EQ(rate_for(nobodys), alone);
    EXPECT_EQ(class_of(second_cgroup), 0x111U) << "one rate for all";
}

TEST_F(Cgroups, ACgroupOfTwoJobsIsNobodys) {
    const Process first = join("one", first_cgroup), second = join("two", first_cgroup);
    enter_phase(first);
    enter_phase(second);
    EXPECT_TRUE(maps_.cgroups().empty());
    EXPECT_FALSE(are_apart());
    const Process third = join("two", second_cgroup);
    EXPECT_EQ(maps_.cgroups(), (std::map<std::uint64_t, std::uint32_t>{{second_cgroup, second.job}}));
    EXPECT_TRUE(are_apart());
    close_session(second.session);
    EXPECT_EQ(maps_.cgroups().at(first_cgroup), first.job) << "it is the only one left in it";
    close_session(third.session);
    EXPECT_EQ(maps_.cgroups().size(), 1U);
}

TEST_F(Cgroups, ACgroupIsTheJobsAsLongAsOneProcessIsInIt) {
    const Process first = join("one", first_cgroup), sibling = join("one", first_cgroup);
    join("one", second_cgroup);
    EXPECT_EQ(maps_.cgroups().size(), 2U) << "a job has as many as it has";
    close_session(first.session);
    EXPECT_EQ(maps_.cgroups().size(), 2U);
    close_session(sibling.session);
    EXPECT_EQ(maps_.cgroups().size(), 1U);
    EXPECT_EQ(maps_.cgroups().begin()->first, second_cgroup);
}

TEST_F(Cgroups, WhatCannotBeKnownIsToldAndTakesTheStrictest) {
    const Process first = join("one", 0), second = join("two", 0);
    ASSERT_EQ(told_.size(), 2U);
    EXPECT_NE(told_[0].find("no such process"), std::string::npos);
    enter_phase(first);
    enter_phase(second);
    EXPECT_FALSE(are_apart());
    maps_.refuse_cgroups = true;
    join("two", second_cgroup);
    ASSERT_EQ(told_.size(), 3U);
    EXPECT_EQ(told_[2], "no room");
    EXPECT_FALSE(are_apart());
    maps_.refuse_cgroups = false;
    join("two", second_cgroup);
    EXPECT_TRUE(are_apart()) << "of one job is enough";
    EXPECT_EQ(told_.size(), 3U);
}

// The rate of a job whose hosts nobody knows is no part of anything.
TEST_F(Cgroups, AJobWithARateAndNoHostsKeepsAllTogether) {
    const Process first = join("one", first_cgroup), second = join("two", second_cgroup);
    enter_phase(first);
    EXPECT_TRUE(are_apart()) << "who has no rate is in nobody's way";
    const Json answer = ask(second.session, "rate", {{"bytes_per_s", 100'000}});
    EXPECT_FALSE(are_apart());
    store(second, answer["phase"].get<std::uint32_t>());
    EXPECT_EQ(rate_for(first_cgroup), rate_for(second_cgroup)) << "the strictest of all";
    enter_phase(second);
    EXPECT_TRUE(are_apart());
    EXPECT_EQ(rate_for(first_cgroup), halved);
}

TEST_F(Cgroups, OtherHostsInTheTopologyChangeNoJobsHosts) {
    const Process first = join("one", first_cgroup), second = join("two", second_cgroup);
    enter_phase(first);
    enter_phase(second);
    Config config = demo_config();
    config.topology = *Topology::make([&] {
        auto clusters = config.topology.clusters();
        clusters[1].hosts.push_back("b4");
        return clusters;
    }());
    ASSERT_TRUE(service_->reload(config));
    EXPECT_TRUE(are_apart());
    EXPECT_EQ(rate_for(first_cgroup), halved);
    EXPECT_EQ(rate_for(second_cgroup), halved);
}

TEST_F(Cgroups, PartsThatAreNotInForceKeepAllTogether) {
    const Process first = join("one", first_cgroup), second = join("two", second_cgroup),
                  third = join("three", 90);
    for (const Process& process : {first, second, third}) enter_phase(process);
    ASSERT_TRUE(are_apart());
    refuse_tables();
    close_session(third.session);
    EXPECT_FALSE(are_apart());
    kernel_.refuse = nullptr;
    clock_.advance(std::chrono::seconds(2));
    service_->retry();
    EXPECT_TRUE(are_apart());
    EXPECT_EQ(rate_for(first_cgroup), halved);
}

TEST_F(Cgroups, AKernelThatRefusesClassesIsNotAskedAgain) {
    const Process first = join("one", first_cgroup);
    enter_phase(first);
    refuse_own_classes();
    join("two", second_cgroup);
    EXPECT_FALSE(are_apart());
    ASSERT_EQ(told_.size(), 1U);
    EXPECT_NE(told_[0].find("telling jobs apart: "), std::string::npos) << told_[0];
    const int refused = refused_;
    ask(first.session, "status");
    EXPECT_EQ(refused_, refused);
    EXPECT_EQ(told_.size(), 1U);
    EXPECT_EQ(class_of(first_cgroup), class_of(second_cgroup));
}

TEST_F(Cgroups, AsManyJobsAsThereAreAreToldApart) {
    std::set<std::uint32_t> classes;
    for (std::uint64_t i = 1; i <= HEADWAY_PHASE_JOBS; ++i) enter_phase(join(std::to_string(i), i));
    for (std::uint64_t i = 1; i <= HEADWAY_PHASE_JOBS; ++i) classes.insert(class_of(i));
    EXPECT_TRUE(are_apart());
    EXPECT_EQ(classes.size(), std::size_t{HEADWAY_PHASE_JOBS});
    EXPECT_FALSE(classes.contains(0x111U));
}

TEST_F(Cgroups, TheClassesOfAJobThatEndedServeTheNext) {
    const Process first = join("one", first_cgroup), second = join("two", second_cgroup);
    enter_phase(first);
    enter_phase(second);
    const std::uint32_t own = class_of(first_cgroup);
    close_session(first.session);
    EXPECT_EQ(maps_.own_classes(first.job)[remote], 0U);
    EXPECT_EQ(class_of(first_cgroup), 0x111U);
    const Process next = join("next", 90);
    enter_phase(next);
    EXPECT_EQ(class_of(90), own);
    EXPECT_EQ(rate_for(90), halved);
}

TEST_F(Cgroups, StatusTells) {
    const Process first = join("one", first_cgroup), second = join("two", first_cgroup);
    join("two", second_cgroup);
    enter_phase(second);
    const Json status = ask(first.session, "status");
    EXPECT_EQ(status["daemon"]["disputed_cgroups"], 1);
    const Json& jobs = status["jobs"];
    EXPECT_EQ(jobs[0]["cgroups"], 0) << jobs;
    EXPECT_EQ(jobs[0]["told_apart"], false);
    EXPECT_EQ(jobs[1]["cgroups"], 1);
    EXPECT_EQ(jobs[1]["told_apart"], true);
}

// The reconciler puts right what somebody has changed.
TEST_F(Cgroups, WhatShouldBeInTheKernelHasTheTables) {
    const Process first = join("one", first_cgroup), second = join("two", second_cgroup);
    enter_phase(first);
    enter_phase(second);
    std::map<std::uint32_t, RateTable> wanted;
    for (const Change& change : service_->desired().build) {
        if (const auto* one = std::get_if<AddClass>(&change)) wanted[one->classid.value] = one->table;
    }
    EXPECT_EQ(wanted.at(0x10000 | class_of(first_cgroup)).size(), 2U);
    for (const auto& [classid, one] : kernel_.device("eth0").root.classes) {
        EXPECT_EQ(wanted.at(classid), one.table) << std::hex << classid;
    }
}

}  // namespace
}  // namespace headway::test
