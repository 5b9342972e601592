// SPDX-License-Identifier: Apache-2.0
#include "base/quota.hpp"

#include <map>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "base/accounts.hpp"

namespace headway::test {
namespace {

std::size_t take_all(Quota& quota, uid_t user) {
    std::size_t taken = 0;
    while (quota.take(user)) ++taken;
    return taken;
}

TEST(Quota, AUserLeavesAsMuchForOneMore) {
    Quota quota("slots", {120});
    EXPECT_EQ(take_all(quota, 1), 60U);
    EXPECT_EQ(take_all(quota, 2), 20U);
    EXPECT_EQ(take_all(quota, 3), 10U);
    EXPECT_EQ(take_all(quota, 4), 6U);
    EXPECT_EQ(take_all(quota, 1), 0U) << "others came meanwhile";
}

TEST(Quota, NoNumberOfUsersTakesEverything) {
    Quota quota("slots", {1000});
    for (uid_t user = 1; user <= 30; ++user) {
        EXPECT_GT(take_all(quota, user), 0U) << user;
    }
    EXPECT_GT(take_all(quota, 0), 0U);
}

TEST(Quota, AReserveIsLeftToAdministrators) {
    Quota quota("jobs", {20, 4});
    EXPECT_EQ(take_all(quota, 1), 8U);
    EXPECT_EQ(take_all(quota, 0), 12U) << "all that is left, the reserve included";
    EXPECT_EQ(take_all(quota, 2), 0U);
    quota.give_back(0, 12);
    ASSERT_TRUE(quota.take(0, 4));
    EXPECT_EQ(take_all(quota, 2), 2U) << "a third of the 8 that are not reserved: they are used";
}

TEST(Quota, WhereANodeIsOftenOneUsersHeMayHaveMore) {
    Quota quota("slots", {256, 0, 3});
    EXPECT_EQ(take_all(quota, 1), 192U);
    EXPECT_EQ(take_all(quota, 2), 38U);
}

TEST(Quota, WhatIsGivenBackIsThereAgain) {
    Quota quota("slots", {10});
    ASSERT_TRUE(quota.take(1, 5));
    EXPECT_FALSE(quota.take(1));
    EXPECT_EQ(quota.of(1), 5U) << "a refusal takes nothing";
    quota.give_back(1, 2);
    EXPECT_EQ(quota.of(1), 3U);
    EXPECT_TRUE(quota.take(1, 2));
    quota.give_back(1, 5);
    EXPECT_EQ(take_all(quota, 2), 5U) << "a user who has nothing is none";
    quota.give_back(3, 1);
    EXPECT_EQ(quota.of(3), 0U);
}

// In another order than they had come in the first time.
TEST(Quota, UsersOfAnEarlierRunTakeAgainWhatTheyHad) {
    Quota quota("slots", {120});
    EXPECT_TRUE(quota.take_again(2, 20));
    EXPECT_TRUE(quota.take_again(1, 60));
    EXPECT_FALSE(quota.take(1));
    EXPECT_FALSE(quota.take_again(3, 41)) << "there are 40";
    EXPECT_TRUE(quota.take_again(3, 40));
}

TEST(Quota, TheRefusalNamesUserAndAmount) {
    Quota quota("clients", {4});
    ASSERT_TRUE(quota.take(7, 2));
    EXPECT_EQ(quota.take(7).error().message, "user 7 has 2 clients, and may have no more beside those of others");
    ASSERT_TRUE(quota.take(0, 2));
    EXPECT_EQ(quota.take(0).error().message, "there are 4 clients already, and there may be no more");
}

// --------------------------------------------------------------------- whose it is

std::optional<uid_t> number_of(const std::string& name) {
    if (name == "alice") return 1000;
    if (name == "1001") return 1001;
    return std::nullopt;
}

TEST(Accounts, ASubordinateIdIsItsOwners) {
    const Accounts accounts("alice:100000:65536\n1001:165536:65536\nalice:400000:1\n", number_of);
    for (const auto& [user, owner] : std::map<uid_t, uid_t>{
             {0, 0}, {1000, 1000}, {99'999, 99'999}, {100'000, 1000}, {165'535, 1000}, {165'536, 1001},
             {231'071, 1001}, {231'072, 231'072}, {400'000, 1000}, {400'001, 400'001}, {UINT32_MAX, UINT32_MAX}}) {
        EXPECT_EQ(accounts.of(user), owner) << user;
    }
    EXPECT_EQ(Accounts().of(100'000), 100'000U);
}

TEST(Accounts, LinesThatSayNothingAreLeftOut) {
    const Accounts accounts("\n#alice:1:2\nnobody:5:6\nalice\nalice:7\nalice:x:3\nalice:-8:3\nalice:8:\n"
                            ":9:9\nalice:0:4000000000\nalice:99999999999:5\nalice:200:18446744073709551615", number_of);
    for (const uid_t user : {0U, 1U, 5U, 7U, 8U, 9U, 199U}) EXPECT_EQ(accounts.of(user), user);
    EXPECT_EQ(accounts.of(UINT32_MAX), 1000U) << "as far as the last line says, which has no end of line";
    EXPECT_EQ(read_accounts("/nonexistent").of(100'000), 100'000U);
}

}  // namespace
}  // namespace headway::test
