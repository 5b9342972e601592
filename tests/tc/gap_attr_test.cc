// SPDX-License-Identifier: Apache-2.0
// What gap_attr lets through to the kernel, byte by byte, and in which words
// it refuses the rest.  Built with the address and undefined-behaviour
// sanitisers; gap_decode_test.cc is about the other direction.
#include "gap_attr.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <set>
#include <string>

#include "attr_bytes.hpp"

namespace {

int encode(const gap_qdisc_conf& conf, void* buf, std::size_t cap)
{
    return gap_qdisc_encode(&conf, buf, cap);
}

int encode(const gap_class_conf& conf, void* buf, std::size_t cap)
{
    return gap_class_encode(&conf, buf, cap);
}

unsigned mistakes(const gap_qdisc_conf& conf)
{
    return gap_qdisc_mistakes(&conf);
}

unsigned mistakes(const gap_class_conf& conf)
{
    return gap_class_mistakes(&conf);
}

template <typename Conf>
Bytes encoded(const Conf& conf)
{
    Bytes got(GAP_ATTR_BUF_BYTES);
    const int len = encode(conf, got.data(), got.size());
    EXPECT_GE(len, 0);
    got.resize(len > 0 ? static_cast<std::size_t>(len) : 0);
    return got;
}

// Everything that can be sent.
gap_qdisc_conf full_qdisc()
{
    gap_qdisc_conf conf{};
    conf.has_rate = conf.has_default = conf.has_backend = conf.has_frame = true;
    conf.has_frame_max = conf.has_hybrid = conf.has_burst = conf.selftest = true;
    conf.rate_bytes_per_s = 0x0102030405ULL;
    conf.default_classid = 0x00010010;
    conf.backend = GAP_BACKEND_TIMER;
    conf.frame = GAP_FRAME_VOID;
    conf.frame_max_bytes = 60;
    conf.hybrid_ns = 123456;
    conf.burst_ns = 654321;
    return conf;
}

gap_class_conf full_class()
{
    gap_class_conf conf{};
    conf.has_rate = conf.has_linger = conf.has_fallback = conf.has_expires = true;
    conf.has_ordered = conf.has_group = true;
    conf.rate_bytes_per_s = GAP_RATE_UNLIMITED;
    conf.linger_ns = 10000000;
    conf.fallback_bytes_per_s = 1000;
    conf.expires_ns = 5000000000;
    conf.ordered_ns = 20000000;
    conf.group = 7;
    return conf;
}

// ---------------------------------------------------------------- encoding

TEST(GapEncode, WritesNothingForNothing)
{
    EXPECT_EQ(encode(gap_qdisc_conf{}, nullptr, 0), 0);
    EXPECT_EQ(encode(gap_class_conf{}, nullptr, 0), 0);
}

TEST(GapEncode, WritesTheKernelsBytesForAQdisc)
{
    Bytes want;
    append_u64(want, TCA_GAP_RATE64, 0x0102030405ULL);
    append_u32(want, TCA_GAP_DEFAULT, 0x00010010);
    append_u32(want, TCA_GAP_BACKEND, 2);
    append_u32(want, TCA_GAP_FRAME, 1);
    append_u32(want, TCA_GAP_FRAME_MAX, 60);
    append_u64(want, TCA_GAP_HYBRID_NS, 123456);
    append_u64(want, TCA_GAP_BURST_NS, 654321);
    append_flag(want, TCA_GAP_SELFTEST);
    EXPECT_EQ(encoded(full_qdisc()), want);
}

TEST(GapEncode, WritesTheKernelsBytesForAClass)
{
    Bytes want;
    append_u64(want, TCA_GAP_CLASS_RATE64, ~std::uint64_t{0});
    append_u64(want, TCA_GAP_CLASS_LINGER_NS, 10000000);
    append_u64(want, TCA_GAP_CLASS_FALLBACK64, 1000);
    append_u64(want, TCA_GAP_CLASS_EXPIRES_NS, 5000000000);
    append_u64(want, TCA_GAP_CLASS_ORDERED_NS, 20000000);
    append_u32(want, TCA_GAP_CLASS_GROUP, 7);
    EXPECT_EQ(encoded(full_class()), want);
}

TEST(GapEncode, AValueWithoutItsFlagIsNotSent)
{
    auto qdisc = full_qdisc();
    qdisc.has_rate = qdisc.has_default = qdisc.has_backend = qdisc.has_frame = false;
    qdisc.has_frame_max = qdisc.has_hybrid = qdisc.has_burst = qdisc.selftest = false;
    EXPECT_EQ(encode(qdisc, nullptr, 0), 0);
    auto cl = full_class();
    cl.has_rate = cl.has_linger = cl.has_fallback = cl.has_expires = cl.has_ordered = false;
    cl.has_group = false;
    EXPECT_EQ(encode(cl, nullptr, 0), 0);
}

template <typename Conf>
void too_little_room_writes_nothing(const Conf& conf)
{
    const std::size_t needed = encoded(conf).size();
    for (std::size_t cap = 0; cap < needed; ++cap) {
        Exact room(Bytes(cap, 0xaa));
        EXPECT_EQ(encode(conf, room.block.get(), cap), -ENOSPC);
        for (std::size_t i = 0; i < cap; ++i)
            EXPECT_EQ(room.block[i], 0xaa) << "cap " << cap << " byte " << i;
    }
    Exact room(Bytes(needed, 0xaa));
    EXPECT_EQ(encode(conf, room.block.get(), needed), static_cast<int>(needed));
}

TEST(GapEncode, TooLittleRoomWritesNothing)
{
    too_little_room_writes_nothing(full_qdisc());
    too_little_room_writes_nothing(full_class());
}

// ------------------------------------------------------------------ ranges

// Puts every value into one option: the good ones are sent, the bad ones are
// that option's mistake.
template <typename Conf, typename Flag, typename Value>
void expect_range(Flag flag, Value Conf::* value, unsigned mistake,
                  const std::set<std::uint64_t>& good, const std::set<std::uint64_t>& bad)
{
    std::uint8_t buf[GAP_ATTR_BUF_BYTES];
    Conf conf{};
    conf.*flag = true;
    for (const std::uint64_t number : good) {
        conf.*value = static_cast<Value>(number);
        EXPECT_EQ(mistakes(conf), 0u) << number;
        EXPECT_EQ(encode(conf, buf, sizeof(buf)), 4 + static_cast<int>(sizeof(Value))) << number;
    }
    for (const std::uint64_t number : bad) {
        conf.*value = static_cast<Value>(number);
        EXPECT_EQ(mistakes(conf), mistake) << number;
        EXPECT_EQ(encode(conf, buf, sizeof(buf)), -ERANGE) << number;
    }
}

TEST(GapRange, RateOfTheQdisc)
{
    // A link always has a speed: "unlimited" is for classes.
    expect_range(&gap_qdisc_conf::has_rate, &gap_qdisc_conf::rate_bytes_per_s,
                 GAP_MISTAKE_QDISC_RATE_RANGE, {1, GAP_RATE_MAX},
                 {0, GAP_RATE_MAX + 1, GAP_RATE_UNLIMITED});
}

TEST(GapRange, DefaultIsAClassOrNone)
{
    expect_range(&gap_qdisc_conf::has_default, &gap_qdisc_conf::default_classid,
                 GAP_MISTAKE_DEFAULT_NO_MINOR, {0, 0x10, 0x00010010, 0xfffeffff},
                 {0x00010000, 0xffff0000});
}

TEST(GapRange, BackEndAndFrame)
{
    expect_range(&gap_qdisc_conf::has_backend, &gap_qdisc_conf::backend, GAP_MISTAKE_BACKEND_RANGE,
                 {GAP_BACKEND_AUTO, GAP_BACKEND_GAP, GAP_BACKEND_TIMER}, {3, UINT32_MAX});
    expect_range(&gap_qdisc_conf::has_frame, &gap_qdisc_conf::frame, GAP_MISTAKE_FRAME_RANGE,
                 {GAP_FRAME_PAUSE, GAP_FRAME_VOID}, {2, UINT32_MAX});
}

TEST(GapRange, FrameMax)
{
    expect_range(&gap_qdisc_conf::has_frame_max, &gap_qdisc_conf::frame_max_bytes,
                 GAP_MISTAKE_FRAME_MAX_RANGE, {0, 60, 65535}, {1, 59, 65536, UINT32_MAX});
}

TEST(GapRange, TimesOfTheQdisc)
{
    expect_range(&gap_qdisc_conf::has_hybrid, &gap_qdisc_conf::hybrid_ns, GAP_MISTAKE_HYBRID_RANGE,
                 {0, 1, GAP_HYBRID_MAX_NS}, {GAP_HYBRID_MAX_NS + 1, UINT64_MAX});
    expect_range(&gap_qdisc_conf::has_burst, &gap_qdisc_conf::burst_ns, GAP_MISTAKE_BURST_RANGE,
                 {0, 1, GAP_BURST_MAX_NS}, {GAP_BURST_MAX_NS + 1, UINT64_MAX});
}

TEST(GapRange, RatesOfAClass)
{
    const std::set<std::uint64_t> good{1, GAP_RATE_MAX, GAP_RATE_UNLIMITED};
    const std::set<std::uint64_t> bad{0, GAP_RATE_MAX + 1, GAP_RATE_UNLIMITED - 1};
    expect_range(&gap_class_conf::has_rate, &gap_class_conf::rate_bytes_per_s,
                 GAP_MISTAKE_CLASS_RATE_RANGE, good, bad);
    expect_range(&gap_class_conf::has_fallback, &gap_class_conf::fallback_bytes_per_s,
                 GAP_MISTAKE_FALLBACK_RANGE, good, bad);
}

TEST(GapRange, Expires)
{
    expect_range(&gap_class_conf::has_expires, &gap_class_conf::expires_ns,
                 GAP_MISTAKE_EXPIRES_RANGE, {0, GAP_EXPIRES_MIN_NS, GAP_EXPIRES_MAX_NS},
                 {1, GAP_EXPIRES_MIN_NS - 1, GAP_EXPIRES_MAX_NS + 1, UINT64_MAX});
}

TEST(GapRange, Ordered)
{
    expect_range(&gap_class_conf::has_ordered, &gap_class_conf::ordered_ns,
                 GAP_MISTAKE_ORDERED_RANGE, {0, 1, GAP_LINGER_MAX_NS},
                 {GAP_LINGER_MAX_NS + 1, UINT64_MAX});
}

TEST(GapRange, Group)
{
    expect_range(&gap_class_conf::has_group, &gap_class_conf::group, GAP_MISTAKE_GROUP_RANGE,
                 {0, 1, GAP_GROUP_MAX}, {GAP_GROUP_MAX + 1, UINT32_MAX});
}

TEST(GapRange, LingerNeedsARate)
{
    gap_class_conf conf{};
    conf.has_linger = true;
    EXPECT_EQ(mistakes(conf), unsigned{GAP_MISTAKE_LINGER_WITHOUT_RATE});
    EXPECT_EQ(encode(conf, nullptr, 0), -EINVAL);

    conf.has_rate = true;
    conf.rate_bytes_per_s = 1000;
    for (const std::uint64_t good : {std::uint64_t{0}, std::uint64_t{GAP_LINGER_MAX_NS}}) {
        conf.linger_ns = good;
        EXPECT_EQ(mistakes(conf), 0u) << good;
    }
    conf.linger_ns = GAP_LINGER_MAX_NS + 1;
    EXPECT_EQ(mistakes(conf), unsigned{GAP_MISTAKE_LINGER_RANGE});
    EXPECT_EQ(encode(conf, nullptr, 0), -ERANGE);
}

TEST(GapRange, FallbackHasNoUseWithoutATime)
{
    auto conf = full_class();
    conf.expires_ns = 0;
    EXPECT_EQ(mistakes(conf), unsigned{GAP_MISTAKE_FALLBACK_NEVER});
    EXPECT_EQ(encode(conf, nullptr, 0), -EINVAL);
    conf.has_fallback = false;
    EXPECT_EQ(mistakes(conf), 0u);
}

// Each attribute of a dump that is none of an option's, alone.
TEST(GapRange, WhatOnlyTheKernelSendsIsRefused)
{
    for (std::uint16_t type = TCA_GAP_BACKEND_USED; type <= TCA_GAP_MAX; ++type) {
        Bytes dump;
        const bool wide = type >= TCA_GAP_TEST_EXPECTED_NS;
        append_attr(dump, type, "\1\0\0\0\0\0\0", wide ? 8 : 4);
        gap_qdisc_conf conf{};
        ASSERT_EQ(gap_qdisc_decode(&conf, dump.data(), dump.size()), 0) << type;
        EXPECT_EQ(mistakes(conf), unsigned{GAP_MISTAKE_DUMP_ONLY}) << type;
        EXPECT_EQ(encode(conf, nullptr, 0), -EINVAL) << type;
    }
    gap_qdisc_conf qdisc{};
    qdisc.has_link_rate = true;
    EXPECT_EQ(encode(qdisc, nullptr, 0), -EINVAL);

    for (bool gap_class_conf::* flag :
         {&gap_class_conf::has_next_rate, &gap_class_conf::has_left, &gap_class_conf::expired,
          &gap_class_conf::has_effective, &gap_class_conf::has_quantum,
          &gap_class_conf::has_children_rate}) {
        gap_class_conf cl{};
        cl.*flag = true;
        EXPECT_EQ(mistakes(cl), unsigned{GAP_MISTAKE_DUMP_ONLY});
        EXPECT_EQ(encode(cl, nullptr, 0), -EINVAL);
    }
}

TEST(GapRange, EveryMistakeIsReported)
{
    gap_class_conf conf{};
    conf.has_linger = conf.has_next_rate = true;
    conf.linger_ns = GAP_LINGER_MAX_NS + 1;
    conf.has_fallback = conf.has_expires = true;
    EXPECT_EQ(mistakes(conf),
              unsigned{GAP_MISTAKE_LINGER_RANGE} | unsigned{GAP_MISTAKE_LINGER_WITHOUT_RATE} |
                  unsigned{GAP_MISTAKE_FALLBACK_RANGE} | unsigned{GAP_MISTAKE_FALLBACK_NEVER} |
                  unsigned{GAP_MISTAKE_DUMP_ONLY});
    EXPECT_EQ(encode(conf, nullptr, 0), -ERANGE);

    auto qdisc = full_qdisc();
    qdisc.rate_bytes_per_s = 0;
    qdisc.default_classid = 0x10000;
    qdisc.backend = qdisc.frame = qdisc.frame_max_bytes = 7;
    qdisc.hybrid_ns = qdisc.burst_ns = UINT64_MAX;
    EXPECT_EQ(mistakes(qdisc), unsigned{GAP_MISTAKE_CLASS_RATE_RANGE} - 1) << "all below it";
}

// ------------------------------------------------------------------- words

TEST(GapText, EveryMistakeHasItsOwnSentence)
{
    const std::set<std::string> options{"rate",   "default", "backend",  "frame",  "frame-max", "hybrid",
                                        "burst",  "linger",  "fallback", "expires", "ordered",
                                        "group"};
    std::set<std::string> seen;
    for (unsigned bit = 1; bit <= GAP_MISTAKE_DUMP_ONLY; bit <<= 1) {
        const std::string text = gap_mistake_text(bit);
        EXPECT_NE(text, gap_mistake_text(0)) << bit;
        EXPECT_NE(text.back(), '.');
        EXPECT_TRUE(seen.insert(text).second) << text;
        const std::string about = text.substr(0, text.find(' '));
        EXPECT_EQ(options.count(about), bit != GAP_MISTAKE_DUMP_ONLY) << text;
    }
}

// The sentences restate the header's numbers; hold them together.
TEST(GapText, TheNumbersInTheSentences)
{
    EXPECT_EQ(GAP_RATE_MAX * 8, 8000000000000ULL);
    EXPECT_EQ(GAP_LINGER_MAX_NS, 10000000000ULL);
    EXPECT_EQ(GAP_GROUP_MAX, 7);
    EXPECT_EQ(GAP_FRAME_MIN_BYTES, 60);
    EXPECT_EQ(GAP_FRAME_MAX_BYTES, 65535);
    EXPECT_EQ(GAP_HYBRID_MAX_NS, 1000000000ULL);
    EXPECT_EQ(GAP_BURST_MAX_NS, 1000000000ULL);
    EXPECT_EQ(GAP_EXPIRES_MIN_NS, 1000000ULL);
    EXPECT_EQ(GAP_EXPIRES_MAX_NS, 86400ULL * 1000000000);
}

TEST(GapText, TellsTheLowestOfASet)
{
    EXPECT_STREQ(gap_mistake_text(GAP_MISTAKE_LINGER_RANGE | GAP_MISTAKE_DUMP_ONLY),
                 gap_mistake_text(GAP_MISTAKE_LINGER_RANGE));
}

void expect_names(const char* (*name)(std::uint32_t), std::uint32_t count)
{
    std::set<std::string> seen{"unknown"};
    for (std::uint32_t value = 0; value < count; ++value)
        EXPECT_TRUE(seen.insert(name(value)).second) << name(value);
    EXPECT_STREQ(name(count), "unknown");
    EXPECT_STREQ(name(UINT32_MAX), "unknown");
}

TEST(GapText, EveryValueHasItsOwnName)
{
    expect_names(gap_backend_name, GAP_BACKEND_MAX + 1);
    expect_names(gap_frame_name, GAP_FRAME_KIND_MAX + 1);
    expect_names(gap_verdict_name, __GAP_VERDICT_MAX);
    EXPECT_STREQ(gap_backend_name(GAP_BACKEND_TIMER), "timer");
    EXPECT_STREQ(gap_frame_name(GAP_FRAME_VOID), "void");
    EXPECT_STREQ(gap_verdict_name(GAP_VERDICT_NO_SPEED), "no_speed");
}

TEST(GapText, EveryVerdictHasItsOwnReason)
{
    std::set<std::string> seen;
    for (std::uint32_t verdict = 0; verdict <= __GAP_VERDICT_MAX; ++verdict)
        EXPECT_TRUE(seen.insert(gap_verdict_text(verdict)).second) << verdict;
    EXPECT_EQ(std::string(gap_verdict_text(UINT32_MAX)), gap_verdict_text(__GAP_VERDICT_MAX));
}

}  // namespace
