// SPDX-License-Identifier: MIT
// From the sizes that the ranks have told each other (told_sizes.hpp): what each host sends to each other, by which
// headwayd plans, and in how many pieces the messages go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "traffic_request.hpp"

namespace headway::glue {

[[nodiscard]] constexpr std::uint64_t quotient_up(std::uint64_t bytes, std::uint64_t part_bytes) {
    return (bytes + part_bytes - 1) / part_bytes;
}

/// Only up to so many ranks on so many hosts tell each other sizes: each gets a small message from
/// every other at once, which a port's buffer has to hold, and headwayd plans for each call anew.
inline constexpr int telling_ranks_max = 64;
inline constexpr std::size_t telling_hosts_max = 32;

/// The bytes that each rank sends to each other, and the port buffer that it knows, 0 if none.
class SizeTable {
public:
    SizeTable() = default;
    explicit SizeTable(int ranks) : ranks_(ranks), words_(static_cast<std::size_t>(ranks * (ranks + 1))) {}

    [[nodiscard]] int ranks() const { return ranks_; }
    [[nodiscard]] int row_words() const { return ranks_ + 1; }
    /// The row of one rank: a number for each rank, and the buffer.
    [[nodiscard]] std::uint64_t* row(int rank) { return words_.data() + rank * row_words(); }
    [[nodiscard]] std::uint64_t sent(int from, int to) const { return words_[word_of(from) + static_cast<std::size_t>(to)]; }
    /// The smallest that any rank knows; 0: nobody knows one.
    [[nodiscard]] std::uint64_t port_buffer_bytes() const;

private:
    [[nodiscard]] std::size_t word_of(int rank) const { return static_cast<std::size_t>(rank * row_words()); }

    int ranks_ = 0;
    std::vector<std::uint64_t> words_;
};

/// Adds up what each host sends to each other.  `host_of_rank` has a number for each rank.
[[nodiscard]] HostTraffic traffic_between_hosts(const SizeTable& sizes, const std::vector<int>& host_of_rank);

/// So many pieces of a message may be under way at a time, so that there always is one to send.
inline constexpr int pieces_ahead = 2;

/// In how many pieces each message goes (piecewise_exchange.hpp): so many that pieces_ahead of every message to the same
/// host fit into the buffer in front of it, even if its link carries none of them meanwhile.  No piece has more than
/// 8 KiB; those of the largest message fill a frame.  The hosts are at most telling_hosts_max.
[[nodiscard]] std::size_t count_pieces(const SizeTable& sizes, const std::vector<int>& host_of_rank) noexcept;

}  // namespace headway::glue
