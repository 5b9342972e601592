// SPDX-License-Identifier: Apache-2.0
// Requests to the kernel's traffic control as bytes.  The gap qdisc's own
// attributes are written by gap_attr.c, which tc's plugin uses as well.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <linux/netlink.h>

#include "base/error.hpp"
#include "kernel/traffic_control.hpp"

namespace headway {

/// One request.  Sequence number and port id are the sender's business.
class NetlinkMessage {
public:
    [[nodiscard]] nlmsghdr* header() { return reinterpret_cast<nlmsghdr*>(bytes_.data()); }
    [[nodiscard]] const nlmsghdr* header() const {
        return reinterpret_cast<const nlmsghdr*>(bytes_.data());
    }
    [[nodiscard]] std::span<const std::byte> bytes() const {
        return std::span(bytes_).first(header()->nlmsg_len);
    }

private:
    static constexpr std::size_t capacity_bytes = 4608;  // a class with a whole table has 4200
    alignas(NLMSG_ALIGNTO) std::array<std::byte, capacity_bytes> bytes_{};
};

/// Into a new message.  Fails only if a number is one that gap_attr.h does not let through.
[[nodiscard]] Result<void> encode_change(int ifindex, const Change& change, NetlinkMessage& message);

[[nodiscard]] NetlinkMessage encode_link_query(const std::string& device);
/// Of all that RTM_GETQDISC, RTM_GETTCLASS or RTM_GETTFILTER asks for; filters, of that qdisc.
[[nodiscard]] NetlinkMessage encode_dump(std::uint16_t type, int ifindex, TcHandle qdisc = {});

/// Readers of one message of a dump.  None: it is about something else
/// (another device, not the root, another qdisc's class).
[[nodiscard]] Result<std::optional<RootQdisc>> decode_root_qdisc(const nlmsghdr* message,
                                                                 int ifindex);
[[nodiscard]] Result<std::optional<ClassState>> decode_class(const nlmsghdr* message, int ifindex);
[[nodiscard]] std::optional<FilterState> decode_filter(const nlmsghdr* message, int ifindex);

/// The kernel's sentence in an acknowledgement or in the end of a dump; empty
/// if it sent none.
[[nodiscard]] std::string extended_ack_text(const nlmsghdr* message);

}  // namespace headway
