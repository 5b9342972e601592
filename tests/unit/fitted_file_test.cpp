// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "cli/fit_models.hpp"
#include "models/fitted_file.hpp"

namespace headway::test {
namespace {

/// As the command writes it.
std::string written(EvalJson found) {
    for (auto& value : found) {
        if (value.is_number_float() && !std::isfinite(value.get<double>())) value = nullptr;
    }
    found["remarks"] = EvalJson::array({"a remark"});
    return found.dump();
}

FittedParameters read(const std::string& text) {
    FittedParameters parameters;
    const auto done = read_fitted(text, "fit.json", parameters);
    EXPECT_TRUE(done) << done.error().front().to_string();
    return parameters;
}

// predict gets what a fit has found: T = 10 (2e-6 m), gamma 2, no delta.
TEST(FittedFile, ReadsWhatFitWritesOfContention) {
    const auto fit = fit_contention_json({{"n", 11U}, {"alpha", 0}, {"beta", 1e-6}, {"M", nullptr},
                                          {"samples", {{100, 2e-3}, {200, 4e-3}, {400, 8e-3},
                                                       {800, 16e-3}}}});
    ASSERT_TRUE(fit) << fit.error();
    const auto found = read(written(fit->found));
    ASSERT_TRUE(found.contention);
    EXPECT_NEAR(found.contention->signature.ratio, 2, 1e-9);
    EXPECT_TRUE(std::isinf(found.contention->signature.threshold_bytes));
    EXPECT_EQ(found.contention->processes, 11U);
    EXPECT_EQ(found.contention->cost.per_byte_s, 1e-6);
    EXPECT_FALSE(found.plogpt || found.many_to_one);
}

TEST(FittedFile, ReadsWhatFitWritesOfManyToOne) {
    EvalJson samples = EvalJson::array();
    for (const double m : {1000.0, 2000.0, 3000.0, 100'000.0, 200'000.0}) {
        samples.push_back({m, 3e-3 + m / 1e6});
    }
    const auto fit = fit_many_to_one_json(
        {{"sources", {{{"C", 1e-3}, {"t", 0}}, {{"C", 1e-3}, {"t", 0}}}},
         {"rates", {1e6, 1e6}},
         {"samples", samples}});
    ASSERT_TRUE(fit) << fit.error();
    const auto found = read(written(fit->found));
    ASSERT_TRUE(found.many_to_one);
    EXPECT_EQ(found.many_to_one->sources.size(), 2U);
    EXPECT_EQ(found.many_to_one->sources[1].rate_bytes_per_s, 1e6);
    EXPECT_EQ(found.many_to_one->regions.large_factor, fit->found["delta2"]);
}

TEST(FittedFile, ReadsTheModelsOfAMeasurement) {
    const EvalJson contention{{"model", "contention"}, {"n", 8},       {"alpha", 1e-5},  {"beta", 8e-9},
                              {"gamma", 2.5},          {"delta_s", 0.}, {"M_bytes", nullptr}};
    const EvalJson many{{"model", "manytoone"}, {"sources", {{{"C", 1e-5}, {"t", 0}}}}, {"rates", {1e8}},
                        {"M1_bytes", 3072},     {"M2_bytes", 65536},                    {"C_s", 0.2},
                        {"delta1", 1.0},        {"delta2", 1.5},  {"S_bytes", 8192}};
    const EvalJson plogpt{{"model", "plogpt"}, {"L", 5e-5}, {"gap", {{0, 1e-6}, {1024, 9e-6}}},
                          {"b", {117e6, 234e6}}, {"d", {5e-4, 1e-4}}};
    EvalJson document{{"format", "headway-measure"}, {"models", {contention, many, plogpt}}};
    const auto found = read(document.dump());
    ASSERT_TRUE(found.contention && found.many_to_one && found.plogpt);
    EXPECT_EQ(found.many_to_one->buffered_bytes, 8192);
    EXPECT_EQ(found.plogpt->tree.leaves(), 4);
    EXPECT_EQ(found.contention->signature.ratio, 2.5);
    EXPECT_EQ(found.many_to_one->regions.congested_s, 0.2);
    FittedParameters none;
    document["models"] = EvalJson::array();
    const auto refused = read_fitted(document.dump(), "found.json", none);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().front().to_string().find("--network-only"), std::string::npos);
}

TEST(FittedFile, ReadsWhatFitWritesOfPlogpt) {
    const auto fit = fit_plogpt_json(
        {{"empty_gap_s", 1e-5},
         {"round_trips", {{0, 120e-6}, {1000, 130e-6}}},
         {"both_ways", true},
         {"heights", {{{"pair_bandwidths_bytes_per_s", {72.5e6}}, {"idle_latency_s", 100e-6},
                       {"loaded_latency_s", 1002e-6}}}}});
    ASSERT_TRUE(fit) << fit.error();
    const auto found = read(written(fit->found));
    ASSERT_TRUE(found.plogpt);
    EXPECT_NEAR(found.plogpt->latency_s, 50e-6, 1e-12);
    EXPECT_NEAR(found.plogpt->gap(500), 15e-6, 1e-12);
    EXPECT_EQ(found.plogpt->tree.leaves(), 2U);
    EXPECT_NEAR(found.plogpt->tree.buffer_delay(1), 451e-6, 1e-12);
}

TEST(FittedFile, SaysWhatIsWrong) {
    for (const auto& [text, reason] : std::vector<std::pair<std::string, std::string>>{
             {"", "it is no JSON"},
             {"[1]", "it is no object"},
             {"{}", "model"},
             {R"({"model": "logp"})", "model"},
             {R"({"model": "contention", "n": 1})", "n: "},
             {R"({"model": "plogpt", "L": 0, "gap": [[1]], "b": [1], "d": [0]})", "gap"},
             {R"({"model": "plogpt", "L": 0, "gap": [[1, 1], [1, 2]], "b": [1], "d": [0]})", "gap"},
             {R"({"model": "plogpt", "L": 0, "gap": [[1, 1]], "b": [1, 2], "d": [0]})", "delay"},
             {R"({"model": "plogpt", "L": 0, "gap": [[1, 1]], "b": [1], "d": [0], "x": 1})", "x"}}) {
        FittedParameters parameters;
        const auto done = read_fitted(text, "fit.json", parameters);
        ASSERT_FALSE(done) << text;
        const std::string told = done.error().front().to_string();
        EXPECT_TRUE(told.starts_with("fit.json: ")) << told;
        EXPECT_NE(told.find(reason), std::string::npos) << told;
        EXPECT_FALSE(parameters.contention || parameters.plogpt || parameters.many_to_one);
    }
}

}  // namespace
}  // namespace headway::test
