# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154 # the tables are those of topology.sh
# A container on each node of topology.sh: network, mount and UTS namespaces of its own,
# with the node's /run, and so with its daemon's socket.  Its eth0 is one end of a veth
# pair.  Sourced after topology.sh.
#
#   hw_containers bridged|routed NETWORK
#                         on node a0 there is ca0, with address 10.(NETWORK+1).0.101, on b0 cb0,
#                         with 10.(NETWORK+2).0.101; names are in /etc/hosts.  Bridged: the other
#                         end of the pair and the node's eth0 are ports of a bridge.  Routed: the
#                         node forwards between them.
#   hw_containers_down    end them, and take their bridges away
#
# tests/lib/mpi-job runs in them with MPI_JOB_STATE=$hw_containers_state, and a program
# behind "${hw_own_processes[@]}" in a process namespace of its own, too: the launcher of
# mpi-job enters containers by processes that it has to see.

hw_containers_state=/tmp/headway-containers
# shellcheck disable=SC2034 # for the caller
hw_own_processes=(unshare --pid --fork --kill-child --mount-proc)

# Prints what the process that keeps a container does.  busybox is not to be seen from a node's
# /run.
hw_container_keeper() {
	cat <<'KEEPER'
set -e
echo "$1" >/proc/sys/kernel/hostname
mount -t sysfs sysfs /sys
echo $$ >"$2/$1.pid"
exec tail -f /dev/null
KEEPER
}

hw_start_container() {
	hw_node_spawn "$1" "$hw_containers_state/c$1.log" \
		unshare --net --mount --uts --propagation private \
		sh -c "$(hw_container_keeper)" keeper "c$1" "$hw_containers_state"
	hw_container_keepers+=("$HW_SPAWNED")
	hw_wait_for 2000 test -s "$hw_containers_state/c$1.pid" || {
		cat "$hw_containers_state/c$1.log" >&2
		return 1
	}
}

hw_container_address() {
	local cluster=1
	[[ $1 == a* ]] || cluster=2
	echo "10.$((hw_containers_network + cluster)).0.$((${1:1} + 101))"
}

hw_container_mac() {
	local mac=${hw_mac[$1]}
	echo "06${mac#02}"
}

# hw_in_container NODE COMMAND...
hw_in_container() {
	local pid
	read -r pid <"$hw_containers_state/c$1.pid"
	shift
	nsenter --target "$pid" --net --mount --uts -- "$@"
}

# hw_plug_container NODE: the pair, with both ends up
hw_plug_container() {
	local pid
	read -r pid <"$hw_containers_state/c$1.pid"
	hw_node "$1" ip link add veth0 address "06:ff:${hw_mac[$1]#02:00:}" type veth \
		peer name eth0 address "$(hw_container_mac "$1")" netns "$pid"
	hw_node "$1" ip link set veth0 up
	hw_in_container "$1" ip link set lo up
	hw_in_container "$1" ip link set eth0 up
}

# hw_bridge_container NODE: the switches forward by a fixed table
hw_bridge_container() {
	local mac other cluster port
	mac=$(hw_container_mac "$1")
	for cluster in a b; do
		port=p$1
		[[ ${1:0:1} == "$cluster" ]] || port=trk$cluster
		bridge fdb add "$mac" dev "$port" master static
	done
	hw_node "$1" ip link add br0 type bridge stp_state 0 mcast_snooping 0 forward_delay 0
	hw_node "$1" ip link set veth0 master br0
	hw_node "$1" ip link set eth0 master br0
	hw_node "$1" ip link set br0 up
	hw_in_container "$1" ip addr add "$(hw_container_address "$1")/8" dev eth0
	for other in "${hw_names[@]}"; do
		[[ $other == "$1" ]] || hw_in_container "$1" ip neigh add "$(hw_container_address "$other")" \
			lladdr "$(hw_container_mac "$other")" nud permanent dev eth0
	done
}

# hw_route_container NODE: what is for another node's container goes through that node
hw_route_container() {
	local other own gateway=169.254.1.1
	own=$(hw_container_address "$1")
	hw_node "$1" sysctl -qw net.ipv4.ip_forward=1
	hw_node "$1" ip route add "$own/32" dev veth0
	hw_node "$1" ip neigh add "$own" lladdr "$(hw_container_mac "$1")" nud permanent dev veth0
	for other in "${hw_names[@]}"; do
		[[ $other == "$1" ]] || hw_node "$1" ip route add "$(hw_container_address "$other")/32" \
			via "${hw_address[$other]}" dev eth0
	done
	hw_in_container "$1" ip addr add "$own/32" dev eth0
	hw_in_container "$1" ip route add $gateway dev eth0
	hw_in_container "$1" ip neigh add $gateway lladdr "06:ff:${hw_mac[$1]#02:00:}" nud permanent dev eth0
	hw_in_container "$1" ip route add default via $gateway
}

# The kernel tells of a link that it works up to a second after both ends are up; UCX uses none
# before that, and a job of MPICH whose rank finds no network waits for ever.
hw_container_has_link() {
	[[ $(hw_in_container "$1" cat /sys/class/net/eth0/operstate) == up ]]
}

hw_containers() {
	local how=$1 node
	hw_containers_network=$2
	hw_container_keepers=()
	hw_read_state || return
	mkdir "$hw_containers_state"
	cp /etc/hosts "$hw_containers_state/hosts"
	for node in "${hw_names[@]}"; do
		hw_start_container "$node" || return
		echo "c$node" >>"$hw_containers_state/nodes"
		echo "$(hw_container_address "$node") c$node" >>/etc/hosts
		hw_plug_container "$node" || return
		"hw_${how%d}_container" "$node" || return
	done
	for node in "${hw_names[@]}"; do
		hw_wait_for 2000 hw_container_has_link "$node" || return
	done
}

hw_containers_down() {
	local node keeper
	for node in "${hw_names[@]}"; do
		hw_node "$node" ip link del br0 2>/dev/null || :
	done
	kill "${hw_container_keepers[@]}"
	for keeper in "${hw_container_keepers[@]}"; do
		wait "$keeper" || :
	done
	cat "$hw_containers_state/hosts" >/etc/hosts
	rm -r "$hw_containers_state"
}
