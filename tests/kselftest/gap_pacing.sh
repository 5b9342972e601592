#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Rates and spacing of classes, by what was on the wire.  KTAP.
# shellcheck source=tests/kselftest/lib.sh
. "$(dirname "$0")/lib.sh"

# Starts may miss their time by the shortest gap frame.
slack_ns=$((84 * byte_ns))

# paced_at BIT BYTES NAME [WIRE_BYTES]: 80 frames, by rate and spacing
paced_at() {
	local wire=${4:-$frame_wire}
	on_wire "$1" "$3" "80 9 $2"
	ktap_between "$3: no two starts closer, ns" $((wire * 8000000000 / $1 - slack_ns)) \
		"$spacing_ns" 100000000
}

overlimits() {
	[[ $(tc -s qdisc show dev w0 root) =~ overlimits\ ([0-9]+) ]] && echo "${BASH_REMATCH[1]}"
}

test_one_class() {
	gap_with "default 1:10" "1: 1:10 rate 15mbit"
	ktap_equal "gap frames pace" "asked gap" "$(state w0)"
	paced_at 15000000 $payload_bytes "15 of 50 Mbit/s"
	# 2389 byte-times each
	ktap_between "two gap frames were between any two" $((2 * (frames - 1))) "$gap_frames" \
		$((2 * (frames + 20)))
	ktap_equal "of the longest length that the MTU allows, byte-times" 1538 "$gap_longest"
	ktap_between "overlimits counts how often a packet had to wait" $((frames - 1)) \
		"$(overlimits)" $((3 * (frames + 20)))
	tc class change dev w0 classid 1:10 gap rate 45mbit
	paced_at 45000000 $payload_bytes "45 of 50 Mbit/s"
	tc class change dev w0 classid 1:10 gap rate 5mbit
	paced_at 5000000 18 "short frames at 5 Mbit/s" 84
}

wire_bytes() {
	shown wire "$(tc -s qdisc show dev w0 root)"
}

test_deleted_class() {
	local before
	gap_with "default 1:10" "1: 1:10 rate 15mbit"
	send_all 20
	before=$(wire_bytes)
	tc class del dev w0 classid 1:10
	ktap_between "what a class has sent stays counted without it, byte-times" $((20 * frame_wire)) \
		"$(wire_bytes)" "$before"
}

test_no_class() {
	local stats
	gap_with ""
	start_recording
	# a short frame on a slow wire holds all that follow
	echo 2000 >/sys/class/net/w0/simwire/rate_bps
	send 1 9 18
	echo $((link_mbit * 1000000)) >/sys/class/net/w0/simwire/rate_bps
	send_all 50
	measure
	ktap_between "packets of no class use the whole link, bit/s" 49999000 "$rate_bps" 50001000
	stats=$(tc -s qdisc show dev w0 root)
	ktap_equal "they are counted as direct" "51 $((50 * frame_wire + 84))" \
		"$(shown direct "$stats") $([[ $stats =~ direct\ 51\ pkt\ \(([0-9]+) ]] && echo "${BASH_REMATCH[1]}")"
}

test_caps() {
	gap_with "default 1:10" "1: 1:1 rate 20mbit" "1:1 1:10 rate 15mbit" "1:1 1:11 rate 15mbit" \
		"1:1 1:12 rate unlimited"
	tc filter add dev w0 parent 1: protocol ip prio 1 u32 match ip dport 11 0xffff classid 1:11
	tc filter add dev w0 parent 1: protocol ip prio 1 u32 match ip dport 12 0xffff classid 1:12
	paced_at 15000000 $payload_bytes "one child below a faster parent"
	start_recording
	held=1:1 send_held "70 10" "70 11"
	# while both have packets
	measure 120
	ktap_between "two children together get the parent's rate, bit/s" 19960000 "$rate_bps" 20040000
	tc class change dev w0 classid 1:1 gap rate 10mbit
	paced_at 10000000 $payload_bytes "a child faster than its parent"
	held=1:1 on_wire 10000000 "an unlimited child gets the parent's rate" "80 12"
}

# A class comes last each time if the rates are equal, and anywhere if they are not.
test_order() {
	gap_with "default 1:10" "1: 1:1 rate 48mbit" "1:1 1:10 rate 5mbit" "1:1 1:11 rate 20mbit" \
		"1:1 1:12 rate 20mbit"
	tc filter add dev w0 parent 1: protocol ip prio 1 u32 match ip dport 11 0xffff classid 1:11
	tc filter add dev w0 parent 1: protocol ip prio 1 u32 match ip dport 12 0xffff classid 1:12
	start_recording
	held=1:1 send_held "20 9" "80 11" "80 12"
	# while all have packets; each makes up a frame that the cap held
	measure 150
	ktap_between "a slow class holds up none of the faster, bit/s" 44100000 "$rate_bps" 45900000
}

test_depth() {
	gap_with "" "1: 1:1 rate 20mbit" "1:1 1:2 rate 19mbit" "1:2 1:3 rate 18mbit" "1:3 1:4 rate 17mbit" \
		"1:4 1:5 rate 16mbit" "1:5 1:6 rate 15mbit" "1:6 1:7 rate 14mbit" "1:7 1:8 rate 13mbit"
	ktap_result $? "classes nest eight deep"
	tc class add dev w0 parent 1:8 classid 1:9 gap 2>"$work/error"
	ktap_equal "the ninth is refused" 2 $?
	ktap_check "with a sentence" grep -qE '^Error: .*8' "$work/error"
	tc qdisc change dev w0 root gap default 1:8
	local held=1:8
	paced_at 13000000 $payload_bytes "the lowest of eight"
	tc class change dev w0 classid 1:3 gap rate 6mbit
	paced_at 6000000 $payload_bytes "a bottleneck in the middle"
}

test_timer() {
	gap_with "backend timer default 1:10" "1: 1:10 rate 20mbit"
	tolerance=100 on_wire 20000000 "the timer keeps the rate within 1 %"
	ktap_equal "and uses no gap frames" 0 "$gap_frames"
	tc qdisc change dev w0 root gap backend gap
	paced_at 20000000 $payload_bytes "changed to gap frames"
}

# More gap frames in the device than the qdisc has ready: one that is under way must not be
# sent again with another length.  Three of them, of two lengths, go into each gap.
test_frames_under_way() {
	echo 1024 >/sys/class/net/w0/simwire/ring_frames
	echo 600000 >/sys/class/net/w0/queues/tx-0/byte_queue_limits/limit_min
	ip link set w0 mtu 1000
	gap_with "default 1:10" "1: 1:10 rate 15mbit"
	on_wire 15000000 "with a device that holds 300 gap frames the rate stays" "80 9" "80 10"
	counter tx_changed_frames
	ktap_equal "no frame is changed while the device has it" 0 "$counter"
	ip link set w0 mtu 1500
	echo 30000 >/sys/class/net/w0/queues/tx-0/byte_queue_limits/limit_min
	echo 64 >/sys/class/net/w0/simwire/ring_frames
}

refuse_10() {
	echo 10 >/sys/class/net/w0/simwire/tx_busy
	ktap_equal "a driver refuses frames" 10 "$(</sys/class/net/w0/simwire/tx_busy)"
}

# The core hands over again what the driver refuses, data and gap frames alike.
test_busy_driver() {
	gap_with "default 1:10" "1: 1:10 rate 15mbit"
	tolerance=200 before_release=refuse_10 \
		on_wire 15000000 "with a driver that refuses frames the rate stays" "80 9"
	ktap_equal "which it did" 0 "$(</sys/class/net/w0/simwire/tx_busy)"
	ktap_check "and nothing is left" is_drained
}

test_sleep() {
	gap_with "default 1:10" "1: 1:10 rate 500kbit"
	on_wire 500000 "1 % of the link, gaps slept" 20
	ktap_between "no two starts closer, ns" $((frame_wire * 16000 - slack_ns)) "$spacing_ns" 100000000
	# 66 of the longest in each gap, were all of it filled
	ktap_between "most gap frames are saved" 1 "$gap_frames" $((4 * (frames + 2)))
}

wire w0 || skip_all "no simwire"
test_one_class
test_deleted_class
test_no_class
test_caps
test_order
test_depth
test_timer
test_sleep
test_frames_under_way
test_busy_driver
ktap_end
