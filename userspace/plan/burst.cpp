// SPDX-License-Identifier: Apache-2.0
#include "plan/burst.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <linux/pkt_sched_gap.h>

#include "base/wire.hpp"
#include "plan/exchange.hpp"

namespace headway {
namespace {

/// A shorter burst is a single frame, which needs none.
constexpr std::uint64_t least_burst_bytes = 2 * tcp_wire_bytes(tcp_segment_bytes);

/// A link with a buffer in front of it, and the hosts whose packets may meet there: each has so many
/// classes of which packets cross it.
struct SharedBuffer {
    TopologyLink link;
    std::optional<std::uint64_t> bytes;
    std::uint32_t senders = 1;
    std::uint32_t classes = 1;

    [[nodiscard]] std::uint64_t burst_bytes() const {
        const double left = (1 - buffer_part) * static_cast<double>(bytes.value_or(0));
        return static_cast<std::uint64_t>(left) / (std::uint64_t{senders} * classes);
    }
};

/// The buffers on the paths of a topology all of whose hosts may send.
class PathBuffers {
public:
    explicit PathBuffers(const Topology& topology) : topology_(topology) {
        HostCounts all;
        for (const Cluster& cluster : topology.clusters()) {
            all.per_cluster.push_back(static_cast<std::uint32_t>(cluster.hosts.size()));
        }
        hosts_ = all.total();
        below_ = topology.hosts_below(all);
        clusters_below_ = topology.hosts_below({std::vector<std::uint32_t>(topology.clusters().size(), 1)});
    }

    [[nodiscard]] std::vector<SharedBuffer> between(std::size_t from, std::size_t to) const {
        std::vector<SharedBuffer> buffers;
        for (const TopologyLink& link : topology_.trunk_path(from, to)) {
            const bool is_up = link.kind == LinkKind::trunk_up;
            const std::uint32_t below = below_[link.owner], clusters = clusters_below_[link.owner];
            const auto all_clusters = static_cast<std::uint32_t>(topology_.clusters().size());
            buffers.push_back({link, topology_.trunk(link.owner).trunk_buffer_bytes,
                               std::max(is_up ? below : hosts_ - below, 1U),
                               is_up ? all_clusters - clusters : clusters});
        }
        const std::uint32_t others = std::max(hosts_, 2U) - 1;
        buffers.push_back(
            {{LinkKind::edge_in, to}, topology_.clusters()[to].host_buffer_bytes, others, 1});
        return buffers;
    }

private:
    const Topology& topology_;
    std::uint32_t hosts_ = 0;
    std::vector<std::uint32_t> below_;           ///< hosts, of each trunk
    std::vector<std::uint32_t> clusters_below_;
};

const SharedBuffer& tightest(const std::vector<SharedBuffer>& buffers) {
    return *std::ranges::min_element(buffers, {}, &SharedBuffer::burst_bytes);
}

std::uint32_t burst_bytes(const SharedBuffer& buffer) {
    const std::uint64_t bytes = std::min<std::uint64_t>(buffer.burst_bytes(), GAP_BURST_MAX_BYTES);
    return bytes < least_burst_bytes ? 0 : static_cast<std::uint32_t>(bytes);
}

std::string reason_of(const Topology& topology, const SharedBuffer& buffer) {
    const std::string where = topology.name_of(buffer.link);
    if (!buffer.bytes) return fmt::format("no buffer is known in front of the {}", where);
    std::string senders = fmt::format("each of {} senders", buffer.senders);
    if (buffer.classes > 1) senders += fmt::format(" towards each of {} clusters", buffer.classes);
    return fmt::format("what plans leave of the {} in front of the {} holds {} of {}",
                       byte_size_to_text(*buffer.bytes), where,
                       burst_bytes(buffer) == 0 ? "no two frames" : "so much", senders);
}

}  // namespace

std::vector<ClassBurst> plan_bursts(const Topology& topology, std::size_t own_cluster) {
    const PathBuffers buffers(topology);
    std::vector<ClassBurst> bursts;
    for (std::size_t to = 0; to < topology.clusters().size(); ++to) {
        const auto path = buffers.between(own_cluster, to);
        bursts.push_back({burst_bytes(tightest(path)), reason_of(topology, tightest(path))});
    }
    return bursts;
}

std::vector<std::uint32_t> plan_burst_bytes(const Topology& topology, std::size_t own_cluster) {
    const PathBuffers buffers(topology);
    std::vector<std::uint32_t> bytes;
    for (std::size_t to = 0; to < topology.clusters().size(); ++to) {
        bytes.push_back(burst_bytes(tightest(buffers.between(own_cluster, to))));
    }
    return bytes;
}

}  // namespace headway
