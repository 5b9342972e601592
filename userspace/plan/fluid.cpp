// SPDX-License-Identifier: Apache-2.0
#include "plan/fluid.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace headway {
namespace {

/// Relative difference up to which two levels or moments are the same.
constexpr double level_tolerance = 1e-12;
constexpr double growing = -1;

/// Which groups use each link, in rising order.
using GroupsOfLinks = std::vector<std::vector<std::uint32_t>>;

GroupsOfLinks groups_of_links(const FluidNetwork& network) {
    GroupsOfLinks groups(network.links.size());
    for (std::uint32_t g = 0; g < network.groups.size(); ++g) {
        for (const FluidUse& use : network.groups[g].path) groups[use.link].push_back(g);
    }
    return groups;
}

/// Progressive filling.  Time: that of all paths, and for each level that of all links.
class FluidFilling {
public:
    /// `active`: the groups that still send.
    FluidFilling(const FluidNetwork& network, const GroupsOfLinks& users,
            const std::vector<bool>& active)
        : network_(network),
          users_(users),
          rate_(network.groups.size(), 0),
          growing_flows_(network.links.size(), 0),
          stopped_bps_(network.links.size(), 0),
          full_(network.links.size(), false) {
        for (std::uint32_t g = 0; g < network.groups.size(); ++g) {
            if (!active[g]) continue;
            rate_[g] = growing;
            if (std::isfinite(network.groups[g].cap_bps)) by_cap_.push_back(g);
            for (const FluidUse& use : network.groups[g].path) growing_flows_[use.link] += use.flows;
        }
        std::stable_sort(by_cap_.begin(), by_cap_.end(), [&](std::uint32_t a, std::uint32_t b) {
            return network.groups[a].cap_bps > network.groups[b].cap_bps;
        });
    }

    std::vector<double> run() {
        while (true) {
            const double level = next_level();
            if (!std::isfinite(level)) break;
            if (!stop(held_back(level), level)) break;
        }
        for (double& rate : rate_) {
            if (rate == growing) rate = fluid_no_cap;  // nothing holds it back
        }
        return std::move(rate_);
    }

private:
    [[nodiscard]] double level_when_full(std::size_t link) const {
        return (network_.links[link].capacity_bps - stopped_bps_[link]) / growing_flows_[link];
    }

    [[nodiscard]] bool can_fill(std::size_t link) const {
        return !full_[link] && growing_flows_[link] > 0.5;
    }

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
            full_[l] = true;
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
        std::sort(groups.begin(), groups.end());
        return groups;
    }

    /// False if no group stopped.
    bool stop(const std::vector<std::uint32_t>& groups, double level) {
        bool any = false;
        for (const std::uint32_t g : groups) {
            if (rate_[g] != growing) continue;
            const FluidGroup& group = network_.groups[g];
            any = true;
            rate_[g] = std::min(level, group.cap_bps);
            for (const FluidUse& use : group.path) {
                growing_flows_[use.link] -= use.flows;
                stopped_bps_[use.link] += use.flows * rate_[g];
            }
        }
        return any;
    }

    const FluidNetwork& network_;
    const GroupsOfLinks& users_;
    std::vector<double> rate_;
    std::vector<std::uint32_t> by_cap_;  ///< those that may grow, the lowest cap last
    std::vector<double> growing_flows_;
    std::vector<double> stopped_bps_;
    std::vector<bool> full_;
};

std::vector<bool> sending(const FluidNetwork& network) {
    std::vector<bool> active(network.groups.size());
    for (std::size_t g = 0; g < active.size(); ++g) active[g] = network.groups[g].bytes > 0;
    return active;
}

double run_time_s(const FluidNetwork& network) {
    std::vector<bool> active = sending(network);
    std::vector<double> left_bits(network.groups.size());
    for (std::size_t g = 0; g < left_bits.size(); ++g) left_bits[g] = 8 * network.groups[g].bytes;
    const GroupsOfLinks users = groups_of_links(network);
    double now_s = 0;
    while (std::find(active.begin(), active.end(), true) != active.end()) {
        const auto rates = FluidFilling(network, users, active).run();
        double step_s = fluid_no_cap;
        for (std::size_t g = 0; g < rates.size(); ++g) {
            if (active[g]) step_s = std::min(step_s, left_bits[g] / rates[g]);
        }
        now_s += step_s;
        for (std::size_t g = 0; g < rates.size(); ++g) {
            if (!active[g]) continue;
            left_bits[g] -= std::isfinite(rates[g]) ? rates[g] * step_s : left_bits[g];
            if (left_bits[g] <= 8 * network.groups[g].bytes * level_tolerance * 1e3) active[g] = false;
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
    std::sort(arrivals.begin(), arrivals.end(),
              [](const Arrival& a, const Arrival& b) { return a.until_s < b.until_s; });
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

/// Groups' flows on their way: link after link of their paths.
class Arrivals {
public:
    explicit Arrivals(const FluidNetwork& network)
        : network_(network), passed_(network.groups.size(), 1), links_(network.links.size()) {
        count_flows_of_senders();
        // A link's arrivals are known when all groups have come to it; paths
        // have few links, and each step is one link of every path.
        for (std::size_t step = 0; pass(step); ++step) throttle(step);
    }

    [[nodiscard]] const std::vector<Arrival>& at(std::size_t link) const { return links_[link]; }

private:
    /// Of one sending host, to one link.
    using SenderAtLink = std::pair<std::uint32_t, std::uint32_t>;

    void count_flows_of_senders() {
        for (const FluidGroup& group : network_.groups) {
            if (group.bytes <= 0) continue;
            for (const FluidUse& use : group.path) {
                flows_[{group.sender, use.link}] += use.flows / use.senders;
            }
        }
    }

    [[nodiscard]] double arrival_bps(const FluidGroup& group, const FluidUse& use) const {
        const double edge_bps = network_.links[group.path.front().link].capacity_bps;
        return std::min(group.cap_bps, edge_bps / flows_.at({group.sender, use.link}));
    }

    /// False when every path has ended.
    bool pass(std::size_t step) {
        bool any = false;
        for (std::size_t g = 0; g < passed_.size(); ++g) {
            const FluidGroup& group = network_.groups[g];
            if (step >= group.path.size() || group.bytes <= 0) continue;
            const FluidUse& use = group.path[step];
            const double bps = passed_[g] * arrival_bps(group, use);
            links_[use.link].push_back({use.flows * bps, 8 * group.bytes / bps});
            any = true;
        }
        return any;
    }

    /// What a full link lets through of all that comes.
    void throttle(std::size_t step) {
        std::vector<double> sum_bps(links_.size(), 0);
        for (std::size_t l = 0; l < links_.size(); ++l) {
            for (const Arrival& arrival : links_[l]) sum_bps[l] += arrival.bps;
        }
        for (std::size_t g = 0; g < passed_.size(); ++g) {
            const FluidGroup& group = network_.groups[g];
            if (step >= group.path.size() || group.bytes <= 0) continue;
            const FluidLink& link = network_.links[group.path[step].link];
            if (link.senders_edge) continue;  // in arrival_bps() already
            passed_[g] *= std::min(1.0, link.capacity_bps / sum_bps[group.path[step].link]);
        }
    }

    const FluidNetwork& network_;
    std::vector<double> passed_;  ///< part of each group's arrival that comes on
    std::map<SenderAtLink, double> flows_;
    std::vector<std::vector<Arrival>> links_;
};

}  // namespace

std::vector<double> fluid_rates_bps(const FluidNetwork& network) {
    return FluidFilling(network, groups_of_links(network), sending(network)).run();
}

FluidResult fluid_run(const FluidNetwork& network) {
    FluidResult result;
    result.time_s = run_time_s(network);
    const Arrivals arrivals(network);
    result.links.resize(network.links.size());
    for (std::size_t l = 0; l < network.links.size(); ++l) {
        const FluidLink& link = network.links[l];
        FluidOverload& overload = result.links[l];
        overload.peak_bytes = queue_peak_bytes(arrivals.at(l), link.capacity_bps);
        // a millionth of a byte is rounding, not a packet
        overload.overflows = !link.senders_edge && overload.peak_bytes > link.buffer_bytes + 1e-6;
    }
    for (const FluidGroup& group : network.groups) {
        if (group.bytes <= 0) continue;
        const auto overflowing =
            std::count_if(group.path.begin(), group.path.end(), [&](const FluidUse& use) {
                return result.links[use.link].overflows;
            });
        result.timeouts = std::max(result.timeouts, static_cast<std::uint32_t>(overflowing));
    }
    return result;
}

}  // namespace headway
