// SPDX-License-Identifier: Apache-2.0
// What gap_attr reads from the kernel.  Inputs are copied to heap blocks of
// their exact size so that a read of one byte too many is seen.
#include "gap_attr.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <random>

#include "attr_bytes.hpp"

namespace {

int decode(const Bytes& bytes, gap_qdisc_conf& conf)
{
    const Exact exact(bytes);
    return gap_qdisc_decode(&conf, exact.block.get(), exact.size);
}

int decode(const Bytes& bytes, gap_class_conf& conf)
{
    const Exact exact(bytes);
    return gap_class_decode(&conf, exact.block.get(), exact.size);
}

Bytes qdisc_dump()
{
    Bytes dump;
    append_flag(dump, TCA_GAP_PAD);
    append_u64(dump, TCA_GAP_RATE64, 125000000);
    append_attr(dump, TCA_GAP_MAX + 1, "later", 6);
    append_u32(dump, TCA_GAP_DEFAULT, 0x10010);
    append_flag(dump, 0x3fff);
    append_u64(dump, TCA_GAP_LINK_RATE64, 125000001);
    append_u32(dump, TCA_GAP_BACKEND, GAP_BACKEND_GAP);
    append_u32(dump, TCA_GAP_BYPASS, 1);
    append_u32(dump, TCA_GAP_LIMIT, 77);
    append_u32(dump, TCA_GAP_BACKEND_USED, GAP_BACKEND_TIMER);
    append_u32(dump, TCA_GAP_REASON, GAP_REASON_LOST);
    return dump;
}

constexpr tc_gap_phase_rate two_phases[] = {{1000, 3, 0}, {GAP_RATE_UNLIMITED, 160, 0}};

Bytes class_dump()
{
    Bytes dump;
    append_flag(dump, TCA_GAP_CLASS_PAD);
    append_u64(dump, TCA_GAP_CLASS_RATE64, 39062500);
    append_attr(dump, TCA_GAP_CLASS_PHASES, two_phases, sizeof(two_phases));
    append_u32(dump, TCA_GAP_CLASS_MAX + 1, 2);
    append_u64(dump, TCA_GAP_CLASS_FALLBACK64, 21);
    append_u64(dump, TCA_GAP_CLASS_EXPIRES_NS, 22);
    append_u64(dump, TCA_GAP_CLASS_LEFT_NS, 23);
    append_flag(dump, TCA_GAP_CLASS_EXPIRED);
    return dump;
}

TEST(GapDecode, EmptyIsNothing)
{
    gap_qdisc_conf conf;
    std::memset(&conf, 0, sizeof(conf));
    conf.has_rate = true;
    ASSERT_EQ(gap_qdisc_decode(&conf, nullptr, 0), 0);
    EXPECT_FALSE(conf.has_rate || conf.has_reason);
    gap_class_conf cl{};
    cl.expired = true;
    ASSERT_EQ(gap_class_decode(&cl, nullptr, 0), 0);
    EXPECT_FALSE(cl.expired);
}

TEST(GapDecode, AQdiscWithPadAndUnknownAttributes)
{
    gap_qdisc_conf conf{};
    ASSERT_EQ(decode(qdisc_dump(), conf), 0);
    EXPECT_TRUE(conf.has_rate && conf.has_default && conf.has_link_rate && conf.has_backend &&
                conf.has_bypass && conf.has_limit && conf.has_backend_used && conf.has_reason);
    EXPECT_EQ(conf.rate_bytes_per_s, 125000000u);
    EXPECT_EQ(conf.default_classid, 0x10010u);
    EXPECT_EQ(conf.link_rate_bytes_per_s, 125000001u);
    EXPECT_EQ(conf.backend, unsigned{GAP_BACKEND_GAP});
    EXPECT_EQ(conf.bypass, 1u);
    EXPECT_EQ(conf.limit, 77u);
    EXPECT_EQ(conf.backend_used, unsigned{GAP_BACKEND_TIMER});
    EXPECT_EQ(conf.reason, unsigned{GAP_REASON_LOST});
}

TEST(GapDecode, AClass)
{
    gap_class_conf conf{};
    ASSERT_EQ(decode(class_dump(), conf), 0);
    EXPECT_TRUE(conf.has_rate && conf.has_fallback && conf.has_expires && conf.has_left &&
                conf.expired);
    EXPECT_EQ(conf.rate_bytes_per_s, 39062500u);
    ASSERT_EQ(conf.phase_count, 2u);
    EXPECT_EQ(std::memcmp(conf.phases, two_phases, sizeof(two_phases)), 0);
    EXPECT_EQ(conf.fallback_bytes_per_s, 21u);
    EXPECT_EQ(conf.expires_ns, 22u);
    EXPECT_EQ(conf.left_ns, 23u);
}

TEST(GapDecode, FlagBitsOfTheTypeAreIgnored)
{
    Bytes dump;
    append_u64(dump, 0x8000 | TCA_GAP_RATE64, 7);
    append_u32(dump, 0x4000 | TCA_GAP_DEFAULT, 9);
    gap_qdisc_conf conf{};
    ASSERT_EQ(decode(dump, conf), 0);
    EXPECT_EQ(conf.rate_bytes_per_s, 7u);
    EXPECT_EQ(conf.default_classid, 9u);
}

TEST(GapDecode, OfTwoTheLastCounts)
{
    Bytes dump;
    append_u64(dump, TCA_GAP_RATE64, 1);
    append_u64(dump, TCA_GAP_RATE64, 2);
    gap_qdisc_conf conf{};
    ASSERT_EQ(decode(dump, conf), 0);
    EXPECT_EQ(conf.rate_bytes_per_s, 2u);
}

// Each attribute of a dump again, alone and in every other size.
template <typename Conf>
void wrong_sizes_are_refused(const std::map<std::uint16_t, std::uint16_t>& sizes)
{
    for (const auto& [type, right] : sizes) {
        for (std::uint16_t size = 0; size <= 16; ++size) {
            Bytes dump;
            append_attr(dump, type, "0123456789abcdef", size);
            Conf conf{};
            EXPECT_EQ(decode(dump, conf), size == right ? 0 : -EBADMSG) << type << ' ' << size;
        }
    }
}

TEST(GapDecode, WrongSizesAreRefused)
{
    wrong_sizes_are_refused<gap_qdisc_conf>({
        {TCA_GAP_RATE64, 8}, {TCA_GAP_DEFAULT, 4}, {TCA_GAP_LINK_RATE64, 8}, {TCA_GAP_BACKEND, 4},
        {TCA_GAP_BYPASS, 4}, {TCA_GAP_LIMIT, 4}, {TCA_GAP_BACKEND_USED, 4}, {TCA_GAP_REASON, 4},
    });
    wrong_sizes_are_refused<gap_class_conf>({
        {TCA_GAP_CLASS_RATE64, 8}, {TCA_GAP_CLASS_FALLBACK64, 8}, {TCA_GAP_CLASS_EXPIRES_NS, 8},
        {TCA_GAP_CLASS_LEFT_NS, 8}, {TCA_GAP_CLASS_EXPIRED, 0},
    });
}

TEST(GapDecode, PhasesAreWholeAndFew)
{
    const Bytes zeros((GAP_PHASE_MAX + 1) * sizeof(tc_gap_phase_rate), 0);
    for (std::size_t size = 0; size <= zeros.size(); ++size) {
        Bytes dump;
        append_attr(dump, TCA_GAP_CLASS_PHASES, zeros.data(), static_cast<std::uint16_t>(size));
        gap_class_conf conf{};
        const bool good = size % sizeof(tc_gap_phase_rate) == 0 && size < zeros.size();
        EXPECT_EQ(decode(dump, conf), good ? 0 : -EBADMSG) << size;
        EXPECT_EQ(conf.phase_count, good ? size / sizeof(tc_gap_phase_rate) : 0) << size;
    }
}

TEST(GapDecode, AnErrorLeavesTheConfAlone)
{
    Bytes dump;
    append_u64(dump, TCA_GAP_RATE64, 5);
    append_attr(dump, TCA_GAP_DEFAULT, "12", 2);
    gap_qdisc_conf conf{};
    conf.has_rate = true;
    conf.rate_bytes_per_s = 42;
    ASSERT_EQ(decode(dump, conf), -EBADMSG);
    EXPECT_TRUE(conf.has_rate);
    EXPECT_EQ(conf.rate_bytes_per_s, 42u);
}

TEST(GapDecode, ALengthShorterThanItsHeaderIsRefused)
{
    for (const std::uint8_t len : {0, 1, 2, 3}) {
        gap_qdisc_conf conf{};
        EXPECT_EQ(decode(Bytes{len, 0, TCA_GAP_PAD, 0, 0, 0, 0, 0}, conf), -EBADMSG) << int{len};
    }
}

TEST(GapDecode, TheLastAttributeNeedsNoPadding)
{
    Bytes dump;
    append_u32(dump, TCA_GAP_DEFAULT, 3);
    dump.insert(dump.end(), {5, 0, TCA_GAP_MAX + 1, 0, 0xff});
    gap_qdisc_conf conf{};
    ASSERT_EQ(decode(dump, conf), 0);
    EXPECT_EQ(conf.default_classid, 3u);
}

// Every prefix either ends between two attributes or is refused.
template <typename Conf>
void every_truncation(const Bytes& full)
{
    std::size_t end = 0;
    for (std::size_t len = 0; len <= full.size(); ++len) {
        const Bytes cut(full.begin(), full.begin() + static_cast<std::ptrdiff_t>(len));
        Conf conf{};
        // the next attribute's length, padded, and that the padding may lack
        const std::size_t next = end < full.size() ? full[end] : 0;
        const bool whole = len == end || (next && len >= end + next);
        EXPECT_EQ(decode(cut, conf), whole ? 0 : -EBADMSG) << "length " << len;
        if (next && len == end + ((next + 3) & ~std::size_t{3}))
            end = len;
    }
    EXPECT_EQ(end, full.size());
}

TEST(GapDecode, EveryTruncation)
{
    every_truncation<gap_qdisc_conf>(qdisc_dump());
    every_truncation<gap_class_conf>(class_dump());
}

// Random bytes, half of them with plausible headers so that the walk goes deep.
TEST(GapDecode, GarbageIsReadWithinItsBounds)
{
    std::mt19937 random(20260101);
    const auto below = [&random](unsigned n) { return random() % n; };
    int accepted = 0;
    int refused = 0;
    for (int round = 0; round < 200000; ++round) {
        Bytes bytes(below(48));
        for (auto& byte : bytes)
            byte = static_cast<std::uint8_t>(random());
        if (round % 2 == 0) {
            for (std::size_t at = 0; at + 4 <= bytes.size();) {
                const unsigned len = 4 + (below(4) ? 4 * (1 + below(2)) : below(20));
                bytes[at] = static_cast<std::uint8_t>(len);
                bytes[at + 1] = 0;
                bytes[at + 2] = static_cast<std::uint8_t>(below(TCA_GAP_MAX + 3));
                bytes[at + 3] &= 0xc0;
                at += (len + 3) & ~3u;
            }
        }
        const Exact exact(bytes);
        gap_qdisc_conf qdisc{};
        gap_class_conf cl{};
        const int q = gap_qdisc_decode(&qdisc, exact.block.get(), exact.size);
        const int c = gap_class_decode(&cl, exact.block.get(), exact.size);
        ASSERT_TRUE(q == 0 || q == -EBADMSG) << q;
        ASSERT_TRUE(c == 0 || c == -EBADMSG) << c;
        (q == 0 ? accepted : refused)++;
        (c == 0 ? accepted : refused)++;
        tc_gap_xstats xstats{};
        ASSERT_EQ(gap_xstats_decode(&xstats, exact.block.get(), exact.size),
                  exact.size < 4 ? -EBADMSG : 0);
    }
    // The generator reaches both ends often enough to mean something.
    EXPECT_GT(accepted, 10000);
    EXPECT_GT(refused, 10000);
}

TEST(GapDecode, WhatIsSentIsRead)
{
    std::uint8_t buf[GAP_ATTR_BUF_BYTES];
    gap_class_conf sent{};
    sent.has_rate = sent.has_fallback = sent.has_expires = sent.has_burst = true;
    sent.burst_bytes = GAP_BURST_MAX_BYTES;
    sent.rate_bytes_per_s = 39062500;
    sent.fallback_bytes_per_s = GAP_RATE_UNLIMITED;
    sent.expires_ns = GAP_EXPIRES_MAX_NS;
    sent.phase_count = 2;
    std::memcpy(sent.phases, two_phases, sizeof(two_phases));
    gap_class_conf got{};
    const int len = gap_class_encode(&sent, buf, sizeof(buf));
    ASSERT_GT(len, 0);
    ASSERT_EQ(gap_class_decode(&got, buf, static_cast<std::size_t>(len)), 0);
    std::uint8_t again[GAP_ATTR_BUF_BYTES];
    ASSERT_EQ(gap_class_encode(&got, again, sizeof(again)), len);
    EXPECT_EQ(std::memcmp(again, buf, static_cast<std::size_t>(len)), 0);
}

// -------------------------------------------------------------- statistics

Bytes xstats_bytes(std::size_t size)
{
    tc_gap_xstats sent{};
    sent.type = TC_GAP_XSTATS_QDISC;
    sent.qdisc.stamp_ns = 0x1111111111111111;
    sent.qdisc.wire_bytes = 0x2222222222222222;
    sent.qdisc.expired = 0x7777777777777777;
    Bytes bytes(size, 0xee);
    const auto* from = reinterpret_cast<const std::uint8_t*>(&sent);
    std::copy_n(from, std::min(size, sizeof(sent)), bytes.begin());
    return bytes;
}

TEST(GapXstatsDecode, KnownSize)
{
    tc_gap_xstats got{};
    const Exact exact(xstats_bytes(sizeof(got)));
    ASSERT_EQ(gap_xstats_decode(&got, exact.block.get(), exact.size), 0);
    EXPECT_EQ(got.type, unsigned{TC_GAP_XSTATS_QDISC});
    EXPECT_EQ(got.qdisc.stamp_ns, 0x1111111111111111u);
    EXPECT_EQ(got.qdisc.expired, 0x7777777777777777u);
}

TEST(GapXstatsDecode, LongerIsCut)
{
    tc_gap_xstats got{};
    const Exact exact(xstats_bytes(sizeof(got) + 24));
    ASSERT_EQ(gap_xstats_decode(&got, exact.block.get(), exact.size), 0);
    EXPECT_EQ(got.qdisc.expired, 0x7777777777777777u);
}

TEST(GapXstatsDecode, ShorterIsZeroAtTheEnd)
{
    tc_gap_xstats got;
    std::memset(&got, 0xff, sizeof(got));
    const Exact exact(xstats_bytes(8 + 16));
    ASSERT_EQ(gap_xstats_decode(&got, exact.block.get(), exact.size), 0);
    EXPECT_EQ(got.qdisc.stamp_ns, 0x1111111111111111u);
    EXPECT_EQ(got.qdisc.wire_bytes, 0x2222222222222222u);
    EXPECT_EQ(got.qdisc.gap_wire_bytes, 0u);
    EXPECT_EQ(got.qdisc.device_completed_bytes, 0u);
}

TEST(GapXstatsDecode, WithoutATypeIsRefused)
{
    for (std::size_t size = 0; size < 4; ++size) {
        tc_gap_xstats got;
        std::memset(&got, 0xff, sizeof(got));
        const Exact exact(xstats_bytes(size));
        EXPECT_EQ(gap_xstats_decode(&got, exact.block.get(), exact.size), -EBADMSG);
        EXPECT_EQ(got.type, 0xffffffffu);
    }
}

}  // namespace
