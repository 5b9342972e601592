// SPDX-License-Identifier: Apache-2.0
#include "measure/link_capacity.hpp"

#include <algorithm>
#include <set>

#include "measure/confidence.hpp"

namespace headway {
namespace {

// A flow that has met another's frames gets less than this part of its hosts' best.
constexpr double slowed_share = 0.96;
// A full link carries at least this part of the most it carried, from one bulk to the next.
constexpr double full_share = 0.97;

/// The most that each host has sent and received.
struct HostBest {
    std::map<std::size_t, double> sent, received;
};

HostBest best_of(std::span<const ObservedBulk> observed) {
    HostBest best;
    for (const ObservedBulk& one : observed) {
        std::map<std::size_t, double> sent, received;
        for (std::size_t i = 0; i < one.bulk.flows.size(); ++i) {
            const double rate = one.outcome.flows[i].received_bytes_per_s;
            sent[one.bulk.flows[i].from] += rate;
            received[one.bulk.flows[i].to] += rate;
        }
        for (const auto& [host, rate] : sent) best.sent[host] = std::max(best.sent[host], rate);
        for (const auto& [host, rate] : received) best.received[host] = std::max(best.received[host], rate);
    }
    return best;
}

std::vector<bool> slowed(const HostBest& best, const ObservedBulk& one) {
    std::map<std::size_t, double> senders_share;
    for (const Flow& flow : one.bulk.flows) ++senders_share[flow.from];
    std::vector<bool> result;
    for (std::size_t i = 0; i < one.bulk.flows.size(); ++i) {
        const Flow& flow = one.bulk.flows[i];
        // a host that sends several flows divides itself between them
        const double own = best.sent.at(flow.from) / senders_share[flow.from];
        const double possible = std::min(own, best.received.at(flow.to));
        result.push_back(flow.bytes_per_s == 0 && one.outcome.flows[i].received_bytes_per_s < slowed_share * possible);
    }
    return result;
}

std::map<DirectedLink, double> carried(const HostTree& tree, const ObservedBulk& one) {
    std::map<DirectedLink, double> loads;
    for (std::size_t i = 0; i < one.bulk.flows.size(); ++i) {
        for (const DirectedLink& link : tree.path(one.bulk.flows[i]))
            loads[link] += one.outcome.flows[i].received_bytes_per_s;
    }
    return loads;
}

/// An interface that its host had to wait for was full.
void note_full_interfaces(const ObservedBulk& one, LinkCapacities& capacities) {
    for (std::size_t i = 0; i < one.bulk.flows.size(); ++i) {
        if (one.outcome.flows[i].fills_interface && !one.outcome.flows[i].has_loss())
            capacities[{one.bulk.flows[i].from, true}].is_exact = true;
    }
}

}  // namespace

std::vector<bool> slowed_flows(std::span<const ObservedBulk> observed, const ObservedBulk& one) {
    return slowed(best_of(observed), one);
}

LinkCapacities link_capacities(const HostTree& tree, std::span<const ObservedBulk> observed) {
    LinkCapacities capacities;
    std::vector<std::map<DirectedLink, double>> loads;
    for (const ObservedBulk& one : observed) {
        loads.push_back(carried(tree, one));
        for (const auto& [link, load] : loads.back()) {
            double& most = capacities[link].bytes_per_s;
            most = std::max(most, load);
        }
        note_full_interfaces(one, capacities);
    }
    const HostBest best = best_of(observed);
    std::map<DirectedLink, std::set<std::size_t>> filled_by;
    for (std::size_t k = 0; k < observed.size(); ++k) {
        const auto is_slowed = slowed(best, observed[k]);
        for (std::size_t i = 0; i < is_slowed.size(); ++i) {
            if (!is_slowed[i]) continue;
            std::vector<DirectedLink> full;
            for (const DirectedLink& link : tree.path(observed[k].bulk.flows[i])) {
                if (loads[k].at(link) >= full_share * capacities[link].bytes_per_s) full.push_back(link);
            }
            for (const DirectedLink& link : full) {
                if (full.size() == 1) filled_by[link].insert(k);
                else capacities[link].is_shared_guess = true;
            }
        }
    }
    for (auto& [link, bulks] : filled_by) {
        std::vector<double> carried_by;
        for (const std::size_t k : bulks) carried_by.push_back(loads[k].at(link));
        const Mean mean = undisturbed_mean(carried_by);
        capacities[link] = {mean.value, mean.half_width, true, false};
    }
    for (auto& [link, capacity] : capacities) capacity.is_shared_guess &= !capacity.is_exact;
    return capacities;
}

}  // namespace headway
