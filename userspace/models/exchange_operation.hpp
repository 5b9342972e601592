// SPDX-License-Identifier: Apache-2.0
// Collective operations as the models know them: what the program calls decides who sends
// how much to whom.
#pragma once

#include <optional>
#include <string_view>

#include "plan/exchange.hpp"

namespace headway {

enum class Operation { alltoall, allgather, gather, scatter, bcast, reduce };

/// "alltoall", and alltoallv, which is planned as its worst case; "allgather"...
[[nodiscard]] std::optional<Operation> parse_operation(std::string_view name);
[[nodiscard]] bool has_root(Operation operation);
[[nodiscard]] bool is_to_root(Operation operation);

/// Fails for a rooted operation if nobody of the root's cluster takes part.
[[nodiscard]] Result<Exchange> make_exchange(Operation operation, const HostCounts& hosts,
                                             std::size_t root_cluster, double message_bytes);

}  // namespace headway
