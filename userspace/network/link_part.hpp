// SPDX-License-Identifier: Apache-2.0
// What part of a link's rate a job may use, and what is left of a rate by that.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <optional>

#include "base/units.hpp"

namespace headway {

/// No rate becomes less than the link's divided by this, by whatever part: no job can be
/// brought to a halt.
inline constexpr std::uint64_t slowest_rate_divisor = 1000;

/// A part of a link; the whole link is `one`.
struct LinkPart {
    static constexpr std::uint64_t one = 1'000'000'000;
    std::uint64_t value = one;
    std::optional<BytesPerSecond> most{};  ///< that is left of a limited rate; none: any

    friend auto operator<=>(const LinkPart&, const LinkPart&) = default;
};

/// Rounded down, but not below the slowest rate there may be.  The part of what is no
/// limit (none) is one of the link's rate.
[[nodiscard]] inline std::optional<BytesPerSecond> part_of(
    const std::optional<BytesPerSecond>& rate, LinkPart part, BytesPerSecond link_rate) {
    std::optional<BytesPerSecond> left = rate;
    if (part.value < LinkPart::one) {
        const std::uint64_t alone = std::min(rate.value_or(link_rate), link_rate).value;
        const auto now = static_cast<unsigned __int128>(alone) * part.value / LinkPart::one;
        left = BytesPerSecond{static_cast<std::uint64_t>(now)};
    }
    if (left && part.most) left = std::min(*left, *part.most);
    if (!left || left == rate) return left;
    const BytesPerSecond slowest{std::max<std::uint64_t>(1, link_rate.value / slowest_rate_divisor)};
    return std::max(*left, std::min(slowest, rate.value_or(link_rate)));
}

}  // namespace headway
