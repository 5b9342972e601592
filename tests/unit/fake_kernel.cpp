// SPDX-License-Identifier: Apache-2.0
#include "fake_kernel.hpp"

#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "fake_kernel_writer.hpp"
#include "gap_attr.h"
#include "kernel/netlink_attributes.hpp"

namespace headway::test {
namespace {

const nlattr* find_attribute(const nlmsghdr& request, std::size_t header_bytes, int type) {
    const nlattr* found = nullptr;
    for_each_attribute(attributes_of(&request, header_bytes), [&](const nlattr* attribute) {
        if (mnl_attr_get_type(attribute) == type) found = attribute;
    });
    return found;
}

std::string kind_of(const nlmsghdr& request) {
    const nlattr* kind = find_attribute(request, sizeof(tcmsg), TCA_KIND);
    return kind == nullptr ? "" : attribute_text(kind);
}

ClassRate to_rate(std::uint64_t bytes_per_s) {
    if (bytes_per_s == GAP_RATE_UNLIMITED) return std::nullopt;
    return BytesPerSecond{bytes_per_s};
}

int mask_length(const std::uint8_t* mask, std::size_t bytes) {
    int length = 0;
    for (std::size_t i = 0; i < bytes; ++i) length += __builtin_popcount(mask[i]);
    return length;
}

}  // namespace

FakeDevice& FakeKernel::add_device(const std::string& name, BitsPerSecond link_rate) {
    FakeDevice& device = devices_[name];
    device.ifindex = ++last_ifindex_;
    device.link_rate = {link_rate.value / 8};
    return device;
}

void FakeKernel::remake_device(const std::string& name) {
    const BytesPerSecond link_rate = devices_.at(name).link_rate;
    devices_[name] = {.ifindex = ++last_ifindex_, .link_rate = link_rate};
}

void FakeKernel::expire(const std::string& device, std::uint32_t classid) {
    FakeClass& one = devices_.at(device).root.classes.at(classid);
    if (one.expires_ns == 0) return;
    one.rate = one.fallback;
    one.expired = true;
}

FakeDevice* FakeKernel::find(int ifindex) {
    for (auto& [name, device] : devices_) {
        if (device.ifindex == ifindex) return &device;
    }
    return nullptr;
}

// ------------------------------------------------------------------- transport

Result<void> FakeKernel::send(std::span<const std::byte> messages) {
    ++sends_;
    int left = static_cast<int>(messages.size());
    const auto* request = reinterpret_cast<const nlmsghdr*>(messages.data());
    for (; mnl_nlmsg_ok(request, left); request = mnl_nlmsg_next(request, &left)) {
        ++requests_;
        if (stray_answers) push_strays(request->nlmsg_seq);
        if ((request->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP) {
            dump(*request);
        } else {
            acknowledge(*request, carry_out(*request));
        }
    }
    if (left != 0) return system_failure(EINVAL, "fake kernel: {} bytes left over", left);
    return {};
}

Result<void> FakeKernel::reopen() {
    if (failing_reopens > 0) {
        --failing_reopens;
        return system_failure(EMFILE, "opening a netlink socket: too many open files");
    }
    ++reopens_;
    answers_.clear();
    return {};
}

/// As if the deadline had come.
Result<std::span<const std::byte>> FakeKernel::receive(Clock::time_point) {
    if (answers_.empty()) return system_failure(ETIMEDOUT, "the kernel did not answer");
    current_ = std::move(answers_.front());
    answers_.pop_front();
    return std::span<const std::byte>(current_);
}

void FakeKernel::push(const nlmsghdr* message) {
    const auto* bytes = reinterpret_cast<const std::byte*>(message);
    answers_.emplace_back(bytes, bytes + message->nlmsg_len);
}

void FakeKernel::push_strays(std::uint32_t sequence) {
    const auto refusal = [&](std::uint32_t of_sequence, std::uint32_t to_port) {
        Writer writer(NLMSG_ERROR, 0, of_sequence, to_port);
        static_cast<nlmsgerr*>(writer.extra(sizeof(nlmsgerr)))->error = -EUCLEAN;
        push(writer.header());
    };
    refusal(sequence - 1, port);
    refusal(sequence, port + 1);
}

void FakeKernel::acknowledge(const nlmsghdr& request, const Refusal& refusal) {
    if (refusal.error_number == 0 && (request.nlmsg_flags & NLM_F_ACK) == 0) return;
    if (lost_acknowledgements > 0) {
        --lost_acknowledgements;
        return;
    }
    const bool send_back = refusal.error_number != 0 && !capped;
    std::uint16_t flags = refusal.text.empty() ? 0 : NLM_F_ACK_TLVS;
    if (!send_back) flags |= NLM_F_CAPPED;
    Writer writer(NLMSG_ERROR, flags, request.nlmsg_seq, port);
    auto* error = static_cast<nlmsgerr*>(writer.extra(sizeof(nlmsgerr)));
    error->error = -refusal.error_number;
    error->msg = request;
    if (send_back) {
        const std::size_t payload = request.nlmsg_len - sizeof(nlmsghdr);
        std::memcpy(writer.extra(payload), mnl_nlmsg_get_payload(&request), payload);
    }
    if (!refusal.text.empty()) {
        mnl_attr_put_strz(writer.header(), NLMSGERR_ATTR_MSG, refusal.text.c_str());
    }
    push(writer.header());
}

// -------------------------------------------------------------------- requests

FakeKernel::Refusal FakeKernel::carry_out(const nlmsghdr& request) {
    if (refuse) {
        if (auto refusal = refuse(request)) return *refusal;
    }
    switch (request.nlmsg_type) {
        case RTM_GETLINK: return get_link(request);
        case RTM_SETLINK: return set_link(request);
        case RTM_NEWQDISC: return new_qdisc(request);
        case RTM_DELQDISC: return delete_qdisc(request);
        case RTM_NEWTCLASS: return new_class(request);
        case RTM_DELTCLASS: return delete_class(request);
        case RTM_NEWTFILTER: return new_filter(request);
        case RTM_DELTFILTER: return delete_filter(request);
        default: return {EOPNOTSUPP, ""};
    }
}

FakeKernel::Refusal FakeKernel::get_link(const nlmsghdr& request) {
    const nlattr* name = find_attribute(request, sizeof(ifinfomsg), IFLA_IFNAME);
    const auto found = devices_.find(name == nullptr ? "" : attribute_text(name));
    if (found == devices_.end() || found->second.ifindex < 0) return {ENODEV, ""};
    Writer writer(RTM_NEWLINK, 0, request.nlmsg_seq, port);
    static_cast<ifinfomsg*>(writer.extra(sizeof(ifinfomsg)))->ifi_index = found->second.ifindex;
    mnl_attr_put_u32(writer.header(), IFLA_MTU, 1500);
    mnl_attr_put_u32(writer.header(), IFLA_NUM_TX_QUEUES, 1);
    mnl_attr_put_u32(writer.header(), IFLA_GSO_MAX_SEGS, found->second.segments_max);
    mnl_attr_put_u32(writer.header(), IFLA_TSO_MAX_SEGS, found->second.own_segments_max);
    push(writer.header());
    return {};
}

FakeKernel::Refusal FakeKernel::set_link(const nlmsghdr& request) {
    FakeDevice* device = find(static_cast<const ifinfomsg*>(mnl_nlmsg_get_payload(&request))->ifi_index);
    const nlattr* segments = find_attribute(request, sizeof(ifinfomsg), IFLA_GSO_MAX_SEGS);
    if (device == nullptr) return {ENODEV, ""};
    if (segments == nullptr) return {EOPNOTSUPP, ""};
    device->segments_max = mnl_attr_get_u32(segments);
    return {};
}

FakeKernel::Refusal FakeKernel::new_qdisc(const nlmsghdr& request) {
    FakeDevice* device = find(tc_of(request).tcm_ifindex);
    if (device == nullptr) return {ENODEV, ""};
    if (tc_of(request).tcm_parent == TC_H_CLSACT) return {};
    if (tc_of(request).tcm_parent != TC_H_ROOT) return {EOPNOTSUPP, "root only"};
    if (other_kinds.contains(kind_of(request))) {
        device->root = {kind_of(request), tc_of(request).tcm_handle, {}, {}};
        return {};
    }
    gap_qdisc_conf conf{};
    if (const nlattr* options = find_attribute(request, sizeof(tcmsg), TCA_OPTIONS)) {
        if (gap_qdisc_decode(&conf, mnl_attr_get_payload(options), mnl_attr_get_payload_len(options)) != 0) {
            return {EINVAL, "attributes are cut off"};
        }
    }
    if ((request.nlmsg_flags & NLM_F_CREATE) == 0) {
        if (device->root.kind != "gap") return {ENOENT, "Qdisc not found"};
        if (conf.has_backend) device->root.backend = conf.backend;
        return {};
    }
    if (!device->has_default()) return {EEXIST, "Exclusivity flag on, cannot modify"};
    if (kind_of(request) != "gap" || !gap_module) {
        return {ENOENT, "Specified qdisc kind is unknown"};
    }
    device->root = {"gap", tc_of(request).tcm_handle, {}, {}, conf.backend};
    return {};
}

FakeKernel::Refusal FakeKernel::delete_qdisc(const nlmsghdr& request) {
    FakeDevice* device = find(tc_of(request).tcm_ifindex);
    if (device == nullptr) return {ENODEV, ""};
    if (device->root.handle != tc_of(request).tcm_handle) return {EINVAL, "Invalid handle"};
    if (device->root.kind != kind_of(request)) return {EINVAL, "Invalid qdisc name"};
    if (device->has_default()) return {ENOENT, "Cannot delete qdisc with handle of zero"};
    device->root = FakeDevice{}.root;
    return {};
}

FakeKernel::Refusal FakeKernel::new_class(const nlmsghdr& request) {
    const tcmsg& tc = tc_of(request);
    FakeDevice* device = find(tc.tcm_ifindex);
    if (device == nullptr) return {ENODEV, ""};
    FakeQdisc& root = device->root;
    const bool below_root = tc.tcm_parent == root.handle;
    const bool exists = root.classes.contains(tc.tcm_handle);
    if (root.handle == 0 || TC_H_MAJ(tc.tcm_handle) != root.handle ||
        (!exists && !below_root && !root.classes.contains(tc.tcm_parent))) {
        return {ENOENT, ""};
    }
    if (exists && tc.tcm_parent != 0 &&
        root.classes.at(tc.tcm_handle).parent != (below_root ? 0 : tc.tcm_parent)) {
        return {EINVAL, "a class cannot be moved to another parent"};
    }
    const nlattr* options = find_attribute(request, sizeof(tcmsg), TCA_OPTIONS);
    if (options == nullptr || (options->nla_type & NLA_F_NESTED) == 0) {
        return {EINVAL, "NLA_F_NESTED is missing"};
    }
    const std::uint64_t most = device->has_speed ? device->link_rate.value : GAP_RATE_UNLIMITED;
    gap_class_conf conf{};
    if (gap_class_decode(&conf, mnl_attr_get_payload(options),
                         mnl_attr_get_payload_len(options)) != 0) {
        return {EINVAL, "attributes are cut off"};
    }
    if (conf.has_rate && conf.rate_bytes_per_s != GAP_RATE_UNLIMITED &&
        (conf.rate_bytes_per_s == 0 || conf.rate_bytes_per_s > most)) {
        return {ERANGE, "the rate is above the link's"};
    }

    const bool creates = (request.nlmsg_flags & NLM_F_CREATE) != 0;
    if (exists && (request.nlmsg_flags & NLM_F_EXCL) != 0) return {EEXIST, ""};
    if (!exists && !creates) return {ENOENT, ""};
    for (const tc_gap_phase_rate& phase : std::span(conf.phases, conf.phase_count)) {
        if (phase.rate != GAP_RATE_UNLIMITED && phase.rate > most) {
            return {ERANGE, "the rate of a phase is above the link's"};
        }
    }
    const bool leased = exists && root.classes.at(tc.tcm_handle).expires_ns != 0;
    if (conf.has_fallback != conf.has_expires && !leased) return {EINVAL, "fallback needs expires"};
    if (conf.has_fallback && conf.fallback_bytes_per_s != GAP_RATE_UNLIMITED &&
        conf.fallback_bytes_per_s > most) {
        return {EINVAL, "the fallback exceeds the link rate"};
    }
    if (conf.has_burst && !knows_bursts) return {EINVAL, "Unknown attribute type"};
    const bool has_children = std::ranges::any_of(
        root.classes, [&](const auto& other) { return other.second.parent == tc.tcm_handle; });
    if (conf.has_burst && conf.burst_bytes != 0 && has_children) {
        return {EINVAL, "only a class without children has packets that a burst keeps whole"};
    }
    FakeClass& one = root.classes[tc.tcm_handle];
    if (!exists && !below_root) root.classes[tc.tcm_parent].burst_bytes = 0;
    if (conf.has_burst) one.burst_bytes = conf.burst_bytes;
    if (conf.has_fallback) one.fallback = to_rate(conf.fallback_bytes_per_s);
    if (conf.has_expires) one.expires_ns = conf.expires_ns;
    if (conf.has_rate || one.expires_ns == 0) one.expired = false;
    if (exists && one.expires_ns != 0 && !one.expired) ++one.refreshes;
    if (!exists && !below_root) one.parent = tc.tcm_parent;
    for (const tc_gap_phase_rate& phase : std::span(conf.phases, conf.phase_count)) {
        if (phase.rate == 0) one.table.erase(static_cast<TableEntry>(phase.phase));
        else one.table[static_cast<TableEntry>(phase.phase)] = to_rate(phase.rate);
    }
    if (conf.has_rate) one.rate = to_rate(conf.rate_bytes_per_s);
    else if (one.expired) one.rate = one.fallback;
    return {};
}

FakeKernel::Refusal FakeKernel::delete_class(const nlmsghdr& request) {
    FakeDevice* device = find(tc_of(request).tcm_ifindex);
    if (device == nullptr) return {ENODEV, ""};
    const std::uint32_t classid = tc_of(request).tcm_handle;
    for (const auto& [id, one] : device->root.classes) {
        if (one.parent == classid) return {EBUSY, "the class has children"};
    }
    if (has_filter(device->root, classid)) return {EBUSY, "filters lead to the class"};
    return device->root.classes.erase(classid) == 1 ? Refusal{} : Refusal{ENOENT, ""};
}

/// As the kernel's cls_bpf wants it for a program that names the minor number.
FakeKernel::Refusal FakeKernel::new_bpf_filter(FakeQdisc& root, FakeFilter filter,
                                               const nlattr* options, bool exclusive) {
    std::uint32_t flags = 0;
    for_each_attribute(attribute_bytes(options), [&](const nlattr* attribute) {
        switch (mnl_attr_get_type(attribute)) {
            case TCA_BPF_FD: filter.program_fd = static_cast<int>(mnl_attr_get_u32(attribute)); break;
            case TCA_BPF_CLASSID: filter.classid = mnl_attr_get_u32(attribute); break;
            case TCA_BPF_FLAGS: flags = mnl_attr_get_u32(attribute); break;
            default: break;
        }
    });
    if (filter.program_fd < 0 || flags != TCA_BPF_FLAG_ACT_DIRECT) return {EINVAL, ""};
    for (FakeFilter& other : root.filters) {
        if (other.preference != filter.preference) continue;
        if (other.ethertype != filter.ethertype) {
            return {EINVAL, "Specified filter protocol does not match existing one"};
        }
        if (other.program_fd < 0) return {EINVAL, "Specified filter kind does not match existing one"};
        if (other.handle != filter.handle) continue;
        if (exclusive) return {EEXIST, "Filter already exists"};
        other = filter;
        return {};
    }
    root.filters.push_back(filter);
    return {};
}

bool FakeKernel::has_filter(const FakeQdisc& root, std::uint32_t classid) {
    return std::any_of(root.filters.begin(), root.filters.end(),
                       [&](const FakeFilter& one) { return one.classid == classid; });
}

FakeKernel::Refusal FakeKernel::delete_filter(const nlmsghdr& request) {
    const tcmsg& tc = tc_of(request);
    FakeDevice* device = find(tc.tcm_ifindex);
    if (device == nullptr) return {ENODEV, ""};
    auto& filters = device->root.filters;
    const auto found = std::find_if(filters.begin(), filters.end(), [&](const FakeFilter& one) {
        return one.preference == TC_H_MAJ(tc.tcm_info) >> 16U && one.handle == tc.tcm_handle &&
               one.ethertype == ntohs(static_cast<std::uint16_t>(TC_H_MIN(tc.tcm_info)));
    });
    if (found == filters.end()) return {ENOENT, "Specified filter handle not found"};
    const char* kind = found->program_fd >= 0 ? "bpf" : "flower";
    if (kind_of(request) != kind) return {EINVAL, "Specified filter kind does not match existing one"};
    filters.erase(found);
    return {};
}

FakeKernel::Refusal FakeKernel::new_filter(const nlmsghdr& request) {
    const tcmsg& tc = tc_of(request);
    FakeDevice* device = find(tc.tcm_ifindex);
    if (device == nullptr) return {ENODEV, ""};
    if (device->root.handle == 0 || tc.tcm_parent != device->root.handle) {
        return {ENOENT, "Parent Qdisc doesn't exists"};
    }
    if (kind_of(request) != "flower" && kind_of(request) != "bpf") {
        return {ENOENT, "TC classifier not found"};
    }
    const nlattr* options = find_attribute(request, sizeof(tcmsg), TCA_OPTIONS);
    if (options == nullptr) return {EINVAL, "Missing attributes"};

    FakeFilter filter;
    filter.preference = static_cast<std::uint16_t>(TC_H_MAJ(tc.tcm_info) >> 16U);
    filter.ethertype = ntohs(static_cast<std::uint16_t>(TC_H_MIN(tc.tcm_info)));
    filter.handle = tc.tcm_handle;
    if (kind_of(request) == "bpf") {
        return new_bpf_filter(device->root, filter, options,
                              (request.nlmsg_flags & NLM_F_EXCL) != 0);
    }
    std::array<char, INET6_ADDRSTRLEN> address{};
    int length = 0;
    std::uint16_t key_ethertype = 0;
    for_each_attribute(attribute_bytes(options), [&](const nlattr* attribute) {
        const void* payload = mnl_attr_get_payload(attribute);
        const auto* bytes = static_cast<const std::uint8_t*>(payload);
        switch (mnl_attr_get_type(attribute)) {
            case TCA_FLOWER_CLASSID: filter.classid = mnl_attr_get_u32(attribute); break;
            case TCA_FLOWER_KEY_ETH_TYPE: key_ethertype = ntohs(mnl_attr_get_u16(attribute)); break;
            case TCA_FLOWER_KEY_IPV4_DST:
                inet_ntop(AF_INET, payload, address.data(), address.size());
                break;
            case TCA_FLOWER_KEY_IPV6_DST:
                inet_ntop(AF_INET6, payload, address.data(), address.size());
                break;
            case TCA_FLOWER_KEY_IPV4_DST_MASK:
            case TCA_FLOWER_KEY_IPV6_DST_MASK:
                length = mask_length(bytes, mnl_attr_get_payload_len(attribute));
                break;
            default: break;
        }
    });
    filter.destination = std::string(address.data()) + "/" + std::to_string(length);
    if (key_ethertype != filter.ethertype) return {EINVAL, "key of another protocol"};
    for (const FakeFilter& other : device->root.filters) {
        if (other.preference != filter.preference) continue;
        if (other.ethertype != filter.ethertype) {
            return {EINVAL, "Specified filter protocol does not match existing one"};
        }
        if (other.handle == filter.handle) return {EEXIST, "Filter already exists"};
    }
    device->root.filters.push_back(filter);
    return {};
}

}  // namespace headway::test
