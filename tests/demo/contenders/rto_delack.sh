# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Cubic whose sockets have the shortest time-outs that a kernel gives them, as a program may set
# them by itself from Linux 6.15 on (TCP_RTO_MIN_US, TCP_DELACK_MAX_US): two jiffies.

# The program sees the connections of all nodes: they are network namespaces of one kernel.
demo_short_timeouts() {
	"$HW_BUILD/bin/put_sockops" "$1" /sys/fs/cgroup "$HW_BUILD/bin/short_timeouts.bpf.o"
}

contender_rto_delack_up() {
	demo_short_timeouts on
}

contender_rto_delack_down() {
	demo_short_timeouts off
}
