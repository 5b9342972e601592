// SPDX-License-Identifier: Apache-2.0
// Slots, phases and classes; the classifier's memory is a fake's.
#include <gtest/gtest.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <set>
#include <thread>

#include "fake_kernel.hpp"
#include "fake_phase_maps.hpp"
#include "jobs/phase_jobs.hpp"
#include "kernel/netlink_traffic_control.hpp"
#include "kernel/pacing.hpp"
#include "topologies.hpp"

namespace headway::test {
namespace {

constexpr uid_t alice = 0;  ///< whose phases hold for all packets
constexpr uid_t bob = 1001;

using Choice = FakePhaseMaps::Choice;

ClassRate rate(std::uint64_t bytes_per_s) { return BytesPerSecond{bytes_per_s}; }

const std::vector<TrunkClasses> trunk_classes{{tc_handle(1, 0x10), tc_handle(1, 0x110)},
                                              {tc_handle(1, 0x11), tc_handle(1, 0x111)}};

class Phases : public testing::Test {
protected:
    Phases() {
        kernel_.add_device("eth0", {20 * mbit});
        control_.emplace(*NetlinkTrafficControl::open(kernel_, "eth0"));
        const std::vector<Change> trunks{AddRootQdisc{tc_handle(1, 0)},
                                         AddClass{tc_handle(1, 0x10), std::nullopt},
                                         AddClass{tc_handle(1, 0x11), std::nullopt},
                                         AddClass{tc_handle(1, 0x110), std::nullopt, tc_handle(1, 0x10)},
                                         AddClass{tc_handle(1, 0x111), std::nullopt, tc_handle(1, 0x11)}};
        mirror_.emplace(*control_);
        EXPECT_TRUE(mirror_->apply(trunks, ApplyMode::in_order));
        jobs_.emplace(table_, maps_, *mirror_, trunk_classes, BytesPerSecond{20 * mbit / 8});
    }

    Result<PhaseSeat> try_join(uid_t user, const std::string& name) {
        return jobs_->join(table_.find_or_begin(user, name));
    }
    PhaseSeat join(uid_t user = alice, const std::string& name = "job") {
        const auto seat = try_join(user, name);
        EXPECT_TRUE(seat) << seat.error().message;
        return seat.value_or(PhaseSeat{});
    }
    std::uint32_t phase(const PhaseSeat& seat, const std::vector<ClassRate>& rates) {
        const auto number = jobs_->phase(seat.job, rates);
        EXPECT_TRUE(number) << number.error().message;
        return number.value_or(0);
    }
    /// As the client does it.
    void store(const PhaseSeat& seat, std::uint32_t number) {
        __atomic_store_n(&maps_.slots(seat.job).phase[seat.slot], number, __ATOMIC_RELEASE);
    }
    std::map<std::uint32_t, FakeClass>& classes() { return kernel_.device("eth0").root.classes; }
    /// Counts the users of the entry of that rate of the seat's job; 0: there is none in use.
    std::uint32_t users_of(const PhaseSeat& seat, std::size_t trunk, std::uint64_t alone) {
        const auto& entries = jobs_->tables().entries();
        const auto entry = entries.find({trunk, seat.job, rate(alone)});
        return entry == entries.end() ? 0 : entry->second.users;
    }
    ClassRate rate_of(Choice choice) {
        return rate_in(kernel_.device("eth0").root, choice.minor, choice.entry);
    }

    FakeKernel kernel_;
    std::optional<NetlinkTrafficControl> control_;
    std::optional<KernelMirror> mirror_;
    FakePhaseMaps maps_{2};
    JobTable table_;
    std::optional<PhaseJobs> jobs_;
};

TEST_F(Phases, AStoreChoosesTheEntryOfEachTrunk) {
    const PhaseSeat seat = join();
    EXPECT_EQ(maps_.classify(1), (Choice{0x111, 0}));
    const auto number = phase(seat, {rate(1000), rate(2000)});
    EXPECT_EQ(number, 1U);
    EXPECT_EQ(maps_.classify(1), (Choice{0x111, 0})) << "nobody is in it";
    store(seat, number);
    EXPECT_EQ(rate_of(maps_.classify(0)), rate(1000));
    EXPECT_EQ(rate_of(maps_.classify(1)), rate(2000));
    EXPECT_EQ(maps_.classify(1).minor, 0x111U) << "the class that all share";
    store(seat, 0);
    EXPECT_EQ(maps_.classify(0), (Choice{0x110, 0}));
}

TEST_F(Phases, ATrunkWithoutALimitRests) {
    const PhaseSeat seat = join();
    store(seat, phase(seat, {std::nullopt, rate(2000)}));
    EXPECT_EQ(maps_.classify(0), (Choice{0x110, 0}));
    EXPECT_EQ(rate_of(maps_.classify(1)), rate(2000));
    EXPECT_EQ(phase(seat, {std::nullopt, std::nullopt}), 0U) << "no limit at all is rest";
}

TEST_F(Phases, TheStrictestOfAllJobsWins) {
    const PhaseSeat first = join(alice), second = join(alice, "two"), resting = join(alice, "two");
    store(first, phase(first, {rate(1000), rate(9000)}));
    store(second, phase(second, {rate(2000), rate(8000)}));
    EXPECT_EQ(rate_of(maps_.classify(0)), rate(1000));
    EXPECT_EQ(rate_of(maps_.classify(1)), rate(8000));
    jobs_->leave(second);
    EXPECT_EQ(rate_of(maps_.classify(1)), rate(9000));
    jobs_->leave(resting);
    jobs_->leave(first);
    EXPECT_EQ(maps_.classify(0), (Choice{0x110, 0}));
    EXPECT_TRUE(jobs_->numbers().empty());
}

TEST_F(Phases, NumbersThatNobodyGaveCountForNothing) {
    const PhaseSeat seat = join();
    phase(seat, {rate(1000), rate(1000)});
    for (const std::uint32_t wild : {2U, 63U, 64U, 0x80000000U, 0xffffffffU}) {
        store(seat, wild);
        EXPECT_EQ(maps_.classify(0), (Choice{0x110, 0})) << wild;
    }
}

TEST_F(Phases, EqualRatesShareNumbersAndEntries) {
    const PhaseSeat mine = join(alice), sibling = join(alice), other = join(bob);
    EXPECT_EQ(mine.job, sibling.job);
    EXPECT_NE(mine.slot, sibling.slot);
    EXPECT_NE(mine.job, other.job) << "another user's job, though of the same name";
    const auto number = phase(mine, {rate(1000), rate(2000)});
    EXPECT_EQ(phase(sibling, {rate(1000), rate(2000)}), number);
    EXPECT_EQ(phase(other, {rate(3000), rate(2000)}), 1U) << "numbers are the job's own";
    EXPECT_EQ(phase(other, {rate(3000), rate(4000)}), 2U);
    EXPECT_EQ(jobs_->tables().entries().size(), 5U) << "no entry is of two jobs";
    EXPECT_EQ(users_of(other, 0, 3000), 2U);
}

TEST_F(Phases, ASlotCountsNoMoreOnceItsProcessIsGone) {
    const PhaseSeat gone = join(), left = join();
    const auto number = phase(gone, {rate(1000), rate(1000)});
    store(gone, number);
    jobs_->leave(gone);
    EXPECT_EQ(maps_.classify(0), (Choice{0x110, 0}));
    store(gone, number);
    EXPECT_EQ(maps_.classify(0), (Choice{0x110, 0})) << "a child of it still has the memory";
    EXPECT_EQ(join(), gone) << "the slot is given again";
    EXPECT_EQ(maps_.classify(0), (Choice{0x110, 0})) << "and does not count until it is written";
    store(left, number);
    EXPECT_EQ(rate_of(maps_.classify(0)), rate(1000));
    jobs_->leave(gone);
    jobs_->leave(gone);
    EXPECT_EQ(rate_of(maps_.classify(0)), rate(1000)) << "leaving twice takes nobody else along";
}

TEST_F(Phases, AJobThatEndedLeavesNobodyItsMemory) {
    const PhaseSeat first = join(alice);
    const int fd = maps_.slots_fd(first.job);
    jobs_->leave(first);
    std::set<std::uint32_t> numbers{first.job};
    for (int i = 1; i < HEADWAY_PHASE_JOBS; ++i) {
        const PhaseSeat seat = join(bob, std::to_string(i));
        numbers.insert(seat.job);
        jobs_->leave(seat);
    }
    EXPECT_EQ(numbers.size(), std::size_t{HEADWAY_PHASE_JOBS}) << "no number twice";
    EXPECT_EQ(maps_.renewals, 0) << "waiting for the kernel is put off";
    EXPECT_EQ(maps_.slots_fd(first.job), fd);
    join(bob, "one more");
    EXPECT_EQ(maps_.renewals, 1);
    EXPECT_NE(maps_.slots_fd(first.job), fd);
}

TEST_F(Phases, WithoutFreshMemoryNobodyJoins) {
    maps_.refuse_renewal = true;
    for (int i = 0; i < HEADWAY_PHASE_JOBS; ++i) jobs_->leave(join(bob, std::to_string(i)));
    EXPECT_FALSE(try_join(alice, "job"));
    EXPECT_TRUE(jobs_->numbers().empty());
    maps_.refuse_renewal = false;
    EXPECT_TRUE(try_join(alice, "job"));
}

TEST_F(Phases, AreBounded) {
    for (int i = 0; i < HEADWAY_PHASE_PROCESSES; ++i) join(i < HEADWAY_PHASE_PROCESSES * 3 / 4 ? bob : alice);
    EXPECT_FALSE(try_join(bob, "job"));
    const auto refused = try_join(alice, "job");
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("256 processes"), std::string::npos);
    const PhaseSeat seat{jobs_->numbers().begin()->first, 0};
    for (std::uint32_t i = 1; i < HEADWAY_PHASES; ++i) EXPECT_EQ(phase(seat, {rate(i), {}}), i);
    EXPECT_FALSE(jobs_->phase(seat.job, {rate(1'000'000), {}})) << "laxer than any that was named";
    EXPECT_EQ(phase(seat, {rate(63), {}}), 63U) << "those it has it keeps";
    jobs_->leave(seat);
    EXPECT_TRUE(try_join(alice, "job"));
}

// A process may store a number long after it was told of it: what that means
// then is nowhere laxer.
TEST_F(Phases, ANumberIsFreeForStricterRatesOnceNobodyIsToldOfIt) {
    const PhaseSeat seat = join(), sibling = join();
    for (std::uint32_t i = 1; i < HEADWAY_PHASES; ++i) phase(seat, {rate(1000 + i), rate(5000)});
    store(seat, 1);
    store(sibling, 2);
    const auto before = maps_.slots(seat.job).generation;
    EXPECT_FALSE(jobs_->phase(seat.job, {rate(1000), rate(5000)}, false));
    EXPECT_EQ(maps_.slots(seat.job).generation, before) << "not asked to change it";
    EXPECT_EQ(phase(seat, {rate(1000), rate(5000)}), 3U) << "1 and 2 are held";
    EXPECT_EQ(maps_.slots(seat.job).generation, before + 1) << "all had been named";
    store(seat, 3);
    EXPECT_EQ(rate_of(maps_.classify(0)), rate(1000));
    EXPECT_EQ(users_of(seat, 0, 1003), 0U);
    EXPECT_EQ(users_of(seat, 1, 5000), 63U);

    EXPECT_FALSE(jobs_->phase(seat.job, {rate(900), rate(5001)})) << "laxer on one trunk";
    EXPECT_FALSE(jobs_->phase(seat.job, {rate(900), {}})) << "no limit is laxer still";
    EXPECT_EQ(phase(seat, {rate(1004), rate(5000)}), 4U) << "named again, as it was";
    EXPECT_EQ(phase(seat, {rate(900), rate(5000)}), 1U) << "not held now, and not named since";
}

TEST_F(Phases, ANumberIsFreeForAnyRatesOnceAllWhoWereThereHaveLeft) {
    const PhaseSeat first = join();
    for (std::uint32_t i = 1; i < HEADWAY_PHASES; ++i) phase(first, {rate(i), {}});
    const PhaseSeat second = join();
    EXPECT_FALSE(jobs_->phase(second.job, {rate(2000), {}}));
    jobs_->leave(first);
    for (std::uint32_t i = 1; i < HEADWAY_PHASES; ++i) {
        EXPECT_EQ(phase(second, {rate(2000 + i), rate(2000 + i)}), i);
    }
    store(second, 63);
    EXPECT_EQ(rate_of(maps_.classify(1)), rate(2063));
}

// A process that is told of a number for one call forgets it when it asks for the next.
TEST_F(Phases, AProcessHasOneNumberForAllItsSingleCalls) {
    const PhaseSeat seat = join(), sibling = join();
    const auto of_call = [&](const PhaseSeat& asking, std::uint64_t bytes_per_s) {
        return jobs_->phase_of_call(asking, {rate(bytes_per_s), {}}).value_or(0);
    };
    EXPECT_EQ(phase(seat, {rate(500), {}}), 1U);
    const auto generation = maps_.slots(seat.job).generation;
    for (std::uint32_t i = 0; i < 300; ++i) {
        EXPECT_EQ(of_call(seat, 1000 + i), 2U);
        EXPECT_EQ(of_call(sibling, 1000 + i), 3U);
        store(seat, 2);
        EXPECT_EQ(rate_of(maps_.classify(0)), rate(1000 + i));
        EXPECT_EQ(of_call(sibling, 2000 + i), 3U);
        EXPECT_EQ(rate_of(maps_.classify(0)), rate(1000 + i)) << "the sibling's number is another one";
        store(seat, 0);
    }
    EXPECT_EQ(users_of(seat, 0, 1000), 0U) << "rates that no call has any more are gone";
    EXPECT_EQ(phase(sibling, {rate(1299), {}}), 4U) << "what lasts has a number of its own";
    EXPECT_EQ(maps_.slots(seat.job).generation, generation) << "nothing is out of date";
}

TEST_F(Phases, WhoHoldsANumberOfACallHasTheRatesOfTheNext) {
    const PhaseSeat seat = join();
    store(seat, jobs_->phase_of_call(seat, {rate(1000), {}}).value_or(0));
    EXPECT_EQ(jobs_->phase_of_call(seat, {rate(2000), {}}).value_or(0), 1U);
    EXPECT_EQ(rate_of(maps_.classify(0)), rate(2000));
}

// One of 63 numbers, taken one after the other, is a call's of a process that has gone since.
TEST_F(Phases, NumbersOfCallsAreFreeWhenTheirProcessesHaveGone) {
    join();
    for (std::uint64_t i = 1; i < 3 * HEADWAY_PHASES; ++i) {
        const PhaseSeat seat = join();
        const auto number = jobs_->phase_of_call(seat, {rate(1000 + i), {}});
        ASSERT_TRUE(number) << number.error().message;
        jobs_->leave(seat);
    }
}

// A process may store a number that it was told of long ago, and the rates of calls to come may be
// laxer than those.
TEST_F(Phases, NumbersThatSomebodyRemembersAreNoCalls) {
    const PhaseSeat seat = join();
    for (std::uint32_t i = 1; i < HEADWAY_PHASES; ++i) phase(seat, {rate(1000 + i), {}});
    jobs_->new_generation(seat.job);
    EXPECT_EQ(phase(seat, {rate(10), {}}), 1U) << "stricter than all";
    EXPECT_FALSE(jobs_->phase_of_call(seat, {rate(11), {}}));
}

TEST_F(Phases, AnswersGoOutOfDateWithTheJob) {
    const PhaseSeat first = join();
    const auto generation = [&] { return maps_.slots(first.job).generation; };
    const auto before = generation();
    EXPECT_EQ(jobs_->phases_of(first.job).generation, before);
    const PhaseSeat second = join();
    EXPECT_EQ(generation(), before + 1);
    const auto elsewhere = maps_.slots(join(bob).job).generation;
    EXPECT_EQ(generation(), before + 1) << "another job is no reason";
    jobs_->leave(second);
    EXPECT_EQ(generation(), before + 2);
    jobs_->new_generation_of_all();
    EXPECT_EQ(generation(), before + 3);
    EXPECT_EQ(maps_.slots(join(bob).job).generation, elsewhere + 2);
}

TEST_F(Phases, WhatTheKernelRefusesGivesNoPhase) {
    const PhaseSeat seat = join();
    kernel_.refuse = [](const nlmsghdr& request) -> std::optional<FakeKernel::Refusal> {
        const auto* tc = static_cast<const tcmsg*>(mnl_nlmsg_get_payload(&request));
        if (tc->tcm_handle != 0x10111) return std::nullopt;
        return FakeKernel::Refusal{ENOMEM, "no memory"};
    };
    const auto refused = jobs_->phase(seat.job, {rate(1000), rate(1000)});
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("no memory"), std::string::npos);
    EXPECT_EQ(users_of(seat, 0, 1000), 0U);
    kernel_.refuse = nullptr;
    EXPECT_EQ(phase(seat, {rate(1000), rate(1000)}), 1U);
}

TEST_F(Phases, AJobThatCannotBeRestoredLeavesNothing) {
    KeptJob kept;
    kept.name = "job";
    kept.slots = {0};
    kept.rates = {{}, {rate(1000), rate(1000)}};
    kernel_.refuse = [](const nlmsghdr&) { return FakeKernel::Refusal{ENOMEM, "no memory"}; };
    EXPECT_TRUE(jobs_->restore({{3, kept}}).empty());
    EXPECT_TRUE(jobs_->numbers().empty());
    EXPECT_TRUE(table_.jobs().empty()) << "no process would ever end it";
    kernel_.refuse = nullptr;
    kept.name = "other";
    EXPECT_EQ(jobs_->restore({{4, kept}}), std::set<std::uint32_t>{4});
    EXPECT_EQ(table_.jobs().size(), 1U);
}

// Packets that wait with the number of an entry that nobody wants any more leave at its rate.
TEST_F(Phases, EntriesStayUntilAllNumbersAreUsed) {
    PhaseTables tables(*mirror_, trunk_classes);
    const auto acquire = [&](std::uint32_t job, std::uint64_t bytes_per_s) {
        return tables.acquire({0, job, rate(bytes_per_s)}, {bytes_per_s});
    };
    const auto in_kernel = [&] { return classes().at(0x10110).table; };
    for (std::uint64_t i = 1; i <= table_entries_max; ++i) EXPECT_EQ(acquire(0, i).value(), i);
    tables.release({0, 0, rate(7)});
    tables.release({0, 0, rate(5)});
    EXPECT_EQ(in_kernel().at(5), rate(5));
    EXPECT_EQ(acquire(7, 5).value(), 5) << "of another job now";
    EXPECT_EQ(acquire(7, 1000).value(), 7) << "the one that was idle longest";
    EXPECT_EQ(in_kernel().at(7), rate(1000));
    const auto refused = acquire(7, 2000);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("160 different rates"), std::string::npos);
    EXPECT_EQ(acquire(0, 9).value(), 9) << "those in use are still there";
    EXPECT_TRUE(tables.acquire({1, 7, rate(2000)}, {2000})) << "another trunk has its own";
}

// They limit as long as a process may still be in a phase of the earlier run, and then no more than those of a job
// that has ended.
TEST_F(Phases, EntriesOfAnEarlierRunAreLiftedOnceItIsOver) {
    PhaseTables(*mirror_, trunk_classes).acquire({0, 1, rate(1000)}, {1000}).value();
    PhaseTables tables(*mirror_, trunk_classes);
    tables.adopt(*mirror_->classes());
    const auto entry = [&] { return classes().at(0x10110).table.at(1); };
    ASSERT_TRUE(tables.acquire({1, 2, rate(2000)}, {2000}));
    tables.release({1, 2, rate(2000)});
    EXPECT_EQ(entry(), rate(1000)) << "the earlier run's";
    tables.lift_adopted();
    EXPECT_EQ(entry(), std::nullopt);
}

// Packets then bypass the qdisc.
TEST_F(Phases, NothingLimitsAnyClassOnceTheLastEntryIsReleased) {
    PhaseTables tables(*mirror_, trunk_classes);
    ASSERT_TRUE(tables.acquire({0, 1, rate(1000)}, {1000}));
    ASSERT_TRUE(tables.acquire({1, 2, rate(2000)}, {2000}));
    const auto own = tables.give_classes(1);
    ASSERT_TRUE(own);
    const auto is_limited = [&](std::uint32_t classid) {
        return std::ranges::any_of(classes().at(classid).table, [](const auto& entry) { return entry.second.has_value(); });
    };
    tables.take_classes(1);
    tables.release({0, 1, rate(1000)});
    EXPECT_TRUE(is_limited(0x10110)) << "packets of a job that has left may wait while another goes on";
    kernel_.refuse = [](const nlmsghdr&) { return FakeKernel::Refusal{ENOMEM, "no memory"}; };
    tables.release({1, 2, rate(2000)});
    kernel_.refuse = nullptr;
    EXPECT_TRUE(is_limited(0x10111));
    ASSERT_TRUE(tables.acquire({1, 2, rate(3000)}, {3000}));
    tables.release({1, 2, rate(3000)});
    for (const std::uint32_t classid : {std::uint32_t{0x10110}, std::uint32_t{0x10111}, (*own)[0].value, (*own)[1].value}) {
        EXPECT_FALSE(is_limited(classid)) << classid;
    }
    EXPECT_EQ(tables.acquire({0, 1, rate(1000)}, {1000}).value(), 1) << "all numbers are free again";
    EXPECT_EQ(classes().at(0x10110).table.at(1), rate(1000));
}

// Processes that have not joined again yet are still paced by that run's classifier.
TEST_F(Phases, EntriesOfAnEarlierRunLimitUntilSomebodyHasUsedThem) {
    {
        PhaseTables earlier(*mirror_, trunk_classes);
        ASSERT_TRUE(earlier.acquire({0, 1, rate(1000)}, {1000}));
    }
    PhaseTables tables(*mirror_, trunk_classes);
    tables.adopt(*mirror_->classes());
    const auto entry = [&](TableEntry number) { return classes().at(0x10110).table.at(number); };
    EXPECT_EQ(tables.acquire({0, 2, rate(2000)}, {2000}).value(), 2);
    tables.release({0, 2, rate(2000)});
    EXPECT_EQ(entry(1), rate(1000));
    EXPECT_EQ(entry(2), ClassRate{});
    EXPECT_EQ(tables.acquire({0, 3, rate(1000)}, {1000}).value(), 1);
    tables.release({0, 3, rate(1000)});
    EXPECT_EQ(entry(1), ClassRate{});
}

TEST_F(Phases, AJobsOwnClassHasTheTrunksWholeTable) {
    PhaseTables tables(*mirror_, trunk_classes);
    ASSERT_TRUE(tables.acquire({0, 3, rate(1000)}, {1000}));
    const auto own = tables.give_classes(3);
    ASSERT_TRUE(own);
    const auto in_kernel = [&](TcHandle classid) { return classes().at(classid.value); };
    EXPECT_EQ(in_kernel((*own)[0]).parent, 0x10010U);
    EXPECT_EQ(in_kernel((*own)[1]).parent, 0x10011U);
    EXPECT_EQ(in_kernel((*own)[0]).table, (RateTable{{1, rate(1000)}}));
    ASSERT_TRUE(tables.acquire({0, 4, rate(2000)}, {2000}));
    const std::array changes{PhaseTables::RateChange{{0, 3, rate(1000)}, {500}}};
    ASSERT_TRUE(tables.change_rates(changes));
    const RateTable expected{{1, rate(500)}, {2, rate(2000)}};
    EXPECT_EQ(in_kernel((*own)[0]).table, expected);
    EXPECT_EQ(classes().at(0x10110).table, expected);

    tables.take_classes(3);
    ASSERT_TRUE(tables.acquire({0, 4, rate(3000)}, {3000}));
    EXPECT_EQ(in_kernel((*own)[0]).table, expected) << "nobody sends there now";
    EXPECT_EQ(tables.give_classes(4).value(), *own) << "they serve the next job";
    EXPECT_EQ(in_kernel((*own)[0]).table, (RateTable{{1, rate(500)}, {2, rate(2000)}, {3, rate(3000)}}));
}

TEST_F(Phases, AJobHasAllItsClassesOrNone) {
    PhaseTables tables(*mirror_, trunk_classes);
    kernel_.refuse = [](const nlmsghdr& request) -> std::optional<FakeKernel::Refusal> {
        const auto* tc = static_cast<const tcmsg*>(mnl_nlmsg_get_payload(&request));
        if (tc->tcm_parent != 0x10011) return std::nullopt;
        return FakeKernel::Refusal{ENOMEM, "no memory"};
    };
    EXPECT_FALSE(tables.give_classes(3));
    kernel_.refuse = nullptr;
    ASSERT_EQ(tables.own_classes().size(), 1U) << "the first trunk's is there";
    EXPECT_FALSE(tables.own_classes()[0].is_in_use);
    const auto own = tables.give_classes(3);
    ASSERT_TRUE(own);
    EXPECT_EQ(tables.own_classes().size(), 2U) << "and was taken";
}

TEST_F(Phases, RatesFallBeforeOthersRise) {
    PhaseTables tables(*mirror_, trunk_classes);
    ASSERT_TRUE(tables.acquire({0, 1, rate(1000)}, {1000}));
    ASSERT_TRUE(tables.acquire({0, 2, rate(2000)}, {2000}));
    std::vector<RateTable> asked;
    kernel_.refuse = [&](const nlmsghdr&) -> std::optional<FakeKernel::Refusal> {
        asked.push_back(classes().at(0x10110).table);
        return std::nullopt;
    };
    const std::array changes{PhaseTables::RateChange{{0, 1, rate(1000)}, {1500}},
                             PhaseTables::RateChange{{0, 2, rate(2000)}, {1500}}};
    ASSERT_TRUE(tables.change_rates(changes));
    ASSERT_EQ(asked.size(), 2U);
    EXPECT_EQ(asked[1], (RateTable{{1, rate(1000)}, {2, rate(1500)}}));
    EXPECT_EQ(classes().at(0x10110).table, (RateTable{{1, rate(1500)}, {2, rate(1500)}}));
}

// The daemon changes the maps while packets are classified.
TEST_F(Phases, NoMomentShowsAWrongClass) {
    const PhaseSeat steady = join(alice);
    store(steady, phase(steady, {rate(5000), {}}));
    const Choice usual = maps_.classify(0);
    std::atomic<bool> begun = false, done = false;
    std::set<Choice> seen;
    std::thread packets([&] {
        while (!done) {
            seen.insert(maps_.classify(0));
            begun = true;
            begun.notify_one();
        }
    });
    begun.wait(false);
    for (int i = 0; i < 2000; ++i) {
        // Laxer phases of others come and go: nothing else may ever be chosen.
        const PhaseSeat one = join(alice, std::to_string(i % 3)), other = join(alice, "other");
        store(one, phase(one, {rate(6000), {}}));
        store(other, phase(other, {rate(7000), {}}));
        jobs_->leave(one);
        jobs_->leave(other);
    }
    done = true;
    packets.join();
    EXPECT_EQ(seen, std::set<Choice>{usual});
}

}  // namespace
}  // namespace headway::test
