#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Frames that reach the device without the qdisc are noticed.  KTAP.
# shellcheck source=tests/kselftest/lib.sh
. "$(dirname "$0")/lib.sh"

pktgen=/proc/net/pktgen
modprobe -q pktgen || skip_all "no pktgen to send past the qdisc"

# past_the_qdisc COUNT: frames that pktgen hands to the device itself
past_the_qdisc() {
	echo "count $1" >$pktgen/w0
	echo start >$pktgen/pgctrl
}

start_pktgen() {
	local option
	echo "add_device w0" >$pktgen/kpktgend_0 || return
	for option in "pkt_size 60" "dst 10.77.0.2" "dst_mac 02:00:00:00:00:02"; do
		echo "$option" >$pktgen/w0 || return
	done
}

all_sent() {
	counter tx_frames
	local frames=$counter
	counter tx_frames
	((frames == counter)) && [[ $(queue_of "$(tc -s qdisc show dev w0 root)") == "0b 0p" ]]
}

check_bypass() {
	hw_wait_for 10 all_sent
	ktap_equal "$2" "$1" "$(xstat bypass)"
}

wire w0 || skip_all "no simwire"
start_pktgen || skip_all "pktgen takes no device here"
past_the_qdisc 5
gap_with "default 1:10" "1: 1:10 rate 10mbit"
check_bypass 0 "what was sent before does not count"
send_all 50
check_bypass 0 "the qdisc's own frames and gap frames do not, either"
past_the_qdisc 7
check_bypass 7 "frames past the qdisc do"
send 20
past_the_qdisc 3
check_bypass 10 "also in between"
tc qdisc change dev w0 root gap backend timer
send_all 20
past_the_qdisc 2
check_bypass 12 "and with the timer"
ktap_end
