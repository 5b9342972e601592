# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Cubic that waits at least 5 ms, not 200 ms, before it retransmits; or no longer than one tick of the
# kernel, which is the least that a route can ask for.

# demo_route_option OPTION...: change the node's one route, keep the rest of it.
demo_route_option() {
	local node route
	for node in $(hw_nodes); do
		route=$(hw_node "$node" ip route show proto kernel dev eth0) || return
		# shellcheck disable=SC2086 # a route is a list of words
		hw_node "$node" ip route change $route dev eth0 proto kernel "$@" || return
	done
}

contender_rto_min_up() {
	demo_route_option rto_min 5ms
}

contender_rto_min_down() {
	hw_each_node sh -c 'ip route change $(ip route show proto kernel dev eth0 |
		sed "s/ rto_min lock [^ ]*//") dev eth0 proto kernel'
}

contender_rto_min_least_up() {
	demo_route_option rto_min 1ms
}

contender_rto_min_least_down() {
	contender_rto_min_down
}
