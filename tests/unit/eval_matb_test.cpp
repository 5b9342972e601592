// SPDX-License-Identifier: Apache-2.0
// Golden lines of `headway eval`, model matb.
#include "eval_golden.hpp"

namespace headway::test {
namespace {

TEST(EvalMatb, Table1AndGrids) {
    const auto line = [](const char* op, const char* benchmark, int nodes) {
        return fmt::format(R"({{"id":1,"model":"matb","op":"{}","input":{{"benchmark":"{}",
            "N":{},"B":1e10}}}})", op, benchmark, nodes);
    };
    expect_result(line("table1", "CG", 32), R"({"senders":16,"matb":6.25e8})");
    expect_result(line("table1", "LU", 32), R"({"senders":32,"matb":3.125e8})");
    expect_result(line("table1", "BT", 25),
                  R"({"senders":14.142135623730951,"matb":707106781.1865475})");
    expect_result(line("npb_pattern", "LU", 32), R"({"senders":8,"matb":1.25e9})");
    expect_result(line("npb_pattern", "SP", 32), R"({"senders":16,"matb":6.25e8})");
    expect_error(line("npb_pattern", "SP", 16), "N: SP needs a square of ranks, not 32");
    expect_error(line("table1", "EP", 16), "benchmark: must be one of BT, CG, FT, IS, LU, MG, SP");
}

TEST(EvalMatb, Clusters) {
    expect_result(R"({"id":1,"model":"matb","op":"alltoall_clusters","input":{"sizes":[4,4,8],
        "uplink":[10,10,null]}})",
                  R"({"matb":[0.8333333333333334,0.8333333333333334,0.8333333333333334]})");
    expect_result(R"({"id":1,"model":"matb","op":"alltoall_clusters","input":{"sizes":[4],
        "uplink":[10]}})", R"({"matb":[null]})");
}

TEST(EvalMatb, Tree) {
    const auto line = [](const char* links) {
        return fmt::format(R"({{"id":1,"model":"matb","op":"tree","input":{{"edges":[
            ["a","r",8,2],["b","r",6,3],["x","a",9,9],["y","b",9,9],["z","b",9,1]],
            "pairs":[["x","y"],["x","z"],["y","x"],["z","y"]],"links":"{}"}}}})", links);
    };
    expect_result(line("trunk"), R"({"links":[["down","a",1,2],["down","b",1,3],["up","a",1,8],
        ["up","b",1,6]],"node":{"x":3,"y":2,"z":null},"pair":[3,3,2,null]})");
    expect_result(line("trunk+up"), R"({"links":[["down","a",1,2],["down","b",1,3],["up","a",1,8],
        ["up","b",1,6],["up","x",1,9],["up","y",1,9],["up","z",1,9]],
        "node":{"x":3,"y":2,"z":9},"pair":[3,3,2,9]})");
    expect_result(line("all"), R"({"links":[["down","a",1,2],["down","b",1,3],["down","x",1,9],
        ["down","y",2,4.5],["down","z",1,1],["up","a",1,8],["up","b",1,6],["up","x",1,9],
        ["up","y",1,9],["up","z",1,9]],"node":{"x":1,"y":2,"z":4.5},"pair":[3,1,2,4.5]})");
    expect_error(line("some"), R"(links: must be one of "trunk", "trunk+up", "all")");
    expect_error(R"({"id":1,"model":"matb","op":"tree","input":{"edges":[["a","r",1,1]],
        "pairs":[["a","q"]],"links":"all"}})", "pairs[0][1]: is not in edges");
    expect_error(R"({"id":1,"model":"matb","op":"tree","input":{"edges":[["a","r",1,1],
        ["a","s",1,1]],"pairs":[],"links":"all"}})", "edges: \"a\" has two parents");
}

TEST(EvalMatb, Pacing) {
    expect_result(R"({"id":1,"model":"matb","op":"pacing","input":{"link_rate":1e9,"rate":5e8,
        "packet":1500}})", R"({"gap_bytes":1500,"interval_s":24e-6})");
    expect_error(R"({"id":1,"model":"matb","op":"pacing","input":{"link_rate":1e9,"rate":5e9,
        "packet":1500}})", "rate: is more than the link has");
}

}  // namespace
}  // namespace headway::test
