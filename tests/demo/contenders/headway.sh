# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The gap qdisc, one headwayd per node and the MPI helper: what a user of Headway
# installs.  All rates come from headway.toml through the daemons.

contender_headway_up() {
	[[ -d /sys/module/sch_gap ]] || insmod "$HW_BUILD/kmod/$(uname -r)/sch_gap.ko" || return
	hw_start_daemons "$DEMO_CONFIG" "$HW_OUT"
}

contender_headway_down() {
	hw_stop_daemons
}
