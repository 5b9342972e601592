// SPDX-License-Identifier: Apache-2.0
// Which nodes of two clusters send over the link between them in the NAS
// Parallel Benchmarks: as the paper's Table I says, and as the benchmarks'
// process grids give it.
//
// Source: Takano et al. (see matb.hpp), section II and Tables I and VI; process
// grids: NPB 3, one process per node.
//
// Vocabulary
//   N     nodes of each of two clusters; P = 2N ranks, 0..N-1 in the first
//   B     bandwidth of the link between the clusters, each direction
//   senders   nodes of one cluster with a message into the other
//
// Equations
//   MATB = B / senders
//   Table I            senders        Process grid, ranks row by row
//   BT, SP             2 sqrt(2N)     q x q, both ways periodic; P = q^2.
//                                     Neighbours in x, in y, and along one
//                                     diagonal: (+1,-1), (-1,+1)
//   CG                 N/2            2^floor(lg P / 2) rows; partner in the
//                                     transposed grid, and exchanges by halves
//                                     within a row
//   LU                 N              2^floor(lg P / 2) rows, open; 4 neighbours
//   MG                 N              3-D, periodic, extents powers of two with
//                                     the smallest (and slowest) first; 6 neighbours
//   FT, IS             N              everybody to everybody
//
// A transposed grid of r rows and 2r columns is one of r x r pairs of ranks:
// pair (i,j) exchanges with pair (j,i), each rank with its counterpart.
//
// Example: N = 32, B = 10 Gbit/s.  CG: 16 senders, 625 Mbit/s.  BT: 16.  LU has
// 8 x 8 ranks, rows 0..3 in the first cluster; only row 3 sends to row 4: 8
// senders, not 32, so that 8 x 1 Gbit/s never fill the link and LU needs no
// pacing.  The paper paces it (Table I) and reports it as slowed.
//
// Limits: BT and SP need P to be a square, CG, LU and MG a power of two.  EP
// sends nothing to speak of, and is not here.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace headway {

enum class NpbBenchmark { bt, cg, ft, is, lu, mg, sp };

inline constexpr std::array<std::string_view, 7> npb_names{"BT", "CG", "FT", "IS",
                                                           "LU", "MG", "SP"};

/// "BT" and so on, in capitals.
[[nodiscard]] std::optional<NpbBenchmark> npb_benchmark(std::string_view name);

struct NpbShare {
    double senders = 0;
    double matb_bps = 0;  ///< infinite without a sender
};

/// Table I; the number of senders need not be whole.
[[nodiscard]] NpbShare npb_table1(NpbBenchmark benchmark, std::uint64_t nodes_per_cluster,
                                  double bandwidth_bps);

/// A whole number that a process grid can be made of.
[[nodiscard]] Result<void> check_npb_ranks(NpbBenchmark benchmark, std::uint32_t ranks);

/// The ranks that a rank sends to, ascending, without itself.  The number of
/// ranks has been checked.
[[nodiscard]] std::vector<std::uint32_t> npb_destinations(NpbBenchmark benchmark,
                                                          std::uint32_t ranks, std::uint32_t rank);

/// From the grid.
[[nodiscard]] Result<NpbShare> npb_pattern(NpbBenchmark benchmark, std::uint32_t nodes_per_cluster,
                                           double bandwidth_bps);

/// Table VI: class B of IS, Mop/s in total, between two clusters with a delay.
struct TakanoTable6Row {
    double delay_ms;
    double standard;
    double divided_by_n;   ///< paced at B/N
    double divided_by_2n;  ///< paced at B/2N
};

inline constexpr std::array<TakanoTable6Row, 6> takano_table6{{
    {0, 46.16, 98.88, 348.27},
    {2, 58.17, 96.00, 250.36},
    {4, 68.42, 113.25, 243.34},
    {6, 53.06, 109.93, 199.18},
    {8, 48.94, 100.70, 196.29},
    {10, 43.12, 99.42, 170.88},
}};

}  // namespace headway
