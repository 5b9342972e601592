# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# All of Headway but pacing: the daemons and the helper have the same plan and the
# same algorithms, but what the daemons pace is a device of each node that carries
# nothing.  It tells apart what the algorithm gives and what pacing gives.

DEMO_UNPACED_CONFIG=/etc/headway/unpaced.toml
DEMO_IDLE_DEVICE=hw-idle

contender_headway_unpaced_up() {
	[[ -d /sys/module/sch_gap ]] || insmod "$HW_BUILD/kmod/$(uname -r)/sch_gap.ko" || return
	modprobe dummy numdummies=0 || return
	hw_each_node ip link add "$DEMO_IDLE_DEVICE" type dummy || return
	hw_each_node ip link set "$DEMO_IDLE_DEVICE" up || return
	# a device that carries nothing has nothing to send gap frames to
	{
		printf '[node]\ninterface = "%s"\n[kernel]\ngap_frames = "off"\n' "$DEMO_IDLE_DEVICE"
		cat "$DEMO_CONFIG"
	} >"$DEMO_UNPACED_CONFIG" || return
	hw_start_daemons "$DEMO_UNPACED_CONFIG" "$HW_OUT"
}

contender_headway_unpaced_down() {
	hw_stop_daemons && hw_each_node ip link del "$DEMO_IDLE_DEVICE"
}
