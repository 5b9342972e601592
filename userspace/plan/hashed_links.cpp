// SPDX-License-Identifier: Apache-2.0
#include "plan/hashed_links.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/text_lines.hpp"

namespace headway {
namespace {

constexpr double exceeded_at_most = 0.01;  ///< the probability, of any draw of an exchange

/// More are taken for as many larger ones, which fill a link no less.
constexpr double flows_max = 1 << 20;

/// Of sums of equal numbers, relative to them.
constexpr double last_digits = 1e-9;

/// P(Binomial(flows, 1/links) > q) for each q from the least on, which is the
/// mean rounded up, until nothing is left.
class Tail {
public:
    Tail(double flows, double links) : least_(std::ceil(flows / links)) {
        constexpr double nothing = 1e-18;
        const double odds = 1 / (links - 1);
        double part = std::exp(std::lgamma(flows + 1) - std::lgamma(least_ + 1) - std::lgamma(flows - least_ + 1) -
                               least_ * std::log(links) + (flows - least_) * std::log1p(-1 / links));
        for (double q = least_; q < flows; ++q) {
            part *= odds * (flows - q) / (q + 1);  // now of q + 1
            if (part < nothing) break;
            above_.push_back(part);
        }
        for (std::size_t i = above_.size(); i-- > 1;) above_[i - 1] += above_[i];
    }

    /// Finds the least q that is exceeded with no more than that probability.
    [[nodiscard]] double quantile(double probability) const {
        const auto rare = [&](double above) { return above <= probability; };
        return least_ + static_cast<double>(std::ranges::find_if(above_, rare) - above_.begin());
    }

    [[nodiscard]] double mean_of_fullest(double links, double draws) const {
        double mean = least_;
        for (const double above : above_)
            mean += 1 - std::pow(std::max(0.0, 1 - above * links / (links - 1)), (links - 1) * draws);
        return mean;
    }

private:
    double least_;
    std::vector<double> above_;
};

struct Sums {
    double count = 0, bytes = 0, squares = 0, largest_bytes = 0;
};

Sums sums_of(std::span<const EqualFlows> flows) {
    Sums sums;
    for (const auto& [count, bytes] : flows) {
        sums.count += count;
        sums.bytes += count * bytes;
        sums.squares += count * bytes * bytes;
        sums.largest_bytes = std::max(sums.largest_bytes, bytes);
    }
    return sums;
}

/// Finds a load that one link exceeds with no more than that probability: the
/// least over all t of Chernoff's bound.
double chernoff_bytes(std::span<const EqualFlows> flows, double largest_bytes, double links, double probability) {
    const auto bound_bytes = [&](double log_t) {
        const double t = std::exp(log_t) / largest_bytes;
        double exponent = -std::log(probability);
        for (const auto& [count, bytes] : flows) exponent += count * std::log1p(std::expm1(t * bytes) / links);
        return exponent / t;
    };
    constexpr double golden = 0.618033988749895;
    constexpr int steps = 40;  // which leave a part of 4e-9
    double low = std::log(1e-6), high = std::log(600.0);
    for (int step = 0; step < steps; ++step) {
        const double left = high - golden * (high - low), right = low + golden * (high - low);
        if (bound_bytes(left) < bound_bytes(right))
            high = right;
        else
            low = left;
    }
    return bound_bytes((low + high) / 2);
}

}  // namespace

LinkFill fill_of(std::uint32_t links, std::span<const EqualFlows> flows, std::uint32_t draws) {
    LinkFill fill{links};
    const Sums sums = sums_of(flows);
    fill.flows = sums.count;
    if (links < 2 || !(sums.bytes > 0)) return fill;
    const double count = links;
    const double mean_bytes = sums.bytes / count;
    const auto fill_with = [&](double bytes) { return std::clamp(bytes / mean_bytes, 1.0, count); };
    const double probability = exceeded_at_most / (count * draws);
    const Tail as_large(std::min(sums.count, flows_max), count);
    const double flow_bytes = std::max(sums.largest_bytes, sums.largest_bytes * sums.count / flows_max);
    double worst_bytes = as_large.quantile(probability) * flow_bytes;
    if (sums.largest_bytes * sums.count > sums.bytes * (1 + last_digits))
        worst_bytes = std::min(worst_bytes, chernoff_bytes(flows, sums.largest_bytes, count, probability));
    fill.worst = fill_with(worst_bytes);
    const double alike = std::clamp(std::round(sums.bytes * sums.bytes / sums.squares), 1.0, flows_max);
    const Tail as_even(alike, count);
    fill.expected = std::min(fill.worst, fill_with(as_even.mean_of_fullest(count, draws) * sums.bytes / alike));
    return fill;
}

BitsPerSecond carried_by(BitsPerSecond one_link, const LinkFill& fill) {
    if (fill.links == 1) return one_link;
    return {static_cast<std::uint64_t>(static_cast<double>(one_link.value) * fill.effective_links())};
}

std::uint32_t draws_of(const Topology& topology, std::uint32_t hashed_directions) {
    const bool same_links =
        topology.is_one_cable() && topology.clusters()[0].trunk_links == topology.clusters()[1].trunk_links;
    return std::max(1U, same_links ? hashed_directions / 2 : hashed_directions);
}

std::string fill_text(const LinkFill& fill) {
    return fmt::format(
        "{} links chosen by a hash, {}: the fullest is "
        "expected to carry {:.2f} times the "
        "mean, and at most {:.2f} times in 99 of 100 cases",
        fill.links, counted(static_cast<std::uint64_t>(fill.flows), "flow"), fill.expected, fill.worst);
}

}  // namespace headway
