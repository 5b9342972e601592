#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What the self-test makes of good and bad devices, and what paces then.  KTAP.
# shellcheck source=tests/kselftest/lib.sh
. "$(dirname "$0")/lib.sh"

# play ATTRIBUTE VALUE: w0 behaves so from now on
play() {
	echo "$2" >"/sys/class/net/w0/simwire/$1"
}

# A fresh wire of the given kind, and one class for everything.
device() {
	ip link del w0 2>/dev/null
	wire w0 "$@"
}

# judged "VERDICT BACKEND" NAME [OPTIONS OF gap]
judged() {
	gap_with "default 1:10 ${3:-}" "1: 1:10 rate 10mbit"
	ktap_equal "$2" "$1" "$(verdict w0)"
}

# keeps_rate NAME: on the wire, within 1 %; so many frames that one interval, which a
# timer that is that late loses, is less
keeps_rate() {
	tolerance=100 on_wire 10000000 "$1: the rate on the wire is right" 80 80 80
}

test_good() {
	device
	judged "passed gap" "a good device"
	keeps_rate "a good device"
	ktap_check "the evidence is shown" grep -qE 'selftest frames [1-9][0-9]* expected_ns [1-9][0-9]* took_ns [1-9][0-9]* counted [1-9]' \
		<(tc -d qdisc show dev w0 root)
	ktap_check "and one line tells the log" log_tells 'paced by gap frames'
	ktap_equal "selftest runs it again" 2 "$(tc qdisc change dev w0 root gap selftest; verdict w0 >"$work/verdict"; xstat selftests)"
	ktap_equal "with the same result" "passed gap" "$(cat "$work/verdict")"
	play pause_stats 0
	judged "passed gap" "without PAUSE statistics"
}

log_tells() {
	dmesg | tail -n 20 | grep "gap 1: $1"
}

test_held_up() {
	device
	play stall_ns 30000000
	judged "passed gap" "a device that is held up once"
	ktap_equal "it was tested twice" 2 "$(xstat selftests)"
	keeps_rate "held up once"
}

test_filtered() {
	device
	play drop_mac_control 1
	judged "lost timer" "a device that drops PAUSE frames"
	ktap_equal "it was tested twice" 2 "$(xstat selftests)"
	keeps_rate "filtered"
	ktap_check "the log says why" log_tells 'paced by timer: .*drops them'
	ktap_equal "void frames get through it" "passed gap" \
		"$(tc qdisc change dev w0 root gap frame void; verdict w0)"
	tc qdisc change dev w0 root gap frame pause frame-max 60
	ktap_equal "short PAUSE frames do not" "lost timer" "$(verdict w0)"
	play pause_stats 0
	judged "lost timer" "nor without statistics"
	keeps_rate "filtered, no statistics"
}

test_speed() {
	device
	play speed_known 0
	judged "no_speed timer" "unknown speed"
	keeps_rate "unknown speed"
	judged "passed gap" "unknown speed, but rate is given" "rate ${link_mbit}mbit"
	tc qdisc del dev w0 root
	tc qdisc add dev w0 root gap backend gap 2>"$work/error"
	ktap_equal "gap frames are refused there" 2 $?
	ktap_check "with a sentence" grep -q '^Error: ' "$work/error"
	device
	judged "slow timer" "a link rate beyond what the device can do" "rate $((4 * link_mbit))mbit"
	keeps_rate "too high a link rate"
}

test_queue_limits() {
	device
	play bql 0
	judged "passed gap" "no byte queue limits"
	keeps_rate "no byte queue limits"
	device
	play bql 0
	play drop_mac_control 1
	judged "lost timer" "neither queue limits nor PAUSE"
	keeps_rate "neither"
}

test_queues() {
	device numtxqueues 4
	judged "passed gap" "four TX queues"
	keeps_rate "four TX queues"
	on_wire 10000000 "flows of all queues share one schedule" "30 1" "30 2" "30 3" "30 4"
	ktap_equal "nothing passes the qdisc by" 0 "$(xstat bypass)"
}

test_carrier() {
	device
	ip link set w0p down
	hw_wait_for 5 no_carrier
	judged "no_carrier timer" "no carrier"
	ip link set w0p up
	hw_wait_for 5 has_carrier w0
	hw_wait_for 10 not_verdict no_carrier
	ktap_equal "the carrier comes" "passed gap" "$(verdict w0)"
}

no_carrier() {
	! has_carrier w0
}

not_verdict() {
	[[ $(shown verdict "$(tc qdisc show dev w0 root)") != "$1" ]]
}

# virtual KIND NAME MODULE ip link options...
virtual() {
	local kind=$1
	shift
	if ! ip link add v0 type "$kind" "$@" 2>/dev/null; then
		ktap_skip "$kind" "no such device here"
		return
	fi
	ip link set v0 up
	tc qdisc add dev v0 root gap rate 10mbit
	ktap_equal "$kind: the timer paces" "virtual timer" "$(verdict v0)"
	tc qdisc del dev v0 root
	tc qdisc add dev v0 root gap rate 10mbit backend gap 2>"$work/error"
	ktap_equal "$kind: gap frames are refused" 2 $?
	ktap_check "$kind: with a sentence" grep -q '^Error: .*virtual' "$work/error"
	ip link del v0
}

test_asked() {
	device
	judged "asked timer" "backend timer" "backend timer"
	judged "asked gap" "backend gap" "backend gap"
	tc qdisc change dev w0 root gap backend auto
	ktap_equal "back to auto" "passed gap" "$(verdict w0)"
}

device || skip_all "no simwire"
test_good
test_held_up
test_filtered
test_speed
test_queue_limits
test_queues
test_carrier
virtual veth peer name v1
virtual dummy
virtual ifb
test_asked
ktap_end
