#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A class's table of rates: a packet is charged at the rate of its phase.  KTAP.
# shellcheck source=tests/kselftest/lib.sh
. "$(dirname "$0")/lib.sh"

# the class below the one that held them makes up for what it was late
skip=10
program=$build/bin/phase_of_port.bpf.o
[[ -f $program ]] || skip_all "no $program"
modprobe -q cls_bpf || skip_all "no cls_bpf"

# Below a class that holds them while they are queued; port 256 + N is phase N.
fresh() {
	gap_with "" "1: 1:1 rate unlimited" "1:1 1:10 $1" || return
	tc filter add dev w0 parent 1: protocol ip bpf direct-action object-file "$program" section tc classid 1:
}

# phase_sends BIT PHASE NAME
phase_sends() {
	held=1:1 on_wire "$1" "$3" "80 $((256 + $2))"
}

test_table() {
	fresh "rate 20mbit phase 1 10mbit phase 150 5mbit"
	ktap_equal "the table is shown" "phase 1 10Mbit phase 150 5Mbit" \
		"$([[ $(class_shown 1:10) =~ phase.*bit ]] && echo "${BASH_REMATCH[0]}")"
	phase_sends 20000000 0 "phase 0 has the class's rate"
	phase_sends 10000000 1 "phase 1 has its own"
	phase_sends 5000000 150 "phase 150 has its own"
	phase_sends 20000000 7 "a phase without one has the class's"
	tc class change dev w0 classid 1:10 gap phase 1 40mbit
	phase_sends 40000000 1 "one entry can change"
	phase_sends 5000000 150 "without the others"
	tc class change dev w0 classid 1:10 gap phase 1 none
	phase_sends 20000000 1 "an entry can go"
	tc class change dev w0 classid 1:10 gap phase 3 unlimited
	phase_sends 50000000 3 "a phase can be unlimited in a class that is not"
	tc class change dev w0 classid 1:10 gap rate unlimited
	phase_sends 5000000 150 "and limited in one that is"
}

# Each packet keeps the phase that it was queued in, and none overtakes another.
test_order() {
	fresh "rate 20mbit phase 1 10mbit phase 2 5mbit"
	start_recording
	held=1:1 send_held "40 257" "40 258" "40 9"
	measure
	# 30 frames at 10 Mbit/s, 40 at 5 and 40 at 20: bytes over the sum of times
	ktap_between "of several phases, each is charged at its own rate, bit/s" 8400000 "$rate_bps" 8500000
}

# The rate as it stands when the packet leaves.
test_change_while_queued() {
	fresh "rate 20mbit phase 1 8kbit"
	count_data
	local before=$data
	send 40 257
	tc class change dev w0 classid 1:10 gap phase 1 10mbit
	hw_wait_for 20 has_sent $((before + 40))
	ktap_result $? "packets that are queued take the new rate of their phase"
	fresh "rate 20mbit phase 1 8bit"
	count_data
	before=$data
	send 2 257
	hw_wait_for 5 has_sent $((before + 1))
	tc class change dev w0 classid 1:10 gap phase 1 10mbit
	hw_wait_for 5 has_sent $((before + 2))
	ktap_result $? "and need not wait out an interval at the old one, here of 17 minutes"
}

# If two entries have the same rate, only the one that charged a packet decides about the wait
# behind it, here of a second.
test_equal_rates() {
	local before rate
	for rate in 80bit unlimited; do
		fresh "rate 8kbit phase 1 8kbit"
		count_data
		before=$data
		send 2 257
		hw_wait_for 5 has_sent $((before + 1))
		tc class change dev w0 classid 1:10 gap rate "$rate"
		count_data
		ktap_equal "another entry of equal rate becomes $rate: a packet goes on waiting" 1 $((data - before))
		hw_wait_for 5 has_sent $((before + 2))
		ktap_result $? "and leaves in its time"
	done
}

# A qdisc below the class may do what it likes with skb->cb.
test_child() {
	local child=$1
	modprobe -q "sch_${child%% *}"
	fresh "rate 20mbit phase 1 10mbit"
	# shellcheck disable=SC2086
	tc qdisc add dev w0 parent 1:10 handle 10: $child || { ktap_skip "$child" "no such qdisc here"; return; }
	held=1:1 tolerance=100 on_wire 10000000 "a packet keeps its phase through ${child%% *}" "80 257"
	held=1:1 tolerance=100 on_wire 20000000 "and having none through ${child%% *}" "80 9"
}

test_other_filters() {
	fresh "rate 20mbit phase 1 10mbit phase 16 10mbit"
	tc filter del dev w0 parent 1:
	tc filter add dev w0 parent 1: protocol ip u32 match ip dst 0/0 classid 1:10
	phase_sends 20000000 1 "other filters mean the class's rate"
	if modprobe -q sch_ingress; then
		# the kernel writes the minor number of that filter's class, 1:10
		tc qdisc add dev w0 clsact
		tc filter add dev w0 egress bpf direct-action object-file "$program" section tc
		phase_sends 20000000 1 "even if somebody before has written to the packet"
		tc qdisc del dev w0 clsact
	else
		ktap_skip "even if somebody before has written to the packet" "no clsact"
	fi
}

test_fallback() {
	fresh "rate 20mbit phase 1 10mbit phase 2 1mbit"
	tc class change dev w0 classid 1:10 gap fallback 5mbit expires 100ms
	hw_wait_for 10 has_expired
	phase_sends 5000000 1 "a fallback caps every phase"
	phase_sends 1000000 2 "but makes none faster"
	tc class change dev w0 classid 1:10 gap expires off rate 20mbit
	phase_sends 10000000 1 "a new rate gives them back"
}

has_expired() {
	[[ $(class_shown 1:10) == *" expired"* ]]
}

wire w0 || skip_all "no simwire"
test_table
test_order
test_change_while_queued
test_equal_rates
test_child "fq limit 1000 flow_limit 1000"
test_child "fq_codel limit 1000 target 10s interval 100s"
test_child "netem delay 1us limit 1000"
test_other_filters
test_fallback
ktap_end
