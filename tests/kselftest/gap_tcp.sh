#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# TCP through a paced class: its large packets leave as frames, each in its time.  KTAP.
# shellcheck source=tests/kselftest/lib.sh
. "$(dirname "$0")/lib.sh"
need_program iperf3 nsenter nstat readlink ss

# Nothing can be read of a process that is just being started.
peer_has_namespace() {
	local namespace
	namespace=$(readlink "/proc/$peer/ns/net") && [[ -n $namespace && $namespace != "$(readlink /proc/self/ns/net)" ]]
}

at_peer() {
	nsenter --net="/proc/$peer/ns/net" "$@"
}

# The other end goes to a network namespace of its own, or packets would not take the wire.
move_peer() {
	unshare --net sleep 1000 &
	peer=$!
	trap 'kill "$peer"; rm -rf "$work"' EXIT
	hw_wait_for 5 peer_has_namespace && ip link set w0p netns "$peer" && at_peer ip address add 10.77.0.2/16 dev w0p &&
		at_peer ip link set w0p arp on up && ip link set w0 arp on && hw_wait_for 5 has_carrier w0
}

is_listening() {
	[[ $(at_peer ss -ltn) == *:5201* ]]
}

# transfer BYTES [OPTION OF iperf3...]: to the other end, by TCP
transfer() {
	at_peer iperf3 -s -1 >"$work/server" 2>&1 &
	hw_wait_for 5 is_listening && iperf3 -c 10.77.0.2 -n "$@" >"$work/client" 2>&1 && wait $!
}

# nstat_of COUNTER [COMMAND...]: where that command leads
nstat_of() {
	local counter=$1
	shift
	"$@" nstat -asz "$counter" | awk -v counter="$counter" '$1 == counter { print $2 }'
}

retransmitted() {
	nstat_of TcpRetransSegs
}

# Byte-times of all data frames on the wire.
data_wire_bytes() {
	od -An -v -t u4 -w16 /sys/class/net/w0/simwire/records | awk '$4 % 65536 != 2184 { n += $3 } END { print n }'
}

# The most that frames were closer than 10 Mbit/s has them, of any that follow each other, once the connection
# is under way: so much lateness was made up.
made_up_ns() {
	od -An -v -t u4 -w16 /sys/class/net/w0/simwire/records |
		awk '$4 % 65536 == 2184 || n++ < 100 { next }
			{ at = $1 + $2 * 4294967296 - wire * 800; wire += $3
				if (at > latest) latest = at
				if (latest - at > most) most = latest - at }
			END { print most + 0 }'
}

# recorded_transfer NAME FRAMES: 1 MB; sets before, and what measure sets of so many frames
recorded_transfer() {
	start_recording
	before=$(retransmitted)
	ktap_check "$1: 1 MB gets through" transfer 1M
	skip=100 measure "$2"
}

# all_is_right NAME: with what was sent since then
all_is_right() {
	ktap_check "$1: nothing is left" is_drained
	ktap_equal "$1: each frame is charged, byte-times" "$(data_wire_bytes)" "$(shown wire "$(class_shown 1:10 -s)")"
	ktap_equal "$1: nothing was sent twice" "$before" "$(retransmitted)"
}

# The kernel's GSO packets leave whole, and the rate holds all the same.
whole() {
	local name="$1: whole" before
	gap_with "default 1:10 $2" "1: 1:10 rate 10mbit burst 1048576"
	recorded_transfer "$name" 500
	# up to a packet of 44 frames more or less at either end
	ktap_between "$name: at its rate, bit/s" 9000000 "$rate_bps" 11000000
	ktap_equal "$name: no GSO packet was cut" 0 "$(xstat gso_split)"
	all_is_right "$name"
}

# Sets longest_run and mean_run: of the data frames that followed each other without a gap, once the
# connection is under way.
measure_runs() {
	read -r longest_run mean_run < <(od -An -v -t u4 -w16 /sys/class/net/w0/simwire/records |
		awk -v byte_ns="$byte_ns" '$4 % 65536 == 2184 || n++ < 100 { next }
			{ at = $1 + $2 * 4294967296
				if (at - before > wire * byte_ns + 2) { run = 0; runs++ }
				run++; frames++
				before = at; wire = $3
				if (run > most) most = run }
			END { print most + 0, int(frames / runs) }')
}

# GSO packets longer than the burst leave in parts that it holds, each in its time.
in_parts() {
	local name="$1: in parts" before
	gap_with "default 1:10 $2" "1: 1:10 rate 10mbit burst $((8 * 1538))"
	recorded_transfer "$name" 400
	ktap_between "$name: at its rate, bit/s" 9800000 "$rate_bps" 10200000
	ktap_between "$name: GSO packets were cut" 1 "$(xstat gso_split)" 1000
	measure_runs
	ktap_between "$name: frames in a row, at most" 8 "$longest_run" "$3"
	# packets of 44 frames become five of 8 and one of 4, shorter ones a single one
	ktap_between "$name: frames in a row, on average" 3 "$mean_run" 8
	ktap_equal "$name: nothing has a wrong checksum" 0 "$(nstat_of TcpInCsumErrors at_peer)"
	all_is_right "$name"
}

# While no class is paced nobody's GSO packets are cut, those included that find the qdisc busy.
unpaced() {
	gap_with "default 1:10 bypass on" "1: 1:10 rate unlimited"
	ktap_check "while nothing is paced 1 MB gets through" transfer 1M --parallel 8
	ktap_equal "no GSO packet was cut" 0 "$(xstat gso_split)"
	ktap_between "packets found the qdisc busy" 20 "$(xstat direct)" 10000
}

# in_frames NAME OPTIONS [CHILD]
in_frames() {
	local name=$1 before
	gap_with "default 1:10 $2" "1: 1:10 rate 10mbit"
	# shellcheck disable=SC2086 # options are words
	[[ -z ${3:-} ]] || tc qdisc add dev w0 parent 1:10 handle 10: $3
	recorded_transfer "$name" 400
	ktap_between "$name: at its rate, bit/s" 9900000 "$rate_bps" 10010000
	# one interval at most (gap-clock.rst): TCP's next packet is late where the processor does other work first
	ktap_between "$name: frames make up at most, ns" 0 "$(made_up_ns)" 1230400
	ktap_between "$name: GSO packets were cut" 1 "$(xstat gso_split)" 1000
	all_is_right "$name"
}

wire w0 || skip_all "no simwire"
move_peer
ktap_result $? "the other end goes to a namespace of its own"
in_frames "gap frames" ""
whole "gap frames" ""
in_parts "gap frames" "" 8
if command -v ethtool >/dev/null && ethtool -K w0 tso on; then
	in_frames "a device that cuts packets itself" ""
	counter tx_tso_packets
	ktap_equal "gets none that is to be cut" 0 "$counter"
	whole "a device that cuts packets itself" ""
	counter tx_tso_packets
	ktap_between "then it gets them" 1 "$counter" 1000
	in_parts "a device that cuts packets itself" "" 8
	tc qdisc del dev w0 root
	ktap_check "which it could: without gap 1 MB gets through" transfer 1M
	counter tx_tso_packets
	ktap_between "and it cuts" 1 "$counter" 1000
	ethtool -K w0 tso off
else
	ktap_skip "a device that cuts packets itself" "no ethtool"
fi
in_frames "timer" "backend timer"
whole "timer" "backend timer"
# of two parts, the second may make up for a late timer
in_parts "timer" "backend timer" 16
unpaced
in_frames "fq_codel below" "" "fq_codel target 10s interval 100s"
ktap_end
