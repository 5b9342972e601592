// SPDX-License-Identifier: Apache-2.0
// Golden lines of `headway eval`, model contention.
#include "eval_golden.hpp"

namespace headway::test {
namespace {

TEST(EvalContention, BoundAndPrediction) {
    expect_result(R"({"id":1,"model":"contention","op":"exchange_bound","input":{
        "w":[[0,10,20],[0,0,400],[5,0,0]],"alpha":1,"beta":0.01}})", R"({"time":6.2})");
    expect_result(R"({"id":1,"model":"contention","op":"predict","input":{"n":40,"m":100000,
        "M":8000,"alpha":50e-6,"beta":8e-9,"gamma":4.3628,"delta":4.93e-3}})",
                  R"({"lower_bound":0.03315,"time":0.33033936})");
    expect_result(R"({"id":1,"model":"contention","op":"predict","input":{"n":40,"m":100000,
        "M":null,"alpha":50e-6,"beta":8e-9,"gamma":4.3628,"delta":4.93e-3}})",
                  R"({"lower_bound":0.03315,"time":0.13806936})");
}

// y = 1, 2, 7, 11 ms over x = 0.5, 1, 2, 4 ms, delta from 2000 bytes on.  All
// four: normal equations with sums 21.25, 6, 2 and 60.5, 18.
TEST(EvalContention, Fit) {
    const auto line = [](const char* more) {
        return fmt::format(R"({{"id":1,"model":"contention","op":"fit","input":{{"n":11,
            "samples":[[500,0.01],[1000,0.02],[2000,0.07],[4000,0.11]],"alpha":0,"beta":1e-6,
            "M":2000{}}}}})", more);
    };
    // gamma = (60.5 * 2 - 18 * 6) / (21.25 * 2 - 36) = 2, delta = (18 - 12) / 2
    const char* exact = R"({"gamma":2,"delta":0.003,"error_pct":[0,0,0,0]})";
    const auto check = [&](const char* more) {
        const EvalJson got = EvalJson::parse(eval_line(line(more)).line);
        ASSERT_TRUE(got.contains("result")) << got.dump();
        EvalJson result = got["result"];
        for (EvalJson& error : result["error_pct"]) {
            EXPECT_NEAR(error.get<double>(), 0, 1e-9);
            error = 0;
        }
        EXPECT_TRUE(same_result(result, EvalJson::parse(exact))) << result.dump();
    };
    check(R"(,"cov":null,"which":"all")");
    check(R"(,"cov":null,"which":"large")");
    check(R"(,"cov":[1e-6,2e-6,1e-6,3e-6],"which":"all")");
    check(R"(,"cov":[[2,1,0,0],[1,2,0,0],[0,0,2,0],[0,0,0,2]],"which":"all")");
    check("");
    expect_error(line(R"(,"cov":[1,2],"which":"all")"), "cov: must be an array of 4");
    expect_error(line(R"(,"cov":null,"which":"some")"),
                 R"(which: must be one of "all", "large")");
}

TEST(EvalContention, TwoClusters) {
    expect_result(R"({"id":1,"model":"contention","op":"two_cluster","input":{"T1":2,"T2":3,
        "n1":10,"n2":25,"alpha_w":0.01,"beta_w":1e-6,"m":1000}})",
                  R"({"literal":3.135,"packed_min":3.06,"messages":[50,500]})");
}

}  // namespace
}  // namespace headway::test
