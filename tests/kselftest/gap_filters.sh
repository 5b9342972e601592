#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Which class a packet goes to.  KTAP.
# shellcheck source=tests/kselftest/lib.sh
. "$(dirname "$0")/lib.sh"

# goes_to CLASSID PORT NAME: five datagrams to PORT are counted in CLASSID
goes_to() {
	local before after
	before=$(class_packets "$1")
	send_all 5 "$2" 100
	after=$(class_packets "$1")
	ktap_equal "$3" 5 $((after - before))
}

is_direct() {
	local before
	before=$(xstat direct)
	send_all 5 "$1" 100
	ktap_equal "$2" 5 $(($(xstat direct) - before))
}

# filter PRIO OPTIONS...: below the qdisc
filter() {
	local prio=$1
	shift
	tc filter add dev w0 parent 1: protocol ip prio "$prio" "$@"
}

test_classifiers() {
	ktap_check "u32" filter 1 u32 match ip dport 21 0xffff flowid 1:10
	goes_to 1:10 21 "u32 chooses the class"
	if modprobe -q cls_flower; then
		ktap_check "flower" filter 2 flower ip_proto udp dst_port 22 classid 1:11
		goes_to 1:11 22 "flower chooses the class"
	else
		ktap_skip "flower" "no cls_flower"
	fi
	is_direct 23 "what no filter matches is direct"
	if modprobe -q cls_bpf; then
		# ld the UDP destination port; 24 matches, all else does not
		ktap_check "bpf" filter 3 bpf bytecode '4,40 0 0 36,21 0 1 24,6 0 0 4294967295,6 0 0 0' \
			flowid 1:12
		goes_to 1:12 24 "bpf chooses the class"
		is_direct 23 "and only for what it matches"
	else
		ktap_skip "bpf" "no cls_bpf"
	fi
	if modprobe -q cls_matchall; then
		ktap_check "matchall" tc filter add dev w0 parent 1: prio 9 matchall classid 1:20
		goes_to 1:20 23 "matchall chooses the class"
		goes_to 1:10 21 "an earlier filter comes first"
		tc filter del dev w0 parent 1: prio 9
	else
		ktap_skip "matchall" "no cls_matchall"
	fi
}

test_inner_class() {
	filter 10 u32 match ip dport 31 0xffff flowid 1:1
	is_direct 31 "a filter that ends at an inner class leaves the packet direct"
}

test_default() {
	tc qdisc change dev w0 root gap default 1:40
	is_direct 41 "a default class that does not exist yet changes nothing"
	tc class add dev w0 parent 1: classid 1:40 gap rate 10mbit
	goes_to 1:40 41 "once it exists it gets the rest"
	tc class del dev w0 classid 1:40
	is_direct 41 "once it is deleted nothing does"
	tc qdisc change dev w0 root gap default none
}

test_priority() {
	if ! modprobe -q sch_ingress || ! modprobe -q act_skbedit || ! modprobe -q cls_matchall; then
		ktap_skip "skb->priority" "no clsact, skbedit or matchall"
		return
	fi
	tc qdisc add dev w0 clsact
	tc filter add dev w0 egress matchall action skbedit priority 1:11
	goes_to 1:11 51 "skb->priority that names a class chooses it"
	goes_to 1:11 21 "before any filter does"
	tc qdisc del dev w0 clsact
}

test_deletion() {
	tc filter del dev w0 parent 1: prio 1
	ktap_check "without the filter it goes" tc class del dev w0 classid 1:10
	is_direct 21 "its packets are direct"
}

wire w0 || skip_all "no simwire"
gap_with "" "1: 1:10 rate 10mbit" "1: 1:11 rate 5mbit" "1: 1:12 rate 5mbit" "1: 1:20 rate 10mbit" \
	"1: 1:1 rate 10mbit" "1:1 1:31 rate 5mbit"
test_classifiers
test_inner_class
test_default
test_priority
test_deletion
ktap_end
