// SPDX-License-Identifier: Apache-2.0
// The program that paces without the qdisc gap, in the kernel that runs this: packets in,
// departure times out.
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/pkt_cls.h>
#include <linux/tcp.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include <gtest/gtest.h>

#include "base/clock.hpp"
#include "phase/bpf_phase_maps.hpp"
#include "phase/bpf_traffic_control.hpp"

namespace headway {
namespace {

constexpr std::uint16_t guard = 2, cap = 3, trunk = 0x11, shared = 0x111;
constexpr std::uint64_t second_ns = 1'000'000'000;
constexpr std::size_t full_bytes = 1514;
constexpr std::uint64_t full_wire_bytes = 1538;

/// A TCP segment of so many bytes to the other cluster.
std::vector<char> segment(std::size_t frame_bytes, std::size_t payload_bytes) {
    struct {
        iphdr ip;
        tcphdr tcp;
    } headers{};
    headers.ip.version = 4;
    headers.ip.ihl = 5;
    headers.ip.protocol = IPPROTO_TCP;
    headers.ip.tot_len = htons(static_cast<std::uint16_t>(sizeof(headers) + payload_bytes));
    inet_pton(AF_INET, "10.2.0.9", &headers.ip.daddr);
    headers.tcp.doff = 5;
    headers.tcp.ack = 1;
    std::vector<char> frame(frame_bytes);
    frame[12] = static_cast<char>(ETH_P_IP >> 8);
    std::memcpy(frame.data() + ETH_HLEN, &headers, sizeof(headers));
    return frame;
}

const std::vector<char> data_frame = segment(full_bytes, full_bytes - ETH_HLEN - 40);
const std::vector<char> acknowledgement = segment(64, 0);

headway_bpf_class limited(std::uint64_t bytes_per_s, std::uint16_t parent = 0) {
    headway_bpf_class one{};
    one.parent = parent;
    one.bytes_per_s[0] = bytes_per_s;
    return one;
}

class FqPacing : public testing::Test {
protected:
    /// Once: the verifier takes its time.
    static void SetUpTestSuite() { load({}); }
    static void TearDownTestSuite() { maps_.reset(); }

    static void load(const std::map<std::string, int>& earlier, const PhaseObject& object = fq_pacing_object()) {
        const std::vector<PhaseTrunk> trunks{{{*parse_ip_prefix("10.1.0.0/16")}, 0x110},
                                             {{*parse_ip_prefix("10.2.0.0/16")}, shared}};
        auto loaded = BpfPhaseMaps::load(trunks, object, earlier);
        ASSERT_TRUE(loaded) << loaded.error().message;
        maps_ = std::move(*loaded);
    }

    void SetUp() override {
        ASSERT_NE(maps_, nullptr);
        auto classes = maps_->classes();
        ASSERT_TRUE(classes) << classes.error().message;
        classes_ = std::move(*classes);
        for (const std::uint16_t minor : classes_->minors()) classes_->remove(minor);
        put(trunk, limited(0));
    }

    void put(std::uint16_t minor, const headway_bpf_class& one) {
        const auto done = classes_->put(minor, one);
        ASSERT_TRUE(done) << done.error().message;
    }

    /// When the packet may leave; 0: at once, dropped: never.
    static constexpr std::uint64_t dropped = ~std::uint64_t{0};
    std::uint64_t departure(const std::vector<char>& frame = data_frame, std::uint32_t segments = 0,
                            std::uint32_t wire_bytes = 0, std::uint64_t own_ns = 0) {
        __sk_buff in{}, out{};
        in.gso_segs = segments;
        in.gso_size = segments == 0 ? 0 : 1448;
        in.wire_len = wire_bytes;
        in.tstamp = own_ns;
        LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = frame.data(),
                    .data_size_in = static_cast<__u32>(frame.size()), .ctx_in = &in,
                    .ctx_out = &out, .ctx_size_in = sizeof(in), .ctx_size_out = sizeof(out));
        const int error = bpf_prog_test_run_opts(maps_->program().fd, &options);
        EXPECT_EQ(error, 0) << std::strerror(-error);
        return options.retval == TC_ACT_SHOT ? dropped : out.tstamp;
    }
    /// From one packet's time to the next one's, when more wait than can be sent meanwhile.
    std::uint64_t distance_ns(const std::vector<char>& frame = data_frame, std::uint32_t segments = 0,
                              std::uint32_t wire_bytes = 0) {
        (void)departure(frame, segments, wire_bytes);
        const std::uint64_t first = departure(frame, segments, wire_bytes);
        return departure(frame, segments, wire_bytes) - first;
    }
    static std::uint64_t now_ns() { return static_cast<std::uint64_t>(SteadyClock().now().count()); }

    static std::unique_ptr<BpfPhaseMaps> maps_;
    std::unique_ptr<BpfClasses> classes_;
};

std::unique_ptr<BpfPhaseMaps> FqPacing::maps_;

TEST_F(FqPacing, PacketsAreSoFarApartAsTheRateSays) {
    put(shared, limited(1000, trunk));
    EXPECT_EQ(distance_ns(), full_wire_bytes * second_ns / 1000);
    EXPECT_EQ(distance_ns(segment(60, 6)), 84 * second_ns / 1000) << "the least that the wire knows";
    put(shared, limited(0, trunk));
    EXPECT_EQ(departure(), 0U) << "unlimited";
    put(shared, limited(HEADWAY_BPF_UNLIMITED, trunk));
    EXPECT_EQ(departure(), 0U) << "unlimited";
}

TEST_F(FqPacing, NeverFasterThanTheRate) {
    put(shared, limited(999, trunk));
    (void)departure();
    const std::uint64_t first = departure();
    std::uint64_t last = first;
    for (int i = 0; i < 999; ++i) last = departure();
    EXPECT_GE(last - first, full_wire_bytes * second_ns);
    EXPECT_LE(last - first, full_wire_bytes * second_ns + 999 / 256 + 1) << "each is a tick late at most";
}

TEST_F(FqPacing, APacketOfSeveralFramesCostsThemAll) {
    put(shared, limited(1000, trunk));
    constexpr std::uint32_t frames = 10, wire_bytes = frames * full_bytes;
    EXPECT_EQ(distance_ns(data_frame, frames, wire_bytes), frames * full_wire_bytes * second_ns / 1000);
}

TEST_F(FqPacing, ThePhaseSEntryHolds) {
    headway_bpf_class one = limited(0, trunk);
    one.bytes_per_s[7] = 2000;
    put(shared, one);
    begin_phase_job(*maps_, 0);
    add_phase_process(*maps_, {0, 0});
    const std::uint32_t phase = add_phase(*maps_, 0, std::vector<PhaseRate>{{}, {2000, 7}});
    EXPECT_EQ(departure(), 0U);
    __atomic_store_n(&maps_->slots(0).phase[0], phase, __ATOMIC_RELEASE);
    EXPECT_EQ(distance_ns(), full_wire_bytes * second_ns / 2000);
    remove_phase_process(*maps_, {0, 0});
    end_phase_job(*maps_, 0);
}

TEST_F(FqPacing, TheStrictestOfAllLevelsHolds) {
    put(guard, limited(0));
    put(cap, limited(500, guard));
    put(trunk, limited(2000, cap));
    put(shared, limited(1000, trunk));
    EXPECT_EQ(distance_ns(), full_wire_bytes * second_ns / 500);
    put(guard, limited(250));
    EXPECT_EQ(distance_ns(), full_wire_bytes * second_ns / 250);
    EXPECT_EQ(classes_->clock(guard).packets, classes_->clock(shared).packets);
    EXPECT_EQ(classes_->clock(guard).wire_bytes, classes_->clock(guard).packets * full_wire_bytes);
}

/// Packets that a parent has held up do not come in a burst later.
TEST_F(FqPacing, AClassSavesNothingWhileItsParentHoldsItUp) {
    put(trunk, limited(100));
    put(shared, limited(1000, trunk));
    (void)distance_ns();
    const std::uint64_t last = departure();
    put(trunk, limited(0));
    EXPECT_GE(departure(), last + full_wire_bytes * second_ns / 1000);
}

TEST_F(FqPacing, TheLaterOfOursAndTheSocketSOwn) {
    put(shared, limited(1000, trunk));
    const std::uint64_t own = now_ns() + 100 * second_ns;
    EXPECT_EQ(departure(data_frame, 0, 0, own), own);
    const std::uint64_t next = departure();
    EXPECT_LT(next, own) << "other sockets do not wait for it";
    EXPECT_EQ(departure() - next, full_wire_bytes * second_ns / 1000);
    put(shared, limited(0, trunk));
    EXPECT_EQ(departure(data_frame, 0, 0, own), own) << "unlimited, but for the socket";
}

TEST_F(FqPacing, AcknowledgementsWaitForNoDataButAreCharged) {
    put(shared, limited(1000, trunk));
    (void)departure();
    const std::uint64_t before = departure();
    EXPECT_EQ(departure(acknowledgement), 0U);
    EXPECT_EQ(departure() - before, (full_wire_bytes + 64 + 24) * second_ns / 1000);
}

TEST_F(FqPacing, WithoutTheDaemonTheFallbackHolds) {
    headway_bpf_class one = limited(0, trunk);
    one.fallback_bytes_per_s = 1000;
    one.expires_ns = 50'000'000;
    one.renewed_ns = now_ns();
    put(shared, one);
    EXPECT_EQ(departure(), 0U);
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    EXPECT_EQ(distance_ns(), full_wire_bytes * second_ns / 1000) << "by itself";
    one.renewed_ns = now_ns();
    put(shared, one);
    EXPECT_EQ(departure(), 0U);
}

TEST_F(FqPacing, ProcessorsThatComeAtOnceTakeOneTimeAfterTheOther) {
    put(shared, limited(1000, trunk));
    constexpr std::size_t threads = 4, packets = 500;
    std::array<std::vector<std::uint64_t>, threads> seen;
    std::vector<std::thread> running;
    for (auto& times : seen) {
        running.emplace_back([&] {
            for (std::size_t i = 0; i < packets; ++i) times.push_back(departure());
        });
    }
    for (std::thread& one : running) one.join();
    std::vector<std::uint64_t> all;
    for (const auto& times : seen) all.insert(all.end(), times.begin(), times.end());
    std::sort(all.begin(), all.end());
    for (std::size_t i = 2; i < all.size(); ++i) {
        ASSERT_EQ(all[i] - all[i - 1], full_wire_bytes * second_ns / 1000) << "packet " << i;
    }
}

/// fq has no other bound for what no socket sends.
TEST_F(FqPacing, WhatNoSocketSendsIsDroppedRatherThanQueuedForLong) {
    const std::filesystem::path built = FQ_FORWARDED_OBJECT;
    const bool is_here = std::filesystem::exists(built);
    std::ifstream in(is_here ? built : std::filesystem::read_symlink("/proc/self/exe").parent_path() / built.filename(),
                     std::ios::binary);
    const std::vector<char> object(std::istreambuf_iterator<char>(in), {});
    ASSERT_FALSE(object.empty()) << built;
    load({}, {object, "headway_fq_forwarded"});
    SetUp();
    put(shared, limited(2000, trunk));  // 0.769 seconds for each packet: the fourth would wait for 2.3
    (void)departure();
    const std::uint64_t second = departure(), third = departure();
    EXPECT_NE(second, dropped);
    EXPECT_EQ(third - second, full_wire_bytes * second_ns / 2000) << "up to two seconds are allowed";
    const auto before = classes_->clock(shared);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(departure(), dropped);
    EXPECT_EQ(classes_->clock(shared).next_ticks, before.next_ticks) << "what is dropped takes no time of the class";
    EXPECT_EQ(classes_->clock(shared).packets, before.packets);
    load({});
    SetUp();
    put(shared, limited(1000, trunk));
    for (int i = 0; i < 10; ++i) EXPECT_NE(departure(), dropped) << "a socket waits";
}

TEST_F(FqPacing, TheNextRunGoesOnWithTheSameClocks) {
    put(shared, limited(1000, trunk));
    (void)departure();
    const std::uint64_t last = departure();
    load(maps_->memory());
    EXPECT_EQ(departure() - last, full_wire_bytes * second_ns / 1000);
}

}  // namespace
}  // namespace headway
