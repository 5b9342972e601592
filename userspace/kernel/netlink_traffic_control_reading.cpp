// SPDX-License-Identifier: Apache-2.0
// What a dump describes.
#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <linux/gen_stats.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "gap_attr.h"
#include "kernel/netlink_attributes.hpp"
#include "kernel/netlink_traffic_control.hpp"

namespace headway {
namespace {

/// Null: the message is of another type, or about another device.
const tcmsg* tc_about(const nlmsghdr* message, std::uint16_t type, int ifindex) {
    const tcmsg* tc = message->nlmsg_type == type ? tc_of(message) : nullptr;
    return tc != nullptr && tc->tcm_ifindex == ifindex ? tc : nullptr;
}

ClassRate to_class_rate(std::uint64_t bytes_per_s) {
    if (bytes_per_s == GAP_RATE_UNLIMITED) return std::nullopt;
    return BytesPerSecond{bytes_per_s};
}

/// The kernel allows a day at most.
std::chrono::nanoseconds to_time(std::uint64_t ns) {
    return std::chrono::nanoseconds(std::min<std::uint64_t>(ns, INT64_MAX));
}

/// Copies as much of a kernel structure as both sides know; zeros if it is not there.
template <class Struct>
Struct prefix_of(const nlattr* attribute) {
    Struct value{};
    const auto bytes = attribute_bytes(attribute);
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), std::min(sizeof(value), bytes.size()));
    return value;
}

/// Zeros if there are none of that type.
tc_gap_xstats xstats_in(const nlattr* attribute, std::uint32_t type) {
    tc_gap_xstats xstats{};
    const auto bytes = attribute_bytes(attribute);
    const bool is_read = gap_xstats_decode(&xstats, bytes.data(), bytes.size()) == 0;
    return is_read && xstats.type == type ? xstats : tc_gap_xstats{};
}

void read_statistics(const nlattr* stats2, ClassState& state) {
    const auto at = attribute_table<TCA_STATS_MAX>(attribute_bytes(stats2));
    // the second follows the first once that has run over
    state.packets = at[TCA_STATS_PKT64] == nullptr
                        ? prefix_of<gnet_stats_basic>(at[TCA_STATS_BASIC]).packets
                        : prefix_of<std::uint64_t>(at[TCA_STATS_PKT64]);
    const auto queue = prefix_of<gnet_stats_queue>(at[TCA_STATS_QUEUE]);
    state.drops = queue.drops;
    state.backlog_bytes = queue.backlog;
    state.wire_bytes = xstats_in(at[TCA_STATS_APP], TC_GAP_XSTATS_CLASS).cl.wire_bytes;
}

/// Whether a flower filter looks at nothing but a destination: one that was narrowed is
/// another filter.
bool is_plain(const nlattr* options) {
    bool has_others = false;
    for_each_attribute(attribute_bytes(options), [&](const nlattr* attribute) {
        switch (mnl_attr_get_type(attribute)) {
            case TCA_FLOWER_CLASSID:
            case TCA_FLOWER_KEY_ETH_TYPE:
            case TCA_FLOWER_FLAGS:
            case TCA_FLOWER_IN_HW_COUNT:
            case TCA_FLOWER_KEY_IPV4_DST:
            case TCA_FLOWER_KEY_IPV6_DST:
            case TCA_FLOWER_KEY_IPV4_DST_MASK:
            case TCA_FLOWER_KEY_IPV6_DST_MASK: break;
            default: has_others = true;
        }
    });
    return !has_others;
}

/// The kernel shows no address without its mask.
std::optional<IpPrefix> destination_in(const AttributeTable<TCA_FLOWER_MAX>& at, IpFamily family) {
    const bool v4 = family == IpFamily::v4;
    const auto address = attribute_bytes(
        at[v4 ? TCA_FLOWER_KEY_IPV4_DST : TCA_FLOWER_KEY_IPV6_DST]);
    const auto mask = attribute_bytes(
        at[v4 ? TCA_FLOWER_KEY_IPV4_DST_MASK : TCA_FLOWER_KEY_IPV6_DST_MASK]);
    IpPrefix prefix{.family = family};
    const std::size_t length = prefix.address_bytes();
    if (address.size() != length || mask.size() != length) return std::nullopt;
    std::memcpy(prefix.address.data(), address.data(), length);
    for (const std::byte byte : mask) {
        prefix.length_bits = static_cast<std::uint8_t>(
            prefix.length_bits + __builtin_popcount(std::to_integer<unsigned>(byte)));
    }
    return prefix;
}

void read_options(const nlattr* options, FilterState& state) {
    if (state.kind == "flower") {
        const auto at = attribute_table<TCA_FLOWER_MAX>(attribute_bytes(options));
        state.classid = {attribute_u32(at[TCA_FLOWER_CLASSID])};
        if (!is_plain(options)) return;
        state.destination = destination_in(at, IpFamily::v4);
        if (!state.destination) state.destination = destination_in(at, IpFamily::v6);
    } else if (state.kind == "bpf") {
        const auto at = attribute_table<TCA_BPF_MAX>(attribute_bytes(options));
        state.classid = {attribute_u32(at[TCA_BPF_CLASSID])};
        state.program_id = attribute_u32(at[TCA_BPF_ID]);
        state.name = attribute_text(at[TCA_BPF_NAME]);
    }
}

}  // namespace

std::optional<std::string> decode_kind_below(const nlmsghdr* message, int ifindex, TcHandle qdisc) {
    const tcmsg* tc = tc_about(message, RTM_NEWQDISC, ifindex);
    if (tc == nullptr || TcHandle{tc->tcm_parent}.major() != qdisc.major()) return std::nullopt;
    return attribute_text(attribute_table<TCA_MAX>(attributes_of(message, sizeof(tcmsg)))[TCA_KIND]);
}

Result<std::optional<RootQdisc>> decode_root_qdisc(const nlmsghdr* message, int ifindex) {
    const tcmsg* tc = tc_about(message, RTM_NEWQDISC, ifindex);
    if (tc == nullptr || tc->tcm_parent != TC_H_ROOT) return std::nullopt;
    const auto at = attribute_table<TCA_MAX>(attributes_of(message, sizeof(tcmsg)));
    if (at[TCA_KIND] == nullptr) return failure("the kernel described a qdisc without a kind");
    RootQdisc root;
    root.kind = attribute_text(at[TCA_KIND]);
    root.handle = TcHandle{tc->tcm_handle};
    const auto stats = attribute_table<TCA_STATS_MAX>(attribute_bytes(at[TCA_STATS2]));
    const auto queue = prefix_of<gnet_stats_queue>(stats[TCA_STATS_QUEUE]);
    root.queued_packets = queue.qlen;
    root.dropped_packets = queue.drops;
    if (root.kind != "gap") return root;
    root.counters = xstats_in(stats[TCA_STATS_APP], TC_GAP_XSTATS_QDISC).qdisc;
    if (at[TCA_OPTIONS] == nullptr) return root;
    gap_qdisc_conf conf{};
    const auto options = attribute_bytes(at[TCA_OPTIONS]);
    if (gap_qdisc_decode(&conf, options.data(), options.size()) != 0) {
        return failure("the kernel described qdisc {} in a way that cannot be read",
                       root.handle.to_string());
    }
    if (conf.has_link_rate) root.link_rate = BytesPerSecond{conf.link_rate_bytes_per_s};
    root.backend = conf.backend_used;
    root.reason = conf.reason;
    return root;
}

Result<std::optional<ClassState>> decode_class(const nlmsghdr* message, int ifindex) {
    const tcmsg* tc = tc_about(message, RTM_NEWTCLASS, ifindex);
    if (tc == nullptr) return std::nullopt;
    const auto at = attribute_table<TCA_MAX>(attributes_of(message, sizeof(tcmsg)));
    if (attribute_text(at[TCA_KIND]) != "gap") return std::nullopt;

    ClassState state;
    state.classid = {tc->tcm_handle};
    if (tc->tcm_parent != TC_H_ROOT) state.parent = {tc->tcm_parent};
    gap_class_conf conf;  // with room for a whole table, and read only when it has been filled
    const auto options = attribute_bytes(at[TCA_OPTIONS]);
    if (gap_class_decode(&conf, options.data(), options.size()) != 0 || !conf.has_rate) {
        return failure("the kernel described class {} in a way that cannot be read",
                       state.classid.to_string());
    }
    state.rate = to_class_rate(conf.rate_bytes_per_s);
    for (const tc_gap_phase_rate& one : std::span(conf.phases, conf.phase_count)) {
        if (one.phase < 1 || one.phase > table_entries_max) continue;
        state.table.emplace(static_cast<TableEntry>(one.phase), to_class_rate(one.rate));
    }
    if (conf.has_fallback && conf.has_expires) {
        state.lease = ClassLease{{conf.fallback_bytes_per_s}, to_time(conf.expires_ns)};
    }
    state.expired = conf.expired;
    state.burst_bytes = conf.has_burst ? conf.burst_bytes : 0;
    read_statistics(at[TCA_STATS2], state);
    return state;
}

std::optional<FilterState> decode_filter(const nlmsghdr* message, int ifindex) {
    const tcmsg* tc = tc_about(message, RTM_NEWTFILTER, ifindex);
    // Handle 0 introduces those that share a preference.
    if (tc == nullptr || tc->tcm_handle == 0) return std::nullopt;
    const auto at = attribute_table<TCA_MAX>(attributes_of(message, sizeof(tcmsg)));
    // Packets begin in chain 0, and none of our filters sends them on.
    if (attribute_u32(at[TCA_CHAIN]) != 0) return std::nullopt;

    FilterState state;
    state.kind = attribute_text(at[TCA_KIND]);
    state.preference = static_cast<std::uint16_t>(TC_H_MAJ(tc->tcm_info) >> 16U);
    state.protocol = ntohs(static_cast<std::uint16_t>(TC_H_MIN(tc->tcm_info)));
    state.handle = tc->tcm_handle;
    if (at[TCA_OPTIONS] != nullptr) read_options(at[TCA_OPTIONS], state);
    return state;
}

}  // namespace headway
