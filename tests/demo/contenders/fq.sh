# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# fq paces each flow.  Its maxrate is one number for all flows of a node, so it
# is what one pair of nodes may use: with every pair at that rate neither trunk
# nor host links are asked for more than they have.  fq counts a full frame as
# 1514 bytes where the wire carries 1538.  Bursts are held to one frame
# (quantum, initial_quantum; the defaults let ten frames start a flow).

contender_fq_up() {
	local maxrate_bytes=$((DEMO_PAIR_BYTES_PER_S * 1514 / 1538))
	hw_each_node tc qdisc replace dev eth0 root fq maxrate "${maxrate_bytes}bps" \
		quantum 1514 initial_quantum 1514
}

contender_fq_down() {
	hw_each_node tc qdisc del dev eth0 root
}
