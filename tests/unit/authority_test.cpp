// SPDX-License-Identifier: Apache-2.0
// Who may do what to whom: the cells of the table in Documentation/security.rst.
#include <unistd.h>

#include <set>

#include "base/limits.hpp"
#include "daemon/control_server.hpp"
#include "daemon/control_service.hpp"
#include "daemon/control_socket.hpp"
#include "daemon/handed_state.hpp"
#include "jobs/job_table.hpp"
#include "phase_service_fixture.hpp"
#include "trunk/member_record.hpp"

namespace headway::test {
namespace {

constexpr uid_t root_user = 0, victim = 1000, attacker = 1001;
constexpr gid_t operators = 77;
constexpr std::uint32_t remote = 1;
constexpr std::uint64_t link_bytes_per_s = 20 * mbit / 8;

class Authorities : public PhaseServiceTest {
protected:
    Session connect(uid_t uid, std::vector<gid_t> groups = {}) {
        Peer peer{.pid = 42, .uid = uid};
        peer.groups = std::move(groups);
        return *service_->open(peer);
    }
    static Json collective(const Json& hosts) {
        return {{"operation", "alltoall"}, {"job_hosts", hosts}, {"comm_hosts", hosts}, {"message_bytes", 65536}};
    }
    const Json everybody{"a[0-3]", "b[0-3]"};

    /// The number of the last array that was given out.
    std::uint32_t last_job() { return maps_.config().process[maps_.config().process_count - 1].job; }
    /// A process of that user and job in the phase of an all-to-all.
    Session in_phase(uid_t uid, const std::string& job = "12", const Json& hosts = {"a[0-3]", "b[0-3]"}) {
        const Session session = connect(uid);
        const Json joined = ask(session, "join", {{"job", job}});
        EXPECT_EQ(joined["ok"], true) << joined;
        store(last_job(), joined["slot"], ask(session, "phase", collective(hosts))["phase"]);
        return session;
    }
    void store(std::uint32_t job, std::uint32_t slot, std::uint32_t phase) {
        __atomic_store_n(&maps_.slots(job).phase[slot], phase, __ATOMIC_RELEASE);
    }
    /// Returns the rate of a packet to the other cluster, of a socket of that user (none: of no
    /// user).
    ClassRate rate_of(std::optional<std::uint32_t> uid) {
        const auto choice = maps_.classify(remote, 0, uid);
        return rate_in(kernel_.device("eth0").root, choice.minor, choice.entry);
    }
    std::string why_not(Session session, const std::string& op, const Json& members) {
        const Json answer = ask(session, op, members);
        EXPECT_EQ(answer["ok"], false) << answer;
        return answer.value("error", "");
    }
};

const ClassRate planned = BytesPerSecond{773'437};

// ----------------------------------------------------------------------- the table

TEST(RequestTable, EachKindHasAnAuthorityAndAName) {
    std::set<std::string_view> names;
    std::string listed;
    std::map<Authority, std::set<std::string_view>> by_authority;
    for (const RequestKind& kind : request_kinds()) {
        EXPECT_TRUE(names.insert(kind.name).second) << kind.name;
        listed += (listed.empty() ? "" : ", ") + std::string(kind.name);
        by_authority[kind.who].insert(kind.name);
        EXPECT_EQ(find_request(kind.name), &kind);
    }
    EXPECT_EQ(by_authority[Authority::anybody],
              (std::set<std::string_view>{"hello", "status", "ready", "clusters", "plan", "jobs", "more"}));
    EXPECT_EQ(by_authority[Authority::administrator], (std::set<std::string_view>{"off", "on"}));
    EXPECT_EQ(find_request("reboot"), nullptr);
    // the protocol knows the same kinds
    EXPECT_EQ(parse_request(R"({"v":1,"id":1,"op":"reboot"})").body.error().message,
              "op: must be one of " + listed);
}

TEST_F(Authorities, WhatOnlyAdministratorsMay) {
    service_->administrate_by(operators);
    const Json hosts{"a[0-3]", "b[0-3]"};
    const std::vector<std::pair<std::string, Json>> requests{
        {"off", Json::object()},
        {"on", Json::object()},
        {"job_start", {{"job", "1"}, {"uid", victim}}},
        {"job_start", {{"job", "1"}, {"weight", 2}}},
        {"job_start", {{"job", "1"}, {"lasting", true}}},
        {"job_start", {{"job", "1"}, {"hosts", hosts}, {"operation", "alltoall"}}},
        {"job_start", {{"job", "1"}, {"hosts", hosts}, {"flows", {{0, 4, 1}}}}},
    };
    for (const auto& [op, members] : requests) {
        EXPECT_NE(why_not(connect(attacker, {100}), op, members).find("only administrators (root, and"),
                  std::string::npos)
            << op << members;
        EXPECT_EQ(ask(connect(root_user), op, members)["ok"], true) << op << members;
        EXPECT_EQ(ask(connect(attacker, {100, operators}), op, members)["ok"], true) << op << members;
    }
    EXPECT_EQ(ask(connect(root_user), "job_start", {{"job", "his"}, {"uid", victim}})["ok"], true);
    why_not(connect(attacker), "job_end", {{"job", "his"}, {"uid", victim}});
    why_not(connect(attacker), "job_end", {{"job", "his"}});
    EXPECT_EQ(ask(connect(victim), "job_end", {{"job", "his"}})["ok"], true);
    EXPECT_EQ(ask(connect(attacker), "job_start", {{"job", "own"}})["ok"], true);
    service_->administrate_by(std::nullopt);
    why_not(connect(attacker, {operators}), "off", Json::object());
}

// ------------------------------------------------------------ whose packets are limited

// Four steps that throttled the whole node: join, the least rate there is, a store, wait.
TEST_F(Authorities, AProcessLimitsNobodyElsesPackets) {
    const Session session = connect(attacker);
    const Json joined = ask(session, "join", {{"job", "bad"}});
    const Json rate = ask(session, "rate", {{"bytes_per_s", link_bytes_per_s / 1000}});
    ASSERT_EQ(rate["ok"], true) << rate;
    store(last_job(), joined["slot"], rate["phase"]);
    EXPECT_EQ(rate_of(victim), std::nullopt);
    EXPECT_EQ(rate_of(root_user), std::nullopt);
    EXPECT_EQ(rate_of(std::nullopt), std::nullopt) << "packets of nobody rest";
    EXPECT_EQ(rate_of(attacker), ClassRate(BytesPerSecond{link_bytes_per_s / 1000}));
    EXPECT_NE(maps_.classify(remote, 0, attacker).minor, maps_.classify(remote, 0, victim).minor)
        << "slow packets do not stand before others in one class";
}

TEST_F(Authorities, AHostlessJobChangesNothingForOthers) {
    in_phase(victim);
    const Session session = connect(attacker);
    const Json joined = ask(session, "join", {{"job", "bad"}});
    store(last_job(), joined["slot"], ask(session, "rate", {{"bytes_per_s", 2'500}})["phase"]);
    EXPECT_EQ(rate_of(victim), planned) << "it takes no part, and nobody is mixed up with it";
}

TEST_F(Authorities, RootsPhasesHoldForAllThatNoPhaseOfTheirOwnLimits) {
    in_phase(root_user);
    EXPECT_EQ(rate_of(victim), planned);
    EXPECT_EQ(rate_of(std::nullopt), planned);
}

// A cgroup that two users' processes have joined tells nothing; nor does one where
// another user's socket is.
TEST_F(Authorities, ACgroupIsOnlyItsUsers) {
    service_->phases()->tell_apart_with([](const Peer&) { return std::uint64_t{7}; }, [](const Error&) {});
    in_phase(attacker);
    const auto choice = maps_.classify(remote, 7, victim);
    EXPECT_EQ(rate_in(kernel_.device("eth0").root, choice.minor, choice.entry), std::nullopt);
    in_phase(victim, "13", {"a[0-1]", "b[0-1]"});
    const auto both = maps_.classify(remote, 7, victim);
    EXPECT_EQ(rate_in(kernel_.device("eth0").root, both.minor, both.entry),
              ClassRate(BytesPerSecond{12'375'000 / 8 / 2}))
        << "his own rate, and his part of it";
}

TEST_F(Authorities, ARequestDoesNotPaceTheNodeWhereThereArePhases) {
    const Json entered = ask(connect(attacker), "enter", collective(everybody));
    EXPECT_EQ(entered["ok"], true);
    EXPECT_EQ(entered["paced"], false);
    EXPECT_NE(entered["reason"].get<std::string>().find("this node has phases"), std::string::npos);
    EXPECT_EQ(kernel_.device("eth0").root.classes.at(0x10011).rate, std::nullopt);
    EXPECT_EQ(ask(connect(root_user), "enter", collective(everybody))["paced"], true);
}

// ------------------------------------------------------------------------------ shares

TEST_F(Authorities, ManyJobsOfOneUserHaveNoMoreThanOne) {
    const Session session = in_phase(victim);
    for (int i = 0; i < 20; ++i) in_phase(attacker, "job" + std::to_string(i));
    EXPECT_EQ(rate_of(victim), ClassRate(BytesPerSecond{773'437 / 2}));
    EXPECT_EQ(ask(session, "phase", collective(everybody))["bytes_per_s"], 773'437 / 2);
}

TEST_F(Authorities, NoPartIsASlowerRateThanThereMayBe) {
    const LinkPart least{1};
    EXPECT_EQ(part_of(BytesPerSecond{1'000'000}, least, {2'500'000}), BytesPerSecond{2'500});
    EXPECT_EQ(part_of(std::nullopt, least, {2'500'000}), BytesPerSecond{2'500});
    EXPECT_EQ(part_of(BytesPerSecond{100}, least, {2'500'000}), BytesPerSecond{100})
        << "no more than it would have alone";
    EXPECT_EQ(part_of(BytesPerSecond{1'000'000}, {LinkPart::one, BytesPerSecond{1}}, {2'500'000}),
              BytesPerSecond{2'500});
}

TEST_F(Authorities, HelloAloneDemandsNothingOfTheCluster) {
    const Session session = connect(attacker);
    ask(session, "hello", {{"job", "sybil"}, {"start", 4}});
    EXPECT_TRUE(service_->jobs().empty());
    ask(session, "prepare", collective(everybody));
    EXPECT_EQ(service_->jobs(), (std::vector<JobHere>{{"sybil", 1, false, attacker, 4}}));
}

TEST_F(Authorities, InTheClusterAJobIsItsUsersAndItsStarts) {
    const JobHere job{"solver", 1, false, victim, 1};
    EXPECT_NE(cluster_identity(job), cluster_identity({"solver", 1, false, attacker, 1}));
    EXPECT_NE(cluster_identity(job), cluster_identity({"solver", 1, false, victim, 2}));
    EXPECT_EQ(cluster_identity(job), cluster_identity({"solver", 9, true, victim, 1}));
}

// A start is only ever a part of the name of a job of the user that the kernel says.
TEST_F(Authorities, AWrongStartConcernsItsOwnJobOnly) {
    const auto says = [&](uid_t user, std::uint64_t start) {
        const Session session = connect(user);
        ask(session, "hello", {{"job", "solver"}, {"start", start}});
        ask(session, "prepare", collective(everybody));
    };
    says(victim, 5);
    const auto before = service_->jobs();
    ASSERT_EQ(before, (std::vector<JobHere>{{"solver", 1, false, victim, 5}}));
    says(attacker, 5);
    says(attacker, 6);
    EXPECT_EQ(service_->jobs(), (std::vector<JobHere>{{"solver", 1, false, victim, 5},
                                                      {"solver", 1, false, attacker, 5}}))
        << "another's start makes nobody's job his, and a second one is not believed";
    says(victim, 0);
    EXPECT_EQ(service_->jobs().front(), before.front()) << "who says none changes nothing";
    ask(connect(root_user), "job_start", {{"job", "solver"}, {"uid", attacker}, {"start", 9}, {"weight", 3}});
    says(attacker, 8);
    EXPECT_EQ(service_->jobs().back(), (JobHere{"solver", 3, true, attacker, 9}))
        << "of a started job the command's holds, whatever its processes say";
    for (const Json& wrong : {Json(-1), Json("5"), Json(1.5), Json(nullptr)}) {
        why_not(connect(attacker), "hello", {{"job", "solver"}, {"start", wrong}});
    }
}

TEST_F(Authorities, OnlyAJobThatAnAdministratorStartedIsGrantedAWeight) {
    ask(connect(attacker), "job_start", {{"job", "solver"}});
    ask(connect(root_user), "job_start", {{"job", "granted"}, {"uid", victim}, {"weight", 3}});
    const auto jobs = service_->jobs();
    ASSERT_EQ(jobs.size(), 2U);
    EXPECT_EQ(jobs[0], (JobHere{"granted", 3, true, victim, 0}));
    EXPECT_EQ(jobs[1], (JobHere{"solver", 1, false, attacker, 0}));
}

TEST(JobTable, AGrantIsKeptOverARestart) {
    JobTable table;
    StartJobRequest request;
    request.job = "solver";
    request.uid = victim;
    request.is_granted = true;
    request.start = 9;
    ASSERT_TRUE(table.start(victim, request));
    JobTable next;
    ASSERT_TRUE(next.restore(table.to_text()));
    EXPECT_EQ(next.cluster_job(*next.find(victim, "solver")), (JobHere{"solver", 1, true, victim, 9}));
}

// A job that has no limit while it is alone gets its part of the link when it has company: of the
// link as it is now.
TEST_F(Authorities, AnotherLinkRateIsAnotherPartOfIt) {
    service_->kernel_agrees(BytesPerSecond{link_bytes_per_s});
    const Json here{"a[0-1]"};
    in_phase(victim, "12", here);
    const std::uint32_t job = last_job();
    in_phase(attacker, "13", here);
    store(job, 0, 1);
    const Session session = connect(victim);
    ask(session, "join", {{"job", "12"}});
    const std::uint32_t number = ask(session, "phase", collective(here))["phase"].get<std::uint32_t>();
    ASSERT_GT(number, 0U);
    EXPECT_EQ(maps_.rates(job, number)[0].bytes_per_s, link_bytes_per_s / 2);
    service_->kernel_agrees(BytesPerSecond{link_bytes_per_s / 4});
    EXPECT_EQ(maps_.rates(job, number)[0].bytes_per_s, link_bytes_per_s / 8)
        << "by which the strictest is found";
}

TEST(HandedState, KeepsTheMostThatIsLeftOfARate) {
    HandedState state;
    KeptJob job;
    job.name = "12";
    job.rates.emplace_back();
    job.parts = {LinkPart{}, {LinkPart::one / 2, BytesPerSecond{1'000}}};
    state.jobs.emplace(3, job);
    const auto next = parse_handed_state(handed_jobs_text(state).append(handed_text_end));
    ASSERT_TRUE(next) << next.error().message;
    EXPECT_EQ(next->jobs.at(3).parts, job.parts);
}

// ------------------------------------------------------------------------------ bounds

TEST_F(Authorities, OneUserDoesNotTakeAllSlots) {
    for (std::size_t i = 0; i < HEADWAY_PHASE_PROCESSES * 3 / 4; ++i) {
        ASSERT_EQ(ask(connect(attacker), "join", {{"job", "many"}})["ok"], true) << i;
    }
    EXPECT_NE(why_not(connect(attacker), "join", {{"job", "many"}}).find("192 processes"), std::string::npos);
    EXPECT_EQ(ask(connect(victim), "join", {{"job", "mine"}})["ok"], true);
}

TEST_F(Authorities, OneUserDoesNotTakeAllJobs) {
    for (std::size_t i = 0; i < (HEADWAY_PHASE_JOBS - administrators_jobs) * 3 / 4; ++i) {
        ASSERT_EQ(ask(connect(attacker), "join", {{"job", std::to_string(i)}})["ok"], true) << i;
    }
    EXPECT_NE(why_not(connect(attacker), "join", {{"job", "more"}}).find("45 jobs"), std::string::npos);
    EXPECT_EQ(ask(connect(victim), "join", {{"job", "mine"}})["ok"], true);
}

TEST_F(Authorities, OneUserDoesNotTakeAllRates) {
    std::size_t made = 0;
    for (const char* job : {"a", "b", "c"}) {
        const Session session = connect(attacker);
        ask(session, "join", {{"job", job}});
        for (std::uint64_t i = 1; i < HEADWAY_PHASES; ++i) {
            made += ask(session, "rate", {{"bytes_per_s", 100'000 + 1000 * i + made}})["ok"] == true ? 1U : 0U;
        }
    }
    EXPECT_EQ(made, table_entries_max * 3 / 4);
    in_phase(victim);
    EXPECT_EQ(rate_of(victim), planned);
}

TEST(UserTime, WhoTakesTooMuchWaits) {
    using namespace std::chrono_literals;
    UserTime time;
    EXPECT_FALSE(time.charge(attacker, 90ms, 0ms));
    EXPECT_TRUE(time.charge(attacker, 20ms, 0ms));
    EXPECT_EQ(time.waits_until(attacker, 0ms), std::optional<UserTime::Time>(40ms));
    EXPECT_EQ(time.waits_until(attacker, 40ms), std::nullopt);
    EXPECT_FALSE(time.charge(victim, 24ms, 0ms)) << "another does not";
    EXPECT_FALSE(time.charge(root_user, 10s, 0ms));
    EXPECT_FALSE(time.charge(attacker, 1ms, 10s)) << "it is paid";
}

// A number may be another process's by the time it is looked at.
TEST(PeerProcess, IsTheUsersOrNone) {
    EXPECT_TRUE(process_of(getpid(), getuid()));
    EXPECT_FALSE(process_of(getpid(), getuid() + 1));
    EXPECT_FALSE(process_of(0, getuid()));
}

}  // namespace
}  // namespace headway::test
