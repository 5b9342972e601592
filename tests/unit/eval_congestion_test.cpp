// SPDX-License-Identifier: Apache-2.0
// Golden lines of `headway eval`, model congestion.
#include "eval_golden.hpp"

namespace headway::test {
namespace {

// 2 in, 1 out on 940 Mbit/s.
TEST(EvalCongestion, Asymmetric) {
    expect_result(
        R"({"id":"x","model":"congestion","op":"algorithm1","input":{"nic":940,"backbone":9400,
            "nodes":["a","b","c","d"],"rack":[0,0,0,0],"links":[["b","a"],["c","a"],["a","d"]]}})",
        R"({"bandwidth":[470,470,470],"bandwidth_feasible":[470,470,470],
            "bandwidth_fairness_only":[470,470,940],"bandwidth_bidirectional_max_min":[470,470,470],
            "k_kbar_mul_nic":[[2,1],[2,1],[1,2]]})");
    expect_result(R"({"id":1,"model":"congestion","op":"closed","input":{"n_in":12,"n_out":1,
                      "bandwidth":940,"link":940}})",
                  R"({"fairness_in":78.33333333333333,"asymmetric":78.33333333333333})");
    expect_result(R"({"id":1,"model":"congestion","op":"closed","input":{"n_in":2,"n_out":20,
                      "bandwidth":9400,"link":940}})",
                  R"({"fairness_in":940,"asymmetric":470})");
}

// Nodes by name, by number, by position; racks by name or number.
TEST(EvalCongestion, NodesHaveNamesOrNumbers) {
    const auto line = [](const char* nodes, const char* racks, const char* links) {
        return fmt::format(R"({{"id":1,"model":"congestion","op":"algorithm1","input":{{"nic":10,
            "backbone":5,"nodes":{},"rack":{},"links":{}}}}})", nodes, racks, links);
    };
    const char* result = R"({"bandwidth":[2.5,2.5],"bandwidth_feasible":[2.5,2.5],
        "bandwidth_fairness_only":[2.5,2.5],"bandwidth_bidirectional_max_min":[2.5,2.5],
        "k_kbar_mul_nic":[[4,0],[4,0]]})";
    expect_result(line(R"(["p","q","r","s"])", R"(["x","x","y","y"])",
                       R"([["p","r"],["q","s"]])"), result);
    expect_result(line(R"(["p","q","r","s"])", "[0,0,1,1]", "[[0,2],[1,3]]"), result);
    expect_result(line("[0,1,2,3]", "[0,0,1,1]", "[[0,2],[1,3]]"), result);
    expect_result(line("[7,8,9,10]", "[3,3,5,5]", "[[7,9],[8,10]]"), result);
    // processes 0 and 1 on node 5, 2 on node 6, 3 on node 7
    expect_result(line("[5,5,6,7]", "[0,0,1,1]", "[[0,2],[1,3]]"), result);
    expect_error(line("[5,5,6,7]", "[0,1,1,1]", "[[0,2]]"), "rack[1]: puts a node into two racks");
    expect_error(line(R"(["p","q"])", "[0,1]", R"([["p","z"]])"), "links[0][1]: is not in nodes");
    expect_error(line("[0,1]", "[0,1]", "[[0,2]]"),
                 "links[0][1]: must be a whole number from 0 to 1");
    expect_error(line("[0,1]", "[0]", "[]"), "rack: must be an array of 2");
    expect_error(line("[]", "[]", "[[0,0]]"), "links[0][0]: is not in nodes");
}

TEST(EvalCongestion, Times) {
    expect_result(
        R"({"id":1,"model":"congestion","op":"times","input":{"nic":940,"backbone":null,
            "nodes":[0,1,2,3],"rack":[0,0,0,0],"links":[[1,0],[2,0],[0,3]],
            "megabits":[235,470,470]}})",
        R"({"static_s":[0.5,1,1],"dynamic_s":[0.5,0.75,0.75]})");
    expect_error(R"({"id":1,"model":"congestion","op":"times","input":{"nic":940,"backbone":9400,
            "nodes":[0,1],"rack":[0,0],"links":[[1,0]],"megabits":[]}})",
                 "megabits: must be an array of 1");
}

}  // namespace
}  // namespace headway::test
