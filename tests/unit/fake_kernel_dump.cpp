// SPDX-License-Identifier: Apache-2.0
// What the kernel in memory has, as rtnetlink describes it.
#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <linux/gen_stats.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>

#include "base/ip_prefix.hpp"
#include "fake_kernel.hpp"
#include "fake_kernel_writer.hpp"
#include "gap_attr.h"

namespace headway::test {
namespace {

std::uint64_t from_rate(const ClassRate& rate) { return rate ? rate->value : GAP_RATE_UNLIMITED; }

Writer start_dump(const nlmsghdr& request, std::uint16_t type, std::uint16_t flags,
                  std::uint32_t port, int ifindex, std::uint32_t parent, std::uint32_t handle,
                  std::uint32_t info = 0) {
    Writer writer(type, flags, request.nlmsg_seq, port);
    auto* tc = static_cast<tcmsg*>(writer.extra(sizeof(tcmsg)));
    tc->tcm_ifindex = ifindex;
    tc->tcm_parent = parent;
    tc->tcm_handle = handle;
    tc->tcm_info = info;
    return writer;
}

void put_class_options(nlmsghdr* header, const FakeClass& one) {
    nlattr* nest = mnl_attr_nest_start(header, TCA_OPTIONS);
    mnl_attr_put_u64(header, TCA_GAP_CLASS_RATE64, from_rate(one.rate));
    std::vector<tc_gap_phase_rate> phases;
    for (const auto& [number, rate] : one.table) phases.push_back({from_rate(rate), number, 0});
    if (!phases.empty()) {
        mnl_attr_put(header, TCA_GAP_CLASS_PHASES, phases.size() * sizeof(phases[0]), phases.data());
    }
    if (one.expires_ns != 0) {
        mnl_attr_put_u64(header, TCA_GAP_CLASS_FALLBACK64, from_rate(one.fallback));
        mnl_attr_put_u64(header, TCA_GAP_CLASS_EXPIRES_NS, one.expires_ns);
        if (one.expired) mnl_attr_put(header, TCA_GAP_CLASS_EXPIRED, 0, nullptr);
        else mnl_attr_put_u64(header, TCA_GAP_CLASS_LEFT_NS, one.expires_ns);
    }
    if (one.burst_bytes != 0) mnl_attr_put_u32(header, TCA_GAP_CLASS_BURST, one.burst_bytes);
    mnl_attr_nest_end(header, nest);
}

void put_class_statistics(nlmsghdr* header, const FakeClass& one) {
    nlattr* stats = mnl_attr_nest_start(header, TCA_STATS2);
    gnet_stats_queue queue{};
    queue.backlog = one.backlog_bytes;
    mnl_attr_put(header, TCA_STATS_QUEUE, sizeof(queue), &queue);
    tc_gap_xstats xstats{};
    xstats.type = TC_GAP_XSTATS_CLASS;
    xstats.cl.wire_bytes = 1538;
    mnl_attr_put(header, TCA_STATS_APP, sizeof(xstats), &xstats);
    mnl_attr_nest_end(header, stats);
}

void put_counters(nlmsghdr* header, const GapCounters& counters) {
    tc_gap_xstats xstats{};
    xstats.type = TC_GAP_XSTATS_QDISC;
    xstats.qdisc = counters;
    nlattr* stats = mnl_attr_nest_start(header, TCA_STATS2);
    mnl_attr_put(header, TCA_STATS_APP, sizeof(xstats), &xstats);
    mnl_attr_nest_end(header, stats);
}

void put_flower_options(nlmsghdr* header, const FakeFilter& one) {
    mnl_attr_put_u32(header, TCA_FLOWER_CLASSID, one.classid);
    mnl_attr_put_u16(header, TCA_FLOWER_KEY_ETH_TYPE, htons(one.ethertype));
    const auto prefix = parse_ip_prefix(one.destination);
    if (prefix) {
        const bool v4 = prefix->family == IpFamily::v4;
        const auto mask = prefix->mask();
        mnl_attr_put(header, v4 ? TCA_FLOWER_KEY_IPV4_DST : TCA_FLOWER_KEY_IPV6_DST,
                     prefix->address_bytes(), prefix->address.data());
        mnl_attr_put(header, v4 ? TCA_FLOWER_KEY_IPV4_DST_MASK : TCA_FLOWER_KEY_IPV6_DST_MASK,
                     prefix->address_bytes(), mask.data());
    } else {
        mnl_attr_put_u8(header, TCA_FLOWER_KEY_IP_PROTO, 6);  // somebody else's wish
    }
    mnl_attr_put_u32(header, TCA_FLOWER_FLAGS, TCA_CLS_FLAGS_NOT_IN_HW);
}

}  // namespace

void FakeKernel::dump(const nlmsghdr& request) {
    std::uint16_t flags = NLM_F_MULTI;
    if (interrupted_dumps > 0) {
        --interrupted_dumps;
        flags |= NLM_F_DUMP_INTR;
    }
    // As the kernel: qdiscs of all devices, classes and filters of one.
    for (const auto& [name, device] : devices_) {
        const bool is_asked_for = device.ifindex == tc_of(request).tcm_ifindex;
        if (request.nlmsg_type == RTM_GETQDISC) dump_qdisc(request, device, flags);
        if (request.nlmsg_type == RTM_GETTCLASS && is_asked_for) {
            dump_classes(request, device, flags);
        }
        if (request.nlmsg_type == RTM_GETTFILTER && is_asked_for &&
            tc_of(request).tcm_parent == device.root.handle) {
            dump_filters(request, device, flags);
        }
    }
    Writer done(NLMSG_DONE, flags, request.nlmsg_seq, port);
    *static_cast<int*>(done.extra(sizeof(int))) = 0;
    push(done.header());
}

void FakeKernel::dump_qdisc(const nlmsghdr& request, const FakeDevice& device,
                            std::uint16_t flags) {
    Writer writer = start_dump(request, RTM_NEWQDISC, flags, port, device.ifindex, TC_H_ROOT,
                               device.root.handle);
    mnl_attr_put_strz(writer.header(), TCA_KIND, device.root.kind.c_str());
    if (device.root.kind == "gap") {
        nlattr* nest = mnl_attr_nest_start(writer.header(), TCA_OPTIONS);
        if (device.has_speed) mnl_attr_put_u64(writer.header(), TCA_GAP_LINK_RATE64, device.link_rate.value);
        mnl_attr_put_u32(writer.header(), TCA_GAP_BACKEND_USED, device.root.backend);
        mnl_attr_put_u32(writer.header(), TCA_GAP_REASON, device.root.reason);
        mnl_attr_nest_end(writer.header(), nest);
        put_counters(writer.header(), device.counters);
    }
    push(writer.header());
    // A qdisc further down, as those of mq's queues or of classes.
    Writer child = start_dump(request, RTM_NEWQDISC, flags, port, device.ifindex,
                              device.root.handle | 1U, 0x990000);
    mnl_attr_put_strz(child.header(), TCA_KIND, "pfifo");
    push(child.header());
}

void FakeKernel::dump_classes(const nlmsghdr& request, const FakeDevice& device,
                              std::uint16_t flags) {
    for (const auto& [classid, one] : device.root.classes) {
        Writer writer = start_dump(request, RTM_NEWTCLASS, flags, port, device.ifindex,
                                   one.parent != 0 ? one.parent : TC_H_ROOT, classid);
        mnl_attr_put_strz(writer.header(), TCA_KIND, "gap");
        put_class_options(writer.header(), one);
        put_class_statistics(writer.header(), one);
        push(writer.header());
    }
}

/// Each preference is introduced by a message of its own, which has no handle.
void FakeKernel::dump_filters(const nlmsghdr& request, const FakeDevice& device,
                              std::uint16_t flags) {
    const auto start = [&](const FakeFilter& one, std::uint32_t handle) {
        const std::uint32_t info =
            TC_H_MAKE(static_cast<std::uint32_t>(one.preference) << 16U, htons(one.ethertype));
        Writer writer = start_dump(request, RTM_NEWTFILTER, flags, port, device.ifindex,
                                   device.root.handle, handle, info);
        mnl_attr_put_strz(writer.header(), TCA_KIND, one.program_fd >= 0 ? "bpf" : "flower");
        mnl_attr_put_u32(writer.header(), TCA_CHAIN, 0);
        return writer;
    };
    for (const FakeFilter& one : device.root.filters) {
        Writer introduction = start(one, 0);
        push(introduction.header());
        Writer writer = start(one, one.handle);
        nlattr* options = mnl_attr_nest_start(writer.header(), TCA_OPTIONS);
        if (one.program_fd >= 0) {
            mnl_attr_put_u32(writer.header(), TCA_BPF_CLASSID, one.classid);
            mnl_attr_put_u32(writer.header(), TCA_BPF_ID, static_cast<std::uint32_t>(one.program_fd));
        } else {
            put_flower_options(writer.header(), one);
        }
        mnl_attr_nest_end(writer.header(), options);
        push(writer.header());
    }
}

}  // namespace headway::test
