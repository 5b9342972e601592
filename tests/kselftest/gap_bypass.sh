#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# When packets bypass the empty qdisc (bypass on): only the qdisc counts them then, and
# filters do not see them.  KTAP.
# shellcheck source=tests/kselftest/lib.sh
. "$(dirname "$0")/lib.sh"

# Packets that the qdisc has sent, and those of them that a class or "direct" has.
counted() {
	local stats
	stats=$(tc -s qdisc show dev w0 root)
	[[ $stats =~ Sent\ [0-9]+\ bytes\ ([0-9]+)\ pkt ]] && sent=${BASH_REMATCH[1]}
	seen=$(($(xstat direct "$stats") + $(class_packets 1:10)))
}

direct_packets() {
	xstat direct "$(tc -s qdisc show dev w0 root)"
}

# five WANTED NAME: of five datagrams, WANTED go through a queue
five() {
	local sent seen sent_before seen_before
	counted
	sent_before=$sent seen_before=$seen
	send_all 5
	counted
	ktap_equal "$2" "5 sent, $1 queued" "$((sent - sent_before)) sent, $((seen - seen_before)) queued"
}

class_10() {
	tc class change dev w0 classid 1:10 gap "$@"
}

test_rates() {
	five 0 "packets bypass a class without a rate"
	class_10 rate 10mbit
	five 5 "but not one with a rate"
	class_10 rate unlimited
	five 0 "and again one that has none any more"
	class_10 phase 3 10mbit
	five 5 "a rate for a phase counts, too"
	class_10 phase 3 unlimited
	five 0 "unless it is unlimited"
	class_10 phase 3 10mbit phase 4 5mbit
	class_10 phase 3 none
	five 5 "one of two is left"
	class_10 phase 4 none
	five 0 "none is left"
	class_10 fallback unlimited expires 60s
	five 5 "a lease may change the rate at any time"
	class_10 expires off
	five 0 "until it has none"
}

test_other_classes() {
	tc class add dev w0 parent 1: classid 1:11 gap rate 10mbit
	five 5 "another class with a rate is enough"
	tc class del dev w0 classid 1:11
	five 0 "once it is deleted it does not count"
	tc class add dev w0 parent 1: classid 1:12 gap phase 1 10mbit
	tc class add dev w0 parent 1:12 classid 1:13 gap
	five 0 "nor does a table that a class has lost to its first child"
	tc class del dev w0 classid 1:13
	tc class del dev w0 classid 1:12
}

test_qdisc_and_filter() {
	tc qdisc add dev w0 parent 1:10 handle 10: pfifo
	five 5 "a class with a qdisc of its own wants its packets"
	tc qdisc del dev w0 parent 1:10 handle 10:
	five 0 "without it they bypass"
	if ! modprobe -q cls_u32; then
		ktap_skip "filters that lead to a class" "no cls_u32"
		return
	fi
	tc filter add dev w0 parent 1: protocol ip prio 1 u32 match ip dport 9 0xffff flowid 1:10
	five 5 "so does one that a filter leads to"
	tc filter del dev w0 parent 1: prio 1
	five 0 "without the filter they bypass"
}

# A filter that does not name a class: the kernel has packets queue for it, until the
# qdisc has seen that.
test_other_filter() {
	if ! modprobe -q cls_matchall || ! modprobe -q act_gact; then
		ktap_skip "filters that do not lead to a class" "no cls_matchall or act_gact"
		return
	fi
	tc filter add dev w0 parent 1: prio 1 matchall action drop
	hw_wait_for 10 passes
	ktap_result $? "with a filter that drops all, packets bypass all the same"
	tc qdisc change dev w0 root gap bypass off
	ktap_check "without bypass it drops them" is_dropped
	tc filter del dev w0 parent 1: prio 1
	five 5 "without bypass and filter packets are queued"
	tc qdisc change dev w0 root gap bypass on
	five 0 "and bypass again"
}

# A slower device holds 30 of them: the others find the qdisc busy.  They are all in one
# queue, so that nothing changes their order while nothing is paced.
test_busy() {
	local in_class direct
	in_class=$(class_packets 1:10)
	direct=$(direct_packets)
	echo 5000000 >/sys/class/net/w0/simwire/rate_bps
	send_all 80
	echo $((link_mbit * 1000000)) >/sys/class/net/w0/simwire/rate_bps
	ktap_equal "packets that find the qdisc busy are in no class" "$in_class" "$(class_packets 1:10)"
	ktap_check "but wait as direct ones" test "$(direct_packets)" -gt "$direct"
}

# A datagram is sent.
passes() {
	count_data
	local before=$data
	send 1
	sleep 0.1
	has_sent $((before + 1))
}

is_dropped() {
	! passes
}

wire w0 || skip_all "no simwire"
gap_with "default 1:10 bypass on" "1: 1:10 rate unlimited"
# byte queue limits, which let one frame into a new device, learn of their minimum when it is sent
send_all 1
ktap_equal "tc shows it" on "$(shown bypass "$(tc qdisc show dev w0 root)")"
test_rates
test_busy
test_other_filter
test_other_classes
test_qdisc_and_filter
ktap_end
