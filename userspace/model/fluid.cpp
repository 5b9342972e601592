// SPDX-License-Identifier: Apache-2.0
#include "model/fluid.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

namespace headway {
namespace {

/// Relative difference up to which two levels or moments are the same.
constexpr double level_tolerance = 1e-12;
constexpr double growing = -1;

bool sends(const FluidGroup& group) { return group.bytes > 0; }

/// Progressive filling.  Time: that of all paths, and for each level that of all links.
class FluidFilling {
public:
    explicit FluidFilling(const FluidNetwork& network)
        : network_(network),
          users_(network.links.size()),
          rate_(network.groups.size(), 0),
          growing_flows_(network.links.size(), 0),
          stopped_bps_(network.links.size(), 0) {
        for (std::uint32_t g = 0; g < network.groups.size(); ++g) {
            if (!sends(network.groups[g])) continue;
            rate_[g] = growing;
            if (std::isfinite(network.groups[g].cap_bps)) by_cap_.push_back(g);
            for (const FluidUse& use : network.groups[g].path) {
                users_[use.link].push_back(g);
                growing_flows_[use.link] += use.flows;
            }
        }
        std::ranges::stable_sort(by_cap_, std::greater(),
                                 [&](std::uint32_t g) { return network.groups[g].cap_bps; });
    }

    std::vector<double> run() {
        for (double level = next_level(); std::isfinite(level); level = next_level())
            stop(held_back(level), level);
        for (double& rate : rate_) {
            if (rate == growing) rate = fluid_no_cap;  // nothing holds it back
        }
        return std::move(rate_);
    }

private:
    [[nodiscard]] double level_when_full(std::size_t link) const {
        return (network_.links[link].capacity_bps - stopped_bps_[link]) / growing_flows_[link];
    }

    [[nodiscard]] bool can_fill(std::size_t link) const { return growing_flows_[link] > 0.5; }

    /// Where the next link fills or the next group comes to its cap.
    [[nodiscard]] double next_level() {
        double level = fluid_no_cap;
        for (std::size_t l = 0; l < network_.links.size(); ++l) {
            if (can_fill(l)) level = std::min(level, level_when_full(l));
        }
        while (!by_cap_.empty() && rate_[by_cap_.back()] != growing) by_cap_.pop_back();
        if (by_cap_.empty()) return level;
        return std::min(level, network_.groups[by_cap_.back()].cap_bps);
    }

    /// Groups that stop at that level, in rising order: at their cap, or because
    /// a link fills that they use, forwards or in reverse.
    [[nodiscard]] std::vector<std::uint32_t> held_back(double level) {
        std::vector<std::uint32_t> groups;
        const auto add_users = [&](std::uint32_t link) {
            groups.insert(groups.end(), users_[link].begin(), users_[link].end());
        };
        for (std::uint32_t l = 0; l < network_.links.size(); ++l) {
            if (!can_fill(l) || level_when_full(l) > level * (1 + level_tolerance)) continue;
            growing_flows_[l] = 0;  // it is full now
            add_users(l);
            if (network_.links[l].reverse != FluidLink::no_reverse) {
                add_users(network_.links[l].reverse);
            }
        }
        while (!by_cap_.empty() &&
               network_.groups[by_cap_.back()].cap_bps <= level * (1 + level_tolerance)) {
            groups.push_back(by_cap_.back());
            by_cap_.pop_back();
        }
        std::ranges::sort(groups);
        return groups;
    }

    void stop(const std::vector<std::uint32_t>& groups, double level) {
        for (const std::uint32_t g : groups) {
            if (rate_[g] != growing) continue;
            const FluidGroup& group = network_.groups[g];
            rate_[g] = std::min(level, group.cap_bps);
            for (const FluidUse& use : group.path) {
                growing_flows_[use.link] -= use.flows;
                stopped_bps_[use.link] += use.flows * rate_[g];
            }
        }
    }

    const FluidNetwork& network_;
    std::vector<std::vector<std::uint32_t>> users_;  ///< groups of each link, in rising order
    std::vector<double> rate_;
    std::vector<std::uint32_t> by_cap_;  ///< those that may grow, the lowest cap last
    std::vector<double> growing_flows_;
    std::vector<double> stopped_bps_;
};

double run_time_s(const FluidNetwork& network) {
    FluidNetwork left = network;
    double now_s = 0;
    while (std::ranges::any_of(left.groups, sends)) {
        const auto rates = fluid_rates_bps(left);
        double step_s = fluid_no_cap;
        for (std::size_t g = 0; g < rates.size(); ++g) {
            const FluidGroup& group = left.groups[g];
            if (sends(group)) step_s = std::min(step_s, 8 * group.bytes / rates[g]);
        }
        now_s += step_s;
        for (std::size_t g = 0; g < rates.size(); ++g) {
            double& bytes = left.groups[g].bytes;
            bytes -= std::isfinite(rates[g]) ? rates[g] * step_s / 8 : bytes;
            if (bytes <= network.groups[g].bytes * level_tolerance * 1e3) bytes = 0;
        }
    }
    return now_s;
}

/// What arrives at a link: at that rate, until that moment.
struct Arrival {
    double bps = 0;
    double until_s = 0;
};

/// The most that ever waits in front of a link.
double queue_peak_bytes(std::vector<Arrival> arrivals, double capacity_bps) {
    std::ranges::sort(arrivals, {}, &Arrival::until_s);
    double sum_bps = 0;
    for (const Arrival& arrival : arrivals) sum_bps += arrival.bps;
    double queue_bits = 0;
    double peak_bits = 0;
    double now_s = 0;
    for (const Arrival& arrival : arrivals) {
        queue_bits += (sum_bps - capacity_bps) * (arrival.until_s - now_s);
        queue_bits = std::max(queue_bits, 0.0);
        peak_bits = std::max(peak_bits, queue_bits);
        now_s = arrival.until_s;
        sum_bps -= arrival.bps;
    }
    return peak_bits / 8;
}

/// At each link, of groups' flows on their way: link after link of their paths.
std::vector<std::vector<Arrival>> arrivals_at_links(const FluidNetwork& network) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, double> flows;  // of a sender, at a link
    std::size_t longest = 0;
    for (const FluidGroup& group : network.groups) {
        if (!sends(group)) continue;
        longest = std::max(longest, group.path.size());
        for (const FluidUse& use : group.path)
            flows[{group.sender, use.link}] += use.flows / use.senders;
    }
    std::vector<std::vector<Arrival>> arrivals(network.links.size());
    std::vector<double> passed(network.groups.size(), 1);  // part of each that comes on
    // A link's arrivals are known when all groups have come to it; paths have few links, and each
    // step is one link of every path.
    for (std::size_t step = 0; step < longest; ++step) {
        const auto for_groups_there = [&](const auto& call) {
            for (std::size_t g = 0; g < network.groups.size(); ++g) {
                const FluidGroup& group = network.groups[g];
                if (!sends(group) || step >= group.path.size()) continue;
                call(group, group.path[step], passed[g]);
            }
        };
        for_groups_there([&](const FluidGroup& group, const FluidUse& use, double part) {
            const double edge_bps = network.links[group.path.front().link].capacity_bps;
            const double bps =
                part * std::min(group.cap_bps, edge_bps / flows.at({group.sender, use.link}));
            arrivals[use.link].push_back({use.flows * bps, 8 * group.bytes / bps});
        });
        // what a full link lets through of all that comes
        std::vector<double> sum_bps(arrivals.size(), 0);
        for (std::size_t l = 0; l < arrivals.size(); ++l) {
            for (const Arrival& arrival : arrivals[l]) sum_bps[l] += arrival.bps;
        }
        for_groups_there([&](const FluidGroup&, const FluidUse& use, double& part) {
            const FluidLink& link = network.links[use.link];
            if (link.senders_edge) return;  // it is in the cap on arrivals already
            part *= std::min(1.0, link.capacity_bps / sum_bps[use.link]);
        });
    }
    return arrivals;
}

}  // namespace

std::vector<double> fluid_rates_bps(const FluidNetwork& network) {
    return FluidFilling(network).run();
}

FluidResult fluid_run(const FluidNetwork& network) {
    FluidResult result;
    result.time_s = run_time_s(network);
    const auto arrivals = arrivals_at_links(network);
    for (std::size_t l = 0; l < network.links.size(); ++l) {
        const FluidLink& link = network.links[l];
        const double peak_bytes = queue_peak_bytes(arrivals[l], link.capacity_bps);
        // a millionth of a byte is rounding, not a packet
        const bool overflows = !link.senders_edge && peak_bytes > link.buffer_bytes + 1e-6;
        result.links.push_back({peak_bytes, overflows});
    }
    for (const FluidGroup& group : network.groups) {
        if (!sends(group)) continue;
        const auto overflowing = std::ranges::count_if(
            group.path, [&](const FluidUse& use) { return result.links[use.link].overflows; });
        result.timeouts = std::max(result.timeouts, static_cast<std::uint32_t>(overflowing));
    }
    return result;
}

}  // namespace headway
