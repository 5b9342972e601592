// SPDX-License-Identifier: MIT
// In which order a rank exchanges messages with all ranks: in each step every rank
// sends to one rank at most and receives from one at most, and every host sends to
// one host only.  So no host ever gets more than its share, however many ranks it has.
//
// Hosts have a place in their cluster.  Those at place p send to place p of each other cluster
// first and to p + 1 of their own, then to p + 1 of the others and p + 2 of their own, and so on;
// to their own host last.  So the hosts of a cluster never begin with the same host of another
// one, whose port would hold a frame of each of them.  Towards each host, the l-th rank of
// a host begins with the l-th and goes round.  A message has the same step at both of its
// ends, which the window of Messages relies on.
#pragma once

#include <cstddef>
#include <vector>

namespace headway::glue {

inline constexpr int nobody = -1;

/// The number from 0 to count - 1 that is `number` but for multiples of `count`.
[[nodiscard]] constexpr int wrapped(int number, int count) { return (number % count + count) % count; }

/// By cluster and host in it, the ranks on that host.
using RanksByCluster = std::vector<std::vector<std::vector<int>>>;

class ExchangeOrder {
public:
    /// Alike at all ranks, but for `own_rank`.
    ExchangeOrder(const RanksByCluster& clusters, int own_rank);

    /// The hosts of one cluster after the other.
    [[nodiscard]] const std::vector<std::vector<int>>& ranks_of_host() const {
        return ranks_of_host_;
    }
    [[nodiscard]] std::size_t own_host() const {
        return first_host_[static_cast<std::size_t>(own_cluster_)] + static_cast<std::size_t>(own_place_);
    }
    /// This rank's place among those of its host.
    [[nodiscard]] std::size_t own_index() const { return static_cast<std::size_t>(own_index_); }
    [[nodiscard]] int most_on_a_host() const { return most_on_a_host_; }

    [[nodiscard]] int steps() const { return clusters() * most_in_a_cluster_ * most_on_a_host_; }
    /// The rank to send to in step 0 .. steps() - 1, or nobody.
    [[nodiscard]] int to(int step) const { return peer(step, 1); }
    [[nodiscard]] int from(int step) const { return peer(step, -1); }

private:
    [[nodiscard]] int clusters() const { return static_cast<int>(first_host_.size()) - 1; }
    [[nodiscard]] int peer(int step, int direction) const;

    std::vector<std::vector<int>> ranks_of_host_;
    std::vector<std::size_t> first_host_{0};  ///< of each cluster, and behind the last
    int most_in_a_cluster_ = 0;
    int most_on_a_host_ = 0;
    int own_cluster_ = 0;
    int own_place_ = 0;  ///< of the own host, in its cluster
    int own_index_ = 0;  ///< among the ranks of that
};

}  // namespace headway::glue
