// SPDX-License-Identifier: Apache-2.0
// What the TCP connections of paced traffic lost, of all that the node has.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/ip_prefix.hpp"
#include "kernel/tcp_sockets.hpp"

namespace headway {

/// What happened between two looks.
struct FlowLosses {
    std::uint64_t segments = 0;
    std::uint64_t retransmissions = 0;
    std::uint64_t timeouts = 0;

    friend bool operator==(const FlowLosses&, const FlowLosses&) = default;
};

/// Of connections to given addresses.  One that ended between two looks has told
/// what it did up to the first of them.
class FlowCounts {
public:
    explicit FlowCounts(std::vector<IpPrefix> destinations)
        : destinations_(std::move(destinations)) {}

    /// All connections as they are now, and the time-outs of all the node's TCP so
    /// far.  None: the first look, there is nothing to compare with.
    ///
    /// Where the kernel does not count time-outs by socket (before Linux 6.7) they
    /// are those of the node, but no more than segments were sent again to the
    /// destinations: each time-out sends one.
    [[nodiscard]] std::optional<FlowLosses> look(std::span<const TcpFlow> flows,
                                                 std::optional<std::uint64_t> node_timeouts);

private:
    [[nodiscard]] bool is_watched(const IpPrefix& remote) const;

    std::vector<IpPrefix> destinations_;
    bool has_looked_ = false;
    std::unordered_map<std::uint64_t, FlowLosses> seen_;  ///< since the connection's beginning
    std::optional<std::uint64_t> node_timeouts_;
};

}  // namespace headway
