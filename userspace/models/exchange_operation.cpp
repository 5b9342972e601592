// SPDX-License-Identifier: Apache-2.0
#include "models/exchange_operation.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace headway {
namespace {

constexpr std::array<std::pair<std::string_view, Operation>, 7> exchange_operations{{
    {"alltoall", Operation::alltoall},
    {"alltoallv", Operation::alltoall},
    {"allgather", Operation::allgather},
    {"gather", Operation::gather},
    {"scatter", Operation::scatter},
    {"bcast", Operation::bcast},
    {"reduce", Operation::reduce},
}};

}  // namespace

std::optional<Operation> parse_operation(std::string_view name) {
    const auto* const found = std::ranges::find(
        exchange_operations, name, [](const auto& known) { return known.first; });
    if (found == exchange_operations.end()) return std::nullopt;
    return found->second;
}

bool has_root(Operation operation) {
    return operation != Operation::alltoall && operation != Operation::allgather;
}

bool is_to_root(Operation operation) {
    return operation == Operation::gather || operation == Operation::reduce;
}

Result<Exchange> make_exchange(Operation operation, const HostCounts& hosts,
                               std::size_t root_cluster, double message_bytes) {
    if (!has_root(operation)) return exchange_among(hosts, message_bytes);
    return exchange_with_root(is_to_root(operation) ? RootDoes::receive : RootDoes::send, hosts,
                              root_cluster, message_bytes);
}

}  // namespace headway
