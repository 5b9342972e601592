// SPDX-License-Identifier: Apache-2.0
#include "base/byte_size.hpp"

#include <array>

#include "base/decimal.hpp"

namespace headway {
namespace {

constexpr std::uint64_t size_max_bytes = 1ULL << 40;

constexpr std::array<DecimalUnit, 9> size_units{{{"B", 1},
                                                 {"kB", 1'000},
                                                 {"KiB", 1ULL << 10},
                                                 {"MB", 1'000'000},
                                                 {"MiB", 1ULL << 20},
                                                 {"GB", 1'000'000'000},
                                                 {"GiB", 1ULL << 30},
                                                 {"TB", 1'000'000'000'000},
                                                 {"TiB", 1ULL << 40}}};

}  // namespace

Result<std::uint64_t> parse_byte_size(std::string_view text) {
    auto bytes = parse_decimal(text, size_units);
    if (bytes && *bytes > size_max_bytes) return failure("\"{}\" is more than 1TiB", text);
    return bytes;
}

std::string byte_size_to_text(std::uint64_t bytes) { return decimal_to_text(bytes, size_units); }

}  // namespace headway
