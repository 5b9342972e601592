// SPDX-License-Identifier: Apache-2.0
#include "kernel/netlink_traffic_control.hpp"

#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>

#include "gap_attr.h"
#include "kernel/netlink_attributes.hpp"

namespace headway {

// ------------------------------------------------------------------- requests as bytes

namespace {

constexpr const char* gap_kind = "gap";

constexpr std::uint16_t create_flags = NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL;
constexpr std::uint16_t replace_flags = NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE;

// fq's own limits must never be what drops a packet: those of sockets bound what waits.
constexpr std::uint32_t fq_limit_packets = 1 << 20;
constexpr std::uint32_t fq_horizon_us = 3'600'000'000;

/// The object of a traffic control request.
struct TcObject {
    TcHandle handle{};
    TcHandle parent{};  ///< 0 of a class that is changed: whichever it has
    std::uint32_t info = 0;
};

constexpr TcHandle device_root{TC_H_ROOT};
constexpr TcObject clsact{tc_handle(0xffff, 0), {TC_H_CLSACT}};

/// Starts a request about traffic control.
nlmsghdr* begin(NetlinkMessage& message, std::uint16_t type, std::uint16_t flags, int ifindex,
                const TcObject& object) {
    nlmsghdr* header = mnl_nlmsg_put_header(message.header());
    header->nlmsg_type = type;
    header->nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
    auto* tc = static_cast<tcmsg*>(mnl_nlmsg_put_extra_header(header, sizeof(tcmsg)));
    tc->tcm_family = AF_UNSPEC;
    tc->tcm_ifindex = ifindex;
    tc->tcm_handle = object.handle.value;
    tc->tcm_parent = object.parent.value;
    tc->tcm_info = object.info;
    return header;
}

/// Starts a request about the device itself.
nlmsghdr* begin_link(NetlinkMessage& message, std::uint16_t type, int ifindex) {
    nlmsghdr* header = mnl_nlmsg_put_header(message.header());
    header->nlmsg_type = type;
    header->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
    auto* link = static_cast<ifinfomsg*>(mnl_nlmsg_put_extra_header(header, sizeof(ifinfomsg)));
    link->ifi_index = ifindex;
    return header;
}

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

void put_burst(gap_class_conf& conf, std::uint32_t burst_bytes) {
    conf.has_burst = true;
    conf.burst_bytes = burst_bytes;
}

std::uint32_t filter_info(std::uint16_t preference, std::uint16_t protocol) {
    return TC_H_MAKE(static_cast<std::uint32_t>(preference) << 16U, htons(protocol));
}

struct Encoder {
    NetlinkMessage& message;
    int ifindex;
    bool has_bursts;
    std::optional<Error> mistake{};

    // No further options: the device's own speed is the link's, and what no filter
    // names is direct.  Our filters only choose classes, which nothing needs while none has a rate.
    void operator()(const AddRootQdisc& change) {
        gap_qdisc_conf conf{};
        conf.has_bypass = true;
        conf.bypass = 1;
        put_gap(change.handle, change.replaces ? replace_flags : create_flags, GAP_BACKEND_TIMER, conf);
    }

    void operator()(const ChangeBackend& change) {
        put_gap(change.handle, NLM_F_ACK, change.backend);
    }

    void operator()(const DeleteRootQdisc& change) {
        put(RTM_DELQDISC, NLM_F_ACK, {change.handle, device_root}, gap_kind);
    }

    /// No timer slack: a timer may be late, but not on purpose.  No rates of sockets: fq would
    /// have TCP pace itself by its round trip, which is that of the queue in front of it.
    void operator()(const AddProgramQdisc& change) {
        const TcObject root{root_handle_of(change.qdisc), device_root};
        const TcObject below_mq{{}, tc_handle(mq_handle_of(change.qdisc).major(), change.queue)};
        nlmsghdr* header = put(RTM_NEWQDISC, replace_flags, change.queue == 0 ? root : below_mq, kind_of(change.qdisc));
        if (change.qdisc != ProgramQdisc::fq) return;
        nlattr* options = mnl_attr_nest_start(header, TCA_OPTIONS);
        mnl_attr_put_u32(header, TCA_FQ_PLIMIT, fq_limit_packets);
        mnl_attr_put_u32(header, TCA_FQ_FLOW_PLIMIT, fq_limit_packets);
        mnl_attr_put_u32(header, TCA_FQ_RATE_ENABLE, 0);
        mnl_attr_put_u32(header, TCA_FQ_TIMER_SLACK, 0);
        mnl_attr_put_u32(header, TCA_FQ_HORIZON, fq_horizon_us);
        mnl_attr_put_u8(header, TCA_FQ_HORIZON_DROP, 0);
        mnl_attr_nest_end(header, options);
    }

    void operator()(const AddMqQdisc& change) {
        put(RTM_NEWQDISC, replace_flags, {mq_handle_of(change.qdisc), device_root}, "mq");
    }

    void operator()(const DeleteProgramRoot& change) {
        const char* kind = "mq";
        for (const ProgramQdisc one : {ProgramQdisc::fq, ProgramQdisc::bpf}) {
            if (change.handle == root_handle_of(one)) kind = kind_of(one);
        }
        put(RTM_DELQDISC, NLM_F_ACK, {change.handle, device_root}, kind);
    }
    void operator()(const AddClsact&) { put(RTM_NEWQDISC, create_flags, clsact, "clsact"); }
    void operator()(const DeleteClsact&) { put(RTM_DELQDISC, NLM_F_ACK, clsact, "clsact"); }

    void operator()(const ChangeSegmentsMax& change) {
        nlmsghdr* header = begin_link(message, RTM_SETLINK, ifindex);
        mnl_attr_put_u32(header, IFLA_GSO_MAX_SEGS, change.segments);
    }

    void operator()(const AddClass& change) {
        gap_class_conf conf = rate_conf(change.rate);
        put_table(conf, change.table);
        if (change.lease) put_lease(conf, *change.lease);
        if (change.burst_bytes != 0 && has_bursts) put_burst(conf, change.burst_bytes);
        const TcHandle qdisc = tc_handle(change.classid.major(), 0);
        put_class({change.classid, change.parent.value_or(qdisc)}, conf, create_flags);
    }

    void operator()(const DeleteClass& change) {
        begin(message, RTM_DELTCLASS, NLM_F_ACK, ifindex, {change.classid});
    }

    void operator()(const ChangeClassRate& change) {
        put_class({change.classid}, rate_conf(change.rate));
    }

    void operator()(const ChangeClassBurst& change) {
        gap_class_conf conf{};
        if (has_bursts) put_burst(conf, change.burst_bytes);
        put_class({change.classid}, conf);
    }

    void operator()(const ChangeClassTable& change) {
        gap_class_conf conf{};
        put_table(conf, change.entries);
        put_class({change.classid}, conf);
    }

    void operator()(const RefreshClass& change) { put_class({change.classid}, {}); }

    void operator()(const ChangeClassLease& change) {
        gap_class_conf conf{};
        if (change.revives) conf = rate_conf(std::nullopt);
        put_lease(conf, change.lease);
        put_class({change.classid}, conf);
    }

    void operator()(const AddFilter& change) {
        const IpPrefix& to = change.destination;
        const bool v4 = to.family == IpFamily::v4;
        const auto mask = to.mask();
        nlmsghdr* header = put(RTM_NEWTFILTER, create_flags,
                               {{change.handle}, tc_handle(change.classid.major(), 0),
                                filter_info(change.preference, change.protocol())}, "flower");
        nlattr* options = mnl_attr_nest_start(header, TCA_OPTIONS);
        mnl_attr_put(header, v4 ? TCA_FLOWER_KEY_IPV4_DST : TCA_FLOWER_KEY_IPV6_DST,
                     to.address_bytes(), to.address.data());
        mnl_attr_put(header, v4 ? TCA_FLOWER_KEY_IPV4_DST_MASK : TCA_FLOWER_KEY_IPV6_DST_MASK,
                     to.address_bytes(), mask.data());
        mnl_attr_put_u32(header, TCA_FLOWER_CLASSID, change.classid.value);
        mnl_attr_put_u32(header, TCA_FLOWER_FLAGS, 0);
        mnl_attr_put_u16(header, TCA_FLOWER_KEY_ETH_TYPE, htons(change.protocol()));
        mnl_attr_nest_end(header, options);
    }

    void operator()(const AddClassifier& change) {
        // A request without NLM_F_EXCL puts this in the place of what has the same handle.
        const std::uint16_t flags = change.replaces ? NLM_F_ACK | NLM_F_CREATE : create_flags;
        nlmsghdr* header = put(RTM_NEWTFILTER, flags,
                               {{classifier_handle}, change.qdisc,
                                filter_info(change.preference, ETH_P_ALL)}, "bpf");
        nlattr* options = mnl_attr_nest_start(header, TCA_OPTIONS);
        // The program gives the minor number, the filter the major one.
        mnl_attr_put_u32(header, TCA_BPF_CLASSID, change.qdisc.value);
        mnl_attr_put_u32(header, TCA_BPF_FD, static_cast<std::uint32_t>(change.program.fd));
        mnl_attr_put_strz(header, TCA_BPF_NAME, classifier_name);
        mnl_attr_put_u32(header, TCA_BPF_FLAGS, TCA_BPF_FLAG_ACT_DIRECT);
        mnl_attr_nest_end(header, options);
    }

    void operator()(const DeleteFilter& change) {
        const std::uint32_t info = filter_info(change.preference, change.protocol);
        put(RTM_DELTFILTER, NLM_F_ACK, {{change.handle}, change.qdisc, info}, change.kind.c_str());
    }

private:
    nlmsghdr* put(std::uint16_t type, std::uint16_t flags, const TcObject& object,
                  const char* kind) {
        nlmsghdr* header = begin(message, type, flags, ifindex, object);
        mnl_attr_put_strz(header, TCA_KIND, kind);
        return header;
    }

    void put_gap(TcHandle handle, std::uint16_t flags, std::uint32_t backend, gap_qdisc_conf conf = {}) {
        conf.has_backend = true;
        conf.backend = backend;
        nlmsghdr* header = put(RTM_NEWQDISC, flags, {handle, device_root}, gap_kind);
        put_options(header, [&](void* buffer) { return gap_qdisc_encode(&conf, buffer, GAP_ATTR_BUF_BYTES); },
                    gap_qdisc_mistake(&conf));
    }

    void put_class(const TcObject& object, const gap_class_conf& conf,
                   std::uint16_t flags = NLM_F_ACK) {
        nlmsghdr* header = put(RTM_NEWTCLASS, flags, object, gap_kind);
        put_options(header, [&](void* buffer) { return gap_class_encode(&conf, buffer, GAP_ATTR_BUF_BYTES); },
                    gap_class_mistake(&conf));
    }

    template <class Encode>
    void put_options(nlmsghdr* header, const Encode& encode, const char* why_not) {
        nlattr* options = mnl_attr_nest_start(header, TCA_OPTIONS);
        const int length = encode(mnl_attr_get_payload(options));
        if (length < 0) {
            mistake = Error{why_not, -length};
            return;
        }
        header->nlmsg_len += MNL_ALIGN(static_cast<std::uint32_t>(length));
        mnl_attr_nest_end(header, options);
    }
};

/// Into a new message.  Fails only if a number is one that gap_attr.h does not let through.
Result<void> encode_change(int ifindex, bool has_bursts, const Change& change, NetlinkMessage& message) {
    Encoder encoder{message, ifindex, has_bursts};
    std::visit(encoder, change);
    if (encoder.mistake) return tl::unexpected(encoder.mistake->within(change_to_text(change)));
    return {};
}

bool want_bursts(std::span<const Change> changes) {
    return std::ranges::any_of(changes, [](const Change& change) {
        const auto* const added = std::get_if<AddClass>(&change);
        return std::holds_alternative<ChangeClassBurst>(change) || (added != nullptr && added->burst_bytes != 0);
    });
}

}  // namespace

bool is_of_older_module(const Error& error) {
    return error.message.find("Unknown attribute type") != std::string::npos;
}

NetlinkMessage encode_link_query(const std::string& device) {
    NetlinkMessage message;
    mnl_attr_put_strz(begin_link(message, RTM_GETLINK, 0), IFLA_IFNAME, device.c_str());
    return message;
}

NetlinkMessage encode_dump(std::uint16_t type, int ifindex, TcHandle qdisc) {
    NetlinkMessage message;
    begin(message, type, NLM_F_DUMP, ifindex, {{}, qdisc});
    return message;
}

// ---------------------------------------------------------------------- the requests

auto NetlinkTrafficControl::decode_link(const nlmsghdr* message) -> std::optional<Link> {
    const bool is_whole = message->nlmsg_len >= NLMSG_LENGTH(sizeof(ifinfomsg));
    if (message->nlmsg_type != RTM_NEWLINK || !is_whole) return std::nullopt;
    const auto at = attribute_table<IFLA_MAX>(attributes_of(message, sizeof(ifinfomsg)));
    return Link{static_cast<const ifinfomsg*>(mnl_nlmsg_get_payload(message))->ifi_index,
                attribute_u32(at[IFLA_MTU]), attribute_u32(at[IFLA_NUM_TX_QUEUES]),
                attribute_u32(at[IFLA_GSO_MAX_SEGS]), attribute_u32(at[IFLA_TSO_MAX_SEGS])};
}

Result<NetlinkTrafficControl> NetlinkTrafficControl::open(NetlinkTransport& transport,
                                                          const std::string& device) {
    NetlinkTrafficControl control(transport, device);
    if (auto found = control.find_device(); !found) return tl::unexpected(found.error());
    return control;
}

Result<void> NetlinkTrafficControl::find_device() {
    const auto links = exchange_.query<Link>(encode_link_query(device_), decode_link);
    if (!links) return tl::unexpected(links.error().within("network interface " + device_));
    if (links->empty()) {
        return system_failure(ENODEV, "network interface {}: the kernel did not describe it",
                              device_);
    }
    link_ = links->back();
    return {};
}

template <class State, class Decode>
Result<std::vector<State>> NetlinkTrafficControl::dump(const char* doing, std::uint16_t type,
                                                       Decode decode, TcHandle qdisc) {
    auto states = exchange_.query<State>(
        encode_dump(type, ifindex(), qdisc),
        [&](const nlmsghdr* message) { return decode(message, ifindex()); });
    if (!states) return tl::unexpected(states.error().within(doing));
    return states;
}

Result<std::optional<RootQdisc>> NetlinkTrafficControl::root_qdisc() {
    auto roots = dump<RootQdisc>("reading the root qdisc", RTM_GETQDISC, decode_root_qdisc);
    if (!roots) return tl::unexpected(roots.error());
    if (roots->empty()) return std::nullopt;
    return std::move(roots->back());
}

Result<std::vector<std::string>> NetlinkTrafficControl::kinds_below(TcHandle qdisc) {
    return dump<std::string>("reading the qdiscs", RTM_GETQDISC, [qdisc](const nlmsghdr* message, int ifindex) {
        return decode_kind_below(message, ifindex, qdisc);
    });
}

Result<std::vector<ClassState>> NetlinkTrafficControl::classes() {
    auto states = dump<ClassState>("reading the classes", RTM_GETTCLASS, decode_class);
    if (!states) return states;
    std::ranges::sort(*states, {}, &ClassState::classid);
    for (ClassState& state : *states) {
        if (!has_bursts_) state.burst_bytes.reset();
    }
    return states;
}

Result<std::vector<FilterState>> NetlinkTrafficControl::filters(TcHandle qdisc) {
    return dump<FilterState>("reading the filters", RTM_GETTFILTER, decode_filter, qdisc);
}

tl::expected<void, ApplyFailure> NetlinkTrafficControl::apply(std::span<const Change> changes,
                                                              ApplyMode mode) {
    auto done = attempt(changes, mode);
    if (done || !has_bursts_ || !is_of_older_module(done.error().error) || !want_bursts(changes)) return done;
    has_bursts_ = false;
    std::vector<std::size_t> applied = std::move(done.error().applied);
    std::vector<Change> rest;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < changes.size(); ++i) {
        if (std::ranges::find(applied, i) != applied.end()) continue;
        rest.push_back(changes[i]);
        places.push_back(i);
    }
    done = attempt(rest, mode);
    if (done) return done;
    for (const std::size_t i : done.error().applied) applied.push_back(places[i]);
    return tl::unexpected(ApplyFailure{std::move(done.error().error), std::move(applied)});
}

tl::expected<void, ApplyFailure> NetlinkTrafficControl::attempt(std::span<const Change> changes,
                                                                ApplyMode mode) {
    const std::size_t step = mode == ApplyMode::together ? changes.size() : 1;
    std::vector<NetlinkBatch> batches;
    for (std::size_t i = 0; i < changes.size(); ++i) {
        NetlinkMessage message;
        auto encoded = encode_change(ifindex(), has_bursts_, changes[i], message);
        if (!encoded) return tl::unexpected(ApplyFailure{encoded.error(), {}});
        if (i % step == 0) batches.emplace_back();
        batches.back().add(message);
    }

    Outcomes outcomes;
    for (std::size_t begin = 0; begin < changes.size() && !outcomes.has_failed(); begin += step) {
        const auto answers = exchange_.transact(batches[begin / step]);
        for (std::size_t i = 0; i < answers.size(); ++i) outcomes.add(begin + i, changes[begin + i], answers[i]);
    }
    return outcomes.all();
}

}  // namespace headway
