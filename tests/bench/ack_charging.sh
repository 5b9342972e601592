#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# In a guest of vm-run --icount: what it costs to charge TCP ACKs to the classes
# that carry the data, and what it costs not to.
#
#   tests/vm/vm-run --icount --timeout 900 --memory 3072 -- tests/bench/ack_charging.sh
#
# 4+4 nodes, links of 20 Mbit/s, a trunk of 25, a linear all-to-all.  The
# classes' rates are set by hand; where ACKs are not charged, a filter sends
# them to a class without a rate of its own.  One line for each way.
set -euo pipefail

# shellcheck source=tests/lib/topology.sh
. "$HW_ROOT/tests/lib/topology.sh"

trunk_bps=25000000
nodes=4
work=/tmp/ack_charging

# A TCP segment without options, payload or flags other than ACK: IP header of
# 20 bytes, total length below 64.
pure_ack=(match ip protocol 6 0xff match u8 0x05 0x0f at 0
	match u16 0x0000 0xffc0 at 2 match u8 0x10 0xff at 33)

# classes PER_MILLE charged|uncharged
classes() {
	local node rate=$((trunk_bps / nodes * $1 / 1000)) own other
	for node in $(hw_nodes); do
		own=10.1 other=10.2
		[[ $node == a* ]] || own=10.2 other=10.1
		hw_node "$node" tc -batch - <<BATCH
qdisc replace dev eth0 root handle 1: gap
class replace dev eth0 parent 1: classid 1:10 gap rate ${rate}bit
class replace dev eth0 parent 1: classid 1:11 gap rate ${rate}bit
class replace dev eth0 parent 1: classid 1:12 gap
filter add dev eth0 parent 1: protocol ip pref 20 handle 0x1 flower dst_ip $own.0.0/16 classid 1:10
filter add dev eth0 parent 1: protocol ip pref 20 handle 0x2 flower dst_ip $other.0.0/16 classid 1:11
BATCH
		[[ $2 == charged ]] || hw_node "$node" tc filter add dev eth0 parent 1: \
			protocol ip pref 10 u32 "${pure_ack[@]}" classid 1:12
	done
}

all_to_all() {
	hw_node a0 env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
		mpirun.openmpi --mca plm_rsh_agent "$HW_ROOT/tests/lib/mpi-launch" \
		--mca plm_rsh_no_tree_spawn 1 --mca pml ob1 --mca btl tcp,self \
		--mca btl_tcp_if_include 10.0.0.0/8 --mca oob_tcp_if_include 10.0.0.0/8 \
		--mca mpi_yield_when_idle 1 --mca hwloc_base_binding_policy none \
		--mca btl_tcp_flags send,inplace,need-ack,need-csum,hetero-rdma \
		--mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_alltoall_algorithm 1 \
		--host "$(hw_nodes | paste -sd,)" \
		"$work/alltoall_bench" --sizes 65536,262144 --repetitions 5 --warmup 1 --counters
}

total() {
	awk '{ sum += $2 } END { print sum + 0 }' <(hw_drops)
}

mkdir -p $work
find "$HW_BUILD/bin" -name alltoall_bench -exec cp {} $work/ \;
insmod "$HW_BUILD/kmod/$(uname -r)/sch_gap.ko"
modprobe -a cls_flower cls_u32
hw_two_clusters $nodes 20 25 100 32768 65536
for way in "990 charged" "1000 charged" "968 uncharged" "990 uncharged" "1000 uncharged"; do
	for node in $(hw_nodes); do
		hw_node "$node" tc qdisc del dev eth0 root 2>/dev/null || true
	done
	# shellcheck disable=SC2086 # two words
	classes $way
	before=$(total)
	echo "== ${way/ / per mille of the trunk, ACKs }"
	all_to_all
	echo "   drops $(($(total) - before))"
done
hw_down
