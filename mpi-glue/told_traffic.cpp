// SPDX-License-Identifier: MIT
#include "told_traffic.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "size_limits.hpp"

namespace headway::glue {
namespace {

constexpr std::uint64_t largest_piece_bytes = 8 * 1024;

/// Rounded up.
std::uint64_t quotient(std::uint64_t bytes, std::uint64_t part_bytes) {
    return (bytes + part_bytes - 1) / part_bytes;
}

}  // namespace

HostTraffic traffic_between_hosts(const std::vector<std::vector<std::uint64_t>>& sizes,
                                  const std::vector<int>& host_of_rank) {
    HostTraffic traffic;
    for (std::size_t from = 0; from < sizes.size(); ++from) {
        for (std::size_t to = 0; to < sizes.size(); ++to) {
            const std::pair hosts{host_of_rank[from], host_of_rank[to]};
            if (hosts.first != hosts.second && sizes[from][to] > 0)
                traffic[hosts] += static_cast<double>(sizes[from][to]);
        }
    }
    return traffic;
}

std::size_t count_pieces(const ToldSizes& told, const HostTraffic& traffic) {
    std::uint64_t largest_bytes = 0;
    for (const auto& row : told.sizes) largest_bytes = std::max(largest_bytes, std::ranges::max(row));
    std::map<int, double> received_bytes;
    for (const auto& [hosts, bytes] : traffic) received_bytes[hosts.second] += bytes;
    std::uint64_t most_bytes = 0;
    for (const auto& [host, bytes] : received_bytes)
        most_bytes = std::max(most_bytes, static_cast<std::uint64_t>(bytes));

    std::uint64_t pieces = quotient(largest_bytes, largest_piece_bytes);
    if (told.port_buffer_bytes > 0)
        pieces = std::max(pieces, quotient(pieces_ahead * most_bytes, told.port_buffer_bytes));
    const std::uint64_t most_pieces = quotient(largest_bytes, smallest_piece_bytes);
    return std::max(std::min(pieces, most_pieces), std::uint64_t{1});
}

}  // namespace headway::glue
