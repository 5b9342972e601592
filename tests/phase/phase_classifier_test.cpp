// SPDX-License-Identifier: Apache-2.0
// The classifier itself, in the kernel that runs this, without a qdisc: packets
// in, classes out.  Needs the privilege to load it.
//   phase_classifier_test [OBJECT]      class_of.bpf.o, if it is elsewhere
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "phase/bpf_phase_maps.hpp"

namespace headway {
namespace {

std::string object_path = CLASS_OF_OBJECT;

constexpr std::uint32_t own = 0, remote = 1;
constexpr std::uint16_t rest_own = 0x110, rest_remote = 0x111;

std::vector<char> frame_v4(const char* destination) {
    std::vector<char> frame(ETH_HLEN + 60);
    iphdr header{};
    header.version = 4;
    header.ihl = 5;
    inet_pton(AF_INET, destination, &header.daddr);
    frame[12] = static_cast<char>(ETH_P_IP >> 8);
    std::memcpy(frame.data() + ETH_HLEN, &header, sizeof(header));
    return frame;
}

std::vector<char> frame_v6(const char* destination) {
    std::vector<char> frame(ETH_HLEN + 60);
    ipv6hdr header{};
    header.version = 6;
    inet_pton(AF_INET6, destination, &header.daddr);
    frame[12] = static_cast<char>(ETH_P_IPV6 >> 8);
    frame[13] = static_cast<char>(ETH_P_IPV6 & 0xff);
    std::memcpy(frame.data() + ETH_HLEN, &header, sizeof(header));
    return frame;
}

class Classifier : public testing::Test {
protected:
    void SetUp() override {
        std::ifstream in(object_path, std::ios::binary);
        object_.assign(std::istreambuf_iterator<char>(in), {});
        ASSERT_FALSE(object_.empty()) << object_path;
        const std::vector<PhaseTrunk> trunks{
            {{*parse_ip_prefix("10.1.0.0/16"), *parse_ip_prefix("fd00:1::/64")}, rest_own},
            {{*parse_ip_prefix("10.2.0.0/16"), *parse_ip_prefix("10.3.7.0/24"),
              *parse_ip_prefix("fd00:2::/64")}, rest_remote}};
        auto loaded = BpfPhaseMaps::load(trunks, {object_, "phase_class"});
        ASSERT_TRUE(loaded) << loaded.error().message;
        maps_ = std::move(*loaded);
        begin_phase_job(*maps_, 0);
        begin_phase_job(*maps_, 1);
    }

    std::uint32_t classify(const std::vector<char>& frame) {
        LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = frame.data(),
                    .data_size_in = static_cast<__u32>(frame.size()), .repeat = 1);
        const int error = bpf_prog_test_run_opts(maps_->program().fd, &options);
        // Newer kernels let no stump of a header in; then nobody gets it.
        if (error == -EINVAL && frame.size() < 64) return 0;
        EXPECT_EQ(error, 0) << std::strerror(-error);
        return options.retval;
    }
    std::uint32_t to_remote() { return classify(frame_v4("10.2.0.9")); }

    PhaseSeat sit(std::uint32_t job, std::uint32_t slot) {
        add_phase_process(*maps_, {job, slot});
        return {job, slot};
    }
    void store(const PhaseSeat& seat, std::uint32_t phase) {
        __atomic_store_n(&maps_->slots(seat.job).phase[seat.slot], phase, __ATOMIC_RELEASE);
    }

    std::vector<char> object_;
    std::unique_ptr<BpfPhaseMaps> maps_;
};

TEST_F(Classifier, TheDestinationChoosesTheTrunk) {
    EXPECT_EQ(classify(frame_v4("10.1.255.255")), rest_own);
    EXPECT_EQ(classify(frame_v4("10.2.0.1")), rest_remote);
    EXPECT_EQ(classify(frame_v4("10.3.7.200")), rest_remote);
    EXPECT_EQ(classify(frame_v6("fd00:1::7")), rest_own);
    EXPECT_EQ(classify(frame_v6("fd00:2::7")), rest_remote);
}

TEST_F(Classifier, UnknownDestinationsAreLeftAlone) {
    EXPECT_EQ(classify(frame_v4("10.3.8.1")), 0U);
    EXPECT_EQ(classify(frame_v4("0.0.0.0")), 0U);
    EXPECT_EQ(classify(frame_v6("fd00:3::7")), 0U);
    std::vector<char> arp(ETH_HLEN + 46);
    arp[12] = static_cast<char>(ETH_P_ARP >> 8);
    arp[13] = static_cast<char>(ETH_P_ARP & 0xff);
    EXPECT_EQ(classify(arp), 0U);
}

TEST_F(Classifier, FramesThatAreTooShortAreLeftAlone) {
    std::vector<char> stump = frame_v4("10.2.0.1");
    stump.resize(ETH_HLEN + 10);
    EXPECT_EQ(classify(stump), 0U);
    stump = frame_v6("fd00:2::7");
    stump.resize(ETH_HLEN + 39);
    EXPECT_EQ(classify(stump), 0U);
}

TEST_F(Classifier, AStoreIsEnough) {
    const PhaseSeat seat = sit(0, 0);
    EXPECT_EQ(add_phase(*maps_, 0, std::vector<PhaseRate>{{1000, 0x1001}, {2000, 0x1002}}), 1U);
    EXPECT_EQ(to_remote(), rest_remote);
    store(seat, 1);
    EXPECT_EQ(to_remote(), 0x1002U);
    EXPECT_EQ(classify(frame_v6("fd00:1::7")), 0x1001U);
    EXPECT_EQ(classify(frame_v4("192.0.2.1")), 0U);
    store(seat, 0);
    EXPECT_EQ(to_remote(), rest_remote);
}

TEST_F(Classifier, TheStrictestOfAllProcessesWins) {
    const PhaseSeat first = sit(0, 5), second = sit(1, 63), third = sit(0, 6);
    (void)add_phase(*maps_, 0, std::vector<PhaseRate>{{1000, 0x1001}, {3000, 0x1003}});
    (void)add_phase(*maps_, 1, std::vector<PhaseRate>{{1500, 0x1004}, {2000, 0x1002}});
    (void)add_phase(*maps_, 0, std::vector<PhaseRate>{{}, {2500, 0x1005}});
    store(first, 1);
    store(second, 1);
    store(third, 2);
    EXPECT_EQ(to_remote(), 0x1002U);
    EXPECT_EQ(classify(frame_v4("10.1.0.1")), 0x1001U);
    store(first, 0);
    EXPECT_EQ(classify(frame_v4("10.1.0.1")), 0x1004U);
    store(second, 0);
    EXPECT_EQ(to_remote(), 0x1005U);
    EXPECT_EQ(classify(frame_v4("10.1.0.1")), rest_own) << "that phase does not limit it";
}

TEST_F(Classifier, PhasesThatTheJobDoesNotHaveAreIgnored) {
    const PhaseSeat seat = sit(0, 0);
    (void)add_phase(*maps_, 0, std::vector<PhaseRate>{{1000, 0x1001}, {2000, 0x1002}});
    (void)add_phase(*maps_, 1, std::vector<PhaseRate>{{1, 0x1003}, {1, 0x1004}});
    (void)add_phase(*maps_, 1, std::vector<PhaseRate>{{2, 0x1005}, {2, 0x1006}});
    for (const std::uint32_t wild : {2U, 63U, 64U, 65U, 128U, 0x7fffffffU, 0xffffffffU}) {
        store(seat, wild);
        EXPECT_EQ(to_remote(), rest_remote) << wild;
    }
}

TEST_F(Classifier, SlotsThatNobodyHasDoNotCount) {
    (void)add_phase(*maps_, 0, std::vector<PhaseRate>{{1000, 0x1001}, {2000, 0x1002}});
    store({0, 3}, 1);
    EXPECT_EQ(to_remote(), rest_remote);
    const PhaseSeat seat = sit(0, 3);
    EXPECT_EQ(to_remote(), rest_remote) << "it rests at first";
    store(seat, 1);
    remove_phase_process(*maps_, seat);
    store(seat, 1);
    EXPECT_EQ(to_remote(), rest_remote);
}

TEST_F(Classifier, SixtyFourProcesses) {
    for (std::uint32_t i = 1; i < HEADWAY_PHASES; ++i) {
        EXPECT_EQ(add_phase(*maps_, 0,
                            std::vector<PhaseRate>{{}, {1000 - i, static_cast<std::uint16_t>(i)}}),
                  i);
    }
    for (std::uint32_t i = 0; i < HEADWAY_PHASE_PROCESSES; ++i) {
        store(sit(i % 2, i), i % 2 == 0 ? std::min(i + 1, 63U) : 0);
    }
    EXPECT_EQ(to_remote(), 63U) << "the strictest is the last that is in a phase";
    store({0, 62}, 0);
    EXPECT_EQ(to_remote(), 61U);
    remove_phase_process(*maps_, {0, 60});
    EXPECT_EQ(to_remote(), 59U);
}

TEST_F(Classifier, AnArrayThatWasRenewedIsAnother) {
    const PhaseSeat seat = sit(1, 0);
    (void)add_phase(*maps_, 1, std::vector<PhaseRate>{{}, {2000, 0x1002}});
    const int old = dup(maps_->slots_fd(1));
    remove_phase_process(*maps_, seat);
    const std::uint32_t job = 1;
    ASSERT_TRUE(maps_->renew(std::span(&job, 1)));
    sit(1, 0);
    headway_phase_slots slots{};
    slots.phase[0] = 1;
    const std::uint32_t first = 0;
    ASSERT_EQ(bpf_map_update_elem(old, &first, &slots, BPF_ANY), 0);
    EXPECT_EQ(to_remote(), rest_remote) << "the old array's owner reaches nothing";
    ASSERT_EQ(bpf_map_update_elem(maps_->slots_fd(1), &first, &slots, BPF_ANY), 0);
    EXPECT_EQ(to_remote(), 0x1002U);
    close(old);
}

TEST_F(Classifier, NobodyFreezesAJobsArray) {
    EXPECT_NE(bpf_map_freeze(maps_->slots_fd(0)), 0);
    set_phase_generation(*maps_, 0, 9);
    EXPECT_EQ(maps_->slots(0).generation, 9U);
}

/// Nanoseconds that a run of the program takes, on the average of many.
std::uint32_t run_ns(const BpfPhaseMaps& maps) {
    const std::vector<char> frame = frame_v4("10.2.0.9");
    LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = frame.data(),
                .data_size_in = static_cast<__u32>(frame.size()), .repeat = 10000);
    EXPECT_EQ(bpf_prog_test_run_opts(maps.program().fd, &options), 0);
    return options.duration;
}

/// What a packet costs, for tests/bench/phase: virtual nanoseconds are
/// instructions.  Nothing is asserted: where time is real, it is the host's.
TEST_F(Classifier, Cost) {
    auto nothing = BpfPhaseMaps::load({PhaseTrunk{}}, {object_, "phase_nothing"});
    ASSERT_TRUE(nothing) << nothing.error().message;
    const std::uint32_t empty_ns = run_ns(**nothing);
    (void)add_phase(*maps_, 0, std::vector<PhaseRate>{{}, {2000, 0x1002}});
    const auto measure = [&](const char* state, std::uint32_t processes) {
        std::printf("{\"classifier\":\"%s\",\"processes\":%u,\"ns\":%d}\n", state, processes,
                    static_cast<int>(run_ns(*maps_)) - static_cast<int>(empty_ns));
    };
    measure("resting", 0);
    for (std::uint32_t i = 0; i < HEADWAY_PHASE_PROCESSES; ++i) {
        sit(0, i);
        if (i != 0 && i != 15 && i != 63) continue;
        for (std::uint32_t other = 0; other <= i; ++other) store({0, other}, 0);
        measure("resting", i + 1);
        for (std::uint32_t other = 0; other <= i; ++other) store({0, other}, 1);
        measure("active", i + 1);
    }
}

}  // namespace
}  // namespace headway

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    if (argc > 1) headway::object_path = argv[1];
    return RUN_ALL_TESTS();
}
