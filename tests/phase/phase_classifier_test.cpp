// SPDX-License-Identifier: Apache-2.0
// The classifier itself, in the kernel that runs this, without a qdisc: packets
// in, classes and entries out.  Needs the privilege to load it.
//   phase_classifier_test [OBJECT]      class_of.bpf.o, if it is elsewhere
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>

#include <gtest/gtest.h>

#include "../unit/fake_phase_maps.hpp"
#include "phase/bpf_phase_maps.hpp"
#include "phase/bpf_traffic_control.hpp"

namespace headway {
namespace {

std::string object_path = CLASS_OF_OBJECT;

constexpr std::uint32_t own = 0, remote = 1;
constexpr std::uint32_t root = 0;
constexpr std::uint16_t shared_own = 0x110, shared_remote = 0x111;

/// As phase_class returns it.
constexpr std::uint32_t with(std::uint32_t minor, std::uint32_t entry) { return entry << 16U | minor; }

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

/// The kernel verifies the program once for all tests; of what earlier ones left nothing counts.
class Classifier : public testing::Test {
protected:
    static void SetUpTestSuite() {
        if (maps_) return;
        std::ifstream in(object_path, std::ios::binary);
        object_.assign(std::istreambuf_iterator<char>(in), {});
        ASSERT_FALSE(object_.empty()) << object_path;
        auto loaded = BpfPhaseMaps::load(trunks_, {object_, "phase_class"});
        ASSERT_TRUE(loaded) << loaded.error().message;
        maps_ = std::move(*loaded);
        config_as_loaded_ = maps_->config();
    }
    void SetUp() override {
        ASSERT_TRUE(maps_);
        maps_->config() = config_as_loaded_;
        constexpr std::array<std::uint32_t, 5> jobs{0, 1, 2, 3, 4};
        ASSERT_TRUE(maps_->renew(jobs));
        for (const std::uint32_t job : jobs) set_own_classes(*maps_, job, {});
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

    inline static const std::vector<PhaseTrunk> trunks_{
        {{*parse_ip_prefix("10.1.0.0/16"), *parse_ip_prefix("fd00:1::/64")}, shared_own},
        {{*parse_ip_prefix("10.2.0.0/16"), *parse_ip_prefix("10.3.7.0/24"), *parse_ip_prefix("fd00:2::/64")},
         shared_remote}};
    inline static std::vector<char> object_;
    inline static std::unique_ptr<BpfPhaseMaps> maps_;
    inline static headway_phase_config config_as_loaded_;
};

TEST_F(Classifier, TheDestinationChoosesTheTrunk) {
    EXPECT_EQ(classify(frame_v4("10.1.255.255")), shared_own);
    EXPECT_EQ(classify(frame_v4("10.2.0.1")), shared_remote);
    EXPECT_EQ(classify(frame_v4("10.3.7.200")), shared_remote);
    EXPECT_EQ(classify(frame_v6("fd00:1::7")), shared_own);
    EXPECT_EQ(classify(frame_v6("fd00:2::7")), shared_remote);
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
    EXPECT_EQ(add_phase(*maps_, 0, std::vector<PhaseRate>{{1000, 1}, {2000, 2}}), 1U);
    EXPECT_EQ(to_remote(), shared_remote);
    store(seat, 1);
    EXPECT_EQ(to_remote(), with(shared_remote, 2));
    EXPECT_EQ(classify(frame_v6("fd00:1::7")), with(shared_own, 1));
    EXPECT_EQ(classify(frame_v4("192.0.2.1")), 0U);
    store(seat, 0);
    EXPECT_EQ(to_remote(), shared_remote);
}

TEST_F(Classifier, TheStrictestOfAllProcessesWins) {
    const PhaseSeat first = sit(0, 5), second = sit(1, 63), third = sit(0, 6);
    (void)add_phase(*maps_, 0, std::vector<PhaseRate>{{1000, 1}, {3000, 3}});
    (void)add_phase(*maps_, 1, std::vector<PhaseRate>{{1500, 4}, {2000, 2}});
    (void)add_phase(*maps_, 0, std::vector<PhaseRate>{{}, {2500, 5}});
    store(first, 1);
    store(second, 1);
    store(third, 2);
    EXPECT_EQ(to_remote(), with(shared_remote, 2));
    EXPECT_EQ(classify(frame_v4("10.1.0.1")), with(shared_own, 1));
    store(first, 0);
    EXPECT_EQ(classify(frame_v4("10.1.0.1")), with(shared_own, 4));
    store(second, 0);
    EXPECT_EQ(to_remote(), with(shared_remote, 5));
    EXPECT_EQ(classify(frame_v4("10.1.0.1")), shared_own) << "that phase does not limit it";
}

TEST_F(Classifier, PhasesThatTheJobDoesNotHaveAreIgnored) {
    const PhaseSeat seat = sit(0, 0);
    (void)add_phase(*maps_, 0, std::vector<PhaseRate>{{1000, 1}, {2000, 2}});
    (void)add_phase(*maps_, 1, std::vector<PhaseRate>{{1, 3}, {1, 4}});
    (void)add_phase(*maps_, 1, std::vector<PhaseRate>{{2, 5}, {2, 6}});
    for (const std::uint32_t wild : {2U, 63U, 64U, 65U, 128U, 0x7fffffffU, 0xffffffffU}) {
        store(seat, wild);
        EXPECT_EQ(to_remote(), shared_remote) << wild;
    }
}

TEST_F(Classifier, SlotsThatNobodyHasDoNotCount) {
    (void)add_phase(*maps_, 0, std::vector<PhaseRate>{{1000, 1}, {2000, 2}});
    store({0, 3}, 1);
    EXPECT_EQ(to_remote(), shared_remote);
    const PhaseSeat seat = sit(0, 3);
    EXPECT_EQ(to_remote(), shared_remote) << "it rests at first";
    store(seat, 1);
    remove_phase_process(*maps_, seat);
    store(seat, 1);
    EXPECT_EQ(to_remote(), shared_remote);
}

TEST_F(Classifier, AsManyProcessesAsMayHavePhases) {
    for (std::uint32_t i = 1; i < HEADWAY_PHASES; ++i) {
        EXPECT_EQ(add_phase(*maps_, 0,
                            std::vector<PhaseRate>{{}, {1000 - i, static_cast<std::uint8_t>(i)}}),
                  i);
    }
    for (std::uint32_t i = 0; i < HEADWAY_PHASE_PROCESSES; ++i) {
        store(sit(i % 2, i), i % 2 == 0 && i < 63 ? i + 1 : 0);
    }
    EXPECT_EQ(to_remote(), with(shared_remote, 63)) << "the strictest is the last that is in a phase";
    store({0, 62}, 0);
    EXPECT_EQ(to_remote(), with(shared_remote, 61));
    remove_phase_process(*maps_, {0, 60});
    EXPECT_EQ(to_remote(), with(shared_remote, 59));
    store({0, HEADWAY_PHASE_SLOTS - 2}, 63);
    EXPECT_EQ(to_remote(), with(shared_remote, 63)) << "the last slot counts as the first";
    store({0, HEADWAY_PHASE_SLOTS - 2}, 0);
}

TEST_F(Classifier, AnArrayThatWasRenewedIsAnother) {
    const PhaseSeat seat = sit(1, 0);
    (void)add_phase(*maps_, 1, std::vector<PhaseRate>{{}, {2000, 2}});
    const int old = dup(maps_->slots_fd(1));
    remove_phase_process(*maps_, seat);
    const std::uint32_t job = 1;
    ASSERT_TRUE(maps_->renew(std::span(&job, 1)));
    sit(1, 0);
    headway_phase_slots slots{};
    slots.phase[0] = 1;
    const std::uint32_t first = 0;
    ASSERT_EQ(bpf_map_update_elem(old, &first, &slots, BPF_ANY), 0);
    EXPECT_EQ(to_remote(), shared_remote) << "the old array's owner reaches nothing";
    ASSERT_EQ(bpf_map_update_elem(maps_->slots_fd(1), &first, &slots, BPF_ANY), 0);
    EXPECT_EQ(to_remote(), with(shared_remote, 2));
    close(old);
}

TEST_F(Classifier, NobodyFreezesAJobsArray) {
    EXPECT_NE(bpf_map_freeze(maps_->slots_fd(0)), 0);
    set_phase_generation(*maps_, 0, 9);
    EXPECT_EQ(maps_->slots(0).generation, 9U);
}

// ---------------------------------------------------------------- several jobs

/// The path of this process's, below where they are mounted.
std::string own_cgroup() {
    std::ifstream in("/proc/self/cgroup");
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with("0::/")) return line.substr(4);
    }
    return "";
}

/// Where this process may be; the kernel's test of a program sends from there.
class Cgroup {
public:
    explicit Cgroup(const std::string& name) : folder_("/sys/fs/cgroup/" + name) {
        if (!name.empty()) mkdir(folder_.c_str(), 0755);
        struct stat found {};
        EXPECT_EQ(stat(folder_.c_str(), &found), 0) << folder_;
        id_ = found.st_ino;
    }
    void enter() const {
        std::ofstream procs(folder_ + "/cgroup.procs");
        procs << getpid() << std::flush;
        EXPECT_TRUE(procs) << folder_;
    }
    [[nodiscard]] std::uint64_t id() const { return id_; }

private:
    std::string folder_;
    std::uint64_t id_ = 0;
};

class SeveralJobs : public Classifier {
protected:
    void TearDown() override {
        root_.enter();
        for (const Cgroup* cgroup : {&root_, &first_, &second_, &third_}) maps_->forget_cgroup(cgroup->id());
        maps_->forget_user(root);
    }

    std::uint32_t to_remote_from(const Cgroup& cgroup) {
        cgroup.enter();
        return to_remote();
    }
    /// Seats a process of job 0 and one of job 1, in phases that limit both trunks.
    void two_jobs() {
        one_ = sit(0, 0);
        other_ = sit(1, 0);
        (void)add_phase(*maps_, 0, std::vector<PhaseRate>{{1000, 1}, {3000, 3}});
        (void)add_phase(*maps_, 1, std::vector<PhaseRate>{{1500, 4}, {2000, 2}});
        store(one_, 1);
        store(other_, 1);
        ASSERT_TRUE(maps_->set_cgroup(first_.id(), 0));
        ASSERT_TRUE(maps_->set_cgroup(second_.id(), 1));
        give_classes();
    }
    void give_classes() {
        set_own_classes(*maps_, 0, std::vector<std::uint16_t>{0x1000, first_remote});
        set_own_classes(*maps_, 1, std::vector<std::uint16_t>{0x1002, second_remote});
    }

    static constexpr std::uint16_t first_remote = 0x1001, second_remote = 0x1003;

    Cgroup root_{""}, first_{"first"}, second_{"second"}, third_{"third"};
    PhaseSeat one_, other_;
};

TEST_F(SeveralJobs, EachTakesItsOwnStrictest) {
    two_jobs();
    EXPECT_EQ(to_remote_from(first_), with(shared_remote, 2)) << "of all, before headwayd says otherwise";
    set_phases_apart(*maps_, true);
    EXPECT_EQ(to_remote_from(first_), with(first_remote, 3));
    EXPECT_EQ(to_remote_from(second_), with(second_remote, 2));
    EXPECT_EQ(classify(frame_v6("fd00:1::7")), with(0x1002, 4));
    EXPECT_EQ(classify(frame_v4("192.0.2.1")), 0U);
    first_.enter();
    EXPECT_EQ(classify(frame_v4("10.1.0.1")), with(0x1000, 1));
    for (const Cgroup* others : {&third_, &root_}) {
        EXPECT_EQ(to_remote_from(*others), with(shared_remote, 2)) << "the strictest of all";
    }
    maps_->forget_cgroup(first_.id());
    EXPECT_EQ(to_remote_from(first_), with(shared_remote, 2));
    set_phases_apart(*maps_, false);
    EXPECT_EQ(to_remote_from(second_), with(shared_remote, 2));
    set_phases_apart(*maps_, true);
    EXPECT_EQ(to_remote_from(second_), with(second_remote, 2));
    set_own_classes(*maps_, 1, {});
    EXPECT_EQ(to_remote_from(second_), with(shared_remote, 2));
}

// The kernel's test sends from a socket of root's.
TEST_F(SeveralJobs, PhasesOfOtherUsersThanRootHoldForTheirOwnPacketsOnly) {
    begin_phase_job(*maps_, 0, 1000);
    begin_phase_job(*maps_, 1, 1001);
    two_jobs();
    for (const bool are_apart : {false, true}) {
        set_phases_apart(*maps_, are_apart);
        for (const Cgroup* cgroup : {&first_, &second_, &third_, &root_}) {
            EXPECT_EQ(to_remote_from(*cgroup), shared_remote) << "not even in the job's cgroup";
        }
    }
    maps_->config().uid[1] = root;
    EXPECT_EQ(to_remote_from(third_), with(shared_remote, 2)) << "root's hold for all";
    EXPECT_EQ(to_remote_from(first_), with(shared_remote, 2));
    EXPECT_EQ(to_remote_from(second_), with(second_remote, 2));
}

// Where no cgroup tells, all jobs of the socket's user count, and no other's.
TEST_F(SeveralJobs, AUserOfWhomNoCgroupTells) {
    begin_phase_job(*maps_, 2, 1000);
    (void)add_phase(*maps_, 2, std::vector<PhaseRate>{{1, 7}, {1, 8}});
    store(sit(2, 0), 1);
    two_jobs();
    set_phases_apart(*maps_, true);
    ASSERT_TRUE(maps_->set_user(root, 0));
    EXPECT_EQ(to_remote_from(third_), with(first_remote, 2)) << "of both jobs of root";
    EXPECT_EQ(to_remote_from(second_), with(second_remote, 2)) << "its cgroup tells";
    maps_->forget_user(root);
    EXPECT_EQ(to_remote_from(third_), with(shared_remote, 2));
}

TEST_F(SeveralJobs, NothingIsClassifiedWhilePacingIsOff) {
    two_jobs();
    set_phases_off(*maps_, true);
    EXPECT_EQ(to_remote_from(first_), 0U);
    set_phases_off(*maps_, false);
    EXPECT_EQ(to_remote_from(first_), with(shared_remote, 2));
}

TEST_F(SeveralJobs, AJobWithoutALimitTakesTheStrictestOfAll) {
    two_jobs();
    (void)add_phase(*maps_, 0, std::vector<PhaseRate>{{1000, 1}, {}});
    set_phases_apart(*maps_, true);
    store(one_, 2);
    EXPECT_EQ(to_remote_from(first_), with(shared_remote, 2)) << "one rate for all is in one class";
    EXPECT_EQ(classify(frame_v4("10.1.0.1")), with(0x1000, 1));
    store(other_, 0);
    EXPECT_EQ(to_remote_from(first_), shared_remote);
    store(one_, 0);
    EXPECT_EQ(classify(frame_v4("10.1.0.1")), shared_own);
}

TEST_F(SeveralJobs, RestIsLeftToTheNextFilterIfAsked) {
    two_jobs();
    set_phases_apart(*maps_, true);
    leave_resting_packets(*maps_, true);
    EXPECT_EQ(to_remote_from(first_), with(first_remote, 3)) << "a phase is not";
    store(one_, 0);
    store(other_, 0);
    EXPECT_EQ(to_remote_from(first_), 0U);
    EXPECT_EQ(to_remote_from(third_), 0U);
    leave_resting_packets(*maps_, false);
    EXPECT_EQ(to_remote_from(first_), shared_remote);
}

TEST_F(SeveralJobs, ThereIsRoomForACgroupOfEachProcess) {
    for (std::uint64_t id = 1; id <= HEADWAY_PHASE_CGROUPS; ++id) {
        EXPECT_TRUE(maps_->set_cgroup(~id, 3)) << id;
    }
    EXPECT_FALSE(maps_->set_cgroup(7, 3));
    EXPECT_TRUE(maps_->set_cgroup(~std::uint64_t{1}, 4)) << "another owner needs no room";
    maps_->forget_cgroup(~std::uint64_t{1});
    EXPECT_TRUE(maps_->set_cgroup(7, 3));
    maps_->forget_cgroup(7);
    for (std::uint64_t id = 2; id <= HEADWAY_PHASE_CGROUPS; ++id) maps_->forget_cgroup(~id);
}

// Against the same rule in C++.
TEST_F(SeveralJobs, AnyJobsAsTheModelHasThem) {
    std::mt19937 random(4711);
    const auto below = [&](std::uint32_t limit) { return static_cast<std::uint32_t>(random() % limit); };
    constexpr std::uint32_t jobs = 5;
    test::FakePhaseMaps model(2);
    const std::array<PhaseMaps*, 2> both{maps_.get(), &model};
    std::uint8_t entry = 0;
    for (PhaseMaps* maps : both) {
        maps->config().shared_minor[own] = shared_own;
        maps->config().shared_minor[remote] = shared_remote;
    }
    for (std::uint32_t job = 0; job < jobs; ++job) {
        for (PhaseMaps* maps : both) begin_phase_job(*maps, job, job % 2 == 0 ? 0 : 1000);
        for (int phases = 0; phases < 6; ++phases) {
            std::vector<PhaseRate> rates;
            for (int trunk = 0; trunk < 2; ++trunk) {
                rates.push_back(below(4) == 0 ? PhaseRate{} : PhaseRate{1 + below(1'000'000), ++entry});
            }
            for (PhaseMaps* maps : both) (void)add_phase(*maps, job, rates);
        }
    }
    for (std::uint32_t i = 0; i < 40; ++i) {
        for (PhaseMaps* maps : both) add_phase_process(*maps, {i % jobs, i / jobs});
    }
    const std::array<const Cgroup*, 4> places{&root_, &first_, &second_, &third_};
    for (int round = 0; round < 3000; ++round) {
        const std::uint32_t what = below(42), who = below(40), phase = below(3) == 0 ? below(9) : 0;
        const Cgroup& place = *places[below(4)];
        const bool is_apart = below(4) != 0;
        const auto minor = static_cast<std::uint16_t>(0x1000 + below(100));
        const std::vector<std::uint16_t> classes(below(2) * 2, minor);
        for (PhaseMaps* maps : both) {
            if (what < 36) {
                __atomic_store_n(&maps->slots(who % jobs).phase[who / jobs], phase, __ATOMIC_RELEASE);
            } else if (what == 36) {
                maps->forget_cgroup(place.id());
            } else if (what == 37) {
                ASSERT_TRUE(maps->set_cgroup(place.id(), who % jobs));
            } else if (what == 38) {
                set_phases_apart(*maps, is_apart);
                leave_resting_packets(*maps, who == 0);
            } else if (what == 39) {
                set_own_classes(*maps, who % jobs, classes);
            } else if (what == 40) {
                ASSERT_TRUE(maps->set_user(root, who % 3 * 2));
            } else {
                maps->forget_user(root);
            }
        }
        place.enter();
        const auto expected = [&](std::uint32_t trunk) {
            const auto choice = model.classify(trunk, place.id(), root);
            return with(choice.minor, choice.entry);
        };
        ASSERT_EQ(to_remote(), expected(remote)) << round;
        ASSERT_EQ(classify(frame_v4("10.1.0.1")), expected(own)) << round;
    }
}

/// Nanoseconds that a run of the program takes, on the average of many.
std::uint32_t run_ns(const BpfPhaseMaps& maps) {
    const std::vector<char> frame = frame_v4("10.2.0.9");
    LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = frame.data(),
                .data_size_in = static_cast<__u32>(frame.size()), .repeat = 10000);
    EXPECT_EQ(bpf_prog_test_run_opts(maps.program().fd, &options), 0);
    return options.duration;
}

/// How many instructions the kernel's verifier has followed, for which headwayd waited.
std::uint32_t verified_instructions(const BpfPhaseMaps& maps) {
    bpf_prog_info info{};
    std::uint32_t info_bytes = sizeof(info);
    EXPECT_EQ(bpf_obj_get_info_by_fd(maps.program().fd, &info, &info_bytes), 0);
    return info.verified_insns;
}

/// Measures what a packet costs, for tests/bench/phase: virtual nanoseconds are instructions.
/// Nothing is asserted: where time is real, it is the host's.
TEST_F(Classifier, Cost) {
    auto nothing = BpfPhaseMaps::load({PhaseTrunk{}}, {object_, "phase_nothing"});
    ASSERT_TRUE(nothing) << nothing.error().message;
    const std::uint32_t empty_ns = run_ns(**nothing);
    std::printf("{\"verified_instructions\":%u}\n", verified_instructions(*maps_));
    (void)add_phase(*maps_, 0, std::vector<PhaseRate>{{}, {2000, 2}});
    const auto measure = [&](const char* state, std::uint32_t processes) {
        std::printf("{\"classifier\":\"%s\",\"processes\":%u,\"ns\":%d}\n", state, processes,
                    static_cast<int>(run_ns(*maps_)) - static_cast<int>(empty_ns));
    };
    measure("resting", 0);
    for (std::uint32_t i = 0; i < HEADWAY_PHASE_PROCESSES; ++i) {
        sit(0, i);
        if (i != 0 && i != 15 && i != 63 && i != 255) continue;
        for (std::uint32_t other = 0; other <= i; ++other) store({0, other}, 0);
        measure("resting", i + 1);
        for (std::uint32_t other = 0; other <= i; ++other) store({0, other}, 1);
        measure("active", i + 1);
    }
    for (std::uint32_t i = 0; i < HEADWAY_PHASE_PROCESSES; ++i) remove_phase_process(*maps_, {0, i});
    // half of them of another job, all in a phase
    (void)add_phase(*maps_, 1, std::vector<PhaseRate>{{}, {1000, 3}});
    if (!maps_->set_cgroup(Cgroup(own_cgroup()).id(), 1)) return;
    set_own_classes(*maps_, 1, std::vector<std::uint16_t>{0x1000, 0x1001});
    set_phases_apart(*maps_, true);
    for (const std::uint32_t processes : {2U, 16U, 64U, 256U}) {
        for (std::uint32_t i = 0; i < processes; ++i) store(sit(i % 2, i / 2), 1);
        measure("two jobs", processes);
        for (std::uint32_t i = 0; i < processes; ++i) remove_phase_process(*maps_, {i % 2, i / 2});
    }
}

/// Measures the cost with pacing by fq, of which the class's clock is a part.
TEST_F(Classifier, CostWithFq) {
    auto nothing = BpfPhaseMaps::load({PhaseTrunk{}}, {object_, "phase_nothing"});
    auto fq = BpfPhaseMaps::load(trunks_, fq_pacing_object());
    ASSERT_TRUE(nothing && fq) << fq.error().message;
    begin_phase_job(**fq, 0);
    add_phase_process(**fq, {0, 0});
    const auto classes = (*fq)->classes();
    ASSERT_TRUE(classes) << classes.error().message;
    headway_bpf_class one{};
    one.parent = 0x11;
    one.bytes_per_s[2] = 2000;
    ASSERT_TRUE((*classes)->put(0x11, {}) && (*classes)->put(shared_remote, one));
    const std::uint32_t phase = add_phase(**fq, 0, std::vector<PhaseRate>{{}, {2000, 2}});
    for (const std::uint32_t now : {0U, phase}) {
        __atomic_store_n(&(*fq)->slots(0).phase[0], now, __ATOMIC_RELEASE);
        std::printf("{\"classifier\":\"%s\",\"processes\":1,\"ns\":%d}\n", now == 0 ? "fq, resting" : "fq, active",
                    static_cast<int>(run_ns(**fq)) - static_cast<int>(run_ns(**nothing)));
    }
}

}  // namespace
}  // namespace headway

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    if (argc > 1) headway::object_path = argv[1];
    return RUN_ALL_TESTS();
}
