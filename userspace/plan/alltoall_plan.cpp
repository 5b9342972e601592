// SPDX-License-Identifier: Apache-2.0
#include "plan/alltoall_plan.hpp"

#include <algorithm>

namespace headway {
namespace {

using Wide = unsigned __int128;

// How large the numbers get, in powers of two: capacity 43 (8e12 bit/s),
// utilisation 20, hosts 16, divisor 28 (4 x 65536 in thousandths).  A pair rate is
// capacity * utilisation * divisor_one (73) over divisor * pairs (44); the
// largest product below multiplies both: 117 of 128.
constexpr Wide bits_per_byte_scaled = Wide{8} * utilisation_one;

std::uint64_t narrow(Wide value) { return static_cast<std::uint64_t>(value); }

PairRate rate_over(const LinkShare& link, const PlanPolicy& policy) {
    return {Wide{link.capacity.value} * policy.target_utilisation_millionths * divisor_one,
            Wide{link.divisor_thousandths} * link.pairs_per_sender};
}

bool operator<(const PairRate& a, const PairRate& b) {
    return a.numerator * b.denominator < b.numerator * a.denominator;
}

/// Every directed link that the job shares; order decides ties.
std::vector<LinkShare> shared_links(const Topology& topology, const PlanPolicy& policy,
                                    const HostCounts& hosts) {
    const std::uint32_t total = hosts.total();
    const std::vector<std::uint32_t> below = topology.hosts_below(hosts);
    const auto times_factor = [&](std::uint32_t divisor) {
        return static_cast<std::uint32_t>(std::uint64_t{divisor} *
                                          policy.divisor_factor_thousandths / divisor_one);
    };
    std::vector<LinkShare> links;
    for (std::size_t t = 0; t < topology.trunk_count(); ++t) {
        const std::uint32_t inside = below[t];
        const std::uint32_t outside = total - inside;
        if (inside == 0 || outside == 0) continue;
        const auto add = [&](LinkKind kind, BitsPerSecond capacity, std::uint32_t senders,
                             std::uint32_t pairs_per_sender) {
            links.push_back({kind, t, capacity, senders, pairs_per_sender,
                             times_factor(policy.trunk_divisor_thousandths.value_or(
                                 senders * policy.sender_share_thousandths))});
        };
        add(LinkKind::trunk_up, topology.trunk(t).trunk_up_rate, inside, outside);
        add(LinkKind::trunk_down, topology.trunk(t).trunk_down_rate, outside, inside);
    }
    for (std::size_t c = 0; c < topology.clusters().size(); ++c) {
        if (hosts.per_cluster[c] == 0) continue;
        links.push_back({LinkKind::edge_in, c, topology.clusters()[c].host_rate, total - 1, 1,
                         times_factor((total - 1) * divisor_one)});
    }
    return links;
}

/// The most that can arrive at a link if every host sends at its edge's rate and
/// no other trunk holds it back: one that does is asked for too much itself.
Wide unpaced_load(const LinkShare& link, const Topology& topology, const HostCounts& hosts) {
    Wide load = 0;
    for (std::size_t c = 0; c < topology.clusters().size(); ++c) {
        const Wide rate = topology.clusters()[c].host_rate.value;
        const Wide from_cluster = hosts.per_cluster[c] * rate;
        if (link.kind == LinkKind::edge_in) {
            load += from_cluster - (c == link.owner ? rate : 0);
        } else if (topology.is_below(c, link.owner) == (link.kind == LinkKind::trunk_up)) {
            load += from_cluster;
        }
    }
    return load;
}

/// Rate of the class of a node of `from` towards `to`.
BytesPerSecond class_rate(const AllToAllPlan& plan, const Topology& topology,
                          const PlanPolicy& policy, std::size_t from, std::size_t to) {
    const PairRate& x = plan.pair_rate;
    const Wide scale = x.denominator * bits_per_byte_scaled;
    const Wide share = plan.hosts.per_cluster[to] * x.numerator;
    if (from != to) return {narrow(share / scale)};

    const std::uint32_t outside = plan.hosts.total() - plan.hosts.per_cluster[from];
    const Wide edge = Wide{topology.clusters()[from].host_rate.value} *
                      policy.target_utilisation_millionths * x.denominator;
    return {narrow(std::min(share, edge - outside * x.numerator) / scale)};
}

Result<void> fill_rates(AllToAllPlan& plan, const Topology& topology, const PlanPolicy& policy) {
    const std::size_t clusters = topology.clusters().size();
    const auto& hosts = plan.hosts.per_cluster;
    plan.rates.assign(clusters, std::vector<std::optional<BytesPerSecond>>(clusters));
    for (std::size_t from = 0; from < clusters; ++from) {
        for (std::size_t to = 0; to < clusters; ++to) {
            const bool sends = hosts[from] > 0 && hosts[to] > (from == to ? 1U : 0U);
            if (!sends) continue;
            const auto rate = class_rate(plan, topology, policy, from, to);
            if (rate.value == 0) {
                return failure("{} divided among {} senders leaves a node less than 8bit, "
                               "the slowest rate there is",
                               link_to_text(*plan.limit, topology), plan.limit->senders);
            }
            plan.rates[from][to] = rate;
        }
    }
    return {};
}

std::string limit_reason(const LinkShare& link, const Topology& topology,
                         const PlanPolicy& policy) {
    const Wide share = Wide{link.capacity.value} * policy.target_utilisation_millionths *
                       divisor_one / (Wide{link.divisor_thousandths} * utilisation_one);
    return fmt::format("the {} is shared by {} sender{}: {} x {} / {} = {} for each",
                       link_to_text(link, topology), link.senders, link.senders == 1 ? "" : "s",
                       rate_to_text(link.capacity),
                       utilisation_to_text(policy.target_utilisation_millionths),
                       divisor_to_text(link.divisor_thousandths),
                       rate_to_text({narrow(share)}));
}

void add_notes(AllToAllPlan& plan, const Topology& topology, const PlanPolicy& policy,
               const AllToAllPattern& pattern, const std::vector<LinkShare>& links) {
    if (plan.hosts != pattern.communicator) {
        plan.notes.push_back(fmt::format(
            "the communicator has {} of the job's {} hosts; all of them are counted, because "
            "the others may exchange at the same time",
            pattern.communicator.total(), pattern.job.total()));
    }
    for (const LinkShare& link : links) {
        if (policy.trunk_divisor_thousandths &&
            link.divisor_thousandths < link.senders * divisor_one) {
            plan.notes.push_back(fmt::format(
                "divisor {} is less than the {} senders over the {}: together they can ask "
                "for more than it has",
                divisor_to_text(link.divisor_thousandths), link.senders,
                link_to_text(link, topology)));
        }
    }
}

std::string fraction_to_text(std::uint32_t value, std::uint32_t one, int digits) {
    std::string text = fmt::format("{}.{:0{}}", value / one, value % one, digits);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.')) text.pop_back();
    return text;
}

}  // namespace

Result<AllToAllPlan> plan_alltoall(const Topology& topology, const PlanPolicy& policy,
                                   const AllToAllPattern& pattern) {
    AllToAllPlan plan;
    plan.hosts = pattern.siblings_disjoint ? pattern.communicator : pattern.job;
    if (pattern.communicator.clusters_used() < 2) {
        plan.reason = pattern.communicator.total() < 2
                          ? "there is nobody to exchange with"
                          : "all hosts are in one cluster, so that nothing crosses a trunk";
        return plan;
    }

    const auto links = shared_links(topology, policy, plan.hosts);
    const bool can_overload = std::any_of(links.begin(), links.end(), [&](const LinkShare& link) {
        return unpaced_load(link, topology, plan.hosts) > link.capacity.value;
    });
    if (!can_overload) {
        plan.reason = "no link can be asked for more than it has";
        return plan;
    }

    plan.limit = *std::min_element(links.begin(), links.end(), [&](const auto& a, const auto& b) {
        return rate_over(a, policy) < rate_over(b, policy);
    });
    plan.pair_rate = rate_over(*plan.limit, policy);
    if (const auto filled = fill_rates(plan, topology, policy); !filled) {
        return tl::unexpected(filled.error());
    }
    plan.reason = limit_reason(*plan.limit, topology, policy);
    add_notes(plan, topology, policy, pattern, links);
    return plan;
}

BitsPerSecond pair_rate_bits(const AllToAllPlan& plan) {
    return {narrow(plan.pair_rate.numerator / (plan.pair_rate.denominator * utilisation_one))};
}

BytesPerSecond remote_rate(const AllToAllPlan& plan, std::size_t cluster) {
    BytesPerSecond sum;
    for (std::size_t to = 0; to < plan.rates.size(); ++to) {
        if (to != cluster) sum.value += plan.rates[cluster][to].value_or(BytesPerSecond{}).value;
    }
    return sum;
}

std::uint64_t pair_window_bytes(const AllToAllPlan& plan, const Topology& topology,
                                std::size_t from, std::size_t to) {
    constexpr std::uint64_t ns_per_s = 1'000'000'000;
    const auto round_trip_ns = static_cast<std::uint64_t>(2 * topology.delay(from, to).count());
    const Wide bits_ns = Wide{pair_rate_bits(plan).value} * round_trip_ns;
    return narrow((bits_ns + 8 * ns_per_s - 1) / (8 * ns_per_s));
}

std::string link_to_text(const LinkShare& link, const Topology& topology) {
    const std::string& name = topology.trunk(link.owner).name;
    switch (link.kind) {
        case LinkKind::trunk_up: return fmt::format("trunk of {} (up)", name);
        case LinkKind::trunk_down: return fmt::format("trunk of {} (down)", name);
        case LinkKind::edge_in: break;
    }
    return fmt::format("edge of a receiver in {}", name);
}

std::string divisor_to_text(std::uint32_t divisor_thousandths) {
    return fraction_to_text(divisor_thousandths, divisor_one, 3);
}

std::string utilisation_to_text(std::uint32_t millionths) {
    return fraction_to_text(millionths, utilisation_one, 6);
}

}  // namespace headway
