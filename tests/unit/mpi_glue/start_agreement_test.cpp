// SPDX-License-Identifier: Apache-2.0
// Ranks as threads, whatever is late and by how much, over a store that is as slow as
// it likes.
#include "start_agreement.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace headway::glue {
namespace {

using namespace std::chrono_literals;
using std::chrono::microseconds;

constexpr auto limit = 20ms;

/// What a launcher keeps.
struct Store {
    bool keeps_first = true;  ///< as Hydra, which refuses a second value; else the last
    std::mutex mutex;
    std::map<std::pair<int, std::string>, std::string> values;
};

/// As one rank sees it: before and after everything there is a delay.
class SlowNames : public LaunchNames {
public:
    SlowNames(Store& store, int rank, std::uint32_t seed, microseconds longest)
        : LaunchNames("job"), store_(store), rank_(rank), random_(seed), longest_(longest) {}

    bool publish(const std::string& name, const std::string& value) override {
        const Delays delays(*this);
        const std::lock_guard lock(store_.mutex);
        if (store_.keeps_first) return store_.values.emplace(std::pair(rank_, name), value).second;
        store_.values[{rank_, name}] = value;
        return true;
    }

    std::optional<std::string> lookup(int rank, const std::string& name) override {
        const Delays delays(*this);
        const std::lock_guard lock(store_.mutex);
        const auto found = store_.values.find({rank, name});
        if (found == store_.values.end()) return std::nullopt;
        return found->second;
    }

private:
    struct Delays {
        explicit Delays(SlowNames& delayed) : names(delayed) { names.wait(); }
        ~Delays() { names.wait(); }
        SlowNames& names;
    };

    void wait() {
        if (longest_ > 0us) std::this_thread::sleep_for(microseconds(random_() % longest_.count()));
    }

    Store& store_;
    int rank_;
    std::mt19937 random_;
    microseconds longest_;
};

struct Rank {
    microseconds late{};
    std::string version = "1";
    bool takes_part = true;
};

std::vector<StartOutcome> meet(const std::vector<Rank>& ranks, bool keeps_first = true,
                               std::uint32_t seed = 0, microseconds slowest = 0us) {
    Store store;
    store.keeps_first = keeps_first;
    std::vector<StartOutcome> outcomes(ranks.size());
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        if (!ranks[rank].takes_part) continue;
        threads.emplace_back([&, rank] {
            SlowNames names(store, static_cast<int>(rank), seed + static_cast<std::uint32_t>(rank),
                            slowest);
            std::this_thread::sleep_for(ranks[rank].late);
            outcomes[rank] = agree_on_start(names, {static_cast<int>(rank), static_cast<int>(ranks.size()),
                                                    ranks[rank].version, limit});
        });
    }
    for (std::thread& thread : threads) thread.join();
    return outcomes;
}

std::size_t that_pace(const std::vector<StartOutcome>& outcomes) {
    return static_cast<std::size_t>(std::count_if(
        outcomes.begin(), outcomes.end(), [](const auto& outcome) { return outcome.all_take_part; }));
}

TEST(StartAgreement, AllTakePart) {
    for (const bool keeps_first : {true, false})
        EXPECT_EQ(that_pace(meet({{}, {}, {5ms}, {}}, keeps_first)), 4U);
}

TEST(StartAgreement, ARankThatIsNotThereDelaysNobodyForLong) {
    for (std::size_t missing = 0; missing < 4; ++missing) {
        std::vector<Rank> ranks(4);
        ranks[missing].takes_part = false;
        const auto begin = std::chrono::steady_clock::now();
        const auto outcomes = meet(ranks);
        EXPECT_LT(std::chrono::steady_clock::now() - begin, 50 * limit);
        EXPECT_EQ(that_pace(outcomes), 0U);
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
}

TEST(StartAgreement, WhoMissesRank0PromisesNothing) {
    Store store;
    SlowNames names(store, 1, 0, 0us);
    EXPECT_FALSE(agree_on_start(names, {1, 2, "1", limit}).all_take_part);
    EXPECT_EQ((store.values[{1, "here"}]), "left");
}

/// As Slurm's PMI 2 to MPICH 4.0.
TEST(StartAgreement, ARefusalThatIsNoneMakesNoRankGo) {
    struct Refusing : SlowNames {
        using SlowNames::SlowNames;
        bool publish(const std::string& name, const std::string& value) override {
            return SlowNames::publish(name, value) && false;
        }
    };
    Store store;
    store.values[{0, "begun"}] = "yes";
    Refusing names(store, 1, 0, 0us);
    EXPECT_FALSE(agree_on_start(names, {1, 2, "1", limit}).all_take_part);  // in a bounded time
    store.values[{0, "outcome"}] = "yes";
    EXPECT_TRUE(agree_on_start(names, {1, 2, "1", limit}).all_take_part);
}

TEST(StartAgreement, NoDelayMakesRanksDecideDifferently) {
    std::mt19937 random(16);
    std::size_t paced = 0;
    constexpr int rounds = 150;
    for (int round = 0; round < rounds; ++round) {
        std::vector<Rank> ranks(4);
        // most of them by about the limit, each way round
        for (Rank& rank : ranks) {
            if (random() % 2 == 0) rank.late = limit + microseconds(random() % 15000) - 5ms;
        }
        const auto outcomes = meet(ranks, round % 2 == 0, random(), microseconds(1 + random() % 3000));
        const std::size_t these = that_pace(outcomes);
        ASSERT_TRUE(these == 0 || these == ranks.size()) << "round " << round << ": " << these;
        paced += these == 0 ? 0 : 1;
    }
    EXPECT_GT(paced, 10U);
    EXPECT_LT(paced, rounds - 10U);
}

}  // namespace
}  // namespace headway::glue
