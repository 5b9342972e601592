// SPDX-License-Identifier: Apache-2.0
#include "kernel/kernel_monitor.hpp"

#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <linux/filter.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstddef>

#include "kernel/netlink_attributes.hpp"

namespace headway {
namespace {

/// Room for a burst of some thousand changes, while the daemon is busy.
constexpr int receive_queue_bytes = 1 << 20;
/// Somebody who never stops does not stop the daemon: the rest is read next time.
constexpr int datagrams_per_read = 256;

bool concerns_link(const nlmsghdr* message, const MonitoredDevice& device) {
    if (message->nlmsg_len < NLMSG_LENGTH(sizeof(ifinfomsg))) return false;
    const auto* link = static_cast<const ifinfomsg*>(mnl_nlmsg_get_payload(message));
    const auto at = attribute_table<IFLA_MAX>(attributes_of(message, sizeof(ifinfomsg)));
    return link->ifi_index == device.ifindex || attribute_text(at[IFLA_IFNAME]) == device.name;
}

/// The kernel tells of a change in a datagram of its own, with the port of who asked for it.
bool drop_changes_of(int socket, std::uint32_t port) {
    constexpr std::uint32_t whole_datagram = UINT32_MAX;
    std::array<sock_filter, 4> program{{
        // loads are in the network's order, and netlink is in the host's
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(nlmsghdr, nlmsg_pid)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(port), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, 0),
        BPF_STMT(BPF_RET | BPF_K, whole_datagram),
    }};
    const sock_fprog filter{program.size(), program.data()};
    return setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)) == 0;
}

}  // namespace

bool concerns(const nlmsghdr* message, const MonitoredDevice& device) {
    switch (message->nlmsg_type) {
        case RTM_NEWQDISC:
        case RTM_DELQDISC:
        case RTM_NEWTCLASS:
        case RTM_DELTCLASS:
        case RTM_NEWTFILTER:
        case RTM_DELTFILTER:
            return tc_of(message) != nullptr && tc_of(message)->tcm_ifindex == device.ifindex;
        case RTM_NEWLINK:
        case RTM_DELLINK: return concerns_link(message, device);
        default: return false;
    }
}

Result<KernelMonitor> KernelMonitor::open(std::uint32_t own_port) {
    auto transport = MnlTransport::open(NETLINK_ROUTE, RTMGRP_LINK | RTMGRP_TC);
    if (!transport) return tl::unexpected(transport.error());
    // The first is allowed to whom the second, above the system's limit, is not.
    for (const int option : {SO_RCVBUF, SO_RCVBUFFORCE}) {
        (void)setsockopt(transport->fd(), SOL_SOCKET, option, &receive_queue_bytes,
                         sizeof(receive_queue_bytes));
    }
    if (!drop_changes_of(transport->fd(), own_port)) {
        return errno_failure("not listening to one's own changes");
    }
    return KernelMonitor(std::move(*transport), own_port);
}

Result<void> KernelMonitor::reopen() {
    auto another = open(own_port_);
    if (!another) return tl::unexpected(another.error());
    *this = std::move(*another);
    return {};
}

Result<bool> KernelMonitor::read(const MonitoredDevice& device) {
    bool found = false;
    for (int i = 0; i < datagrams_per_read; ++i) {
        const auto datagram = transport_.receive({});
        const int error = datagram ? 0 : datagram.error().error_number;
        if (error == ETIMEDOUT) return found;  // there is no more
        // A message that was lost, or is larger than any that we know, may tell of any change.
        if (error == ENOBUFS || error == EMSGSIZE) {
            found = true;
        } else if (!datagram) {
            return tl::unexpected(datagram.error().within("listening to the kernel"));
        } else {
            for_each_message(*datagram, [&](const nlmsghdr* message) {
                found = found || concerns(message, device);
            });
        }
    }
    return found;
}

}  // namespace headway
