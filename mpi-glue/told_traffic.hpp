// SPDX-License-Identifier: MIT
// What comes of the sizes that the ranks have told each other (told_sizes.hpp): who sends how much
// to whom by host, which headwayd plans by, and of how many pieces the messages are.
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

/// Of how many pieces each message is made (piecewise_exchange.hpp).  Those of all messages to a
/// host that may come at the same moment fit into the buffer of its port, even if it has sent
/// nothing meanwhile; no piece is more than 8 KiB, and those of the largest message are at least
/// what fills a frame.
[[nodiscard]] std::size_t count_pieces(const ToldSizes& told, const HostTraffic& traffic);

}  // namespace headway::glue
