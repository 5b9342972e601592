// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include <libmnl/libmnl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

namespace headway::test {

inline const tcmsg& tc_of(const nlmsghdr& request) {
    return *static_cast<const tcmsg*>(mnl_nlmsg_get_payload(&request));
}

/// A message being written, large enough for anything the fake says.
class Writer {
public:
    Writer(std::uint16_t type, std::uint16_t flags, std::uint32_t sequence, std::uint32_t port) {
        header()->nlmsg_len = 0;
        mnl_nlmsg_put_header(bytes_.data());
        header()->nlmsg_type = type;
        header()->nlmsg_flags = flags;
        header()->nlmsg_seq = sequence;
        header()->nlmsg_pid = port;
    }
    nlmsghdr* header() { return reinterpret_cast<nlmsghdr*>(bytes_.data()); }
    void* extra(std::size_t bytes) { return mnl_nlmsg_put_extra_header(header(), bytes); }

private:
    alignas(8) std::array<char, 8192> bytes_{};
};

}  // namespace headway::test
