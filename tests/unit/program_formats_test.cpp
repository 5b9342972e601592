// SPDX-License-Identifier: Apache-2.0
// GOAL schedules and SimGrid's traces as PlogPT programs.
#include "formats/goal_schedule.hpp"
#include "formats/simgrid_trace.hpp"
#include "formats_golden.hpp"

namespace headway {
namespace {

using test::golden;
using test::told;
using Kind = PlogptOperationKind;

/// "s1:1000 w0 r2" for an Isend of 1000 bytes to 1, its Wait, an Irecv from 2.
std::string text_of(const std::vector<PlogptOperation>& program) {
    std::string text;
    for (const PlogptOperation& operation : program) {
        if (!text.empty()) text += ' ';
        switch (operation.kind) {
            case Kind::isend:
                text += fmt::format("s{}:{}", operation.peer, operation.message_bytes);
                break;
            case Kind::irecv: text += fmt::format("r{}", operation.peer); break;
            case Kind::wait: text += fmt::format("w{}", operation.waited); break;
        }
    }
    return text;
}

std::vector<std::string> goal(const std::string& text) {
    const auto file = read_goal_schedule(text, "g");
    EXPECT_TRUE(file) << told(file);
    std::vector<std::string> programs;
    if (!file) return programs;
    EXPECT_TRUE(PlogptListedPrograms::make(file->programs));
    for (const auto& program : file->programs) programs.push_back(text_of(program));
    return programs;
}

TEST(GoalSchedule, IsPutIntoOrder) {
    EXPECT_EQ(goal(golden("goal_schedule/ring.goal")),
              (std::vector<std::string>{"s1:1000 r2 w0 w1", "r0 w0 s2:1000 w2",
                                        "r1 w0 s0:1000 w2"}));
    EXPECT_EQ(read_goal_schedule(golden("goal_schedule/ring.goal"), "g")->computations, 1U);
}

// Operations that do not depend on the receive go before its Wait, wherever it stands.
TEST(GoalSchedule, WaitsAsLateAsItCan) {
    EXPECT_EQ(goal("num_ranks 2\nrank 0 {\n"
                   "a: recv 1b from 1\nb: send 2b to 1\nc: send 3b to 1\nb requires a\n}\n"
                   "rank 1 {\nrecv 3b from 0\nrecv 2b from 0\nsend 1b to 0\n}\n"),
              (std::vector<std::string>{"r1 s1:3 w0 s1:2 w3 w1", "r0 r0 s0:1 w0 w1 w2"}));
}

TEST(GoalSchedule, DependenciesGoThroughCalc) {
    EXPECT_EQ(goal("num_ranks 2\nrank 0 {\na: recv 1b from 1\nc: calc 5\nb: send 2b to 1\n"
                   "c requires a\nb requires c\n}\nrank 1 { \n send 1b to 0\nrecv 2b from 0 }\n"),
              (std::vector<std::string>{"r1 w0 s1:2 w2", "s0:1 r0 w0 w1"}));
}

struct Mistake {
    const char* name;
    const char* text;
    const char* told;
};

class GoalMistake : public testing::TestWithParam<Mistake> {};

TEST_P(GoalMistake, IsToldWithItsLine) {
    const auto file = read_goal_schedule(GetParam().text, "g");
    ASSERT_FALSE(file);
    EXPECT_NE(told(file).find(GetParam().told), std::string::npos) << told(file);
}

INSTANTIATE_TEST_SUITE_P(
    Table, GoalMistake,
    testing::Values(
        Mistake{"Empty", "\n", "g: num_ranks: it is missing"},
        Mistake{"NoRanks", "rank 0 {\n}\n", "g:1: rank: there is no rank 0"},
        Mistake{"TooManyRanks", "num_ranks 65537\n", "g:1: num_ranks: it is not 1 .. 65536"},
        Mistake{"Unclosed", "num_ranks 1\nrank 0 {\ncalc 1\n",
                "g:4: the line ends where } should stand"},
        Mistake{"NoUnit", "num_ranks 2\nrank 0 {\nsend 5 to 1\n}\n",
                "g:3: \"to\" where b, for bytes, should stand"},
        Mistake{"AnySource", "num_ranks 2\nrank 0 {\nrecv 5b from -1\n}\n",
                "g:3: from: messages from any source cannot be read"},
        Mistake{"NoSuchRank", "num_ranks 2\nrank 0 {\nsend 5b to 2\n}\n",
                "g:3: there is no rank 2; name one of 0 .. 1"},
        Mistake{"Alone", "num_ranks 2\nrank 0 {\nsend 5b to 1\n}\n",
                "g:3: send: rank 1 receives no message for it from rank 0"},
        Mistake{"Tags",
                "num_ranks 2\nrank 0 {\nsend 5b to 1 tag 1\n}\nrank 1 {\nrecv 5b from 0 tag 2\n}\n",
                "g:6: tag: rank 1 receives it in another order than rank 0 sends it (g:3)"},
        Mistake{"UnknownLabel", "num_ranks 1\nrank 0 {\na: calc 1\na requires b\n}\n",
                "g:4: there is no label \"b\" before it"},
        Mistake{"Circle", "num_ranks 1\nrank 0 {\na: calc 1\nb: calc 1\na requires b\n"
                          "b requires a\n}\n",
                "g:2: rank: operations of rank 0 require each other in a circle"},
        Mistake{"TwoBlocks", "num_ranks 1\nrank 0 {\n}\nrank 0 {\n}\n",
                "g:4: rank: rank 0 has a block already"},
        Mistake{"Rubbish", "num_ranks 1\nrank 0 {\ncalc 1 $\n}\n",
                "g:3: \"$\" where the end of the line should stand"}),
    [](const auto& mistake) { return std::string(mistake.param.name); });

TEST(GoalSchedule, CommentsKeepLines) {
    const auto file = read_goal_schedule("/* a\n b */ // c\nnum_ranks x\n", "g");
    EXPECT_NE(told(file).find("g:3: num_ranks"), std::string::npos) << told(file);
}

TEST(GoalSchedule, IsBounded) {
    std::string text = "num_ranks 1\nrank 0 {\n";
    for (int i = 0; i < 100; ++i) text += "calc 1\n";
    EXPECT_NE(told(read_goal_schedule(text + "}\n", "g", {10, 10})).find("more than 10 operations"),
              std::string::npos);
}

// -------------------------------------------------------------------- traces

std::vector<std::string> trace(std::string_view text) {
    const NamedText file{"t", text};
    const auto read = read_simgrid_trace(std::span(&file, 1));
    EXPECT_TRUE(read) << told(read);
    std::vector<std::string> programs;
    if (!read) return programs;
    const auto made = PlogptListedPrograms::make(read->programs);
    EXPECT_TRUE(made) << made.error().message;
    for (const auto& program : read->programs) programs.push_back(text_of(program));
    return programs;
}

TEST(SimgridTrace, PointToPoint) {
    EXPECT_EQ(trace("0 init\n1 init 1\n0 isend 1 3 10\n0 isend 1 4 10 0\n0 wait 0 1 4\n0 waitall\n"
                    "1 recv 0 3 -1\n1 irecv 0 4 80\n1 wait 0 1 4\n1 wait 0 1 4\n"
                    "1 send 0 -1 2\n0 recv 1 -1 16\n"),
              (std::vector<std::string>{"s1:10 s1:80 w1 w0 r1 w4", "r0 w0 r0 w2 s0:16 w4"}));
}

TEST(SimgridTrace, CollectivesBecomeMessages) {
    EXPECT_EQ(trace("0 bcast 8\n1 bcast 8\n2 bcast 8\n3 bcast 8\n"),
              (std::vector<std::string>{"s1:8 w0 s2:8 w2", "r0 w0 s3:8 w2", "r0 w0", "r1 w0"}));
    EXPECT_EQ(trace("0 reduce 8 1\n1 reduce 8 1\n2 reduce 8 1\n3 reduce 8 1\n"),
              (std::vector<std::string>{"r2 w0 r1 w2", "r3 w0 s0:8 w2", "s0:8 w0", "s1:8 w0"}));
    EXPECT_EQ(trace("0 barrier\n1 barrier\n2 barrier\n")[0], "r2 s1:0 w0 w1 r1 s2:0 w4 w5");
    EXPECT_EQ(trace("0 alltoall 8 8\n1 alltoall 8 8\n2 alltoall 8 8\n")[1],
              "r0 r2 s2:8 s0:8 w0 w1 w2 w3");
    EXPECT_EQ(trace("0 gather 8 8 1\n1 gather 8 8 1\n2 gather 8 8 1\n"),
              (std::vector<std::string>{"s1:8 w0", "r2 r0 w0 w1", "s1:8 w0"}));
    EXPECT_EQ(trace("0 scatter 8 8\n1 scatter 8 8\n"), (std::vector<std::string>{"s1:8 w0", "r0 w0"}));
    EXPECT_EQ(trace("0 alltoallv 3 1 2 3 1 1\n1 alltoallv 3 4 5 3 1 1\n"),
              (std::vector<std::string>{"r1 s1:2 w0 w1", "r0 s0:4 w0 w1"}));
    EXPECT_EQ(trace(golden("simgrid_trace/three.txt")).size(), 3U);
}

// Whatever the root and the number of ranks, the messages fit together.
TEST(SimgridTrace, CollectivesPairUp) {
    for (const int ranks : {1, 2, 3, 5, 8, 13}) {
        for (const char* action : {"bcast 9", "reduce 9 1", "gather 9 9", "scatter 9 9"}) {
            for (int root = 0; root < ranks; ++root) {
                std::string text;
                for (int r = 0; r < ranks; ++r) text += fmt::format("{} {} {}\n", r, action, root);
                EXPECT_EQ(trace(text).size(), static_cast<std::size_t>(ranks)) << text;
            }
        }
        std::string text;
        for (const char* action : {"barrier", "allreduce 9 1", "allgather 9 9", "alltoall 9 9"}) {
            for (int r = 0; r < ranks; ++r) text += fmt::format("{} {}\n", r, action);
        }
        EXPECT_EQ(trace(text).size(), static_cast<std::size_t>(ranks));
    }
}

TEST(SimgridTrace, MistakesNameTheirFile) {
    const std::vector<NamedText> files{{"zero", "0 init\n0 send 1 0 5\n"},
                                       {"one", "1 init\n1 fly 3\n"}};
    EXPECT_EQ(told(read_simgrid_trace(files)),
              "one:2: fly: \"fly\" cannot be read; see headway-formats(5) for the actions that are "
              "read\n");
    const std::vector<NamedText> alone{{"zero", "0 init\n0 send 1 0 5\n"}, {"one", "1 init\n"}};
    EXPECT_EQ(told(read_simgrid_trace(alone)),
              "zero:2: send: rank 1 receives no message for it from rank 0; give every send its "
              "receive\n");
}

class TraceMistake : public testing::TestWithParam<Mistake> {};

TEST_P(TraceMistake, IsToldWithItsLine) {
    const NamedText file{"t", GetParam().text};
    const auto read = read_simgrid_trace(std::span(&file, 1));
    ASSERT_FALSE(read);
    EXPECT_NE(told(read).find(GetParam().told), std::string::npos) << told(read);
}

INSTANTIATE_TEST_SUITE_P(
    Table, TraceMistake,
    testing::Values(
        Mistake{"Empty", "\n# nothing\n", "t: there is no action"},
        Mistake{"NoRank", "send 1 0 5\n", "t:1: \"send 1 0 5\" does not begin with a rank"},
        Mistake{"RankTooLarge", "65536 init\n", "does not begin with a rank"},
        Mistake{"NoSize", "0 send 0 0\n", "t:1: send: its argument 3 is no number"},
        Mistake{"NegativeSize", "0 send 0 0 -5\n", "t:1: send: its argument 3 is no size"},
        Mistake{"HugeSize", "0 send 0 0 1e300\n", "is no size"},
        Mistake{"NotANumber", "0 send 0 0 nan\n", "is no size"},
        Mistake{"Type", "0 send 0 0 5 99\n", "t:1: send: there is no datatype 99"},
        Mistake{"Root", "0 bcast 5 1\n", "t:1: bcast: there is no rank 1"},
        Mistake{"Collective", "0 scan 5 1\n", "t:1: scan: \"scan\" cannot be read"},
        Mistake{"Missing", "0 barrier\n1 init\n", "rank 1 receives no message for it"}),
    [](const auto& mistake) { return std::string(mistake.param.name); });

}  // namespace
}  // namespace headway
