// SPDX-License-Identifier: Apache-2.0
// PlogPT's network: a perfect binary tree, and where it has switches.
//
// Source: Nomura et al. (see plogp.hpp), section III-A.
//
// Vocabulary
//   leaves  0 .. 2^D - 1, the processes; D is the height of the tree
//   height  of an edge: 1 at the leaves, D at the root.  Of a node: that of the
//           edges below it.  Of a communication i -> j: the largest height of
//           its edges, which is the bit length of (i xor j)
//   b(h)    bandwidth of an edge of height h, bytes/s, in each direction (full
//           duplex); 2^(h-1) leaves are below it
//   d(h)    buffer delay in s: what a full buffer at height h adds to the
//           one-way latency.  The paper's Table II prints 2 d(h) in its
//           bidirectional columns
//   P_S     whether there are switches between two heights
//
// Equations
//   b(h+1) <= 2 b(h): a larger b(h+1) cannot be used, and is taken as 2 b(h)
//   (4) P_S(h,h') <=> not (2^(h'-h) b(h) = b(h') and d(h) = d(h'))
//   (5) P_S(h,h') <=> ln^2(2^(h'-h) b(h)/b(h')) + ln^2(d(h)/d(h')) > eps_S
//
// (4) is exact; (5), the practical one, forgives errors of measurement.  The
// logarithm is the natural one.  Where the left side of (5) has no finite value
// (a delay of 0, an infinite bandwidth) P_S is (4).  P_S(h,h) is false.
//
// Example: Table II, bidirectional: d = 251, 451, 456.5, 455, 454.5 us; b per
// leaf 580.2, 580.1, 576.0, 579.2, 485.0 Mbit/s.  b(4) is taken as 2 b(3), that
// is 576.0 per leaf.  The left sides of (5) for (h,h+1), h = 1..4, are 0.343,
// 1.97e-4, 1.08e-5, 0.0296: with eps_S = 0.01 there are switches at 1-2 and 4-5.
//
// Limits: a number of leaves that is a power of two, symmetric about every
// node.  A real switch of eight ports appears as three heights without P_S.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "base/error.hpp"

namespace headway {

/// eps_S that makes (5) true to the paper's reading of its Table II.
inline constexpr double plogpt_default_eps_s = 0.01;

/// The measured links; index 0 is height 1.
struct PlogptLinks {
    std::vector<double> bandwidth_bytes_per_s;  ///< b
    std::vector<double> buffer_delay_s;         ///< d
};

class PlogptTree {
public:
    static constexpr unsigned height_max = 30;  ///< leaves are numbered in 32 bits

    enum class Clamp { no, yes };

    /// Makes a tree of as many delays as bandwidths; bandwidths must be positive, delays not
    /// negative; either may be infinite.
    [[nodiscard]] static Result<PlogptTree> make(PlogptLinks links, double eps_s, Clamp clamp);

    [[nodiscard]] unsigned height() const {
        return static_cast<unsigned>(links_.bandwidth_bytes_per_s.size());
    }
    [[nodiscard]] std::uint64_t leaves() const { return std::uint64_t{1} << height(); }

    /// Heights are from 1 to height().
    [[nodiscard]] double bandwidth(unsigned h) const { return links_.bandwidth_bytes_per_s[h - 1]; }
    [[nodiscard]] double buffer_delay(unsigned h) const { return links_.buffer_delay_s[h - 1]; }

    /// (4)
    [[nodiscard]] bool has_switches_exact(unsigned h, unsigned h2) const;
    /// The left side of (5); infinite if it has no finite value.
    [[nodiscard]] double switch_distance(unsigned h, unsigned h2) const;
    /// P_S: (5), or (4) where that is infinite.
    [[nodiscard]] bool has_switches(unsigned h, unsigned h2) const;

    /// The height of the communication i -> j; 0 for i = j.
    [[nodiscard]] static unsigned height_of(std::uint32_t i, std::uint32_t j) {
        return static_cast<unsigned>(std::bit_width(i ^ j));
    }

private:
    PlogptTree(PlogptLinks links, double eps_s) : links_(std::move(links)), eps_s_(eps_s) {}

    PlogptLinks links_;
    double eps_s_;
};

}  // namespace headway
