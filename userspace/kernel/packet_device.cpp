// SPDX-License-Identifier: Apache-2.0
#include "kernel/packet_device.hpp"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace headway {
namespace {

/// 802.3x: to the port at the other end, opcode 1 (pause), pause time 0.
constexpr std::array<std::uint8_t, ETH_ALEN> pause_address{0x01, 0x80, 0xc2, 0x00, 0x00, 0x01};
constexpr std::uint8_t pause_opcode = 1;

tl::unexpected<Error> socket_failure(const std::string& name, const char* what) {
    const char* const advice = errno == EPERM ? "; this needs root, or CAP_NET_RAW" : "";
    return system_failure(errno, "{}: {}: {}{}", name, what, std::strerror(errno), advice);
}

}  // namespace

Result<PacketDevice> PacketDevice::open(const std::string& name) {
    FileDescriptor socket(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) return socket_failure(name, "opening a packet socket");
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_ifindex = static_cast<int>(if_nametoindex(name.c_str()));
    if (address.sll_ifindex == 0) return socket_failure(name, "looking for the interface");
    if (bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
        return socket_failure(name, "binding a packet socket");
    }
    ifreq request{};
    name.copy(request.ifr_name, IFNAMSIZ - 1);
    if (ioctl(socket.get(), SIOCGIFHWADDR, &request) != 0) {
        return socket_failure(name, "reading the hardware address");
    }
    PacketDevice device(name, std::move(socket));
    auto* const frame = reinterpret_cast<std::uint8_t*>(device.frame_.data());
    std::copy(pause_address.begin(), pause_address.end(), frame);
    std::copy_n(request.ifr_hwaddr.sa_data, ETH_ALEN, frame + ETH_ALEN);
    frame[12] = ETH_P_PAUSE >> 8;
    frame[13] = ETH_P_PAUSE & 0xff;
    frame[15] = pause_opcode;
    return device;
}

Result<GapCounters> PacketDevice::counters() {
    const auto counters = read_gap_counters(name_);
    if (!counters) return tl::unexpected(counters.error());
    if (!*counters) return failure("{}: its root qdisc is no gap", name_);
    return **counters;
}

Result<std::size_t> PacketDevice::send(TcHandle classid, std::size_t frames) {
    const std::uint32_t priority = classid.value;
    if (setsockopt(socket_.get(), SOL_SOCKET, SO_PRIORITY, &priority, sizeof(priority)) != 0) {
        return socket_failure(name_, "naming the class of the test's frames");
    }
    for (std::size_t sent = 0; sent < frames; ++sent) {
        if (::send(socket_.get(), frame_.data(), frame_.size(), 0) >= 0) continue;
        if (errno == EAGAIN || errno == ENOBUFS) return sent;
        return socket_failure(name_, "sending the test's frames");
    }
    return frames;
}

}  // namespace headway
