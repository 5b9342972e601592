# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the scenes of the test bed for headway doctor are made of, beside tests/lib/topology.sh.  Sourced, in a
# guest, by guest.py's scripts.

# The card of a node: bed_set_card NODE CARD RATE_BPS
bed_set_card() {
	# shellcheck disable=SC2016 # the node's shell reads it
	hw_node "$1" bash -c 'cd /sys/class/net/$0/simwire && echo $1 >rate_bps && echo 0 >delay_ns && echo 64 >ring_frames' \
		"$2" "$3"
}

# A value of simwire's in sysfs: bed_simwire NODE CARD NAME VALUE
bed_simwire() {
	# shellcheck disable=SC2016
	hw_node "$1" bash -c 'echo $2 >/sys/class/net/$0/simwire/$1' "$2" "$3" "$4"
}

# A second card, eth1, of a node, behind the port x$NODE of a switch: bed_second_card NODE SWITCH MBIT
bed_second_card() {
	local rate_bps
	rate_bps=$(hw_mbit_to_bps "$3")
	ip link add "x$1" group 4 type simwire
	hw_set_wire "x$1" "$rate_bps" 0 2
	tc qdisc replace dev "x$1" root bfifo limit 1000000
	ip link set "x${1}p" netns "$(hw_node_pid "$1")" name eth1
	bed_set_card "$1" eth1 "$rate_bps"
	ip link set "x$1" master "$2" up
	hw_node "$1" ip link set eth1 up
	hw_node "$1" ethtool -K eth1 tso on
}

# A network of its own for the second cards of a0 and b0, 192.168.7.1 and .2: bed_second_network MBIT
bed_second_network() {
	ip link add swx group 4 type bridge stp_state 0 mcast_snooping 0 forward_delay 0
	ip link set swx up
	bed_second_card a0 swx "$1"
	bed_second_card b0 swx "$1"
	hw_node a0 ip addr add 192.168.7.1/24 dev eth1
	hw_node b0 ip addr add 192.168.7.2/24 dev eth1
}

# Both cards of a0 in one bond, which has the node's address: bed_bond OPTION...
bed_bond() {
	local address
	address=$(hw_node_address a0)
	bed_second_card a0 swa 1000
	hw_node a0 ip link set eth1 down
	hw_node a0 ip link set eth0 down
	hw_node a0 ip addr flush dev eth0
	hw_node a0 ip link add bond0 type bond miimon 10 "$@"
	hw_node a0 ip link set eth0 master bond0
	hw_node a0 ip link set eth1 master bond0
	hw_node a0 ip link set bond0 up
	hw_node a0 ip addr add "$address/8" dev bond0
	bridge link set dev xa0 learning off	# as the other ports: the switch's table is fixed
	for other in a1 b0 b1; do
		hw_node a0 ip neigh replace "$(hw_node_address "$other")" lladdr "${hw_mac[$other]}" nud permanent dev bond0
	done
}

# What goes through a port of the trunk is matched and dealt with there: bed_on_trunk MATCH AND ACTION...
bed_on_trunk() {
	local device
	for device in trka trkb; do
		tc qdisc add dev "$device" clsact
		tc filter add dev "$device" egress protocol ip "$@"
	done
}

# A program in a node, which sends to the other one's iperf3 for so long: bed_flood FROM TO PORT SECONDS [STREAMS]
bed_flood() {
	hw_node_spawn "$2" /dev/null /tmp/bed/iperf3 -s -p "$3"
	bed_listens() { hw_node "$1" ss -Hltn | grep -q ":$2 "; }
	hw_wait_for 60 bed_listens "$2" "$3"
	hw_node_spawn "$1" /dev/null /tmp/bed/iperf3 -c "$(hw_node_address "$2")" -p "$3" -t "$4" -P "${5:-1}"
}
