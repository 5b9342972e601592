# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# All of Headway but pacing: the daemons and the helper have the same plan and the
# same algorithms, but what the daemons pace is a device of each node that carries
# nothing.  It tells apart what the algorithm gives and what pacing gives.

DEMO_UNPACED_CONFIG=/etc/headway/unpaced.toml
DEMO_IDLE_DEVICE=hw-idle

contender_headway_unpaced_up() {
	[[ -d /sys/module/sch_gap ]] || insmod "$HW_BUILD/kmod/$(uname -r)/sch_gap.ko" || return
	# of all virtual devices this one has a speed, which the daemon asks for
	hw_each_node ip link add "$DEMO_IDLE_DEVICE" type veth peer name "$DEMO_IDLE_DEVICE-peer" || return
	hw_each_node ip link set "$DEMO_IDLE_DEVICE-peer" up || return
	hw_each_node ip link set "$DEMO_IDLE_DEVICE" up || return
	# what carries nothing needs no self-test of gap frames
	{
		printf '[node]\ninterface = "%s"\n[kernel]\ngap_frames = "off"\n' "$DEMO_IDLE_DEVICE"
		cat "$DEMO_CONFIG"
	} >"$DEMO_UNPACED_CONFIG" || return
	hw_start_daemons "$DEMO_UNPACED_CONFIG" "$HW_OUT"
}

contender_headway_unpaced_down() {
	hw_stop_daemons && hw_each_node ip link del "$DEMO_IDLE_DEVICE"
}
