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
#include <cstring>

#include "kernel/netlink_attributes.hpp"

namespace headway {
namespace {

constexpr std::size_t monitor_buffer_bytes = 32768;
/// Room for a burst of some thousand changes, while the daemon is busy.
constexpr int receive_queue_bytes = 1 << 20;
/// Somebody who never stops does not stop the daemon: the rest is read next time.
constexpr int datagrams_per_read = 256;

bool concerns_traffic_control(const nlmsghdr* message, const MonitoredDevice& device) {
    if (message->nlmsg_len < NLMSG_LENGTH(sizeof(tcmsg))) return false;
    return static_cast<const tcmsg*>(mnl_nlmsg_get_payload(message))->tcm_ifindex == device.ifindex;
}

bool concerns_link(const nlmsghdr* message, const MonitoredDevice& device) {
    if (message->nlmsg_len < NLMSG_LENGTH(sizeof(ifinfomsg))) return false;
    const auto* link = static_cast<const ifinfomsg*>(mnl_nlmsg_get_payload(message));
    bool is_same = link->ifi_index == device.ifindex;
    for_each_attribute(message, sizeof(ifinfomsg), [&](const nlattr* attribute) {
        if (mnl_attr_get_type(attribute) == IFLA_IFNAME) {
            is_same = is_same || attribute_text(attribute) == device.name;
        }
    });
    return is_same;
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
        case RTM_DELTFILTER: return concerns_traffic_control(message, device);
        case RTM_NEWLINK:
        case RTM_DELLINK: return concerns_link(message, device);
        default: return false;
    }
}

KernelMonitor::KernelMonitor(FileDescriptor socket)
    : socket_(std::move(socket)), buffer_(monitor_buffer_bytes) {}

Result<KernelMonitor> KernelMonitor::open(std::uint32_t own_port) {
    FileDescriptor socket(
        ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE));
    if (!socket) return system_failure(errno, "opening a netlink socket: {}", std::strerror(errno));
    // The first is allowed to whom the second, above the system's limit, is not.
    for (const int option : {SO_RCVBUF, SO_RCVBUFFORCE}) {
        (void)setsockopt(socket.get(), SOL_SOCKET, option, &receive_queue_bytes,
                         sizeof(receive_queue_bytes));
    }
    if (!drop_changes_of(socket.get(), own_port)) {
        return system_failure(errno, "not listening to one's own changes: {}", std::strerror(errno));
    }
    sockaddr_nl address{};
    address.nl_family = AF_NETLINK;
    address.nl_groups = RTMGRP_LINK | RTMGRP_TC;
    if (bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
        return system_failure(errno, "listening to the kernel: {}", std::strerror(errno));
    }
    return KernelMonitor(std::move(socket));
}

Result<bool> KernelMonitor::read(const MonitoredDevice& device) {
    bool found = false;
    for (int i = 0; i < datagrams_per_read; ++i) {
        sockaddr_nl sender{};
        socklen_t sender_bytes = sizeof(sender);
        const ssize_t received = recvfrom(socket_.get(), buffer_.data(), buffer_.size(), MSG_TRUNC,
                                          reinterpret_cast<sockaddr*>(&sender), &sender_bytes);
        if (received < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return found;
        if (received < 0 && errno == EINTR) continue;
        if (received < 0 && errno != ENOBUFS) {
            return system_failure(errno, "listening to the kernel: {}", std::strerror(errno));
        }
        // What was lost, or is larger than any message of these, may be about anything.
        if (received < 0 || static_cast<std::size_t>(received) > buffer_.size()) {
            found = true;
            continue;
        }
        if (sender.nl_pid != 0) continue;  // other processes may send here, too
        const std::span<const std::byte> datagram(buffer_.data(), static_cast<std::size_t>(received));
        for_each_message(datagram, [&](const nlmsghdr* message) {
            found = found || concerns(message, device);
        });
    }
    return found;
}

}  // namespace headway
