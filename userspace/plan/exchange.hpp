// SPDX-License-Identifier: Apache-2.0
// Who sends how much to whom, what that puts on the links of a topology, and how the
// links are divided so that all messages end at the same moment.
//
// Vocabulary
//   hosts that are alike  those of one cluster, but for the root of a rooted
//              operation, which is alone
//   class      what a host sends towards one cluster
//
// Messages of rooted operations go straight between the root and everybody
// else (a flat tree): what a large gather or scatter does, and the worst that
// any tree does to the root's edge.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "network/topology.hpp"
#include "plan/fluid.hpp"
#include "plan/hashed_links.hpp"

namespace headway {

/// The part of a buffer that predictions and plans rely on.  Frames are no fluid:
/// acknowledgements and frames that happen to arrive together come on top of what is predicted.
inline constexpr double buffer_part = 0.75;

/// Hosts of one cluster that send and receive the same.
struct HostGroup {
    std::size_t cluster = 0;
    std::uint32_t hosts = 0;
};

/// An exchange: the hosts, and how much each sends to each.
struct Exchange {
    std::vector<HostGroup> groups;
    /// bytes[i][j]: payload from each host of group i to each of j (i = j: to
    /// each other host of the group).
    std::vector<std::vector<double>> bytes;
    double message_bytes = 0;   ///< payload of a message, on average
    double alltoall_bytes = 0;  ///< of each message, if every host sends the same to every other; else 0
    double gather_bytes = 0;    ///< the same, if all send to the last group, which is one host
    double connections = 1;     ///< between two hosts, over which their bytes are spread evenly
};

/// Every host to every other, a group for each cluster that takes part.
[[nodiscard]] Exchange exchange_among(const HostCounts& hosts, double message_bytes, double connections = 1);

enum class RootDoes { receive, send };

/// Everybody else to the root, or back; the root is the last group.  Fails if nobody of the
/// root's cluster takes part.
[[nodiscard]] Result<Exchange> exchange_with_root(RootDoes root_does, HostCounts hosts,
                                                  std::size_t root_cluster, double message_bytes);

/// Each host by itself: bytes[i][j] from hosts[i] to hosts[j], numbers of the topology.
[[nodiscard]] Exchange make_exchange(const Topology& topology,
                                     const std::vector<std::size_t>& hosts,
                                     std::vector<std::vector<double>> bytes);

/// The earliest moment at which every link can have carried everything, and the
/// link that takes until then.
struct EarliestEnd {
    double end_s = 0;
    std::optional<std::size_t> link;  ///< none: nothing is sent
};

/// An exchange with all its messages under way at once, unpaced at first.
struct ExchangeNetwork {
    /// `utilisation` of every link's capacity may be used.
    ExchangeNetwork(const Topology& topology, const Exchange& exchange, double utilisation);

    const Topology* topology;       ///< lives longer
    std::vector<HostGroup> groups;  ///< the exchange's
    FluidNetwork fluid;             ///< its groups: pairs that send anything
    std::vector<TopologyLink> links;  ///< of each link of `fluid`
    std::vector<LinkFill> fills;      ///< of each link of `fluid`
    double connections;               ///< the exchange's
    std::vector<std::pair<std::size_t, std::size_t>> pairs;  ///< (i, j) of each group of `fluid`

    /// Takes the flows of each group of `fluid`, which cross trunks, and leaves of those that cross several
    /// parallel links what the fullest one carries.  Once for the groups that there are.
    void spread_over_links();

    /// Caps every flow at what its class leaves it.  A class without a rate caps
    /// nothing.  A class is busy until its last message ends, so that each gets its
    /// part by size.
    void cap_flows(const RatesByCluster& rates);

    [[nodiscard]] EarliestEnd earliest_end() const;
    /// Finds each class's rate for all messages to end after that time.  Fails if some class's
    /// share is less than the slowest rate there is.
    [[nodiscard]] Result<RatesByCluster> rates_for_end(double end_s) const;
    /// Says of each link whether the hosts that use it can put more into it than it carries.
    [[nodiscard]] std::vector<bool> contended_links() const;
    /// "trunk of a (up)", "fullest of the 4 links of the trunk of a (up)".
    [[nodiscard]] std::string name_of(std::size_t link) const;
    /// What all parallel links of a link's direction carry until the fullest one is full.
    [[nodiscard]] BitsPerSecond carried_rate(std::size_t link) const;
    /// The longest one-way delay between clusters that take part, in s.
    [[nodiscard]] double latency_s() const;

private:
    void add_link(const TopologyLink& link, const std::optional<std::uint64_t>& buffer_bytes);
    void add_pair(std::size_t i, std::size_t j, double payload_bytes);
    [[nodiscard]] std::vector<std::vector<double>> class_bytes() const;
};

}  // namespace headway
