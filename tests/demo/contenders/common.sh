# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What contenders share.  The files here define contender_NAME_up and
# contender_NAME_down, which set up and tear down every node (and the switches).
# They find in the environment, in bytes per second on the wire:
#   DEMO_OWN_BYTES_PER_S, DEMO_REMOTE_BYTES_PER_S   a node's rate into its own and
#       the other cluster, all flows together, as headway plan computes it for an
#       all-to-all in this scene
#   DEMO_PAIR_BYTES_PER_S      the same for one pair of nodes
#   DEMO_STATIC_OWN_BYTES_PER_S, DEMO_STATIC_REMOTE_BYTES_PER_S,
#   DEMO_STATIC_PAIR_BYTES_PER_S   what somebody would set by hand, once
# and besides
#   DEMO_PORT_BUFFER_BYTES, DEMO_TRUNK_BUFFER_BYTES  of the switches
#   DEMO_HOST_RATE_BPS, DEMO_TRUNK_RATE_BPS          of the links
#   DEMO_CONFIG                the scene's headway.toml

# On the wire a frame has FCS 4, preamble 8 and gap 12 bytes more, and at least
# 84; for qdiscs that can be told so.
DEMO_WIRE_OVERHEAD=(overhead 24 mpu 84)

# The kernel keeps what it learnt about a destination (slow start threshold,
# round trip time) after a connection ends.  Nothing of it may pass from one
# mpirun, or contender, to the next: it is not kept at all.
demo_forget_history() {
	hw_each_node sysctl -qw net.ipv4.tcp_no_metrics_save=1
}

demo_no_qdisc() {
	hw_each_node tc qdisc del dev eth0 root
}

# demo_show NODE: what a contender has set up there, for the report.
demo_show() {
	# shellcheck disable=SC2016 # expanded in the node
	hw_node "$1" bash -c '
		sysctl net.ipv4.tcp_congestion_control net.ipv4.tcp_ecn
		printf "\n# ip route show\n"
		ip route show
		for what in qdisc class filter; do
			shown=$(tc -d "$what" show dev eth0)
			[[ -z $shown ]] || printf "\n# tc %s show dev eth0\n%s\n" "$what" "$shown"
		done'
}
