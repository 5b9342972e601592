// SPDX-License-Identifier: Apache-2.0
// Netlink attributes put together byte by byte, independently of gap_attr.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

using Bytes = std::vector<std::uint8_t>;

// As the kernel defines it: length without padding, type, payload, zeros up to
// a multiple of four.
inline void append_attr(Bytes& out, std::uint16_t type, const void* payload,
                        std::uint16_t payload_len)
{
    const std::uint16_t len = payload_len + 4;
    const auto* l = reinterpret_cast<const std::uint8_t*>(&len);
    const auto* t = reinterpret_cast<const std::uint8_t*>(&type);
    const auto* p = static_cast<const std::uint8_t*>(payload);
    out.insert(out.end(), l, l + 2);
    out.insert(out.end(), t, t + 2);
    out.insert(out.end(), p, p + payload_len);
    while (out.size() % 4 != 0)
        out.push_back(0);
}

template <typename T>
void append_value(Bytes& out, std::uint16_t type, T value)
{
    append_attr(out, type, &value, sizeof(value));
}

inline void append_u32(Bytes& out, std::uint16_t type, std::uint32_t value)
{
    append_value(out, type, value);
}

inline void append_u64(Bytes& out, std::uint16_t type, std::uint64_t value)
{
    append_value(out, type, value);
}

inline void append_flag(Bytes& out, std::uint16_t type)
{
    append_attr(out, type, nullptr, 0);
}

// A heap block of exactly the bytes' size, so that ASan guards its end.
struct Exact {
    explicit Exact(const Bytes& bytes) : size(bytes.size()), block(new std::uint8_t[size ? size : 1])
    {
        if (size)
            std::memcpy(block.get(), bytes.data(), size);
    }
    std::size_t size;
    std::unique_ptr<std::uint8_t[]> block;
};
