// SPDX-License-Identifier: Apache-2.0
// Which host a rank runs on, and what the hosts then send each other.
//
// Rules, as mpirun knows them; hosts and ranks are counted from 0
//   by slot   rank r on host r / ranks per host: a host is filled before the next
//   by node   rank r on host r mod hosts: round and round
// Messages between ranks of one host cross no link and are left out.
//
// Example: 2 ranks per host, ranks 0 -> 3: by slot host 0 -> 1, by node (2 hosts)
// host 0 -> 1; ranks 0 -> 2: by slot host 0 -> 1, by node none.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "formats/traffic_matrix.hpp"

namespace headway {

enum class RankPlacement { by_slot, by_node };

/// "slot", "node".
[[nodiscard]] std::optional<RankPlacement> parse_rank_placement(std::string_view name);

/// bytes[i][j] from the i-th host to the j-th.  Fails for more ranks than the
/// hosts have room for.
[[nodiscard]] Result<std::vector<std::vector<double>>> bytes_between_hosts(
    const TrafficMatrix& matrix, std::uint32_t hosts, std::uint32_t ranks_per_host,
    RankPlacement placement);

}  // namespace headway
