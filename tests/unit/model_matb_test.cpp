// SPDX-License-Identifier: Apache-2.0
// Takano's MATB on trees, Table I and the process grids, pacing arithmetic.
#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "base/wire.hpp"
#include "models/matb.hpp"
#include "models/npb_pattern.hpp"

namespace headway::test {
namespace {

constexpr double gbit = 1e9;
constexpr double infinite = std::numeric_limits<double>::infinity();

/// Clusters "a", "b", ... around "core"; hosts "a0", "a1", ...
std::vector<MatbEdge> star(const std::vector<std::uint64_t>& sizes, double trunk, double edge) {
    std::vector<MatbEdge> edges;
    for (std::size_t c = 0; c < sizes.size(); ++c) {
        const std::string name(1, static_cast<char>('a' + c));
        edges.push_back({name, "core", trunk, trunk});
        for (std::uint64_t h = 0; h < sizes[c]; ++h) {
            edges.push_back({fmt::format("{}{}", name, h), name, edge, edge});
        }
    }
    return edges;
}

std::vector<MatbTree::Node> hosts_of(const MatbTree& tree) {
    std::vector<MatbTree::Node> hosts;
    for (MatbTree::Node node = 0; node < tree.size(); ++node) {
        if (tree.is_host(node)) hosts.push_back(node);
    }
    return hosts;
}

std::vector<MatbPair> all_pairs(const MatbTree& tree) {
    std::vector<MatbPair> pairs;
    for (const auto from : hosts_of(tree)) {
        for (const auto to : hosts_of(tree)) {
            if (from != to) pairs.push_back({from, to});
        }
    }
    return pairs;
}

// Two clusters of 32, a trunk of 10 Gbit/s: 312.5 Mbit/s. (Table I, FT)
TEST(Matb, AllToAllOfTwoClusters) {
    const auto tree = MatbTree::make(star({32, 32}, 10 * gbit, gbit)).value();
    const auto result = matb(tree, all_pairs(tree), MatbLinks::trunk).value();
    for (const auto host : hosts_of(tree)) EXPECT_EQ(result.node_bps[host], 312.5e6);
    // up and down of two trunks, 32 senders each
    ASSERT_EQ(result.links.size(), 4U);
    for (const MatbShare& link : result.links) EXPECT_EQ(link.senders, 32U);
}

// Three hosts of a send to b0: the trunk is shared by three, and b0's own link
// by as many, which is less: 1 Gbit/s / 3.  Each sender's own link is its own.
TEST(Matb, WhichLinksCount) {
    const auto tree = MatbTree::make(star({4, 4}, 6 * gbit, gbit)).value();
    const auto node = [&](const char* name) { return tree.find(name).value(); };
    const std::vector<MatbPair> pairs{{node("a0"), node("b0")},
                                      {node("a1"), node("b0")},
                                      {node("a2"), node("b0")},
                                      {node("a3"), node("a0")}};
    const auto trunk = matb(tree, pairs, MatbLinks::trunk).value();
    EXPECT_EQ(trunk.pair_bps, (std::vector<double>{2e9, 2e9, 2e9, infinite}));
    const auto up = matb(tree, pairs, MatbLinks::trunk_up).value();
    EXPECT_EQ(up.pair_bps, (std::vector<double>{1e9, 1e9, 1e9, 1e9}));
    const auto all = matb(tree, pairs, MatbLinks::all).value();
    EXPECT_EQ(all.pair_bps, (std::vector<double>{gbit / 3, gbit / 3, gbit / 3, 1e9}));
    EXPECT_EQ(all.node_bps[node("a3")], 1e9);
    EXPECT_EQ(all.node_bps[node("b0")], infinite);  // sends nothing
}

// Each direction has its own capacity, and a source counts once per link.
TEST(Matb, DirectionsAndDistinctSources) {
    const auto tree =
        MatbTree::make({{"a", "r", 8, 2}, {"b", "r", 6, 3}, {"x", "a", 9, 9}, {"y", "b", 9, 9},
                        {"z", "b", 9, 9}})
            .value();
    const auto node = [&](const char* name) { return tree.find(name).value(); };
    const std::vector<MatbPair> pairs{{node("x"), node("y")}, {node("x"), node("z")},
                                      {node("x"), node("y")}, {node("y"), node("x")},
                                      {node("z"), node("x")}};
    const auto result = matb(tree, pairs, MatbLinks::trunk).value();
    // x: min(8/1, 3/1); y and z: min(6/2, 2/2)
    EXPECT_EQ(result.pair_bps, (std::vector<double>{3, 3, 3, 1, 1}));
    EXPECT_EQ(result.node_bps[node("x")], 3);
    EXPECT_EQ(result.node_bps[node("y")], 1);
}

TEST(Matb, ReadsTreesInAnyOrder) {
    const auto tree =
        MatbTree::make({{"x", "s", 1, 1}, {"s", "r", 2, 2}, {"y", "r", 3, 3}}).value();
    EXPECT_EQ(tree.name(MatbTree::root), "r");
    EXPECT_TRUE(tree.is_host(tree.find("x").value()));
    EXPECT_FALSE(tree.is_host(tree.find("s").value()));
    EXPECT_EQ(tree.depth(tree.find("x").value()), 2U);
    EXPECT_FALSE(tree.find("z"));
}

TEST(Matb, RefusesWhatIsNoTree) {
    const auto message = [](const std::vector<MatbEdge>& edges) {
        const auto tree = MatbTree::make(edges);
        return tree ? "" : tree.error().message;
    };
    EXPECT_NE(message({}).find("0 roots"), std::string::npos);
    EXPECT_NE(message({{"a", "b", 1, 1}, {"b", "a", 1, 1}}).find("0 roots"), std::string::npos);
    EXPECT_NE(message({{"a", "a", 1, 1}}).find("0 roots"), std::string::npos);
    EXPECT_NE(message({{"a", "r", 1, 1}, {"a", "s", 1, 1}}).find("two parents"), std::string::npos);
    EXPECT_NE(message({{"a", "r", 1, 1}, {"b", "s", 1, 1}}).find("2 roots"), std::string::npos);
    EXPECT_NE(message({{"x", "r", 1, 1}, {"a", "b", 1, 1}, {"b", "a", 1, 1}}).find("ring"),
              std::string::npos);
    EXPECT_NE(message({{"a", "r", 0, 1}}).find("not positive"), std::string::npos);
    std::vector<MatbEdge> deep;
    for (int i = 0; i < 2000; ++i) deep.push_back({std::to_string(i + 1), std::to_string(i), 1, 1});
    EXPECT_NE(message(deep).find("deeper"), std::string::npos);
    const auto tree = MatbTree::make({{"a", "r", 1, 1}}).value();
    EXPECT_FALSE(matb(tree, std::vector<MatbPair>{{0, 2}}, MatbLinks::all));
}

// ------------------------------------------------------------------- properties

/// Every node below an earlier one, capacities 1 .. 20.
std::vector<MatbEdge> random_tree(std::mt19937& random) {
    const std::uint32_t nodes = 3 + random() % 25;
    std::vector<MatbEdge> edges;
    for (std::uint32_t i = 1; i < nodes; ++i) {
        edges.push_back({fmt::format("n{}", i), fmt::format("n{}", random() % i),
                         1.0 + random() % 20, 1.0 + random() % 20});
    }
    std::shuffle(edges.begin(), edges.end(), random);
    return edges;
}

/// By sets of names, link by link.
class NaiveMatb {
public:
    using Link = std::pair<std::string, std::string>;  // from, to

    NaiveMatb(const std::vector<MatbEdge>& edges, MatbLinks links) : links_(links) {
        for (const MatbEdge& edge : edges) {
            capacity_[{edge.child, edge.parent}] = edge.up_bps;
            capacity_[{edge.parent, edge.child}] = edge.down_bps;
            parent_[edge.child] = edge.parent;
            switches_.insert(edge.parent);
        }
    }

    void send(const std::string& from, const std::string& to) {
        for (const Link& link : path(from, to)) senders_[link].insert(from);
    }

    double pair(const std::string& from, const std::string& to) {
        double least = infinite;
        for (const Link& link : path(from, to)) {
            least = std::min(least, capacity_[link] / static_cast<double>(senders_[link].size()));
        }
        return least;
    }

private:
    std::vector<std::string> to_root(std::string node) {
        std::vector<std::string> way{node};
        while (parent_.count(node) != 0) way.push_back(node = parent_[node]);
        return way;
    }

    /// Links that count.
    std::vector<Link> path(const std::string& from, const std::string& to) {
        auto up = to_root(from);
        auto down = to_root(to);
        while (up.size() > 1 && down.size() > 1 && up[up.size() - 2] == down[down.size() - 2]) {
            up.pop_back();
            down.pop_back();
        }
        std::vector<Link> all;
        for (std::size_t i = 0; i + 1 < up.size(); ++i) {
            const bool own = switches_.count(up[i]) == 0;
            if (!own || links_ != MatbLinks::trunk) all.push_back({up[i], up[i + 1]});
        }
        for (std::size_t i = 0; i + 1 < down.size(); ++i) {
            const bool own = switches_.count(down[i]) == 0;
            if (!own || links_ == MatbLinks::all) all.push_back({down[i + 1], down[i]});
        }
        return all;
    }

    MatbLinks links_;
    std::map<Link, double> capacity_;
    std::map<std::string, std::string> parent_;
    std::set<std::string> switches_;
    std::map<Link, std::set<std::string>> senders_;
};

TEST(MatbProperty, AgreesWithTheNaiveReference) {
    std::mt19937 random(1);
    for (int i = 0; i < 300; ++i) {
        const auto edges = random_tree(random);
        const auto tree = MatbTree::make(edges).value();
        const auto links = static_cast<MatbLinks>(i % 3);
        const auto hosts = hosts_of(tree);
        NaiveMatb naive(edges, links);
        std::vector<MatbPair> pairs;
        for (std::uint32_t p = random() % 60; p > 0; --p) {
            pairs.push_back({hosts[random() % hosts.size()], hosts[random() % hosts.size()]});
            naive.send(tree.name(pairs.back().source), tree.name(pairs.back().destination));
        }
        const auto result = matb(tree, pairs, links).value();
        std::map<MatbTree::Node, double> node;
        for (std::size_t p = 0; p < pairs.size(); ++p) {
            const auto [from, to] = pairs[p];
            const double wanted = naive.pair(tree.name(from), tree.name(to));
            ASSERT_DOUBLE_EQ(result.pair_bps[p], wanted);
            node[from] = std::min(node.try_emplace(from, infinite).first->second, wanted);
        }
        for (const auto& [host, wanted] : node) ASSERT_DOUBLE_EQ(result.node_bps[host], wanted);
    }
}

// If all senders of a link send at their MATB, the link is not asked for more
// than it has: sum over senders of node MATB <= capacity.
TEST(MatbProperty, NeverOverSubscribes) {
    std::mt19937 random(2);
    for (int i = 0; i < 200; ++i) {
        const auto tree = MatbTree::make(random_tree(random)).value();
        const auto hosts = hosts_of(tree);
        std::vector<MatbPair> pairs;
        for (std::uint32_t p = random() % 60; p > 0; --p) {
            pairs.push_back({hosts[random() % hosts.size()], hosts[random() % hosts.size()]});
        }
        const auto result = matb(tree, pairs, MatbLinks::all).value();
        for (const MatbShare& link : result.links) {
            const double capacity = link.direction == MatbDirection::up
                                        ? tree.up_bps(link.child)
                                        : tree.down_bps(link.child);
            // every sender's rate is at most the share, and there are so many
            EXPECT_LE(link.share_bps * link.senders, capacity * (1 + 1e-12));
        }
        for (std::size_t p = 0; p < pairs.size(); ++p) {
            EXPECT_LE(result.node_bps[pairs[p].source], result.pair_bps[p]);
        }
    }
}

// The closed form knows the pairs of an all-to-all without looking at them.
TEST(MatbProperty, ClosedFormOfClustersEqualsTheTree) {
    std::mt19937 random(4);
    for (int i = 0; i < 200; ++i) {
        std::vector<MatbCluster> clusters(1 + random() % 5);
        std::vector<MatbEdge> edges;
        for (std::size_t c = 0; c < clusters.size(); ++c) {
            clusters[c] = {1 + random() % 6, 1.0 + random() % 20};
            const std::string name(1, static_cast<char>('a' + c));
            edges.push_back({name, "core", clusters[c].uplink_bps, clusters[c].uplink_bps});
            for (std::uint64_t h = 0; h < clusters[c].hosts; ++h) {
                edges.push_back({fmt::format("{}{}", name, h), name, 1, 1});
            }
        }
        const auto tree = MatbTree::make(edges).value();
        const auto wanted = matb(tree, all_pairs(tree), MatbLinks::trunk).value().node_bps;
        const auto got = matb_alltoall_clusters(clusters);
        for (std::size_t c = 0; c < clusters.size(); ++c) {
            const std::string host = fmt::format("{}0", static_cast<char>('a' + c));
            ASSERT_DOUBLE_EQ(got[c], wanted[tree.find(host).value()]);
        }
    }
}

// The clusters without hosts do not count, and one alone is not limited.
TEST(Matb, ClustersWithoutPartners) {
    EXPECT_EQ(matb_alltoall_clusters(std::vector<MatbCluster>{{4, 1}, {0, 1}}),
              (std::vector<double>{infinite, infinite}));
    EXPECT_EQ(matb_alltoall_clusters(std::vector<MatbCluster>{{4, 10}, {0, 1}, {2, infinite}}),
              (std::vector<double>{2.5, infinite, 5}));
}

// Ten times the capacity, ten times the MATB.
TEST(MatbProperty, ScalesWithCapacity) {
    std::mt19937 random(5);
    for (int i = 0; i < 50; ++i) {
        auto edges = random_tree(random);
        const auto rates = [&edges] {
            const auto tree = MatbTree::make(edges).value();
            return matb(tree, all_pairs(tree), MatbLinks::all).value().node_bps;
        };
        const auto once = rates();
        for (auto& edge : edges) {
            edge.up_bps *= 10;
            edge.down_bps *= 10;
        }
        const auto ten = rates();
        for (std::size_t n = 0; n < once.size(); ++n) ASSERT_DOUBLE_EQ(ten[n], 10 * once[n]);
    }
}

// --------------------------------------------------------------------------- NPB

// Table I with the paper's N = 32 and B = 10 Gbit/s.
TEST(Npb, Table1) {
    const auto share = [](NpbBenchmark b) { return npb_table1(b, 32, 10 * gbit); };
    EXPECT_DOUBLE_EQ(share(NpbBenchmark::bt).senders, 16);
    EXPECT_DOUBLE_EQ(share(NpbBenchmark::sp).matb_bps, 625e6);
    EXPECT_DOUBLE_EQ(share(NpbBenchmark::cg).matb_bps, 625e6);
    using enum NpbBenchmark;
    for (const auto all : {lu, mg, ft, is}) {
        EXPECT_DOUBLE_EQ(share(all).senders, 32);
        EXPECT_DOUBLE_EQ(share(all).matb_bps, 312.5e6);
    }
    EXPECT_NEAR(npb_table1(NpbBenchmark::bt, 25, gbit).senders, 2 * std::sqrt(50.0), 1e-12);
}

// From the grids of 64 ranks: as Table I, but for LU.
TEST(Npb, GridsAgreeWithTable1ButForLu) {
    for (std::size_t b = 0; b < npb_names.size(); ++b) {
        const auto benchmark = static_cast<NpbBenchmark>(b);
        const auto grid = npb_pattern(benchmark, 32, 10 * gbit).value();
        const double wanted =
            benchmark == NpbBenchmark::lu ? 8 : npb_table1(benchmark, 32, 10 * gbit).senders;
        EXPECT_EQ(grid.senders, wanted) << npb_names[b];
        EXPECT_EQ(grid.matb_bps, 10 * gbit / wanted) << npb_names[b];
    }
}

// LU: sqrt(2N) of N cross where the grid is square.
TEST(Npb, LuSendersGrowAsTheRoot) {
    for (const std::uint32_t n : {2U, 8U, 32U, 128U, 512U}) {
        EXPECT_EQ(npb_pattern(NpbBenchmark::lu, n, 1)->senders, std::sqrt(2.0 * n));
    }
    // 4 rows of 8: rows of the border are longer than columns
    EXPECT_EQ(npb_pattern(NpbBenchmark::lu, 16, 1)->senders, 8);
}

TEST(Npb, CgSendersAreHalf) {
    for (const std::uint32_t n : {2U, 4U, 8U, 16U, 64U, 128U, 1024U}) {
        EXPECT_EQ(npb_pattern(NpbBenchmark::cg, n, 1)->senders, n / 2) << n;
    }
    // two ranks are one row: they exchange by halves
    EXPECT_EQ(npb_pattern(NpbBenchmark::cg, 1, 1)->senders, 1);
}

TEST(Npb, SmallGrids) {
    EXPECT_EQ(npb_pattern(NpbBenchmark::bt, 2, 1)->senders, 2);    // 2 x 2: one row is both borders
    EXPECT_EQ(npb_pattern(NpbBenchmark::bt, 8, 1)->senders, 8);    // 4 x 4
    EXPECT_EQ(npb_pattern(NpbBenchmark::bt, 72, 1)->senders, 24);  // 12 x 12
    for (const std::uint32_t n : {1U, 2U, 4U, 8U, 16U, 64U, 128U}) {
        EXPECT_EQ(npb_pattern(NpbBenchmark::mg, n, 1)->senders, n) << n;  // slowest extent <= 4
    }
    EXPECT_EQ(npb_pattern(NpbBenchmark::mg, 256, 1)->senders, 128);  // 8 x 8 x 8
    EXPECT_EQ(npb_pattern(NpbBenchmark::ft, 7, 1)->senders, 7);
}

// Neighbourhood is mutual, and has as many members as the grid says.
TEST(Npb, PatternsAreSymmetric) {
    for (std::size_t b = 0; b < npb_names.size(); ++b) {
        const auto benchmark = static_cast<NpbBenchmark>(b);
        for (const std::uint32_t ranks : {1U, 2U, 4U, 8U, 16U, 32U, 36U, 64U, 128U}) {
            if (!check_npb_ranks(benchmark, ranks)) continue;
            for (std::uint32_t rank = 0; rank < ranks; ++rank) {
                for (const std::uint32_t to : npb_destinations(benchmark, ranks, rank)) {
                    ASSERT_LT(to, ranks);
                    ASSERT_NE(to, rank);
                    const auto back = npb_destinations(benchmark, ranks, to);
                    ASSERT_TRUE(std::binary_search(back.begin(), back.end(), rank))
                        << npb_names[b] << " " << ranks << ": " << rank << " -> " << to;
                }
            }
        }
    }
    EXPECT_EQ(npb_destinations(NpbBenchmark::bt, 64, 27).size(), 6U);
    EXPECT_EQ(npb_destinations(NpbBenchmark::mg, 64, 27).size(), 6U);
    EXPECT_EQ(npb_destinations(NpbBenchmark::lu, 64, 0), (std::vector<std::uint32_t>{1, 8}));
    EXPECT_EQ(npb_destinations(NpbBenchmark::lu, 64, 27),
              (std::vector<std::uint32_t>{19, 26, 28, 35}));
    // CG, 8 x 8: 27 is (3,3), its own transposed; 26 is (3,2) and has (2,3)
    EXPECT_EQ(npb_destinations(NpbBenchmark::cg, 64, 27), (std::vector<std::uint32_t>{25, 26, 31}));
    EXPECT_EQ(npb_destinations(NpbBenchmark::cg, 64, 26),
              (std::vector<std::uint32_t>{19, 24, 27, 30}));
}

TEST(Npb, RefusesRanksThatMakeNoGrid) {
    EXPECT_FALSE(npb_pattern(NpbBenchmark::bt, 16, 1));  // 32 is no square
    EXPECT_FALSE(npb_pattern(NpbBenchmark::lu, 25, 1));
    EXPECT_FALSE(npb_pattern(NpbBenchmark::mg, 0, 1));
    EXPECT_TRUE(npb_pattern(NpbBenchmark::is, 25, 1));
    EXPECT_FALSE(npb_benchmark("EP"));
    EXPECT_EQ(npb_benchmark("SP"), NpbBenchmark::sp);
}

// Table VI: B/2N beats B/N by 1.7 to 3.5 times, and both beat no pacing.
TEST(Npb, Table6Ratios) {
    double least = infinite;
    double most = 0;
    for (const auto& row : takano_table6) {
        const double ratio = row.divided_by_2n / row.divided_by_n;
        least = std::min(least, ratio);
        most = std::max(most, ratio);
        EXPECT_GT(row.divided_by_n, row.standard);
    }
    EXPECT_NEAR(least, 1.72, 0.005);
    EXPECT_NEAR(most, 3.52, 0.005);
}

// ------------------------------------------------------------------------ pacing

// The paper's Figure 3: 500 Mbit/s on 1 Gbit/s, packets of 1500 bytes.
TEST(Pacing, GapAndInterval) {
    EXPECT_DOUBLE_EQ(paper_gap_bytes(gbit, gbit / 2, 1500), 1500);
    EXPECT_DOUBLE_EQ(paper_interval_s(gbit / 2, 1500), 24e-6);
    EXPECT_DOUBLE_EQ(paper_gap_bytes(gbit, gbit, 1500), 0);
}

// N nodes at B/N of the paper's arithmetic ask for 1538/1500 of B.
TEST(Pacing, PaperRatesOversubscribeTheWire) {
    const double rate = 10 * gbit / 32;
    const double frames_per_s = 1 / paper_interval_s(rate, 1500);
    EXPECT_NEAR(32 * frames_per_s * 8 * static_cast<double>(wire_bytes(1514)) / (10 * gbit),
                1538.0 / 1500, 1e-12);
}

}  // namespace
}  // namespace headway::test
