// SPDX-License-Identifier: Apache-2.0
// What top makes of two samples, and of the kernel's counters.
#include <gtest/gtest.h>
#include <libmnl/libmnl.h>
#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/pkt_sched_gap.h>
#include <linux/rtnetlink.h>
#include <nlohmann/json.hpp>

#include <array>

#include "cli/top_frame.hpp"
#include "kernel/netlink_traffic_control.hpp"
#include "look/gap_counters.hpp"

namespace headway::test {
namespace {

using namespace std::chrono_literals;

TopSample sample(std::uint64_t wire_bytes, std::chrono::nanoseconds at, std::uint64_t drops = 0) {
    TopSample one;
    one.status = Json::parse(R"({
        "daemon": {"version": "1.2", "node": "a0", "interface": "eth0", "link_bits_per_s": 20000000},
        "in_step": true, "kernel_error": null, "client_count": 2, "active_enters": 0,
        "classes": [{"classid": "1:11", "cluster": "b", "wanted_bytes_per_s": 773437,
                     "in_kernel": true, "bytes_per_s": 773437, "packets": 5, "backlog_bytes": 1500}],
        "clients": [{"job": "12", "uid": 1000, "phase": 1}, {"job": "12", "uid": 1000, "phase": 1}],
        "jobs": [{"job": "12", "uid": 1000, "processes": 2, "weight": 1, "parts": {"a": 1.0, "b": 0.5},
                  "phases": [{"phase": 1, "bytes_per_s": 773437}]}]})");
    one.status["classes"][0]["wire_bytes"] = wire_bytes;
    one.status["classes"][0]["drops"] = drops;
    one.at = at;
    return one;
}

TEST(TopFrame, CountersBecomeRates) {
    TopSample before = sample(1'000'000, 10s), now = sample(2'250'000, 12s, 3);
    before.tcp = TcpCounters{100, 1000};
    now.tcp = TcpCounters{101, 1010};
    before.gaps.emplace().gap_wire_bytes = 5'000'000;
    now.gaps.emplace().gap_wire_bytes = 6'250'000;
    const Json frame = top_frame(before, now);
    EXPECT_EQ(frame["interval_s"], 2.0);
    EXPECT_EQ(frame["trunks"][0]["sent_bits_per_s"], 5'000'000);
    EXPECT_EQ(frame["trunks"][0]["of_link"], 0.25);
    EXPECT_EQ(frame["trunks"][0]["drops"], 3);
    EXPECT_EQ(frame["gap_share"], 0.25);
    EXPECT_EQ(frame["tcp"]["timeouts"], 1);
    EXPECT_EQ(frame["tcp"]["retransmissions"], 10);
    EXPECT_EQ(frame["jobs"][0]["phases"][0]["processes"], 2);
}

TEST(TopFrame, ACounterThatBeganAnewCountsFromZero) {
    const Json frame = top_frame(sample(9'000'000, 10s), sample(250'000, 11s));
    EXPECT_EQ(frame["trunks"][0]["sent_bits_per_s"], 2'000'000);
}

TEST(TopFrame, WithoutGapsAndTcpCountersTheyAreNull) {
    const Json frame = top_frame(sample(0, 10s), sample(0, 11s));
    EXPECT_EQ(frame["gap_share"], nullptr);
    EXPECT_EQ(frame["tcp"], nullptr);
}

TEST(TopFrame, LinesFit) {
    const Json frame = top_frame(sample(0, 10s), sample(1'000'000, 11s));
    const auto all = top_lines(frame, 0, 0);
    EXPECT_EQ(all[0], "headway 1.2  node a0  interface eth0  link 20 Mbit/s");
    EXPECT_NE(all[4].find("8 Mbit/s"), std::string::npos) << all[4];
    EXPECT_NE(all.back().find("50.0 %"), std::string::npos) << all.back();
    EXPECT_NE(all.back().find("1 (6.187 Mbit/s) x2"), std::string::npos) << all.back();
    for (std::size_t width = 1; width < 90; width += 7) {
        for (std::size_t height = 1; height < 9; ++height) {
            const auto lines = top_lines(frame, width, height);
            EXPECT_LE(lines.size(), height);
            for (const std::string& line : lines) EXPECT_LE(line.size(), width);
        }
    }
}

TEST(TopFrame, AnyAnswerCanBeShown) {
    for (const char* text : {"{}", "[]", "null", R"({"classes":3,"jobs":{},"clients":[1],"daemon":[]})",
                             R"({"classes":[1,{}],"jobs":[{"phases":[2]},"x"],"clients":[{"phase":1}]})"}) {
        TopSample odd;
        odd.status = Json::parse(text);
        EXPECT_FALSE(top_lines(top_frame(odd, odd), 80, 24).empty()) << text;
    }
}

TEST(ProcNetCounter, ReadsTheNumberBelowTheName) {
    constexpr std::string_view text = "TcpExt: SyncookiesSent TCPTimeouts TCPLossProbes\n"
                                      "TcpExt: 1 22 333\nIpExt: InNoRoutes\nIpExt: 4\n";
    EXPECT_EQ(proc_net_counter(text, "TcpExt:", "TCPTimeouts"), 22U);
    EXPECT_EQ(proc_net_counter(text, "IpExt:", "InNoRoutes"), 4U);
    EXPECT_EQ(proc_net_counter(text, "TcpExt:", "InNoRoutes"), std::nullopt);
    EXPECT_EQ(proc_net_counter("TcpExt: TCPTimeouts\nTcpExt: x\n", "TcpExt:", "TCPTimeouts"),
              std::nullopt);
    EXPECT_EQ(proc_net_counter("TcpExt: TCPTimeouts", "TcpExt:", "TCPTimeouts"), std::nullopt);
    EXPECT_TRUE(read_tcp_counters()) << "of this machine";
}

TEST(GapCounters, AreThoseOfTheDevicesRoot) {
    alignas(NLMSG_ALIGNTO) std::array<char, 1024> bytes{};
    nlmsghdr* header = mnl_nlmsg_put_header(bytes.data());
    header->nlmsg_type = RTM_NEWQDISC;
    auto* tc = static_cast<tcmsg*>(mnl_nlmsg_put_extra_header(header, sizeof(tcmsg)));
    tc->tcm_ifindex = 7;
    tc->tcm_parent = TC_H_ROOT;
    mnl_attr_put_strz(header, TCA_KIND, "gap");
    nlattr* nest = mnl_attr_nest_start(header, TCA_STATS2);
    tc_gap_xstats xstats{};
    xstats.type = TC_GAP_XSTATS_QDISC;
    xstats.qdisc.gap_packets = 11;
    xstats.qdisc.gap_wire_bytes = 12;
    xstats.qdisc.expired = 13;
    mnl_attr_put(header, TCA_STATS_APP, sizeof(xstats), &xstats);
    mnl_attr_nest_end(header, nest);
    const auto root = decode_root_qdisc(header, 7);
    ASSERT_TRUE(root && *root);
    EXPECT_EQ((*root)->counters.gap_packets, 11U);
    EXPECT_EQ((*root)->counters.gap_wire_bytes, 12U);
    EXPECT_EQ((*root)->counters.expired, 13U);
    EXPECT_EQ((*root)->counters.wire_bytes, 0U);
    EXPECT_FALSE(*decode_root_qdisc(header, 8));
    tc->tcm_parent = 0x10010;
    EXPECT_FALSE(*decode_root_qdisc(header, 7));
    EXPECT_FALSE(read_gap_counters("no-such-dev"));
}

}  // namespace
}  // namespace headway::test
