// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>
#include <regex>

#include "cli/svg_chart.hpp"

namespace headway::test {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
}

Chart times() {
    Chart chart;
    chart.title = "all <of> & \"it\"";
    chart.x = {"message size", ChartAxis::Scale::logarithmic, ChartAxis::Unit::bytes};
    chart.y = {"time", ChartAxis::Scale::logarithmic, ChartAxis::Unit::seconds};
    chart.series = {{"unpaced", {{1024, 0.01, 0.21}, {2048, 0.02, 0.22}}},
                    {"paced", {{1024, 0.011, 0.011}, {2048, 0.021, 0.021}}}};
    return chart;
}

TEST(SvgChart, DrawsEverySeriesAndRange) {
    const std::string svg = chart_svg(times());
    EXPECT_EQ(count(svg, "<polyline"), 2U);
    EXPECT_EQ(count(svg, "<polygon"), 1U) << "only one series has a range";
    EXPECT_EQ(count(svg, "<circle"), 4U);
    EXPECT_NE(svg.find(">unpaced</text>"), std::string::npos);
    EXPECT_NE(svg.find("all &lt;of&gt; &amp; &quot;it&quot;"), std::string::npos);
    EXPECT_EQ(count(svg, "nan"), 0U);
}

TEST(SvgChart, HigherIsHigher) {
    Chart chart = times();
    chart.series = {{"one", {{1024, 0.01, 0.01}, {2048, 0.1, 0.1}}}};
    const std::string svg = chart_svg(chart);
    const std::regex circle("<circle cx=\"([0-9.]+)\" cy=\"([0-9.]+)\"");
    std::smatch first;
    ASSERT_TRUE(std::regex_search(svg, first, circle));
    const std::string rest = first.suffix();
    std::smatch second;
    ASSERT_TRUE(std::regex_search(rest, second, circle));
    EXPECT_LT(std::stod(first[1]), std::stod(second[1]));
    EXPECT_GT(std::stod(first[2]), std::stod(second[2])) << "y grows downwards in SVG";
}

TEST(SvgChart, LeavesOutWhatAnAxisCannotShow) {
    Chart chart = times();
    const double infinite = std::numeric_limits<double>::infinity();
    chart.series = {{"odd", {{0, 1, 1}, {1024, 0, 1}, {2048, 1, infinite}, {4096, 1, 2}}}};
    EXPECT_EQ(count(chart_svg(chart), "<circle"), 1U);
    chart.series.clear();
    EXPECT_NE(chart_svg(chart).find("no points"), std::string::npos);
}

TEST(SvgChart, LinearAxesStartAtZero) {
    Chart chart = times();
    chart.x = {"hosts", ChartAxis::Scale::linear, ChartAxis::Unit::none};
    chart.series = {{"one", {{8, 0.5, 0.5}, {16, 1, 1}}}};
    const std::string svg = chart_svg(chart);
    EXPECT_NE(svg.find(">0</text>"), std::string::npos);
    EXPECT_NE(svg.find(">15</text>"), std::string::npos) << "steps of 1, 2 or 5";
}

}  // namespace
}  // namespace headway::test
