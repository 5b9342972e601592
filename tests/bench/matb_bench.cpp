// SPDX-License-Identifier: Apache-2.0
// MATB of an all-to-all by its closed form.  The argument is the number of
// hosts; forty hosts per switch, twenty-five switches per trunk.
#include <benchmark/benchmark.h>

#include "models/matb.hpp"

namespace headway {
namespace {

MatbTree three_levels(std::int64_t hosts) {
    std::vector<MatbEdge> edges;
    for (std::int64_t i = 0; i < hosts; ++i) {
        edges.push_back({fmt::format("h{}", i), fmt::format("s{}", i / 40), 1e9, 1e9});
        if (i % 40 == 0) {
            edges.push_back({fmt::format("s{}", i / 40), fmt::format("t{}", i / 1000), 1e10, 1e10});
        }
        if (i % 1000 == 0) edges.push_back({fmt::format("t{}", i / 1000), "core", 4e10, 4e10});
    }
    return *MatbTree::make(edges);
}

void BM_MatbAlltoall(benchmark::State& state) {
    const MatbTree tree = three_levels(state.range(0));
    for (auto _ : state) benchmark::DoNotOptimize(matb_alltoall(tree, MatbLinks::all));
}

/// As many clusters as hosts / 100.
void BM_MatbClusters(benchmark::State& state) {
    const std::vector<MatbCluster> clusters(static_cast<std::size_t>(state.range(0) / 100),
                                            {100, 1e10});
    for (auto _ : state) benchmark::DoNotOptimize(matb_alltoall_clusters(clusters));
}

BENCHMARK(BM_MatbAlltoall)->Arg(1'000)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_MatbClusters)->Arg(10'000)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace headway
