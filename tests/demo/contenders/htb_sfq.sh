# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The classes of htb.sh with sfq leaves, which serve a class's flows in turn.

contender_htb_sfq_up() {
	demo_htb sfq quantum 1514 limit 1000
}

contender_htb_sfq_down() {
	hw_each_node tc qdisc del dev eth0 root
}
