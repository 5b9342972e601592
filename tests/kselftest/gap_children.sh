#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Other qdiscs below a class, and gap below others: what is queued is counted
# alike at every level, right after each change.  KTAP.
# shellcheck source=tests/kselftest/lib.sh
. "$(dirname "$0")/lib.sh"

# root_queue, child_queue: "BYTESb PACKETSp" as tc shows them
root_queue() {
	queue_of "$(tc -s qdisc show dev w0 root)"
}

child_queue() {
	queue_of "$(tc -s qdisc show dev w0 parent 1:10)"
}

# in_step NAME [QUEUE]: root and child hold the same, or just that
in_step() {
	local child
	child=$(child_queue)
	ktap_equal "$1" "root ${2:-$child}, child ${2:-$child}" "root $(root_queue), child $child"
}

# At the first frame's price of seconds the class holds all that follows.
hold() {
	tc class change dev w0 classid 1:10 gap rate 8kbit
	send_all 1
	send 6
}

# with_child KIND "OPTIONS" "OPTIONS TO CHANGE TO"
with_child() {
	local kind=$1 options=$2 changed=$3
	if ! modprobe -q "sch_$kind" && [[ $kind != pfifo && $kind != fq_codel ]]; then
		ktap_skip "$kind below a class" "no sch_$kind"
		return
	fi
	hold
	ktap_equal "$kind: the class holds packets" "6000b 6p" "$(root_queue)"
	# shellcheck disable=SC2086 # options are words
	ktap_check "$kind: can be grafted over them" tc qdisc add dev w0 parent 1:10 handle 10: $kind $options
	in_step "$kind: they are gone, everywhere" "0b 0p"
	send 6
	ktap_equal "$kind: it holds what comes" 6 "$(root_queue | sed 's/.* //; s/p//')"
	in_step "$kind: in step"
	# shellcheck disable=SC2086
	ktap_check "$kind: its limit can change" tc qdisc change dev w0 parent 1:10 handle 10: $kind $changed
	in_step "$kind: in step after the change"
	ip link set w0 down
	in_step "$kind: a reset empties it, everywhere" "0b 0p"
	ip link set w0 up
	hw_wait_for 5 has_carrier w0
	count_data
	local before=$data
	send 2
	tc class change dev w0 classid 1:10 gap rate 40mbit
	hw_wait_for 20 has_sent $((before + 2))
	ktap_result $? "$kind: with a better rate everything leaves"
	in_step "$kind: nothing is left" "0b 0p"
	hold
	ktap_check "$kind: can be deleted with packets in it" tc qdisc del dev w0 parent 1:10
	ktap_equal "$kind: they are gone" "0b 0p" "$(root_queue)"
	tc class change dev w0 classid 1:10 gap rate 40mbit
	send_all 3
	ktap_equal "$kind: the class has its own queue again" "0b 0p" "$(root_queue)"
}

# A child that drops on its own while it is asked for a packet.
test_child_that_drops() {
	modprobe -q sch_codel || { ktap_skip "a child that drops on its own" "no sch_codel"; return; }
	tc qdisc add dev w0 parent 1:10 handle 10: codel target 1ms interval 2ms limit 1000
	tc class change dev w0 classid 1:10 gap rate 2mbit
	send 80
	hw_wait_for 60 is_empty
	ktap_result $? "a child that drops on its own runs empty"
	ktap_check "it has dropped" dropped_some
	in_step "and nothing is left" "0b 0p"
	tc qdisc del dev w0 parent 1:10
}

is_empty() {
	[[ $(root_queue) == "0b 0p" ]]
}

dropped_some() {
	[[ $(tc -s qdisc show dev w0 parent 1:10) =~ dropped\ ([0-9]+) ]] && ((BASH_REMATCH[1] > 0))
}

test_gap_below_tbf() {
	tc qdisc add dev w0 root handle 2: tbf rate 10mbit burst 5kb limit 1mb
	tc qdisc add dev w0 parent 2:1 handle 1: gap backend gap 2>"$work/error"
	ktap_equal "below another qdisc gap frames are refused" 2 $?
	ktap_check "with a sentence" grep -q '^Error: .*root qdisc' "$work/error"
}

# below PARENT KIND COMMAND...: gap at the class PARENT of a root qdisc that COMMANDs of tc make
below() {
	local parent=$1 kind=$2 command
	shift 2
	if ! modprobe -q "sch_$kind"; then
		ktap_skip "gap below $kind" "no sch_$kind"
		return
	fi
	tc qdisc del dev w0 root
	for command in "$@"; do
		# shellcheck disable=SC2086 # words
		$command
	done
	tc qdisc add dev w0 parent "$parent" handle 1: gap default 1:10
	tc class add dev w0 parent 1: classid 1:10 gap rate 5mbit
	tolerance=100 on_wire 5000000 "below $kind: at its rate"
	ktap_equal "below $kind: nothing is left in either" "0b 0p, 0b 0p" "$(both_queues "$parent")"
	tc qdisc change dev w0 parent "$parent" gap limit 10
	tc class change dev w0 classid 1:10 gap rate 8kbit
	send_all 1
	send 15
	to=10.77.0.3 send 3 9 500
	ktap_equal "below $kind: a full queue has dropped what is too much, the parent counts what is left" \
		"8626b 10p, 8626b 10p" "$(both_queues "$parent")"
	tc class del dev w0 classid 1:10
	ktap_equal "below $kind: a class goes with its packets" "0b 0p, 0b 0p" "$(both_queues "$parent")"
	tc class add dev w0 parent 1: classid 1:10 gap rate 8kbit
	tc qdisc change dev w0 parent "$parent" gap limit 2
	send_all 1
	send 2
	to=10.77.0.3 send 1
	count_data
	tc class change dev w0 classid 1:10 gap rate 5mbit
	hw_wait_for 5 has_sent $((data + 2))
	ktap_result $? "below $kind: of a queue of two also the packet leaves that came for another"
	tc qdisc change dev w0 parent "$parent" gap limit 10
	tc class change dev w0 classid 1:10 gap rate 8kbit
	send_all 1
	send 5
	ktap_check "below $kind: it can be replaced with packets in it" tc qdisc replace dev w0 parent "$parent" handle 3: pfifo
	ktap_equal "below $kind: which empties the parent, too" "0b 0p" "$(root_queue)"
	send_all 3
}

both_queues() {
	echo "$(root_queue), $(queue_of "$(tc -s qdisc show dev w0 parent "$1")")"
}

wire w0 || skip_all "no simwire"
gap_with "default 1:10" "1: 1:10 rate 40mbit"
with_child pfifo "limit 100" "limit 3"
with_child fq "limit 100 flow_limit 100" "limit 3"
with_child fq_codel "limit 100" "limit 3"
with_child netem "delay 1ms limit 100" "delay 2ms limit 50"
with_child tbf "rate 30mbit burst 5kb limit 100kb" "rate 20mbit burst 5kb limit 50kb"
with_child codel "limit 100 target 10s interval 100s" "limit 3"
with_child red "limit 100kb min 20kb max 60kb avpkt 1000 burst 30" "limit 50kb min 10kb max 30kb avpkt 1000 burst 15"
with_child pie "limit 100" "limit 3"
with_child cake "memlimit 1mb" "memlimit 2mb"
with_child prio "bands 3" "bands 4"
test_child_that_drops
tc qdisc del dev w0 root
below 2:1 tbf test_gap_below_tbf
below 2:2 prio "tc qdisc add dev w0 root handle 2: prio"
below 2:1 htb "tc qdisc add dev w0 root handle 2: htb default 1" "tc class add dev w0 parent 2: classid 2:1 htb rate 40mbit"
below 2:1 hfsc "tc qdisc add dev w0 root handle 2: hfsc default 1" "tc class add dev w0 parent 2: classid 2:1 hfsc sc rate 40mbit ul rate 40mbit"
below 2:1 drr "tc qdisc add dev w0 root handle 2: drr" "tc class add dev w0 parent 2: classid 2:1 drr" \
	"tc filter add dev w0 parent 2: protocol ip prio 1 u32 match ip dst 0/0 classid 2:1"
below 2:1 red "tc qdisc add dev w0 root handle 2: red limit 1mb min 100kb max 300kb avpkt 1000 burst 150"
ktap_end
