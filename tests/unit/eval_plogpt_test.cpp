// SPDX-License-Identifier: Apache-2.0
// Golden lines of `headway eval`, model "plogpt": what is asked, and the answer
// to the letter.  Numbers are derived where they are not a formula's own.
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "study/eval_interface.hpp"
#include "study/eval_lines.hpp"

namespace headway::test {
namespace {

std::string answer(std::string_view op, std::string_view input) {
    return eval_line(std::string(R"({"id":1,"model":"plogpt","op":")") + std::string(op) +
                     R"(","input":)" + std::string(input) + "}").line;
}
std::string result(std::string_view text) {
    return R"({"id":1,"result":)" + std::string(text) + "}";
}
std::string error(std::string_view text) {
    return R"({"error":")" + std::string(text) + R"(","id":1})";
}

TEST(EvalPlogpt, Switches) {
    EXPECT_EQ(answer("ps", R"({"b":[2,4,6],"d":[1,1,1],"h":1,"h2":2,"eps_s":0.01})"),
              result(R"({"distance":0.0,"exact":false,"ps":false})"));
    // ln(2 x 4 / 6)^2 = 0.0827609...
    EXPECT_EQ(answer("ps", R"({"b":[2,4,6],"d":[1,1,1],"h":2,"h2":3,"eps_s":0.01})"),
              result(R"({"distance":0.08276097481015168,"exact":true,"ps":true})"));
    // no distance with a delay of 0: (4) decides
    EXPECT_EQ(answer("ps", R"({"b":[2,4],"d":[1,0],"h":1,"h2":2,"eps_s":null})"),
              result(R"({"distance":null,"exact":true,"ps":true})"));
}

TEST(EvalPlogpt, Rates) {
    EXPECT_EQ(answer("rates", R"({"b":[3,4],"clamp":true,"flows":[[0,2],[1,3],[0,1],[3,3]]})"),
              result(R"({"height":[2,2,1,0],"rate":[1.5,2.0,1.5,null]})"));
    // 4 flows to 2 and 3 of b(2) = 100, taken as 6
    EXPECT_EQ(answer("rates", R"({"b":[3,100],"clamp":true,"flows":[[0,2],[0,3],[1,2],[1,3]]})"),
              result(R"({"height":[2,2,2,2],"rate":[1.5,1.5,1.5,1.5]})"));
}

TEST(EvalPlogpt, Gap) {
    EXPECT_EQ(answer("gap", R"({"b1":3,"g":8,"t_start":2,"profile":[[0,2],[6,4]]})"),
              result(R"({"g_c":8.0})"));
    EXPECT_EQ(answer("gap", R"({"b1":3,"g":8,"t_start":0,"profile":[[0,2],[6,0]]})"),
              result(R"({"g_c":null})"));
}

// The example of plogpt_closed.hpp, with buffers for 2 x 3 = 6 of 9 bytes and
// (5) = ln(2 x 3/4)^2 > 0.01.
TEST(EvalPlogpt, Alltoall) {
    EXPECT_EQ(answer("alltoall", R"({"b":[3,4],"d":[2,2],"clamp":true,"eps_s":0.01,"P":4,"m":9,)"
                                 R"("g":8,"L":3,"t_rto":100})"),
              result(R"({"n_rto":1,"plogp_a":33.0,"plogp_b":27.0,"plogpt_a":41.0,)"
                     R"("plogpt_b":135.0,"rto_heights":[1]})"));
    EXPECT_EQ(answer("alltoall", R"({"b":[3,4],"d":[3,3],"clamp":true,"eps_s":0.01,"P":4,"m":9,)"
                                 R"("g":8,"L":null,"t_rto":null})"),
              result(R"({"n_rto":0,"plogp_a":null,"plogp_b":null,"plogpt_a":null,)"
                     R"("plogpt_b":null,"rto_heights":[]})"));
}

// III-E
TEST(EvalPlogpt, Simulate) {
    EXPECT_EQ(
        answer("simulate",
               R"({"b":[3,4],"d":[0,0],"clamp":true,"eps_s":0.01,"gap":[[1,8]],"L":3,)"
               R"("rto":"none","programs":[)"
               R"([["irecv",2,1],["isend",2,1],["wait",1],["wait",0],["isend",3,1],["wait",4]],)"
               R"([["irecv",3,1],["isend",3,1],["wait",1],["wait",0]],)"
               R"([["irecv",0,1],["isend",0,1],["wait",1],["wait",0]],)"
               R"([["irecv",1,1],["isend",1,1],["wait",1],["wait",0],["irecv",0,1],["wait",4]]]})"),
        result(R"({"finish":[[15.0,12.0,null,null,23.0,null],[15.0,12.0,null,null],)"
               R"([15.0,12.0,null,null],[15.0,12.0,null,null,26.0,null]],)"
               R"("leave":[[0.0,0.0,12.0,15.0,15.0,23.0],[0.0,0.0,12.0,15.0],)"
               R"([0.0,0.0,12.0,15.0],[0.0,0.0,12.0,15.0,15.0,26.0]],"makespan":26.0})"));
}

// A message to oneself is finished when it is entered.
TEST(EvalPlogpt, SimulateSelf) {
    EXPECT_EQ(answer("simulate", R"({"b":[3],"d":[0],"clamp":true,"eps_s":0,"gap":[[0,8]],"L":3,)"
                                 R"("rto":{"policy":"all","eps_t":0.1,"t_rto":1},)"
                                 R"("programs":[[["isend",0,1],["wait",0],["irecv",0,1]]]})"),
              result(R"({"finish":[[0.0,null,0.0]],"leave":[[0.0,0.0,0.0]],"makespan":0.0})"));
}

constexpr std::string_view alltoall_b =
    R"({"b":[3,4],"d":[2,2],"clamp":true,"eps_s":0.01,"eps_t":1e-3,"t_rto":100,"P":4,"m":9,)"
    R"("g":8,"L":3,"algorithm":"b","rto":)";

// all: (25) of the example above.  chrono: at 8, ranks 0 and 1 are delayed to
// 108, 2 and 3 are not: their two messages cross the root alone, at 4/2 = 2 in
// each direction: 12 s each, until 32; as those of 0 and 1 from 108 to 132, + L.
TEST(EvalPlogpt, SimulateAlltoall) {
    const std::string input(alltoall_b);
    EXPECT_EQ(answer("simulate_alltoall", input + R"("none"})"),
              result(R"({"makespan":35.0,"rto_count":0})"));
    EXPECT_EQ(answer("simulate_alltoall", input + R"("all"})"),
              result(R"({"makespan":135.0,"rto_count":4})"));
    EXPECT_EQ(answer("simulate_alltoall", input + R"("chrono"})"),
              result(R"({"makespan":135.0,"rto_count":2})"));
}

TEST(EvalPlogpt, NamesMistakes) {
    EXPECT_EQ(answer("gap", R"({"b1":3,"g":8,"t_start":0})"), error("profile: is missing"));
    EXPECT_EQ(answer("gap", R"({"b1":3,"g":8,"t_start":0,"profile":[],"x":1})"),
              error("x: unknown key"));
    EXPECT_EQ(answer("gap", R"({"b1":null,"g":8,"t_start":0,"profile":[]})"),
              error("b1: must be a positive number"));
    EXPECT_EQ(answer("gap", R"({"b1":3,"g":8,"t_start":0,"profile":[[0,2],[6]]})"),
              error("profile[1]: must be an array of 2"));
    EXPECT_EQ(answer("rates", R"({"b":[3],"clamp":1,"flows":[]})"),
              error("clamp: must be true or false"));
    EXPECT_EQ(answer("rates", R"({"b":[3],"clamp":true,"flows":[[0,5]]})"),
              error("flow 0: 0 -> 5 in a tree of 2 leaves"));
    EXPECT_EQ(answer("alltoall", R"({"b":[3,4],"d":[2,2],"clamp":true,"eps_s":0.01,"P":6,"m":9,)"
                                 R"("g":8,"L":3,"t_rto":100})"),
              error("P: must be a power of two"));
    EXPECT_EQ(answer("alltoall", R"({"b":[3,4],"d":[2,2],"clamp":true,"eps_s":0.01,"P":8,"m":9,)"
                                 R"("g":8,"L":3,"t_rto":100})"),
              error("P: the tree has fewer leaves"));
    EXPECT_EQ(answer("simulate_alltoall", std::string(alltoall_b) + R"("sometimes"})"),
              error(R"(rto: \"sometimes\" is none of none, chrono, random:SEED, all)"));
}

TEST(EvalPlogpt, NamesRankAndOp) {
    const auto simulate = [](std::string_view programs) {
        return answer("simulate",
                      R"({"b":[3],"d":[0],"clamp":true,"eps_s":0,"gap":[[0,8]],"L":3,)"
                      R"("rto":"none","programs":)" + std::string(programs) + "}");
    };
    EXPECT_EQ(simulate(R"([[],[["irecv",0,1]]])"),
              error("rank 1 op 0: the irecv from 0 has no isend"));
    EXPECT_EQ(simulate(R"([[["irecv",1,1],["wait",0],["isend",1,1]],)"
                       R"([["irecv",0,1],["wait",0],["isend",0,1]]])"),
              error("rank 0 op 1: waits for ever"));
    EXPECT_EQ(simulate(R"([[["send",1,1]]])"),
              error(R"(programs[0][0][0]: must be one of \"irecv\", \"isend\", \"wait\")"));
    EXPECT_EQ(simulate(R"([[["wait",0,1]]])"), error("programs[0][0]: must be an array of 2"));
    EXPECT_EQ(simulate(R"([[["isend",0]]])"), error("programs[0][0]: must be an array of 3"));
}

// Lines with a few bytes replaced: an answer that is JSON, whatever comes of it.
TEST(EvalPlogpt, AnswersBrokenLines) {
    const std::vector<std::string> lines{
        R"({"id":1,"model":"plogpt","op":"simulate","input":{"b":[3,4],"d":[1,2],"clamp":true,)"
        R"("eps_s":0.01,"gap":[[1,8],[5,9]],"L":3,"rto":{"policy":"all","eps_t":1,"t_rto":2},)"
        R"("programs":[[["irecv",1,1],["isend",1,1],["wait",1]],[["isend",0,1],["irecv",0,2],)"
        R"(["wait",0]]]}})",
        R"({"id":1,"model":"plogpt","op":"simulate_alltoall","input":)" +
            std::string(alltoall_b) + R"("random:1"}})",
        R"({"id":1,"model":"plogpt","op":"rates","input":{"b":[3,4],"clamp":true,)"
        R"("flows":[[0,2],[1,3],[0,1]]}})",
        R"({"id":1,"model":"plogpt","op":"gap","input":{"b1":3,"g":8,"t_start":2,)"
        R"("profile":[[0,2],[6,4]]}})",
    };
    constexpr std::string_view bytes = "0123456789.-eE[]{}\",:ntrue ";
    std::mt19937 random(2);
    for (int i = 0; i < 4000; ++i) {
        std::string line = lines[random() % lines.size()];
        for (auto broken = 1 + random() % 4; broken > 0; --broken) {
            line[random() % line.size()] = bytes[random() % bytes.size()];
        }
        const EvalAnswer answered = eval_line(line);
        const auto json = EvalJson::parse(answered.line);
        EXPECT_EQ(json.contains("result"), answered.good) << line;
        EXPECT_NE(json.contains("error"), answered.good) << line;
    }
}

}  // namespace
}  // namespace headway::test
