// SPDX-License-Identifier: MIT
// Which way data go around the hosts of a communicator, and between the ranks of each.
//
// One rank of each host, its leader, stands for the host: messages between hosts are between leaders.  The hosts are in
// the order of a ring, one cluster after the other (exchange_order.hpp), so that each direction of each link carries one
// stream and no two hosts ever meet in front of a link.  Within a host data go along a binomial tree whose root is the
// leader.  What is small goes from the root's host to all others along a binomial tree of leaders, too.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "exchange_order.hpp"

namespace headway::glue {

/// A rank's place in a tree of ranks.
class TreePlace {
public:
    int parent = nobody;  ///< the root has none

    [[nodiscard]] std::span<const int> children() const { return {children_.data(), count_}; }
    void add_child(int rank) { children_.at(count_++) = rank; }

private:
    /// Two binomial trees, each of fewer ranks than an int counts.
    std::array<int, 64> children_{};
    std::size_t count_ = 0;
};

class HostRing {
public:
    using Hosts = std::vector<std::vector<int>>;
    enum class Shape { chain, tree };

    /// `ranks_of_host`: by place in the ring, each host's ranks; outlives the ring.
    HostRing(const Hosts& ranks_of_host, int own_rank);

    /// Returns the ring with `rank` as its host's leader; other hosts are led by their first rank.
    [[nodiscard]] HostRing led_by(int rank) const;

    [[nodiscard]] int own_rank() const { return own_rank_; }
    [[nodiscard]] int hosts() const { return static_cast<int>(hosts_->size()); }
    [[nodiscard]] bool is_leader() const { return own_rank_ == leader(0); }

    // The place of the host `steps` after this rank's in the ring, or before it, if negative.
    [[nodiscard]] int place(int steps) const { return wrapped(own_host_ + steps, hosts()); }
    [[nodiscard]] int leader(int steps) const;
    [[nodiscard]] const std::vector<int>& ranks_on(int steps) const {
        return (*hosts_)[static_cast<std::size_t>(place(steps))];
    }

    /// From the leader to the ranks of its host.
    [[nodiscard]] TreePlace within_host() const;
    /// From rank `root`, which must lead its host, to all: from leader to leader along the ring, or along a tree.
    [[nodiscard]] TreePlace from_root(Shape shape) const;

private:
    [[nodiscard]] bool is_host_of_root(int steps) const { return place(steps) == root_host_; }

    const Hosts* hosts_;
    int own_rank_;
    int own_host_ = 0;
    int root_ = nobody;       ///< see led_by()
    int root_host_ = nobody;  ///< its place
};

}  // namespace headway::glue
