# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# etcd for the nodes of topology.sh, which reach it over a network of its own; sourced after that.
#   hw_etcd_reach          a bridge with etcd's address, and to it a device "etcd" in each node (to-NODE on the
#                          bridge's side)
#   hw_etcd_leave          take that away
#   hw_etcd_exec FOLDER    become etcd, which keeps its data and its log there
#   hw_etcd_coordination   the table of headway.toml for it

hw_etcd_address=192.168.77.254
hw_etcd_url=http://$hw_etcd_address:2379

hw_etcd_reach() {
	local node number=0
	modprobe -a veth bridge || return
	ip link add etcd type bridge && ip address add "$hw_etcd_address/24" dev etcd && ip link set etcd up &&
		ip link set lo up || return
	for node in $(hw_nodes); do
		number=$((number + 1))
		ip link add "to-$node" type veth peer name etcd netns "$(hw_node_pid "$node")" || return
		ip link set "to-$node" master etcd up || return
		hw_node "$node" ip address add "192.168.77.$number/24" dev etcd || return
		hw_node "$node" ip link set etcd up || return
	done
}

hw_etcd_leave() {
	local node
	for node in $(hw_nodes); do
		ip link del "to-$node" || return
	done
	ip link del etcd
}

hw_etcd_exec() {
	exec etcd --data-dir "$1/etcd" --listen-client-urls "$hw_etcd_url" --advertise-client-urls "$hw_etcd_url" \
		--listen-peer-urls http://127.0.0.1:2380 --unsafe-no-fsync >>"$1/etcd.log" 2>&1 </dev/null
}

hw_etcd_coordination() {
	printf '[coordination]\nvia = "etcd"\nendpoints = ["%s"]\n' "$hw_etcd_url"
}
