// SPDX-License-Identifier: MIT
// From the sizes that the ranks have told each other (told_sizes.hpp): what each host sends to each
// other, by which headwayd plans, and in how many pieces the messages go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "traffic_request.hpp"

namespace headway::glue {

/// What each rank sends to each other, and the smallest buffer of a port that any of them knows.
struct ToldSizes {
    std::vector<std::vector<std::uint64_t>> sizes{};  ///< as ToldCall's
    std::uint64_t port_buffer_bytes = 0;              ///< 0: nobody knows one
};

/// What each host sends to each other.  `host_of_rank` has a number for each rank.
[[nodiscard]] HostTraffic traffic_between_hosts(
    const std::vector<std::vector<std::uint64_t>>& sizes, const std::vector<int>& host_of_rank);

/// So many pieces of a message may be under way at a time, so that there is always one to send.
inline constexpr int pieces_ahead = 2;

/// In how many pieces each message goes (piecewise_exchange.hpp): so many that pieces_ahead of
/// every message to the same host fit into the buffer in front of it, even if its link carries none
/// of them meanwhile.  No piece has more than 8 KiB; those of the largest message fill a frame.
[[nodiscard]] std::size_t count_pieces(const ToldSizes& told, const HostTraffic& traffic);

}  // namespace headway::glue
