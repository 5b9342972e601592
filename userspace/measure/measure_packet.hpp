// SPDX-License-Identifier: Apache-2.0
// The head of every datagram that a measurement sends.  The rest is zero.
//
// The token is drawn for each measurement: a host answers and counts nothing else, so that
// it can be used neither as a reflector nor be confused by another measurement's frames.
#pragma once

#include <endian.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace headway {

struct MeasurePacket {
    std::uint64_t token = 0;
    std::uint32_t run = 0;
    std::uint32_t sender = 0;
    std::uint32_t sequence = 0;
    /// How long the answering host had an echoed frame, by its own clock.
    std::uint64_t residence_ns = 0;

    static constexpr std::size_t bytes = 28;

    void write(std::span<std::byte> to) const {
        const std::uint64_t wide[] = {htobe64(token), htobe64(residence_ns)};
        const std::uint32_t narrow[] = {htobe32(run), htobe32(sender), htobe32(sequence)};
        std::memcpy(to.data(), wide, sizeof(wide));
        std::memcpy(to.data() + sizeof(wide), narrow, sizeof(narrow));
    }

    [[nodiscard]] static std::optional<MeasurePacket> read(std::span<const std::byte> from,
                                                           std::uint64_t token) {
        if (from.size() < bytes) return std::nullopt;
        std::uint64_t wide[2];
        std::uint32_t narrow[3];
        std::memcpy(wide, from.data(), sizeof(wide));
        std::memcpy(narrow, from.data() + sizeof(wide), sizeof(narrow));
        if (be64toh(wide[0]) != token) return std::nullopt;
        return MeasurePacket{token, be32toh(narrow[0]), be32toh(narrow[1]), be32toh(narrow[2]),
                             be64toh(wide[1])};
    }
};

}  // namespace headway
