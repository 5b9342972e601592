// SPDX-License-Identifier: Apache-2.0
// Filters as a dump describes them.
#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <linux/pkt_cls.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <optional>

#include "kernel/netlink_attributes.hpp"
#include "kernel/netlink_message.hpp"

namespace headway {
namespace {

/// Reads a flower filter's options.  Its destination counts only if the filter
/// looks at nothing else: one that was narrowed is another filter.
class FlowerReader {
public:
    void read(const nlattr* attribute) {
        switch (mnl_attr_get_type(attribute)) {
            case TCA_FLOWER_CLASSID: classid_ = {attribute_u32(attribute)}; break;
            case TCA_FLOWER_KEY_ETH_TYPE:
            case TCA_FLOWER_FLAGS:
            case TCA_FLOWER_IN_HW_COUNT: break;
            case TCA_FLOWER_KEY_IPV4_DST: read_address(attribute, IpFamily::v4); break;
            case TCA_FLOWER_KEY_IPV6_DST: read_address(attribute, IpFamily::v6); break;
            case TCA_FLOWER_KEY_IPV4_DST_MASK: read_mask(attribute, IpFamily::v4); break;
            case TCA_FLOWER_KEY_IPV6_DST_MASK: read_mask(attribute, IpFamily::v6); break;
            default: is_plain_ = false;
        }
    }

    void put_into(FilterState& state) const {
        state.classid = classid_;
        // the kernel shows no address without its mask
        if (is_plain_ && has_address_ && mask_family_ == destination_.family)
            state.destination = destination_;
    }

private:
    void read_address(const nlattr* attribute, IpFamily family) {
        destination_.family = family;
        if (mnl_attr_get_payload_len(attribute) != destination_.address_bytes()) return;
        const auto* bytes = static_cast<const std::uint8_t*>(mnl_attr_get_payload(attribute));
        std::copy_n(bytes, destination_.address_bytes(), destination_.address.begin());
        has_address_ = true;
    }

    void read_mask(const nlattr* attribute, IpFamily family) {
        if (mnl_attr_get_payload_len(attribute) != IpPrefix{.family = family}.address_bytes()) return;
        mask_family_ = family;
        const auto* bytes = static_cast<const std::uint8_t*>(mnl_attr_get_payload(attribute));
        std::uint8_t length_bits = 0;
        for (std::size_t i = 0; i < mnl_attr_get_payload_len(attribute); ++i) {
            length_bits = static_cast<std::uint8_t>(length_bits + __builtin_popcount(bytes[i]));
        }
        destination_.length_bits = length_bits;
    }

    TcHandle classid_;
    IpPrefix destination_;
    bool has_address_ = false;
    std::optional<IpFamily> mask_family_;
    bool is_plain_ = true;
};

void read_options(const nlattr* options, FilterState& state) {
    if (state.kind == "flower") {
        FlowerReader reader;
        for_each_nested_attribute(options, [&](const nlattr* one) { reader.read(one); });
        reader.put_into(state);
    } else if (state.kind == "bpf") {
        for_each_nested_attribute(options, [&](const nlattr* one) {
            if (mnl_attr_get_type(one) == TCA_BPF_CLASSID) state.classid = {attribute_u32(one)};
            if (mnl_attr_get_type(one) == TCA_BPF_ID) state.program_id = attribute_u32(one);
            if (mnl_attr_get_type(one) == TCA_BPF_NAME) state.name = attribute_text(one);
        });
    }
}

}  // namespace

std::optional<FilterState> decode_filter(const nlmsghdr* message, int ifindex) {
    if (message->nlmsg_type != RTM_NEWTFILTER ||
        message->nlmsg_len < NLMSG_LENGTH(sizeof(tcmsg))) {
        return std::nullopt;
    }
    const auto* tc = static_cast<const tcmsg*>(mnl_nlmsg_get_payload(message));
    // Handle 0 introduces those that share a preference.
    if (tc->tcm_ifindex != ifindex || tc->tcm_handle == 0) return std::nullopt;

    FilterState state;
    state.preference = static_cast<std::uint16_t>(TC_H_MAJ(tc->tcm_info) >> 16U);
    state.protocol = ntohs(static_cast<std::uint16_t>(TC_H_MIN(tc->tcm_info)));
    state.handle = tc->tcm_handle;
    bool is_reached = true;
    const nlattr* options = nullptr;
    for_each_attribute(message, sizeof(tcmsg), [&](const nlattr* attribute) {
        switch (mnl_attr_get_type(attribute)) {
            case TCA_KIND: state.kind = attribute_text(attribute); break;
            case TCA_OPTIONS: options = attribute; break;
            // Packets begin in chain 0, and none of our filters sends them on.
            case TCA_CHAIN: is_reached = attribute_u32(attribute) == 0; break;
            default: break;
        }
    });
    if (!is_reached) return std::nullopt;
    if (options != nullptr) read_options(options, state);
    return state;
}

}  // namespace headway
