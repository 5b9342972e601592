// SPDX-License-Identifier: Apache-2.0
#include "base/byte_size.hpp"

#include <array>

#include "base/decimal.hpp"

namespace headway {
namespace {

struct SizeUnit {
    const char* text;
    std::uint64_t bytes;
};

constexpr std::uint64_t size_max_bytes = 1ULL << 40;

constexpr std::array<DecimalUnit, 9> size_units{{{"b", 1},
                                                     {"kb", 1'000},
                                                     {"kib", 1ULL << 10},
                                                     {"mb", 1'000'000},
                                                     {"mib", 1ULL << 20},
                                                     {"gb", 1'000'000'000},
                                                     {"gib", 1ULL << 30},
                                                     {"tb", 1'000'000'000'000},
                                                     {"tib", 1ULL << 40}}};

// Largest first.
constexpr std::array<SizeUnit, 9> written_units{{{"TiB", 1ULL << 40},
                                                 {"TB", 1'000'000'000'000},
                                                 {"GiB", 1ULL << 30},
                                                 {"GB", 1'000'000'000},
                                                 {"MiB", 1ULL << 20},
                                                 {"MB", 1'000'000},
                                                 {"KiB", 1ULL << 10},
                                                 {"kB", 1'000},
                                                 {"B", 1}}};

}  // namespace

Result<std::uint64_t> parse_byte_size(std::string_view text) {
    auto bytes = parse_decimal(text, size_units);
    if (bytes && *bytes > size_max_bytes) return failure("\"{}\" is more than 1TiB", text);
    return bytes;
}

std::string byte_size_to_text(std::uint64_t bytes) {
    for (const SizeUnit& unit : written_units) {
        if (bytes != 0 && bytes % unit.bytes == 0) {
            return fmt::format("{}{}", bytes / unit.bytes, unit.text);
        }
    }
    return "0B";
}

}  // namespace headway
