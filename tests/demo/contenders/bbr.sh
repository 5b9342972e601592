# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# BBR on the nodes, paced by fq with its defaults.

contender_bbr_up() {
	modprobe tcp_bbr || return
	# only what everybody may choose can be a network namespace's default
	sysctl -qw net.ipv4.tcp_allowed_congestion_control="reno cubic bbr" || return
	hw_each_node tc qdisc replace dev eth0 root fq &&
		hw_each_node sysctl -qw net.ipv4.tcp_congestion_control=bbr
}

contender_bbr_down() {
	demo_no_qdisc && hw_each_node sysctl -qw net.ipv4.tcp_congestion_control=cubic
}
