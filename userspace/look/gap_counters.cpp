// SPDX-License-Identifier: Apache-2.0
#include "look/gap_counters.hpp"

#include "kernel/netlink_exchange.hpp"
#include "kernel/netlink_traffic_control.hpp"

namespace headway {

Result<std::optional<GapCounters>> read_gap_counters(const std::string& device) {
    auto transport = MnlTransport::open();
    if (!transport) return tl::unexpected(transport.error());
    auto kernel = NetlinkTrafficControl::open(*transport, device);
    if (!kernel) return tl::unexpected(kernel.error());
    const auto root = kernel->root_qdisc();
    if (!root) return tl::unexpected(root.error());
    if (!*root || (*root)->kind != "gap") return std::nullopt;
    return (*root)->counters;
}

}  // namespace headway
