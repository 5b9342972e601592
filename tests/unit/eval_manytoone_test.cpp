// SPDX-License-Identifier: Apache-2.0
// Golden lines of `headway eval`, model manytoone.
#include "eval_golden.hpp"

namespace headway::test {
namespace {

TEST(EvalManyToOne, PointToPoint) {
    expect_result(R"({"id":1,"model":"manytoone","op":"p2p","input":{"src":{"C":0.001,"t":1e-6},
        "dst":{"C":0.002,"t":0},"rate":1e6,"M":1000}})", R"({"time":0.005})");
    expect_result(R"({"id":1,"model":"manytoone","op":"multi_p2p","input":{"pairs":[
        [{"C":0.001,"t":1e-6},{"C":0.002,"t":0},1e6],[{"C":0,"t":0},{"C":0.009,"t":0},null]],
        "M":1000}})", R"({"time":0.009})");
    expect_error(R"({"id":1,"model":"manytoone","op":"multi_p2p","input":{"pairs":[],"M":1}})",
                 "pairs: must be an array of 1 to 1000000");
}

TEST(EvalManyToOne, OneToMany) {
    const auto line = [](int buffered) {
        return fmt::format(R"({{"id":1,"model":"manytoone","op":"one_to_many","input":{{
            "root":{{"C":0.01,"t":1e-6}},"dests":[{{"C":0.001,"t":0}},{{"C":0.002,"t":0}}],
            "rates":[1e6,1e6],"M":1000,"S":{}}}}})", buffered);
    };
    expect_result(line(1000), R"({"time":0.015})");
    expect_result(line(999), R"({"time":0.017})");
}

// The example of model/many_to_one.hpp in its three regions.
TEST(EvalManyToOne, ManyToOne) {
    const auto line = [](int size, bool idle) {
        return fmt::format(R"({{"id":1,"model":"manytoone","op":"many_to_one","input":{{
            "sources":[{{"C":0.001,"t":0}},{{"C":0.001,"t":0}},{{"C":0.001,"t":0}}],
            "rates":[1e6,1e6,2e5],"M":{},"idle":{},"M1":3072,"M2":65536,"C":0.25,"delta1":2,
            "delta2":3}}}})", size, idle);
    };
    expect_result(line(1000, true), R"({"time":0.014,"bracket":0.004,"t_idle":0.003})");
    expect_result(line(1000, false), R"({"time":0.008,"bracket":0.004,"t_idle":0.003})");
    expect_result(line(10000, true), R"({"time":0.25,"bracket":0.013,"t_idle":0.039})");
    expect_result(line(100000, true), R"({"time":0.309,"bracket":0.103,"t_idle":0.399})");
}

}  // namespace
}  // namespace headway::test
