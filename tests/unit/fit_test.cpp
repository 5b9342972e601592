// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cli/fit_models.hpp"
#include "formats/measurement_csv.hpp"

namespace headway::test {
namespace {

// ------------------------------------------------------------------------ CSV

Result<Measurements> parse(std::string_view text) {
    return parse_measurements(text, "times.csv", {"bytes", "seconds"},
                              {"bytes", "seconds", "variance"});
}

TEST(MeasurementCsv, ReadsColumnsInAnyOrder) {
    const auto table = *parse("# measured\n seconds , bytes\r\n\n0.5,1024 # cold\n1e-3, 7\n");
    ASSERT_EQ(table.rows.size(), 2U);
    EXPECT_EQ(table.rows[0][*table.column("bytes")], 1024);
    EXPECT_EQ(table.rows[1][*table.column("seconds")], 1e-3);
    EXPECT_FALSE(table.column("variance").has_value());
}

TEST(MeasurementCsv, SaysWhereItIsWrong) {
    for (const auto& [text, reason] : std::vector<std::pair<std::string, std::string>>{
             {"", "times.csv: it is empty"},
             {"bytes\n1\n", "times.csv:1: column \"seconds\" is missing"},
             {"bytes,seconds,bytes\n", "times.csv:1: column \"bytes\" is there twice"},
             {"bytes,minutes\n", "times.csv:1: column \"minutes\" is unknown"},
             {"bytes,seconds\n1,2\n1\n", "times.csv:3: 1 values, but 2 columns"},
             {"bytes,seconds\n1,soon\n", "times.csv:2: \"soon\" is no number"},
             {"bytes,seconds\n1,inf\n", "times.csv:2: \"inf\" is no number"}}) {
        const auto table = parse(text);
        ASSERT_FALSE(table) << text;
        EXPECT_EQ(table.error().message.substr(0, reason.size()), reason);
    }
}

// ------------------------------------------------------------------------ fits

// T = (n-1)(alpha + gamma beta m [+ delta]), n = 11, alpha = 0, beta = 1 us: gamma 2,
// delta 3 ms from 1000 bytes on.
EvalJson contention_samples() {
    EvalJson samples = EvalJson::array();
    for (const double m : {250.0, 500.0, 750.0, 1000.0, 2000.0, 4000.0}) {
        samples.push_back({m, 10 * (2e-6 * m + (m >= 1000 ? 3e-3 : 0))});
    }
    return {{"n", 11U}, {"alpha", 0}, {"beta", 1e-6}, {"samples", samples}};
}

TEST(Fit, ContentionSignature) {
    EvalJson input = contention_samples();
    const auto chosen = fit_contention_json(input);
    ASSERT_TRUE(chosen) << chosen.error();
    EXPECT_NEAR(chosen->found["gamma"].get<double>(), 2, 1e-9);
    EXPECT_NEAR(chosen->found["delta_s"].get<double>(), 3e-3, 1e-9);
    EXPECT_EQ(chosen->found["M_bytes"], 1000);
    EXPECT_EQ(chosen->found["good"], true);
    EXPECT_EQ(chosen->chart.series[0].points.size(), 6U);

    input["M"] = 1000;
    // twice as many processes take three times as long as the signature says
    input["scaling"] = {{22, 4000, 3 * 21 * (8e-3 + 3e-3)}};
    const auto given = fit_contention_json(input);
    ASSERT_TRUE(given) << given.error();
    EXPECT_EQ(given->found["saturation"], "unsaturated");
    EXPECT_NEAR(given->found["worst_error_pct"].get<double>(), 200, 1e-6);
}

TEST(Fit, FewSamplesAreToldSo) {
    EvalJson input = contention_samples();
    input["samples"] = {{500, 10e-3}, {1000, 50e-3}};
    input["M"] = 1000;
    const auto fitted = fit_contention_json(input);
    ASSERT_TRUE(fitted) << fitted.error();
    EXPECT_EQ(fitted->found["good"], false);
    EXPECT_NE(fitted->remarks[0].find("nobody can rely on a fit of 2 samples"), std::string::npos);
}

TEST(Fit, ManyToOne) {
    EvalJson input{{"sources", {{{"C", 0}, {"t", 0}}}}, {"rates", {1e6}}};
    input["samples"] = {{1, 1e-6}, {2, 2e-6}, {4, 51e-6}, {6, 51e-6}, {8, 12e-6}, {10, 15e-6}};
    const auto fitted = fit_many_to_one_json(input);
    ASSERT_TRUE(fitted) << fitted.error();
    EXPECT_EQ(fitted->found["M1_bytes"], 2);
    EXPECT_EQ(fitted->found["M2_bytes"], 6);
    EXPECT_NEAR(fitted->found["delta2"].get<double>(), 1.5, 1e-9);
    EXPECT_EQ(fitted->found["congested"], true);
}

// The example of plogpt_measure.hpp: d = (1002 - 100) / 2 us, b(2) = 2 x 72.5 MB/s.
TEST(Fit, Plogpt) {
    EvalJson heights = EvalJson::array();
    for (const std::size_t pairs : {1U, 2U}) {
        heights.push_back({{"pair_bandwidths_bytes_per_s", std::vector<double>(pairs, 72.5e6)},
                           {"idle_latency_s", 100e-6},
                           {"loaded_latency_s", 1002e-6}});
    }
    const auto fitted = fit_plogpt_json({{"empty_gap_s", 10e-6},
                                         {"round_trips", {{0, 120e-6}, {1000, 130e-6}}},
                                         {"both_ways", true},
                                         {"heights", heights}});
    ASSERT_TRUE(fitted) << fitted.error();
    EXPECT_NEAR(fitted->found["L"].get<double>(), 50e-6, 1e-12);
    EXPECT_NEAR(fitted->found["gap"][1][1].get<double>(), 20e-6, 1e-12);
    EXPECT_NEAR(fitted->found["b"][1].get<double>(), 145e6, 1e-3);
    EXPECT_NEAR(fitted->found["d"][1].get<double>(), 451e-6, 1e-12);
}

TEST(Fit, RefusesWhatItCannotRead) {
    for (auto* const fit : {&fit_contention_json, &fit_many_to_one_json, &fit_plogpt_json}) {
        for (const char* text : {"{}", "[]", "7", R"({"samples":3})", R"({"sources":[{}]})",
                                 R"({"heights":[1],"round_trips":[[1]]})"}) {
            EXPECT_FALSE((*fit)(EvalJson::parse(text), {})) << text;
        }
    }
}

}  // namespace
}  // namespace headway::test
