// SPDX-License-Identifier: Apache-2.0
// The tree of a network from round trips between all pairs of its hosts.
//
// A frame's shortest time from one host to another is the sum of what the links on its path
// take: propagation, and the frame's bytes once more for every switch that stores and
// forwards it.  Such sums determine the tree and the length of each of its links (Buneman
// 1971): for a host r, the paths from r to i and to j have in common
//
//   p(i, j) = (D(r,i) + D(r,j) - D(i,j)) / 2
//
// Hosts whose common path is longest are at the same switch; joining them, longest first,
// gives the tree from its ends to r.  What a host's own stack takes is part of its link to
// its switch, where it cancels out of every other link's length.
//
// Nothing but differences of round trips is used: a path whose two directions differ
// contributes the mean of both.
//
// Limits: a link that takes less than the resolution is not seen: interference
// (interference.hpp) finds it if it is a bottleneck.  Delays of a host's own link are not
// told apart from its stack's.
#pragma once

#include <cstddef>
#include <vector>

#include "measure/host_tree.hpp"
#include "base/error.hpp"

namespace headway {

/// Symmetric; seconds, one way.
class PairTimes {
public:
    explicit PairTimes(std::size_t hosts) : hosts_(hosts), times_(hosts * hosts) {}

    [[nodiscard]] std::size_t host_count() const { return hosts_; }
    [[nodiscard]] double at(std::size_t i, std::size_t j) const { return times_[i * hosts_ + j]; }
    void set(std::size_t i, std::size_t j, double seconds) {
        times_[i * hosts_ + j] = times_[j * hosts_ + i] = seconds;
    }

private:
    std::size_t hosts_;
    std::vector<double> times_;
};

/// Makes the tree of two hosts or more.  It takes links between switches for noise if their delay
/// is less than `resolution_s`.
[[nodiscard]] HostTree tree_of_delays(const PairTimes& times, double resolution_s);

/// The length of the link of every node, in seconds, that fit the times best (least squares);
/// not negative.  The root's is 0.
[[nodiscard]] std::vector<double> link_lengths_s(const HostTree& tree, const PairTimes& times);

}  // namespace headway
