// SPDX-License-Identifier: Apache-2.0
// Walking messages and attributes in C++: libmnl's own macros need C's implicit casts.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <libmnl/libmnl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

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

/// Returns the object that a traffic control message tells about; null: the message is cut off.
[[nodiscard]] inline const tcmsg* tc_of(const nlmsghdr* message) {
    if (message->nlmsg_len < NLMSG_LENGTH(sizeof(tcmsg))) return nullptr;
    return static_cast<const tcmsg*>(mnl_nlmsg_get_payload(message));
}

/// The attributes behind the first `header_bytes` of the message's payload.
[[nodiscard]] inline std::span<const std::byte> attributes_of(const nlmsghdr* message,
                                                              std::size_t header_bytes) {
    const std::size_t bytes = mnl_nlmsg_get_payload_len(message), begin = NLMSG_ALIGN(header_bytes);
    if (bytes < begin) return {};
    return {static_cast<const std::byte*>(mnl_nlmsg_get_payload(message)) + begin, bytes - begin};
}

/// Returns the attribute's payload, which may be other attributes; none if the attribute is
/// missing.
[[nodiscard]] inline std::span<const std::byte> attribute_bytes(const nlattr* attribute) {
    if (attribute == nullptr) return {};
    return {static_cast<const std::byte*>(mnl_attr_get_payload(attribute)),
            mnl_attr_get_payload_len(attribute)};
}

/// Shows `visit` each attribute in these bytes, as far as they are whole.
template <class Visit>
void for_each_attribute(std::span<const std::byte> bytes, Visit visit) {
    const auto* attribute = reinterpret_cast<const nlattr*>(bytes.data());
    const auto* last = reinterpret_cast<const char*>(bytes.data() + bytes.size());
    while (true) {
        const auto left = last - reinterpret_cast<const char*>(attribute);
        if (!mnl_attr_ok(attribute, static_cast<int>(left))) return;
        visit(attribute);
        attribute = mnl_attr_next(attribute);
    }
}

/// Attributes by their types, up to `highest`; null: there is none.  Of several of a type
/// the last counts; a newer kernel may send types that are not looked at.
template <std::size_t highest>
using AttributeTable = std::array<const nlattr*, highest + 1>;

template <std::size_t highest>
[[nodiscard]] AttributeTable<highest> attribute_table(std::span<const std::byte> bytes) {
    AttributeTable<highest> table{};
    for_each_attribute(bytes, [&](const nlattr* attribute) {
        const std::uint16_t type = mnl_attr_get_type(attribute);
        if (type <= highest) table[type] = attribute;
    });
    return table;
}

/// 0 of one that is too short or not there.
[[nodiscard]] inline std::uint32_t attribute_u32(const nlattr* attribute) {
    const std::size_t bytes = attribute_bytes(attribute).size();
    return bytes < sizeof(std::uint32_t) ? 0 : mnl_attr_get_u32(attribute);
}

/// The text of an attribute, with or without its final zero; empty of one that is not there.
[[nodiscard]] inline std::string attribute_text(const nlattr* attribute) {
    const auto bytes = attribute_bytes(attribute);
    const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return text.substr(0, text.find('\0'));
}

}  // namespace headway
