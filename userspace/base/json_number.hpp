// SPDX-License-Identifier: Apache-2.0
// Whole numbers out of JSON that may be anything, for readers that catch what the library throws.
#pragma once

#include <concepts>
#include <cstdint>
#include <stdexcept>
#include <utility>

#include <nlohmann/json.hpp>

namespace headway {

/// Throws where the value is no whole number or the type does not hold it.  The library's own get()
/// converts whatever number there is: of a fraction it takes a part, and of one that is too large it has
/// undefined behaviour.
template <std::integral Number>
[[nodiscard]] Number whole_number(const nlohmann::json& json) {
    if (json.is_number_unsigned()) {
        if (const auto value = json.get<std::uint64_t>(); std::in_range<Number>(value))
            return static_cast<Number>(value);
    } else if (json.is_number_integer()) {
        if (const auto value = json.get<std::int64_t>(); std::in_range<Number>(value))
            return static_cast<Number>(value);
    }
    throw std::out_of_range("a number is none, not whole, or out of its range");
}

}  // namespace headway
