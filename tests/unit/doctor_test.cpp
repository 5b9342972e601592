// SPDX-License-Identifier: Apache-2.0
// headway doctor: what it makes of two looks, and how it reads the kernel's answers.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <libmnl/libmnl.h>
#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "doctor/report.hpp"
#include "fake_kernel_writer.hpp"
#include "kernel/tested_kernels.hpp"
#include "look/neighbours.hpp"
#include "look/netlink_route.hpp"
#include "look/node_counters.hpp"
#include "look/pause_counters.hpp"

namespace headway::test {
namespace {

using nlohmann::json;

/// A node with one interface and nothing wrong.
Look healthy() {
    Look look;
    look.paths.push_back({"b0", "10.2.0.1", "eth0", "", "10.1.0.1", 0, std::nullopt, ""});
    look.devices["eth0"] = {{{"speed", "1000"}, {"duplex", "full"}, {"mtu", "1500"}, {"carrier", "1"},
                             {"driver_name", "igb"}, {"tso", "on"}, {"gso", "on"}, {"gro", "on"}},
                            {{"statistics/rx_missed_errors", 7}, {"ethtool/rx_flow_control_xoff", 3}},
                            "mq",
                            true};
    look.interfaces["eth0"] = {"10.1.0.1", *parse_ip_prefix("10.1.0.0/16"), BitsPerSecond{1'000'000'000}};
    look.settings = {{"tcp_early_retrans", "3"}, {"tcp_recovery", "1"}, {"tcp_sack", "1"},
                     {"tcp_moderate_rcvbuf", "1"}, {"tcp_slow_start_after_idle", "0"}, {"tcp_autocorking", "0"},
                     {"tcp_wmem", "4096 16384 4194304"}, {"tcp_rmem", "4096 131072 6291456"},
                     {"tcp_mem", "1000 2000 3000"}, {"tcp_ecn", "2"}, {"arp_ignore", "0"},
                     {"netdev_max_backlog", "1000"}, {"nf_conntrack_max", "65536"}};
    look.tcp = {{"OutSegs", 1'000'000}, {"RetransSegs", 20}, {"TCPTimeouts", 4}, {"TCPSynRetrans", 0},
                {"TCPSACKReorder", 0}, {"TCPTSReorder", 0}, {"TCPMemoryPressures", 0}, {"IPReversePathFilter", 0},
                {"InCsumErrors", 0}};
    look.node = {{"softnet_drops", 3}, {"conntrack_drops", 5}, {"processor_waits_us", 1'000'000},
                 {"memory_pages", 1'000'000}};
    look.daemon = json{{"in_step", true}, {"kernel_error", nullptr}, {"feedback", nullptr},
                       {"classes", json::array()}};
    return look;
}

std::vector<Finding> found(const Look& before, const Look& after) {
    return judge(before, after, std::chrono::seconds(5));
}

/// Returns the first finding after a change, whatever else it shows.
template <class Change>
Finding first_after(Change change) {
    const Look before = healthy();
    Look after = before;
    change(after);
    const auto findings = found(before, after);
    return findings.empty() ? Finding{.seen = "nothing"} : findings.front();
}

template <class Change>
void expect(Weight weight, const std::string& words, Change change) {
    const Finding finding = first_after(change);
    EXPECT_EQ(finding.weight, weight) << finding.seen;
    EXPECT_NE(finding.seen.find(words), std::string::npos) << finding.seen;
    EXPECT_FALSE(finding.to_do.empty());
}

TEST(Doctor, AHealthyNodeHasNothing) {
    const auto findings = found(healthy(), healthy());
    EXPECT_TRUE(findings.empty()) << findings.front().seen;
}

TEST(Doctor, TimeOutsComeFirstAndNameTheirLength) {
    expect(Weight::stalls, "12 retransmission time-outs in 5 s: each has held a connection for 200 ms",
           [](Look& look) {
               look.tcp["TCPTimeouts"] += 12;
               look.settings["tcp_recovery"] = "0";
           });
    expect(Weight::stalls, "for 5 ms or more", [](Look& look) {
        look.tcp["TCPTimeouts"] += 1;
        look.paths.front().rto_min_ms = 5;
    });
}

TEST(Doctor, RetransmissionsWithoutTimeOutsCountFromOneInAThousand) {
    const auto sent_again = [](std::uint64_t again) {
        return [again](Look& look) {
            look.tcp["OutSegs"] += 10'000;
            look.tcp["RetransSegs"] += again;
        };
    };
    EXPECT_EQ(first_after(sent_again(10)).seen, "nothing");
    expect(Weight::loses, "11 of 10000 segments were sent again", sent_again(11));
}

TEST(Doctor, WithoutSelectiveAcknowledgementsLossesHaveACause) {
    const auto without_sack = [](std::uint64_t again, std::uint64_t timeouts) {
        return [=](Look& look) {
            look.settings["tcp_sack"] = "0";
            look.tcp["OutSegs"] += 10'000;
            look.tcp["RetransSegs"] += again;
            look.tcp["TCPTimeouts"] += timeouts;
        };
    };
    expect(Weight::slows, "tcp_sack is 0", without_sack(0, 0));
    expect(Weight::loses, "tcp_sack is 0", without_sack(100, 0));
    expect(Weight::stalls, "tcp_sack is 0", without_sack(100, 1));
}

/// Returns a change after which a connection to b0 has counted this.
auto connected(const TcpInfoCounts& counts) {
    return [counts](Look& look) { look.paths.front().connections[1] = counts; };
}

TEST(Doctor, FullSegmentsThatVanishAreAnMtu) {
    TcpInfoCounts counts;
    counts.acknowledged_bytes = 38;
    counts.segment_bytes = 1448;
    counts.retransmissions = 2;
    expect(Weight::loses, "small packets reach b0 and those of full size do not", connected(counts));
    counts.retransmissions = 1;
    EXPECT_EQ(first_after(connected(counts)).seen, "nothing");
    counts.retransmissions = 2;
    counts.acknowledged_bytes = 1448;
    EXPECT_EQ(first_after(connected(counts)).seen, "nothing") << "one has arrived";
    counts.acknowledged_bytes = 0;
    EXPECT_EQ(first_after(connected(counts)).seen, "nothing") << "nothing arrives, whatever its size";
}

TEST(Doctor, AConnectionTellsWhatItWaitsFor) {
    TcpInfoCounts counts;
    counts.busy_us = 1'000'000;
    counts.receiver_limited_us = 510'000;
    expect(Weight::slows, "b0 receives too slowly: its receive window was full in 51 %", connected(counts));
    counts.receiver_limited_us = 900'001;
    expect(Weight::loses, "b0 receives too slowly", connected(counts));
    counts.receiver_limited_us = 500'000;
    EXPECT_EQ(first_after(connected(counts)).seen, "nothing");
    counts.send_buffer_limited_us = 510'000;
    expect(Weight::slows, "the send buffer (tcp_wmem, 4096 16384 4194304) was too small", connected(counts));
    counts.busy_us = 99'999;
    EXPECT_EQ(first_after(connected(counts)).seen, "nothing") << "too short to tell";
}

TEST(Doctor, WithoutWindowScalingTheReceiverIsNotBlamed) {
    Look look = healthy(), before = look;
    TcpInfoCounts& counts = look.paths.front().connections[1];
    counts.busy_us = counts.receiver_limited_us = 1'000'000;
    look.settings["tcp_window_scaling"] = "0";
    const auto findings = found(before, look);
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings.front().to_do, "sysctl -w net.ipv4.tcp_window_scaling=1");
}

TEST(Doctor, WhatAConnectionWaitedForBeforeTheLookIsNoReason) {
    Look look = healthy();
    TcpInfoCounts& counts = look.paths.front().connections[1];
    counts.busy_us = counts.receiver_limited_us = 1'000'000;
    EXPECT_TRUE(found(look, look).empty());
}

/// A second in which a connection has delivered so much, with these round trips.
TcpInfoCounts delivered(std::uint64_t segments, std::uint32_t rtt_us, std::uint32_t least_rtt_us) {
    TcpInfoCounts counts;
    counts.segments = segments;
    counts.segment_bytes = 1448;
    counts.acknowledged_bytes = segments * 1448;
    counts.busy_us = 1'000'000;
    counts.rtt_us = rtt_us;
    counts.least_rtt_us = least_rtt_us;
    return counts;
}

TEST(Doctor, FullWindowsThatWaitAreInAQueue) {
    expect(Weight::slows, "packets to b0 wait for 50 ms in a queue on the way (round trips take 60.0 ms, and 10.0",
           connected(delivered(8000, 60'000, 10'000)));
    EXPECT_EQ(first_after(connected(delivered(8000, 59'999, 10'000))).seen, "nothing");
    EXPECT_EQ(first_after(connected(delivered(8000, 89'000, 30'000))).seen, "nothing") << "not three times as long";
    EXPECT_EQ(first_after(connected(delivered(8000, 60'000, 0))).seen, "nothing") << "nobody knows the least";
    TcpInfoCounts idle = delivered(8000, 60'000, 10'000);
    idle.busy_us = 99'999;
    EXPECT_EQ(first_after(connected(idle)).seen, "nothing");
}

TEST(Doctor, SingleSegmentsThatWaitAreAcknowledgedLate) {
    expect(Weight::slows, "small messages to b0 wait for delayed acknowledgements: round trips take 20 ms",
           connected(delivered(50, 20'000, 100)));
    EXPECT_EQ(first_after(connected(delivered(50, 9'000, 100))).seen, "nothing");
    EXPECT_EQ(first_after(connected(delivered(50, 20'000, 3'000))).seen, "nothing") << "a long way";
    TcpInfoCounts lossy = delivered(50, 20'000, 100);
    lossy.retransmissions = 1;
    EXPECT_EQ(first_after(connected(lossy)).seen, "nothing") << "it may be what was lost that they wait for";
}

TEST(Doctor, WindowsThatBeginAgainCountOverLongWays) {
    const auto restarted = [](std::uint32_t times, std::uint32_t least_rtt_us, const char* setting, const char* control) {
        return [=](Look& look) {
            look.paths.front().connections[1].least_rtt_us = least_rtt_us;
            look.paths.front().restarts = times;
            look.paths.front().congestion_control = control;
            look.settings["tcp_slow_start_after_idle"] = setting;
        };
    };
    expect(Weight::slows, "began again with ten segments 2 times after a pause", restarted(2, 1000, "1", ""));
    expect(Weight::note, "", restarted(1, 1000, "1", ""));
    expect(Weight::note, "", restarted(2, 999, "1", ""));
    expect(Weight::note, "", restarted(2, 1000, "1", "bbr"));
    EXPECT_EQ(first_after(restarted(2, 1000, "0", "")).seen, "nothing");
}

TEST(Doctor, GlancesAtAConnectionKeepItsLongestRoundTripAndItsRestarts) {
    HostPath path;
    const auto glance = [&](std::uint32_t rtt_us, std::uint32_t window_segments, std::uint64_t retransmissions) {
        bring_up_to_date(path, 1, {.retransmissions = retransmissions, .rtt_us = rtt_us, .window_segments = window_segments});
    };
    glance(500, 10, 0);
    glance(900, 100, 0);
    glance(300, 51, 0);
    EXPECT_EQ(path.longest_rtt_us(), 900U);
    EXPECT_EQ(path.restarts, 0U);
    glance(300, 25, 0);
    EXPECT_EQ(path.restarts, 1U);
    glance(300, 10, 3);
    EXPECT_EQ(path.restarts, 1U) << "something was lost";
}

TEST(Doctor, OpeningThatIsLateBecauseOfEcn) {
    const auto opened = [](const char* setting, std::uint64_t again, bool is_ecn_used) {
        return [=](Look& look) {
            look.settings["tcp_ecn"] = setting;
            look.tcp["TCPSynRetrans"] += again;
            look.paths.front().connections[1] = {.segments = 5, .is_ecn_used = is_ecn_used};
        };
    };
    expect(Weight::stalls, "offers ECN (tcp_ecn is 1)", opened("1", 1, false));
    EXPECT_EQ(first_after(opened("1", 1, true)).seen, "nothing");
    EXPECT_EQ(first_after(opened("1", 0, false)).seen, "nothing") << "the host does not want it";
    EXPECT_EQ(first_after(opened("2", 1, false)).seen, "nothing") << "nobody has offered it";
}

TEST(Doctor, AHostWithoutANeighbourCannotBeReached) {
    expect(Weight::stalls, "b0 cannot be reached: nobody answers ARP for 10.2.0.1 on eth0",
           [](Look& look) { look.paths.front().is_without_neighbour = true; });
    expect(Weight::stalls, "nobody answers ARP for its gateway 10.1.0.254 on eth0", [](Look& look) {
        look.paths.front().is_without_neighbour = true;
        look.paths.front().gateway = "10.1.0.254";
    });
}

TEST(Doctor, ANameThatTakesLong) {
    const auto took = [](double seconds) {
        return [seconds](Look& look) { look.paths.front().look_up_s = seconds; };
    };
    expect(Weight::slows, "the name b0 took 5.0 s to look up", took(5));
    EXPECT_EQ(first_after(took(0.49)).seen, "nothing");
}

TEST(Doctor, WhatTheNodeDropsItself) {
    const auto of_tcp = [](const char* counter, std::uint64_t by) {
        return [=](Look& look) { look.tcp[counter] += by; };
    };
    const auto of_node = [](const char* counter, std::uint64_t by) {
        return [=](Look& look) { look.node[counter] += by; };
    };
    expect(Weight::stalls, "connection tracking has dropped 2 packets in 5 s: its table has room for 65536",
           of_node("conntrack_drops", 2));
    EXPECT_EQ(first_after(of_node("conntrack_drops", 2)).to_do.find("sysctl -w net.netfilter.nf_conntrack_max=262144"), 0U);
    expect(Weight::stalls, "(rp_filter, the reverse path filter)", of_tcp("IPReversePathFilter", 1));
    expect(Weight::loses, "2 packets were dropped in 5 s (netdev_max_backlog is 1000)", of_node("softnet_drops", 2));
    EXPECT_EQ(first_after(of_node("softnet_drops", 2)).to_do.find("sysctl -w net.core.netdev_max_backlog=4000"), 0U);
    expect(Weight::loses, "(tcp_mem is 1000 2000 3000)", of_tcp("TCPMemoryPressures", 1));
    EXPECT_EQ(first_after(of_tcp("TCPMemoryPressures", 1)).to_do, "sysctl -w net.ipv4.tcp_mem=\"93750 125000 187500\"");
    expect(Weight::loses, "3 segments arrived with a wrong checksum in 5 s", of_tcp("InCsumErrors", 3));
    EXPECT_EQ(first_after(of_tcp("InCsumErrors", 2)).seen, "nothing");
    expect(Weight::slows, "in 80 % of the time some process waited for one", of_node("processor_waits_us", 4'000'000));
    EXPECT_EQ(first_after(of_node("processor_waits_us", 3'999'999)).seen, "nothing");
    Look busy = healthy();
    busy.node["processor_waits_us"] += 4'000'000;
    EXPECT_TRUE(judge(healthy(), busy, std::chrono::milliseconds(999)).empty()) << "the kernel adds it up in steps";
}

TEST(Doctor, AQueueOfItsOwnThatIsTooShort) {
    const auto dropped_by = [](const char* qdisc, bool is_default) {
        return [=](Look& look) {
            look.devices["eth0"].counters["qdisc/drops"] += 2;
            look.devices["eth0"].qdisc = qdisc;
            look.devices["eth0"].is_qdisc_default = is_default;
        };
    };
    expect(Weight::loses, "the qdisc pfifo of eth0 has dropped 2 packets in 5 s", dropped_by("pfifo", false));
    EXPECT_EQ(first_after(dropped_by("pfifo", false)).to_do.find("tc qdisc del dev eth0 root"), 0U);
    EXPECT_EQ(first_after(dropped_by("pfifo_fast", true)).to_do, "ip link set dev eth0 txqueuelen 1000");
    EXPECT_EQ(first_after(dropped_by("fq_codel", true)).seen, "nothing") << "it drops on purpose";
}

TEST(Doctor, Bonds) {
    const auto bond = [](const char* mode, const char* policy, const char* down) {
        return [=](Look& look) {
            look.devices["eth0"].facts["bond_mode"] = mode;
            look.devices["eth0"].facts["bond_hash_policy"] = policy;
            look.devices["eth0"].facts["bond_members_down"] = down;
        };
    };
    expect(Weight::loses, "eth0 has lost its member eth1", bond("802.3ad", "layer3+4", "eth1 eth2"));
    expect(Weight::slows, "(xmit_hash_policy layer2)", bond("802.3ad", "layer2", ""));
    EXPECT_EQ(first_after(bond("802.3ad", "layer3+4", "")).seen, "nothing");
    EXPECT_EQ(first_after(bond("active-backup", "layer2", "")).seen, "nothing") << "only one link is used";
}

TEST(Doctor, AFasterInterfaceIsNamed) {
    const auto other = [](std::optional<BitsPerSecond> speed, const char* network) {
        return [=](Look& look) {
            look.interfaces["eth1"] = {"192.168.7.1", *parse_ip_prefix(network), speed};
        };
    };
    expect(Weight::loses, "goes by eth0 at 1 Gbit/s, and the node has eth1 at 2 Gbit/s",
           other(BitsPerSecond{2'000'000'000}, "192.168.7.0/24"));
    expect(Weight::note, "other interfaces", other(BitsPerSecond{1'999'999'999}, "192.168.7.0/24"));
    expect(Weight::note, "other interfaces", other(std::nullopt, "192.168.7.0/24"));
    expect(Weight::slows, "eth0 and eth1 have addresses of the same network, 10.1.0.0/16",
           other(std::nullopt, "10.1.0.0/16"));
}

TEST(Doctor, ReorderingCountsFromTenEvents) {
    const auto reordered = [](std::uint64_t events) {
        return [events](Look& look) { look.tcp["TCPSACKReorder"] += events; };
    };
    EXPECT_EQ(first_after(reordered(9)).seen, "nothing");
    expect(Weight::loses, "out of order 10 times", reordered(10));
}

TEST(Doctor, ACardThatHasNegotiatedBadlyIsTold) {
    const auto runs_at = [](const char* speed) {
        return [speed](Look& look) { look.devices["eth0"].facts["speed"] = speed; };
    };
    expect(Weight::slows, "eth0 runs at 100 Mbit/s only", runs_at("100"));
    EXPECT_EQ(first_after(runs_at("1000")).seen, "nothing");
    const auto tunnel = [](Look& look) {
        look.devices["eth0"].facts["speed"] = "10";
        look.devices["eth0"].facts["driver_name"] = "tun";
    };
    EXPECT_EQ(first_after(tunnel).seen, "nothing") << "its driver makes that number up";
}

TEST(Doctor, TimeOutsBeforeTheLookAreNoReason) {
    Look look = healthy();
    look.tcp["TCPTimeouts"] = 1000;
    EXPECT_TRUE(found(look, look).empty());
}

TEST(Doctor, WhatADeviceLosesOrSlows) {
    const auto fact = [](const char* name, const char* value) {
        return [=](Look& look) { look.devices["eth0"].facts[name] = value; };
    };
    expect(Weight::loses, "half duplex", fact("duplex", "half"));
    expect(Weight::loses, "no link", fact("carrier", "0"));
    const auto states = [](const char* carrier) {
        return [carrier](Look& look) {
            look.devices["eth0"].facts["carrier"] = carrier;
            look.devices["eth0"].facts["operstate"] = "down";
        };
    };
    expect(Weight::loses, "no link", states(""));
    EXPECT_EQ(first_after(states("1")).seen, "nothing") << "operstate is late";
    expect(Weight::slows, "tso is off", fact("tso", "off"));
    expect(Weight::note, "which drops PAUSE frames", fact("driver_name", "i40e"));
    expect(Weight::note, "which drops PAUSE frames", fact("driver_name", "ice"));
    expect(Weight::note, "by the timer", fact("pause_tx", "on"));
    const auto counter = [](const char* name) {
        return [=](Look& look) { look.devices["eth0"].counters[name] += 2; };
    };
    expect(Weight::loses, "has lost 2 frames in 5 s because its receive ring was full",
           counter("statistics/rx_missed_errors"));
    expect(Weight::loses, "2 frames broken", counter("statistics/rx_crc_errors"));
    expect(Weight::loses, "dropped 2 frames of its own", counter("statistics/tx_dropped"));
    expect(Weight::loses, "paused eth0 2 times", counter("ethtool/rx_flow_control_xoff"));
}

TEST(Doctor, SomebodysShaperIsTold) {
    const auto qdisc = [](const char* kind, bool is_default) {
        return [=](Look& look) {
            look.devices["eth0"].qdisc = kind;
            look.devices["eth0"].is_qdisc_default = is_default;
        };
    };
    expect(Weight::note, "the qdisc htb", qdisc("htb", false));
    expect(Weight::loses, "the qdisc tbf", qdisc("tbf", false));
    expect(Weight::loses, "the qdisc netem", qdisc("netem", false));
    EXPECT_EQ(first_after(qdisc("netem", false)).to_do.find("tc qdisc del dev eth0 root"), 0U);
    EXPECT_EQ(first_after(qdisc("fq", false)).seen, "nothing");
    EXPECT_EQ(first_after(qdisc("tbf", true)).seen, "nothing");
    EXPECT_EQ(first_after(qdisc("gap", false)).seen, "nothing") << "headwayd answers";
}

TEST(Doctor, AKernelWithoutTheModuleIsTold) {
    const auto paced_by = [](const char* qdisc, const char* kernel) {
        return [=](Look& look) {
            look.devices["eth0"].qdisc = qdisc;
            look.devices["eth0"].is_qdisc_default = false;
            look.devices["eth0"].is_qdisc_ours = true;
            look.devices["eth0"].facts["kernel"] = kernel;
        };
    };
    expect(Weight::note, "the module is tested with Linux 6.1 to 6.12 and 7.3, and this is Linux 6.19.3+deb13-amd64.",
           paced_by("fq", "6.19.3+deb13-amd64"));
    EXPECT_EQ(first_after(paced_by("fq", "6.12.118+deb13-amd64")).seen, "nothing");
    EXPECT_EQ(first_after(paced_by("gap", "6.19.3+deb13-amd64")).seen, "nothing");
}

TEST(Doctor, TestedKernels) {
    for (const char* release : {"6.1.0-56-amd64", "6.12.118+deb13-rt-amd64", "7.3.4"}) EXPECT_TRUE(is_tested_kernel(release)) << release;
    for (const char* release : {"5.10.0", "6.0.1", "6.13.0", "6.120.1", "7.2.12", "7.4.0", "8.3.0", "7", "", "x"})
        EXPECT_FALSE(is_tested_kernel(release)) << release;
}

TEST(Doctor, SettingsOfTcp) {
    const auto setting = [](const char* name, const char* value) {
        return [=](Look& look) { look.settings[name] = value; };
    };
    expect(Weight::slows, "tail loss probes are off", setting("tcp_early_retrans", "0"));
    expect(Weight::slows, "RACK is off", setting("tcp_recovery", "2"));
    expect(Weight::slows, "selective acknowledgements are off", setting("tcp_sack", "0"));
    expect(Weight::slows, "do not grow", setting("tcp_moderate_rcvbuf", "0"));
    expect(Weight::note, "ten segments", setting("tcp_slow_start_after_idle", "1"));
    expect(Weight::note, "a small message waits", setting("tcp_autocorking", "1"));
}

// 1 Gbit/s over 10 ms is 1.25 MB.
TEST(Doctor, BuffersMustHoldWhatIsUnderWay) {
    const auto buffers = [](const char* setting, const char* value, std::uint32_t rtt_us) {
        return [=](Look& look) {
            look.settings[setting] = value;
            look.paths.front().connections[1].least_rtt_us = rtt_us;
        };
    };
    expect(Weight::slows, "hold less than the 1250000 that are under way to b0",
           buffers("tcp_wmem", "4096 16384 1249999", 10'000));
    EXPECT_EQ(first_after(buffers("tcp_wmem", "4096 16384 1250000", 10'000)).seen, "nothing");
    EXPECT_EQ(first_after(buffers("tcp_rmem", "4096 16384 1000", 0)).seen, "nothing");
}

TEST(Doctor, PathsAndInterfaces) {
    expect(Weight::slows, "the route to b0 has an MTU of 1400 bytes", [](Look& look) { look.paths.front().mtu_bytes = 1400; });
    expect(Weight::note, "b0 is this node itself", [](Look& look) { look.paths.front().device = "lo"; });
    expect(Weight::note, "docker0 (172.17.0.1)", [](Look& look) { look.interfaces["docker0"].address = "172.17.0.1"; });
}

TEST(Doctor, TheDaemonsPlanMustBeInTheKernelAndKept) {
    EXPECT_EQ(first_after([](Look& look) { look.daemon = failure("no answer"); }).seen, "nothing")
        << "a node that is only looked at needs none";
    expect(Weight::loses, "is not in the kernel", [](Look& look) { (*look.daemon)["in_step"] = false; });
    expect(Weight::loses, "cannot read", [](Look& look) { (*look.daemon)["kernel_error"] = "gone"; });
    expect(Weight::loses, "however slowly",
           [](Look& look) { (*look.daemon)["feedback"] = {{"at_its_bound", true}}; });
    for (const char* const qdisc : {"gap", "fq"}) {
        expect(Weight::slows, fmt::format("has Headway's qdisc {}, and headwayd does not answer", qdisc).c_str(),
               [&](Look& look) {
            look.daemon = failure("no answer");
            look.devices["eth0"].qdisc = qdisc;
            look.devices["eth0"].is_qdisc_default = false;
            look.devices["eth0"].is_qdisc_ours = true;
        });
    }
}

json class_of(json rate, std::uint64_t wire_bytes) {
    return {{"classid", "6a70:10"}, {"in_kernel", true}, {"bytes_per_s", std::move(rate)},
            {"wire_bytes", wire_bytes}};
}

TEST(Doctor, AClassMustNotSendMoreThanItsRate) {
    Look before = healthy(), after = healthy();
    const auto judged = [&](const json& earlier, const json& now) {
        (*before.daemon)["classes"] = json::array({earlier});
        (*after.daemon)["classes"] = json::array({now});
        return found(before, after);
    };
    EXPECT_TRUE(judged(class_of(1000, 0), class_of(1000, 5'100)).empty());
    const auto findings = judged(class_of(1000, 0), class_of(1000, 5'101));
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings.front().weight, Weight::loses);
    EXPECT_TRUE(judged(class_of(nullptr, 0), class_of(nullptr, 1'000'000)).empty());
    EXPECT_TRUE(judged(class_of(2000, 0), class_of(1000, 9'000)).empty()) << "the rate has changed";
}

TEST(Doctor, TheMostImportantComesFirst) {
    Look before = healthy(), after = healthy();
    after.settings["tcp_slow_start_after_idle"] = "1";
    after.settings["tcp_sack"] = "0";
    after.devices["eth0"].counters["ethtool/rx_flow_control_xoff"] += 1;
    after.tcp["TCPTimeouts"] += 1;
    std::vector<Weight> weights;
    for (const Finding& finding : found(before, after)) weights.push_back(finding.weight);
    EXPECT_EQ(weights, (std::vector{Weight::stalls, Weight::loses, Weight::slows, Weight::note}));
}

TEST(Doctor, ACauseOfTimeOutsComesBeforeThem) {
    Look before = healthy(), after = healthy();
    after.devices["eth0"].counters["statistics/rx_crc_errors"] += 2;
    EXPECT_EQ(found(before, after).front().weight, Weight::loses);
    after.tcp["TCPTimeouts"] += 1;
    const auto findings = found(before, after);
    ASSERT_EQ(findings.size(), 2U);
    EXPECT_NE(findings[0].seen.find("2 frames broken"), std::string::npos) << findings[0].seen;
    EXPECT_EQ(findings[0].weight, Weight::stalls);
    EXPECT_NE(findings[1].seen.find("1 retransmission time-out"), std::string::npos) << findings[1].seen;
}

// ------------------------------------------------------------------- the verdict

/// After so many segments to the host, of which some were sent again, and time-outs of the node.
struct Traffic {
    std::uint64_t segments = 0;
    std::uint64_t again = 0;
    std::uint64_t timeouts = 0;
};

Look after_traffic(const Traffic& traffic) {
    Look look = healthy();
    look.tcp["OutSegs"] += traffic.segments;
    look.tcp["RetransSegs"] += traffic.again;
    look.tcp["TCPTimeouts"] += traffic.timeouts;
    look.paths.front().connections[1] = {.segments = traffic.segments, .retransmissions = traffic.again};
    look.daemon = failure("no answer");
    return look;
}

Verdict verdict_of(const Look& before, const Look& after, double seconds = 5) {
    const std::chrono::duration<double> between(seconds);
    return verdict(before, after, judge(before, after, between), between);
}

void expect_verdict(Answer answer, const std::string& words, const Look& after, double seconds = 5) {
    const Verdict given = verdict_of(healthy(), after, seconds);
    EXPECT_EQ(answer_name(given.answer), std::string(answer_name(answer))) << given.why;
    EXPECT_NE((given.why + " " + given.to_do).find(words), std::string::npos) << given.why << " " << given.to_do;
    EXPECT_TRUE(answer == Answer::would_not_help || !given.to_do.empty()) << "what to run is said";
}

TEST(Verdict, NothingSentTellsNothing) {
    expect_verdict(Answer::cannot_tell, "0 segments were sent to b0 in 5 s", after_traffic({}));
    expect_verdict(Answer::cannot_tell, "headway doctor b0 -- mpirun ./program", after_traffic({.segments = 99}));
    expect_verdict(Answer::would_not_help, "100 segments were sent to b0", after_traffic({.segments = 100}));
}

TEST(Verdict, AHostThatDoesNotAnswerIsNamed) {
    Look look = after_traffic({});
    look.paths.front().is_silent = true;
    expect_verdict(Answer::cannot_tell, "no answer has come from b0 Name hosts that answer", look);
}

TEST(Verdict, WhatWasSentToOthersDoesNotCount) {
    Look look = after_traffic({.segments = 5000, .timeouts = 3});
    look.paths.front().connections.clear();
    expect_verdict(Answer::cannot_tell, "0 segments were sent to b0", look);
    look.paths.clear();
    expect_verdict(Answer::would_help, "TCP has waited for 3 time-outs", look);
}

TEST(Verdict, TimeOutsToTheHostsAreWhatHeadwayRemoves) {
    expect_verdict(Answer::would_help, "TCP has waited for 12 time-outs of 200 ms or more in 5 s",
                   after_traffic({5000, 30, 12}));
    Look paced = after_traffic({5000, 30, 12});
    paced.daemon = healthy().daemon;
    expect_verdict(Answer::would_help, "headway run -- mpirun", paced);
    expect_verdict(Answer::would_not_help, "name those hosts", after_traffic({5000, 0, 12}));
}

TEST(Verdict, TimeOutsOfOpeningConnectionsAreOfHostsThatDoNotAnswer) {
    Look look = after_traffic({5000, 4, 4});
    look.tcp["TCPSynRetrans"] += 4;
    expect_verdict(Answer::would_not_help, "no connection waited", look);
    EXPECT_TRUE(judge(healthy(), look, std::chrono::seconds(5)).empty());
}

TEST(Verdict, AnotherCauseOfLossesIsToBeMendedFirst) {
    Look look = after_traffic({5000, 30, 12});
    look.devices["eth0"].facts["duplex"] = "half";
    expect_verdict(Answer::cannot_tell, "Mend the first cause below", look);
}

TEST(Verdict, LossesWithoutTimeOutsAreLookedAtForAMinute) {
    expect_verdict(Answer::cannot_tell, "headway doctor --seconds 60 b0", after_traffic({5000, 30, 0}), 59);
    expect_verdict(Answer::would_not_help, "no connection waited", after_traffic({5000, 30, 0}), 60);
}

TEST(Verdict, WhatCannotBeLookedAtTellsNothing) {
    Look look = after_traffic({5000, 30, 12});
    look.paths.front().device = "lo";
    expect_verdict(Answer::cannot_tell, "b0 is this node itself", look);
    look.failures.push_back({"b1", "unknown"});
    expect_verdict(Answer::cannot_tell, "the way to b1 cannot be looked at", look);
    look = healthy();
    look.paths.clear();
    look.devices.clear();
    expect_verdict(Answer::cannot_tell, "there is no default route", look);
}

TEST(Verdict, ConnectionsThatHaveEndedCount) {
    const Look earlier = after_traffic({5000, 30, 12});
    Look after = earlier;
    after.paths.front().connections.clear();
    expect_verdict(Answer::cannot_tell, "0 segments", after);
    keep_ended_connections(after, earlier);
    expect_verdict(Answer::would_help, "12 time-outs", after);
    after.paths.front().connections[1].segments = 7000;
    keep_ended_connections(after, earlier);
    EXPECT_EQ(sent_between(healthy(), after).hosts_segments, 7000U) << "what is known later holds";
}

TEST(Doctor, AnInterfaceThatCameMeanwhileHasNoEarlierCounters) {
    Look before = healthy();
    before.devices.clear();
    EXPECT_TRUE(found(before, healthy()).empty());
}

// ---------------------------------------------------------------------- the text

/// An all-to-all of eight nodes that fills a switch buffer, seen from a0.
DoctorReport sample_report() {
    DoctorReport report;
    report.before = healthy();
    report.before.daemon = failure("no answer");
    report.before.settings["tcp_congestion_control"] = "cubic";
    report.before.settings["tcp_slow_start_after_idle"] = "1";
    report.before.devices["eth0"].facts.insert({{"pause_rx", "off"}, {"pause_tx", "off"}});
    report.before.tcp.insert({{"TCPLossProbes", 90}});
    report.before.uptime_s = 11 * 86400;
    report.after = report.before;
    report.after.tcp["OutSegs"] += 41'200;
    report.after.tcp["RetransSegs"] += 310;
    report.after.tcp["TCPTimeouts"] += 12;
    report.after.tcp["TCPLossProbes"] += 31;
    report.after.paths.front().connections[1] = {.segments = 41'000, .retransmissions = 300, .rtt_us = 780,
                                                 .least_rtt_us = 60};
    report.between = std::chrono::seconds(5);
    report.findings = judge(report.before, report.after, report.between);
    report.verdict = verdict(report.before, report.after, report.findings, report.between);
    return report;
}

/// The first literal block of a page that begins with this, without its indentation.
std::string block_of(const std::string& page, const std::string& first_words) {
    std::ifstream lines(std::string(HEADWAY_SOURCE_DIR) + "/Documentation/" + page);
    std::string block;
    for (std::string line; std::getline(lines, line);) {
        if (block.empty() && !line.starts_with("    " + first_words)) continue;
        if (!line.empty() && !line.starts_with("    ")) break;
        block += line.substr(std::min<std::size_t>(4, line.size())) + "\n";
    }
    while (block.ends_with("\n\n")) block.pop_back();
    return block;
}

/// The page breaks long lines, which a terminal does by itself.
std::string words_of(const std::string& text) {
    std::istringstream words(text);
    std::string line;
    for (std::string word; words >> word;) line += word + " ";
    return line;
}

TEST(Report, ThePageShowsWhatIsPrinted) {
    EXPECT_EQ(words_of(block_of("doctor.rst", "verdict: ")), words_of(report_text(sample_report())));
}

TEST(Report, WhatIsUnknownIsSaidToBe) {
    DoctorReport report;
    report.after.devices["eth0"];
    report.after.failures.push_back({"b0", "\"b0\" has no address"});
    const std::string text = report_text(report);
    EXPECT_NE(text.find("cannot find the way to b0: \"b0\" has no address\n"), std::string::npos) << text;
    EXPECT_NE(text.find("eth0: speed unknown, unknown duplex, MTU unknown, driver unknown, qdisc noqueue\n"),
              std::string::npos) << text;
    EXPECT_EQ(text.find("What was found"), std::string::npos) << text;
}

// ------------------------------------------------------------ what the kernel says

TEST(Doctor, ReadsARoute) {
    Writer writer(RTM_NEWROUTE, 0, 1, 0);
    auto* route = static_cast<rtmsg*>(writer.extra(sizeof(rtmsg)));
    route->rtm_family = AF_INET;
    const std::uint32_t gateway = inet_addr("10.1.0.254"), source = inet_addr("10.1.0.1");
    mnl_attr_put_u32(writer.header(), RTA_OIF, 7);
    mnl_attr_put_u32(writer.header(), RTA_GATEWAY, gateway);
    mnl_attr_put_u32(writer.header(), RTA_PREFSRC, source);
    nlattr* metrics = mnl_attr_nest_start(writer.header(), RTA_METRICS);
    mnl_attr_put_u32(writer.header(), RTAX_RTO_MIN, 5);
    mnl_attr_put_u32(writer.header(), RTAX_MTU, 9000);
    mnl_attr_put_strz(writer.header(), RTAX_CC_ALGO, "dctcp");
    mnl_attr_nest_end(writer.header(), metrics);
    const auto answer = decode_route(writer.header());
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->ifindex, 7);
    EXPECT_EQ(answer->path.gateway, "10.1.0.254");
    EXPECT_EQ(answer->path.source, "10.1.0.1");
    EXPECT_EQ(answer->path.rto_min_ms, 5U);
    EXPECT_EQ(answer->path.mtu_bytes, 9000U);
    EXPECT_EQ(answer->path.congestion_control, "dctcp");
}

TEST(Doctor, AsksForRoutesOfBothFamilies) {
    for (const auto& [address, family, bits] : {std::tuple{"10.1.0.1", AF_INET, 32}, {"fd00::1", AF_INET6, 128}}) {
        auto query = encode_route_query(address);
        ASSERT_TRUE(query);
        const auto* route = static_cast<const rtmsg*>(mnl_nlmsg_get_payload(query->header()));
        EXPECT_EQ(route->rtm_family, family);
        EXPECT_EQ(route->rtm_dst_len, bits);
    }
    EXPECT_FALSE(encode_route_query("fe80::1%eth0"));
}

TEST(Doctor, ReadsTcpsCounters) {
    const auto counters =
        tcp_counters_in("TcpExt: SyncookiesSent TCPTimeouts\nTcpExt: 1 42\n",
                        "Tcp: OutSegs RetransSegs\nTcp: 100 3\nUdp: OutSegs\nUdp: 9\n");
    EXPECT_EQ(counters, (std::map<std::string, std::uint64_t>{
                            {"OutSegs", 100}, {"RetransSegs", 3}, {"TCPTimeouts", 42}}));
}

TEST(Doctor, TheSystemsLeastTimeOutHoldsWhereARouteHasNone) {
    Look look = healthy();
    EXPECT_EQ(rto_min_ms(look, look.paths.front()), 200);
    look.settings["tcp_rto_min_us"] = "5000";
    EXPECT_EQ(rto_min_ms(look, look.paths.front()), 5);
    look.paths.front().rto_min_ms = 40;
    EXPECT_EQ(rto_min_ms(look, look.paths.front()), 40);
}

TEST(Doctor, ReadsWhatTheNodeCounts) {
    EXPECT_EQ(softnet_column("00ff 00000002 0\n0001 0000000a 0\n", 1), 12U);
    const std::string conntrack = "entries clashres found drop\n00000010  00000000 00000001  00000003\n"
                                  "00000010  00000000 00000001  0000000f\n";
    EXPECT_EQ(conntrack_column(conntrack, "drop"), 18U);
    EXPECT_EQ(conntrack_column(conntrack, "no such"), 0U);
    EXPECT_EQ(pressure_us("some avg10=0.00 avg60=0.12 avg300=0.00 total=123456\nfull avg10=0.00 total=9\n"), 123456U);
    EXPECT_EQ(pressure_us(""), 0U);
}

TEST(Doctor, ReadsNeighbours) {
    const auto neighbour = [](int state) {
        Writer writer(RTM_NEWNEIGH, 0, 1, 0);
        auto* about = static_cast<ndmsg*>(writer.extra(sizeof(ndmsg)));
        about->ndm_family = AF_INET;
        about->ndm_ifindex = 7;
        about->ndm_state = static_cast<std::uint16_t>(state);
        mnl_attr_put_u32(writer.header(), NDA_DST, inet_addr("10.2.0.1"));
        return decode_neighbour(writer.header());
    };
    ASSERT_TRUE(neighbour(NUD_REACHABLE));
    EXPECT_EQ(neighbour(NUD_REACHABLE)->ifindex, 7);
    EXPECT_EQ(neighbour(NUD_REACHABLE)->address, "10.2.0.1");
    for (const int state : {NUD_REACHABLE, NUD_STALE, NUD_PERMANENT, NUD_PROBE, NUD_NOARP})
        EXPECT_TRUE(neighbour(state)->has_answered) << state;
    for (const int state : {NUD_INCOMPLETE, NUD_FAILED}) EXPECT_FALSE(neighbour(state)->has_answered) << state;
    Writer cut_off(RTM_NEWNEIGH, 0, 1, 0);
    EXPECT_FALSE(decode_neighbour(cut_off.header()));
}

TEST(Doctor, ReadsPauseFrames) {
    Writer writer(0x10, 0, 1, 0);
    writer.extra(sizeof(genlmsghdr));
    EXPECT_FALSE(decode_pause_frames(writer.header())->received) << "the driver counts none";
    nlattr* counts = mnl_attr_nest_start(writer.header(), ETHTOOL_A_PAUSE_STATS);
    mnl_attr_put_u64(writer.header(), ETHTOOL_A_PAUSE_STAT_RX_FRAMES, 42);
    mnl_attr_nest_end(writer.header(), counts);
    EXPECT_EQ(decode_pause_frames(writer.header())->received, 42U);
    EXPECT_FALSE(decode_pause_frames(writer.header())->sent);
}

TEST(Doctor, LooksAgainAtTheSameAddresses) {
    Look earlier;
    earlier.paths.push_back({.host = "a name that nobody knows", .address = "127.0.0.1", .look_up_s = 7});
    earlier.failures.push_back({"no such host", "unknown"});
    const Look again = look_again(earlier, "/nonexistent/control.sock");
    ASSERT_EQ(again.paths.size(), 1U);
    EXPECT_EQ(again.paths.front().host, "a name that nobody knows");
    EXPECT_EQ(again.paths.front().device, "lo");
    EXPECT_EQ(again.paths.front().look_up_s, 7);
    ASSERT_EQ(again.failures.size(), 1U);
}

TEST(Doctor, LooksAtThisMachine) {
    Look seen = look({"127.0.0.1", "no such host"}, "/nonexistent/control.sock");
    ask_silent_hosts(seen);
    ASSERT_EQ(seen.paths.size(), 1U);
    EXPECT_EQ(seen.paths.front().device, "lo");
    EXPECT_FALSE(seen.paths.front().is_silent) << "a refusal is an answer";
    ASSERT_EQ(seen.failures.size(), 1U);
    EXPECT_EQ(seen.failures.front().host, "no such host");
    EXPECT_EQ(seen.devices.at("lo").fact("mtu"), "65536");
    EXPECT_FALSE(seen.daemon);
    EXPECT_GT(seen.node_counter("memory_pages"), 0U);
    EXPECT_FALSE(seen.setting("tcp_congestion_control").empty());
}

}  // namespace
}  // namespace headway::test
