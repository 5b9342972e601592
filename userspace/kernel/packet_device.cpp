// SPDX-License-Identifier: Apache-2.0
#include "kernel/packet_device.hpp"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/file_descriptor.hpp"

namespace headway {
namespace {

/// 802.3x: to the port at the other end, opcode 1 (pause), pause time 0.
constexpr std::array<std::uint8_t, ETH_ALEN> pause_address{0x01, 0x80, 0xc2, 0x00, 0x00, 0x01};
constexpr std::uint8_t pause_opcode = 1;

tl::unexpected<Error> socket_failure(const std::string& name, const char* what) {
    const char* const advice = errno == EPERM ? "; this needs root, or CAP_NET_RAW" : "";
    return system_failure(errno, "{}: {}: {}{}", name, what, std::strerror(errno), advice);
}

class PacketDevice {
public:
    PacketDevice(std::string name, FileDescriptor socket, const sockaddr& own_address)
        : name_(std::move(name)), socket_(std::move(socket)) {
        std::copy(pause_address.begin(), pause_address.end(), frame_.begin());
        std::copy_n(own_address.sa_data, ETH_ALEN, frame_.begin() + ETH_ALEN);
        frame_[12] = ETH_P_PAUSE >> 8;
        frame_[13] = ETH_P_PAUSE & 0xff;
        frame_[15] = pause_opcode;
    }

    Result<std::size_t> send(TcHandle classid, std::size_t frames) const {
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

private:
    static constexpr std::size_t frame_bytes = 60;

    std::string name_;
    FileDescriptor socket_;
    std::array<std::uint8_t, frame_bytes> frame_{};
};

}  // namespace

Result<SendFrames> open_packet_device(const std::string& name) {
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
    const auto device = std::make_shared<PacketDevice>(name, std::move(socket), request.ifr_hwaddr);
    return [device](TcHandle classid, std::size_t frames) { return device->send(classid, frames); };
}

}  // namespace headway
