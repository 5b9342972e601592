# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# DCTCP on the nodes; switch ports mark instead of dropping, by RED that looks at
# the queue as it is (the shortest average tc offers) and marks every packet
# above a third of the buffer.  RED drops packets that do not carry ECN where it
# would mark others: pure acknowledgements, as on some real switches.

# demo_red BUFFER_BYTES RATE_BPS: RED's options for a port with that buffer.
demo_red() {
	local mark=$(($1 / 3))
	echo "red limit $1 min $mark max $((mark + 1500)) avpkt 1500 burst $((mark / 1500 + 1))" \
		"probability 1 bandwidth ${2}bit ecn"
}

contender_dctcp_up() {
	modprobe -a tcp_dctcp sch_red || return
	# only what everybody may choose can be a network namespace's default
	sysctl -qw net.ipv4.tcp_allowed_congestion_control="reno cubic dctcp" || return
	# shellcheck disable=SC2046 # a qdisc is a list of words
	hw_port_queues $(demo_red "$DEMO_PORT_BUFFER_BYTES" "$DEMO_HOST_RATE_BPS") &&
		hw_trunk_queues $(demo_red "$DEMO_TRUNK_BUFFER_BYTES" "$DEMO_TRUNK_RATE_BPS") &&
		hw_each_node sysctl -qw net.ipv4.tcp_congestion_control=dctcp net.ipv4.tcp_ecn=1
}

contender_dctcp_down() {
	hw_port_queues bfifo limit "$DEMO_PORT_BUFFER_BYTES" &&
		hw_trunk_queues bfifo limit "$DEMO_TRUNK_BUFFER_BYTES" &&
		hw_each_node sysctl -qw net.ipv4.tcp_congestion_control=cubic net.ipv4.tcp_ecn=2
}
