# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# fq paces each flow.  Its maxrate is one number for all flows of a node, so it
# is what one pair of nodes may use: with every pair at that rate neither trunk
# nor host links are asked for more than they have.  fq counts a full frame as
# 1514 bytes where the wire carries 1538.  Bursts are held to one frame
# (quantum, initial_quantum; the defaults let ten frames start a flow).
# fq: the rate set once, as an administrator would.  fq_rates: what Headway plans for
# an all-to-all.

# demo_fq BYTES_PER_S: of one pair of nodes, on the wire
demo_fq() {
	hw_each_node tc qdisc replace dev eth0 root fq maxrate "$(($1 * 1514 / 1538))bps" \
		quantum 1514 initial_quantum 1514
}

contender_fq_up() {
	demo_fq "$DEMO_STATIC_PAIR_BYTES_PER_S"
}

contender_fq_rates_up() {
	demo_fq "$DEMO_PAIR_BYTES_PER_S"
}

contender_fq_down() {
	demo_no_qdisc
}

contender_fq_rates_down() {
	demo_no_qdisc
}
