# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# headwayd on every node of topology.sh.  Sourced after it (hw_config needs it not).
#
#   hw_config N HOST_MBIT TRUNK_MBIT [DELAY_US [PORT_BUFFER TRUNK_BUFFER]]
#                         its headway.toml for two clusters of N nodes; buffers are bytes,
#                         unknown to it unless given
#   hw_start_daemons CONFIG LOGS        start them, wait until they answer; each
#                         logs into LOGS/headwayd-NODE.log
#   hw_stop_daemons       end them; fails if one ends badly
#   hw_status NODE EXPRESSION           of its daemon's status, as a Python expression of s

hw_daemons=()

hw_config() {
	local cluster
	for cluster in a b; do
		cat <<-TOML
			[[cluster]]
			name = "$cluster"
			hosts = ["${cluster}[0-$(($1 - 1))]"]
			prefixes = ["10.$([[ $cluster == a ]] && echo 1 || echo 2).0.0/16"]
			host_rate = "$2mbit"
			trunk_rate = "$3mbit"
			trunk_delay = "${4:-50}us"
		TOML
		[[ -z ${5:-} ]] || printf 'host_buffer = "%sB"\ntrunk_buffer = "%sB"\n' "$5" "$6"
	done
}

hw_start_daemons() {
	local config=$1 logs=$2 node
	for node in $(hw_nodes); do
		# as headwayd.service does
		hw_autocorking=$(hw_node "$node" sysctl -n net.ipv4.tcp_autocorking) &&
			hw_node "$node" sysctl -qw net.ipv4.tcp_autocorking=0 || return
		hw_node_spawn "$node" "$logs/headwayd-$node.log" \
			"$HW_BUILD/bin/headwayd" --foreground --config "$config"
		hw_daemons+=("$HW_SPAWNED")
	done
	for node in $(hw_nodes); do
		hw_wait_for 60 hw_node "$node" "$HW_BUILD/bin/headway" status --config "$config" || {
			tail -n 20 "$logs/headwayd-$node.log" >&2
			return 1
		}
	done
}

hw_stop_daemons() {
	local daemon status=0
	kill "${hw_daemons[@]}" || status=1
	for daemon in "${hw_daemons[@]}"; do
		wait "$daemon" || status=1
	done
	hw_daemons=()
	hw_each_node sysctl -qw "net.ipv4.tcp_autocorking=$hw_autocorking" || status=1
	return "$status"
}

hw_status() {
	hw_node "$1" "$HW_BUILD/bin/headway" status --socket /run/headway/control.sock --json |
		/usr/bin/python3 -c "import json, sys; s = json.load(sys.stdin); print($2)"
}
