// SPDX-License-Identifier: Apache-2.0
// Messages per second of the PlogPT simulation, as items_per_second: all-to-alls,
// which run in lockstep, and programs without any regularity.  The argument is
// the number of processes.
#include <random>

#include <benchmark/benchmark.h>

#include "oversubscribed.hpp"

namespace headway {
namespace {

constexpr double message_bytes = 100e3;

using bench::oversubscribed;

unsigned height_of(std::uint32_t processes) {
    return PlogptTree::height_of(0, processes - 1);
}

void run(benchmark::State& state, const PlogptSystem& system, const PlogptPrograms& programs,
         const PlogptRto& rto) {
    std::uint64_t rto_count = 0;
    for (auto _ : state) rto_count = simulate_plogpt(system, programs, rto)->rto_count;
    state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * programs.messages());
    state.counters["rto"] = static_cast<double>(rto_count);
}

void alltoall(benchmark::State& state, PlogptAlltoall::Algorithm algorithm, const char* rto) {
    const auto processes = static_cast<std::uint32_t>(state.range(0));
    run(state, oversubscribed(height_of(processes)),
        *PlogptAlltoall::make(algorithm, processes, message_bytes), *parse_plogpt_rto(rto));
}

void BM_AlltoallA(benchmark::State& state) {
    alltoall(state, PlogptAlltoall::Algorithm::a, "none");
}
void BM_AlltoallB(benchmark::State& state) {
    alltoall(state, PlogptAlltoall::Algorithm::b, "none");
}
void BM_AlltoallBChrono(benchmark::State& state) {
    alltoall(state, PlogptAlltoall::Algorithm::b, "chrono");
}

/// Each process sends to others drawn at random, messages of random size, one
/// after the other, and receives what comes.
PlogptListedPrograms random_programs(std::uint32_t processes, int messages_each) {
    std::mt19937 random(1);
    std::uniform_real_distribution<double> size(1e3, 200e3);
    std::vector<std::vector<PlogptOperation>> programs(processes);
    using Kind = PlogptOperationKind;
    for (std::uint32_t p = 0; p < processes; ++p) {
        for (int i = 0; i < messages_each; ++i) {
            const auto to =
                static_cast<std::uint32_t>((p + 1 + random() % (processes - 1)) % processes);
            programs[p].push_back({Kind::isend, to, size(random), 0});
            const auto sent = static_cast<std::uint32_t>(programs[p].size() - 1);
            programs[p].push_back({Kind::wait, 0, 0, sent});
            programs[to].push_back({Kind::irecv, p, 0, 0});
        }
    }
    return *PlogptListedPrograms::make(programs);
}

void BM_Random(benchmark::State& state) {
    const auto processes = static_cast<std::uint32_t>(state.range(0));
    run(state, oversubscribed(height_of(processes)), random_programs(processes, 200), {});
}
void BM_RandomChrono(benchmark::State& state) {
    const auto processes = static_cast<std::uint32_t>(state.range(0));
    run(state, oversubscribed(height_of(processes)), random_programs(processes, 200),
        *parse_plogpt_rto("chrono"));
}

/// Everybody sends to everybody at once, messages of random size.
PlogptListedPrograms linear_programs(std::uint32_t processes) {
    std::mt19937 random(1);
    std::uniform_real_distribution<double> size(1e3, 200e3);
    std::vector<std::vector<PlogptOperation>> programs(processes);
    using Kind = PlogptOperationKind;
    for (std::uint32_t p = 0; p < processes; ++p) {
        for (std::uint32_t i = 1; i < processes; ++i) {
            programs[p].push_back({Kind::isend, (p + i) % processes, size(random), 0});
            programs[p].push_back({Kind::irecv, (p + i) % processes, 0, 0});
        }
    }
    return *PlogptListedPrograms::make(programs);
}

void BM_Linear(benchmark::State& state) {
    const auto processes = static_cast<std::uint32_t>(state.range(0));
    run(state, oversubscribed(height_of(processes)), linear_programs(processes), {});
}

BENCHMARK(BM_AlltoallA)->RangeMultiplier(4)->Range(16, 4096)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_AlltoallB)->RangeMultiplier(4)->Range(16, 4096)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_AlltoallBChrono)->RangeMultiplier(4)->Range(16, 256)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Random)->RangeMultiplier(4)->Range(16, 1024)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Linear)->RangeMultiplier(4)->Range(16, 256)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_RandomChrono)->RangeMultiplier(4)->Range(16, 1024)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace headway
