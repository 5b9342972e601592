# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A tree of switches with nodes at its ends, in one kernel: topology.sh has two clusters
# only.  Sourced after it; what it says of nodes, wires and buffers holds here as well.
#
#   hw_tree <<-TREE
#       switch A                                     the root
#       switch B A TRUNK_MBIT DELAY_US BUFFER        below A; the buffer at each end
#       node a0 A HOST_MBIT PORT_BUFFER
#   TREE
#
# hw_down removes it.  Nodes are named as in topology.sh: a0 .. or b0 ..

declare -A hw_parent=() hw_at=()
hw_switches=()

hw_read_tree() {
	local kind name parent rest
	hw_parent=() hw_at=() hw_switches=() hw_wires=() hw_queues=()
	: >"$hw_state/nodes"
	while read -r kind name parent rest; do
		# shellcheck disable=SC2086 # a line is a list of words
		set -- $rest
		case $kind in
		switch)
			hw_switches+=("$name")
			hw_parent[$name]=$parent
			[[ -z $parent ]] || {
				hw_wires+=("u$name $(hw_mbit_to_bps "$1") $(($2 * 1000)) $hw_switch_ring_frames"
					"u${name}p $(hw_mbit_to_bps "$1") $(($2 * 1000)) $hw_switch_ring_frames")
				hw_queues+=("u$name $3" "u${name}p $3")
			}
			;;
		node)
			echo "$name" >>"$hw_state/nodes"
			hw_at[$name]=$parent
			hw_wires+=("p$name $(hw_mbit_to_bps "$1") 0 $hw_switch_ring_frames"
				"p${name}p $(hw_mbit_to_bps "$1") 0 $hw_host_ring_frames")
			hw_queues+=("p$name $2")
			;;
		*) hw_fail "'$kind' is neither switch nor node" || return ;;
		esac
	done
}

hw_tree_links() {
	local name node
	for name in "${hw_switches[@]}"; do
		echo "link add sw$name group $hw_group type bridge stp_state 0 mcast_snooping 0 forward_delay 0"
	done
	for name in "${hw_switches[@]}"; do
		[[ ${hw_parent[$name]} ]] || continue
		echo "link add u$name group $hw_group type simwire"
		echo "link set u$name master sw$name"
		echo "link set u${name}p master sw${hw_parent[$name]}"
	done
	for node in "${hw_names[@]}"; do
		echo "link add p$node group $hw_group type simwire"
		echo "link set p${node}p address ${hw_mac[$node]}"
		echo "link set p$node master sw${hw_at[$node]}"
	done
}

# Where each switch sends a node's frames: down towards it, or up.
hw_tree_tables() {
	local node name below port
	for node in "${hw_names[@]}"; do
		for name in "${hw_switches[@]}"; do
			port=u$name
			if [[ ${hw_at[$node]} == "$name" ]]; then
				port=p$node
			else
				below=${hw_at[$node]}
				while [[ $below && ${hw_parent[$below]} != "$name" ]]; do
					below=${hw_parent[$below]}
				done
				[[ -z $below ]] || port=u${below}p
			fi
			echo "fdb add ${hw_mac[$node]} dev $port master static"
		done
	done
}

hw_tree_up() {
	local name node
	for name in "${hw_switches[@]}"; do
		echo "link set sw$name up"
		[[ -z ${hw_parent[$name]} ]] || printf 'link set %s up\n' "u$name" "u${name}p"
	done
	for node in "${hw_names[@]}"; do
		echo "link set p$node up"
	done
}

hw_tree_is_up() {
	local device state
	for device in "${hw_names[@]/#/p}"; do
		read -r state <"/sys/class/net/$device/operstate"
		[[ $state == up ]] || return
	done
}

# Instead of topology.sh's, as this network has others.
hw_trunk_ports() {
	local name
	for name in "${hw_switches[@]}"; do
		[[ -z ${hw_parent[$name]} ]] || printf '%s\n' "u$name" "u${name}p"
	done
}

hw_tree_build() {
	local words
	hw_read_tree && hw_read_state && hw_load_simwire && hw_write_hosts && hw_start_nodes || return
	hw_tree_links | ip -batch - && hw_tree_tables | bridge -batch - || return
	for words in "${hw_wires[@]}"; do
		# shellcheck disable=SC2086 # device, rate, delay, ring
		hw_set_wire $words || return
	done
	hw_tree_up | ip -batch - && hw_plug_nodes || return
	for words in "${hw_queues[@]}"; do
		echo "qdisc replace dev ${words% *} root bfifo limit ${words#* }"
	done | tc -batch - && hw_wait_for 20 hw_tree_is_up
}

hw_tree() {
	[[ ! -e $hw_state ]] || hw_fail "there is a network already; call hw_down first" || return
	mkdir "$hw_state"
	echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
	hw_raise_tcp_memory || return
	hw_pid=()
	hw_tree_build || {
		hw_down
		hw_fail "the network could not be built"
	}
}
