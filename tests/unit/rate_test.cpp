// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <gtest/gtest.h>

#include "base/units.hpp"
#include "base/wire.hpp"

namespace headway {
namespace {

using namespace std::chrono_literals;

// max(len, 60) + 24 byte-times: the shortest slot is 84, a full frame 1538.
TEST(Wire, CountsPaddingAndOverhead) {
    static_assert(wire_bytes(1514) == 1538);
    static_assert(wire_bytes(60) == 84);
    static_assert(wire_bytes(1) == 84);
    static_assert(wire_bytes(61) == 85);
}

// An amount from a file may be any: the time that it takes only grows with it.
TEST(Wire, TakesAnyAmountForAMessage) {
    static_assert(tcp_wire_bytes(1448) == 1538);
    static_assert(tcp_wire_bytes(1449) == 1538 + 91);
    static_assert(tcp_wire_bytes(UINT64_MAX) == UINT64_MAX);
    std::uint64_t before = 0;
    for (std::uint64_t bytes = 1; bytes < UINT64_MAX / 2; bytes += bytes / 3 + 1) {
        ASSERT_GE(tcp_wire_bytes(bytes), before) << bytes;
        before = tcp_wire_bytes(bytes);
    }
    EXPECT_EQ(tcp_wire_bytes_of(2896), 2 * 1538);
    EXPECT_EQ(tcp_wire_bytes_of(1e300), tcp_wire_bytes_of(18446744073709551615.0));
}

TEST(Rate, ReadsTcUnits) {
    EXPECT_EQ(parse_rate("25mbit")->value, 25'000'000U);
    EXPECT_EQ(parse_rate("2.5gbit")->value, 2'500'000'000U);
    EXPECT_EQ(parse_rate("1Tbit")->value, 1'000'000'000'000U);
    EXPECT_EQ(parse_rate("10 kbit")->value, 10'000U);
    EXPECT_EQ(parse_rate("1.25 Gbit/s")->value, 1'250'000'000U) << "as it is printed";
    EXPECT_EQ(parse_rate("8bit")->value, 8U);
    EXPECT_EQ(parse_rate("1.6tbit"), rate_max);
    EXPECT_EQ(parse_rate("1.111234567891tbit")->value, 1'111'234'567'891U);
    // Floating point would make 1 089 999 999 of it (1.09 * 1e9).
    EXPECT_EQ(parse_rate("1.09gbit")->value, 1'090'000'000U);
}

TEST(Rate, RefusesWhatIsNoRate) {
    for (const char* text : {"", "mbit", "-1mbit", "+1mbit", "1.mbit", ".5mbit", "1mbits", "1 m bit",
                             "1e6bit", "0x10bit", "7bit", "0", "1.7tbit", "9tbit", "0.5bit",
                             "1.0000005mbit", "99999999999999999999bit", "18446744073709551615tbit",
                             "1mbit ", " 1mbit", "1000", "1Gbps", "1G", "1,5mbit", "inf", "nan"}) {
        const auto rate = parse_rate(text);
        ASSERT_FALSE(rate) << text;
        EXPECT_NE(rate.error().message.find(text), std::string::npos) << text;
    }
}

TEST(Rate, PrintsWhatItReadsBack) {
    for (const std::uint64_t bits :
         {8ULL, 1'000ULL, 1'001ULL, 6'187'496ULL, 25'000'000ULL, 2'500'000'000ULL,
          1'000'000'000'000ULL, 1'600'000'000'000ULL}) {
        EXPECT_EQ(parse_rate(rate_to_tc({bits}))->value, bits);
    }
    EXPECT_EQ(rate_to_tc({25'000'000}), "25mbit");
    EXPECT_EQ(rate_to_tc({2'500'000'000}), "2500mbit");
    EXPECT_EQ(rate_to_tc({6'187'496}), "6187496bit");
}

// Cut off, never rounded up: a limit is not told too high.
TEST(Rate, PrintsForPeople) {
    EXPECT_EQ(rate_to_text({25'000'000}), "25 Mbit/s");
    EXPECT_EQ(rate_to_text({6'187'999}), "6.187 Mbit/s");
    EXPECT_EQ(rate_to_text({1'050'000'000}), "1.05 Gbit/s");
    EXPECT_EQ(rate_to_text({999}), "999 bit/s");
    EXPECT_EQ(rate_to_text({100'000}), "100 kbit/s");
    EXPECT_EQ(rate_to_text({0}), "0 bit/s");
}

TEST(Units, AreToldInLowerCase) {
    EXPECT_EQ(parse_rate("1MB").error().message,
              "\"1MB\" has an unknown unit \"MB\" (known: bit, kbit, mbit, gbit, tbit)");
    EXPECT_EQ(parse_byte_size("1").error().message,
              "\"1\" has no unit (one of b, kb, kib, mb, mib, gb, gib, tb, tib, k, m, g, t)");
    EXPECT_EQ(parse_duration("1").error().message, "\"1\" has no unit (one of s, ms, us, ns, µs)");
}

TEST(Units, ASpellingIsReadThatIsNotPrinted) {
    EXPECT_EQ(*parse_byte_size("64K"), 65'536U);
    EXPECT_EQ(byte_size_to_text(1ULL << 20), "1MiB");
    EXPECT_EQ(*parse_duration("50µs"), 50us);
    EXPECT_EQ(duration_to_text(50us), "50us");
}

TEST(ByteSize, ReadsAndPrints) {
    EXPECT_EQ(*parse_byte_size("64kB"), 64'000U);
    EXPECT_EQ(*parse_byte_size("1.5mib"), 1'572'864U);
    EXPECT_EQ(byte_size_to_text(512 * 1024), "512KiB");
    EXPECT_EQ(byte_size_to_text(64'000), "64kB");
    EXPECT_EQ(byte_size_to_text(1), "1B");
    EXPECT_EQ(byte_size_to_text(0), "0B");
}

TEST(Duration, ReadsAndPrints) {
    EXPECT_EQ(*parse_duration("1ms"), 1ms);
    EXPECT_EQ(*parse_duration("0.5ms"), 500us);
    EXPECT_EQ(*parse_duration("2s"), 2s);
    EXPECT_EQ(*parse_duration("0s"), 0s);
    EXPECT_EQ(*parse_duration("1000s"), 1000s);
    EXPECT_EQ(duration_to_text(10ms), "10ms");
    EXPECT_EQ(duration_to_text(1500us), "1500us");
    EXPECT_EQ(duration_to_text(0ns), "0s");
    for (const char* text : {"", "1", "ms", "1min", "-1ms", "1001s", "0.1ns", "1.5.0ms"}) {
        EXPECT_FALSE(parse_duration(text)) << text;
    }
}

}  // namespace
}  // namespace headway
