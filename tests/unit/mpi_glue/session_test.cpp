// SPDX-License-Identifier: Apache-2.0
// A session whose daemon goes away and comes back; the clock is the test's.
#include "session.hpp"

#include "scripted_daemon.hpp"

namespace headway::glue::test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t size = 65536;

class Sessions : public testing::Test {
protected:
    void open() {
        settings_.socket_path = daemon_.path();
        settings_.timeout = hang_limit;
        session_.emplace(Session::open(settings_, "job", 3, hosts_, [this] { return now_; }));
        ASSERT_TRUE(session_->has_daemon()) << session_->why_no_daemon();
        const auto known = session_->pattern({Operation::alltoall, {}});
        ASSERT_TRUE(known) << known.error().what;
        known_ = *known;
    }
    void open_without_daemon() {
        settings_.socket_path = daemon_.path();
        session_.emplace(Session::open(settings_, "job", 3, hosts_, [this] { return now_; }));
        ASSERT_FALSE(session_->has_daemon());
        known_ = session_->pattern({Operation::alltoall, {}}).value_or(nullptr);
        ASSERT_NE(known_, nullptr);
    }
    LinkResult<EntryId> enter() { return session_->enter(*known_, size); }
    bool entered() {
        const auto result = enter();
        if (result && *result != not_entered) entries_.push_back(*result);
        return result && *result != not_entered;
    }
    /// Leaves what was entered last and not left yet, on whichever connection.
    void leave_last() {
        session_->leave(entries_.back());
        entries_.pop_back();
    }
    bool goes_unpaced() {
        const auto result = enter();
        return result && *result == not_entered;
    }
    /// The daemon is there again: the first call asks it, and the second one finds its answers.
    bool comes_back() {
        const std::size_t before = daemon_.answered("join");
        if (entered()) return true;
        daemon_.wait_until_answered("join", before + 1);
        return entered();
    }
    /// Asks, and gets answers that are nothing to go on with.
    void asks_and_goes_unpaced() {
        const std::size_t before = daemon_.answered("join");
        EXPECT_TRUE(goes_unpaced());
        daemon_.wait_until_answered("join", before + 1);
        EXPECT_TRUE(goes_unpaced());
    }
    void restart() {
        daemon_.stop();
        daemon_.start();
    }
    void without_phases() {
        daemon_.answers["hello"] = [](const Json&) { return Json{{"node", "a0"}, {"cluster", "a"}}; };
        daemon_.answers["join"] = [](const Json&) { return Json{{"error", "no phases"}}; };
    }
    void start_and_open() {
        daemon_.start();
        open();
    }

    ScriptedDaemon daemon_;
    SessionOptions settings_;
    JobHosts hosts_;
    ContactSeeker::Clock::time_point now_{1h};
    std::optional<Session> session_;
    std::vector<EntryId> entries_;
    KnownPattern* known_ = nullptr;
};

TEST_F(Sessions, EnterByAStore) {
    start_and_open();
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(entered());
        EXPECT_EQ(daemon_.memory->phase(), 1U);
        leave_last();
        EXPECT_EQ(daemon_.memory->phase(), 0U);
    }
    EXPECT_EQ(daemon_.asked("phase"), 1U);
}

TEST_F(Sessions, SeeWithinASecondThatTheDaemonIsGone) {
    start_and_open();
    ASSERT_TRUE(entered());
    leave_last();
    daemon_.stop();
    EXPECT_TRUE(entered()) << "nobody has looked";
    now_ += 1s;
    const auto lost = enter();
    ASSERT_FALSE(lost);
    EXPECT_TRUE(lost.error().lost);
    EXPECT_EQ(daemon_.memory->phase(), 0U) << "the kernel may still read the slot";
    leave_last();  // of the one before
    EXPECT_TRUE(goes_unpaced()) << "told once";
}

// The first pause is a second, as after a loss.
TEST_F(Sessions, BeginWithoutADaemon) {
    settings_.timeout = hang_limit;
    open_without_daemon();
    EXPECT_FALSE(session_->has_daemon());
    daemon_.start();
    EXPECT_TRUE(goes_unpaced());
    now_ += 1s;
    ASSERT_TRUE(comes_back());
    EXPECT_TRUE(session_->has_daemon());
    EXPECT_EQ(daemon_.memory->phase(), 1U);
    EXPECT_EQ(daemon_.asked("join"), 1U);
}

TEST_F(Sessions, SayTheJobsStartOnEachConnection) {
    settings_.job_start = 1'700'000'000;
    std::vector<Json> greetings;
    daemon_.answers["hello"] = [&](const Json& request) {
        greetings.push_back(request);
        return Json{{"node", "a0"}, {"phases", true}};
    };
    start_and_open();
    restart();
    EXPECT_FALSE(enter());
    now_ += 1s;
    ASSERT_TRUE(comes_back());
    ASSERT_EQ(greetings.size(), 2U);
    for (const Json& greeting : greetings) EXPECT_EQ(greeting["start"], 1'700'000'000);
}

TEST_F(Sessions, SayNothingOfAStartThatNobodyHasDrawn) {
    Json greeting;
    daemon_.answers["hello"] = [&](const Json& request) {
        greeting = request;
        return Json{{"node", "a0"}, {"phases", true}};
    };
    start_and_open();
    EXPECT_EQ(greeting["job"], "job");
    EXPECT_FALSE(greeting.contains("start"));
}

TEST_F(Sessions, JoinAgainAndAskAnew) {
    start_and_open();
    ASSERT_TRUE(entered());
    leave_last();
    daemon_.answers["phase"] = [](const Json&) {
        return Json{{"phase", 9}, {"bytes_per_s", 5}, {"generation", 1}};
    };
    restart();
    now_ += 1s;
    EXPECT_FALSE(enter());
    EXPECT_TRUE(goes_unpaced());
    EXPECT_EQ(daemon_.asked("hello"), 1U) << "not before a second has passed";
    now_ += 1s;
    ASSERT_TRUE(comes_back());
    EXPECT_EQ(daemon_.memory->phase(), 9U);
    EXPECT_EQ(daemon_.asked("hello"), 2U);
    EXPECT_EQ(daemon_.asked("join"), 2U);
    EXPECT_EQ(daemon_.asked("prepare"), 2U);
    EXPECT_EQ(daemon_.asked("phase"), 2U);
    leave_last();
    EXPECT_EQ(daemon_.memory->phase(), 0U);
}

TEST_F(Sessions, WhatWasEnteredBeforeEndsWithItsConnection) {
    start_and_open();
    ASSERT_TRUE(entered());
    restart();
    now_ += 1s;
    EXPECT_FALSE(enter());
    now_ += 1s;
    ASSERT_TRUE(comes_back());
    leave_last();
    leave_last();  // of the lost connection
    EXPECT_TRUE(entered());
}

TEST_F(Sessions, ATriedDaemonIsNotTriedMoreOftenThanOnceASecond) {
    settings_.timeout = 1s;  // of the test's clock: this session never waits
    open_without_daemon();
    daemon_.listen();  // whoever connects is left waiting
    std::vector<int> tried;
    for (int tenths = 1; tenths <= 1300; ++tenths) {
        now_ += 100ms;
        EXPECT_TRUE(goes_unpaced());
        if (daemon_.has_connection()) tried.push_back(tenths);
    }
    ASSERT_GE(tried.size(), 5U);
    EXPECT_EQ(tried.front(), 10);
    for (std::size_t i = 1; i < tried.size(); ++i) EXPECT_GE(tried[i] - tried[i - 1], 10);
    EXPECT_LE(tried.size(), 8U) << "the pauses grow";
}

// It has told its name for the node, which the job needs when there are phases later.
TEST_F(Sessions, ADaemonWithoutPhasesPacesNothingUntilItHasSome) {
    const auto with_phases = std::pair(daemon_.answers["hello"], daemon_.answers["join"]);
    without_phases();
    daemon_.start();
    open_without_daemon();
    EXPECT_TRUE(session_->was_greeted());
    EXPECT_EQ(session_->node() + " of " + session_->cluster(), "a0 of a");
    EXPECT_EQ(session_->why_no_daemon().find("headwayd has no phases on this node: "), 0U)
        << session_->why_no_daemon();
    for (int second = 0; second < 9; ++second) {
        EXPECT_TRUE(goes_unpaced());
        now_ += 1s;
    }
    EXPECT_FALSE(session_->hold(nullptr).value_or(true));
    for (const char* op : {"prepare", "phase", "enter", "leave"}) EXPECT_EQ(daemon_.asked(op), 0U) << op;

    daemon_.stop();
    std::tie(daemon_.answers["hello"], daemon_.answers["join"]) = with_phases;
    now_ += ContactSeeker::longest_pause;
    ASSERT_TRUE(goes_unpaced()) << "no attempt is under way after that";
    daemon_.start();
    now_ += ContactSeeker::longest_pause;
    ASSERT_TRUE(comes_back());
    EXPECT_EQ(daemon_.memory->phase(), 1U);
}

TEST_F(Sessions, APhaselessDaemonAfterOneWithPhasesSaysWhyNothingIsPaced) {
    start_and_open();
    ASSERT_TRUE(entered());
    without_phases();
    restart();
    now_ += 1s;
    EXPECT_FALSE(enter());
    EXPECT_EQ(session_->why_no_daemon(), "headwayd closed the connection");
    now_ += 1s;
    EXPECT_TRUE(goes_unpaced());
    daemon_.wait_until_answered("join", 2);
    EXPECT_TRUE(goes_unpaced());
    EXPECT_EQ(session_->why_no_daemon().find("headwayd has no phases on this node: "), 0U)
        << session_->why_no_daemon();
}

// Slots, say, are all taken.
TEST_F(Sessions, ADaemonThatRefusesToBeJoinedIsTriedAgain) {
    const auto join = daemon_.answers["join"];
    daemon_.answers["join"] = [](const Json&) { return Json{{"error", "no slot is left"}}; };
    daemon_.start();
    open_without_daemon();
    EXPECT_EQ(session_->why_no_daemon(), "headwayd: no slot is left");
    daemon_.stop();
    daemon_.answers["join"] = join;
    daemon_.start();
    now_ += 1s;
    ASSERT_TRUE(comes_back());
    EXPECT_EQ(daemon_.memory->phase(), 1U);
}

TEST_F(Sessions, LeaveWhatHasEndedAndNotWhatWasEnteredLast) {
    start_and_open();
    const auto first = enter();
    const auto second = enter();
    ASSERT_TRUE(first && second);
    session_->leave(*first);
    session_->leave(*first);  // has ended already
    EXPECT_EQ(daemon_.memory->phase(), 1U);
    session_->leave(*second);
    EXPECT_EQ(daemon_.memory->phase(), 0U);
}

TEST_F(Sessions, ADaemonOfAnotherVersionPacesNothing) {
    start_and_open();
    daemon_.answers["hello"] = [](const Json&) { return Json{{"error", "version 2 only"}}; };
    restart();
    now_ += 1s;
    EXPECT_FALSE(enter());
    for (int i = 0; i < 4; ++i) {
        now_ += ContactSeeker::longest_pause;
        asks_and_goes_unpaced();
    }
    EXPECT_EQ(daemon_.asked("prepare"), 1U);
}

TEST_F(Sessions, AProcessWhosePacketsAreNotKnownIsNotPaced) {
    daemon_.start();
    open();
    ASSERT_TRUE(entered());
    daemon_.answers["hello"] = [](const Json&) {
        return Json{{"node", "a0"}, {"phases", true}, {"own_network", true}, {"prefixes", {"198.51.100.0/24"}}};
    };
    restart();
    const auto second = Session::open(settings_, "job", 3, hosts_);
    EXPECT_FALSE(second.has_daemon());
    EXPECT_FALSE(second.was_greeted());
    EXPECT_NE(second.why_no_daemon().find("not in the cluster's prefixes (198.51.100.0/24)"),
              std::string::npos);

    now_ += 1s;
    EXPECT_FALSE(enter());
    now_ += 1s;
    asks_and_goes_unpaced();
    daemon_.stop();
    daemon_.listen();
    EXPECT_TRUE(goes_unpaced());
    EXPECT_FALSE(daemon_.has_connection()) << "tried again after a pause only";
    now_ += ContactSeeker::longest_pause;
    EXPECT_TRUE(goes_unpaced());
    EXPECT_TRUE(daemon_.has_connection());
}

TEST_F(Sessions, ARateOfTheProgramHoldsOnTheNextConnection) {
    daemon_.answers["rate"] = [this](const Json& request) {
        EXPECT_EQ(request["bytes_per_s"], 700);
        return Json{{"phase", 4}, {"bytes_per_s", 700}, {"generation", daemon_.memory->generation()}};
    };
    start_and_open();
    const auto rates = std::make_shared<HeldRates>(ObjectText("rate").number("bytes_per_s", 700));
    EXPECT_TRUE(session_->hold(rates).value_or(false));
    EXPECT_EQ(daemon_.memory->phase(), 4U);
    ASSERT_TRUE(entered());
    EXPECT_EQ(daemon_.memory->phase(), 4U) << "stricter than the collective's";
    leave_last();
    daemon_.memory->set_generation(2);
    ASSERT_TRUE(entered());
    EXPECT_EQ(daemon_.asked("rate"), 2U) << "the job has changed";
    restart();
    now_ += 1s;
    EXPECT_FALSE(enter());
    now_ += 1s;
    ASSERT_TRUE(comes_back());
    EXPECT_EQ(daemon_.memory->phase(), 4U);
    leave_last();
    EXPECT_TRUE(session_->hold(nullptr).value_or(false));
    EXPECT_EQ(daemon_.memory->phase(), 0U);
}

// A program that goes to and fro between its phases asks once for each.
TEST_F(Sessions, HeldRatesAreAskedForOnce) {
    daemon_.answers["traffic"] = [this](const Json& request) {
        if (request["flows"].empty()) return Json{{"error", "nothing is sent"}};
        return Json{{"phase", request["flows"][0][2]},
                    {"bytes_per_s", 700},
                    {"generation", daemon_.memory->generation()}};
    };
    const auto traffic = [](const std::vector<std::array<std::uint64_t, 3>>& flows) {
        return std::make_shared<HeldRates>(ObjectText("traffic").numbers("flows", flows));
    };
    const auto one = traffic({{{0, 1, 11}}}), other = traffic({{{0, 1, 12}}});
    const auto refused = traffic({});
    start_and_open();
    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(session_->hold(one).value_or(false));
        EXPECT_EQ(daemon_.memory->phase(), 11U);
        EXPECT_TRUE(session_->hold(other).value_or(false));
        EXPECT_EQ(daemon_.memory->phase(), 12U);
        EXPECT_EQ(session_->hold(refused).has_value(), i > 0) << "told once";
        EXPECT_EQ(daemon_.memory->phase(), 0U);
    }
    EXPECT_EQ(daemon_.asked("traffic"), 3U);
    daemon_.memory->set_generation(2);
    EXPECT_TRUE(session_->hold(one).value_or(false));
    EXPECT_EQ(daemon_.asked("traffic"), 4U) << "the job has changed";
}

// Each has rates of its own, and what the daemon answered is never used again.
TEST_F(Sessions, ASingleCallIsAskedForEachTime) {
    std::vector<Json> asked;
    daemon_.answers["traffic"] = [&](const Json& request) {
        asked.push_back(request);
        const int phase = request["flows"].size() == 2 ? 7 : 0;
        return Json{{"phase", phase}, {"bytes_per_s", 700}, {"generation", daemon_.memory->generation()},
                    {"end_s", 0.5}};
    };
    start_and_open();
    for (int i = 1; i <= 3; ++i) {
        const auto entered = session_->enter_call({}, {{{0, 1}, 4000}, {{1, 0}, 1000}});
        ASSERT_TRUE(entered && entered->entry != not_entered);
        EXPECT_EQ(entered->end_s, 2) << "a unit is 4 bytes";
        EXPECT_EQ(daemon_.memory->phase(), 7U);
        session_->leave(entered->entry);
        EXPECT_EQ(daemon_.memory->phase(), 0U);
        EXPECT_EQ(daemon_.asked("traffic"), static_cast<std::size_t>(i));
    }
    EXPECT_EQ(asked.back()["one_call"], true);
    EXPECT_EQ(asked.back()["flows"], (Json{{0, 1, 1000}, {1, 0, 250}}));
    EXPECT_EQ(session_->enter_call({}, {{{0, 1}, 400}})->entry, not_entered) << "not paced";
    EXPECT_EQ(session_->enter_call({}, {})->entry, not_entered);
    EXPECT_EQ(asked.size(), 4U) << "nobody is asked about nothing";
}

// The job asks without a size what its clusters share: small messages alone may need no pacing.
TEST_F(Sessions, APlanTellsTheLinkThatLimitsIt) {
    Json asked;
    Json limiting_link{{"kind", "trunk_up"}, {"bits_per_s", 25e6}};
    daemon_.answers["plan"] = [&](const Json& request) {
        asked = request;
        return Json{{"paced", true}, {"pair_bits_per_s", 5e6}, {"limiting_link", limiting_link}};
    };
    start_and_open();
    const auto limiting_bits_per_s = [&](std::optional<std::uint64_t> bytes) {
        const auto plan = session_->plan(Operation::alltoall, {}, bytes);
        return plan && *plan ? (*plan)->limiting_bits_per_s : -1;
    };
    EXPECT_EQ(limiting_bits_per_s(std::nullopt), 25e6);
    EXPECT_FALSE(asked.contains("message_bytes"));
    EXPECT_EQ(limiting_bits_per_s(size), 25e6);
    EXPECT_EQ(asked["message_bytes"], size);
    for (const Json& nonsense : {Json(nullptr), Json("trunk"), Json{{"bits_per_s", "many"}}}) {
        limiting_link = nonsense;
        EXPECT_EQ(limiting_bits_per_s(std::nullopt), 0) << nonsense;
    }
}

}  // namespace
}  // namespace headway::glue::test
