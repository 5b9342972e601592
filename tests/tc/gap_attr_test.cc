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

std::string mistake(const gap_qdisc_conf& conf)
{
    const char* text = gap_qdisc_mistake(&conf);
    return text ? text : "";
}

std::string mistake(const gap_class_conf& conf)
{
    const char* text = gap_class_mistake(&conf);
    return text ? text : "";
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
    conf.has_rate = conf.has_default = conf.has_backend = conf.has_bypass = conf.has_limit = true;
    conf.rate_bytes_per_s = 0x0102030405ULL;
    conf.default_classid = 0x00010010;
    conf.backend = GAP_BACKEND_GAP;
    conf.bypass = 1;
    conf.limit = 77;
    return conf;
}

gap_class_conf full_class()
{
    gap_class_conf conf{};
    conf.has_rate = conf.has_fallback = conf.has_expires = conf.has_burst = true;
    conf.burst_bytes = 67000;
    conf.rate_bytes_per_s = GAP_RATE_UNLIMITED;
    conf.fallback_bytes_per_s = 1000;
    conf.expires_ns = 5000000000;
    conf.phase_count = GAP_PHASE_MAX;
    for (std::uint32_t i = 0; i < GAP_PHASE_MAX; ++i) {
        conf.phases[i].phase = i + 1;
        conf.phases[i].rate = i;  // the first is unset
    }
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
    append_u32(want, TCA_GAP_BACKEND, 1);
    append_u32(want, TCA_GAP_BYPASS, 1);
    append_u32(want, TCA_GAP_LIMIT, 77);
    EXPECT_EQ(encoded(full_qdisc()), want);
}

TEST(GapEncode, WritesTheKernelsBytesForAClass)
{
    const gap_class_conf conf = full_class();
    Bytes want;
    append_u64(want, TCA_GAP_CLASS_RATE64, ~std::uint64_t{0});
    append_attr(want, TCA_GAP_CLASS_PHASES, conf.phases, sizeof(conf.phases));
    append_u64(want, TCA_GAP_CLASS_FALLBACK64, 1000);
    append_u64(want, TCA_GAP_CLASS_EXPIRES_NS, 5000000000);
    append_u32(want, TCA_GAP_CLASS_BURST, 67000);
    EXPECT_EQ(encoded(conf), want);
}

TEST(GapEncode, AValueWithoutItsFlagIsNotSent)
{
    auto qdisc = full_qdisc();
    qdisc.has_rate = qdisc.has_default = qdisc.has_backend = qdisc.has_bypass = qdisc.has_limit = false;
    EXPECT_EQ(encode(qdisc, nullptr, 0), 0);
    auto cl = full_class();
    cl.has_rate = cl.has_fallback = cl.has_expires = cl.has_burst = false;
    cl.phase_count = 0;
    EXPECT_EQ(encode(cl, nullptr, 0), 0);
}

template <typename Conf>
void too_little_room_writes_nothing(const Conf& conf)
{
    const std::size_t needed = encoded(conf).size();
    for (std::size_t cap = 0; cap < needed; cap += cap < 64 ? 1 : 97) {
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
// a mistake about that option.
template <typename Conf, typename Flag, typename Value>
void expect_range(Flag flag, Value Conf::* value, const std::string& option,
                  const std::set<std::uint64_t>& good, const std::set<std::uint64_t>& bad)
{
    std::uint8_t buf[GAP_ATTR_BUF_BYTES];
    Conf conf{};
    conf.*flag = true;
    for (const std::uint64_t number : good) {
        conf.*value = static_cast<Value>(number);
        EXPECT_EQ(mistake(conf), "") << number;
        EXPECT_EQ(encode(conf, buf, sizeof(buf)), 4 + static_cast<int>(sizeof(Value))) << number;
    }
    for (const std::uint64_t number : bad) {
        conf.*value = static_cast<Value>(number);
        EXPECT_TRUE(mistake(conf).starts_with(option + ": ")) << number;
        EXPECT_EQ(encode(conf, buf, sizeof(buf)), -EINVAL) << number;
    }
}

TEST(GapRange, OptionsOfTheQdisc)
{
    // A link always has a speed: "unlimited" is for classes.
    expect_range(&gap_qdisc_conf::has_rate, &gap_qdisc_conf::rate_bytes_per_s, "rate",
                 {1, GAP_RATE_MAX}, {0, GAP_RATE_MAX + 1, GAP_RATE_UNLIMITED});
    expect_range(&gap_qdisc_conf::has_default, &gap_qdisc_conf::default_classid, "default",
                 {0, 0x10, 0x00010010, 0xfffeffff}, {0x00010000, 0xffff0000});
    expect_range(&gap_qdisc_conf::has_backend, &gap_qdisc_conf::backend, "backend",
                 {GAP_BACKEND_TIMER, GAP_BACKEND_GAP}, {2, UINT32_MAX});
    expect_range(&gap_qdisc_conf::has_bypass, &gap_qdisc_conf::bypass, "bypass", {0, 1}, {2, UINT32_MAX});
    expect_range(&gap_qdisc_conf::has_limit, &gap_qdisc_conf::limit, "limit", {2, UINT32_MAX}, {0, 1});
}

TEST(GapRange, OptionsOfAClass)
{
    const std::set<std::uint64_t> good{1, GAP_RATE_MAX, GAP_RATE_UNLIMITED};
    const std::set<std::uint64_t> bad{0, GAP_RATE_MAX + 1, GAP_RATE_UNLIMITED - 1};
    expect_range(&gap_class_conf::has_rate, &gap_class_conf::rate_bytes_per_s, "rate", good, bad);
    expect_range(&gap_class_conf::has_fallback, &gap_class_conf::fallback_bytes_per_s, "fallback",
                 good, bad);
    expect_range(&gap_class_conf::has_expires, &gap_class_conf::expires_ns, "expires",
                 {0, GAP_EXPIRES_MIN_NS, GAP_EXPIRES_MAX_NS},
                 {1, GAP_EXPIRES_MIN_NS - 1, GAP_EXPIRES_MAX_NS + 1, UINT64_MAX});
    expect_range(&gap_class_conf::has_burst, &gap_class_conf::burst_bytes, "burst", {0, 1, GAP_BURST_MAX_BYTES},
                 {GAP_BURST_MAX_BYTES + 1, UINT32_MAX});
}

TEST(GapRange, Phases)
{
    gap_class_conf conf{};
    conf.phase_count = 1;
    for (const std::uint64_t rate : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{GAP_RATE_MAX},
                                     std::uint64_t{GAP_RATE_UNLIMITED}}) {
        for (const std::uint32_t phase : {1, GAP_PHASE_MAX}) {
            conf.phases[0] = {rate, phase, 0};
            EXPECT_EQ(mistake(conf), "") << rate << ' ' << phase;
        }
    }
    conf.phases[0] = {1, 0, 0};
    EXPECT_TRUE(mistake(conf).starts_with("phase: "));
    conf.phases[0] = {1, GAP_PHASE_MAX + 1, 0};
    EXPECT_TRUE(mistake(conf).starts_with("phase: "));
    conf.phases[0] = {GAP_RATE_MAX + 1, 1, 0};
    EXPECT_TRUE(mistake(conf).starts_with("phase: "));
    conf = {};
    conf.phase_count = GAP_PHASE_MAX + 1;
    EXPECT_TRUE(mistake(conf).starts_with("phase: "));
    EXPECT_EQ(encode(conf, nullptr, 0), -EINVAL);
}

TEST(GapRange, FallbackHasNoUseWithoutATime)
{
    auto conf = full_class();
    conf.expires_ns = 0;
    EXPECT_TRUE(mistake(conf).starts_with("fallback: "));
    EXPECT_EQ(encode(conf, nullptr, 0), -EINVAL);
    conf.has_fallback = false;
    EXPECT_EQ(mistake(conf), "");
}

TEST(GapRange, WhatOnlyTheKernelSendsIsRefused)
{
    for (bool gap_qdisc_conf::* flag :
         {&gap_qdisc_conf::has_link_rate, &gap_qdisc_conf::has_backend_used,
          &gap_qdisc_conf::has_reason}) {
        gap_qdisc_conf qdisc{};
        qdisc.*flag = true;
        EXPECT_EQ(encode(qdisc, nullptr, 0), -EINVAL);
    }
    for (bool gap_class_conf::* flag : {&gap_class_conf::has_left, &gap_class_conf::expired}) {
        gap_class_conf cl{};
        cl.*flag = true;
        EXPECT_EQ(encode(cl, nullptr, 0), -EINVAL);
    }
}

// ------------------------------------------------------------------- words

// The sentences restate the header's numbers; hold them together.
TEST(GapText, TheNumbersInTheSentences)
{
    EXPECT_EQ(GAP_RATE_MAX * 8, 1600000000000ULL);
    EXPECT_EQ(GAP_PHASE_MAX, 160);
    EXPECT_EQ(GAP_EXPIRES_MIN_NS, 1000000ULL);
    EXPECT_EQ(GAP_EXPIRES_MAX_NS, 86400ULL * 1000000000);
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
    expect_names(gap_bypass_name, 2);
    expect_names(gap_reason_name, __GAP_REASON_MAX);
    expect_names(gap_reason_text, __GAP_REASON_MAX);
    EXPECT_STREQ(gap_backend_name(GAP_BACKEND_TIMER), "timer");
    EXPECT_STREQ(gap_reason_name(GAP_REASON_NO_SPEED), "no-speed");
}

}  // namespace
