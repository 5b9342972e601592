// SPDX-License-Identifier: MIT
// In which order a rank exchanges messages with all ranks: in each step every rank
// sends to one rank at most and receives from one at most, and every host sends to
// one host only.  So no host ever gets more than its share, however many ranks it has.
//
// The ranks of host h go on to host h + 1 first, then to h + 2 and so on, and to
// their own host last; towards each host, the l-th rank of a host begins with the
// l-th and goes round.  A message has the same step at both of its ends, which the
// window of Messages relies on.
#pragma once

#include <cstddef>
#include <vector>

namespace headway::glue {

inline constexpr int nobody = -1;

class ExchangeOrder {
public:
    /// By rank, the place of its host: any numbers.  Alike at all ranks, but for `own_rank`.
    ExchangeOrder(const std::vector<int>& host_of_rank, int own_rank);

    [[nodiscard]] const std::vector<std::vector<int>>& ranks_of_host() const {
        return ranks_of_host_;
    }
    [[nodiscard]] std::size_t own_host() const { return static_cast<std::size_t>(own_host_); }
    /// Of this rank, among those of its host.
    [[nodiscard]] std::size_t own_index() const { return static_cast<std::size_t>(own_index_); }
    [[nodiscard]] int most_on_a_host() const { return most_on_a_host_; }

    [[nodiscard]] int steps() const { return hosts() * most_on_a_host_; }
    /// The rank to send to in step 0 .. steps() - 1, or nobody.
    [[nodiscard]] int to(int step) const { return peer(step, 1); }
    [[nodiscard]] int from(int step) const { return peer(step, -1); }

private:
    [[nodiscard]] int hosts() const { return static_cast<int>(ranks_of_host_.size()); }
    [[nodiscard]] int peer(int step, int direction) const;

    std::vector<std::vector<int>> ranks_of_host_;
    int most_on_a_host_ = 0;
    int own_host_ = 0;   ///< place in ranks_of_host_
    int own_index_ = 0;  ///< among the ranks of that
};

}  // namespace headway::glue
