// SPDX-License-Identifier: Apache-2.0
// The rates of models/matb.hpp and npb_pattern.hpp.
#include <algorithm>

#include "base/json.hpp"
#include "eval_interface.hpp"
#include "models/matb.hpp"
#include "models/npb_pattern.hpp"

namespace headway {
namespace {

constexpr std::uint64_t nodes_max = 1'000'000'000;
constexpr std::uint64_t grid_nodes_max = 1 << 22;  // every rank of a grid is looked at
constexpr std::size_t clusters_max = 1'000'000;
constexpr std::size_t edges_max = 4'000'000;
constexpr std::size_t pairs_max = 4'000'000;

// ---------------------------------------------------------- clusters, benchmarks

NpbBenchmark read_benchmark(EvalInput& in) {
    const EvalValue value = in["benchmark"];
    const std::string name = value.text();
    const auto benchmark = npb_benchmark(name);
    if (!benchmark) value.fail("must be one of BT, CG, FT, IS, LU, MG, SP");
    return benchmark.value_or(NpbBenchmark::is);
}

EvalJson share_result(const NpbShare& share) {
    // a whole number of senders is one in JSON, too
    EvalJson senders = share.senders;
    const auto whole = static_cast<std::uint64_t>(share.senders);
    if (static_cast<double>(whole) == share.senders) senders = whole;
    return {{"senders", std::move(senders)}, {"matb", share.matb_bps}};
}

EvalResult table1(const EvalJson& input) {
    EvalInput in(input);
    const NpbBenchmark benchmark = read_benchmark(in);
    const auto nodes = in["N"].count(1, nodes_max);
    const double bandwidth = in["B"].number_or_infinite(Sign::positive);
    if (auto error = in.finish()) return tl::unexpected(*error);
    return share_result(npb_table1(benchmark, nodes, bandwidth));
}

EvalResult pattern(const EvalJson& input) {
    EvalInput in(input);
    const NpbBenchmark benchmark = read_benchmark(in);
    const auto nodes = static_cast<std::uint32_t>(in["N"].count(1, grid_nodes_max));
    const double bandwidth = in["B"].number_or_infinite(Sign::positive);
    if (auto error = in.finish()) return tl::unexpected(*error);
    const auto share = npb_pattern(benchmark, nodes, bandwidth);
    if (!share) return eval_failure("N: {}", share.error().message);
    return share_result(*share);
}

EvalResult alltoall_clusters(const EvalJson& input) {
    EvalInput in(input);
    const EvalValue sizes = in["sizes"];
    std::vector<MatbCluster> clusters(sizes.size(0, clusters_max));
    for (std::size_t i = 0; i < clusters.size(); ++i) {
        clusters[i].hosts = sizes[i].count(0, nodes_max);
    }
    const auto uplinks =
        in["uplink"].numbers_or_infinite(clusters.size(), clusters.size(), Sign::positive);
    if (auto error = in.finish()) return tl::unexpected(*error);
    for (std::size_t i = 0; i < clusters.size(); ++i) clusters[i].uplink_bps = uplinks[i];
    return EvalJson{{"matb", matb_alltoall_clusters(clusters)}};
}

EvalResult pacing(const EvalJson& input) {
    EvalInput in(input);
    const double link_bps = in["link_rate"].number(Sign::positive);
    const EvalValue rate = in["rate"];
    const double rate_bps = rate.number(Sign::positive);
    const double packet_bytes = in["packet"].number(Sign::positive);
    if (rate_bps > link_bps) rate.fail("is more than the link has");
    if (auto error = in.finish()) return tl::unexpected(*error);
    return EvalJson{{"gap_bytes", paper_gap_bytes(link_bps, rate_bps, packet_bytes)},
                    {"interval_s", paper_interval_s(rate_bps, packet_bytes)}};
}

// -------------------------------------------------------------------------- tree

std::vector<MatbEdge> read_edges(const EvalValue& list) {
    std::vector<MatbEdge> edges(list.size(1, edges_max));
    for (std::size_t i = 0; i < edges.size(); ++i) {
        const EvalValue edge = list[i];
        if (edge.size(4, 4) == 0) break;
        edges[i] = {edge[0].name(), edge[1].name(), edge[2].number_or_infinite(Sign::positive),
                    edge[3].number_or_infinite(Sign::positive)};
    }
    return edges;
}

std::uint32_t read_node(const EvalValue& value, const MatbTree& tree) {
    const auto node = tree.find(value.name());
    if (!node) value.fail("is not in edges");
    return node.value_or(0);
}

std::vector<MatbPair> read_pairs(const EvalValue& list, const MatbTree& tree) {
    std::vector<MatbPair> pairs(list.size(0, pairs_max));
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        if (list[i].size(2, 2) == 0) break;
        pairs[i] = {read_node(list[i][0], tree), read_node(list[i][1], tree)};
    }
    return pairs;
}

/// [dir, child, senders, share], sorted: "down" first, numbers before strings.
EvalJson links_result(const MatbTree& tree, const std::vector<MatbShare>& links) {
    EvalJson list = EvalJson::array();
    for (const MatbShare& link : links) {
        list.push_back({link.direction == MatbDirection::up ? "up" : "down",
                        parse_json<EvalJson>(tree.name(link.child)), link.senders, link.share_bps});
    }
    std::sort(list.begin(), list.end());
    return list;
}

/// Writes the rate of every source of a pair.
EvalJson nodes_result(const MatbTree& tree, const std::vector<MatbPair>& pairs,
                      const std::vector<double>& node_bps) {
    EvalJson by_name = EvalJson::object();
    for (const MatbPair& pair : pairs) {
        const EvalJson name = parse_json<EvalJson>(tree.name(pair.source));
        const std::string key = name.is_string() ? name.get<std::string>() : json_text(name);
        by_name[key] = node_bps[pair.source];
    }
    return by_name;
}

EvalResult tree(const EvalJson& input) {
    EvalInput in(input);
    const auto edges = read_edges(in["edges"]);
    const EvalValue pair_list = in["pairs"];
    const auto links = static_cast<MatbLinks>(in["links"].choice({"trunk", "trunk+up", "all"}));
    if (auto error = in.finish()) return tl::unexpected(*error);
    const auto nodes = MatbTree::make(edges);
    if (!nodes) return eval_failure("edges: {}", nodes.error().message);
    const auto pairs = read_pairs(pair_list, *nodes);
    if (auto error = in.finish()) return tl::unexpected(*error);
    const auto result = matb(*nodes, pairs, links);
    if (!result) return tl::unexpected(result.error().message);

    return EvalJson{{"links", links_result(*nodes, result->links)},
                    {"node", nodes_result(*nodes, pairs, result->node_bps)},
                    {"pair", result->pair_bps}};
}

constexpr EvalOperation operations[] = {
    {"matb", "table1", table1},
    {"matb", "alltoall_clusters", alltoall_clusters},
    {"matb", "npb_pattern", pattern},
    {"matb", "tree", tree},
    {"matb", "pacing", pacing},
};

}  // namespace

std::span<const EvalOperation> eval_matb_operations() { return operations; }

}  // namespace headway
