// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>

#include "plan/monotone_curve.hpp"

namespace headway::test {
namespace {

using Points = std::vector<MonotoneCurve::Point>;

// The example of monotone_curve.hpp.
TEST(MonotoneCurve, PoolsWhatIsInTheWrongOrder) {
    const MonotoneCurve curve(Points{{40, 9}, {10, 0}, {30, 2}, {20, 4}});
    EXPECT_EQ(curve.at(5), 0);
    EXPECT_EQ(curve.at(20), 3);
    EXPECT_EQ(curve.at(30), 3);
    EXPECT_EQ(curve.at(35), 6);
    EXPECT_EQ(curve.at(40), 9);
    EXPECT_FALSE(curve.at(40.1));
}

TEST(MonotoneCurve, TakesTheMeanOfOnePlace) {
    const MonotoneCurve curve(Points{{1, 2}, {1, 4}, {2, 5}});
    EXPECT_EQ(curve.at(1), 3);
    EXPECT_EQ(curve.at(1.5), 4);
}

TEST(MonotoneCurve, OfNothingSaysNothing) { EXPECT_FALSE(MonotoneCurve().at(0)); }

// A block that is pooled may pull one before it down, and that the next one.
TEST(MonotoneCurve, PoolsBackwardsAsFarAsNeeded) {
    const MonotoneCurve curve(Points{{1, 3}, {2, 3.5}, {3, 4}, {4, -6}});
    for (const double x : {1, 2, 3, 4}) EXPECT_DOUBLE_EQ(curve.at(x).value(), (3 + 3.5 + 4 - 6) / 4);
}

TEST(MonotoneCurve, IsLevelBeyondAllObservations) {
    const MonotoneCurve curve({{10, 1}, {20, 3}});
    EXPECT_DOUBLE_EQ(curve.nearest(15), 2);
    EXPECT_DOUBLE_EQ(curve.nearest(25), 3);
    EXPECT_FALSE(curve.at(25));
    EXPECT_DOUBLE_EQ(MonotoneCurve().nearest(5), 0);
}

// No other non-decreasing sequence has a smaller sum of squares: small changes that keep the order
// make it larger.
TEST(MonotoneCurve, HasTheLeastSquares) {
    std::mt19937 random(7);
    std::uniform_real_distribution<double> noise(0, 10);
    for (int turn = 0; turn < 200; ++turn) {
        Points points;
        for (int i = 0; i < 8; ++i) points.push_back({static_cast<double>(i), noise(random) + i});
        const MonotoneCurve curve(points);
        std::vector<double> fitted;
        for (const auto& point : points) fitted.push_back(curve.at(point.x).value());
        ASSERT_TRUE(std::ranges::is_sorted(fitted));
        const auto squares = [&](const std::vector<double>& values) {
            double sum = 0;
            for (std::size_t i = 0; i < values.size(); ++i) sum += (values[i] - points[i].y) * (values[i] - points[i].y);
            return sum;
        };
        for (int change = 0; change < 50; ++change) {
            std::vector<double> other = fitted;
            for (double& value : other) value += (noise(random) - 5) / 10;
            std::ranges::sort(other);
            EXPECT_GE(squares(other), squares(fitted) - 1e-9);
        }
    }
}

}  // namespace
}  // namespace headway::test
