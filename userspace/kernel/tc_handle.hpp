// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include <fmt/core.h>

namespace headway {

/// Name of a qdisc ("1:") or of a class ("1:10"; both halves hexadecimal).
struct TcHandle {
    std::uint32_t value = 0;

    friend auto operator<=>(const TcHandle&, const TcHandle&) = default;

    [[nodiscard]] constexpr std::uint16_t major() const {
        return static_cast<std::uint16_t>(value >> 16U);
    }
    [[nodiscard]] constexpr std::uint16_t minor() const {
        return static_cast<std::uint16_t>(value & 0xffffU);
    }
    [[nodiscard]] std::string to_string() const {
        return minor() == 0 ? fmt::format("{:x}:", major())
                            : fmt::format("{:x}:{:x}", major(), minor());
    }
};

constexpr TcHandle tc_handle(std::uint16_t major, std::uint16_t minor) {
    return {static_cast<std::uint32_t>(major) << 16U | minor};
}

}  // namespace headway
