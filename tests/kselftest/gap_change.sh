#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A device changes, loses its carrier, goes away; the qdisc and its module go
# under traffic.  KTAP.
# shellcheck source=tests/kselftest/lib.sh
. "$(dirname "$0")/lib.sh"

fresh() {
	[[ -d /sys/class/net/w0 ]] || wire w0
	gap_with "default 1:10 ${1:-}" "1: 1:10 rate 10mbit"
}

test_mtu() {
	fresh
	ip link set w0 mtu 600
	on_wire 10000000 "with a smaller MTU the rate stays" "80 9 500"
	ktap_equal "and gap frames are short at once, byte-times" $((600 + 14 + 24)) "$gap_longest"
	ip link set w0 mtu 2000
	tc class change dev w0 classid 1:10 gap rate 15mbit
	on_wire 15000000 "with a large MTU the rate stays"
	ktap_equal "and gap frames grow, byte-times" $((2000 + 14 + 24)) "$gap_longest"
	ip link set w0 mtu 1500
}

test_address() {
	fresh
	ip link set w0 address 02:00:00:00:00:99
	start_recording
	send_all 20
	ktap_equal "gap frames carry the device's new address at once, and no other" $((0x9900)) \
		"$(od -An -v -t u4 -w16 /sys/class/net/w0/simwire/records |
			awk '$4 % 65536 == 2184 { print int($4 / 65536) }' | sort -u)"
}

is_at() {
	[[ $(shown link_rate "$(tc qdisc show dev w0 root)") == "$1" ]] && has_carrier w0
}

test_speed() {
	fresh
	echo 25000000 >/sys/class/net/w0/simwire/renegotiate
	hw_wait_for 20 is_at 25Mbit
	ktap_result $? "the speed that the link comes back with is followed"
	on_wire 10000000 "the class keeps its rate"
	echo 50000000 >/sys/class/net/w0/simwire/renegotiate
	hw_wait_for 20 is_at 50Mbit
	ktap_result $? "and up again"
	on_wire 10000000 "the class still does"
}

test_carrier() {
	local before after
	fresh
	before=$(tc class show dev w0)
	send 200 &
	local sender=$!
	ip link set w0p down
	hw_wait_for 5 not has_carrier w0
	ktap_result $? "the carrier goes under traffic"
	wait $sender
	ip link set w0p up
	hw_wait_for 5 has_carrier w0
	after=$(tc class show dev w0)
	ktap_equal "classes and rates survive" "$before" "$after"
	ktap_equal "and gap frames" "asked gap" "$(state w0)"
	hw_wait_for 20 is_drained
	on_wire 10000000 "the class keeps its rate"
}

not() {
	! "$@"
}

is_gone() {
	[[ ! -d /sys/class/net/w0 ]]
}

test_removal() {
	fresh
	send 200 2>/dev/null &
	ip link del w0
	ktap_result $? "the device goes under traffic"
	hw_wait_for 10 is_gone
	wait
	ktap_equal "and its qdisc with it" "" "$(tc qdisc show | grep gap)"
}

# In a namespace below this one: it goes with its last process.
test_namespace() {
	# shellcheck disable=SC2016 # it is the inner one that expands
	unshare --net --mount bash -c '
		mount -t sysfs sysfs /sys
		GAP_NAMESPACE=1 . "$0"
		wire w0 && gap_with "default 1:10" "1: 1:10 rate 1mbit" || exit 1
		send 30
		tc -s qdisc show dev w0 root' "$here/lib.sh" >"$work/inner" 2>&1
	ktap_result $? "a namespace goes with packets queued"
	ktap_check "which were" grep -qE 'backlog [1-9]' "$work/inner"
}

test_deletion() {
	fresh
	send 500 2>/dev/null &
	local sender=$!
	hw_wait_for 10 has_backlog
	ktap_check "the qdisc goes under traffic" tc qdisc del dev w0 root
	wait $sender
	fresh
	send 100 &
	sender=$!
	hw_wait_for 10 has_backlog
	ktap_check "a class goes under traffic" tc class del dev w0 classid 1:10
	wait $sender
	ktap_check "and comes back" tc class add dev w0 parent 1: classid 1:10 gap rate 10mbit
	on_wire 10000000 "with its rate"
}

has_backlog() {
	[[ $(tc -s qdisc show dev w0 root) =~ backlog\ [1-9] ]]
}

# Only if nobody else on this machine uses it.
test_module() {
	local users
	ip link del w0
	read -r users </sys/module/sch_gap/refcnt
	if ((users)); then
		ktap_skip "the module unloads" "it is in use elsewhere"
		return
	fi
	fresh
	send 500 2>/dev/null &
	hw_wait_for 10 has_backlog
	ktap_check "the module stays while it is in use" not rmmod sch_gap
	ktap_check "the qdisc goes under traffic" tc qdisc del dev w0 root
	ktap_check "then the module unloads" rmmod sch_gap
	wait
	need_module sch_gap
	fresh
	ktap_equal "and loads again" "asked gap" "$(state w0)"
}

dump_all() {
	tc -s qdisc show dev w0
	tc -s class show dev w0
}

# Or whoever looks often would hold up the packets.
test_dumps() {
	fresh
	local functions="gap_dump gap_dump_stats gap_class_dump gap_class_dump_stats"
	if ! traced 2 "$functions" dump_all >"$work/trace"; then
		ktap_skip "dumps take no lock" "no tracer that is free"
		return
	fi
	ktap_equal "dumps are traced" 4 "$(grep -oE '\bgap_(class_)?dump(_stats)?\b' "$work/trace" | sort -u | wc -l)"
	ktap_equal "and take no lock" "" "$(grep -E '(spin|mutex)_lock' "$work/trace")"
}

# The first packets of a class find all that its queue needs: what may fail has failed in the
# request.
test_first_packets() {
	fresh
	if ! traced 4 gap_enqueue send_all 5 >"$work/trace"; then
		ktap_skip "the first packets of a class need no memory" "no tracer that is free"
		return
	fi
	ktap_between "packets are traced on their way into the queue" 5 \
		"$(called gap_enqueue <"$work/trace")" 1000
	ktap_equal "and need no memory there" "" "$(grep -E 'alloc' "$work/trace")"
}

delete_class() {
	tc class del dev w0 classid 1:10
}

# Nobody waits for the qdisc's lock while thousands of packets are freed.
test_freed_packets() {
	fresh
	tc class change dev w0 classid 1:10 gap rate 8kbit
	send_all 1
	send 20
	if ! traced 5 gap_class_delete delete_class >"$work/trace"; then
		ktap_skip "packets of a class that goes" "no tracer that is free"
		return
	fi
	ktap_equal "packets of a class that goes are handed on" 20 \
		"$(called rtnl_kfree_skbs <"$work/trace")"
	ktap_equal "and freed later" "" "$(grep -E '\bk?free_skb|skb_release' "$work/trace")"
}

test_mtu
test_address
test_dumps
test_first_packets
test_freed_packets
test_speed
test_carrier
test_removal
test_namespace
test_deletion
test_module
ktap_end
