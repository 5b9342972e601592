# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Two clusters of nodes, two switches and a trunk, in one kernel.  Sourced, in a
# guest of vm-run, by root.
#
#   a0 eth0 ══ pa0 ┐                                   ┌ pb0 ══ eth0 b0
#   a1 eth0 ══ pa1 ┤ swa  trka ══════ trunk ══════ trkb  swb ├ pb1 ══ eth0 b1
#      ...         ┘                                   └        ...
#
# ══ is a simwire.  A node is a network, mount and UTS namespace kept by a
# process: it has its own /run, /sys and host name for as long as it stands, and
# programs started in it at different times share them.  A switch is a bridge
# that forwards by a fixed table; each of its ports, the trunk's too, sends
# through a `bfifo limit BUFFER` and a wire that takes few frames in advance.
# Cluster a has 10.1.0.(i+1), b 10.2.0.(i+1), all in one 10.0.0.0/8; names are in
# /etc/hosts, neighbours are fixed: nothing but the test's own traffic flows.
#
#   hw_two_clusters N HOST_MBIT TRUNK_MBIT TRUNK_DELAY_US PORT_BUFFER TRUNK_BUFFER
#                         build it; rates may be decimal, buffers are bytes
#   hw_down               end every process in the nodes, remove everything
#   hw_nodes              the nodes' names
#   hw_node_pid NODE      a process in NODE's namespaces
#   hw_node_address NODE  its IPv4 address
#   hw_node NODE COMMAND...            run it in NODE, here and now
#   hw_node_spawn NODE LOG COMMAND...  in the background; its pid in HW_SPAWNED
#   hw_each_node COMMAND...            in every node, one after the other
#   hw_ports, hw_trunk_ports           the switches' devices
#   hw_port_queues QDISC...            give every port another queue, as in tc
#   hw_trunk_queues QDISC...           the same for both ends of the trunk
#   hw_port_drops, hw_trunk_drops      frames the switches' queues have dropped
#   hw_drops                           a line "DEVICE FRAMES" for every port
#   hw_wire_drops                      frames lost by the emulation itself: 0
#   hw_trunk_bytes                     wire bytes "A_TO_B B_TO_A"
#   hw_trunk_record FRAMES             start to record frames on the trunk
#   hw_trunk_records FOLDER            store the records there; see wire_records.py
#   hw_cpu_start; ...; hw_cpu_share    "BUSY SOFTIRQ" in per cent since the start
# Everything prints to standard output, complains on standard error and returns
# non-zero on failure.

hw_lib=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/lib/wait.sh
. "$hw_lib/wait.sh"

# Seen from all nodes, which have a /run of their own but share /tmp.
hw_state=/tmp/headway-topology
# Frames in a switch port's wire: the one being sent and the next.  The buffer
# before it is the bfifo.
hw_switch_ring_frames=2
hw_busybox=/run/headway-vm/busybox/busybox
# Links of the network, as a group of `ip link`.
hw_group=4
# A network card's ring; BQL keeps it shorter.
hw_host_ring_frames=${HW_HOST_RING_FRAMES:-64}

hw_fail() {
	echo "topology: $*" >&2
	return 1
}

hw_mbit_to_bps() {
	awk -v mbit="$1" 'BEGIN { if (mbit !~ /^[0-9]+([.][0-9]+)?$/ || mbit + 0 <= 0) exit 1
		printf "%.0f", mbit * 1000000 }' || hw_fail "'$1' is not a rate in Mbit/s"
}

# ---- names ---------------------------------------------------------------------

# Tables of the network that stands, filled without starting a process: a
# program costs 50 ms on an emulated processor, and a static one 8.
declare -a hw_names=()
declare -A hw_pid=() hw_address=() hw_mac=()

hw_read_state() {
	local node cluster i
	[[ -f $hw_state/nodes ]] || hw_fail "there is no network; call hw_two_clusters first" || return
	mapfile -t hw_names <"$hw_state/nodes"
	for node in "${hw_names[@]}"; do
		cluster=1
		[[ $node == a* ]] || cluster=2
		i=${node:1}
		hw_address[$node]=10.$cluster.$((i / 250)).$((i % 250 + 1))
		printf -v "hw_mac[$node]" '02:00:0a:%02x:%02x:%02x' "$cluster" $((i / 250)) $((i % 250 + 1))
		[[ ! -f $hw_state/$node.pid ]] || read -r "hw_pid[$node]" <"$hw_state/$node.pid"
	done
}

hw_need_node() {
	hw_read_state || return
	[[ -n ${hw_pid[$1]:-} ]] || hw_fail "there is no node '$1'"
}

hw_nodes() {
	hw_read_state && printf '%s\n' "${hw_names[@]}"
}

hw_node_pid() {
	hw_need_node "$1" && echo "${hw_pid[$1]}"
}

hw_node_address() {
	hw_need_node "$1" && echo "${hw_address[$1]}"
}

hw_ports() {
	hw_read_state && printf 'p%s\n' "${hw_names[@]}"
}

hw_trunk_ports() {
	printf 'trka\ntrkb\n'
}

# ---- nodes ---------------------------------------------------------------------

# Becomes the command, in the node.
hw_node_exec() {
	hw_need_node "$1" || return
	local pid=${hw_pid[$1]}
	shift
	exec nsenter --target "$pid" --net --mount --uts --wdns="$PWD" -- "$@"
}

hw_node() {
	(hw_node_exec "$@")
}

hw_node_spawn() {
	local node=$1 log=$2
	shift 2
	hw_need_node "$node" || return
	(hw_node_exec "$node" "$@") >"$log" 2>&1 </dev/null &
	# shellcheck disable=SC2034 # for the caller
	HW_SPAWNED=$!
}

hw_each_node() {
	local node
	hw_read_state || return
	for node in "${hw_names[@]}"; do
		hw_node "$node" "$@" || hw_fail "on $node: $*" || return
	done
}

# Prints what the process that keeps a node does, in busybox's shell; the node stands when it says
# so.
hw_node_keeper() {
	cat <<'KEEPER'
set -e
echo "$1" >/proc/sys/kernel/hostname
mount -t tmpfs -o mode=755 tmpfs /run
mkdir /run/lock
mount -t sysfs sysfs /sys
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t debugfs debugfs /sys/kernel/debug
echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
echo $$ >"$2/$1.pid"
exec tail -f /dev/null
KEEPER
}

hw_start_nodes() {
	local node keeper
	keeper=$(hw_node_keeper)
	for node in "${hw_names[@]}"; do
		unshare --net --mount --uts --propagation private \
			"$hw_busybox" sh -c "$keeper" keeper "$node" "$hw_state" \
			</dev/null >"$hw_state/$node.log" 2>&1 &
		disown
	done
	for node in "${hw_names[@]}"; do
		hw_wait_for 30 test -s "$hw_state/$node.pid" || {
			cat "$hw_state/$node.log" >&2
			return 1
		}
	done
	hw_read_state
}

# Every process in the nodes but their keepers, whoever started it.  Needs
# hw_read_state.
hw_node_processes() {
	local pid process keepers=" ${hw_pid[*]} "
	for process in /proc/[0-9]*; do
		[[ $keepers != *" ${process#/proc/} "* ]] || continue
		for pid in "${hw_pid[@]}"; do
			if [[ $process/ns/net -ef /proc/$pid/ns/net ]]; then
				echo "${process#/proc/}"
				break
			fi
		done
	done
}

hw_nodes_are_empty() {
	[[ -z $(hw_node_processes) ]]
}

hw_keepers_are_gone() {
	local pid
	for pid in "${hw_pid[@]}"; do
		# a keeper that nobody waited for yet has no namespaces any more
		[[ ! -e /proc/$pid/ns/net ]] || return
	done
}

# The keepers go last: by their namespaces the other processes are known.
hw_stop_nodes() {
	local signal pids
	for signal in TERM KILL; do
		mapfile -t pids < <(hw_node_processes)
		((${#pids[@]})) || break
		kill -"$signal" "${pids[@]}" 2>/dev/null
		hw_wait_for 5 hw_nodes_are_empty 2>/dev/null
	done
	((${#hw_pid[@]} == 0)) || kill "${hw_pid[@]}" 2>/dev/null
	hw_wait_for 5 hw_keepers_are_gone
}

# ---- wires, switches -----------------------------------------------------------

hw_load_simwire() {
	[[ -d /sys/module/simwire ]] && return
	insmod "$HW_BUILD/kmod/$(uname -r)/simwire.ko" || hw_fail "cannot load simwire.ko"
}

# hw_set_wire DEVICE RATE_BPS DELAY_NS RING_FRAMES
hw_set_wire() {
	local attributes=/sys/class/net/$1/simwire
	echo "$2" >"$attributes/rate_bps" &&
		echo "$3" >"$attributes/delay_ns" &&
		echo "$4" >"$attributes/ring_frames"
}

# One `ip -batch` makes all links of a network: its commands.  All are of one
# group, so that they go together as well.
hw_link_commands() {
	local cluster node
	for cluster in a b; do
		echo "link add sw$cluster group $hw_group type bridge stp_state 0 mcast_snooping 0 forward_delay 0"
	done
	echo "link add trka group $hw_group type simwire"
	echo "link set trkap name trkb"
	for node in "${hw_names[@]}"; do
		echo "link add p$node group $hw_group type simwire"
		echo "link set p${node}p address ${hw_mac[$node]}"
		echo "link set p$node master sw${node:0:1}"
	done
	echo "link set trka master swa"
	echo "link set trkb master swb"
}

# A switch's table: who is behind which of its ports.
hw_table_commands() {
	local node cluster port
	for node in "${hw_names[@]}"; do
		for cluster in a b; do
			port=p$node
			[[ ${node:0:1} == "$cluster" ]] || port=trk$cluster
			echo "fdb add ${hw_mac[$node]} dev $port master static"
		done
	done
	for port in "${hw_names[@]/#/p}" trka trkb; do
		echo "link set dev $port learning off"
	done
}

hw_up_commands() {
	local device
	for device in "${hw_names[@]/#/p}" trka trkb swa swb; do
		echo "link set $device up"
	done
}

hw_wire_switches() {
	local host_bps=$1 trunk_bps=$2 delay_ns=$3 node device
	hw_link_commands | ip -batch - || return
	hw_table_commands | bridge -batch - || return
	for node in "${hw_names[@]}"; do
		hw_set_wire "p$node" "$host_bps" 0 "$hw_switch_ring_frames" || return
		hw_set_wire "p${node}p" "$host_bps" 0 "$hw_host_ring_frames" || return
	done
	for device in trka trkb; do
		hw_set_wire "$device" "$trunk_bps" "$delay_ns" "$hw_switch_ring_frames" || return
	done
	hw_up_commands | ip -batch -
}

# The node's own side: its end of the wire, address, who else there is.
hw_node_commands() {
	local node=$1 other
	echo "link set lo up"
	echo "link set eth0 up"
	echo "addr add ${hw_address[$node]}/8 dev eth0"
	for other in "${hw_names[@]}"; do
		[[ $other == "$node" ]] ||
			echo "neigh add ${hw_address[$other]} lladdr ${hw_mac[$other]} nud permanent dev eth0"
	done
}

hw_plug_nodes() {
	local node ip
	ip=$(type -P ip)	# not busybox's own
	for node in "${hw_names[@]}"; do
		echo "link set p${node}p netns ${hw_pid[$node]} name eth0"
	done | ip -batch - || return
	for node in "${hw_names[@]}"; do
		hw_node_commands "$node" >"$hw_state/commands"
		"$hw_busybox" nsenter -t "${hw_pid[$node]}" -n "$ip" -batch - <"$hw_state/commands" || return
	done
}

hw_write_hosts() {
	local node
	cp /etc/hosts "$hw_state/hosts"
	echo "127.0.0.1 localhost" >/etc/hosts
	for node in "${hw_names[@]}"; do
		echo "${hw_address[$node]} $node" >>/etc/hosts
	done
}

hw_links_are_up() {
	local device state
	for device in "${hw_names[@]/#/p}" trka trkb; do
		read -r state <"/sys/class/net/$device/operstate"
		[[ $state == up ]] || return
	done
}

# All nodes share this kernel's limit on TCP's memory, where each would have its own: an
# all-to-all of 1 MiB over 16 nodes has 251 MB in flight, and a guest of 2 GB a limit of
# 180.  The new limit is half of the guest's memory, in pages.
hw_raise_tcp_memory() {
	awk -v page_kib="$(($(getconf PAGESIZE) / 1024))" '/^MemTotal:/ {
		limit = int($2 / page_kib / 2)
		print int(limit / 2), int(limit * 3 / 4), limit
	}' /proc/meminfo >/proc/sys/net/ipv4/tcp_mem
}

hw_two_clusters() {
	(($# == 6)) || hw_fail "hw_two_clusters N HOST_MBIT TRUNK_MBIT TRUNK_DELAY_US PORT_BUFFER TRUNK_BUFFER" || return
	local count=$1 host_bps trunk_bps delay_us=$4 port_buffer=$5 trunk_buffer=$6 cluster i
	[[ $count =~ ^[1-9][0-9]*$ && $delay_us =~ ^[0-9]+$ && $port_buffer =~ ^[1-9][0-9]*$ &&
		$trunk_buffer =~ ^[1-9][0-9]*$ ]] || hw_fail "not whole numbers: $*" || return
	host_bps=$(hw_mbit_to_bps "$2") && trunk_bps=$(hw_mbit_to_bps "$3") || return
	[[ ! -e $hw_state ]] || hw_fail "there is a network already; call hw_down first" || return

	mkdir "$hw_state"
	for cluster in a b; do
		for ((i = 0; i < count; i++)); do
			echo "$cluster$i"
		done
	done >"$hw_state/nodes"
	# a switch has nothing of its own to say
	echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
	hw_raise_tcp_memory || hw_fail "TCP's memory could not be raised" || return
	hw_pid=()
	hw_read_state && hw_load_simwire && hw_write_hosts && hw_start_nodes &&
		hw_wire_switches "$host_bps" "$trunk_bps" $((delay_us * 1000)) &&
		hw_plug_nodes &&
		hw_port_queues bfifo limit "$port_buffer" &&
		hw_trunk_queues bfifo limit "$trunk_buffer" &&
		hw_wait_for 20 hw_links_are_up || {
		hw_down
		hw_fail "the network could not be built"
	}
}

hw_down() {
	[[ -d $hw_state ]] || return 0
	hw_read_state
	hw_stop_nodes
	ip link del group $hw_group
	[[ ! -f $hw_state/hosts ]] || cat "$hw_state/hosts" >/etc/hosts
	rm -rf "$hw_state"
	hw_names=() hw_pid=()
}

# ---- queues and counters -------------------------------------------------------

hw_replace_queues() {
	local devices=$1 device
	shift
	for device in $devices; do
		# deleted first, so that the new one starts with counters at 0
		echo "qdisc replace dev $device root pfifo"
		echo "qdisc replace dev $device root $*"
	done | tc -batch -
}

hw_port_queues() {
	hw_replace_queues "$(hw_ports)" "$@"
}

hw_trunk_queues() {
	hw_replace_queues "$(hw_trunk_ports)" "$@"
}

hw_drops() {
	local devices
	devices=" $(hw_ports | xargs) $(hw_trunk_ports | xargs) "
	tc -s qdisc show | awk -v wanted="$devices" '
		$1 == "qdisc" { device = ($6 == "root" && index(wanted, " " $5 " ")) ? $5 : "" }
		device != "" && /dropped/ {
			sub(/.*dropped /, ""); sub(/,.*/, "")
			print device, $0
		}'
}

hw_port_drops() {
	hw_drops | awk '$1 !~ /^trk/ { sum += $2 } END { print sum + 0 }'
}

hw_trunk_drops() {
	hw_drops | awk '$1 ~ /^trk/ { sum += $2 } END { print sum + 0 }'
}

# Frames that no queue dropped and yet did not arrive: the emulation's own
# shortcomings (a full backlog of the receiving processor, no memory).
hw_wire_drops() {
	hw_read_state || return
	local words sum=0 node
	for node in self "${hw_pid[@]}"; do
		# device:, 8 columns of reception, 8 of transmission; dropped is the 4th
		while read -ra words; do
			case ${words[0]} in
			eth0: | trk[ab]: | p[ab][0-9]*: | u[A-Z]*:) sum=$((sum + words[4] + words[12])) ;;
			esac
		done <"/proc/$node/net/dev"
	done
	echo "$sum"
}

hw_trunk_bytes() {
	echo "$(</sys/class/net/trka/simwire/tx_wire_bytes) $(</sys/class/net/trkb/simwire/tx_wire_bytes)"
}

hw_trunk_record() {
	local device
	for device in $(hw_trunk_ports); do
		echo "$1" >"/sys/class/net/$device/simwire/record_frames" || return
	done
}

hw_trunk_records() {
	local device
	for device in $(hw_trunk_ports); do
		cat "/sys/class/net/$device/simwire/records" >"$1/$device.records" || return
	done
}

# Per cent of the processors' time.  BUSY is exact; SOFTIRQ is what /proc/stat
# sampled at timer ticks, of which an idle processor has none: short bursts on
# an idle processor escape it, and BUSY is the bound to go by.
hw_cpu_read() {
	awk '/^cpu / { print $8 / 100 }' /proc/stat
	cat /proc/uptime
	nproc
}

hw_cpu_start() {
	hw_cpu_before=$(hw_cpu_read | xargs)
}

hw_cpu_share() {
	awk -v before="$hw_cpu_before" -v after="$(hw_cpu_read | xargs)" 'BEGIN {
		split(before, b); split(after, a)
		span = (a[2] - b[2]) * a[4]
		if (span <= 0) { print "0 0"; exit }
		printf "%.1f %.1f\n", 100 * (1 - (a[3] - b[3]) / span), 100 * (a[1] - b[1]) / span
	}'
}
