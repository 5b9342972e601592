// SPDX-License-Identifier: MIT
#include "told_traffic.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "size_limits.hpp"

namespace headway::glue {
namespace {

constexpr std::uint64_t largest_piece_bytes = 8 * 1024;

/// Calls `use(from, to, bytes)` of all messages that have any.
void for_each_message(const SizeTable& sizes, const auto& use) {
    for (int from = 0; from < sizes.ranks(); ++from) {
        for (int to = 0; to < sizes.ranks(); ++to) {
            if (const std::uint64_t bytes = sizes.sent(from, to); bytes > 0) use(from, to, bytes);
        }
    }
}

}  // namespace

std::uint64_t SizeTable::port_buffer_bytes() const {
    std::uint64_t least = 0;
    for (int rank = 0; rank < ranks_; ++rank) {
        const std::uint64_t known = sent(rank, ranks_);
        if (least == 0 || (known > 0 && known < least)) least = known;
    }
    return least;
}

HostTraffic traffic_between_hosts(const SizeTable& sizes, const std::vector<int>& host_of_rank) {
    HostTraffic traffic;
    for_each_message(sizes, [&](int from, int to, std::uint64_t bytes) {
        const std::pair hosts{host_of_rank[static_cast<std::size_t>(from)], host_of_rank[static_cast<std::size_t>(to)]};
        if (hosts.first != hosts.second) traffic[hosts] += static_cast<double>(bytes);
    });
    return traffic;
}

std::size_t count_pieces(const SizeTable& sizes, const std::vector<int>& host_of_rank) noexcept {
    std::uint64_t largest_bytes = 0;
    std::array<std::uint64_t, telling_hosts_max> received_bytes{};
    for_each_message(sizes, [&](int from, int to, std::uint64_t bytes) {
        largest_bytes = std::max(largest_bytes, bytes);
        const int host = host_of_rank[static_cast<std::size_t>(to)];
        if (host != host_of_rank[static_cast<std::size_t>(from)]) received_bytes.at(static_cast<std::size_t>(host)) += bytes;
    });
    const std::uint64_t most_bytes = *std::max_element(received_bytes.begin(), received_bytes.end());
    const std::uint64_t buffer_bytes = sizes.port_buffer_bytes();

    std::uint64_t pieces = quotient_up(largest_bytes, largest_piece_bytes);
    if (buffer_bytes > 0) pieces = std::max(pieces, quotient_up(pieces_ahead * most_bytes, buffer_bytes));
    const std::uint64_t most_pieces = quotient_up(largest_bytes, smallest_piece_bytes);
    return std::max(std::min(pieces, most_pieces), std::uint64_t{1});
}

}  // namespace headway::glue
