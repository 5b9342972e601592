// SPDX-License-Identifier: Apache-2.0
#include "plan/monotone_curve.hpp"

#include <algorithm>
#include <cmath>

namespace headway {
namespace {

/// Neighbours that have the same value.
struct Block {
    double sum = 0;
    double count = 0;
    std::vector<double> places;

    [[nodiscard]] double mean() const { return sum / count; }
    void take(const Block& next) {
        sum += next.sum;
        count += next.count;
        places.insert(places.end(), next.places.begin(), next.places.end());
    }
};

}  // namespace

MonotoneCurve::MonotoneCurve(std::vector<Point> observations) {
    std::ranges::stable_sort(observations, {}, &Point::x);
    std::vector<Block> blocks;
    for (std::size_t i = 0; i < observations.size();) {
        Block block{0, 0, {observations[i].x}};
        for (; i < observations.size() && observations[i].x == block.places.front(); ++i) {
            block.sum += observations[i].y;
            ++block.count;
        }
        while (!blocks.empty() && blocks.back().mean() > block.mean()) {
            blocks.back().take(block);
            block = std::move(blocks.back());
            blocks.pop_back();
        }
        blocks.push_back(std::move(block));
    }
    for (const Block& block : blocks) {
        for (const double place : block.places) points_.push_back({place, block.mean()});
    }
}

std::optional<double> MonotoneCurve::at(double x) const {
    const auto after = std::ranges::lower_bound(points_, x, {}, &Point::x);
    if (after == points_.end()) return std::nullopt;
    if (after == points_.begin()) return after->y;
    const Point& before = *(after - 1);
    return std::lerp(before.y, after->y, (x - before.x) / (after->x - before.x));
}

double MonotoneCurve::nearest(double x) const {
    return points_.empty() ? 0 : *at(std::min(x, points_.back().x));
}

}  // namespace headway
