# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The gap qdisc, one headwayd per node and the MPI helper: what a user of Headway
# installs.  All rates come from headway.toml through the daemons.

demo_daemons=()

contender_headway_up() {
	local node
	[[ -d /sys/module/sch_gap ]] || insmod "$HW_BUILD/kmod/$(uname -r)/sch_gap.ko" || return
	for node in $(hw_nodes); do
		hw_node_spawn "$node" "$HW_OUT/headwayd-$node.log" \
			"$HW_BUILD/bin/headwayd" --foreground --config "$DEMO_CONFIG"
		demo_daemons+=("$HW_SPAWNED")
	done
	for node in $(hw_nodes); do
		hw_wait_for 30 hw_node "$node" "$HW_BUILD/bin/headway" status || {
			tail -n 20 "$HW_OUT/headwayd-$node.log"
			return 1
		}
	done
}

contender_headway_down() {
	local daemon status=0
	kill "${demo_daemons[@]}" || status=1
	for daemon in "${demo_daemons[@]}"; do
		wait "$daemon" || status=1
	done
	demo_daemons=()
	return "$status"
}
