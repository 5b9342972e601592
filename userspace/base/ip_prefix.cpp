// SPDX-License-Identifier: Apache-2.0
#include "base/ip_prefix.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace headway {
namespace {

int address_family(IpFamily family) { return family == IpFamily::v4 ? AF_INET : AF_INET6; }

std::array<std::uint8_t, 16> mask_of(std::uint8_t length_bits) {
    std::array<std::uint8_t, 16> mask{};
    for (unsigned i = 0; i < mask.size(); ++i) {
        const unsigned bits = std::clamp(length_bits - static_cast<int>(8 * i), 0, 8);
        mask[i] = static_cast<std::uint8_t>(0xff00U >> bits);
    }
    return mask;
}

std::array<std::uint8_t, 16> masked(const IpPrefix& prefix, std::uint8_t length_bits) {
    const auto mask = mask_of(length_bits);
    auto address = prefix.address;
    for (std::size_t i = 0; i < address.size(); ++i) address[i] &= mask[i];
    return address;
}

/// The IPv4 prefix that a block of ::ffff:0:0/96 stands for (RFC 4291, 2.5.5.2); none: it is no such block.
std::optional<std::string> ipv4_within(const IpPrefix& prefix) {
    constexpr unsigned before_bits = 96;
    if (prefix.family != IpFamily::v6 || prefix.length_bits < before_bits) return std::nullopt;
    IpPrefix mapped{.family = IpFamily::v6, .length_bits = before_bits};
    mapped.address[10] = mapped.address[11] = 0xff;
    if (masked(prefix, before_bits) != mapped.address) return std::nullopt;
    std::array<char, INET_ADDRSTRLEN> text{};
    inet_ntop(AF_INET, &prefix.address[before_bits / 8], text.data(), text.size());
    return fmt::format("{}/{}", text.data(), prefix.length_bits - before_bits);
}

}  // namespace

std::array<std::uint8_t, 16> IpPrefix::mask() const { return mask_of(length_bits); }

std::string IpPrefix::to_string() const {
    std::array<char, INET6_ADDRSTRLEN> text{};
    inet_ntop(address_family(family), address.data(), text.data(), text.size());
    return fmt::format("{}/{}", text.data(), length_bits);
}

Result<IpPrefix> parse_ip_prefix(std::string_view text) {
    const auto slash = text.find('/');
    const std::string address(text.substr(0, slash));
    IpPrefix prefix;
    prefix.family = address.find(':') == std::string::npos ? IpFamily::v4 : IpFamily::v6;
    if (inet_pton(address_family(prefix.family), address.c_str(), prefix.address.data()) != 1) {
        return failure("\"{}\" is no IPv4 or IPv6 prefix such as 10.1.0.0/16 or fd00:1::/64", text);
    }

    const unsigned longest = prefix.family == IpFamily::v4 ? 32 : 128;
    unsigned length = longest;
    if (slash != std::string_view::npos) {
        const auto digits = text.substr(slash + 1);
        const auto [end, error] =
            std::from_chars(digits.data(), digits.data() + digits.size(), length);
        if (digits.empty() || error != std::errc{} || end != digits.data() + digits.size() ||
            length < 1 || length > longest) {
            return failure("\"{}\": the length after '/' must be 1 .. {}", text, longest);
        }
    }
    prefix.length_bits = static_cast<std::uint8_t>(length);

    if (const auto ipv4 = ipv4_within(prefix)) {
        return failure("\"{}\" is an IPv4 block within IPv6, which no packet carries; write {}", text, *ipv4);
    }
    const auto network = masked(prefix, prefix.length_bits);
    if (network != prefix.address) {
        prefix.address = network;
        return failure("\"{}\" has bits set behind its length; the block is {}", text,
                       prefix.to_string());
    }
    return prefix;
}

bool overlap(const IpPrefix& a, const IpPrefix& b) {
    if (a.family != b.family) return false;
    const auto shorter = std::min(a.length_bits, b.length_bits);
    return masked(a, shorter) == masked(b, shorter);
}

}  // namespace headway
