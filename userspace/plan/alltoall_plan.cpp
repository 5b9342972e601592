// SPDX-License-Identifier: Apache-2.0
#include "plan/alltoall_plan.hpp"

#include <algorithm>

#include "base/text_lines.hpp"

namespace headway {
namespace {

using Wide = unsigned __int128;

// How large the numbers get, in powers of two: capacity 43 (8e12 bit/s),
// utilisation 20, hosts 16, divisor 28 (4 x 65536 in thousandths).  A pair rate is
// capacity * utilisation * divisor_one (73) over divisor * pairs (44); the
// largest product below multiplies both: 117 of 128.
constexpr Wide bits_per_byte_scaled = Wide{8} * utilisation_one;

/// An exact wire rate in bits/s: numerator / (denominator * utilisation_one).
struct PairRate {
    Wide numerator;
    Wide denominator;
};

std::uint64_t narrow(Wide value) { return static_cast<std::uint64_t>(value); }

PairRate rate_over(const LinkShare& link, const PlanPolicy& policy) {
    return {Wide{link.capacity.value} * policy.target_utilisation_millionths * divisor_one,
            Wide{link.divisor_thousandths} * link.pairs_per_sender};
}

bool operator<(const PairRate& a, const PairRate& b) {
    return a.numerator * b.denominator < b.numerator * a.denominator;
}

/// Rates each trunk of several links by its fullest one.  Every sender has at least as many flows as its
/// communicator has hosts behind the trunk; the job's other communicators are taken to be like that one.
void rate_hashed_links(std::vector<LinkShare>& links, const Topology& topology, const AllToAllPattern& pattern) {
    const auto links_of = [&](const LinkShare& link) {
        return link.is_trunk() ? topology.trunk(link.owner).trunk_links : ParallelLinks{};
    };
    const auto hashed = std::ranges::count_if(links, [&](const auto& link) { return links_of(link).are_hashed(); });
    const std::uint32_t draws = draws_of(topology, static_cast<std::uint32_t>(hashed));
    const std::vector<std::uint32_t> below = topology.hosts_below(pattern.communicator);
    for (LinkShare& link : links) {
        const ParallelLinks of = links_of(link);
        if (!of.are_hashed()) continue;
        const std::uint32_t inside = below[link.owner], outside = pattern.communicator.total() - inside;
        const std::uint32_t beyond = link.kind == LinkKind::trunk_down ? inside : outside;
        const double partners = pattern.is_sparse ? 1 : std::max(1U, beyond);
        const double each = of.hash == LinkHash::flow && !pattern.is_sparse ? pattern.connections() : 1;
        const EqualFlows flows{link.senders * partners * each, 1};
        link.fill = fill_of(of.count, {&flows, 1}, draws);
        link.capacity = carried_by(link.capacity, link.fill);
    }
}

/// Every directed link that the job shares; order decides ties.
std::vector<LinkShare> shared_links(const Topology& topology, const PlanPolicy& policy,
                                    const AllToAllPattern& pattern, const HostCounts& hosts,
                                    std::uint32_t share_thousandths) {
    std::vector<LinkShare> links;
    const auto add = [&](LinkKind kind, std::size_t owner, std::uint32_t senders,
                         std::uint32_t pairs_per_sender) {
        const TopologyLink link{kind, owner};
        const std::uint64_t divisor = link.is_trunk() ? policy.trunk_divisor_thousandths.value_or(
                                                            senders * share_thousandths)
                                                      : senders * divisor_one;
        links.push_back({{link, topology.rate_of(link)}, senders, pairs_per_sender,
                         static_cast<std::uint32_t>(divisor * policy.divisor_factor_thousandths /
                                                    divisor_one)});
    };
    const std::uint32_t total = hosts.total();
    const std::vector<std::uint32_t> below = topology.hosts_below(hosts);
    for (std::size_t t = 0; t < topology.trunk_count(); ++t) {
        if (below[t] == 0 || below[t] == total) continue;
        add(LinkKind::trunk_up, t, below[t], total - below[t]);
        add(LinkKind::trunk_down, t, total - below[t], below[t]);
    }
    for (std::size_t c = 0; c < topology.clusters().size(); ++c) {
        if (hosts.per_cluster[c] > 0) add(LinkKind::edge_in, c, total - 1, 1);
    }
    rate_hashed_links(links, topology, pattern);
    return links;
}

/// The most that can arrive at a link if every host sends at its edge's rate and
/// no other trunk holds it back: one that does is asked for too much itself.
Wide unpaced_load(const LinkShare& link, const Topology& topology, const HostCounts& hosts) {
    Wide load = 0;
    for (std::size_t c = 0; c < topology.clusters().size(); ++c) {
        Wide senders = hosts.per_cluster[c];
        if (!link.is_trunk()) senders -= c == link.owner ? 1 : 0;
        else if (topology.is_below(c, link.owner) != (link.kind == LinkKind::trunk_up)) continue;
        load += senders * topology.clusters()[c].host_rate.value;
    }
    return load;
}

/// Rate of the class of a node of `from` towards `to`, if each pair of hosts has x.
BytesPerSecond class_rate(const PairRate& x, const HostCounts& hosts, const Topology& topology,
                          const PlanPolicy& policy, std::size_t from, std::size_t to) {
    const Wide scale = x.denominator * bits_per_byte_scaled;
    const Wide share = hosts.per_cluster[to] * x.numerator;
    if (from != to) return {narrow(share / scale)};

    const std::uint32_t outside = hosts.total() - hosts.per_cluster[from];
    const Wide edge = Wide{topology.clusters()[from].host_rate.value} *
                      policy.target_utilisation_millionths * x.denominator;
    return {narrow(std::min(share, edge - outside * x.numerator) / scale)};
}

Result<void> fill_rates(AllToAllPlan& plan, const PairRate& x, const Topology& topology,
                        const PlanPolicy& policy) {
    const std::size_t clusters = topology.clusters().size();
    const auto& hosts = plan.hosts.per_cluster;
    plan.rates.assign(clusters, std::vector<std::optional<BytesPerSecond>>(clusters));
    for (std::size_t from = 0; from < clusters; ++from) {
        for (std::size_t to = 0; to < clusters; ++to) {
            const bool sends = hosts[from] > 0 && hosts[to] > (from == to ? 1U : 0U);
            if (!sends) continue;
            const auto rate = class_rate(x, plan.hosts, topology, policy, from, to);
            if (rate.value == 0) {
                return failure("{} divided among {} leaves a node less than 8bit, "
                               "the slowest rate there is",
                               topology.name_of(*plan.limit), plan.limit->senders);
            }
            plan.rates[from][to] = rate;
        }
    }
    return {};
}

/// "0.99".
std::string utilisation_to_text(std::uint32_t millionths) {
    std::string text = fmt::format("{:.6f}", static_cast<double>(millionths) / utilisation_one);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.')) text.pop_back();
    return text;
}

std::string limit_reason(const LinkShare& link, const Topology& topology,
                         const PlanPolicy& policy) {
    const Wide share = Wide{link.capacity.value} * policy.target_utilisation_millionths *
                       divisor_one / (Wide{link.divisor_thousandths} * utilisation_one);
    const std::string of_links =
        link.fill.links == 1 ? ""
                             : fmt::format(" of {} hashed links of {}, the fullest with {:.2f} times the mean,",
                                           link.fill.links, rate_to_text(topology.rate_of(link)), link.fill.worst);
    return fmt::format("the {} is shared by {}: {}{} x {} / {} = {} for each",
                       topology.name_of(link), counted(link.senders, "sender"),
                       rate_to_text(link.capacity), of_links,
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
    const auto fullest = std::ranges::min_element(links, [&](const LinkShare& a, const LinkShare& b) {
        return a.fill.links > 1 && (b.fill.links == 1 || rate_over(a, policy) < rate_over(b, policy));
    });
    if (fullest->fill.links > 1)
        plan.notes.push_back(fmt::format("the {} is {}; {} of {} are planned", topology.name_of(*fullest),
                                         fill_text(fullest->fill), rate_to_text(fullest->capacity),
                                         rate_to_text({fullest->fill.links * topology.rate_of(*fullest).value})));
    for (const LinkShare& link : links) {
        if (policy.trunk_divisor_thousandths &&
            link.divisor_thousandths < link.senders * divisor_one) {
            plan.notes.push_back(fmt::format(
                "divisor {} is less than the {} senders over the {}: together they can ask "
                "for more than it has",
                divisor_to_text(link.divisor_thousandths), link.senders, topology.name_of(link)));
        }
    }
}

}  // namespace

Result<AllToAllPlan> plan_alltoall(const Topology& topology, const PlanPolicy& policy,
                                   const AllToAllPattern& pattern,
                                   std::uint32_t sender_share_thousandths) {
    AllToAllPlan plan;
    plan.hosts = pattern.siblings_disjoint ? pattern.communicator : pattern.job;
    plan.connections = pattern.connections();
    if (pattern.communicator.clusters_used() < 2) {
        plan.reason = pattern.communicator.total() < 2
                          ? "there is nobody to exchange with"
                          : "all hosts are in one cluster, so that nothing crosses a trunk";
        return plan;
    }

    const auto links = shared_links(topology, policy, pattern, plan.hosts, sender_share_thousandths);
    const bool can_overload = std::any_of(links.begin(), links.end(), [&](const LinkShare& link) {
        // whatever else there is, all may turn to one of parallel links
        return unpaced_load(link, topology, plan.hosts) > topology.rate_of(link).value;
    });
    if (!can_overload) {
        plan.reason = "no link can be asked for more than it has";
        return plan;
    }

    plan.limit = *std::min_element(links.begin(), links.end(), [&](const auto& a, const auto& b) {
        return rate_over(a, policy) < rate_over(b, policy);
    });
    const PairRate x = rate_over(*plan.limit, policy);
    plan.pair_rate = {narrow(x.numerator / (x.denominator * utilisation_one))};
    if (const auto filled = fill_rates(plan, x, topology, policy); !filled) {
        return tl::unexpected(filled.error());
    }
    plan.reason = limit_reason(*plan.limit, topology, policy);
    add_notes(plan, topology, policy, pattern, links);
    return plan;
}

std::string divisor_to_text(std::uint32_t divisor_thousandths) {
    return fmt::format("{}", static_cast<double>(divisor_thousandths) / divisor_one);
}

}  // namespace headway
