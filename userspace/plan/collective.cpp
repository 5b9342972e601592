// SPDX-License-Identifier: Apache-2.0
#include "plan/collective.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/wire.hpp"

namespace headway {
namespace {

struct OperationName {
    std::string_view name;
    Operation operation;
};

constexpr std::array operation_names{
    OperationName{"alltoall", Operation::alltoall},   OperationName{"allgather", Operation::allgather},
    OperationName{"gather", Operation::gather},       OperationName{"scatter", Operation::scatter},
    OperationName{"bcast", Operation::bcast},         OperationName{"reduce", Operation::reduce},
    OperationName{"alltoallv", Operation::alltoall},
};

/// The root comes last, after those that remain of its cluster.
std::vector<HostGroup> split_off_root(const HostCounts& hosts, std::size_t root_cluster) {
    std::vector<HostGroup> groups;
    for (std::size_t c = 0; c < hosts.per_cluster.size(); ++c) {
        const std::uint32_t others = hosts.per_cluster[c] - (c == root_cluster ? 1U : 0U);
        if (others > 0) groups.push_back({c, others});
    }
    groups.push_back({root_cluster, 1});
    return groups;
}

std::vector<HostGroup> by_cluster(const HostCounts& hosts) {
    std::vector<HostGroup> groups;
    for (std::size_t c = 0; c < hosts.per_cluster.size(); ++c) {
        if (hosts.per_cluster[c] > 0) groups.push_back({c, hosts.per_cluster[c]});
    }
    return groups;
}

bool to_root(Operation operation) {
    return operation == Operation::gather || operation == Operation::reduce;
}

class NetworkBuilder {
public:
    NetworkBuilder(const Topology& topology, const Exchange& exchange, double utilisation)
        : topology_(topology), exchange_(exchange), utilisation_(utilisation) {}

    ExchangeNetwork build() {
        for (std::size_t i = 0; i < exchange_.groups.size(); ++i) add_edges(i);
        first_trunk_ = static_cast<std::uint32_t>(network_.links.size());
        for (std::size_t t = 0; t < topology_.trunk_count(); ++t) add_trunk(t);
        for (std::size_t i = 0; i < exchange_.groups.size(); ++i) {
            for (std::size_t j = 0; j < exchange_.groups.size(); ++j) add_pair(i, j);
        }
        return std::move(network_);
    }

private:
    void add_link(ExchangeLink::Kind kind, std::size_t owner, BitsPerSecond capacity,
                  const std::optional<std::uint64_t>& buffer_bytes) {
        const auto number = static_cast<std::uint32_t>(network_.links.size());
        network_.links.push_back({kind, owner});
        network_.fluid.links.push_back({static_cast<double>(capacity.value) * utilisation_,
                                        relied_on(buffer_bytes),
                                        number ^ 1U, kind == ExchangeLink::Kind::edge_out});
    }

    /// Frames are no fluid: acknowledgements and frames that happen to arrive together
    /// come on top of what is predicted.
    static double relied_on(const std::optional<std::uint64_t>& buffer_bytes) {
        return buffer_part * static_cast<double>(buffer_bytes.value_or(0));
    }

    /// Links come in pairs, one cable each; the lowest bit is the direction.
    void add_edges(std::size_t group) {
        const Cluster& cluster = topology_.clusters()[exchange_.groups[group].cluster];
        add_link(ExchangeLink::Kind::edge_out, group, cluster.host_rate, std::nullopt);
        add_link(ExchangeLink::Kind::edge_in, group, cluster.host_rate, cluster.host_buffer_bytes);
    }

    void add_trunk(std::size_t number) {
        const TrunkSwitch& trunk = topology_.trunk(number);
        add_link(ExchangeLink::Kind::trunk_up, number, trunk.trunk_up_rate,
                 trunk.trunk_buffer_bytes);
        add_link(ExchangeLink::Kind::trunk_down, number, trunk.trunk_down_rate,
                 trunk.trunk_buffer_bytes);
    }

    void add_pair(std::size_t i, std::size_t j) {
        const HostGroup& from = exchange_.groups[i];
        const HostGroup& to = exchange_.groups[j];
        const double senders = from.hosts - (i == j ? 1.0 : 0.0);   // at one receiver
        const double receivers = to.hosts - (i == j ? 1.0 : 0.0);   // of one sender
        const double bytes = exchange_.bytes[i][j];
        if (!(bytes > 0) || senders < 1 || receivers < 1) return;
        FluidGroup group;
        group.bytes = std::isfinite(bytes)
                          ? static_cast<double>(tcp_wire_bytes(static_cast<std::uint64_t>(bytes)))
                          : bytes;
        group.sender = static_cast<std::uint32_t>(i);
        group.path.push_back({edge_out(i), receivers, 1});
        const double flows = from.hosts * static_cast<double>(to.hosts);
        const TrunkPath trunks = topology_.trunk_path(from.cluster, to.cluster);
        for (const std::size_t trunk : trunks.up) {
            group.path.push_back({trunk_up(trunk), flows, 1.0 * from.hosts});
        }
        for (const std::size_t trunk : trunks.down) {
            group.path.push_back({trunk_up(trunk) + 1, flows, 1.0 * from.hosts});
        }
        group.path.push_back({edge_out(j) + 1, senders, senders});
        network_.fluid.groups.push_back(std::move(group));
        network_.pairs.emplace_back(i, j);
    }

    [[nodiscard]] static std::uint32_t edge_out(std::size_t group) {
        return static_cast<std::uint32_t>(2 * group);
    }
    [[nodiscard]] std::uint32_t trunk_up(std::size_t trunk) const {
        return first_trunk_ + static_cast<std::uint32_t>(2 * trunk);
    }

    const Topology& topology_;
    const Exchange& exchange_;
    double utilisation_;
    std::uint32_t first_trunk_ = 0;
    ExchangeNetwork network_;
};

}  // namespace

std::optional<Operation> parse_operation(std::string_view name) {
    for (const OperationName& known : operation_names) {
        if (known.name == name) return known.operation;
    }
    return std::nullopt;
}

std::string_view operation_name(Operation operation) {
    return std::find_if(operation_names.begin(), operation_names.end(),
                        [&](const OperationName& known) { return known.operation == operation; })
        ->name;
}

bool has_root(Operation operation) {
    return operation != Operation::alltoall && operation != Operation::allgather;
}

Result<Exchange> make_exchange(Operation operation, const HostCounts& hosts,
                               std::size_t root_cluster, double message_bytes) {
    Exchange exchange;
    if (!has_root(operation)) {
        exchange.groups = by_cluster(hosts);
        exchange.bytes.assign(exchange.groups.size(),
                              std::vector<double>(exchange.groups.size(), message_bytes));
        return exchange;
    }
    if (root_cluster >= hosts.per_cluster.size() || hosts.per_cluster[root_cluster] == 0) {
        return failure("the root is not one of the hosts that take part");
    }
    exchange.groups = split_off_root(hosts, root_cluster);
    const std::size_t count = exchange.groups.size();
    exchange.bytes.assign(count, std::vector<double>(count, 0));
    for (std::size_t i = 0; i + 1 < count; ++i) {
        (to_root(operation) ? exchange.bytes[i][count - 1] : exchange.bytes[count - 1][i]) =
            message_bytes;
    }
    return exchange;
}

Exchange make_exchange(const Topology& topology, const std::vector<std::size_t>& hosts,
                       std::vector<std::vector<double>> bytes) {
    Exchange exchange;
    for (const std::size_t host : hosts) exchange.groups.push_back({topology.cluster_of(host), 1});
    exchange.bytes = std::move(bytes);
    return exchange;
}

ExchangeNetwork make_network(const Topology& topology, const Exchange& exchange,
                             double utilisation) {
    return NetworkBuilder(topology, exchange, utilisation).build();
}

}  // namespace headway
