# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Headway on network cards that do not send gap frames, as some drivers discard MAC
# control frames: the qdisc finds out by its self-test and paces with a timer.

demo_gap_frames_are_lost() {
	hw_each_node sh -c "echo $1 >/sys/class/net/eth0/simwire/drop_mac_control"
}

# Every node's qdisc says so.
demo_timer_is_used() {
	local node
	for node in $(hw_nodes); do
		hw_node "$node" tc -d qdisc show dev eth0 | grep -q 'backend_used timer' || return
	done
}

contender_headway_timer_up() {
	demo_gap_frames_are_lost 1 && contender_headway_up && hw_wait_for 30 demo_timer_is_used
}

contender_headway_timer_down() {
	contender_headway_down && demo_gap_frames_are_lost 0
}
