// SPDX-License-Identifier: Apache-2.0
#include "measure/interference.hpp"

#include <algorithm>
#include <map>

namespace headway {
namespace {

// Two groups are merged only if fewer of the pairs between them than this are slowed down.
constexpr double apart_share = 0.5;
// The hosts are the cause if so many of all flows are slowed down.
constexpr double slow_hosts_share = 0.9;

struct PairCount {
    double slowed = 0, seen = 0;
};
using PairCounts = std::map<std::pair<std::size_t, std::size_t>, PairCount>;

double share_between(const PairCounts& counts, const std::vector<std::size_t>& a, const std::vector<std::size_t>& b) {
    PairCount sum;
    for (const std::size_t i : a) {
        for (const std::size_t j : b) {
            const auto found = counts.find(std::minmax(i, j));
            if (found == counts.end()) continue;
            sum.slowed += found->second.slowed;
            sum.seen += found->second.seen;
        }
    }
    return sum.seen == 0 ? 1 : sum.slowed / sum.seen;
}

}  // namespace

std::vector<Flow> random_cycle(std::vector<std::size_t> hosts, std::minstd_rand& random) {
    for (std::size_t i = hosts.size(); i > 1; --i) std::swap(hosts[i - 1], hosts[random() % i]);
    std::vector<Flow> flows;
    for (std::size_t i = 0; i < hosts.size(); ++i) flows.push_back({hosts[i], hosts[(i + 1) % hosts.size()]});
    return flows;
}

InterferenceGroups groups_by_interference(std::span<const std::size_t> hosts, std::span<const ObservedBulk> among,
                                          std::span<const ObservedBulk> all) {
    PairCounts counts;
    PairCount total;
    for (const ObservedBulk& one : among) {
        const auto slowed = slowed_flows(all, one);
        for (std::size_t i = 0; i < slowed.size(); ++i) {
            PairCount& pair = counts[std::minmax(one.bulk.flows[i].from, one.bulk.flows[i].to)];
            for (PairCount* count : {&pair, &total}) {
                count->slowed += slowed[i] ? 1 : 0;
                count->seen += 1;
            }
        }
    }
    InterferenceGroups result;
    if (total.slowed == 0 || total.slowed > slow_hosts_share * total.seen) {
        result.groups.emplace_back(hosts.begin(), hosts.end());
        result.hosts_are_slow = total.slowed > 0;
        return result;
    }
    for (const std::size_t host : hosts) result.groups.push_back({host});
    while (result.groups.size() > 1) {
        double least = 2;
        std::size_t best_a = 0, best_b = 0;
        for (std::size_t a = 0; a < result.groups.size(); ++a) {
            for (std::size_t b = a + 1; b < result.groups.size(); ++b) {
                const double share = share_between(counts, result.groups[a], result.groups[b]);
                if (share >= least) continue;
                least = share;
                best_a = a;
                best_b = b;
            }
        }
        if (least >= apart_share) break;
        auto& into = result.groups[best_a];
        into.insert(into.end(), result.groups[best_b].begin(), result.groups[best_b].end());
        result.groups.erase(result.groups.begin() + static_cast<std::ptrdiff_t>(best_b));
    }
    return result;
}

}  // namespace headway
