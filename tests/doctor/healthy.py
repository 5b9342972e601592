# SPDX-License-Identifier: Apache-2.0
"""Healthy networks, in which headway doctor may name nothing that harms."""

from scene import Scene

HEALTHY = (
    Scene("one_switch", host="a1"),
    Scene("two_switches_with_ample_trunk"),
    Scene("path_of_10_ms", trunk_delay_us=5000,
          port_buffer_bytes=16_000_000, trunk_buffer_bytes=16_000_000),
    Scene("jumbo_frames_everywhere", host="a1",
          put_in="for d in $(hw_ports) swa; do ip link set $d mtu 9000; done; "
                 "for n in a0 a1; do hw_node $n ip link set eth0 mtu 9000; done"),
    Scene("busy_but_not_lossy", host="a1", others=("a2",), nodes=3,
          port_buffer_bytes=16_000_000, trunk_buffer_bytes=16_000_000),
    Scene("fq_at_the_root", put_in="hw_node a0 tc qdisc replace dev eth0 root fq"),
    Scene("idle_network", job="/tmp/bed/sleep 1"),
    Scene("single_host", host="a0"),
    Scene("ten_gigabit", host_mbit=10000, trunk_mbit=10000, job="{bed}/iperf3 -c {address} -n 200M"),
    Scene("second_card_for_management", put_in="bed_second_network 100"),
    Scene("bond_of_two", put_in="bed_bond mode balance-xor xmit_hash_policy layer3+4"),
    Scene("ecn_everywhere", put_in="for n in a0 b0; do hw_node $n sysctl -qw net.ipv4.tcp_ecn=1; done"),
    Scene("fq_codel_at_the_root", put_in="hw_node a0 tc qdisc replace dev eth0 root fq_codel"),
    Scene("bbr", put_in="modprobe tcp_bbr; hw_node a0 sysctl -qw net.ipv4.tcp_congestion_control=bbr"),
    Scene("requests_and_answers", job="python3 {bed}/traffic.py requests {address} 2000 nodelay"),
    Scene("program_that_computes", job="python3 {bed}/traffic.py bursts {address} 4"),
    Scene("connection_tracking_with_room",
          put_in="modprobe nf_conntrack; modprobe act_ct; hw_node a0 tc qdisc add dev eth0 clsact; "
                 "for way in ingress egress; do hw_node a0 tc filter add dev eth0 $way matchall action ct commit; done"),
    Scene("eight_connections", job="{bed}/iperf3 -c {address} -P 8 -n 40M"),
    Scene("ipv6_alone", words="fd00::2", address="fd00::2",
          put_in="for n in a0 b0; do hw_node $n sysctl -qw net.ipv6.conf.eth0.disable_ipv6=0; done; "
                 "hw_node a0 ip -6 addr add fd00::1/64 dev eth0 nodad; "
                 "hw_node b0 ip -6 addr add fd00::2/64 dev eth0 nodad"),
    Scene("short_time_out_on_the_route",
          put_in="hw_node a0 ip route change 10.0.0.0/8 dev eth0 rto_min 5ms"),
)
