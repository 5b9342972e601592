# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# htb classes on every node: one for the node's own cluster, one for the other.  The
# smallest bursts htb can keep: one full frame.  htb, htb_sfq: shares set once, as an
# administrator would.  htb_rates, htb_rates_sfq: what Headway plans for an all-to-all.

# demo_htb OWN_BYTES_PER_S REMOTE_BYTES_PER_S LEAF...: LEAF is the qdisc below each
# class, with its options.
demo_htb() {
	local node own other own_rate=$1 remote_rate=$2
	shift 2
	for node in $(hw_nodes); do
		own=10.1.0.0/16 other=10.2.0.0/16
		[[ $node != b* ]] || own=10.2.0.0/16 other=10.1.0.0/16
		hw_node "$node" tc -batch - <<-BATCH || return
			qdisc replace dev eth0 root handle 1: htb default 10
			class add dev eth0 parent 1: classid 1:10 htb $(demo_htb_rate "$own_rate")
			class add dev eth0 parent 1: classid 1:11 htb $(demo_htb_rate "$remote_rate")
			qdisc add dev eth0 parent 1:10 handle 10: $*
			qdisc add dev eth0 parent 1:11 handle 11: $*
			filter add dev eth0 parent 1: protocol ip pref 10 flower dst_ip $own classid 1:10
			filter add dev eth0 parent 1: protocol ip pref 10 flower dst_ip $other classid 1:11
		BATCH
	done
}

demo_htb_rate() {
	echo "rate ${1}bps ceil ${1}bps burst 1600 cburst 1600 quantum 1514 ${DEMO_WIRE_OVERHEAD[*]}"
}

demo_htb_static() {
	demo_htb "$DEMO_STATIC_OWN_BYTES_PER_S" "$DEMO_STATIC_REMOTE_BYTES_PER_S" "$@"
}

demo_htb_planned() {
	demo_htb "$DEMO_OWN_BYTES_PER_S" "$DEMO_REMOTE_BYTES_PER_S" "$@"
}

contender_htb_up() {
	demo_htb_static pfifo limit 1000
}

contender_htb_sfq_up() {
	demo_htb_static sfq quantum 1514 limit 1000
}

contender_htb_rates_up() {
	demo_htb_planned pfifo limit 1000
}

contender_htb_rates_sfq_up() {
	demo_htb_planned sfq quantum 1514 limit 1000
}

contender_htb_down() {
	demo_no_qdisc
}

contender_htb_sfq_down() {
	demo_no_qdisc
}

contender_htb_rates_down() {
	demo_no_qdisc
}

contender_htb_rates_sfq_down() {
	demo_no_qdisc
}
