// SPDX-License-Identifier: Apache-2.0
#include "kernel/netlink_message.hpp"

#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <linux/gen_stats.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "gap_attr.h"
#include "kernel/netlink_attributes.hpp"

namespace headway {
namespace {

constexpr const char* gap_kind = "gap";
constexpr std::uint32_t classifier_handle = 1;
constexpr TcHandle clsact_handle = tc_handle(0xffff, 0);
constexpr TcHandle same_parent{};  // of a class that is changed: whichever it has

// -------------------------------------------------------------------- writing

/// Starts a request about traffic control and leaves its tcmsg to be filled.
tcmsg* begin(NetlinkMessage& message, std::uint16_t type, std::uint16_t flags, int ifindex) {
    nlmsghdr* header = mnl_nlmsg_put_header(message.header());
    header->nlmsg_type = type;
    header->nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
    auto* tc = static_cast<tcmsg*>(mnl_nlmsg_put_extra_header(header, sizeof(tcmsg)));
    tc->tcm_family = AF_UNSPEC;
    tc->tcm_ifindex = ifindex;
    return tc;
}

constexpr std::uint16_t create_flags = NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL;
constexpr std::uint16_t replace_flags = NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE;

// fq's own limits must never be what drops a packet: those of sockets bound what waits.
constexpr std::uint32_t fq_limit_packets = 1 << 20;
constexpr std::uint32_t fq_horizon_us = 3'600'000'000;

void put_table(gap_class_conf& conf, const RateTable& table) {
    conf.phase_count = static_cast<std::uint32_t>(table.size());
    std::size_t i = 0;
    for (const auto& [number, rate] : table) {
        conf.phases[i++] = {rate ? rate->value : GAP_RATE_UNLIMITED, number, 0};
    }
}

gap_class_conf rate_conf(const ClassRate& rate) {
    gap_class_conf conf{};
    conf.has_rate = true;
    conf.rate_bytes_per_s = rate ? rate->value : GAP_RATE_UNLIMITED;
    return conf;
}

void put_lease(gap_class_conf& conf, const ClassLease& lease) {
    conf.has_fallback = true;
    conf.fallback_bytes_per_s = lease.fallback.value;
    conf.has_expires = true;
    conf.expires_ns = static_cast<std::uint64_t>(lease.expires.count());
}

Result<void> put_gap_class(nlmsghdr* header, const gap_class_conf& conf) {
    std::array<std::byte, GAP_ATTR_BUF_BYTES> attributes{};
    const int length = gap_class_encode(&conf, attributes.data(), attributes.size());
    if (length < 0) {
        return system_failure(-length, "{}", gap_class_mistake(&conf));
    }
    mnl_attr_put(header, TCA_OPTIONS | NLA_F_NESTED, static_cast<std::size_t>(length),
                 attributes.data());
    return {};
}

std::uint16_t ethertype(const IpPrefix& prefix) {
    return htons(prefix.family == IpFamily::v4 ? ETH_P_IP : ETH_P_IPV6);
}

struct Encoder {
    NetlinkMessage& message;
    int ifindex;

    // No further options: the device's own speed is the link's, and what no filter
    // names is direct.
    Result<void> operator()(const AddRootQdisc& change) const {
        return put_qdisc(change.handle, change.backend,
                         change.replaces ? replace_flags : create_flags);
    }

    Result<void> operator()(const ChangeBackend& change) const {
        return put_qdisc(change.handle, change.backend, NLM_F_ACK);
    }

    Result<void> operator()(const DeleteRootQdisc& change) const {
        begin_qdisc(RTM_DELQDISC, NLM_F_ACK, TC_H_ROOT, change.handle, gap_kind);
        return {};
    }

    /// No timer slack: a timer may be late, but not on purpose.  No rates of sockets: fq would
    /// have TCP pace itself by its round trip, which is that of the queue in front of it.
    Result<void> operator()(const AddFqQdisc&) const {
        nlmsghdr* header = begin_qdisc(RTM_NEWQDISC, replace_flags, TC_H_ROOT, fq_root_handle, "fq");
        nlattr* options = mnl_attr_nest_start(header, TCA_OPTIONS);
        mnl_attr_put_u32(header, TCA_FQ_PLIMIT, fq_limit_packets);
        mnl_attr_put_u32(header, TCA_FQ_FLOW_PLIMIT, fq_limit_packets);
        mnl_attr_put_u32(header, TCA_FQ_RATE_ENABLE, 0);
        mnl_attr_put_u32(header, TCA_FQ_TIMER_SLACK, 0);
        mnl_attr_put_u32(header, TCA_FQ_HORIZON, fq_horizon_us);
        mnl_attr_put_u8(header, TCA_FQ_HORIZON_DROP, 0);
        mnl_attr_nest_end(header, options);
        return {};
    }

    Result<void> operator()(const DeleteFqQdisc&) const {
        begin_qdisc(RTM_DELQDISC, NLM_F_ACK, TC_H_ROOT, fq_root_handle, "fq");
        return {};
    }

    Result<void> operator()(const AddClsact&) const {
        begin_qdisc(RTM_NEWQDISC, create_flags, TC_H_CLSACT, clsact_handle, "clsact");
        return {};
    }

    Result<void> operator()(const DeleteClsact&) const {
        begin_qdisc(RTM_DELQDISC, NLM_F_ACK, TC_H_CLSACT, clsact_handle, "clsact");
        return {};
    }

    Result<void> operator()(const ChangeSegmentsMax& change) const {
        nlmsghdr* header = mnl_nlmsg_put_header(message.header());
        header->nlmsg_type = RTM_SETLINK;
        header->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
        auto* link = static_cast<ifinfomsg*>(mnl_nlmsg_put_extra_header(header, sizeof(ifinfomsg)));
        link->ifi_index = ifindex;
        mnl_attr_put_u32(header, IFLA_GSO_MAX_SEGS, change.segments);
        return {};
    }

    Result<void> operator()(const AddClass& change) const {
        gap_class_conf conf = rate_conf(change.rate);
        put_table(conf, change.table);
        if (change.lease) put_lease(conf, *change.lease);
        return put_class(change.classid, change.parent.value_or(tc_handle(change.classid.major(), 0)),
                         create_flags, conf);
    }

    Result<void> operator()(const DeleteClass& change) const {
        tcmsg* tc = begin(message, RTM_DELTCLASS, NLM_F_ACK, ifindex);
        tc->tcm_handle = change.classid.value;
        return {};
    }

    Result<void> operator()(const ChangeClassRate& change) const {
        return put_class(change.classid, same_parent, NLM_F_ACK, rate_conf(change.rate));
    }

    Result<void> operator()(const ChangeClassTable& change) const {
        gap_class_conf conf{};
        put_table(conf, change.entries);
        return put_class(change.classid, same_parent, NLM_F_ACK, conf);
    }

    Result<void> operator()(const RefreshClass& change) const {
        return put_class(change.classid, same_parent, NLM_F_ACK, {});
    }

    Result<void> operator()(const ChangeClassLease& change) const {
        gap_class_conf conf{};
        if (change.revives) conf = rate_conf(std::nullopt);
        put_lease(conf, change.lease);
        return put_class(change.classid, same_parent, NLM_F_ACK, conf);
    }

    Result<void> operator()(const AddFilter& change) const {
        tcmsg* tc = begin(message, RTM_NEWTFILTER, create_flags, ifindex);
        tc->tcm_parent = tc_handle(change.classid.major(), 0).value;
        tc->tcm_handle = change.handle;
        tc->tcm_info = TC_H_MAKE(static_cast<std::uint32_t>(change.preference) << 16U,
                                 ethertype(change.destination));
        nlmsghdr* header = message.header();
        mnl_attr_put_strz(header, TCA_KIND, "flower");
        nlattr* options = mnl_attr_nest_start(header, TCA_OPTIONS);
        put_destination(header, change.destination);
        mnl_attr_put_u32(header, TCA_FLOWER_CLASSID, change.classid.value);
        mnl_attr_put_u32(header, TCA_FLOWER_FLAGS, 0);
        mnl_attr_put_u16(header, TCA_FLOWER_KEY_ETH_TYPE, ethertype(change.destination));
        mnl_attr_nest_end(header, options);
        return {};
    }

    Result<void> operator()(const AddClassifier& change) const {
        // Without NLM_F_EXCL the same handle means: put this in its place.
        const std::uint16_t flags = change.replaces ? NLM_F_ACK | NLM_F_CREATE : create_flags;
        tcmsg* tc = begin(message, RTM_NEWTFILTER, flags, ifindex);
        tc->tcm_parent = change.qdisc.value;
        tc->tcm_handle = classifier_handle;
        tc->tcm_info = TC_H_MAKE(static_cast<std::uint32_t>(change.preference) << 16U,
                                 htons(ETH_P_ALL));
        nlmsghdr* header = message.header();
        mnl_attr_put_strz(header, TCA_KIND, "bpf");
        nlattr* options = mnl_attr_nest_start(header, TCA_OPTIONS);
        // The program gives the minor number, the filter the major one.
        mnl_attr_put_u32(header, TCA_BPF_CLASSID, change.qdisc.value);
        mnl_attr_put_u32(header, TCA_BPF_FD, static_cast<std::uint32_t>(change.program.fd));
        mnl_attr_put_strz(header, TCA_BPF_NAME, classifier_name);
        mnl_attr_put_u32(header, TCA_BPF_FLAGS, TCA_BPF_FLAG_ACT_DIRECT);
        mnl_attr_nest_end(header, options);
        return {};
    }

    Result<void> operator()(const DeleteFilter& change) const {
        tcmsg* tc = begin(message, RTM_DELTFILTER, NLM_F_ACK, ifindex);
        tc->tcm_parent = change.qdisc.value;
        tc->tcm_handle = change.handle;
        tc->tcm_info = TC_H_MAKE(static_cast<std::uint32_t>(change.preference) << 16U,
                                 htons(change.protocol));
        mnl_attr_put_strz(message.header(), TCA_KIND, change.kind.c_str());
        return {};
    }

    Result<void> put_qdisc(TcHandle handle, std::uint32_t backend, std::uint16_t flags) const {
        nlmsghdr* header = begin_qdisc(RTM_NEWQDISC, flags, TC_H_ROOT, handle, gap_kind);
        nlattr* options = mnl_attr_nest_start(header, TCA_OPTIONS);
        mnl_attr_put_u32(header, TCA_GAP_BACKEND, backend);
        mnl_attr_nest_end(header, options);
        return {};
    }

    nlmsghdr* begin_qdisc(std::uint16_t type, std::uint16_t flags, std::uint32_t parent, TcHandle handle,
                          const char* kind) const {
        tcmsg* tc = begin(message, type, flags, ifindex);
        tc->tcm_parent = parent;
        tc->tcm_handle = handle.value;
        mnl_attr_put_strz(message.header(), TCA_KIND, kind);
        return message.header();
    }

    Result<void> put_class(TcHandle classid, TcHandle parent, std::uint16_t flags, const gap_class_conf& conf) const {
        tcmsg* tc = begin(message, RTM_NEWTCLASS, flags, ifindex);
        tc->tcm_parent = parent.value;
        tc->tcm_handle = classid.value;
        mnl_attr_put_strz(message.header(), TCA_KIND, gap_kind);
        return put_gap_class(message.header(), conf);
    }

    static void put_destination(nlmsghdr* header, const IpPrefix& prefix) {
        const bool v4 = prefix.family == IpFamily::v4;
        const auto mask = prefix.mask();
        mnl_attr_put(header, v4 ? TCA_FLOWER_KEY_IPV4_DST : TCA_FLOWER_KEY_IPV6_DST,
                     prefix.address_bytes(), prefix.address.data());
        mnl_attr_put(header, v4 ? TCA_FLOWER_KEY_IPV4_DST_MASK : TCA_FLOWER_KEY_IPV6_DST_MASK,
                     prefix.address_bytes(), mask.data());
    }
};

// -------------------------------------------------------------------- reading

/// Attributes of a traffic control message that Headway looks at.  Unknown
/// ones are passed over: a newer kernel may send more.
struct TcAttributes {
    const nlattr* kind = nullptr;
    const nlattr* options = nullptr;
    const nlattr* stats2 = nullptr;
};

TcAttributes read_attributes(const nlmsghdr* message) {
    TcAttributes found;
    for_each_attribute(message, sizeof(tcmsg), [&](const nlattr* attribute) {
        switch (mnl_attr_get_type(attribute)) {
            case TCA_KIND: found.kind = attribute; break;
            case TCA_OPTIONS: found.options = attribute; break;
            case TCA_STATS2: found.stats2 = attribute; break;
            default: break;
        }
    });
    return found;
}

bool is_about(const nlmsghdr* message, std::uint16_t type, int ifindex) {
    if (message->nlmsg_type != type || message->nlmsg_len < NLMSG_LENGTH(sizeof(tcmsg))) {
        return false;
    }
    return static_cast<const tcmsg*>(mnl_nlmsg_get_payload(message))->tcm_ifindex == ifindex;
}

ClassRate to_class_rate(std::uint64_t bytes_per_s) {
    if (bytes_per_s == GAP_RATE_UNLIMITED) return std::nullopt;
    return BytesPerSecond{bytes_per_s};
}

/// The kernel allows a day at most.
std::chrono::nanoseconds to_time(std::uint64_t ns) {
    return std::chrono::nanoseconds(std::min<std::uint64_t>(ns, INT64_MAX));
}

/// Copies as much of a kernel structure as both sides know.
template <class Struct>
Struct prefix_of(const nlattr* attribute) {
    Struct value{};
    std::memcpy(&value, mnl_attr_get_payload(attribute),
                std::min<std::size_t>(sizeof(value), mnl_attr_get_payload_len(attribute)));
    return value;
}

void read_statistics(const nlattr* stats2, ClassState& state) {
    for_each_nested_attribute(stats2, [&](const nlattr* attribute) {
        switch (mnl_attr_get_type(attribute)) {
            case TCA_STATS_BASIC:
                state.packets = prefix_of<gnet_stats_basic>(attribute).packets;
                break;
            case TCA_STATS_PKT64:  // follows TCA_STATS_BASIC once that has run over
                state.packets = prefix_of<std::uint64_t>(attribute);
                break;
            case TCA_STATS_QUEUE: {
                const auto queue = prefix_of<gnet_stats_queue>(attribute);
                state.drops = queue.drops;
                state.backlog_bytes = queue.backlog;
                break;
            }
            case TCA_STATS_APP: {
                tc_gap_xstats xstats{};
                if (gap_xstats_decode(&xstats, mnl_attr_get_payload(attribute),
                                      mnl_attr_get_payload_len(attribute)) == 0 &&
                    xstats.type == TC_GAP_XSTATS_CLASS) {
                    state.wire_bytes = xstats.cl.wire_bytes;
                }
                break;
            }
            default: break;
        }
    });
}

}  // namespace

Result<NetlinkMessage> encode_change(int ifindex, const Change& change) {
    NetlinkMessage message;
    if (const auto encoded = std::visit(Encoder{message, ifindex}, change); !encoded) {
        return tl::unexpected(encoded.error().within(change_to_text(change)));
    }
    return message;
}

NetlinkMessage encode_link_query(std::string_view device) {
    NetlinkMessage message;
    nlmsghdr* header = mnl_nlmsg_put_header(message.header());
    header->nlmsg_type = RTM_GETLINK;
    header->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
    mnl_nlmsg_put_extra_header(header, sizeof(ifinfomsg));
    mnl_attr_put_strz(header, IFLA_IFNAME, std::string(device).c_str());
    return message;
}

NetlinkMessage encode_qdisc_dump(int ifindex) {
    NetlinkMessage message;
    begin(message, RTM_GETQDISC, NLM_F_DUMP, ifindex);
    return message;
}

NetlinkMessage encode_class_dump(int ifindex) {
    NetlinkMessage message;
    begin(message, RTM_GETTCLASS, NLM_F_DUMP, ifindex);
    return message;
}

NetlinkMessage encode_filter_dump(int ifindex, TcHandle qdisc) {
    NetlinkMessage message;
    begin(message, RTM_GETTFILTER, NLM_F_DUMP, ifindex)->tcm_parent = qdisc.value;
    return message;
}

Result<std::optional<RootQdisc>> decode_root_qdisc(const nlmsghdr* message, int ifindex) {
    if (!is_about(message, RTM_NEWQDISC, ifindex)) return std::nullopt;
    const auto* tc = static_cast<const tcmsg*>(mnl_nlmsg_get_payload(message));
    if (tc->tcm_parent != TC_H_ROOT) return std::nullopt;

    const TcAttributes attributes = read_attributes(message);
    if (attributes.kind == nullptr) return failure("the kernel described a qdisc without a kind");
    RootQdisc root;
    root.kind = attribute_text(attributes.kind);
    root.handle = TcHandle{tc->tcm_handle};
    if (root.kind == gap_kind && attributes.options != nullptr) {
        gap_qdisc_conf conf{};
        if (gap_qdisc_decode(&conf, mnl_attr_get_payload(attributes.options),
                             mnl_attr_get_payload_len(attributes.options)) != 0) {
            return failure("the kernel described qdisc {} in a way that cannot be read",
                           root.handle.to_string());
        }
        if (conf.has_link_rate) root.link_rate = BytesPerSecond{conf.link_rate_bytes_per_s};
        root.backend = conf.backend_used;
        root.reason = conf.reason;
    }
    return root;
}

Result<std::optional<ClassState>> decode_class(const nlmsghdr* message, int ifindex) {
    if (!is_about(message, RTM_NEWTCLASS, ifindex)) return std::nullopt;
    const TcAttributes attributes = read_attributes(message);
    if (attributes.kind == nullptr || attribute_text(attributes.kind) != gap_kind) return std::nullopt;

    ClassState state;
    const auto* tc = static_cast<const tcmsg*>(mnl_nlmsg_get_payload(message));
    state.classid = {tc->tcm_handle};
    if (tc->tcm_parent != TC_H_ROOT) state.parent = {tc->tcm_parent};
    gap_class_conf conf{};
    if (attributes.options == nullptr ||
        gap_class_decode(&conf, mnl_attr_get_payload(attributes.options),
                         mnl_attr_get_payload_len(attributes.options)) != 0 ||
        !conf.has_rate) {
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
    if (attributes.stats2 != nullptr) read_statistics(attributes.stats2, state);
    return state;
}

std::string extended_ack_text(const nlmsghdr* message) {
    if ((message->nlmsg_flags & NLM_F_ACK_TLVS) == 0) return {};
    // An error carries the refused request back, whole unless NLM_F_CAPPED;
    // the end of a dump carries a number only.
    std::size_t offset_bytes = sizeof(int);
    if (message->nlmsg_type == NLMSG_ERROR) {
        offset_bytes = sizeof(nlmsgerr);
        if (message->nlmsg_len < NLMSG_LENGTH(offset_bytes)) return {};
        const auto* error = static_cast<const nlmsgerr*>(mnl_nlmsg_get_payload(message));
        if ((message->nlmsg_flags & NLM_F_CAPPED) == 0 && error->error != 0) {
            offset_bytes += NLMSG_ALIGN(error->msg.nlmsg_len) - NLMSG_HDRLEN;
        }
    }
    if (message->nlmsg_len < NLMSG_LENGTH(offset_bytes)) return {};
    std::string text;
    for_each_attribute(message, offset_bytes, [&](const nlattr* attribute) {
        if (mnl_attr_get_type(attribute) == NLMSGERR_ATTR_MSG) text = attribute_text(attribute);
    });
    return text;
}

}  // namespace headway
