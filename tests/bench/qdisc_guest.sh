#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs in the guest: sets up qdiscs and counts the instructions they take.
# Prints one JSON object per measurement.
#   qdisc_guest.sh CASES
# CASES is a file, a verb a line:
#   case NAME            what follows is called so; starts with no qdisc
#   link BPS             rate of the wire
#   tc ARGUMENT...       a command for tc; @BUILD@ is the folder build
#   pace MINOR=BPS...    Headway's BPF qdisc, with these classes
#   count KEY=NUMBER...  calls the qdisc, sends nothing; see qdisc_bench/bench.h.
#                        A trace becomes a file of results
#   drive FRAME_BYTES FRAMES SECONDS
#                        queues so many frames for the wire, and watches for a
#                        while how they leave
set -euo pipefail

dev=w0
wire=/sys/class/net/$dev/simwire
peer=/sys/class/net/${dev}p/simwire
batch=/tmp/batch
nothing=/tmp/nothing

set_up() {
	local name end
	for name in simwire sch_gap qdisc_bench; do
		insmod "$HW_BUILD/kmod/$(uname -r)/$name.ko"
	done
	for name in sch_htb sch_tbf sch_fq cls_u32 cls_flower cls_bpf; do
		modprobe $name
	done
	ip link add $dev type simwire
	for end in $dev ${dev}p; do
		sysctl -qw "net.ipv6.conf.$end.disable_ipv6=1" 2>/dev/null || true
		ip link set "$end" arp off up
	done
	mkfifo $nothing
}

fail() {
	failed=1
	echo "$name: $1" >&2
	return 1
}

begin_case() {
	name=$1
	tc qdisc del dev $dev root 2>/dev/null || true
	exec 3>$batch
}

set_up_qdisc() {
	exec 3>&-
	tc -batch $batch || fail "tc refused"
}

count() {
	local result=/tmp/result
	set_up_qdisc || return
	echo "$*" >/proc/qdisc_bench || fail "$*" || return
	cat /proc/qdisc_bench >$result
	echo "{\"name\":\"$name\",\"count\":$(head -n 1 $result)}"
	[[ $* != *trace=1* ]] || sed 1d $result >"$HW_OUT/${name//\//_}.trace"
}

# Busy nanoseconds, which are instructions; data and gap frames that arrived.
look() {
	# shellcheck disable=SC2034 # another's name
	local -n into=$1
	read -r "into[0]" </proc/qdisc_bench_busy
	read -r "into[1]" <$peer/rx_frames
	read -r "into[2]" <$peer/rx_mac_control_frames
	read -r "into[3]" <$peer/rx_mac_control_wire_bytes
}

# shellcheck disable=SC2034,SC2154 # filled by look
drive() {
	local before=() same=() after=() looking
	set_up_qdisc || return
	"$HW_BUILD/bin/send_frames" $dev "$1" 0 "$2"
	look before
	look same
	read -rt "$3" <>$nothing || true
	look after
	looking=$((same[0] - before[0]))
	echo "{\"name\":\"$name\",\"drive\":{\"busy\":$((after[0] - same[0] - looking)),\"frames\":$((after[1] - same[1])),\"gaps\":$((after[2] - same[2])),\"gap_wire_bytes\":$((after[3] - same[3]))}}"
	[[ $(tc -s qdisc show dev $dev root) != *"backlog 0b 0p"* ]] ||
		fail "the queue ran empty while it was watched"
}

failed=0
dmesg -n 1
set_up
while read -r verb words; do
	# shellcheck disable=SC2086 # words, indeed
	case $verb in
	case) begin_case "$words" ;;
	link) echo "$words" >$wire/rate_bps ;;
	pace) "$HW_BUILD/bin/bpf_pacing" $dev $words ;;
	tc) echo "${words//@BUILD@/$HW_BUILD}" >&3 ;;
	count) count $words || true ;;
	drive) drive $words || true ;;
	*) echo "unknown verb $verb" >&2 && exit 2 ;;
	esac
done <"$1"
tc qdisc del dev $dev root
exit $failed
