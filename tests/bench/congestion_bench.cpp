// SPDX-License-Identifier: Apache-2.0
// Links per second of the congestion factors' variants, as items_per_second: a
// random pattern, up to a million links.  The argument is the number of links;
// four links per node, forty nodes per rack, a backbone for ten of them.
#include <random>

#include <benchmark/benchmark.h>

#include "models/congestion.hpp"

namespace headway {
namespace {

CongestionPattern random_pattern(std::uint32_t links) {
    std::mt19937 random(1);
    const std::uint32_t nodes = links / 4;
    CongestionPattern pattern{940, 9400, std::nullopt, {}, {}};
    for (std::uint32_t node = 0; node < nodes; ++node) {
        pattern.rack_of_node.push_back(node / 40);
    }
    std::uniform_int_distribution<std::uint32_t> any(0, nodes - 1);
    while (pattern.links.size() < links) {
        const CongestionLink link{any(random), any(random)};
        if (link.source != link.destination) pattern.links.push_back(link);
    }
    return pattern;
}

void bandwidths(benchmark::State& state, CongestionVariant variant) {
    const auto pattern = random_pattern(static_cast<std::uint32_t>(state.range(0)));
    for (auto _ : state) benchmark::DoNotOptimize(congestion_bandwidths(pattern, variant));
    state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * pattern.links.size()));
    state.SetComplexityN(state.range(0));
}

void BM_Paper(benchmark::State& state) { bandwidths(state, CongestionVariant::paper); }
void BM_Feasible(benchmark::State& state) { bandwidths(state, CongestionVariant::feasible); }
void BM_BidirectionalMaxMin(benchmark::State& state) {
    bandwidths(state, CongestionVariant::bidirectional_max_min);
}

void sizes(benchmark::internal::Benchmark* benchmark) {
    benchmark->RangeMultiplier(10)->Range(1'000, 1'000'000)->Unit(benchmark::kMillisecond);
    benchmark->Complexity(benchmark::oNLogN);
}

BENCHMARK(BM_Paper)->Apply(sizes);
BENCHMARK(BM_Feasible)->Apply(sizes);
BENCHMARK(BM_BidirectionalMaxMin)->Apply(sizes);

}  // namespace
}  // namespace headway
