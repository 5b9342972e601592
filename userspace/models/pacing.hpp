// SPDX-License-Identifier: Apache-2.0
// Packets and gaps: what lies between two packets of a paced sender.
//
// Source: Takano et al. (see matb.hpp), sections III and IV.
//
// Vocabulary
//   packet   bytes of a packet, as the paper counts them: all that there is
//   frame    bytes of an Ethernet frame without FCS, as the kernel has it
//   wire     byte-times that a frame takes: max(frame, 60) + 24 (wire.hpp)
//
// Equations
//   gap      = packet (link / rate - 1)      bytes between packets
//   interval = 8 packet / rate               from start to start, s
//   attribute: Kbytes/s of 1000 bytes, divided as integers
// On the wire both hold with `wire` instead of `packet`.  Rates that the kernel
// enforces and that plans divide are wire rates; B/N of the paper's arithmetic
// asks for more than B.
//
// Example: 500 Mbit/s on 1 Gbit/s in packets of 1500 bytes: a gap of 1500 bytes,
// an interval of 24 us (the paper's Figure 3).  On the wire a packet of 1500
// bytes is a frame of 1514 and takes 1538: gap 1538, interval 24.608 us.
//
// Limits: 0 < rate <= link; see the kernel module for which gaps exist (84
// byte-times and more).
#pragma once

#include <cstdint>

#include "base/wire.hpp"

namespace headway {

[[nodiscard]] constexpr double paper_gap_bytes(double link_bps, double rate_bps,
                                               double packet_bytes) {
    return packet_bytes * (link_bps / rate_bps - 1);
}

[[nodiscard]] constexpr double paper_interval_s(double rate_bps, double packet_bytes) {
    return packet_bytes * 8 / rate_bps;
}

[[nodiscard]] constexpr double wire_gap_bytes(double link_bps, double rate_bps,
                                              std::uint64_t frame_bytes) {
    return paper_gap_bytes(link_bps, rate_bps, static_cast<double>(wire_bytes(frame_bytes)));
}

[[nodiscard]] constexpr double wire_interval_s(double rate_bps, std::uint64_t frame_bytes) {
    return paper_interval_s(rate_bps, static_cast<double>(wire_bytes(frame_bytes)));
}

/// Programs ask for this with the paper's attributes: *rate / n, n at least 1.
[[nodiscard]] constexpr std::uint64_t matb_attribute_kbytes(std::uint64_t maxrate_kbytes,
                                                            std::uint64_t divisor) {
    return maxrate_kbytes / divisor;
}

/// An attribute as a rate.
[[nodiscard]] constexpr double attribute_bps(std::uint64_t kbytes_per_s) {
    return static_cast<double>(kbytes_per_s) * 1000 * 8;
}

}  // namespace headway
