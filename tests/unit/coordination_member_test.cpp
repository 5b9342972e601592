// SPDX-License-Identifier: Apache-2.0
// One member by hand: the kernel does at once what it is told, the store what a
// test says.  Whole clusters are simulated in tests/coordination.
#include <optional>

#include <gtest/gtest.h>

#include "trunk/trunk_member.hpp"

namespace headway::test {
namespace {

using namespace std::chrono_literals;
using Time = TrunkMember::Time;

constexpr std::uint64_t fallback = 100;
constexpr LeaseId own_lease = 77;

class TrunkMemberTest : public testing::Test {
protected:
    TrunkMemberTest() {
        setting_.trunk = {{10'000}, {fallback}, 4, SharePolicy::per_job};
        setting_.host = 1;
        setting_.configuration = 5;
        member_.emplace(setting_);
        EXPECT_TRUE(check_timing(setting_.timing));
    }

    /// The actions since, of the kernel's obeyed.
    std::vector<Deed> settle() {
        std::vector<Deed> deeds;
        for (std::vector<Action> actions = member_->take_actions(); !actions.empty();
             actions = member_->take_actions()) {
            for (const Action& action : actions) {
                deeds.push_back(action.deed);
                last_id_ = action.id;
                if (const auto* set = std::get_if<SetCap>(&action.deed)) cap_ = set->rate.value;
                if (action.deed.index() <= 2 && !kernel_hangs_)
                    member_->kernel_answered(now_, action.id, kernel_obeys_);
            }
        }
        return deeds;
    }
    std::vector<Deed> tick(Time by) {
        now_ += by;
        member_->tick(now_);
        return settle();
    }
    template <class Wanted>
    static const Wanted* find(const std::vector<Deed>& deeds) {
        for (const Deed& deed : deeds) {
            if (const auto* found = std::get_if<Wanted>(&deed)) return found;
        }
        return nullptr;
    }

    std::vector<Deed> changes(std::vector<StoreChange> all) {
        std::vector<StoreChangeAt> at;
        ++revision_;
        for (StoreChange& change : all) at.push_back({revision_, std::move(change)});
        member_->changes(now_, at);
        return settle();
    }
    static MemberRecordPtr record_of(HostNumber host, std::uint64_t configuration = 5,
                                     std::uint64_t own_fallback = fallback) {
        return std::make_shared<MemberRecord>(
            MemberRecord{configuration, {{host, {1000, 1, "solver"}}}, {own_fallback}});
    }
    std::vector<Deed> answer(StoreAnswer answer) {
        answer.id = last_id_;
        member_->store_answered(now_, answer);
        return settle();
    }

    /// In a settled store without other members, up to the whole share.
    void join() {
        member_->snapshot(now_, {.revision = revision_, .settled_by = 1, .members = {}});
        ASSERT_TRUE(find<GrantLease>(settle()));
        member_->want(now_, record_of(1)->demands);
        auto deeds = answer({.done = true, .lease = own_lease});
        const auto* put = find<PutRecord>(deeds);
        ASSERT_TRUE(put);
        put_record(put->record);
        ASSERT_TRUE(acknowledge(1));
    }
    void put_record(const MemberRecordPtr& record) {
        answer({.done = true, .revision = revision_ + 1});
        deeds_ = changes({RecordPut{1, own_lease, record}});
    }
    /// The host's acknowledgement of the epoch comes back from the store.
    bool acknowledge(HostNumber host) {
        if (host == 1) answer({.done = true, .revision = revision_ + 1});
        deeds_ = changes({AcknowledgementPut{host, member_->view().epoch()}});
        return true;
    }

    TrunkMember::Setting setting_;
    std::optional<TrunkMember> member_;
    Time now_ = 1000s;
    Revision revision_ = 10;
    RequestId last_id_ = 0;
    std::uint64_t cap_ = 0;
    bool kernel_obeys_ = true;
    bool kernel_hangs_ = false;
    std::vector<Deed> deeds_;
};

TEST_F(TrunkMemberTest, BeginsAtTheFallbackBeforeItAsksForALease) {
    member_->snapshot(now_, {.revision = 10, .settled_by = 1, .members = {}});
    const auto deeds = settle();
    ASSERT_EQ(deeds.size(), 2U);
    EXPECT_EQ(std::get<SetCap>(deeds[0]).rate.value, fallback);
    EXPECT_TRUE(std::holds_alternative<GrantLease>(deeds[1]));
}

TEST_F(TrunkMemberTest, AloneItGetsTheTrunkWithoutTheOthersFallbacks) {
    join();
    EXPECT_EQ(cap_, 10'000 - 3 * fallback);
}

TEST_F(TrunkMemberTest, GoesDownAtOnceAndUpWhenAllHaveAcknowledged) {
    join();
    deeds_ = changes({RecordPut{2, 80, record_of(2)}});
    EXPECT_EQ(cap_, (10'000 - 2 * fallback) / 2);
    ASSERT_TRUE(find<PutAcknowledgement>(deeds_));
    EXPECT_EQ(find<PutAcknowledgement>(deeds_)->epoch, revision_);

    acknowledge(1);
    deeds_ = changes({RecordGone{2}});
    EXPECT_EQ(cap_, (10'000 - 2 * fallback) / 2) << "not before it has acknowledged itself";
    acknowledge(1);
    EXPECT_EQ(cap_, 10'000 - 3 * fallback);
}

TEST_F(TrunkMemberTest, WaitsForAMemberThatHangs) {
    join();
    changes({RecordPut{2, 80, record_of(2)}});
    acknowledge(1);
    changes({RecordPut{2, 80, std::make_shared<MemberRecord>(MemberRecord{5, {}})}});
    acknowledge(1);
    EXPECT_EQ(cap_, (10'000 - 2 * fallback) / 2) << "host 2 may still use its old share";
    acknowledge(2);
    EXPECT_EQ(cap_, 10'000 - 3 * fallback);
}

TEST_F(TrunkMemberTest, DoesNotAcknowledgeWhatTheKernelHasNotDone) {
    join();
    kernel_hangs_ = true;
    deeds_ = changes({RecordPut{2, 80, record_of(2)}});
    EXPECT_TRUE(find<SetCap>(deeds_));
    EXPECT_FALSE(find<PutAcknowledgement>(deeds_));
    EXPECT_FALSE(find<PutAcknowledgement>(tick(100ms)));
}

TEST_F(TrunkMemberTest, AsksForNothingWhileTheKernelRefuses) {
    join();
    kernel_obeys_ = false;
    changes({RecordPut{2, 80, record_of(2)}});
    for (int i = 0; i < 100; ++i) {
        deeds_ = tick(100ms);
        EXPECT_FALSE(find<ProlongLease>(deeds_)) << "the others shall not wait for ever";
        EXPECT_FALSE(find<RefreshGuard>(deeds_));
        EXPECT_FALSE(find<PutAcknowledgement>(deeds_));
    }
    kernel_obeys_ = true;
    tick(300ms);
    EXPECT_EQ(cap_, fallback);
}

/// The store answers nothing: the last refresh is so early that it cannot be in
/// force beyond the lease, even if it reaches the kernel as late as matters.
TEST_F(TrunkMemberTest, StopsRefreshingInTime) {
    join();
    const LeaseTiming& timing = setting_.timing;
    const Time granted = now_;
    std::optional<Time> last_refresh;
    for (int i = 0; i < 2000; ++i) {
        deeds_ = tick(10ms);
        if (find<RefreshGuard>(deeds_)) last_refresh = now_;
        EXPECT_FALSE(find<ReviveGuard>(deeds_));
    }
    ASSERT_TRUE(last_refresh);
    const Time end = granted + timing.lease - timing.drift(timing.lease) - timing.margin;
    EXPECT_LE(*last_refresh + 2 * timing.expires, end);
    EXPECT_GT(*last_refresh + 2 * timing.expires + timing.refresh_every + 20ms, end);
    EXPECT_EQ(cap_, fallback) << "and goes down by itself when the guard has expired";
}

TEST_F(TrunkMemberTest, CountsALeaseFromTheQuestionNotFromTheAnswer) {
    join();
    deeds_ = tick(setting_.timing.keep_alive_every);
    ASSERT_TRUE(find<ProlongLease>(deeds_));
    const Time asked = now_;
    const RequestId id = last_id_;
    now_ += 900ms;
    member_->store_answered(now_, {.id = id, .done = true});
    settle();
    std::optional<Time> last_refresh;
    while (now_ < asked + 20s) {
        if (find<RefreshGuard>(tick(10ms))) last_refresh = now_;
    }
    ASSERT_TRUE(last_refresh);
    EXPECT_LE(*last_refresh + setting_.timing.needed(), asked + setting_.timing.lease_at_least());
}

TEST_F(TrunkMemberTest, RevivesAnExpiredGuardAtTheFallbackOnly) {
    join();
    deeds_ = tick(2500ms);  // held up
    const auto* set = find<SetCap>(deeds_);
    ASSERT_TRUE(set);
    EXPECT_EQ(set->rate.value, fallback);
    std::size_t lowered = 0, revived = 0;
    for (std::size_t i = 0; i < deeds_.size(); ++i) {
        if (std::holds_alternative<SetCap>(deeds_[i]) && !lowered) lowered = i + 1;
        if (std::holds_alternative<ReviveGuard>(deeds_[i])) revived = i + 1;
    }
    EXPECT_LT(lowered, revived);
    EXPECT_EQ(cap_, 10'000 - 3 * fallback) << "and then it has its share again";
}

TEST_F(TrunkMemberTest, TakesARefreshThatTookLongForNone) {
    join();
    kernel_hangs_ = true;
    ASSERT_TRUE(find<RefreshGuard>(tick(500ms)));
    kernel_hangs_ = false;
    now_ += 3s;
    member_->kernel_answered(now_, last_id_, true);
    EXPECT_TRUE(find<ReviveGuard>(settle()));
}

TEST_F(TrunkMemberTest, PutsItsRecordAgainAfterASnapshot) {
    join();
    StoreSnapshot all{.revision = revision_ + 5, .settled_by = 1, .members = {}};
    all.members.push_back({1, {record_of(1), own_lease, revision_ - 1, revision_ - 1}});
    revision_ += 5;
    member_->snapshot(now_, all);
    deeds_ = settle();
    ASSERT_TRUE(find<PutRecord>(deeds_)) << "records that went before are not in the snapshot";
    EXPECT_FALSE(find<PutAcknowledgement>(deeds_));
    EXPECT_EQ(cap_, 10'000 - 3 * fallback);
}

TEST_F(TrunkMemberTest, EndsTheLeaseOfTheDaemonBeforeIt) {
    StoreSnapshot all{.revision = 10, .settled_by = 1, .members = {}};
    all.members.push_back({1, {record_of(1), 33, 9, 9}});
    member_->snapshot(now_, all);
    deeds_ = settle();
    ASSERT_EQ(deeds_.size(), 2U);
    EXPECT_EQ(std::get<SetCap>(deeds_[0]).rate.value, fallback);
    EXPECT_EQ(std::get<RevokeLease>(deeds_[1]).lease, 33);
    EXPECT_TRUE(find<GrantLease>((changes({RecordGone{1}}), tick(300ms))));
}

TEST_F(TrunkMemberTest, FallsBackWhenItsRecordGoes) {
    join();
    changes({RecordGone{1}});
    EXPECT_EQ(cap_, fallback);
}

TEST_F(TrunkMemberTest, BeginsAnewInTheKernelWhenSomebodyElseChangedIt) {
    join();
    member_->kernel_lost(now_);
    deeds_ = settle();
    ASSERT_FALSE(deeds_.empty());
    ASSERT_TRUE(std::holds_alternative<SetCap>(deeds_.front()));
    EXPECT_EQ(std::get<SetCap>(deeds_.front()).rate.value, fallback);
    EXPECT_TRUE(find<ReviveGuard>(deeds_));
    EXPECT_EQ(cap_, 10'000 - 3 * fallback);
}

// ---- settings that differ: these are 5, of hosts 0 to 3 ---------------------------------

TEST_F(TrunkMemberTest, OfAsManySettingsThoseWithTheSmallerDigestShare) {
    join();
    changes({RecordPut{2, 80, record_of(2, 6)}});
    EXPECT_EQ(cap_, 10'000 - 3 * fallback);
    acknowledge(1);
    deeds_ = changes({RecordPut{2, 80, record_of(2, 4)}});
    EXPECT_EQ(cap_, fallback);
    EXPECT_TRUE(find<PutAcknowledgement>(deeds_)) << "those that share wait for this";
}

TEST_F(TrunkMemberTest, SettingsOfMostShareAndTheOthersHaveTheirFallback) {
    join();
    changes({RecordPut{2, 80, record_of(2, 4)}});
    acknowledge(1);
    EXPECT_EQ(cap_, fallback);
    changes({RecordPut{3, 81, record_of(3)}});
    acknowledge(1);
    acknowledge(3);
    EXPECT_EQ(cap_, fallback) << "host 2 may still use its share";
    acknowledge(2);
    EXPECT_EQ(cap_, (10'000 - 2 * fallback) / 2);
    changes({RecordPut{0, 82, record_of(0, 4)}, RecordPut{3, 81, record_of(3, 4)}});
    EXPECT_EQ(cap_, fallback) << "at once, when the others are the most";
}

TEST_F(TrunkMemberTest, AHostThatTheseSettingsDoNotHaveCountsAndIsWaitedFor) {
    join();
    changes({RecordPut{9, 80, record_of(9, 6)}});
    acknowledge(1);
    EXPECT_EQ(member_->view().waiting(), 1U);
    EXPECT_EQ(cap_, 10'000 - 3 * fallback - fallback) << "it sends at its fallback";
    changes({RecordPut{8, 81, record_of(8, 6)}});
    EXPECT_EQ(cap_, fallback);
    changes({RecordGone{8}});
    acknowledge(1);
    EXPECT_EQ(cap_, fallback);
    acknowledge(9);
    EXPECT_EQ(cap_, 10'000 - 4 * fallback);
}

TEST_F(TrunkMemberTest, WhatOthersFallbackIsMoreIsTheirs) {
    join();
    changes({RecordPut{2, 80, record_of(2, 6, 3 * fallback)}});
    EXPECT_EQ(cap_, 10'000 - 5 * fallback);
    changes({RecordPut{2, 80, record_of(2, 6, fallback / 2)}});
    acknowledge(1);
    acknowledge(2);
    EXPECT_EQ(cap_, 10'000 - 3 * fallback) << "less is nobody's: it was counted before";
    changes({RecordPut{2, 80, record_of(2, 6, UINT64_MAX)}});
    EXPECT_EQ(cap_, fallback) << "nothing is left";
    changes({RecordPut{9, 80, record_of(9, 0, 0)}, RecordGone{2}});
    acknowledge(1);
    acknowledge(9);
    EXPECT_EQ(cap_, fallback) << "as many are not understood";
}

TEST_F(TrunkMemberTest, AnUnknownFallbackCountsAsTheOwn) {
    join();
    changes({RecordPut{3, 81, record_of(3)}});
    changes({RecordPut{9, 80, record_of(9, 0, 0)}});
    EXPECT_EQ(cap_, (10'000 - 3 * fallback) / 2);
}

TEST_F(TrunkMemberTest, AnAcknowledgementOfWhatHasNotBegunIsNone) {
    join();
    changes({RecordPut{2, 80, record_of(2)}});
    acknowledge(1);
    changes({AcknowledgementPut{2, revision_ + 2}});  // the next epoch's number
    EXPECT_EQ(member_->view().waiting(), 1U);
    changes({RecordPut{2, 80, std::make_shared<MemberRecord>(MemberRecord{5, {}, {fallback}})}});
    EXPECT_EQ(member_->view().waiting(), 2U);
    acknowledge(1);
    EXPECT_EQ(member_->view().waiting(), 1U) << "of an epoch that it has not seen";
    acknowledge(2);
    EXPECT_EQ(member_->view().waiting(), 0U);
    EXPECT_EQ(cap_, 10'000 - 3 * fallback);
}

TEST_F(TrunkMemberTest, NorInASnapshot) {
    StoreSnapshot all{.revision = revision_, .settled_by = 1, .members = {}};
    all.members.push_back({2, {record_of(2), 80, 9, revision_}});
    member_->snapshot(now_, all);
    settle();
    EXPECT_EQ(member_->view().waiting(), 1U);
    changes({AcknowledgementPut{2, member_->view().epoch()}});
    EXPECT_EQ(member_->view().waiting(), 0U);
}

TEST_F(TrunkMemberTest, WaitsInAStoreThatNobodyHasSettled) {
    member_->want(now_, record_of(1)->demands);
    settle();
    member_->snapshot(now_, {.revision = 10, .settled_by = 0, .members = {}});
    settle();
    answer({.done = true, .lease = own_lease});
    put_record(record_of(1));
    acknowledge(1);
    EXPECT_EQ(cap_, fallback);
    const Time began = now_;
    bool has_put = false;
    while (!has_put && now_ < began + 60s) {
        deeds_ = tick(100ms);
        has_put = find<PutSettled>(deeds_);
        if (find<ProlongLease>(deeds_)) answer({.done = true});
    }
    EXPECT_GE(now_ - began, setting_.timing.lease_at_most());
    EXPECT_TRUE(has_put);
}

TEST_F(TrunkMemberTest, StopsFromTheFallback) {
    join();
    member_->stop(now_);
    deeds_ = settle();
    ASSERT_EQ(deeds_.size(), 2U);
    EXPECT_EQ(std::get<SetCap>(deeds_[0]).rate.value, fallback);
    EXPECT_EQ(std::get<RevokeLease>(deeds_[1]).lease, own_lease);
    EXPECT_TRUE(member_->has_stopped());
}

TEST_F(TrunkMemberTest, HoldsNewDemandsBackWhileOthersAgree) {
    join();
    changes({RecordPut{2, 80, record_of(2)}});
    acknowledge(1);
    member_->want(now_, {});
    EXPECT_FALSE(find<PutRecord>(settle()));
    EXPECT_FALSE(find<PutRecord>(tick(500ms)));
    EXPECT_TRUE(find<PutRecord>(tick(600ms))) << "but not for ever";
}

TEST(LeaseTiming, RefusesTimesThatCannotWork) {
    const auto refuses_with = [](auto change) {
        LeaseTiming timing;
        change(timing);
        return !check_timing(timing);
    };
    EXPECT_FALSE(refuses_with([](LeaseTiming&) {})) << "its defaults";
    EXPECT_TRUE(refuses_with([](LeaseTiming& timing) { timing.expires = 15s; }));
    EXPECT_TRUE(refuses_with([](LeaseTiming& timing) { timing.lease = 6s; }));
    EXPECT_TRUE(refuses_with([](LeaseTiming& timing) { timing.refresh_every = 1s; }));
    EXPECT_TRUE(refuses_with([](LeaseTiming& timing) { timing.keep_alive_every = 2s; }));
    EXPECT_TRUE(refuses_with([](LeaseTiming& timing) { timing.margin = -1s; }));
}

}  // namespace
}  // namespace headway::test
