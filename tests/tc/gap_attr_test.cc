// SPDX-License-Identifier: Apache-2.0
// Encoder and decoder of the gap qdisc's netlink attributes, byte by byte.
// Built with the address and undefined-behaviour sanitisers; decoder inputs
// are copied to heap blocks of their exact size so that a read of one byte too
// many is seen.
#include "gap_attr.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace {

using Bytes = std::vector<std::uint8_t>;

// An attribute as the kernel defines it: length without padding, type, payload,
// zeros up to a multiple of four. Written independently of the code under test.
void append_attr(Bytes& out, std::uint16_t type, const void* payload, std::uint16_t payload_len)
{
    const std::uint16_t len = payload_len + 4;
    const auto* l = reinterpret_cast<const std::uint8_t*>(&len);
    const auto* t = reinterpret_cast<const std::uint8_t*>(&type);
    const auto* p = static_cast<const std::uint8_t*>(payload);
    out.insert(out.end(), l, l + 2);
    out.insert(out.end(), t, t + 2);
    out.insert(out.end(), p, p + payload_len);
    while (out.size() % 4 != 0)
        out.push_back(0);
}

template <typename T>
void append_value(Bytes& out, std::uint16_t type, T value)
{
    append_attr(out, type, &value, sizeof(value));
}

// A heap block of exactly the bytes' size, so that ASan guards its end.
struct Exact {
    explicit Exact(const Bytes& bytes) : size(bytes.size()), block(new std::uint8_t[size ? size : 1])
    {
        if (size)
            std::memcpy(block.get(), bytes.data(), size);
    }
    std::size_t size;
    std::unique_ptr<std::uint8_t[]> block;
};

int decode_qdisc(const Bytes& bytes, gap_qdisc_conf& conf)
{
    const Exact exact(bytes);
    return gap_qdisc_decode(&conf, exact.block.get(), exact.size);
}

int decode_class(const Bytes& bytes, gap_class_conf& conf)
{
    const Exact exact(bytes);
    return gap_class_decode(&conf, exact.block.get(), exact.size);
}

gap_class_conf class_rate(std::uint64_t rate)
{
    gap_class_conf conf{};
    conf.has_rate = true;
    conf.rate_bytes_per_s = rate;
    return conf;
}

gap_qdisc_conf qdisc_rate(std::uint64_t rate)
{
    gap_qdisc_conf conf{};
    conf.has_rate = true;
    conf.rate_bytes_per_s = rate;
    return conf;
}

// ---------------------------------------------------------------- encoding

TEST(GapQdiscEncode, WritesNothingForNothing)
{
    const gap_qdisc_conf conf{};
    EXPECT_EQ(gap_qdisc_encode(&conf, nullptr, 0), 0);
}

TEST(GapQdiscEncode, WritesTheKernelsBytes)
{
    gap_qdisc_conf conf = qdisc_rate(0x0102030405ULL);
    conf.has_default = true;
    conf.default_classid = 0x00010010;

    Bytes want;
    append_value<std::uint64_t>(want, TCA_GAP_RATE64, 0x0102030405ULL);
    append_value<std::uint32_t>(want, TCA_GAP_DEFAULT, 0x00010010);

    Bytes got(GAP_ATTR_BUF_BYTES);
    const int len = gap_qdisc_encode(&conf, got.data(), got.size());
    ASSERT_EQ(len, 20);
    got.resize(static_cast<std::size_t>(len));
    EXPECT_EQ(got, want);
}

TEST(GapQdiscEncode, AValueWithoutItsFlagIsNotSent)
{
    gap_qdisc_conf conf{};
    conf.rate_bytes_per_s = 1000;
    conf.default_classid = 0x10001;
    EXPECT_EQ(gap_qdisc_encode(&conf, nullptr, 0), 0);
}

TEST(GapQdiscEncode, RangeOfRate)
{
    std::uint8_t buf[GAP_ATTR_BUF_BYTES];
    for (const std::uint64_t good : {std::uint64_t{1}, std::uint64_t{GAP_RATE_MAX}}) {
        const auto conf = qdisc_rate(good);
        EXPECT_EQ(gap_qdisc_encode(&conf, buf, sizeof(buf)), 12) << good;
        EXPECT_EQ(gap_qdisc_mistakes(&conf), 0u) << good;
    }
    // A link always has a speed: "unlimited" is for classes.
    for (const std::uint64_t bad :
         {std::uint64_t{0}, std::uint64_t{GAP_RATE_MAX} + 1, std::uint64_t{GAP_RATE_UNLIMITED}}) {
        const auto conf = qdisc_rate(bad);
        EXPECT_EQ(gap_qdisc_encode(&conf, buf, sizeof(buf)), -ERANGE) << bad;
        EXPECT_EQ(gap_qdisc_mistakes(&conf), unsigned{GAP_MISTAKE_QDISC_RATE_RANGE}) << bad;
    }
}

TEST(GapQdiscEncode, DefaultIsAClassOrNone)
{
    std::uint8_t buf[GAP_ATTR_BUF_BYTES];
    gap_qdisc_conf conf{};
    conf.has_default = true;
    for (const std::uint32_t good : {0u, 0x10u, 0x00010010u, 0xfffeffffu}) {
        conf.default_classid = good;
        EXPECT_EQ(gap_qdisc_encode(&conf, buf, sizeof(buf)), 8) << good;
    }
    conf.default_classid = 0x00010000;
    EXPECT_EQ(gap_qdisc_encode(&conf, buf, sizeof(buf)), -ERANGE);
    EXPECT_EQ(gap_qdisc_mistakes(&conf), unsigned{GAP_MISTAKE_DEFAULT_NO_MINOR});
}

TEST(GapQdiscEncode, TooLittleRoomWritesNothing)
{
    gap_qdisc_conf conf = qdisc_rate(1000);
    conf.has_default = true;
    conf.default_classid = 1;
    for (std::size_t cap = 0; cap < 20; ++cap) {
        Exact room(Bytes(cap, 0xaa));
        EXPECT_EQ(gap_qdisc_encode(&conf, room.block.get(), cap), -ENOSPC);
        for (std::size_t i = 0; i < cap; ++i)
            EXPECT_EQ(room.block[i], 0xaa) << "cap " << cap << " byte " << i;
    }
    Exact room(Bytes(20, 0xaa));
    EXPECT_EQ(gap_qdisc_encode(&conf, room.block.get(), 20), 20);
}

TEST(GapQdiscEncode, RefusesWhatOnlyTheKernelSends)
{
    gap_qdisc_conf conf{};
    conf.has_link_rate = true;
    conf.link_rate_bytes_per_s = 125000000;
    EXPECT_EQ(gap_qdisc_encode(&conf, nullptr, 0), -EINVAL);
}

TEST(GapClassEncode, WritesTheKernelsBytes)
{
    gap_class_conf conf = class_rate(GAP_RATE_UNLIMITED);
    conf.has_linger = true;
    conf.linger_ns = 10000000;

    Bytes want;
    append_value<std::uint64_t>(want, TCA_GAP_CLASS_RATE64, ~std::uint64_t{0});
    append_value<std::uint64_t>(want, TCA_GAP_CLASS_LINGER_NS, 10000000);

    Bytes got(GAP_ATTR_BUF_BYTES);
    const int len = gap_class_encode(&conf, got.data(), got.size());
    ASSERT_EQ(len, 24);
    got.resize(static_cast<std::size_t>(len));
    EXPECT_EQ(got, want);
}

TEST(GapClassEncode, RangeOfRate)
{
    std::uint8_t buf[GAP_ATTR_BUF_BYTES];
    for (const std::uint64_t good :
         {std::uint64_t{1}, std::uint64_t{GAP_RATE_MAX}, std::uint64_t{GAP_RATE_UNLIMITED}}) {
        const auto conf = class_rate(good);
        EXPECT_EQ(gap_class_encode(&conf, buf, sizeof(buf)), 12) << good;
    }
    for (const std::uint64_t bad : {std::uint64_t{0}, std::uint64_t{GAP_RATE_MAX} + 1,
                                    std::uint64_t{GAP_RATE_UNLIMITED} - 1}) {
        const auto conf = class_rate(bad);
        EXPECT_EQ(gap_class_encode(&conf, buf, sizeof(buf)), -ERANGE) << bad;
    }
}

TEST(GapClassEncode, Linger)
{
    std::uint8_t buf[GAP_ATTR_BUF_BYTES];
    gap_class_conf conf = class_rate(1000);
    conf.has_linger = true;
    conf.linger_ns = GAP_LINGER_MAX_NS;
    EXPECT_EQ(gap_class_encode(&conf, buf, sizeof(buf)), 24);
    conf.linger_ns = GAP_LINGER_MAX_NS + 1;
    EXPECT_EQ(gap_class_encode(&conf, buf, sizeof(buf)), -ERANGE);

    conf.linger_ns = 0;
    conf.has_rate = false;
    EXPECT_EQ(gap_class_encode(&conf, buf, sizeof(buf)), -EINVAL);
    EXPECT_EQ(gap_class_mistakes(&conf), unsigned{GAP_MISTAKE_LINGER_WITHOUT_RATE});
}

TEST(GapClassEncode, EveryMistakeIsReported)
{
    gap_class_conf conf{};
    conf.has_linger = true;
    conf.linger_ns = GAP_LINGER_MAX_NS + 1;
    conf.has_next_rate = true;
    EXPECT_EQ(gap_class_mistakes(&conf), unsigned{GAP_MISTAKE_LINGER_RANGE} |
                                             unsigned{GAP_MISTAKE_LINGER_WITHOUT_RATE} |
                                             unsigned{GAP_MISTAKE_DUMP_ONLY});
    EXPECT_EQ(gap_class_encode(&conf, nullptr, 0), -ERANGE);
}

TEST(GapMistakeText, EveryMistakeHasItsOwnSentence)
{
    std::vector<std::string> seen;
    for (unsigned bit = GAP_MISTAKE_QDISC_RATE_RANGE; bit <= GAP_MISTAKE_DUMP_ONLY; bit <<= 1) {
        const std::string text = gap_mistake_text(bit);
        EXPECT_FALSE(text.empty());
        EXPECT_NE(text, gap_mistake_text(0)) << bit;
        EXPECT_NE(text.back(), '.');
        for (const auto& other : seen)
            EXPECT_NE(text, other);
        seen.push_back(text);
    }
    // The words restate the header's numbers; hold them together.
    EXPECT_EQ(GAP_RATE_MAX * 8, 8000000000000ULL);
    EXPECT_EQ(GAP_LINGER_MAX_NS, 10000000000ULL);
}

TEST(GapMistakeText, TellsTheLowestOfASet)
{
    EXPECT_STREQ(gap_mistake_text(GAP_MISTAKE_LINGER_RANGE | GAP_MISTAKE_DUMP_ONLY),
                 gap_mistake_text(GAP_MISTAKE_LINGER_RANGE));
}

// ---------------------------------------------------------------- decoding

TEST(GapQdiscDecode, EmptyIsNothing)
{
    gap_qdisc_conf conf = qdisc_rate(1);
    ASSERT_EQ(gap_qdisc_decode(&conf, nullptr, 0), 0);
    EXPECT_FALSE(conf.has_rate);
    EXPECT_FALSE(conf.has_default);
    EXPECT_FALSE(conf.has_link_rate);
}

TEST(GapQdiscDecode, ADumpWithPadAndUnknownAttributes)
{
    Bytes dump;
    append_attr(dump, TCA_GAP_PAD, nullptr, 0);
    append_value<std::uint64_t>(dump, TCA_GAP_RATE64, 125000000);
    append_attr(dump, TCA_GAP_MAX + 1, "later", 6);
    append_value<std::uint32_t>(dump, TCA_GAP_DEFAULT, 0x10010);
    append_attr(dump, 0x3fff, nullptr, 0);
    append_value<std::uint64_t>(dump, TCA_GAP_LINK_RATE64, 125000001);

    gap_qdisc_conf conf{};
    ASSERT_EQ(decode_qdisc(dump, conf), 0);
    EXPECT_TRUE(conf.has_rate);
    EXPECT_EQ(conf.rate_bytes_per_s, 125000000u);
    EXPECT_TRUE(conf.has_default);
    EXPECT_EQ(conf.default_classid, 0x10010u);
    EXPECT_TRUE(conf.has_link_rate);
    EXPECT_EQ(conf.link_rate_bytes_per_s, 125000001u);
}

TEST(GapQdiscDecode, FlagBitsOfTheTypeAreIgnored)
{
    Bytes dump;
    append_value<std::uint64_t>(dump, 0x8000 | TCA_GAP_RATE64, 7);
    append_value<std::uint32_t>(dump, 0x4000 | TCA_GAP_DEFAULT, 9);
    gap_qdisc_conf conf{};
    ASSERT_EQ(decode_qdisc(dump, conf), 0);
    EXPECT_EQ(conf.rate_bytes_per_s, 7u);
    EXPECT_EQ(conf.default_classid, 9u);
}

TEST(GapQdiscDecode, OfTwoTheLastCounts)
{
    Bytes dump;
    append_value<std::uint64_t>(dump, TCA_GAP_RATE64, 1);
    append_value<std::uint64_t>(dump, TCA_GAP_RATE64, 2);
    gap_qdisc_conf conf{};
    ASSERT_EQ(decode_qdisc(dump, conf), 0);
    EXPECT_EQ(conf.rate_bytes_per_s, 2u);
}

TEST(GapQdiscDecode, WrongSizesAreRefused)
{
    for (const std::uint16_t size : {0, 1, 4, 7, 9, 16}) {
        Bytes dump;
        append_attr(dump, TCA_GAP_RATE64, "0123456789abcdef", size);
        gap_qdisc_conf conf{};
        EXPECT_EQ(decode_qdisc(dump, conf), -EBADMSG) << size;
        EXPECT_FALSE(conf.has_rate);
    }
    for (const std::uint16_t size : {0, 3, 5, 8}) {
        Bytes dump;
        append_attr(dump, TCA_GAP_DEFAULT, "01234567", size);
        gap_qdisc_conf conf{};
        EXPECT_EQ(decode_qdisc(dump, conf), -EBADMSG) << size;
    }
}

TEST(GapQdiscDecode, AnErrorLeavesTheConfAlone)
{
    Bytes dump;
    append_value<std::uint64_t>(dump, TCA_GAP_RATE64, 5);
    append_attr(dump, TCA_GAP_DEFAULT, "12", 2);
    gap_qdisc_conf conf = qdisc_rate(42);
    ASSERT_EQ(decode_qdisc(dump, conf), -EBADMSG);
    EXPECT_TRUE(conf.has_rate);
    EXPECT_EQ(conf.rate_bytes_per_s, 42u);
}

TEST(GapQdiscDecode, ALengthShorterThanItsHeaderIsRefused)
{
    for (const std::uint8_t len : {0, 1, 2, 3}) {
        gap_qdisc_conf conf{};
        EXPECT_EQ(decode_qdisc({len, 0, TCA_GAP_PAD, 0, 0, 0, 0, 0}, conf), -EBADMSG) << int{len};
    }
}

TEST(GapQdiscDecode, TheLastAttributeNeedsNoPadding)
{
    Bytes dump;
    append_value<std::uint32_t>(dump, TCA_GAP_DEFAULT, 3);
    dump.insert(dump.end(), {5, 0, TCA_GAP_MAX + 1, 0, 0xff});
    gap_qdisc_conf conf{};
    ASSERT_EQ(decode_qdisc(dump, conf), 0);
    EXPECT_EQ(conf.default_classid, 3u);
}

Bytes class_dump()
{
    Bytes dump;
    append_attr(dump, TCA_GAP_CLASS_PAD, nullptr, 0);
    append_value<std::uint64_t>(dump, TCA_GAP_CLASS_RATE64, 39062500);
    append_value<std::uint64_t>(dump, TCA_GAP_CLASS_LINGER_NS, 5000000);
    append_value<std::uint64_t>(dump, TCA_GAP_CLASS_NEXT_RATE64, GAP_RATE_UNLIMITED);
    append_value<std::uint32_t>(dump, TCA_GAP_CLASS_MAX + 1, 2);
    return dump;
}

TEST(GapClassDecode, AFullDump)
{
    gap_class_conf conf{};
    ASSERT_EQ(decode_class(class_dump(), conf), 0);
    EXPECT_TRUE(conf.has_rate && conf.has_linger && conf.has_next_rate);
    EXPECT_EQ(conf.rate_bytes_per_s, 39062500u);
    EXPECT_EQ(conf.linger_ns, 5000000u);
    EXPECT_EQ(conf.next_rate_bytes_per_s, GAP_RATE_UNLIMITED);
}

// Every prefix either ends between two attributes or is refused.
TEST(GapClassDecode, EveryTruncation)
{
    const Bytes full = class_dump();
    const std::vector<std::size_t> ends = {0, 4, 16, 28, 40, 48};
    ASSERT_EQ(full.size(), ends.back());
    for (std::size_t len = 0; len <= full.size(); ++len) {
        const Bytes cut(full.begin(), full.begin() + static_cast<std::ptrdiff_t>(len));
        gap_class_conf conf{};
        const bool whole = std::find(ends.begin(), ends.end(), len) != ends.end();
        EXPECT_EQ(decode_class(cut, conf), whole ? 0 : -EBADMSG) << "length " << len;
    }
}

TEST(GapClassDecode, WrongSizesAreRefused)
{
    for (const std::uint16_t type :
         {TCA_GAP_CLASS_RATE64, TCA_GAP_CLASS_LINGER_NS, TCA_GAP_CLASS_NEXT_RATE64}) {
        for (const std::uint16_t size : {0, 4, 7, 9}) {
            Bytes dump;
            append_attr(dump, type, "0123456789", size);
            gap_class_conf conf{};
            EXPECT_EQ(decode_class(dump, conf), -EBADMSG) << type << ' ' << size;
        }
    }
}

TEST(GapRoundTrip, WhatIsSentIsRead)
{
    std::uint8_t buf[GAP_ATTR_BUF_BYTES];
    gap_class_conf sent = class_rate(39062500);
    sent.has_linger = true;
    sent.linger_ns = 123456789;
    gap_class_conf got{};
    int len = gap_class_encode(&sent, buf, sizeof(buf));
    ASSERT_GT(len, 0);
    ASSERT_EQ(gap_class_decode(&got, buf, static_cast<std::size_t>(len)), 0);
    EXPECT_EQ(got.rate_bytes_per_s, sent.rate_bytes_per_s);
    EXPECT_EQ(got.linger_ns, sent.linger_ns);

    gap_qdisc_conf qsent = qdisc_rate(GAP_RATE_MAX);
    qsent.has_default = true;
    qsent.default_classid = 0x10fff;
    gap_qdisc_conf qgot{};
    len = gap_qdisc_encode(&qsent, buf, sizeof(buf));
    ASSERT_GT(len, 0);
    ASSERT_EQ(gap_qdisc_decode(&qgot, buf, static_cast<std::size_t>(len)), 0);
    EXPECT_EQ(qgot.rate_bytes_per_s, qsent.rate_bytes_per_s);
    EXPECT_EQ(qgot.default_classid, qsent.default_classid);
}

// Random bytes, half of them with plausible headers so that the walk goes deep.
TEST(GapDecode, GarbageIsReadWithinItsBounds)
{
    std::mt19937 random(20260101);
    const auto below = [&random](unsigned n) { return random() % n; };
    int accepted = 0;
    int refused = 0;
    for (int round = 0; round < 200000; ++round) {
        Bytes bytes(below(80));
        for (auto& byte : bytes)
            byte = static_cast<std::uint8_t>(random());
        if (round % 2 == 0) {
            for (std::size_t at = 0; at + 4 <= bytes.size();) {
                const unsigned len = 4 + (below(3) ? 4 * below(3) : below(20));
                bytes[at] = static_cast<std::uint8_t>(len);
                bytes[at + 1] = 0;
                bytes[at + 2] = static_cast<std::uint8_t>(below(8));
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

// -------------------------------------------------------------- statistics

Bytes xstats_bytes(std::size_t size)
{
    tc_gap_xstats sent{};
    sent.type = TC_GAP_XSTATS_QDISC;
    sent.qdisc.wire_bytes = 0x1111111111111111;
    sent.qdisc.gap_packets = 0x2222222222222222;
    sent.qdisc.gso_split = 0x7777777777777777;
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
    EXPECT_EQ(got.qdisc.wire_bytes, 0x1111111111111111u);
    EXPECT_EQ(got.qdisc.gso_split, 0x7777777777777777u);
}

TEST(GapXstatsDecode, LongerIsCut)
{
    tc_gap_xstats got{};
    const Exact exact(xstats_bytes(sizeof(got) + 24));
    ASSERT_EQ(gap_xstats_decode(&got, exact.block.get(), exact.size), 0);
    EXPECT_EQ(got.qdisc.gso_split, 0x7777777777777777u);
}

TEST(GapXstatsDecode, ShorterIsZeroAtTheEnd)
{
    tc_gap_xstats got;
    std::memset(&got, 0xff, sizeof(got));
    const Exact exact(xstats_bytes(8 + 16));
    ASSERT_EQ(gap_xstats_decode(&got, exact.block.get(), exact.size), 0);
    EXPECT_EQ(got.qdisc.wire_bytes, 0x1111111111111111u);
    EXPECT_EQ(got.qdisc.gap_packets, 0x2222222222222222u);
    EXPECT_EQ(got.qdisc.gap_wire_bytes, 0u);
    EXPECT_EQ(got.qdisc.gso_split, 0u);
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
