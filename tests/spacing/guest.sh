#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs in the guest: sends frames through a qdisc onto a simwire and measures
# when each one started.  Prints one JSON object per measurement; the verdict
# is spacing's, on the host.
#   guest.sh CASE...
# A case: NAME,LINK_MBIT,QDISC,CLASSES,INTERRUPT_NS  with CLASSES = SIZE:SHARE[+SIZE:SHARE]
#   QDISC  gap, timer, htb, tbf, fq, nested; edt: fq with departure times of edt.bpf.c; bpf: Headway's BPF qdisc;
#          lost: gap on a device that drops gap frames, whose counters are then printed
#   SIZE   frame in bytes without FCS; SHARE of the link in ten-thousandths
#   INTERRUPT_NS  what another device's interrupts take, 0: there are none
# QDISC nested: two classes below one that has the share of the first.
set -euo pipefail

dev=w0
wire=/sys/class/net/$dev/simwire
fifo_limit=20000	# packets: more than the senders' sockets hold
declare -A back_end=(
	[gap]="backend gap"
	[timer]="backend timer"
	[lost]="backend gap"
)

wire_bytes() {
	echo $((($1 < 60 ? 60 : $1) + 24))
}

# Byte-times to measure.  For gap so many that 84 are less than 1e-5 of them;
# the others are further off than that.
span_bytes() {
	case $1 in
	gap | nested) echo 9000000 ;;
	lost) echo 120000000 ;;
	*) echo 4000000 ;;
	esac
}

# frames QDISC SIZE SHARE: how many take that long.
frames() {
	local count=$(($(span_bytes "$1") / ($(wire_bytes "$2") * 10000 / $3)))
	echo $((count > 2200 ? count : 2200))
}

# Wire bytes per second of a share of the link.
share_rate() {
	echo $((link_bps / 8 * $1 / 10000))
}

# Returns the rate in the bytes that other qdiscs count: frames without overhead.
frame_rate_bit() {
	echo $(($(share_rate "$2") * 8 * $1 / $(wire_bytes "$1")))bit
}

set_up_device() {
	ip link add $dev type simwire
	ip link set $dev mtu 9000
	for end in $dev ${dev}p; do
		sysctl -qw "net.ipv6.conf.$end.disable_ipv6=1" 2>/dev/null || true
		ip link set "$end" arp off up
	done
	# enough in the device to bridge the pauses of the one emulated processor
	echo 256 >$wire/ring_frames
	echo 60000 >/sys/class/net/$dev/queues/tx-0/byte_queue_limits/limit_min
}

set_up_qdisc() {
	local qdisc=$1 class=10 size share
	shift
	tc qdisc del dev $dev root 2>/dev/null || true
	tc qdisc del dev $dev clsact 2>/dev/null || true
	case $qdisc in
	gap | timer | lost)
		# shellcheck disable=SC2086 # words, indeed
		tc qdisc add dev $dev root handle 1: gap ${back_end[$qdisc]}
		for pair in "$@"; do
			share=${pair#*:}
			tc class add dev $dev parent 1: classid 1:$class gap \
				rate "$(($(share_rate "$share") * 8))bit"
			class=$((class + 1))
		done
		;;
	nested)
		# shellcheck disable=SC2086
		tc qdisc add dev $dev root handle 1: gap ${back_end[gap]}
		tc class add dev $dev parent 1: classid 1:1 gap \
			rate "$(($(share_rate "${1#*:}") * 8))bit"
		# together they ask for 1.2 times what the parent has
		for class in 10 11; do
			tc class add dev $dev parent 1:1 classid 1:$class gap \
				rate "$(($(share_rate "${1#*:}") * 8 * 6 / 10))bit"
		done
		;;
	htb)
		size=${1%:*} share=${1#*:}
		tc qdisc add dev $dev root handle 1: htb default 10
		tc class add dev $dev parent 1: classid 1:10 htb \
			rate "$(frame_rate_bit "$size" "$share")" quantum 1514
		tc qdisc add dev $dev parent 1:10 pfifo limit $fifo_limit
		;;
	tbf)
		size=${1%:*} share=${1#*:}
		tc qdisc add dev $dev root tbf rate "$(frame_rate_bit "$size" "$share")" \
			burst $((size > 1600 ? size : 1600)) limit 100mb
		;;
	fq)
		size=${1%:*} share=${1#*:}
		tc qdisc add dev $dev root fq limit $fifo_limit flow_limit $fifo_limit timer_slack 0 \
			quantum "$size" initial_quantum "$size" maxrate "$(frame_rate_bit "$size" "$share")"
		;;
	bpf)
		share=${1#*:}
		"$HW_BUILD/bin/bpf_pacing" $dev "$((0x$class))=$(($(share_rate "$share") * 8))"
		tc filter add dev $dev egress bpf direct-action object-file "$HW_BUILD/bin/told_by_priority.bpf.o" section tc
		;;
	edt)
		size=${1%:*}
		tc qdisc add dev $dev root fq limit $fifo_limit flow_limit $fifo_limit timer_slack 0 \
			quantum "$size" initial_quantum "$size"
		tc qdisc add dev $dev clsact
		tc filter add dev $dev egress bpf direct-action object-file "$HW_BUILD/bin/edt.bpf.o" section tc
		;;
	esac
}

# One sender per class, each always with frames waiting.
start_senders() {
	local qdisc=$1 class=10 size share priority
	shift
	for pair in "$@"; do
		size=${pair%:*} share=${pair#*:}
		priority=$((0x10000 + 0x$class))
		[[ $qdisc != edt ]] || priority=$(($(share_rate "$share") / 1000))
		"$HW_BUILD/bin/send_frames" $dev "$size" $priority \
			"$(frames "$qdisc" "$size" "$share")" &
		class=$((class + 1))
	done
}

# Until nothing has been sent for 0.2 s.  A process started meanwhile would take
# the one processor from the kernel's sending: only the shell's own commands.
wait_for_empty() {
	local seen=-1 now=0 deadline=$((SECONDS + 60))
	until [[ $now == "$seen" ]]; do
		((SECONDS < deadline)) || { echo "the qdisc did not run empty" >&2; exit 1; }
		seen=$now
		read -rt 0.2 <>"$nothing" || true
		read -r now <$wire/tx_frames
	done
	[[ $(tc -s qdisc show dev $dev root) == *"backlog 0b 0p"* ]] ||
		{ echo "the qdisc holds frames but sends none" >&2; exit 1; }
}

# Prints the qdisc's counters as a JSON object.
counters() {
	local shown
	shown=$(tc -s -j qdisc show dev $dev root)
	for name in gap_wire_bytes fallbacks; do
		[[ $shown =~ \"$name\":([0-9]+) ]] && printf '"%s":%s,' $name "${BASH_REMATCH[1]}"
	done | sed 's/^/{/; s/,$/}/'
}

run_case() {
	local name=$1 qdisc=$3 pairs pair size share rate stats
	link_bps=$(($2 * 1000000))
	IFS=+ read -ra pairs <<<"$4"
	echo "$link_bps" >$wire/rate_bps
	echo 1000000 >$wire/record_frames
	echo "$([[ $qdisc == lost ]] && echo 1 || echo 0)" >$wire/drop_mac_control
	set_up_qdisc "$qdisc" "${pairs[@]}"
	start_senders "$qdisc" "${pairs[@]}"
	echo "$5" >$wire/interrupt_ns
	wait_for_empty
	wait
	echo 0 >$wire/interrupt_ns
	cat $wire/records >/tmp/records
	echo 0 >$wire/record_frames
	for pair in "${pairs[@]}"; do
		size=${pair%:*} share=${pair#*:}
		rate=$(share_rate "$share")
		if [[ $qdisc == lost ]]; then
			stats=$(counters)
		else
			stats=$("$HW_BUILD/bin/spacing_stats" /tmp/records "$link_bps" "$rate" "$(wire_bytes "$size")")
		fi
		printf '{"name":"%s","qdisc":"%s","link_mbit":%d,"frame_bytes":%d,"share":%s,"interrupt_ns":%d,"classes":%d,"longest_frame_bytes":%d,"stats":%s}\n' \
			"$name" "$qdisc" "$2" "$size" "$share" "$5" ${#pairs[@]} "$longest" \
			"$stats"
		[[ $qdisc == nested ]] && break
	done
	return 0
}

# The kernel's softirq thread does the work that long queues leave to it, and must not wait for
# others.
favour_softirqs() {
	local process name
	for process in /proc/[0-9]*; do
		read -r name <"$process/comm"
		[[ $name != ksoftirqd/* ]] || chrt -f -p 50 "${process##*/}" >/dev/null
	done
}

longest_of() {
	local longest=0 pair
	for pair in ${1//+/ }; do
		((${pair%:*} <= longest)) || longest=${pair%:*}
	done
	echo "$longest"
}

dmesg -n 1
insmod "$HW_BUILD/kmod/$(uname -r)/simwire.ko"
insmod "$HW_BUILD/kmod/$(uname -r)/sch_gap.ko"
for module in sch_htb sch_tbf sch_fq sch_ingress cls_bpf; do
	modprobe $module
done
favour_softirqs
nothing=/tmp/nothing
mkfifo $nothing
set_up_device
for case in "$@"; do
	IFS=, read -r name link_mbit qdisc classes interrupt_ns <<<"$case"
	longest=$(longest_of "$classes")
	run_case "$name" "$link_mbit" "$qdisc" "$classes" "$interrupt_ns"
done
