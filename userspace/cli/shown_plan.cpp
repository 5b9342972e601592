// SPDX-License-Identifier: Apache-2.0
#include "cli/shown_plan.hpp"

#include <algorithm>
#include <fstream>

#include <fmt/ranges.h>

#include "base/hostlist.hpp"
#include "base/text_lines.hpp"
#include "jobs/node_planner.hpp"
#include "plan/planner_measured.hpp"
#include "plan/traffic_plan.hpp"

namespace headway {
namespace {

/// "6 hosts: 4 of a, 2 of b"; many clusters are told by what they have in common: "4 of each of
/// leaf[0-99]".
std::string hosts_text(const ChosenPattern& pattern, const HostCounts& counts) {
    constexpr std::size_t told_alone_max = 8;
    const auto& clusters = pattern.config.topology.clusters();
    std::vector<std::pair<std::uint32_t, std::vector<std::string>>> groups;
    for (std::size_t c = 0; c < clusters.size(); ++c) {
        const std::uint32_t count = counts.per_cluster[c];
        if (count == 0) continue;
        auto group = std::ranges::find(groups, count, [](const auto& one) { return one.first; });
        if (group == groups.end() || counts.clusters_used() <= told_alone_max)
            group = groups.insert(groups.end(), {count, {}});
        group->second.push_back(clusters[c].name);
    }
    std::string list;
    for (const auto& [count, names] : groups) {
        list += fmt::format("{}{} of {}{}", list.empty() ? "" : ", ", count,
                            names.size() > 1 ? "each of " : "", format_hostlist(names));
    }
    return counted(counts.total(), "host") + ": " + list;
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
        "a pair needs {} in flight to use its rate, but TCP on this machine buffers {} at most; "
        "raise net.ipv4.tcp_wmem and tcp_rmem",
        bytes_text(static_cast<double>(needed_bytes)), bytes_text(static_cast<double>(*buffer_bytes))));
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

// ------------------------------------------------------------------ operations

/// headwayd's planner on that node.
Result<NodePlanner> planner_on(const ChosenPattern& pattern, const std::string& name) {
    Config config = pattern.config;
    config.node.name = name;
    return NodePlanner::make(std::move(config), name);
}

bool takes_part(const ChosenPattern& pattern, const std::string& name) {
    const auto host = pattern.config.topology.find_host(name);
    return host && std::ranges::find(pattern.hosts, *host) != pattern.hosts.end();
}

std::vector<std::string> names_of(const ChosenPattern& pattern) {
    std::vector<std::string> names;
    for (const std::size_t host : pattern.hosts) names.push_back(pattern.host_name(host));
    return names;
}

ShownNode make_node(const Topology& topology, const std::string& name) {
    const std::size_t cluster = topology.cluster_of(*topology.find_host(name));
    ShownNode node{name, make_kernel_layout(topology, cluster, {}, plan_burst_bytes(topology, cluster)),
                   plan_bursts(topology, cluster), {}, {}, 0};
    node.rates.resize(node.layout.classes.size());
    return node;
}

void set_rates(ShownNode& node, const NodePlan& plan) {
    if (!plan.paced) return;
    node.rates = plan.rates;
    for (std::size_t i = 0; i < node.layout.classes.size(); ++i) {
        if (node.layout.classes[i].cluster == node.layout.own_cluster) continue;
        node.remote.value += node.rates[i].value_or(BytesPerSecond{}).value;
    }
}

std::string link_text(const Topology& topology, const RatedLink& limit) {
    return fmt::format("{}, {}", topology.name_of(limit), rate_to_text(limit.capacity));
}

/// Notes what an all-to-all's nodes share, and what each of their pairs has in flight.
void tell_alltoall(ShownPlan& shown, const CollectivePlan& plan, const Topology& topology) {
    const AllToAllPlan& shares = plan.shares;
    shown.notes.insert(shown.notes.end(), shares.notes.begin(), shares.notes.end());
    if (!shown.paced) return;
    shown.facts = {{"limiting link", link_text(topology, *shares.limit)},
                   {"senders", fmt::format("{}", shares.limit->senders)},
                   {"each pair", rate_to_text(shares.pair_rate)}};
    for (ShownNode& node : shown.nodes) {
        const std::size_t cluster = node.layout.own_cluster;
        if (node.remote.value == 0) continue;
        node.remote = remote_rate(shares, cluster);
        for (std::size_t to = 0; to < topology.clusters().size(); ++to) {
            if (!shares.rates[cluster][to]) continue;
            node.window_bytes =
                std::max(node.window_bytes, pair_window_bytes(shares, topology, cluster, to));
        }
    }
}

Json exchange_json(const ChosenPattern& pattern, const std::optional<RatedLink>& limit,
                   const std::optional<std::uint64_t>& message_bytes) {
    const Topology& topology = pattern.config.topology;
    Json json{{"operation", pattern.name()}, {"hosts", pattern.counts.total()}};
    json["root"] = pattern.root ? Json(pattern.host_name(*pattern.root)) : Json(nullptr);
    json["hosts_per_cluster"] = Json::object();
    for (std::size_t c = 0; c < topology.clusters().size(); ++c) {
        json["hosts_per_cluster"][topology.clusters()[c].name] = pattern.counts.per_cluster[c];
    }
    json["target_utilisation"] = pattern.config.policy.plan.target_utilisation();
    json["limiting_link"] = limit ? link_json(topology, *limit) : Json(nullptr);
    json["message_bytes"] = message_bytes ? Json(*message_bytes) : Json(nullptr);
    return json;
}

void tell_limit(ShownPlan& shown, const Topology& topology,
                const std::optional<RatedLink>& limit) {
    if (!limit) return;
    shown.facts.emplace_back("limiting link", link_text(topology, *limit));
    if (limit->fill.links > 1) shown.facts.emplace_back("its links", fill_text(limit->fill));
}

CollectiveHosts hosts_of(const ChosenPattern& pattern, std::uint32_t ranks_per_host) {
    CollectiveHosts hosts;
    hosts.operation = pattern.planned;
    hosts.job = hosts.communicator = format_hostlist(names_of(pattern));
    hosts.ranks_per_host = ranks_per_host;
    if (pattern.root) hosts.root = pattern.host_name(*pattern.root);
    return hosts;
}

/// The plan that the nodes' rates are from: times, links, and all that JSON has of it.
Result<void> explain(ShownPlan& shown, const ChosenPattern& pattern, const NodePlanner& planner,
                     const CalledPlan& called, const std::optional<std::uint64_t>& message_bytes) {
    const Topology& topology = pattern.config.topology;
    const auto asked = planner.pattern_of(called.hosts);
    if (!asked) return tl::unexpected(asked.error());
    const auto bytes = size_to_plan(*asked, called.message_bytes);
    if (called.message_bytes != message_bytes) {
        shown.notes.push_back(fmt::format(
            "blocks are small and many: planned as one message of {} from each node to each other",
            bytes_text(static_cast<double>(*called.message_bytes))));
    }
    if (called.message_bytes && bytes != called.message_bytes) {
        shown.notes.push_back(
            bytes ? fmt::format("planned for {}: sizes are rounded up to a power of two, so that all "
                                "ranks have the same plan", bytes_text(static_cast<double>(*bytes)))
                  : fmt::format("planned for any size: the ranks of {} may name different ones",
                                pattern.planned->name));
    }
    if (called.step_bytes && called.step_bytes != message_bytes) {
        shown.notes.push_back(fmt::format(
            "the ring passes the root's data on in parts, one for each rank, planned as {} a step",
            bytes_text(static_cast<double>(planned_bytes(*called.step_bytes)))));
    }
    if (pattern.planned->has_root) {
        const auto rooted = planner.plan_at_root(*asked, bytes);
        if (!rooted) return tl::unexpected(rooted.error());
        tell_limit(shown, topology, rooted->plan.limit);
        if (bytes) shown.unpaced = rooted->plan.unpaced;
        shown.json = exchange_json(pattern, rooted->plan.limit, message_bytes);
        return {};
    }
    const auto plan = planner.plan_from_all(*asked, bytes);
    if (!plan) return tl::unexpected(plan.error());
    shown.json = plan_json(topology, pattern.config.policy.plan, *plan);
    shown.json["operation"] = pattern.name();
    shown.json["message_bytes"] = message_bytes ? Json(*message_bytes) : Json(nullptr);
    if (pattern.planned->as == PlannedAs::nothing) return {};
    if (shown.runs != glue::Algorithm::ring) tell_alltoall(shown, *plan, topology);
    shown.unpaced = plan->unpaced;
    if (bytes && pattern.planned->name == "alltoall") {
        const std::uint64_t ranks = called.hosts.ranks_per_host;
        shown.algorithms = predict_algorithms(topology, pattern.config.policy.plan, plan->shares,
                                              *bytes * ranks * ranks);
    }
    return {};
}

/// Names the algorithm that loses nothing, where packets may be lost and nothing is paced.
void note_unpaced_losses(ShownPlan& shown) {
    if (shown.paced || !shown.unpaced || shown.unpaced->loses_nothing() || shown.algorithms.empty()) return;
    const AlgorithmTime& best = *best_algorithm(shown.algorithms);
    if (!best.unpaced.loses_nothing()) return;
    shown.notes.push_back(fmt::format("all messages at once may lose packets, and nothing is paced against it: the "
                                      "algorithm {} loses none; where the MPI library does not choose it by itself, "
                                      "--rules FILE writes Open MPI's rules",
                                      algorithm_name(best.algorithm)));
}

std::string pattern_text(const ChosenPattern& pattern) {
    const std::string_view name = pattern.measured           ? "traffic matrix"
                                  : pattern.name() == "alltoall" ? "all-to-all"
                                                                 : pattern.name();
    std::string text = fmt::format("{} of {}", name, hosts_text(pattern, pattern.counts));
    if (pattern.root) text += fmt::format("; root {}", pattern.host_name(*pattern.root));
    return text;
}

Result<ShownPlan> show_operation(const ChosenPattern& pattern, std::uint32_t ranks_per_host,
                                 const std::optional<std::uint64_t>& message_bytes,
                                 const std::vector<std::string>& nodes) {
    const CollectiveHosts hosts = hosts_of(pattern, ranks_per_host);
    ShownPlan shown;
    shown.collective = pattern_text(pattern);
    const auto planner = planner_on(pattern, pattern.host_name(pattern.hosts.front()));
    if (!planner) return tl::unexpected(planner.error());
    auto called = plan_call(*planner, hosts, message_bytes);
    if (!called) return tl::unexpected(called.error());
    shown.paced = called->plan.paced;
    shown.reason = called->plan.reason;
    shown.runs = called->algorithm;
    for (const std::string& name : nodes) {
        shown.nodes.push_back(make_node(pattern.config.topology, name));
        if (!takes_part(pattern, name)) continue;
        const auto there = planner->on_node(name);
        if (!there) return tl::unexpected(there.error());
        const auto of_node = plan_call(*there, hosts, message_bytes);
        if (!of_node) return tl::unexpected(of_node.error());
        set_rates(shown.nodes.back(), of_node->plan);
    }
    if (auto done = explain(shown, pattern, *planner, *called, message_bytes); !done) {
        return tl::unexpected(done.error());
    }
    if (message_bytes && pattern.operation()) {
        const Topology& topology = pattern.config.topology;
        auto models = predict_models(topology, pattern.config.policy.plan,
                                     {*pattern.operation(), pattern.counts,
                                      pattern.root ? topology.cluster_of(*pattern.root) : 0, ranks_per_host,
                                      measured_parameters(pattern.config)},
                                     *message_bytes);
        if (models) shown.models = std::move(*models);
        else shown.notes.push_back("the models: " + models.error().message);
    }
    note_unpaced_losses(shown);
    if (!called->no_ring.empty()) shown.notes.push_back(called->no_ring);
    if (shown.paced || shown.runs == glue::Algorithm::ring) shown.planned = called->predicted;
    return shown;
}

// -------------------------------------------------------------------- matrices

/// All hosts' rates at once: what NodePlanner::plan() has for each of them.
Result<ShownPlan> show_matrix(const ChosenPattern& pattern, const std::vector<std::string>& nodes) {
    const Topology& topology = pattern.config.topology;
    const Exchange& exchange = *pattern.measured;
    const TrafficRequest request = matrix_traffic(names_of(pattern), exchange.bytes);
    const auto plan = plan_traffic(topology, pattern.config.policy.plan, pattern.hosts, request.flows);
    if (!plan) return tl::unexpected(plan.error());
    ShownPlan shown;
    shown.collective = pattern_text(pattern);
    shown.paced = plan->paced;
    shown.reason = plan->reason;
    const double use = pattern.config.policy.plan.target_utilisation();
    const ExchangeNetwork unpaced(topology, exchange, 1);
    shown.unpaced = predict(unpaced);
    shown.unpaced->measured = measured_time(topology, exchange, *shown.unpaced);
    const auto limit = busiest_link(unpaced);
    tell_limit(shown, topology, limit);
    if (plan->paced) {
        ExchangeNetwork network(topology, exchange, use);
        network.cap_flows(plan->rates);
        shown.planned = predict(network);
    }
    for (const std::string& name : nodes) {
        shown.nodes.push_back(make_node(topology, name));
        if (!takes_part(pattern, name)) continue;
        const auto planner = planner_on(pattern, name);
        if (!planner) return tl::unexpected(planner.error());
        const auto of_node = planner->plan(request);
        if (!of_node) return tl::unexpected(of_node.error());
        set_rates(shown.nodes.back(), *of_node);
    }
    shown.json = exchange_json(pattern, limit, std::nullopt);
    return shown;
}

/// Adds what every plan ends with.
void finish(ShownPlan& shown, const ChosenPattern& pattern) {
    note_small_buffers(shown);
    note_missing_prefixes(shown, pattern.config.topology);
    if (!pattern.what_if.empty()) {
        shown.facts.insert(shown.facts.begin(), {"what if", fmt::format("{}", fmt::join(pattern.what_if, ", "))});
        shown.json["what_if"] = pattern.what_if;
    }
    shown.json["paced"] = shown.paced;
    shown.json["reason"] = shown.reason;
    shown.json["rates_for"] =
        shown.runs != glue::Algorithm::native ? Json(name_of(shown.runs)) : Json(nullptr);
    shown.json["predicted_unpaced"] = shown.unpaced ? prediction_json(*shown.unpaced) : Json(nullptr);
    shown.json["predicted_paced"] = shown.planned ? prediction_json(*shown.planned) : Json(nullptr);
    shown.json["notes"] = shown.notes;
}

}  // namespace

Result<CalledPlan> plan_of_hosts(const ChosenPattern& pattern, const HostCounts& counts,
                                 std::uint32_t ranks_per_host, std::uint64_t message_bytes) {
    CollectiveHosts hosts = hosts_of(pattern, ranks_per_host);
    std::vector<std::uint32_t> left = counts.per_cluster;
    // the root is among them
    if (hosts.root) --left[pattern.config.topology.cluster_of(*pattern.root)];
    std::vector<std::string> names = names_of(pattern);
    std::erase_if(names, [&](const std::string& name) {
        if (name == hosts.root) return false;
        std::uint32_t& more = left[pattern.config.topology.cluster_of(
            *pattern.config.topology.find_host(name))];
        return more == 0 || more-- == 0;
    });
    hosts.job = hosts.communicator = format_hostlist(names);
    const auto planner = planner_on(pattern, names.front());
    if (!planner) return tl::unexpected(planner.error());
    return plan_call(*planner, hosts, message_bytes);
}

Result<ShownPlan> show_plan(const ChosenPattern& pattern, std::uint32_t ranks_per_host,
                            std::optional<std::uint64_t> message_bytes,
                            const std::vector<std::string>& nodes) {
    auto shown = pattern.measured ? show_matrix(pattern, nodes)
                                  : show_operation(pattern, ranks_per_host, message_bytes, nodes);
    if (shown) finish(*shown, pattern);
    return shown;
}

}  // namespace headway
