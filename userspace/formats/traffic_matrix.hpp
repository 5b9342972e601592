// SPDX-License-Identifier: Apache-2.0
// Who sent how much to whom: what a run was measured to do.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/error.hpp"

namespace headway {

/// All messages from one rank to another.
struct TrafficFlow {
    std::uint32_t source = 0;
    std::uint32_t destination = 0;
    std::uint64_t bytes = 0;
    std::uint64_t messages = 0;  ///< 0: not counted

    friend bool operator==(const TrafficFlow&, const TrafficFlow&) = default;
};

/// Sparse: only pairs that exchange something.  A value.
class TrafficMatrix {
public:
    static constexpr std::uint32_t ranks_max = 65536;
    static constexpr std::size_t flows_max = 1U << 24;  // 4096 ranks, everybody to everybody

    /// The limits of all flows together: 64 bits hold what is computed from them, with all headers.
    static constexpr std::uint64_t bytes_max = std::uint64_t{1} << 60;
    static constexpr std::uint64_t messages_max = std::uint64_t{1} << 53;

    TrafficMatrix() = default;

    /// Adds up flows between the same two ranks.  Fails for a rank that is not
    /// less than `ranks`, and for too many of anything.
    [[nodiscard]] static Result<TrafficMatrix> make(std::uint32_t ranks,
                                                    std::vector<TrafficFlow> flows);

    [[nodiscard]] std::uint32_t ranks() const { return ranks_; }
    /// By source, then destination; each pair once, none of zero bytes and messages.
    [[nodiscard]] std::span<const TrafficFlow> flows() const { return flows_; }
    [[nodiscard]] std::uint64_t bytes(std::uint32_t source, std::uint32_t destination) const;
    /// On average of those that are counted; none: no messages are.
    [[nodiscard]] std::optional<double> message_bytes() const;

    friend bool operator==(const TrafficMatrix&, const TrafficMatrix&) = default;

private:
    std::uint32_t ranks_ = 0;
    std::vector<TrafficFlow> flows_;
};

}  // namespace headway
