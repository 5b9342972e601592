// SPDX-License-Identifier: Apache-2.0
#include "kernel/gap_counters.hpp"

#include <libmnl/libmnl.h>
#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

#include <cerrno>
#include <cstring>

#include "gap_attr.h"
#include "kernel/mnl_transport.hpp"
#include "kernel/netlink_attributes.hpp"
#include "kernel/netlink_exchange.hpp"

namespace headway {
namespace {

void read_statistics(const nlattr* nest, std::optional<GapCounters>& counters) {
    for_each_nested_attribute(nest, [&](const nlattr* attribute) {
        if (mnl_attr_get_type(attribute) != TCA_STATS_APP) return;
        tc_gap_xstats xstats{};
        if (gap_xstats_decode(&xstats, mnl_attr_get_payload(attribute),
                              mnl_attr_get_payload_len(attribute)) != 0 ||
            xstats.type != TC_GAP_XSTATS_QDISC) {
            return;
        }
        const tc_gap_qdisc_xstats& qdisc = xstats.qdisc;
        counters = {.stamp_ns = qdisc.stamp_ns,
                    .wire_bytes = qdisc.wire_bytes,
                    .gap_packets = qdisc.gap_packets,
                    .gap_wire_bytes = qdisc.gap_wire_bytes,
                    .direct_packets = qdisc.direct_packets,
                    .underruns = qdisc.underruns,
                    .fallbacks = qdisc.fallbacks,
                    .expired = qdisc.expired,
                    .device_queued_bytes = qdisc.device_queued_bytes,
                    .device_completed_bytes = qdisc.device_completed_bytes};
    });
}

}  // namespace

std::optional<GapCounters> decode_gap_counters(const nlmsghdr* message, int ifindex) {
    if (message->nlmsg_type != RTM_NEWQDISC ||
        mnl_nlmsg_get_payload_len(message) < sizeof(tcmsg)) {
        return std::nullopt;
    }
    const auto* tc = static_cast<const tcmsg*>(mnl_nlmsg_get_payload(message));
    if (tc->tcm_ifindex != ifindex || tc->tcm_parent != TC_H_ROOT) return std::nullopt;
    bool is_gap = false;
    std::optional<GapCounters> counters;
    for_each_attribute(message, sizeof(tcmsg), [&](const nlattr* attribute) {
        const auto type = mnl_attr_get_type(attribute);
        if (type == TCA_KIND) is_gap = attribute_text(attribute) == "gap";
        if (type == TCA_STATS2) read_statistics(attribute, counters);
    });
    return is_gap ? counters : std::nullopt;
}

Result<std::optional<GapCounters>> read_gap_counters(const std::string& device) {
    const auto ifindex = static_cast<int>(if_nametoindex(device.c_str()));
    if (ifindex == 0) return system_failure(errno, "{}: {}", device, std::strerror(errno));
    auto transport = MnlTransport::open();
    if (!transport) return tl::unexpected(transport.error());
    NetlinkExchange exchange(*transport);
    std::optional<GapCounters> counters;
    const auto read = exchange.query(
        encode_qdisc_dump(ifindex), [&] { counters.reset(); },
        [&](const nlmsghdr* message) -> Result<void> {
            if (const auto found = decode_gap_counters(message, ifindex)) counters = found;
            return {};
        });
    if (!read) return tl::unexpected(read.error().within("reading the root qdisc"));
    return counters;
}

}  // namespace headway
