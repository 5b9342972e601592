// SPDX-License-Identifier: Apache-2.0
// Walking messages and attributes in C++: libmnl's own macros need C's implicit casts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <libmnl/libmnl.h>
#include <linux/netlink.h>

namespace headway {

/// Shows `visit` each message of a datagram, as far as they are whole; libmnl's own test
/// lets lengths of 2 GiB and more through.
template <class Visit>
void for_each_message(std::span<const std::byte> datagram, Visit visit) {
    while (datagram.size() >= sizeof(nlmsghdr)) {
        const auto* message = reinterpret_cast<const nlmsghdr*>(datagram.data());
        if (message->nlmsg_len < sizeof(nlmsghdr) || message->nlmsg_len > datagram.size()) return;
        visit(message);
        datagram = datagram.subspan(
            std::min<std::size_t>(NLMSG_ALIGN(message->nlmsg_len), datagram.size()));
    }
}

/// Shows `visit` each attribute between two places, as far as they are whole.
template <class Visit>
void for_each_attribute(const void* begin, const void* end, Visit visit) {
    const auto* attribute = static_cast<const nlattr*>(begin);
    const auto* last = static_cast<const char*>(end);
    while (true) {
        const auto left = last - reinterpret_cast<const char*>(attribute);
        if (!mnl_attr_ok(attribute, static_cast<int>(left))) return;
        visit(attribute);
        attribute = mnl_attr_next(attribute);
    }
}

/// The attributes behind the first `header_bytes` of the message's payload.
template <class Visit>
void for_each_attribute(const nlmsghdr* message, std::size_t header_bytes, Visit visit) {
    for_each_attribute(mnl_nlmsg_get_payload_offset(message, header_bytes),
                       mnl_nlmsg_get_payload_tail(message), visit);
}

template <class Visit>
void for_each_nested_attribute(const nlattr* nest, Visit visit) {
    const auto* payload = static_cast<const char*>(mnl_attr_get_payload(nest));
    for_each_attribute(payload, payload + mnl_attr_get_payload_len(nest), visit);
}

/// 0 of one that is too short.
[[nodiscard]] inline std::uint32_t attribute_u32(const nlattr* attribute) {
    return mnl_attr_get_payload_len(attribute) < sizeof(std::uint32_t) ? 0
                                                                       : mnl_attr_get_u32(attribute);
}

/// The text of an attribute, with or without its final zero.
[[nodiscard]] inline std::string attribute_text(const nlattr* attribute) {
    std::string text(static_cast<const char*>(mnl_attr_get_payload(attribute)),
                     mnl_attr_get_payload_len(attribute));
    return text.substr(0, text.find('\0'));
}

}  // namespace headway
