# SPDX-License-Identifier: Apache-2.0
"""Faults of networks and hosts, and what headway doctor has to say first of each."""

from scene import SEND_FOR_A_WHILE, Fault

DELETE_QDISC = r"tc qdisc (del|delete) dev eth0 root"
PACE = r"headway run"
IN_A0 = "hw_node a0 "
IN_B0 = "hw_node b0 "
LARGE_BUFFERS = {"port_buffer_bytes": 16_000_000, "trunk_buffer_bytes": 16_000_000}

FAULTS = (
    Fault("full_frames_vanish_on_the_way",
          put_in="for d in $(hw_ports); do ethtool -K $d gro off; done; "
                 "ip link set trka mtu 1400; ip link set trkb mtu 1400",
          job=SEND_FOR_A_WHILE, first=r"(?i)\bMTU\b|full size|large packets",
          remedy=r"ip link set (dev )?eth0 mtu 1400|tcp_mtu_probing=1"),
    Fault("jumbo_frames_at_hosts_alone",
          put_in="for n in a0 b0; do hw_node $n ip link set eth0 mtu 9000; done",
          job=SEND_FOR_A_WHILE, first=r"(?i)\bMTU\b|full size|large packets",
          remedy=r"ip link set (dev )?eth0 mtu 1500|tcp_mtu_probing=1"),
    Fault("lossy_trunk", put_in="hw_trunk_queues netem loss 1%",
          first=r"(?i)\blos[st]|again", remedy=r"ethtool -S|headway measure",
          is_named=False),
    Fault("sack_off",
          put_in=IN_A0 + "sysctl -qw net.ipv4.tcp_sack=0; hw_trunk_queues netem loss 0.3%",
          first=r"(?i)\bsack\b|tcp_sack", remedy=r"sysctl -w net\.ipv4\.tcp_sack=1"),
    Fault("window_scaling_off", trunk_delay_us=2500, **LARGE_BUFFERS,
          put_in=IN_A0 + "sysctl -qw net.ipv4.tcp_window_scaling=0",
          first=r"(?i)window.scaling", remedy=r"sysctl -w net\.ipv4\.tcp_window_scaling=1"),
    Fault("tiny_send_buffer", trunk_delay_us=2500, **LARGE_BUFFERS,
          put_in=IN_A0 + "sysctl -qw net.ipv4.tcp_wmem='4096 16384 16384'",
          first=r"(?i)tcp_wmem|send buffer", remedy=r"sysctl -w net\.ipv4\.tcp_wmem="),
    Fault("tiny_receive_buffer_there", trunk_delay_us=2500, **LARGE_BUFFERS,
          put_in=IN_B0 + "sysctl -qw net.ipv4.tcp_rmem='4096 16384 16384'",
          first=r"(?i)tcp_rmem|receive window|receive buffer",
          remedy=r"sysctl -w net\.ipv4\.tcp_rmem="),
    Fault("incast", host="a1", others=("a2", "b0", "b1", "b2"), nodes=3, port_buffer_bytes=60_000,
          first=r"(?i)\blos[st]|dropp|time-out|would help", remedy=PACE),
    Fault("shallow_oversubscribed_trunk", trunk_mbit=100, trunk_buffer_bytes=30_000,
          first=r"(?i)\blos[st]|dropp|time-out|would help", remedy=PACE, is_named=False),
    Fault("deep_oversubscribed_trunk", trunk_mbit=100, trunk_buffer_bytes=8_000_000,
          first=r"(?i)queue|buffer|round.trip", remedy=PACE, is_named=False),
    Fault("forgotten_tbf",
          put_in=IN_A0 + "tc qdisc replace dev eth0 root tbf rate 50mbit burst 16k latency 100ms",
          job=SEND_FOR_A_WHILE, first=r"\btbf\b", remedy=DELETE_QDISC),
    Fault("forgotten_netem",
          put_in=IN_A0 + "tc qdisc replace dev eth0 root netem delay 5ms loss 0.1%",
          job=SEND_FOR_A_WHILE, first=r"\bnetem\b", remedy=DELETE_QDISC),
    Fault("slow_card_of_this_host",
          put_in="hw_set_wire pa0 100000000 0 2; hw_set_wire_of a0 100000000 0 64",
          job=SEND_FOR_A_WHILE, first=r"100 Mbit/s", remedy=r"ethtool"),
    Fault("reordering_trunk", put_in="hw_trunk_queues netem delay 1ms reorder 75% 50% limit 20000",
          first=r"(?i)reorder|out of order", remedy=r"tcp_reordering=|hash"),
    Fault("slow_receiver", job="python3 {bed}/traffic.py send {address} 1",
          first=r"(?i)receiv", remedy=r"\bss -t"),
    Fault("offloads_off", put_in=IN_A0 + "ethtool -K eth0 tso off gso off gro off",
          first=r"(?i)\b[TG]SO\b|offload", remedy=r"ethtool -K eth0 .*[gt]so on"),
    Fault("slow_start_after_idle", trunk_delay_us=5000, **LARGE_BUFFERS,
          job="python3 {bed}/traffic.py bursts {address} 6",
          first=r"tcp_slow_start_after_idle",
          remedy=r"sysctl -w net\.ipv4\.tcp_slow_start_after_idle=0", is_named=False),
    Fault("route_with_small_mtu",
          put_in=IN_A0 + "ip route change 10.0.0.0/8 dev eth0 mtu lock 600",
          first=r"(?i)route.*\bMTU\b|\bMTU\b.*route", remedy=r"ip route (change|replace)"),
)
