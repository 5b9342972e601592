// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace headway {

enum class IpFamily { v4, v6 };

/// A block of IPv4 or IPv6 addresses, "10.1.0.0/16" or "fd00:1::/64".
struct IpPrefix {
    IpFamily family = IpFamily::v4;
    std::array<std::uint8_t, 16> address{};  ///< network order; IPv4 uses the first 4 bytes
    std::uint8_t length_bits = 0;            ///< 1 .. 32 or 128

    friend bool operator==(const IpPrefix&, const IpPrefix&) = default;

    [[nodiscard]] std::size_t address_bytes() const { return family == IpFamily::v4 ? 4 : 16; }
    [[nodiscard]] std::array<std::uint8_t, 16> mask() const;
    [[nodiscard]] std::string to_string() const;
};

/// An address without "/length" is that one address.  Fails on host bits that
/// are set (it names the block that was probably meant) and on /0: a cluster
/// is never the whole Internet.
[[nodiscard]] Result<IpPrefix> parse_ip_prefix(std::string_view text);

/// True if some address is in both.
[[nodiscard]] bool overlap(const IpPrefix& a, const IpPrefix& b);

}  // namespace headway
