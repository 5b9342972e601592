// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <sstream>

#include "base/progress.hpp"
#include "fake_clock.hpp"

namespace headway::test {
namespace {

using namespace std::chrono_literals;

/// Returns what a terminal of one line shows after these bytes.
std::string screen(const std::string& bytes) {
    std::string line;
    std::size_t column = 0;
    for (const char c : bytes) {
        if (c == '\r') {
            column = 0;
            continue;
        }
        line.resize(std::max(line.size(), column + 1), ' ');
        line[column++] = c;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    return line;
}

TEST(Progress, ShowsPartAndTimeLeft) {
    std::ostringstream out;
    FakeClock clock;
    Progress progress(out, clock, true, "planning");
    clock.advance(6s);
    progress.show(1, 4);  // 6 s for a quarter: 18 s more
    EXPECT_EQ(screen(out.str()), "planning  [=====>              ]  25 %, 18 s left");
    clock.advance(2s);
    progress.show(0, 0);
    EXPECT_EQ(screen(out.str()), "planning  [>                   ]   0 %");
    clock.advance(2s);
    progress.show(9, 4);
    EXPECT_EQ(screen(out.str()), "planning  [====================] 100 %, 0 s left");
}

TEST(Progress, IsErasedAtTheEndAndOnDemand) {
    std::ostringstream out;
    FakeClock clock;
    {
        Progress progress(out, clock, true, "fitting");
        clock.advance(1s);
        progress.show(1, 2);
        progress.erase();
        EXPECT_EQ(screen(out.str()), "");
        out << "an answer longer than any bar, which has to stay as it is, all of it";
        progress.erase();
        out << '\r';
        clock.advance(1s);
        progress.show(2, 2);
    }
    EXPECT_TRUE(out.str().ends_with("\r"));
    EXPECT_EQ(out.str().find('\n'), std::string::npos);
}

TEST(Progress, IsSilentForShortRunsAndFewRedraws) {
    std::ostringstream out;
    FakeClock clock;
    Progress progress(out, clock, true, "x");
    clock.advance(499ms);
    progress.show(1, 2);
    EXPECT_EQ(out.str(), "");
    clock.advance(1ms);
    progress.show(1, 2);
    const auto drawn = out.str();
    EXPECT_NE(drawn, "");
    clock.advance(99ms);
    progress.show(2, 2);
    EXPECT_EQ(out.str(), drawn);
    clock.advance(1ms);
    progress.show(2, 2);
    EXPECT_NE(out.str(), drawn);
}

TEST(Progress, IsNothingWithoutATerminal) {
    std::ostringstream out;
    FakeClock clock;
    {
        Progress progress(out, clock, false, "x");
        clock.advance(10s);
        progress.show(1, 2);
    }
    EXPECT_EQ(out.str(), "");
}

}  // namespace
}  // namespace headway::test
