// SPDX-License-Identifier: Apache-2.0
#include "plan/fluid.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/wire.hpp"
#include "plan/max_min.hpp"

namespace headway {
namespace {

/// Part of a group's bytes that is nothing but rounding.
constexpr double rounding = 1e-9;

bool sends(const FluidGroup& group) { return group.bytes > 0; }

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
            if (bytes <= network.groups[g].bytes * rounding) bytes = 0;
        }
    }
    return now_s;
}

/// Traffic arrives at a link at that rate, until that moment.
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
            // of parallel links one may have less than a flow of each sender
            const double shared_by = std::max(1.0, flows.at({group.sender, use.link}));
            const double bps = part * std::min(group.cap_bps, edge_bps / shared_by);
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
            part *= std::min(1.0, link.fill * link.capacity_bps / sum_bps[use.link]);
        });
    }
    return arrivals;
}

/// Returns each link's loss; 0 where some class has no cap, since its loss is an overload's.  Bytes
/// that have piled up leave less of the buffer.
std::vector<double> frame_loss_at_links(const FluidNetwork& network, const std::vector<double>& peak_bytes) {
    struct Crossing {
        double bps = 0;
        double senders = 0;
    };
    constexpr double frame_bytes = wire_bytes(tcp_segment_bytes + tcp_header_bytes);
    std::vector<Crossing> crossing(network.links.size());
    std::vector<std::uint32_t> last_sender(network.links.size(), UINT32_MAX);  // groups come by sender
    std::vector<double> lost(network.links.size(), 0);
    for (const FluidGroup& group : network.groups) {
        if (!sends(group)) continue;
        if (!std::isfinite(group.cap_bps)) return lost;
        for (const FluidUse& use : group.path) {
            Crossing& link = crossing[use.link];
            link.bps += group.cap_bps * use.flows;
            if (std::exchange(last_sender[use.link], group.sender) != group.sender) link.senders += use.senders;
        }
    }
    for (std::size_t l = 0; l < lost.size(); ++l) {
        const FluidLink& link = network.links[l];
        if (link.senders_edge || link.buffer_bytes <= 0 || crossing[l].senders <= 1) continue;
        const double load = std::min(1.0, crossing[l].bps / link.capacity_bps);
        const double room_frames = std::max(0.0, link.buffer_bytes - peak_bytes[l]) / frame_bytes;
        lost[l] = frame_loss_probability(crossing[l].senders, load, room_frames);
    }
    return lost;
}

}  // namespace

double frame_loss_probability(double senders, double load, double buffer_frames) {
    return std::min(1.0, std::exp(-2 * buffer_frames * (buffer_frames / senders + 1 - load)));
}

std::vector<double> fluid_rates_bps(const FluidNetwork& network) {
    MaxMinSystem system;
    for (const FluidLink& link : network.links) system.add_constraint(link.capacity_bps, link.reverse);
    std::vector<MaxMinSystem::Element> uses;
    for (const FluidGroup& group : network.groups) {
        if (!sends(group)) continue;
        uses.clear();
        for (const FluidUse& use : group.path) uses.push_back({use.link, use.flows});
        system.add_variable(group.cap_bps, uses);
    }
    std::vector<double> rates(network.groups.size(), 0);
    auto solved = system.solve();
    auto next = solved.begin();
    for (std::size_t g = 0; g < rates.size(); ++g) {
        if (sends(network.groups[g])) rates[g] = *next++;
    }
    return rates;
}

FluidResult fluid_run(const FluidNetwork& network) {
    FluidResult result;
    result.time_s = run_time_s(network);
    const auto arrivals = arrivals_at_links(network);
    std::vector<double> peak_bytes;
    for (std::size_t l = 0; l < arrivals.size(); ++l)
        peak_bytes.push_back(queue_peak_bytes(arrivals[l], network.links[l].capacity_bps));
    const auto frame_loss = frame_loss_at_links(network, peak_bytes);
    for (std::size_t l = 0; l < network.links.size(); ++l) {
        const FluidLink& link = network.links[l];
        // a millionth of a byte is rounding, not a packet
        const bool overflows = !link.senders_edge && peak_bytes[l] > link.buffer_bytes + 1e-6;
        result.links.push_back({peak_bytes[l], overflows, frame_loss[l]});
        result.frame_loss = std::max(result.frame_loss, frame_loss[l]);
        if (!link.senders_edge) result.piled_up_bytes = std::max(result.piled_up_bytes, peak_bytes[l]);
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
