// SPDX-License-Identifier: Apache-2.0
#include "base/host_address.hpp"

#include <netdb.h>

#include <array>
#include <cstring>
#include <memory>

namespace headway {
namespace {

using AddressList = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Result<AddressList> look_up(const std::string& name, const std::string& port, int flags) {
    addrinfo hints{};
    hints.ai_flags = flags;
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_DGRAM;
    addrinfo* found = nullptr;
    const int status = ::getaddrinfo(name.c_str(), port.c_str(), &hints, &found);
    if (status != 0) return failure("\"{}\" has no address: {}", name, ::gai_strerror(status));
    return AddressList(found, ::freeaddrinfo);
}

}  // namespace

Result<std::string> resolve_host(const std::string& name) {
    const auto found = look_up(name, "0", AI_ADDRCONFIG);
    if (!found) return tl::unexpected(found.error());
    std::array<char, NI_MAXHOST> text{};
    if (::getnameinfo((*found)->ai_addr, (*found)->ai_addrlen, text.data(), text.size(), nullptr, 0,
                      NI_NUMERICHOST) != 0)
        return failure("the address of \"{}\" cannot be read", name);
    return std::string(text.data());
}

Result<SocketAddress> socket_address(const std::string& address, std::uint16_t port) {
    const auto found = look_up(address, std::to_string(port), AI_NUMERICHOST | AI_NUMERICSERV);
    if (!found) return tl::unexpected(found.error());
    SocketAddress result;
    std::memcpy(&result.storage, (*found)->ai_addr, (*found)->ai_addrlen);
    result.length = (*found)->ai_addrlen;
    return result;
}

}  // namespace headway
