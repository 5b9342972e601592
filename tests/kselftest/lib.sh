# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the kselftests of the gap qdisc share.  Sourced first: it starts the
# script anew in a network namespace of its own, so that whatever the script
# makes goes with it.  Needs root, the modules sch_gap and simwire (loaded, to
# be found by modprobe, or built here) and tc's plugin; where something is
# missing the script ends with status 4 and says what.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=${HW_BUILD:-$here/../../build}
# shellcheck source=tests/lib/ktap.sh
. "$here/../lib/ktap.sh"
# shellcheck source=tests/lib/wait.sh
. "$here/../lib/wait.sh"

# As a kselftest that cannot run.
skip_all() {
	echo "1..0 # SKIP $*"
	exit 4
}

need_program() {
	local program
	for program in "$@"; do
		command -v "$program" >/dev/null || skip_all "$program is missing"
	done
}

need_module() {
	local name=$1 file
	file=$build/kmod/$(uname -r)/$name.ko
	[[ ! -d /sys/module/$name ]] || return 0
	if [[ -f $file ]]; then
		insmod "$file" || skip_all "$file does not load"
	else
		modprobe -q "$name" || skip_all "no module $name for this kernel"
	fi
}

enter_namespace() {
	((EUID == 0)) || skip_all "root is needed"
	need_program ip tc unshare awk od
	if [[ -z ${TC_LIB_DIR:-} && -f $build/lib/q_gap.so ]]; then
		export TC_LIB_DIR=$build/lib
	fi
	need_module sch_gap
	need_module simwire
	[[ $(tc qdisc add dev lo root gap help 2>&1) == Usage* ]] || skip_all "tc has no plugin for gap"
	GAP_NAMESPACE=1 exec unshare --net --mount --propagation private bash "$0" "$@"
}

if [[ -z ${GAP_NAMESPACE:-} ]]; then
	echo "KTAP version 1"
	enter_namespace "$@"
fi
mount -t sysfs sysfs /sys
# nobody else is to send anything
for file in /proc/sys/net/ipv6/conf/{all,default}/disable_ipv6; do
	[[ ! -f $file ]] || echo 1 >"$file"
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# ---- the wire ------------------------------------------------------------------
# Slow enough that whatever processor there is keeps it busy.

link_mbit=50
byte_ns=$((8000 / link_mbit))
# Bash writes in pieces of its output's buffer, 1000 bytes on a serial line; what
# is sent must fit in one.
payload_bytes=958
frame_wire=$((payload_bytes + 42 + 24))	# byte-times on the wire

# wire NAME [OPTION OF ip link add...]: a simwire with an address, up
wire() {
	local name=$1 end
	shift
	ip link add "$name" "$@" type simwire || return
	for end in "$name" "${name}p"; do
		echo $((link_mbit * 1000000)) >"/sys/class/net/$end/simwire/rate_bps"
		ip link set "$end" arp off multicast off up || return
	done
	# enough in the device to bridge the pauses of a busy processor
	for end in /sys/class/net/"$name"/queues/tx-*/byte_queue_limits/limit_min; do
		echo 30000 >"$end"
	done
	ip address add 10.77.0.1/16 dev "$name" && hw_wait_for 5 has_carrier "$name"
}

has_carrier() {
	local carrier
	read -r carrier <"/sys/class/net/$1/carrier" && ((carrier))
}

# counter NAME of w0, in $counter
counter() {
	read -r counter <"/sys/class/net/w0/simwire/$1"
}

# Data frames that w0 has put on the wire, in $data.
count_data() {
	local frames gaps
	read -r frames </sys/class/net/w0/simwire/tx_frames
	read -r gaps </sys/class/net/w0/simwire/tx_mac_control_frames
	data=$((frames - gaps))
}

has_sent() {
	count_data
	((data >= $1))
}

# Data frames that a sleep, BQL or a timer holds back are sent, too.
wait_sent() {
	hw_wait_for 60 has_sent "$1"
}

# ---- traffic --------------------------------------------------------------------

# send COUNT [PORT] [BYTES]: datagrams to $to, 10.77.0.2; waits where the socket is full
send() {
	local count=$1 port=${2:-9} bytes=${3:-$payload_bytes} payload socket
	printf -v payload '%*s' "$bytes" ''
	exec {socket}>"/dev/udp/${to:-10.77.0.2}/$port"
	while ((count-- > 0)); do
		printf %s "$payload" >&"$socket"
	done
	exec {socket}>&-
}

# send_all COUNT [PORT] [BYTES]: and wait until they are on the wire
send_all() {
	count_data
	local before=$data
	send "$@"
	wait_sent $((before + $1))
}

# send_held "COUNT [PORT] [BYTES]"...: flows as for send, all queued before the
# second frame may leave, so that no sender has to keep up: the class $held (1:10)
# crawls meanwhile.  COUNT is what a socket holds, 80 at most.  The command
# $before_release is run when all are queued.
send_held() {
	local class=${held:-1:10} rate flow wanted
	rate=$(shown rate "$(class_shown "$class")")
	tc class change dev w0 classid "$class" gap rate 8kbit || return
	count_data
	wanted=$data
	for flow in "$@"; do
		# shellcheck disable=SC2086 # three words
		send $flow
		wanted=$((wanted + ${flow%% *}))
	done
	${before_release:-:}
	tc class change dev w0 classid "$class" gap rate "$rate"
	wait_sent "$wanted"
}

start_recording() {
	echo 100000 >/sys/class/net/w0/simwire/record_frames
}

# measure [FRAMES]: of what was recorded, without the first two data frames, the
# next FRAMES or all.  The first was not held; the second may be late behind the
# class that was, which the third makes up.  Sets
#   frames rate_bps spacing_ns gap_frames gap_longest
# spacing: least distance of two starts
# shellcheck disable=SC2120 # scripts give it
measure() {
	read -r frames rate_bps spacing_ns gap_frames gap_longest < <(
		od -An -v -t u4 -w16 /sys/class/net/w0/simwire/records |
			awk -v skip="${skip:-2}" -v most="${1:-1000000}" -f "$here/measure.awk"
	)
}

# on_wire BIT NAME [FLOW...]: send flows as send_held does, 80 frames if none is
# given; the rate must be that within 1/$tolerance, a thousandth
on_wire() {
	local bit=$1 name=$2 off=$(($1 / ${tolerance:-1000}))
	shift 2
	start_recording
	send_held "${@:-80}"
	# shellcheck disable=SC2119
	measure
	ktap_between "$name, bit/s" $((bit - off)) "$rate_bps" $((bit + off))
}

# ---- qdisc and classes ------------------------------------------------------------

# shown WORD TEXT: the word that follows WORD in tc's output
shown() {
	[[ $2 =~ (^|[[:space:]])"$1 "([^[:space:],]+) ]] && echo "${BASH_REMATCH[2]}"
}

# xstat NAME [TEXT]: a statistic of the root qdisc
xstat() {
	shown "$1" "${2:-$(tc -s qdisc show dev w0 root)}"
}

# class_shown CLASSID [-s]: tc's lines about a class
class_shown() {
	tc "${2:--d}" -d class show dev w0 classid "$1"
}

# Packets that a class has sent, from tc -s.
class_packets() {
	[[ $(class_shown "$1" -s) =~ Sent\ [0-9]+\ bytes\ ([0-9]+)\ pkt ]] && echo "${BASH_REMATCH[1]}"
}

# state DEV: "REASON BACKEND", what paces and why
state() {
	[[ $(tc -j qdisc show dev "$1" root) =~ \"backend_used\":\"([a-z]+)\",\"reason\":\"([a-z-]+)\" ]] &&
		echo "${BASH_REMATCH[2]} ${BASH_REMATCH[1]}"
}

is_state() {
	[[ $(state w0) == "$1" ]]
}

# gap_with OPTIONS [CLASS...]: a fresh gap qdisc on w0, with gap frames unless OPTIONS
# name the back end, and classes, each "PARENT CLASSID OPTIONS"
gap_with() {
	local options=$1 class parent id rest
	shift
	[[ $options == *backend* ]] || options+=" backend gap"
	tc qdisc del dev w0 root 2>/dev/null
	# shellcheck disable=SC2086 # options are words
	tc qdisc add dev w0 root handle 1: gap $options || return
	for class in "$@"; do
		read -r parent id rest <<<"$class"
		echo "class add dev w0 parent $parent classid $id gap $rest"
	done >"$work/classes"
	tc -batch "$work/classes"
}

# ---- what the kernel calls ---------------------------------------------------------------

# traced DEPTH "FUNCTION..." COMMAND...: what these functions call while the command runs, so
# many levels deep, by the kernel's own tracer; fails if there is none, or somebody uses it.
# The tracer is the machine's: it is left as it was.
traced() (
	depth=$1 functions=$2 tracing=$work/tracing
	shift 2
	mkdir -p "$tracing"
	mount -t tracefs tracefs "$tracing" || exit
	has_free_tracer || exit
	depth_before=$(<"$tracing/max_graph_depth") on=$(<"$tracing/tracing_on")
	irqs=$(<"$tracing/options/funcgraph-irqs")
	trap 'echo nop >"$tracing/current_tracer"; echo >"$tracing/set_graph_function"
		echo "$irqs" >"$tracing/options/funcgraph-irqs"; echo "$depth_before" >"$tracing/max_graph_depth"
		echo "$on" >"$tracing/tracing_on"; umount "$tracing"' EXIT
	echo 0 >"$tracing/options/funcgraph-irqs"
	echo "$depth" >"$tracing/max_graph_depth"
	echo 1 >"$tracing/tracing_on"
	for function in $functions; do
		echo "$function" >>"$tracing/set_graph_function" || exit
	done
	echo function_graph >"$tracing/current_tracer"
	"$@" >/dev/null
	echo 0 >"$tracing/tracing_on"
	cat "$tracing/trace"
)

has_free_tracer() {
	grep -q function_graph "$tracing/available_tracers" &&
		[[ $(<"$tracing/current_tracer") == nop ]] && ! grep -qv '^#' "$tracing/set_graph_function"
}

# called FUNCTION: how often, by the trace on standard input
called() {
	grep -cE "\\b$1(\\.\\w+)*( \\[\\w+\\])?\\("
}

# Nothing waits in the qdisc.
is_drained() {
	[[ $(tc -s qdisc show dev w0 root) == *"backlog 0b 0p"* ]]
}

queue_of() {
	[[ $1 =~ backlog\ ([0-9]+)([KM]?)b\ ([0-9]+)p ]] &&
		echo "${BASH_REMATCH[1]}${BASH_REMATCH[2]}b ${BASH_REMATCH[3]}p"
}
