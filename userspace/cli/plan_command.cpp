// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_command.hpp"

#include <algorithm>
#include <fstream>

#include <fmt/format.h>

#include "cli/chosen_hosts.hpp"
#include "daemon/config.hpp"
#include "daemon/config_report.hpp"
#include "daemon/host_name.hpp"
#include "daemon/node_planner.hpp"
#include "daemon/plan_json.hpp"
#include "model/prediction.hpp"
#include "model/what_if.hpp"
#include "netlink/tc_batch.hpp"

namespace headway {
namespace {

/// A node whose classes are shown.
struct ShownNode {
    std::string name;
    KernelLayout layout;
    std::vector<ClassRate> rates;
    BytesPerSecond remote;            ///< towards all other clusters together
    std::uint64_t window_bytes = 0;   ///< that its farthest pair needs in flight
};

struct Shown {
    const Config& config;
    CollectivePlan collective;
    bool paced = false;  ///< by size as well
    std::string reason;
    std::vector<AlgorithmTime> algorithms;  ///< none without a message size
    std::vector<ShownNode> nodes;

    [[nodiscard]] const AllToAllPlan& plan() const { return collective.shares; }
};

ExitStatus usage_error(const Error& error) {
    fmt::print(stderr, "headway plan: {}\n", error.message);
    return ExitStatus::bad_config;
}

/// The node asked for; else this host; else the first host of each cluster
/// that takes part, since all hosts of a cluster are alike.
Result<std::vector<std::string>> chosen_nodes(const Config& config, const PlanOptions& options,
                                              const HostCounts& counts) {
    const Topology& topology = config.topology;
    if (!options.node.empty()) {
        if (topology.find_host(options.node)) return std::vector{options.node};
        return failure("--node: host \"{}\" is in no cluster of {}", options.node, config.file);
    }
    const std::string own = config.node.name.value_or(host_name());
    if (topology.find_host(own)) return std::vector{own};
    if (options.format == PlanFormat::tc) {
        return failure("this host, \"{}\", is in no cluster of {}; name a node with --node", own,
                       config.file);
    }
    std::vector<std::string> nodes;
    for (std::size_t c = 0; c < topology.clusters().size(); ++c) {
        if (counts.per_cluster[c] > 0) nodes.push_back(topology.clusters()[c].hosts.front());
    }
    return nodes;
}

ShownNode show_node(const Shown& shown, const std::string& name) {
    const Topology& topology = shown.config.topology;
    const std::size_t cluster = topology.cluster_of(*topology.find_host(name));
    ShownNode node{name, make_kernel_layout(topology, cluster), {}, {}, 0};
    node.rates.resize(node.layout.classes.size());
    if (!shown.paced) return node;
    node.rates = class_rates(node.layout, shown.plan().rates);
    node.remote = remote_rate(shown.plan(), cluster);
    for (std::size_t to = 0; to < topology.clusters().size(); ++to) {
        if (!shown.plan().rates[cluster][to]) continue;
        node.window_bytes = std::max(node.window_bytes,
                                     pair_window_bytes(shown.plan(), topology, cluster, to));
    }
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

void note_small_buffers(Shown& shown) {
    const auto buffer_bytes = tcp_buffer_max_bytes();
    std::uint64_t needed_bytes = 0;
    for (const ShownNode& node : shown.nodes) {
        needed_bytes = std::max(needed_bytes, node.window_bytes);
    }
    if (!shown.paced || !buffer_bytes || needed_bytes <= *buffer_bytes) return;
    shown.collective.shares.notes.push_back(fmt::format(
        "a pair needs {} bytes in flight to use its rate, but TCP on this machine buffers {} at "
        "most; raise net.ipv4.tcp_wmem and tcp_rmem",
        needed_bytes, *buffer_bytes));
}

// --------------------------------------------------------------------- output

std::string class_rate_text(const ClassRate& rate) {
    return rate ? rate_to_text(rate->bits()) : "unlimited";
}

std::string range_text(const Prediction& prediction) {
    if (prediction.timeouts == 0) return seconds_text(prediction.low_s);
    return fmt::format("{} .. {}", seconds_text(prediction.low_s),
                       seconds_text(prediction.high_s));
}

void print_predictions(const Shown& shown) {
    if (!shown.collective.unpaced) return;
    fmt::print("unpaced        {}: {}\n", range_text(*shown.collective.unpaced),
               shown.collective.unpaced->reason);
    if (shown.paced && shown.collective.paced) {
        fmt::print("as planned     {}: {}\n", range_text(*shown.collective.paced),
                   shown.collective.paced->reason);
    }
    if (shown.algorithms.empty()) return;
    fmt::print("\n  {:<10}  {:<22}  {}\n", "algorithm", "unpaced",
               shown.paced ? "as planned" : "");
    for (const AlgorithmTime& time : shown.algorithms) {
        fmt::print("  {:<10}  {:<22}  {}\n", algorithm_name(time.algorithm),
                   range_text(time.unpaced), shown.paced ? range_text(time.paced) : "");
    }
}

void print_text(const Shown& shown) {
    const Topology& topology = shown.config.topology;
    const AllToAllPlan& plan = shown.plan();
    std::string clusters;
    for (std::size_t c = 0; c < topology.clusters().size(); ++c) {
        if (plan.hosts.per_cluster[c] == 0) continue;
        clusters += fmt::format("{}{} of {}", clusters.empty() ? "" : ", ",
                                plan.hosts.per_cluster[c], topology.clusters()[c].name);
    }
    fmt::print("configuration  {}\n", shown.config.file);
    fmt::print("collective     all-to-all of {} hosts: {}\n", plan.hosts.total(), clusters);
    fmt::print("paced          {}: {}\n", shown.paced ? "yes" : "no", shown.reason);
    if (shown.paced) {
        fmt::print("limiting link  {}, {}\n", link_to_text(*plan.limit, topology),
                   rate_to_text(plan.limit->capacity));
        fmt::print("senders        {}\n", plan.limit->senders);
        fmt::print("each pair      {}\n", rate_to_text(pair_rate_bits(plan)));
    }
    for (const std::string& note : plan.notes) fmt::print("note           {}\n", note);
    print_predictions(shown);
    for (const ShownNode& node : shown.nodes) {
        const Cluster& own = topology.clusters()[node.layout.own_cluster];
        fmt::print("\nnode {} of cluster {}, interface {}\n", node.name, own.name,
                   shown.config.node.interface);
        fmt::print("  {:<6}  {:<16}  {}\n", "class", "towards", "wire rate");
        for (std::size_t i = 0; i < node.layout.classes.size(); ++i) {
            const ClassLayout& target = node.layout.classes[i];
            fmt::print("  {:<6}  {:<16}  {}\n", target.classid.to_string(),
                       topology.clusters()[target.cluster].name + (i == 0 ? " (own)" : ""),
                       class_rate_text(node.rates[i]));
        }
    }
}

void print_json(const Shown& shown) {
    Json json{{"config", shown.config.file}};
    json.update(plan_json(shown.config.topology, shown.config.policy.plan, shown.collective));
    json["algorithms"] = Json::array();
    for (const AlgorithmTime& time : shown.algorithms) {
        json["algorithms"].push_back({{"name", algorithm_name(time.algorithm)},
                                      {"unpaced", prediction_json(time.unpaced)},
                                      {"paced", prediction_json(time.paced)}});
    }
    json["paced"] = shown.paced;
    json["reason"] = shown.reason;
    json["nodes"] = Json::array();
    for (const ShownNode& node : shown.nodes) {
        const Cluster& own = shown.config.topology.clusters()[node.layout.own_cluster];
        json["nodes"].push_back(
            {{"node", node.name},
             {"cluster", own.name},
             {"interface", shown.config.node.interface},
             {"remote_bytes_per_s", shown.paced ? Json(node.remote.value) : Json(nullptr)},
             {"pair_window_bytes", node.window_bytes},
             {"classes", class_rates_json(shown.config.topology, node.layout, node.rates)}});
    }
    fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
}

void print_tc(const Shown& shown) {
    const ShownNode& node = shown.nodes.front();
    const std::string& device = shown.config.node.interface;
    fmt::print("# node {}: set up by headwayd\n{}", node.name,
               tc_batch(device, node.layout.set_up));
    std::vector<Change> changes;
    for (std::size_t i = 0; i < node.rates.size(); ++i) {
        if (node.rates[i]) {
            changes.emplace_back(ChangeClassRate{node.layout.classes[i].classid, node.rates[i]});
        }
    }
    fmt::print("# while the all-to-all runs: {}\n{}", shown.reason, tc_batch(device, changes));
}

void print_plan(const Shown& shown, PlanFormat format) {
    switch (format) {
        case PlanFormat::text: print_text(shown); break;
        case PlanFormat::json: print_json(shown); break;
        case PlanFormat::tc: print_tc(shown); break;
    }
}

}  // namespace

ExitStatus plan_command(const PlanOptions& options) {
    auto config = load_config(options.config);
    if (!config) {
        report_config_errors(config.error());
        return ExitStatus::bad_config;
    }
    if (const auto changed = apply_what_if(config->topology, options.what_if); !changed) {
        return usage_error(changed.error());
    }
    const auto hosts = chosen_hosts(config->topology, options.hosts);
    if (!hosts) return usage_error(hosts.error());
    const HostCounts counts = config->topology.count(*hosts);
    const auto nodes = chosen_nodes(*config, options, counts);
    if (!nodes) return usage_error(nodes.error());

    auto plan = plan_collective(config->topology, config->policy.plan,
                                {counts, counts, false, options.ranks_per_host},
                                options.message_bytes);
    if (!plan) {
        fmt::print(stderr, "headway plan: {}\n", plan.error().message);
        return ExitStatus::failure;
    }
    const auto small = too_small(config->policy, options.message_bytes);
    Shown shown{*config, std::move(*plan), false, "", {}, {}};
    shown.paced = shown.plan().paced() && !small;
    shown.reason = small.value_or(shown.plan().reason);
    if (shown.collective.unpaced) {
        const std::uint64_t ranks = options.ranks_per_host;
        shown.algorithms = predict_algorithms(config->topology, config->policy.plan, shown.plan(),
                                              *options.message_bytes * ranks * ranks);
    }
    for (const std::string& name : *nodes) shown.nodes.push_back(show_node(shown, name));
    note_small_buffers(shown);
    print_plan(shown, options.format);
    return ExitStatus::ok;
}

}  // namespace headway
