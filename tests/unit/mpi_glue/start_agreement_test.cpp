// SPDX-License-Identifier: Apache-2.0
// Ranks as tasks in virtual time, whatever is late and by how much, over a store that is as
// slow as it likes.
#include "start_agreement.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "../virtual_time.hpp"

namespace headway::glue {
namespace {

using namespace std::chrono_literals;
using std::chrono::microseconds;
using headway::test::VirtualTime;

constexpr auto limit = 20ms;
constexpr auto patience_of_followers = 25ms;

WaitingTime time_of(VirtualTime& time) {
    return {[&time] { return time.now(); }, [&time](auto pause) { time.sleep(pause); }};
}

/// The values that a launcher keeps.
struct Store {
    bool keeps_first = true;  ///< as Hydra, which refuses a second value; else the last
    bool refuses = false;     ///< all, though it keeps them, as Slurm's PMI 2 to MPICH 4.0
    microseconds slowest{};   ///< before and after each look and each change a rank waits for so long at most
    std::map<std::pair<int, std::string>, std::string> values{};
};

class RankNames : public LaunchNames {
public:
    RankNames(Store& store, VirtualTime& time, int rank, std::uint32_t seed)
        : LaunchNames("job"), store_(store), time_(time), rank_(rank), random_(seed) {}

    bool publish(const std::string& name, const std::string& value) override {
        wait();
        const auto [place, is_new] = store_.values.emplace(std::pair(rank_, name), value);
        if (!store_.keeps_first) place->second = value;
        wait();
        return !store_.refuses && (is_new || !store_.keeps_first);
    }

    std::optional<std::string> lookup(int rank, const std::string& name) override {
        wait();
        const auto found = store_.values.find({rank, name});
        const auto value = found == store_.values.end() ? std::nullopt : std::optional(found->second);
        wait();
        return value;
    }

private:
    /// Other ranks come in between even where nothing takes any time.
    void wait() { time_.sleep(microseconds(random_() % static_cast<std::uint32_t>(store_.slowest.count() + 1))); }

    Store& store_;
    VirtualTime& time_;
    int rank_;
    std::minstd_rand random_;
};

struct Rank {
    microseconds late{};
    std::string version = "1";
    bool takes_part = true;
};

struct Met : StartOutcome {
    VirtualTime::Clock::duration took{};  ///< from the rank's first question on
};

std::vector<Met> meet(const std::vector<Rank>& ranks, Store store = {}, std::uint32_t seed = 0) {
    VirtualTime time(seed);
    std::vector<Met> outcomes(ranks.size());
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        if (!ranks[rank].takes_part) continue;
        time.add([&, rank] {
            const int number = static_cast<int>(rank);
            RankNames names(store, time, number, seed + static_cast<std::uint32_t>(rank));
            time.sleep(ranks[rank].late);
            const auto begin = time.now();
            outcomes[rank] = {agree_on_start(names, {number, static_cast<int>(ranks.size()), ranks[rank].version, limit},
                                             time_of(time)),
                              {}};
            outcomes[rank].took = time.now() - begin;
        });
    }
    time.run();
    return outcomes;
}

/// Rank 1 of two, while rank 0 does nothing.
StartOutcome follow(Store& store) {
    VirtualTime time(0);
    StartOutcome outcome;
    time.add([&] {
        RankNames names(store, time, 1, 0);
        outcome = agree_on_start(names, {1, 2, "1", limit}, time_of(time));
    });
    time.run();
    return outcome;
}

std::size_t that_pace(const std::vector<Met>& outcomes) {
    return static_cast<std::size_t>(std::ranges::count_if(outcomes, &Met::all_take_part));
}

TEST(StartAgreement, AllTakePart) {
    for (const bool keeps_first : {true, false})
        EXPECT_EQ(that_pace(meet({{}, {}, {5ms}, {}}, {.keeps_first = keeps_first})), 4U);
}

TEST(StartAgreement, ARankThatIsNotThereDelaysNobodyForLongerThanTheLimit) {
    for (std::size_t missing = 0; missing < 4; ++missing) {
        std::vector<Rank> ranks(4);
        ranks[missing].takes_part = false;
        const auto outcomes = meet(ranks);
        EXPECT_EQ(that_pace(outcomes), 0U);
        for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
            if (rank == missing) continue;
            if (missing == 0) EXPECT_EQ(outcomes[rank].took, patience_of_followers);
            else if (rank == 0) EXPECT_EQ(outcomes[rank].took, limit);
            else EXPECT_LE(outcomes[rank].took, patience_of_followers);
        }
        const StartOutcome& told = outcomes[missing == 0 ? 1 : 0];
        EXPECT_EQ(told.told_by_rank0, missing != 0);
        EXPECT_NE(told.reason.find("rank " + std::to_string(missing) + " did not say within " +
                                   (missing == 0 ? "25 ms" : "20 ms")),
                  std::string::npos)
            << told.reason;
    }
}

TEST(StartAgreement, AnotherVersionIsNamed) {
    const auto outcomes = meet({{}, {}, {0us, "2"}});
    EXPECT_EQ(that_pace(outcomes), 0U);
    EXPECT_NE(outcomes[0].reason.find("rank 2 has another version"), std::string::npos);
}

TEST(StartAgreement, Rank0SaysThatItCameTooLate) {
    const auto outcomes = meet({{3 * limit}, {}, {}});
    EXPECT_EQ(that_pace(outcomes), 0U);
    EXPECT_EQ(outcomes[0].reason, "rank 0 began its first collective more than 25 ms after another rank");
    EXPECT_EQ(outcomes[0].took, 0s) << "who has left is not waited for";
}

TEST(StartAgreement, WhoMissesRank0PromisesNothing) {
    Store store;
    EXPECT_FALSE(follow(store).all_take_part);
    EXPECT_EQ((store.values[{1, "here"}]), "left");
}

TEST(StartAgreement, ARefusalThatIsNoneMakesNoRankGo) {
    Store store{.refuses = true};
    store.values[{0, "begun"}] = "yes";
    EXPECT_FALSE(follow(store).all_take_part) << "it ends, too";
    store.values[{0, "outcome"}] = "yes";
    EXPECT_TRUE(follow(store).all_take_part);
}

TEST(StartAgreement, NoDelayMakesRanksDecideDifferently) {
    std::minstd_rand random(16);
    std::size_t paced = 0;
    constexpr std::size_t rounds = 4000;
    for (std::size_t round = 0; round < rounds; ++round) {
        std::vector<Rank> ranks(4);
        // most of them by about the limit, each way round
        for (Rank& rank : ranks) {
            if (random() % 2 == 0) rank.late = limit + microseconds(random() % 15000) - 5ms;
        }
        const microseconds slowest(random() % 3000);
        const auto outcomes = meet(ranks, {.keeps_first = round % 2 == 0, .slowest = slowest},
                                   static_cast<std::uint32_t>(round));
        const std::size_t these = that_pace(outcomes);
        ASSERT_TRUE(these == 0 || these == ranks.size()) << "round " << round << ": " << these;
        // Who came early waits for rank 0, whose own limit begins then; each has some ten names.
        for (const Met& one : outcomes)
            ASSERT_LE(one.took, patience_of_followers + limit + 20 * slowest) << "round " << round;
        paced += these / ranks.size();
    }
    EXPECT_GT(paced, rounds / 10);
    EXPECT_LT(paced, rounds - rounds / 10);
}

}  // namespace
}  // namespace headway::glue
