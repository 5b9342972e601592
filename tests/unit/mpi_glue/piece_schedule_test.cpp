// SPDX-License-Identifier: Apache-2.0
// Which piece goes when, for ranks that know all sizes; on two clusters of eight hosts with a rank each.
#include "piece_schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "exchange_order.hpp"
#include "network_links.hpp"
#include "rank_rates.hpp"

namespace headway::glue::test {
namespace {

constexpr int cluster_hosts = 8, job_ranks = 2 * cluster_hosts;
constexpr double host_bytes_per_s = 125e6, trunk_bytes_per_s = 312.5e6;  // 1 and 2.5 Gbit/s
constexpr double part_planned = 0.97 * 0.99;

std::vector<int> hosts_of_ranks() {
    std::vector<int> hosts(job_ranks);
    std::iota(hosts.begin(), hosts.end(), 0);
    return hosts;
}

bool is_in_a(int rank) { return rank < cluster_hosts; }

using Sizes = std::function<std::uint64_t(int from, int to)>;

SizeTable table_of(const Sizes& bytes) {
    SizeTable sizes(job_ranks);
    for (int from = 0; from < job_ranks; ++from) {
        for (int to = 0; to < job_ranks; ++to) sizes.row(from)[to] = from == to ? 0 : bytes(from, to);
    }
    return sizes;
}

std::map<std::string, Sizes> uneven_sizes() {
    auto random = std::make_shared<std::mt19937>(1);
    return {
        {"equal", [](int, int) { return 65536; }},
        {"a popular rank", [](int, int to) { return to == 3 ? 262144 : 16384; }},
        {"a rank that sends more", [](int from, int) { return from == 3 ? 262144 : 16384; }},
        {"two with twice as much", [](int, int to) { return to < 2 ? 65536 : 32768; }},
        {"some, some less", [](int, int to) { return to % 4 == 0 ? 65536 : 22000; }},
        {"any", [random](int, int) { return (*random)() % 131072; }},
        {"some nothing", [random](int, int) { return (*random)() % 2 * 50000; }},
    };
}

NetworkLinks links() {
    const double host = host_bytes_per_s * part_planned, trunk = trunk_bytes_per_s * part_planned;
    return {{"a", "b"}, {host, host}, {{trunk, trunk, {true, false}}, {trunk, trunk, {false, true}}}};
}

ExchangeOrder order_of(int rank) {
    RanksByCluster clusters(2);
    for (int one = 0; one < job_ranks; ++one) clusters[is_in_a(one) ? 0 : 1].push_back({one});
    return {clusters, rank};
}

/// A piece on its way: when it comes, from whom, to whom, and how long it is on the wire.
struct Frame {
    double time_s = 0;
    int from = 0, to = 0;
    std::uint64_t wire_bytes = 0;
};

struct Passed {
    std::vector<Frame> frames;
    std::uint64_t most_waiting_bytes = 0;
};

/// Those that `are_here` pass a link one after the other.
Passed pass(std::vector<Frame> frames, double bytes_per_s) {
    std::sort(frames.begin(), frames.end(), [](const Frame& one, const Frame& other) { return one.time_s < other.time_s; });
    Passed passed;
    std::deque<Frame> waiting;
    double free_s = 0;
    std::uint64_t waiting_bytes = 0;
    for (Frame frame : frames) {
        for (; !waiting.empty() && waiting.front().time_s <= frame.time_s; waiting.pop_front())
            waiting_bytes -= waiting.front().wire_bytes;
        free_s = std::max(free_s, frame.time_s) + static_cast<double>(frame.wire_bytes) / bytes_per_s;
        frame.time_s = free_s;
        waiting.push_back(frame);
        waiting_bytes += frame.wire_bytes;
        passed.most_waiting_bytes = std::max(passed.most_waiting_bytes, waiting_bytes);
        passed.frames.push_back(frame);
    }
    return passed;
}

std::vector<Frame> of_those(const std::vector<Frame>& frames, const auto& are_here) {
    std::vector<Frame> some;
    std::copy_if(frames.begin(), frames.end(), std::back_inserter(some), are_here);
    return some;
}

std::vector<Frame> sent_by(int rank, const SizeTable& sizes, const PieceSchedule& schedule, std::chrono::nanoseconds duration) {
    const ExchangeOrder order = order_of(rank);
    std::vector<Frame> frames;
    for (int round = 0; round < schedule.rounds(); ++round) {
        for (int step = 0; step < order.steps(); ++step) {
            const int to = order.to(step);
            if (to == nobody) continue;
            const Piece piece = schedule.piece_in(round, {rank, to, false}, sizes.sent(rank, to));
            if (piece.bytes == 0) continue;
            const std::chrono::duration<double> moment = schedule.moment_of(round, step, order.steps(), duration);
            frames.push_back({moment.count(), rank, to, wire_bytes_of(piece.bytes)});
        }
    }
    return frames;
}

std::chrono::nanoseconds duration_of(const SizeTable& sizes, const NetworkLinks& network) {
    LinkLoads loads(network, [] {
        std::vector<int> clusters;
        for (int rank = 0; rank < job_ranks; ++rank) clusters.push_back(is_in_a(rank) ? 0 : 1);
        return clusters;
    }());
    for (int from = 0; from < job_ranks; ++from) {
        for (int to = 0; to < job_ranks; ++to) {
            const std::uint64_t bytes = sizes.sent(from, to), rest = bytes % framed_piece_bytes;
            if (bytes > 0)
                loads.add(static_cast<std::size_t>(from), static_cast<std::size_t>(to),
                          bytes / framed_piece_bytes * wire_bytes_of(framed_piece_bytes) + (rest > 0 ? wire_bytes_of(rest) : 0));
        }
    }
    return loads.duration(false);
}

TEST(PieceSchedule, EachByteGoesOnce) {
    for (const auto& [name, bytes] : uneven_sizes()) {
        const SizeTable sizes = table_of(bytes);
        for (const auto& schedule : {PieceSchedule(), PieceSchedule::of_kernel(7),
                                     PieceSchedule::of_clocks(sizes, hosts_of_ranks(), framed_piece_bytes),
                                     PieceSchedule::of_clocks(sizes, hosts_of_ranks(), 5764)}) {
            for (int from = 0; from < job_ranks; ++from) {
                for (int to = 0; to < job_ranks; ++to) {
                    std::size_t next = 0;
                    for (int round = 0; round < schedule.rounds(); ++round) {
                        const Piece piece = schedule.piece_in(round, {from, to, from == to}, sizes.sent(from, to));
                        if (piece.bytes == 0) continue;
                        ASSERT_EQ(piece.first, next) << name << ", " << from << " to " << to << ", round " << round;
                        next += piece.bytes;
                    }
                    ASSERT_EQ(next, sizes.sent(from, to)) << name << ", " << from << " to " << to;
                }
            }
        }
    }
}

TEST(PieceSchedule, OfAClockHasPiecesThatFillFrames) {
    const SizeTable sizes = table_of([](int, int to) { return to == 0 ? 30 * 1420 + 1 : 10 * 1420; });
    const auto schedule = PieceSchedule::of_clocks(sizes, hosts_of_ranks(), framed_piece_bytes);
    EXPECT_EQ(schedule.rounds(), 31);
    std::vector<int> with_a_piece;
    for (int round = 0; round < schedule.rounds(); ++round) {
        const std::size_t bytes = schedule.piece_in(round, {1, 2, false}, sizes.sent(1, 2)).bytes;
        EXPECT_TRUE(bytes == 0 || bytes == framed_piece_bytes) << bytes;
        if (bytes > 0) with_a_piece.push_back(round);
    }
    ASSERT_EQ(with_a_piece.size(), 10U);
    for (std::size_t at = 1; at < with_a_piece.size(); ++at) {
        EXPECT_GE(with_a_piece[at] - with_a_piece[at - 1], 3);
        EXPECT_LE(with_a_piece[at] - with_a_piece[at - 1], 4);
    }
}

/// Messages of 16 GiB, for four minutes.
TEST(PieceSchedule, MomentsOfLongCallsAreRightToo) {
    const SizeTable sizes = table_of([](int, int to) { return to == 0 ? std::uint64_t{16} << 30 : 1; });
    const auto schedule = PieceSchedule::of_clocks(sizes, hosts_of_ranks(), framed_piece_bytes);
    const auto moment = schedule.moment_of(schedule.rounds() / 2, 0, 2 * job_ranks, std::chrono::minutes(4));
    EXPECT_NEAR(std::chrono::duration<double>(moment).count(), 120, 1e-4);
}

TEST(PieceSchedule, BetweenRanksOfOneHostAMessageIsWhole) {
    const SizeTable sizes = table_of([](int, int) { return 65536; });
    const auto schedule = PieceSchedule::of_clocks(sizes, hosts_of_ranks(), framed_piece_bytes);
    int pieces = 0;
    for (int round = 0; round < schedule.rounds(); ++round) {
        const Piece piece = schedule.piece_in(round, {1, 2, true}, 65536);
        pieces += piece.bytes > 0 ? 1 : 0;
        EXPECT_TRUE(piece.bytes == 0 || piece.bytes == 65536U);
    }
    EXPECT_EQ(pieces, 1);
}

/// What the demo's network `shallow` has: ports of 16 KiB, trunks of 32.
TEST(PieceSchedule, OfAClockAsksShallowBuffersForNoMoreThanTheyHold) {
    for (const auto& [name, bytes] : uneven_sizes()) {
        const SizeTable sizes = table_of(bytes);
        const NetworkLinks network = links();
        const auto duration = duration_of(sizes, network);
        const auto schedule = PieceSchedule::of_clocks(sizes, hosts_of_ranks(), framed_piece_bytes);
        std::vector<Frame> at_switches, at_ports;
        for (int rank = 0; rank < job_ranks; ++rank) {
            const Passed link = pass(sent_by(rank, sizes, schedule, duration), host_bytes_per_s);
            EXPECT_LE(link.most_waiting_bytes, 3U * 1538) << name << ", rank " << rank;
            at_switches.insert(at_switches.end(), link.frames.begin(), link.frames.end());
        }
        for (const bool from_a : {true, false}) {
            const Passed trunk = pass(of_those(at_switches,
                                               [&](const Frame& frame) {
                                                   return is_in_a(frame.from) == from_a && is_in_a(frame.to) != from_a;
                                               }),
                                      trunk_bytes_per_s);
            EXPECT_LE(trunk.most_waiting_bytes, 32U * 1024) << name;
            at_ports.insert(at_ports.end(), trunk.frames.begin(), trunk.frames.end());
        }
        const auto within = of_those(at_switches, [](const Frame& frame) { return is_in_a(frame.from) == is_in_a(frame.to); });
        at_ports.insert(at_ports.end(), within.begin(), within.end());
        double end_s = 0;
        for (int rank = 0; rank < job_ranks; ++rank) {
            const Passed port = pass(of_those(at_ports, [&](const Frame& frame) { return frame.to == rank; }), host_bytes_per_s);
            EXPECT_LE(port.most_waiting_bytes, 8U * 1024) << name << ", rank " << rank;
            if (!port.frames.empty()) end_s = std::max(end_s, port.frames.back().time_s);
        }
        EXPECT_LE(end_s, 1.02 * std::chrono::duration<double>(duration).count()) << name;
    }
}

TEST(LinkLoads, TheFullestLinkCounts) {
    const NetworkLinks network{{"a", "b", "c"}, {100, 100, 10},
                               {{50, 25, {true, false, false}}, {200, 200, {true, true, false}}}};
    LinkLoads loads(network, {0, 0, 1, 2});
    const auto seconds = [&] { return std::chrono::duration<double>(loads.duration(false)).count(); };
    loads.add(0, 1, 300);
    EXPECT_DOUBLE_EQ(seconds(), 3) << "a host's link";
    loads.add(0, 2, 500);
    EXPECT_DOUBLE_EQ(seconds(), 10) << "the trunk of a, upwards; from a to b crosses no other one";
    loads.add(2, 1, 300);
    EXPECT_DOUBLE_EQ(seconds(), 12) << "the same, downwards";
    loads.add(0, 3, 200);
    EXPECT_DOUBLE_EQ(seconds(), 20) << "the slow host of c";
    loads.clear();
    EXPECT_DOUBLE_EQ(seconds(), 0);
}

// As two links from four messages on that are equal, from eight as three; a larger one makes the others
// count for fewer.
TEST(LinkLoads, OfSeveralLinksTheFullestCounts) {
    const NetworkLinks network{{"a", "b"}, {1e6, 1e6}, {{100, 100, {true, false}, {1, 1, 2, 3}}}};
    LinkLoads loads(network, {0, 0, 1, 1});
    const auto seconds = [&] { return std::chrono::duration<double>(loads.duration(false)).count(); };
    loads.add(0, 2, 300);
    EXPECT_DOUBLE_EQ(seconds(), 3) << "one message has one link";
    for (int message = 1; message < 4; ++message) loads.add(1, 2, 300);
    EXPECT_DOUBLE_EQ(seconds(), 1200 / 200.0);
    for (int message = 4; message < 20; ++message) loads.add(1, 3, 300);
    EXPECT_DOUBLE_EQ(seconds(), 6000 / 300.0);
    loads.add(1, 3, 6000);
    EXPECT_DOUBLE_EQ(seconds(), 12000 / 100.0);
    loads.clear();
    loads.add(0, 2, 300);
    EXPECT_DOUBLE_EQ(seconds(), 3);
}

TEST(NetworkLinks, AreWhatThePlannerSays) {
    const auto read = [](const std::string& links) {
        return NetworkLinks::read(*JsonObject::read("{\"links\":" + links + "}"));
    };
    const auto links = read(
        R"({"clusters":["a","b"],"host_bytes_per_s":[3,4],"trunk_up_bytes_per_s":[5],)"
        R"("trunk_down_bytes_per_s":[6],"below_trunk":[0,1],"part_for_larger_pieces":0.5})");
    ASSERT_TRUE(links.are_known());
    EXPECT_EQ(links.host_bytes_per_s, (std::vector<double>{3, 4}));
    ASSERT_EQ(links.trunks.size(), 1U);
    EXPECT_EQ(links.trunks[0].below, (std::vector<bool>{false, true}));
    LinkLoads loads(links, {0, 1});
    loads.add(0, 1, 15);
    EXPECT_EQ(loads.duration(false).count(), 5'000'000'000);
    EXPECT_EQ(loads.duration(true).count(), 10'000'000'000) << "in pieces of several frames";
    const std::string one_trunk =
        R"({"clusters":["a","b"],"host_bytes_per_s":[3,4],"trunk_up_bytes_per_s":[5,5],)"
        R"("trunk_down_bytes_per_s":[6,6],"below_trunk":[0,1,1,0],"trunk_effective_thousandths":)";
    EXPECT_EQ(read(one_trunk + "[1000,2500,1000,1000]}").trunks[0].effective_links, (std::vector<double>{1, 2.5}));
    EXPECT_FALSE(read(one_trunk + "[1000,2500,1000]}").are_known());
    EXPECT_FALSE(read(one_trunk + "[1000,0]}").are_known());
    for (const char* wrong : {
             "null", "{}", R"({"clusters":["a"],"host_bytes_per_s":[1,2]})", R"({"clusters":["a"],"host_bytes_per_s":[0]})",
             R"({"clusters":["a"],"host_bytes_per_s":[1],"trunk_up_bytes_per_s":[1]})",
             R"({"clusters":["a"],"host_bytes_per_s":[1],"trunk_up_bytes_per_s":[1],"trunk_down_bytes_per_s":[1]})",
         })
        EXPECT_FALSE(read(wrong).are_known()) << wrong;
}

}  // namespace
}  // namespace headway::glue::test
