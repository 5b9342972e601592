# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Cubic and the kernel's defaults: nothing to set up.

contender_stock_up() {
	hw_each_node sysctl -qw net.ipv4.tcp_congestion_control=cubic
}

contender_stock_down() {
	:
}
