// SPDX-License-Identifier: Apache-2.0
#include "told_traffic.hpp"

#include <gtest/gtest.h>

namespace headway::glue::test {
namespace {

/// Each of so many hosts sends `bytes` to the first one, and a byte to each other.
std::size_t pieces(std::size_t host_count, std::uint64_t bytes, std::uint64_t port_buffer_bytes) {
    ToldSizes told{{}, port_buffer_bytes};
    std::vector<int> host_of_rank;
    for (std::size_t rank = 0; rank < host_count; ++rank) {
        told.sizes.emplace_back(host_count, 1).front() = bytes;
        host_of_rank.push_back(static_cast<int>(rank));
    }
    return count_pieces(told, traffic_between_hosts(told.sizes, host_of_rank));
}

TEST(CountPieces, HasAnUpperBoundWhereNoBufferIsKnown) {
    EXPECT_EQ(pieces(8, 65536, 0), 8U);
    EXPECT_EQ(pieces(8, 65537, 0), 9U);
    EXPECT_EQ(pieces(64, 65536, 0), 8U);
}

TEST(CountPieces, FitIntoTheReceiversBuffer) {
    EXPECT_EQ(pieces(8, 65536, 1 << 20), 8U) << "one that holds more than that";
    EXPECT_EQ(pieces(8, 65536, 65536), 14U) << "two pieces each from 7 others";
    EXPECT_EQ(pieces(3, 65536, 16384), 16U) << "from two";
}

TEST(CountPieces, AreNotSmallerThanAFrame) {
    EXPECT_EQ(pieces(8, 65536, 1024), 46U);
    EXPECT_EQ(pieces(2, 1, 1), 1U);
    EXPECT_EQ(pieces(2, 0, 0), 1U) << "of no bytes";
}

}  // namespace
}  // namespace headway::glue::test
