// SPDX-License-Identifier: Apache-2.0
// The shares of a trunk.  The arguments are the numbers of hosts and of jobs,
// all of the same size; a third of the demands want less than their share.
#include <benchmark/benchmark.h>

#include "trunk/shares.hpp"

namespace headway {
namespace {

void shares(benchmark::State& state, SharePolicy policy) {
    const auto hosts = static_cast<std::uint32_t>(state.range(0));
    const auto jobs = static_cast<std::uint32_t>(state.range(1));
    const BytesPerSecond capacity{1'000'000'000'000};
    const SharedTrunk trunk{capacity, default_fallback(capacity, hosts), hosts, policy};
    std::vector<Demand> demands;
    for (std::uint32_t host = 0; host < hosts; ++host) {
        const BytesPerSecond modest{1'000'000 + host * 7919 % 5'000'000};
        demands.push_back({host, {1000, host % jobs, "solver"}, 1 + host % jobs % 7,
                           host % 3 == 0 ? modest : no_limit_wanted});
    }
    for (auto _ : state) benchmark::DoNotOptimize(compute_shares(trunk, demands));
}

void BM_SharesPerJob(benchmark::State& state) { shares(state, SharePolicy::per_job); }
void BM_SharesPerHost(benchmark::State& state) { shares(state, SharePolicy::per_host); }

void sizes(benchmark::internal::Benchmark* bench) {
    bench->Args({1'000, 10})->Args({100'000, 1'000})->Unit(benchmark::kMillisecond);
}

BENCHMARK(BM_SharesPerJob)->Apply(sizes);
BENCHMARK(BM_SharesPerHost)->Apply(sizes);

}  // namespace
}  // namespace headway
