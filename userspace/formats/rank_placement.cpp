// SPDX-License-Identifier: Apache-2.0
#include "formats/rank_placement.hpp"

#include "base/text_lines.hpp"

namespace headway {

std::optional<RankPlacement> parse_rank_placement(std::string_view name) {
    if (name == "slot") return RankPlacement::by_slot;
    if (name == "node") return RankPlacement::by_node;
    return std::nullopt;
}

Result<std::vector<std::vector<double>>> bytes_between_hosts(const TrafficMatrix& matrix,
                                                             std::uint32_t hosts,
                                                             std::uint32_t ranks_per_host,
                                                             RankPlacement placement) {
    if (matrix.ranks() > std::uint64_t{hosts} * ranks_per_host) {
        return failure("{} do not fit on {} with {} on each", counted(matrix.ranks(), "rank"),
                       counted(hosts, "host"), ranks_per_host);
    }
    const auto host_of = [&](std::uint32_t rank) {
        return placement == RankPlacement::by_slot ? rank / ranks_per_host : rank % hosts;
    };
    std::vector<std::vector<double>> bytes(hosts, std::vector<double>(hosts, 0));
    for (const TrafficFlow& flow : matrix.flows()) {
        const std::uint32_t from = host_of(flow.source);
        const std::uint32_t to = host_of(flow.destination);
        if (from != to) bytes[from][to] += static_cast<double>(flow.bytes);
    }
    return bytes;
}

}  // namespace headway
