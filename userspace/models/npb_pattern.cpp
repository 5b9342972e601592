// SPDX-License-Identifier: Apache-2.0
#include "models/npb_pattern.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace headway {
namespace {

using Ranks = std::vector<std::uint32_t>;

std::uint32_t whole_root(std::uint32_t square) {
    auto root = static_cast<std::uint32_t>(std::sqrt(static_cast<double>(square)));
    while (std::uint64_t{root} * root > square) --root;
    while ((std::uint64_t{root} + 1) * (root + 1) <= square) ++root;
    return root;
}

/// Returns the binary logarithm of a power of two.
unsigned log2_of(std::uint32_t power) { return static_cast<unsigned>(std::countr_zero(power)); }

std::uint32_t grid_rows(std::uint32_t ranks) { return 1U << log2_of(ranks) / 2; }

/// BT and SP.
Ranks torus_with_diagonal(std::uint32_t ranks, std::uint32_t rank) {
    const std::uint32_t q = whole_root(ranks);
    const std::uint32_t row = rank / q;
    const std::uint32_t column = rank % q;
    const std::uint32_t forward = 1;
    const std::uint32_t back = q - 1;
    const auto at = [&](std::uint32_t down, std::uint32_t right) {
        return (row + down) % q * q + (column + right) % q;
    };
    return {at(forward, 0),    at(back, 0),       at(0, forward),
            at(0, back),       at(forward, back), at(back, forward)};
}

/// CG.
Ranks transpose_and_halves(std::uint32_t ranks, std::uint32_t rank) {
    const std::uint32_t rows = grid_rows(ranks);
    const std::uint32_t columns = ranks / rows;
    const std::uint32_t wide = columns / rows;  // 1, or 2: pairs are transposed
    const std::uint32_t cell = rank / wide;
    Ranks partners{(cell % rows * rows + cell / rows) * wide + rank % wide};
    for (std::uint32_t half = columns / 2; half > 0; half /= 2) partners.push_back(rank ^ half);
    return partners;
}

/// LU.
Ranks open_grid(std::uint32_t ranks, std::uint32_t rank) {
    const std::uint32_t columns = ranks / grid_rows(ranks);
    const std::uint32_t column = rank % columns;
    Ranks neighbours;
    if (rank >= columns) neighbours.push_back(rank - columns);
    if (rank + columns < ranks) neighbours.push_back(rank + columns);
    if (column > 0) neighbours.push_back(rank - 1);
    if (column + 1 < columns) neighbours.push_back(rank + 1);
    return neighbours;
}

/// MG.
Ranks torus_3d(std::uint32_t ranks, std::uint32_t rank) {
    const unsigned bits = log2_of(ranks);
    Ranks neighbours;
    unsigned slower = bits;  // bits of this dimension and of the faster ones
    for (unsigned dimension = 0; dimension < 3; ++dimension) {
        const std::uint32_t extent = 1U << (bits + dimension) / 3;
        slower -= log2_of(extent);
        const std::uint32_t coordinate = rank >> slower & (extent - 1);
        for (const std::uint32_t step : {1U, extent - 1}) {
            const std::uint32_t moved = (coordinate + step) % extent;
            neighbours.push_back(rank + (moved << slower) - (coordinate << slower));
        }
    }
    return neighbours;
}

Ranks everybody(std::uint32_t ranks) {
    Ranks all(ranks);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) all[rank] = rank;
    return all;
}

bool is_alltoall(NpbBenchmark benchmark) {
    return benchmark == NpbBenchmark::ft || benchmark == NpbBenchmark::is;
}

NpbShare npb_share(double senders, double bandwidth_bps) {
    return {senders, senders > 0 ? bandwidth_bps / senders
                                 : std::numeric_limits<double>::infinity()};
}

}  // namespace

std::optional<NpbBenchmark> npb_benchmark(std::string_view name) {
    const auto* found = std::find(npb_names.begin(), npb_names.end(), name);
    if (found == npb_names.end()) return std::nullopt;
    return static_cast<NpbBenchmark>(found - npb_names.begin());
}

NpbShare npb_table1(NpbBenchmark benchmark, std::uint64_t nodes_per_cluster,
                    double bandwidth_bps) {
    const auto nodes = static_cast<double>(nodes_per_cluster);
    switch (benchmark) {
        case NpbBenchmark::bt:
        case NpbBenchmark::sp: return npb_share(2 * std::sqrt(2 * nodes), bandwidth_bps);
        case NpbBenchmark::cg: return npb_share(nodes / 2, bandwidth_bps);
        case NpbBenchmark::ft:
        case NpbBenchmark::is:
        case NpbBenchmark::lu:
        case NpbBenchmark::mg: break;
    }
    return npb_share(nodes, bandwidth_bps);
}

Result<void> check_npb_ranks(NpbBenchmark benchmark, std::uint32_t ranks) {
    if (ranks == 0) return failure("there are no ranks");
    if (is_alltoall(benchmark)) return {};
    const auto name = npb_names[static_cast<std::size_t>(benchmark)];
    if (benchmark == NpbBenchmark::bt || benchmark == NpbBenchmark::sp) {
        const std::uint32_t q = whole_root(ranks);
        if (q * q != ranks) return failure("{} needs a square of ranks, not {}", name, ranks);
    } else if (!std::has_single_bit(ranks)) {
        return failure("{} needs a power of two of ranks, not {}", name, ranks);
    }
    return {};
}

std::vector<std::uint32_t> npb_destinations(NpbBenchmark benchmark, std::uint32_t ranks,
                                            std::uint32_t rank) {
    Ranks to;
    switch (benchmark) {
        case NpbBenchmark::bt:
        case NpbBenchmark::sp: to = torus_with_diagonal(ranks, rank); break;
        case NpbBenchmark::cg: to = transpose_and_halves(ranks, rank); break;
        case NpbBenchmark::lu: to = open_grid(ranks, rank); break;
        case NpbBenchmark::mg: to = torus_3d(ranks, rank); break;
        case NpbBenchmark::ft:
        case NpbBenchmark::is: to = everybody(ranks); break;
    }
    std::sort(to.begin(), to.end());
    to.erase(std::unique(to.begin(), to.end()), to.end());
    std::erase(to, rank);
    return to;
}

Result<NpbShare> npb_pattern(NpbBenchmark benchmark, std::uint32_t nodes_per_cluster,
                             double bandwidth_bps) {
    constexpr std::uint32_t nodes_max = UINT32_MAX / 2;
    if (nodes_per_cluster > nodes_max) return failure("more than {} nodes", nodes_max);
    const std::uint32_t ranks = 2 * nodes_per_cluster;
    if (auto good = check_npb_ranks(benchmark, ranks); !good) return tl::unexpected(good.error());
    if (is_alltoall(benchmark)) return npb_share(nodes_per_cluster, bandwidth_bps);
    std::uint32_t senders = 0;
    for (std::uint32_t rank = 0; rank < nodes_per_cluster; ++rank) {
        // ascending: the last one is in the second cluster if any is
        const auto to = npb_destinations(benchmark, ranks, rank);
        if (!to.empty() && to.back() >= nodes_per_cluster) ++senders;
    }
    return npb_share(senders, bandwidth_bps);
}

}  // namespace headway
