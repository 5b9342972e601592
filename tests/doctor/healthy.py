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
)
