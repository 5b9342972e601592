// SPDX-License-Identifier: Apache-2.0
#include "kernel/netlink_traffic_control.hpp"

#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <cerrno>

#include "kernel/netlink_attributes.hpp"

namespace headway {

Result<NetlinkTrafficControl> NetlinkTrafficControl::open(NetlinkTransport& transport,
                                                          const std::string& device) {
    NetlinkTrafficControl control(transport, device);
    if (auto found = control.find_device(); !found) return tl::unexpected(found.error());
    return control;
}

Result<void> NetlinkTrafficControl::find_device() {
    int ifindex = 0;
    const auto found = exchange_.query(
        encode_link_query(device_), [] {},
        [&](const nlmsghdr* message) -> Result<void> {
            if (message->nlmsg_type == RTM_NEWLINK &&
                message->nlmsg_len >= NLMSG_LENGTH(sizeof(ifinfomsg))) {
                ifindex = static_cast<const ifinfomsg*>(mnl_nlmsg_get_payload(message))->ifi_index;
                read_segments(message);
            }
            return {};
        });
    if (!found) return tl::unexpected(found.error().within("network interface " + device_));
    if (ifindex == 0) {
        return system_failure(ENODEV, "network interface {}: the kernel did not describe it",
                              device_);
    }
    ifindex_ = ifindex;
    return {};
}

void NetlinkTrafficControl::read_segments(const nlmsghdr* message) {
    for_each_attribute(message, sizeof(ifinfomsg), [&](const nlattr* attribute) {
        switch (mnl_attr_get_type(attribute)) {
            case IFLA_GSO_MAX_SEGS: segments_max_ = attribute_u32(attribute); break;
            case IFLA_TSO_MAX_SEGS: own_segments_max_ = attribute_u32(attribute); break;
            default: break;
        }
    });
}

Result<std::optional<RootQdisc>> NetlinkTrafficControl::root_qdisc() {
    std::optional<RootQdisc> root;
    const auto read = exchange_.query(
        encode_qdisc_dump(ifindex_), [&] { root.reset(); },
        [&](const nlmsghdr* message) -> Result<void> {
            auto decoded = decode_root_qdisc(message, ifindex_);
            if (!decoded) return tl::unexpected(decoded.error());
            if (*decoded) root = std::move(**decoded);
            return {};
        });
    if (!read) return tl::unexpected(read.error().within("reading the root qdisc"));
    return root;
}

Result<std::vector<ClassState>> NetlinkTrafficControl::classes() {
    std::vector<ClassState> states;
    const auto read = exchange_.query(
        encode_class_dump(ifindex_), [&] { states.clear(); },
        [&](const nlmsghdr* message) -> Result<void> {
            const auto decoded = decode_class(message, ifindex_);
            if (!decoded) return tl::unexpected(decoded.error());
            if (*decoded) states.push_back(**decoded);
            return {};
        });
    if (!read) return tl::unexpected(read.error().within("reading the classes"));
    std::sort(states.begin(), states.end(),
              [](const auto& a, const auto& b) { return a.classid < b.classid; });
    return states;
}

Result<std::vector<FilterState>> NetlinkTrafficControl::filters(TcHandle qdisc) {
    std::vector<FilterState> states;
    const auto read = exchange_.query(
        encode_filter_dump(ifindex_, qdisc), [&] { states.clear(); },
        [&](const nlmsghdr* message) -> Result<void> {
            if (auto decoded = decode_filter(message, ifindex_)) {
                states.push_back(std::move(*decoded));
            }
            return {};
        });
    if (!read) return tl::unexpected(read.error().within("reading the filters"));
    return states;
}

tl::expected<void, ApplyFailure> NetlinkTrafficControl::apply(std::span<const Change> changes,
                                                              ApplyMode mode) {
    std::vector<NetlinkMessage> requests;
    requests.reserve(changes.size());
    for (const Change& change : changes) {
        auto request = encode_change(ifindex_, change);
        if (!request) return tl::unexpected(ApplyFailure{request.error(), {}});
        requests.push_back(*request);
    }

    std::optional<Error> first_error;
    std::vector<std::size_t> applied;
    const std::size_t step = mode == ApplyMode::together ? requests.size() : 1;
    for (std::size_t begin = 0; begin < requests.size() && !first_error; begin += step) {
        const auto outcomes = exchange_.transact(std::span(requests).subspan(begin, step));
        for (std::size_t i = 0; i < outcomes.size(); ++i) {
            if (outcomes[i]) {
                applied.push_back(begin + i);
            } else if (!first_error) {
                first_error = outcomes[i].error().within(change_to_text(changes[begin + i]));
            }
        }
    }
    if (!first_error) return {};
    return tl::unexpected(ApplyFailure{std::move(*first_error), std::move(applied)});
}

}  // namespace headway
