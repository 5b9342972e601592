// SPDX-License-Identifier: MIT
#include "own_network.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace headway::glue {
namespace {

using Bytes = std::vector<std::uint8_t>;

std::optional<Bytes> bytes_of(const std::string& address) {
    for (const auto& [family, size] : {std::pair{AF_INET, 4}, std::pair{AF_INET6, 16}}) {
        Bytes bytes(static_cast<std::size_t>(size));
        if (::inet_pton(family, address.c_str(), bytes.data()) == 1) return bytes;
    }
    return std::nullopt;
}

bool starts_alike(const Bytes& one, const Bytes& other, std::size_t bits) {
    for (std::size_t bit = 0; bit < bits; ++bit) {
        const unsigned mask = 0x80U >> (bit % 8);
        if (((one[bit / 8] ^ other[bit / 8]) & mask) != 0) return false;
    }
    return true;
}

std::optional<std::size_t> number_in(std::string_view text) {
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
}

bool is_of_one_link(const Address& address) {
    return is_in_block(address, "169.254.0.0/16") || address.starts_with("fe80:");
}

std::string listed(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
    return text;
}

}  // namespace

Address text_of(const sockaddr& address) {
    if (address.sa_family != AF_INET && address.sa_family != AF_INET6) return "";
    const socklen_t size = address.sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    std::array<char, NI_MAXHOST> text{};
    if (::getnameinfo(&address, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0)
        return "";
    constexpr std::string_view mapped = "::ffff:";
    const std::string_view found = text.data();
    return Address(found.starts_with(mapped) ? found.substr(mapped.size()) : found);
}

std::vector<Address> own_addresses() {
    ifaddrs* first = nullptr;
    if (::getifaddrs(&first) != 0) return {};
    const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(first, ::freeifaddrs);
    std::vector<Address> addresses;
    for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
        if (one->ifa_addr == nullptr || (one->ifa_flags & IFF_LOOPBACK) != 0) continue;
        Address text = text_of(*one->ifa_addr);
        if (!text.empty() && !is_of_one_link(text)) addresses.push_back(std::move(text));
    }
    return addresses;
}

bool is_in_block(const Address& address, const std::string& block) {
    const std::size_t slash = block.find('/');
    const auto own = bytes_of(address);
    const auto start = bytes_of(block.substr(0, slash));
    if (!own || !start || own->size() != start->size()) return false;
    if (slash == std::string::npos) return *own == *start;
    const auto bits = number_in(std::string_view(block).substr(slash + 1));
    return bits && *bits <= 8 * own->size() && starts_alike(*own, *start, *bits);
}

std::string why_network_is_unknown(const JsonObject& hello, const std::vector<Address>& addresses) {
    if (!hello.flag("own_network").value_or(false)) return "";
    const auto blocks = hello.texts("prefixes");
    for (const Address& address : addresses) {
        if (std::any_of(blocks.begin(), blocks.end(), [&](const std::string& block) {
                return is_in_block(address, block);
            }))
            return "";
    }
    const std::string all = listed(addresses);
    return "this process is in a network namespace of its own, and headwayd would not know its "
           "packets: its addresses (" + (all.empty() ? "none" : all) +
           ") are not in the cluster's prefixes (" + listed(blocks) + ")";
}

}  // namespace headway::glue
