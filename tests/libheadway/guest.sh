#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# In a guest of vm-run --icount --faster 50: programs without MPI, the examples tcp_alltoall and
# gloo_alltoall (by Gloo, Debian's libgloo), pace themselves with libheadway.  KTAP on standard output.
#
#   tests/vm/vm-run --icount --faster 50 -- tests/libheadway/guest.sh
#
# Four nodes a cluster, links of 1 and a trunk of 1.25 Gbit/s with a shallow
# buffer: what is not paced is dropped.
set -euo pipefail

# shellcheck source=tests/lib/topology.sh
. "$HW_ROOT/tests/lib/topology.sh"
# shellcheck source=tests/lib/daemons.sh
. "$HW_ROOT/tests/lib/daemons.sh"
# shellcheck source=tests/lib/ktap.sh
. "$HW_ROOT/tests/lib/ktap.sh"

nodes=4 host_mbit=1000 trunk_mbit=1250 trunk_buffer=32768
message_bytes=65536 calls=6
work=/tmp/libheadway

set_up() {
	mkdir -p $work
	cp "$HW_BUILD/bin/tests/"{tcp,gloo}_alltoall "$HW_BUILD/bin/headway" $work
	cp -P "$HW_BUILD"/lib/libheadway.so* $work
	# what they load is in memory before anything is timed: virtual time jumps while the guest
	# waits for the host's disk, and a doctor would have looked before the program has begun.  So is env,
	# by which it is started
	ldd $work/headway $work/{tcp,gloo}_alltoall | awk '$3 ~ /^\// { print $3 }' | xargs cat >/dev/null
	local program
	for program in tcp gloo; do
		env LD_LIBRARY_PATH=$work "$work/${program}_alltoall" >/dev/null 2>&1 || :
	done
	hw_two_clusters $nodes $host_mbit $trunk_mbit 50 65536 $trunk_buffer
	insmod "$HW_BUILD/kmod/$(uname -r)/sch_gap.ko"
	hw_config $nodes $host_mbit $trunk_mbit >$work/headway.toml
	hw_start_daemons $work/headway.toml $work
	peers=()
	local node
	for node in $(hw_nodes); do
		peers+=("$node=$(hw_node_address "$node")")
	done
}

# tcp RANK, gloo RANK: the words that start it
tcp() {
	words=("$work/tcp_alltoall" "$1" $message_bytes $calls 5000 "${peers[@]}")
}
gloo() {
	words=("$work/gloo_alltoall" "$1" $message_bytes $calls "$store" eth0 "${peers[@]%%=*}")
}

# run NAME PROGRAM [NAME=VALUE...]: a process on every node; its output is in NAME.RANK.  That on the node $watched
# is a doctor's command
run() {
	local name=$1 program=$2 rank=0 node status=0 process store
	local -a processes=() words
	shift 2
	store=$(mktemp -d)
	for node in $(hw_nodes); do
		$program $rank
		words=(env "LD_LIBRARY_PATH=$work" "$@" "${words[@]}")
		if [[ $node == "${watched:-}" ]]; then
			# shellcheck disable=SC2016 # by the inner shell
			hw_node_spawn "$node" "$work/doctor.$name.$node" $work/headway doctor --json --config $work/headway.toml \
				$(other_side) -- sh -c 'out=$1; shift; exec "$@" >"$out"' sh "$work/$name.$rank" "${words[@]}"
		else
			hw_node_spawn "$node" "$work/$name.$rank" "${words[@]}"
		fi
		processes+=("$HW_SPAWNED")
		rank=$((rank + 1))
	done
	for process in "${processes[@]}"; do
		wait "$process" || status=1
	done
	return $status
}

# other_side: the addresses of the other cluster
other_side() {
	local node
	for ((node = 0; node < nodes; node++)); do
		hw_node_address b$node
	done
}

# start_doctor NAME NODE SECONDS: it begins to look at the way from that node to the other cluster
start_doctor() {
	# shellcheck disable=SC2046 # words
	hw_node_spawn "$2" "$work/doctor.$1.$2" $work/headway doctor --json --seconds "$3" \
		--config $work/headway.toml $(other_side)
}

# diagnosis NAME NODE: the interface, whether headwayd answers, whether there were time-outs,
# and the verdict
diagnosis() {
	python3 - "$work/doctor.$1.$2" <<-'PYTHON'
		import json, sys
		found = json.loads(open(sys.argv[1]).read())
		timeouts = found["tcp"]["TCPTimeouts"]["while_looking"]
		print(found["paths"][0]["interface"], found["headwayd"]["answers"],
		      "time-outs:" if timeouts else "none:", found["verdict"]["answer"])
	PYTHON
}

median_ms() {
	sort -n "$work/$1.0" | awk '{ ms[NR] = $1 } END { print ms[int((NR + 1) / 2)] }'
}

# No call is faster than this: the data of one direction, in frames of 1448 bytes, through 0.99 of
# the trunk.
floor_ms() {
	awk -v n=$nodes -v bytes=$message_bytes -v mbit=$trunk_mbit \
		'BEGIN { print n * n * bytes * 1538 / 1448 * 8 / (0.99 * mbit * 1000) }'
}

# Whether TCP of one of the first cluster's nodes has waited for a time-out.
has_stalled() {
	local node
	for ((node = 0; node < nodes; node++)); do
		hw_node a$node nstat -asz TcpExtTCPTimeouts | awk '$2 > 0 { found = 1 } END { exit !found }' && return
	done
	return 1
}

# Which of the senders loses a tail packet is chance, and in some of twelve runs none of these nodes did: so
# there is a doctor on each of them, and the program runs until one has stalled.
test_unpaced() {
	local before doctors=() node status=0 runs=0 unpaced=0
	before=$(hw_trunk_drops)
	for ((node = 0; node < nodes; node++)); do
		start_doctor unpaced a$node 10
		doctors+=("$HW_SPAWNED")
	done
	until has_stalled; do
		run unpaced tcp HEADWAY=off || status=1
		runs=$((runs + 1)) unpaced=$((unpaced + $(grep -c 'ms, not paced' $work/unpaced.0)))
	done
	ktap_result $status "HEADWAY=off: the program runs"
	stalled=none
	for ((node = 0; node < nodes; node++)); do
		status=0
		wait "${doctors[$node]}" || status=$?
		((status != 1)) || stalled=a$node
	done
	ktap_equal "headway doctor sees a node stall" "eth0 True time-outs: would help" \
		"$(diagnosis unpaced $stalled)"
	ktap_equal "HEADWAY=off: no call is paced" $((runs * calls)) $unpaced
	ktap_between "HEADWAY=off: the trunk drops frames" 1 $(($(hw_trunk_drops) - before)) 100000
}

test_paced() {
	local before watched=$stalled
	before=$(hw_trunk_drops)
	ktap_check "with headwayd: the program runs" run paced tcp
	ktap_equal "headway doctor sees no time-out then, whatever there was since the node's start" \
		"eth0 True none: would not help" "$(diagnosis paced $stalled)"
	ktap_equal "every call is paced" "0 $calls" \
		"$(grep -c 'ms, not paced' $work/paced.0 || :) $(grep -c '^[0-9.]* ms$' $work/paced.0)"
	ktap_equal "the trunk drops nothing" 0 $(($(hw_trunk_drops) - before))
	ktap_between "a call takes what the trunk needs for it, ms" \
		"$(floor_ms)" "$(median_ms paced)" "$(awk -v ms="$(floor_ms)" 'BEGIN { print 1.1 * ms }')"
}

# Gloo's all-to-all, which PyTorch has.  Gloo sends a message when its receiver has asked for it, and the requests
# queue behind data of the same connection; so a call takes longer than the trunk needs.
test_gloo() {
	local before
	before=$(hw_trunk_drops)
	ktap_check "Gloo, HEADWAY=off: the program runs" run gloo_unpaced gloo HEADWAY=off
	ktap_between "Gloo, HEADWAY=off: the trunk drops frames" 1 $(($(hw_trunk_drops) - before)) 100000
	before=$(hw_trunk_drops)
	ktap_check "Gloo with headwayd: the program runs" run gloo_paced gloo
	ktap_equal "Gloo: every call is paced" "0 $calls" \
		"$(grep -c 'ms, not paced' $work/gloo_paced.0 || :) $(grep -c '^[0-9.]* ms$' $work/gloo_paced.0)"
	ktap_equal "Gloo: the trunk drops nothing" 0 $(($(hw_trunk_drops) - before))
	ktap_between "Gloo: a call takes little more than the trunk needs for it, ms" \
		"$(floor_ms)" "$(median_ms gloo_paced)" "$(awk -v ms="$(floor_ms)" 'BEGIN { print 1.6 * ms }')"
	ktap_comment "Gloo, median of $calls calls: unpaced $(median_ms gloo_unpaced) ms, paced $(median_ms gloo_paced) ms"
}

test_no_daemon() {
	hw_stop_daemons
	ktap_check "without headwayd: the program runs" run no_daemon tcp
	ktap_equal "without headwayd: no call is paced" $calls \
		"$(grep -c 'ms, not paced' $work/no_daemon.0)"
}

# By clocks of the processes' own, which leave room for acknowledgements; whose name for a node the network has,
# it is told.
test_no_root() {
	local before line="a[0-$((nodes - 1))] ${host_mbit}mbit | b[0-$((nodes - 1))] ${host_mbit}mbit : ${trunk_mbit}mbit"
	before=$(hw_trunk_drops)
	ktap_check "processes that pace themselves run" \
		run no_root tcp HEADWAY_PLANNER="$HW_BUILD/bin/headway" HEADWAY_NETWORK="$line"
	ktap_equal "processes that pace themselves: every call is paced" "0 $calls" \
		"$(grep -c 'ms, not paced' $work/no_root.0 || :) $(grep -c '^[0-9.]* ms$' $work/no_root.0)"
	ktap_equal "processes that pace themselves: the trunk drops nothing" 0 $(($(hw_trunk_drops) - before))
	ktap_between "processes that pace themselves: a call takes what the trunk needs for it, ms" \
		"$(floor_ms)" "$(median_ms no_root)" "$(awk -v ms="$(floor_ms)" 'BEGIN { print 1.1 * ms }')"
}

set_up
test_unpaced
test_paced
test_gloo
test_no_daemon
test_no_root
hw_down
ktap_end
