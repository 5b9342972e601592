// SPDX-License-Identifier: Apache-2.0
#include "kernel/netlink_traffic_control.hpp"

#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <cerrno>

#include "kernel/netlink_attributes.hpp"

namespace headway {

auto NetlinkTrafficControl::decode_link(const nlmsghdr* message) -> std::optional<Link> {
    const bool is_whole = message->nlmsg_len >= NLMSG_LENGTH(sizeof(ifinfomsg));
    if (message->nlmsg_type != RTM_NEWLINK || !is_whole) return std::nullopt;
    const auto at = attribute_table<IFLA_MAX>(attributes_of(message, sizeof(ifinfomsg)));
    return Link{static_cast<const ifinfomsg*>(mnl_nlmsg_get_payload(message))->ifi_index,
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

Result<std::vector<ClassState>> NetlinkTrafficControl::classes() {
    auto states = dump<ClassState>("reading the classes", RTM_GETTCLASS, decode_class);
    if (states) std::ranges::sort(*states, {}, &ClassState::classid);
    return states;
}

Result<std::vector<FilterState>> NetlinkTrafficControl::filters(TcHandle qdisc) {
    return dump<FilterState>("reading the filters", RTM_GETTFILTER, decode_filter, qdisc);
}

tl::expected<void, ApplyFailure> NetlinkTrafficControl::apply(std::span<const Change> changes,
                                                              ApplyMode mode) {
    std::vector<NetlinkMessage> requests(changes.size());
    for (std::size_t i = 0; i < changes.size(); ++i) {
        auto encoded = encode_change(ifindex(), changes[i], requests[i]);
        if (!encoded) return tl::unexpected(ApplyFailure{encoded.error(), {}});
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
