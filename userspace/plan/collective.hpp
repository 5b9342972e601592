// SPDX-License-Identifier: Apache-2.0
// What a collective puts on the links of a topology.
//
// Vocabulary
//   operation  what the program calls; it decides who sends how much to whom
//   hosts that are alike  those of one cluster, but for the root of a rooted
//              operation, which is alone
//   algorithm  in which order an all-to-all sends its messages
//
// Messages of rooted operations go straight between the root and everybody
// else (a flat tree): what a large gather or scatter does, and the worst that
// any tree does to the root's edge.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "plan/fluid.hpp"
#include "plan/topology.hpp"

namespace headway {

enum class Operation { alltoall, allgather, gather, scatter, bcast, reduce };

/// "alltoall", and alltoallv, which is planned as its worst case; "allgather"...
[[nodiscard]] std::optional<Operation> parse_operation(std::string_view name);
[[nodiscard]] std::string_view operation_name(Operation operation);
[[nodiscard]] bool has_root(Operation operation);

/// The part of a buffer that predictions and plans rely on.
inline constexpr double buffer_part = 0.75;

/// Hosts of one cluster that send and receive the same.
struct HostGroup {
    std::size_t cluster = 0;
    std::uint32_t hosts = 0;
};

/// Who sends how much to whom.
struct Exchange {
    std::vector<HostGroup> groups;
    /// bytes[i][j]: payload from each host of group i to each of j (i = j: to
    /// each other host of the group).
    std::vector<std::vector<double>> bytes;
};

/// Fails for a rooted operation if nobody of the root's cluster takes part.
[[nodiscard]] Result<Exchange> make_exchange(Operation operation, const HostCounts& hosts,
                                             std::size_t root_cluster, double message_bytes);

/// Each host by itself: bytes[i][j] from hosts[i] to hosts[j], numbers of the topology.
[[nodiscard]] Exchange make_exchange(const Topology& topology,
                                     const std::vector<std::size_t>& hosts,
                                     std::vector<std::vector<double>> bytes);

/// Names a link of an exchange's network.
struct ExchangeLink {
    enum class Kind { edge_out, trunk_up, trunk_down, edge_in };
    Kind kind = Kind::edge_out;
    std::size_t owner = 0;  ///< group of an edge, number of a trunk
};

struct ExchangeNetwork {
    FluidNetwork fluid;  ///< groups: pairs that send anything
    std::vector<ExchangeLink> links;  ///< of each link of `fluid`
    std::vector<std::pair<std::size_t, std::size_t>> pairs;  ///< (i, j) of each group of `fluid`
};

/// The exchange with all its messages under way at once, unpaced.  `utilisation`
/// of every link's capacity may be used.
[[nodiscard]] ExchangeNetwork make_network(const Topology& topology, const Exchange& exchange,
                                           double utilisation);

}  // namespace headway
