// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/nearest.hpp"

namespace headway::test {
namespace {

const std::vector<std::string> known{"status", "start", "plan", "planner", "top"};

std::string meant(std::string_view word) { return nearest(word, known).value_or("nothing"); }

TEST(Nearest, AFewLettersAway) {
    EXPECT_EQ(meant("statsu"), "status");
    EXPECT_EQ(meant("satus"), "status");
    EXPECT_EQ(meant("tpo"), "nothing") << "most of it is different";
    EXPECT_EQ(meant("topp"), "top");
    EXPECT_EQ(meant("xxxxxxxx"), "nothing");
    EXPECT_EQ(nearest("plan", {}), std::nullopt);
}

TEST(Nearest, TheBeginningOfOneWord) {
    EXPECT_EQ(meant("statu"), "status");
    EXPECT_EQ(meant("plann"), "planner") << "though plan is as near";
    EXPECT_EQ(meant("s"), "nothing") << "two begin so";
    EXPECT_EQ(meant(""), "nothing");
}

TEST(Nearest, AsASentence) {
    EXPECT_EQ(did_you_mean("statsu", known), "did you mean status?");
    EXPECT_EQ(did_you_mean("q", {"a", "b"}), "known here: a, b");
}

}  // namespace
}  // namespace headway::test
