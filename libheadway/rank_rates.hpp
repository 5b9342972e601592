// SPDX-License-Identifier: MIT
// What ranks may send by themselves, where no daemon paces the nodes: by the size of a message, for
// what the switches' buffers hold of short ones lets these go faster.  The job's planner
// (libheadway/planner_process.hpp) has planned it, and rank 0 tells it once for each operation on a
// communicator (own_algorithms.hpp).
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "size_limits.hpp"

namespace headway::glue {

/// Clusters of a communicator whose rates rank 0 tells, and numbers that it tells, at most.
inline constexpr std::size_t told_clusters_max = 32;
inline constexpr std::size_t told_rates_max = 4096;

/// Messages up to a power of two have the same rates: from 1 KiB to 1 MiB in steps of two, and
/// those of any size.
class RateSizes {
public:
    /// Of a communicator of so many clusters; of many not all: shorter messages have the rates of
    /// the shortest that is left.
    explicit RateSizes(std::size_t clusters)
        : count_(std::clamp<std::size_t>(told_rates_max / (clusters * clusters), 1, sizes_max)) {}

    [[nodiscard]] std::size_t count() const { return count_; }
    /// None: of messages of any size, which come last.
    [[nodiscard]] std::optional<std::uint64_t> bytes_of(std::size_t at) const {
        if (at + 1 == count_) return std::nullopt;
        return std::uint64_t{1} << (largest_power + 2 + at - count_);
    }
    [[nodiscard]] std::size_t of(std::uint64_t bytes) const {
        const std::size_t power =
            bytes > 1 ? static_cast<std::size_t>(std::bit_width(bytes - 1)) : 0;
        const std::size_t first_power = largest_power + 2 - count_;
        return power <= first_power ? 0 : std::min(power - first_power, count_ - 1);
    }

private:
    static constexpr std::size_t least_power = 10, largest_power = 20;
    static constexpr std::size_t sizes_max = largest_power - least_power + 2;

    std::size_t count_;
};

/// A piece between ranks of one host, where nothing is paced; MPI counts its bytes by an int.
inline constexpr std::uint64_t here_piece_bytes = std::uint64_t{1} << 30;

/// The frames that a piece of a message may fill at most.
inline constexpr std::uint64_t piece_frames_max = 64;

/// Of nodes: for each size, from each cluster, towards each cluster; bytes of wire time per second,
/// 0 without limit.
struct NodeRates {
    std::uint32_t number = 0;  ///< among those of the job
    std::uint64_t piece_frames = 1;
    std::vector<std::uint64_t> bytes_per_s;
};

/// Of a call: towards each cluster, and how large the pieces of its messages are.
struct CallRates {
    std::span<const std::uint64_t> bytes_per_s;
    std::uint64_t piece_bytes = framed_piece_bytes;

    [[nodiscard]] bool have_a_limit() const {
        return std::any_of(bytes_per_s.begin(), bytes_per_s.end(), [](std::uint64_t rate) { return rate > 0; });
    }
};

/// Of this rank: for each size, towards each cluster.
struct RankRates {
    std::uint32_t number = 0;  ///< of the NodeRates; 0: not told yet
    std::uint64_t piece_frames = 1;
    std::vector<std::uint64_t> bytes_per_s;

    [[nodiscard]] CallRates of(std::uint64_t bytes, std::size_t clusters) const {
        return {std::span(bytes_per_s).subspan(RateSizes(clusters).of(bytes) * clusters, clusters),
                framed_piece_bytes + (piece_frames - 1) * frame_payload_bytes};
    }
};

/// Around TCP's payload in a frame: Ethernet's 38 bytes with the gap between frames, IP's and TCP's
/// headers.
inline constexpr std::uint64_t around_payload_bytes = 38 + 20 + 32;
inline constexpr std::uint64_t least_wire_bytes = 84;

/// In as few frames as it fits into.
[[nodiscard]] constexpr std::uint64_t wire_bytes_of_payload(std::uint64_t bytes) {
    const std::uint64_t frames =
        std::max((bytes + frame_payload_bytes - 1) / frame_payload_bytes, std::uint64_t{1});
    return std::max(bytes + frames * around_payload_bytes, least_wire_bytes);
}

/// Of a piece, with what the MPI library puts before it.
[[nodiscard]] constexpr std::uint64_t wire_bytes_of(std::uint64_t piece_bytes) {
    return wire_bytes_of_payload(piece_bytes + piece_header_bytes);
}

}  // namespace headway::glue
