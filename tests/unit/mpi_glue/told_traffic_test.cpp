// SPDX-License-Identifier: Apache-2.0
#include "told_traffic.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace headway::glue::test {
namespace {

/// Each of so many hosts sends `bytes` to the first one, and a byte to each other.
std::size_t pieces(std::size_t host_count, std::uint64_t bytes, std::uint64_t port_buffer_bytes) {
    const int ranks = static_cast<int>(host_count);
    SizeTable sizes(ranks);
    std::vector<int> host_of_rank;
    for (int rank = 0; rank < ranks; ++rank) {
        std::fill_n(sizes.row(rank), ranks, 1);
        sizes.row(rank)[0] = bytes;
        sizes.row(rank)[ranks] = port_buffer_bytes;
        host_of_rank.push_back(rank);
    }
    return count_pieces(sizes, host_of_rank);
}

TEST(CountPieces, HasAnUpperBoundWhereNoBufferIsKnown) {
    EXPECT_EQ(pieces(8, 65536, 0), 8U);
    EXPECT_EQ(pieces(8, 65537, 0), 9U);
    EXPECT_EQ(pieces(32, 65536, 0), 8U);
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
