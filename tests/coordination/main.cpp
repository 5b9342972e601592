// SPDX-License-Identifier: Apache-2.0
//   coordination_sim [--seeds FIRST-LAST] [--hosts N] [--trouble SECONDS] [--mishaps PER_S]
//                    [--must-fail]
// Runs a simulation per seed until one fails: status 1, and 0 with --must-fail,
// for code that was broken on purpose.
#include <cstdio>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "simulation.hpp"

int main(int argc, char** argv) {
    using namespace headway::test;
    CLI::App app("Random failures of a cluster that shares a trunk");
    std::uint64_t first = 1, last = 20, trouble_s = 120;
    std::string seeds;
    SimulationOptions options;
    bool must_fail = false;
    app.add_option("--seeds", seeds, "FIRST-LAST");
    app.add_option("--hosts", options.hosts);
    app.add_option("--trouble", trouble_s);
    app.add_option("--mishaps", options.mishaps_per_s);
    app.add_flag("--must-fail", must_fail);
    CLI11_PARSE(app, argc, argv);
    if (!seeds.empty() && std::sscanf(seeds.c_str(), "%lu-%lu", &first, &last) != 2) return 2;
    options.trouble = std::chrono::seconds(trouble_s);

    SimulationResult all;
    for (options.seed = first; options.seed <= last; ++options.seed) {
        const SimulationResult one = Simulation(options).run();
        all.events += one.events;
        all.raises += one.raises;
        all.expired += one.expired;
        all.fenced += one.fenced;
        all.fullest = std::max(all.fullest, one.fullest);
        if (!one.failure.empty()) {
            fmt::print("failed {}\n", one.failure);
            return must_fail ? 0 : 1;
        }
    }
    fmt::print("{} runs: {} events, {} raises, {} expiries, {} requests fenced off, at most {:.4f} "
               "of the trunk\n",
               last - first + 1, all.events, all.raises, all.expired, all.fenced, all.fullest);
    if (must_fail) return 1;
    // a simulation in which nothing happens shows nothing
    return all.raises && all.expired && all.fenced && all.fullest > 0.9 ? 0 : 1;
}
