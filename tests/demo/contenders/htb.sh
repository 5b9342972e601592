# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# htb classes at the rates Headway plans: one for the node's own cluster, one for
# the other.  The smallest bursts htb can keep at such rates: one full frame.

# demo_htb LEAF...: LEAF is the qdisc below each class, with its options.
demo_htb() {
	local node own other
	for node in $(hw_nodes); do
		own=10.1.0.0/16 other=10.2.0.0/16
		[[ $node != b* ]] || own=10.2.0.0/16 other=10.1.0.0/16
		hw_node "$node" tc -batch - <<-BATCH || return
			qdisc replace dev eth0 root handle 1: htb default 10
			class add dev eth0 parent 1: classid 1:10 htb $(demo_htb_rate "$DEMO_OWN_BYTES_PER_S")
			class add dev eth0 parent 1: classid 1:11 htb $(demo_htb_rate "$DEMO_REMOTE_BYTES_PER_S")
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

contender_htb_up() {
	demo_htb pfifo limit 1000
}

contender_htb_down() {
	hw_each_node tc qdisc del dev eth0 root
}
