// SPDX-License-Identifier: Apache-2.0
#include "models/plogpt_tree.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headway {
namespace {

double square(double x) { return x * x; }

/// 2^(to-from)
double width_ratio(unsigned from, unsigned to) {
    return std::ldexp(1.0, static_cast<int>(to) - static_cast<int>(from));
}

}  // namespace

Result<PlogptTree> PlogptTree::make(PlogptLinks links, double eps_s, Clamp clamp) {
    auto& b = links.bandwidth_bytes_per_s;
    const auto& d = links.buffer_delay_s;
    if (b.empty() || b.size() > height_max) {
        return failure("a tree has 1 to {} heights, not {}", height_max, b.size());
    }
    if (d.size() != b.size()) {
        return failure("{} bandwidths, but {} buffer delays", b.size(), d.size());
    }
    for (std::size_t i = 0; i < b.size(); ++i) {
        // written so that NaN fails
        if (!(b[i] > 0)) return failure("height {}: bandwidth {} is not positive", i + 1, b[i]);
        if (!(d[i] >= 0)) return failure("height {}: buffer delay {} is negative", i + 1, d[i]);
    }
    if (!(eps_s >= 0)) return failure("eps_S {} is negative", eps_s);
    for (std::size_t i = 1; i < b.size() && clamp == Clamp::yes; ++i) {
        b[i] = std::min(b[i], 2 * b[i - 1]);
    }
    return PlogptTree(std::move(links), eps_s);
}

bool PlogptTree::has_switches_exact(unsigned h, unsigned h2) const {
    return width_ratio(h, h2) * bandwidth(h) != bandwidth(h2) ||
           buffer_delay(h) != buffer_delay(h2);
}

double PlogptTree::switch_distance(unsigned h, unsigned h2) const {
    if (h == h2) return 0;
    const double distance =
        square(std::log(width_ratio(h, h2) * bandwidth(h) / bandwidth(h2))) +
        square(std::log(buffer_delay(h) / buffer_delay(h2)));
    return std::isnan(distance) ? std::numeric_limits<double>::infinity() : distance;
}

bool PlogptTree::has_switches(unsigned h, unsigned h2) const {
    const double distance = switch_distance(h, h2);
    return std::isinf(distance) ? has_switches_exact(h, h2) : distance > eps_s_;
}

}  // namespace headway
