#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Good and bad devices: where gap frames are refused, where they turn out to get
# lost, and what paces then.  KTAP.
# shellcheck source=tests/kselftest/lib.sh
. "$(dirname "$0")/lib.sh"

# play ATTRIBUTE VALUE: w0 behaves so from now on
play() {
	echo "$2" >"/sys/class/net/w0/simwire/$1"
}

# A fresh wire of the given kind.
device() {
	ip link del w0 2>/dev/null
	wire w0 "$@"
}

# paced [OPTIONS OF gap]: one class for everything
paced() {
	gap_with "default 1:10 ${1:-}" "1: 1:10 rate 10mbit"
}

# keeps_rate NAME: on the wire, within 1 %; so many frames that one interval, which a
# timer that is that late loses, is less
keeps_rate() {
	tolerance=100 on_wire 10000000 "$1: the rate on the wire is right" 80 80 80
}

# refused NAME PATTERN OPTIONS...: of a fresh qdisc
refused() {
	local name=$1 pattern=$2
	shift 2
	tc qdisc del dev w0 root 2>/dev/null
	tc qdisc add dev w0 root handle 1: gap "$@" 2>"$work/error"
	ktap_equal "$name: gap frames are refused" 2 $?
	ktap_check "$name: with a sentence" grep -q "^Error: .*$pattern" "$work/error"
}

test_good() {
	device
	paced "backend timer"
	ktap_equal "the timer is the default" "asked timer" "$(tc qdisc del dev w0 root; tc qdisc add dev w0 root gap; state w0)"
	paced
	ktap_equal "gap frames if asked for" "asked gap" "$(state w0)"
	keeps_rate "a good device"
	play slow_ethtool 1
	paced
	ktap_equal "whose firmware takes its time" "asked gap" "$(state w0)"
	ip link set w0 down
	ip link set w0 up
	hw_wait_for 5 has_carrier w0
	ktap_equal "and is asked again when the link comes back" "asked gap" "$(state w0)"
	ktap_check "and no call slept where it must not" not log_says 'scheduling while atomic\|sleeping function'
	play slow_ethtool 0
}

not() {
	! "$@"
}

log_says() {
	dmesg | grep -q "$1"
}

# A device that drops PAUSE frames is found out by what it gives back too soon.
test_lost() {
	device
	play drop_mac_control 1
	paced
	# so fast that no gap is slept
	tc class change dev w0 classid 1:10 gap rate 25mbit
	ktap_equal "nobody knows before" "asked gap" "$(state w0)"
	tc monitor >"$work/monitor" 2>&1 &
	local monitor=$!
	start_recording
	send_all 1500
	measure
	ktap_equal "a device that drops PAUSE frames is found out" "lost timer" "$(state w0)"
	ktap_between "after so many frames that left unpaced" 400 "$(unpaced)" 800
	hw_wait_for 10 grep -q 'backend_used timer (gap frames take no time' "$work/monitor"
	ktap_result $? "tc monitor is told"
	ktap_check "and the kernel's log" log_says 'w0: gap: a timer paces instead of gap frames: frames leave faster'
	kill $monitor
	tc class change dev w0 classid 1:10 gap rate 10mbit
	keeps_rate "found out"
	tc qdisc change dev w0 root gap default 1:10
	ktap_equal "a change of another option does not bring gap frames back" "lost timer" "$(state w0)"
	ip link set w0 multicast on
	ip link set w0 multicast off
	ktap_equal "nor does a change of the device that leaves its link alone" "lost timer" "$(state w0)"
	ktap_equal "it counts" 1 "$(xstat fallbacks)"
	tc qdisc change dev w0 root gap backend gap
	ktap_equal "who asks again gets them again" "asked gap" "$(state w0)"
}

# Data frames that started less than three quarters of an interval of 25 Mbit/s after
# the one before.
unpaced() {
	od -An -v -t u4 -w16 /sys/class/net/w0/simwire/records |
		awk -v least=$((frame_wire * 240)) '{ at = $1 + $2 * 4294967296; n += NR > 1 && at - last < least; last = at }
			END { print n + 0 }'
}

test_speed() {
	device
	play speed_known 0
	refused "unknown speed" "does not report its speed" backend gap
	paced "backend timer"
	keeps_rate "unknown speed"
	paced "rate ${link_mbit}mbit"
	ktap_equal "unknown speed, but rate is given" "asked gap" "$(state w0)"
	device
	paced
	play speed_known 0
	# whatever makes the kernel look again
	ip link set w0 multicast on
	ktap_equal "a speed that becomes unknown while the link is up ends gap frames" "no-speed timer" "$(state w0)"
	keeps_rate "speed gone"
	play speed_known 1
	ip link set w0 multicast off
	ktap_equal "they come back with it" "asked gap" "$(state w0)"
	keeps_rate "speed back"
}

test_tx_pause() {
	device
	play tx_pause 1
	refused "a device that pauses its peer" "ethtool -A" backend gap
	play tx_pause 0
	paced
	play tx_pause 1
	ip link set w0 multicast on
	ktap_equal "negotiated later, it ends gap frames" "tx-pause timer" "$(state w0)"
	keeps_rate "with pause"
	play tx_pause 0
	ip link set w0 multicast off
	ktap_equal "until it goes" "asked gap" "$(state w0)"
}

# longest_distance_us: of the starts of two data frames on the wire that follow each other
longest_distance_us() {
	od -An -v -t u4 -w16 /sys/class/net/w0/simwire/records |
		awk '$4 % 65536 == 2184 { next }
			{ at = $1 + $2 * 4294967296
				if (last && at - last > longest) longest = at - last; last = at }
			END { print int(longest / 1000) }'
}

# at_gbit RATE: what the two ends of the wire agree on from now on
at_gbit() {
	echo "${1}000000000" >/sys/class/net/w0/simwire/renegotiate
	hw_wait_for 5 not has_carrier w0
	hw_wait_for 5 has_carrier w0
}

# The wire's clock and ours differ, byte queue limits grow because the processor is slow, and
# the wire rests unseen now and then: nobody may take any of that for lost frames.  Gaps are
# just too short to be slept for 2.5 s.  The first that is slept may be longer only by what a
# FIFO behind the device's counters might hold: 512 KiB, 0.42 ms here.  Long gap frames keep
# the number of frames small.
test_clock() {
	local ppm count=6500 gap_us=$((frame_wire * 8))
	for ppm in 999600 1000400; do
		device
		ip link set w0 mtu 9000
		at_gbit 10
		play clock_ppm $ppm
		gap_with "default 1:10" "1: 1:10 rate 21mbit"
		send $((count + 1500)) &
		wait_sent "$count"
		start_recording
		tc class change dev w0 classid 1:10 gap rate 1mbit
		count_data
		wait_sent $((data + 12))
		ktap_between "a clock of $ppm millionths: the first slept gap has its length, us" \
			$((gap_us * 999 / 1000)) "$(longest_distance_us)" $((gap_us + 600))
		tc class change dev w0 classid 1:10 gap rate 21mbit
		wait $!
		ktap_equal "and gap frames stay" "asked gap" "$(state w0)"
	done
}

# longest_run NS: data frames on the wire that started at most so far apart
longest_run() {
	od -An -v -t u4 -w16 /sys/class/net/w0/simwire/records |
		awk -v near="$1" '$4 % 65536 == 2184 { next }
			{ at = $1 + $2 * 4294967296; run = at - last < near ? run + 1 : 1; last = at
				if (run > longest) longest = run }
			END { print longest + 0 }'
}

# The core takes several frames before the driver counts the first.  An interrupt that
# comes in between must not make time pass on the clock: four frames would follow each
# other.  Three may: where the wire really was idle, what is late is made up once.
test_handed_out() {
	local gbit burst
	for gbit in 1 10; do
		device
		at_gbit $gbit
		gap_with "default 1:10" "1: 1:10 rate $((gbit * 500))mbit"
		start_recording
		for burst in {1..50}; do
			# interrupts, which take an emulated processor long, just while it matters
			before_release="play interrupt_ns 100000" send_held 12
			play interrupt_ns 0
		done
		ktap_between "at $gbit Gbit/s, frames that follow each other after an interrupt" 1 \
			"$(longest_run $((frame_wire * 12 / gbit)))" 3
	done
}

# Gap frames are made for the device as it is when they are asked for.
test_other_frames() {
	device
	paced
	tc qdisc change dev w0 root gap backend timer
	ip link set w0 mtu 1000
	tc qdisc change dev w0 root gap backend gap
	start_recording
	send_held 20
	# shellcheck disable=SC2119
	measure
	ktap_equal "the MTU that was set while the timer paced is used: longest, byte-times" 1038 "$gap_longest"
}

test_queues() {
	device numtxqueues 4
	paced
	keeps_rate "four TX queues"
	play tx_queues 0
	on_wire 10000000 "flows of all queues share one schedule" "30 1" "30 2" "30 3" "30 4"
	ktap_equal "and one queue of the device, which keeps the order of data and gaps" 1 \
		"$(</sys/class/net/w0/simwire/tx_queues)"
	tc qdisc del dev w0 root
	play tx_queues 0
	send_all 30 1
	send_all 30 2
	send_all 30 3
	send_all 30 4
	ktap_check "without gap they have several" not test "$(</sys/class/net/w0/simwire/tx_queues)" = 1
}

# asked_when_up: how often the device is asked for its speed when it comes up
asked_when_up() {
	traced 1 simwire_get_link_ksettings ip link set w0 up >"$work/trace" || return
	called simwire_get_link_ksettings <"$work/trace"
}

# Firmware takes its time to answer, and RTNL is held meanwhile.
test_asked_once() {
	local one queue
	device numtxqueues 4
	tc qdisc add dev w0 root handle 1: gap
	ip link set w0 down
	if ! one=$(asked_when_up); then
		ktap_skip "a device is asked once for all its qdiscs" "no tracer that is free"
		return
	fi
	tc qdisc del dev w0 root
	tc qdisc add dev w0 root handle 1: mq
	for queue in 1 2 3 4; do
		tc qdisc add dev w0 parent "1:$queue" gap
	done
	ktap_equal "each queue has a qdisc of its own" 4 "$(tc qdisc show dev w0 | grep -c 'qdisc gap')"
	ip link set w0 down
	ktap_equal "a device with four qdiscs is asked as often as one with one" "$one" "$(asked_when_up)"
	ktap_between "when it comes up" 1 "$one" 3
}

# Resets that come without a change of the device.
test_resets() {
	device numtxqueues 4
	paced
	send 100 &
	ip link set w0 txqueuelen 500
	wait
	hw_wait_for 20 is_drained
	ktap_equal "txqueuelen: gap frames go on" "asked gap" "$(state w0)"
	keeps_rate "txqueuelen"
	if command -v ethtool >/dev/null; then
		ethtool -L w0 tx 2
		keeps_rate "ethtool -L"
	else
		ktap_skip "ethtool -L" "no ethtool"
	fi
	device
	play bql 0
	paced
	keeps_rate "no byte queue limits"
}

device || skip_all "no simwire"
test_good
test_lost
test_speed
test_tx_pause
test_clock
test_handed_out
test_other_frames
test_queues
test_asked_once
test_resets
ktap_end
