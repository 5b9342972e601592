// SPDX-License-Identifier: Apache-2.0
#include "cli/shown_plan.hpp"

#include <algorithm>
#include <fstream>

#include <fmt/core.h>

#include "jobs/node_planner.hpp"
#include "plan/prediction.hpp"

namespace headway {
namespace {

std::string hosts_text(const ChosenPattern& pattern, const HostCounts& counts) {
    const auto& clusters = pattern.config.topology.clusters();
    std::string list;
    for (std::size_t c = 0; c < clusters.size(); ++c) {
        if (counts.per_cluster[c] == 0) continue;
        list += fmt::format("{}{} of {}", list.empty() ? "" : ", ", counts.per_cluster[c],
                            clusters[c].name);
    }
    return fmt::format("{} hosts: {}", counts.total(), list);
}

ShownNode make_node(const Topology& topology, const std::string& name) {
    const std::size_t cluster = topology.cluster_of(*topology.find_host(name));
    ShownNode node{name, make_kernel_layout(topology, cluster), {}, {}, 0};
    node.rates.resize(node.layout.classes.size());
    return node;
}

/// The largest buffer that TCP gives a socket by itself on this machine, the
/// smaller of sending and receiving; none where /proc does not tell.
std::optional<std::uint64_t> tcp_buffer_max_bytes() {
    std::optional<std::uint64_t> smaller;
    for (const char* path : {"/proc/sys/net/ipv4/tcp_wmem", "/proc/sys/net/ipv4/tcp_rmem"}) {
        std::ifstream file(path);
        std::uint64_t least = 0;
        std::uint64_t initial = 0;
        std::uint64_t most = 0;
        if (file >> least >> initial >> most) smaller = std::min(most, smaller.value_or(most));
    }
    return smaller;
}

void note_small_buffers(ShownPlan& shown) {
    const auto buffer_bytes = tcp_buffer_max_bytes();
    std::uint64_t needed_bytes = 0;
    for (const ShownNode& node : shown.nodes) {
        needed_bytes = std::max(needed_bytes, node.window_bytes);
    }
    if (!shown.paced || !buffer_bytes || needed_bytes <= *buffer_bytes) return;
    shown.notes.push_back(fmt::format(
        "a pair needs {} bytes in flight to use its rate, but TCP on this machine buffers {} at "
        "most; raise net.ipv4.tcp_wmem and tcp_rmem",
        needed_bytes, *buffer_bytes));
}

void note_missing_prefixes(ShownPlan& shown, const Topology& topology) {
    for (const Cluster& cluster : topology.clusters()) {
        if (!cluster.prefixes.empty()) continue;
        shown.notes.push_back(fmt::format(
            "headwayd needs the prefixes of the hosts of \"{}\" to tell their packets",
            cluster.name));
        return;
    }
}

/// What both kinds of plan end with.
void finish(ShownPlan& shown, const ChosenPattern& pattern) {
    note_small_buffers(shown);
    note_missing_prefixes(shown, pattern.config.topology);
    shown.json["paced"] = shown.paced;
    shown.json["reason"] = shown.reason;
    shown.json["notes"] = shown.notes;
}

// ---------------------------------------------------------------- all-to-alls

void fill_alltoall_node(ShownNode& node, const AllToAllPlan& plan, const Topology& topology) {
    const std::size_t cluster = node.layout.own_cluster;
    node.rates = class_rates(node.layout, plan.rates);
    node.remote = remote_rate(plan, cluster);
    for (std::size_t to = 0; to < topology.clusters().size(); ++to) {
        if (!plan.rates[cluster][to]) continue;
        node.window_bytes =
            std::max(node.window_bytes, pair_window_bytes(plan, topology, cluster, to));
    }
}

// ------------------------------------------------------------ other exchanges

/// The exchange's group of that host: its own, the root's, or its cluster's.
std::optional<std::size_t> group_of(const ChosenPattern& pattern, const Exchange& exchange,
                                    std::size_t host) {
    const auto member = std::find(pattern.hosts.begin(), pattern.hosts.end(), host);
    if (member == pattern.hosts.end()) return std::nullopt;
    if (pattern.measured) return static_cast<std::size_t>(member - pattern.hosts.begin());
    if (pattern.root == host) return exchange.groups.size() - 1;  // the root comes last
    const std::size_t cluster = pattern.config.topology.cluster_of(host);
    for (std::size_t g = 0; g < exchange.groups.size(); ++g) {
        if (exchange.groups[g].cluster == cluster) return g;
    }
    return std::nullopt;
}

void fill_exchange_node(ShownNode& node, const std::vector<ClassRate>& rates) {
    for (std::size_t i = 0; i < node.layout.classes.size(); ++i) {
        const std::size_t to = node.layout.classes[i].cluster;
        node.rates[i] = rates[to];
        if (to != node.layout.own_cluster) {
            node.remote.value += rates[to].value_or(BytesPerSecond{}).value;
        }
    }
}

Json exchange_json(const ChosenPattern& pattern, const Exchange& exchange,
                   const ExchangePlan& plan, const std::optional<std::uint64_t>& message_bytes) {
    const Topology& topology = pattern.config.topology;
    Json json{{"operation", pattern.name()}, {"hosts", pattern.counts.total()}};
    json["root"] = pattern.root ? Json(pattern.host_name(*pattern.root)) : Json(nullptr);
    json["hosts_per_cluster"] = Json::object();
    for (std::size_t c = 0; c < topology.clusters().size(); ++c) {
        json["hosts_per_cluster"][topology.clusters()[c].name] = pattern.counts.per_cluster[c];
    }
    json["target_utilisation"] = pattern.config.policy.plan.target_utilisation();
    json["limiting_link"] = plan.limit ? exchange_link_json(topology, exchange, *plan.limit)
                                       : Json(nullptr);
    json["message_bytes"] = message_bytes ? Json(*message_bytes) : Json(nullptr);
    json["predicted_unpaced"] = prediction_json(plan.unpaced);
    json["predicted_paced"] = plan.chosen ? prediction_json(*plan.chosen) : Json(nullptr);
    return json;
}

std::string exchange_text(const ChosenPattern& pattern) {
    std::string text = fmt::format("{} of {}", pattern.measured ? "traffic matrix" : pattern.name(),
                                   hosts_text(pattern, pattern.counts));
    if (pattern.root) text += fmt::format("; root {}", pattern.host_name(*pattern.root));
    return text;
}

}  // namespace

Result<ShownPlan> show_alltoall(const ChosenPattern& pattern, std::uint32_t ranks_per_host,
                                std::optional<std::uint64_t> message_bytes,
                                const std::vector<std::string>& nodes) {
    const Topology& topology = pattern.config.topology;
    const PlanPolicy& policy = pattern.config.policy.plan;
    auto collective = plan_collective(
        topology, policy, {pattern.counts, pattern.counts, false, ranks_per_host}, message_bytes);
    if (!collective) return tl::unexpected(collective.error());
    const AllToAllPlan& plan = collective->shares;
    const auto small = too_small(pattern.config.policy, message_bytes);
    ShownPlan shown;
    shown.collective = fmt::format("all-to-all of {}", hosts_text(pattern, plan.hosts));
    shown.paced = plan.paced() && !small;
    shown.reason = small.value_or(plan.reason);
    shown.notes = plan.notes;
    if (shown.paced) {
        shown.facts = {{"limiting link", fmt::format("{}, {}", link_to_text(*plan.limit, topology),
                                                     rate_to_text(plan.limit->capacity))},
                       {"senders", fmt::format("{}", plan.limit->senders)},
                       {"each pair", rate_to_text(pair_rate_bits(plan))}};
        shown.planned = collective->paced;
    }
    shown.unpaced = collective->unpaced;
    if (shown.unpaced) {
        const std::uint64_t ranks = ranks_per_host;
        shown.algorithms =
            predict_algorithms(topology, policy, plan, *message_bytes * ranks * ranks);
    }
    for (const std::string& name : nodes) {
        shown.nodes.push_back(make_node(topology, name));
        if (shown.paced) fill_alltoall_node(shown.nodes.back(), plan, topology);
    }
    shown.json = plan_json(topology, policy, *collective);
    finish(shown, pattern);
    return shown;
}

Result<ShownPlan> show_exchange(const ChosenPattern& pattern, std::uint32_t ranks_per_host,
                                std::optional<std::uint64_t> message_bytes,
                                const std::vector<std::string>& nodes,
                                const ModelProgress& progress) {
    const Topology& topology = pattern.config.topology;
    const auto exchange = pattern.exchange(message_bytes.value_or(0), ranks_per_host);
    if (!exchange) return tl::unexpected(exchange.error());
    auto plan = plan_exchange(topology, pattern.config.policy.plan, *exchange, progress);
    if (!plan) return tl::unexpected(plan.error());
    const auto small = too_small(pattern.config.policy, message_bytes);
    ShownPlan shown;
    shown.collective = exchange_text(pattern);
    shown.paced = plan->paced && !small;
    shown.reason = small.value_or(plan->reason);
    if (plan->limit) {
        shown.facts.emplace_back(
            "limiting link",
            fmt::format("{}, {}", exchange_link_text(topology, *exchange, *plan->limit),
                        rate_to_text(exchange_link_rate(topology, *exchange, *plan->limit))));
    }
    shown.unpaced = plan->unpaced;
    if (shown.paced) {
        shown.planned = plan->chosen;
        shown.notes.emplace_back(
            "headwayd paces all-to-alls by itself; these rates can be set by hand (--tc)");
    }
    for (const std::string& name : nodes) {
        shown.nodes.push_back(make_node(topology, name));
        const auto group = group_of(pattern, *exchange, *topology.find_host(name));
        if (shown.paced && group) fill_exchange_node(shown.nodes.back(), plan->rates[*group]);
    }
    shown.json = exchange_json(pattern, *exchange, *plan, message_bytes);
    finish(shown, pattern);
    return shown;
}

}  // namespace headway
