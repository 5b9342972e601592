#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A class that nobody refreshes falls back, and says so.  KTAP.
# shellcheck source=tests/kselftest/lib.sh
. "$(dirname "$0")/lib.sh"

lines_about_expiry() {
	grep -c 'class gap 1:10 .*rate 1Mbit.*expired' "$work/monitor"
}

has_expired() {
	[[ $(class_shown 1:10) == *" expired"* ]]
}

monitor_sees_it() {
	(($(lines_about_expiry) > 0))
}

# Nobody says when tc monitor listens, so that is tried.
start_monitor() {
	tc monitor >"$work/monitor" 2>&1 &
	monitor=$!
	hw_wait_for 10 monitor_listens
}

monitor_listens() {
	tc class change dev w0 classid 1:10 gap
	grep -q 'class gap 1:10' "$work/monitor"
}

# keep_alive [MARKER]: for longer than the lease, which goes on when MARKER is told
keep_alive() {
	local turn
	tc class change dev w0 classid 1:10 gap rate 10mbit fallback 1mbit expires 1s
	for turn in 1 2 3 4; do
		read -rt 0.6 -u "$hw_never"
		tc class change dev w0 classid 1:10 gap
	done
	class_shown 1:10 >"$work/kept"
	[[ -z ${1:-} ]] || echo "kept alive" >"$1"
	hw_wait_for 10 has_expired
}

test_refresh() {
	keep_alive
	ktap_result $? "without a change it expires"
	ktap_equal "before that, one without options keeps the rate alive" 10Mbit \
		"$(shown rate "$(<"$work/kept")")"
	ktap_check "the time left is shown" \
		grep -qE 'fallback 1Mbit expires 1s left [0-9.]+m?s' "$work/kept"
}

test_expiry() {
	ktap_equal "the rate is the fallback then" 1Mbit "$(shown rate "$(class_shown 1:10)")"
	hw_wait_for 10 monitor_sees_it
	ktap_result $? "tc monitor is told"
	ktap_equal "once" 1 "$(lines_about_expiry)"
	ktap_equal "class and qdisc count it" "1 1" \
		"$(shown expired "$(class_shown 1:10 -s | tail -n +3)") $(xstat expired)"
	held=1:1 on_wire 1000000 "the fallback is on the wire" 30
}

# A work takes RTNL, which others need: none runs for a deadline that has been put off.
test_work() {
	if ! traced 1 gap_work keep_alive "$work/tracing/trace_marker" >"$work/trace"; then
		ktap_skip "nothing is done while a rate is kept alive" "no tracer that is free"
		return
	fi
	ktap_equal "nothing is done while a rate is kept alive" 0 \
		"$(sed '/kept alive/,$d' "$work/trace" | called gap_work)"
	ktap_between "but when it expires" 1 \
		"$(sed '1,/kept alive/d' "$work/trace" | called gap_work)" 10
}

test_return() {
	tc class change dev w0 classid 1:10 gap
	ktap_check "a change without a rate does not end it" has_expired
	tc class change dev w0 classid 1:10 gap rate 20mbit
	ktap_equal "a rate does" "20Mbit " "$(shown rate "$(class_shown 1:10)") $(has_expired && echo expired)"
	tc class change dev w0 classid 1:10 gap expires off
	read -rt 1.5 -u "$hw_never"
	ktap_equal "expires off ends the lease" "20Mbit " "$(shown rate "$(class_shown 1:10)") $(has_expired && echo expired)"
}

# Its packets, held at a crawl, must not wait for the next packet to come.
test_faster_fallback() {
	tc class change dev w0 classid 1:10 gap rate 8kbit fallback 40mbit expires 500ms
	count_data
	local before=$data
	send 20
	wait_sent $((before + 20))
	ktap_result $? "packets that wait leave at a faster fallback"
}

# Each has a timer of its own: the earliest deadline is met, and no other is put off.
test_several() {
	local turn
	tc class add dev w0 parent 1:1 classid 1:11 gap rate 10mbit fallback 2mbit expires 2s
	tc class add dev w0 parent 1:1 classid 1:12 gap rate 10mbit fallback 3mbit expires 700ms
	hw_wait_for 10 has_fallen 1:12
	ktap_equal "the class with the earlier deadline falls back first" "3Mbit 10Mbit" \
		"$(shown rate "$(class_shown 1:12)") $(shown rate "$(class_shown 1:11)")"
	for turn in 1 2 3 4; do
		tc class change dev w0 classid 1:12 gap rate 10mbit
		read -rt 0.5 -u "$hw_never"
	done
	ktap_equal "renewed, it does not, but the other does in its time" "10Mbit 2Mbit" \
		"$(shown rate "$(class_shown 1:12)") $(shown rate "$(class_shown 1:11)")"
	hw_wait_for 10 has_fallen 1:12
	ktap_result $? "renewed no more, it falls back again"
}

has_fallen() {
	[[ $(class_shown "$1") == *" expired"* ]]
}

wire w0 || skip_all "no simwire"
gap_with "default 1:10" "1: 1:1" "1:1 1:10"
start_monitor
test_refresh
test_expiry
kill "$monitor"
test_work
test_return
test_faster_fallback
test_several
ktap_end
