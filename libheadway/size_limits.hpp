// SPDX-License-Identifier: MIT
// From which sizes on calls go by our algorithms.  Other people's test suites send a few bytes, so
// tests/strangers builds the helper once more with HEADWAY_SMALL_SIZES, where one byte is enough.
#pragma once

#include <cstdint>

namespace headway::glue {

/// TCP's, in a frame of 1500 bytes.
inline constexpr std::uint64_t frame_payload_bytes = 1448;

#ifndef HEADWAY_SMALL_SIZES

/// Per pair or step; smaller exchanges are the MPI library's.  Of operations whose ranks do
/// not know each other's sizes the largest is agreed on afterwards.
inline constexpr std::uint64_t own_from_bytes = 2048;

/// Of an alltoall, below which agreeing takes longer than it is worth.
inline constexpr std::uint64_t own_alltoall_least_bytes = 1024;

/// Where the largest message of any rank is smaller, telling and planning take too much of the
/// call's own time (mpi-glue/told_sizes.hpp).
inline constexpr std::uint64_t telling_from_bytes = 32768;

/// Of a message that goes in pieces.
inline constexpr std::uint64_t smallest_piece_bytes = frame_payload_bytes;

/// Of an all-to-all where ranks pace themselves: what is smaller is the MPI library's.
inline constexpr std::uint64_t clocked_from_bytes = 512;

/// Of a piece that has a frame of its own; the MPI libraries put at most so many bytes before it.
inline constexpr std::uint64_t piece_header_bytes = 28;
inline constexpr std::uint64_t framed_piece_bytes = smallest_piece_bytes - piece_header_bytes;

#else

inline constexpr std::uint64_t own_from_bytes = 1;
inline constexpr std::uint64_t own_alltoall_least_bytes = 1;
inline constexpr std::uint64_t telling_from_bytes = 1;
inline constexpr std::uint64_t smallest_piece_bytes = 1;
inline constexpr std::uint64_t clocked_from_bytes = 1;
inline constexpr std::uint64_t piece_header_bytes = 28;
inline constexpr std::uint64_t framed_piece_bytes = 4;

#endif

}  // namespace headway::glue
