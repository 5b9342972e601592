# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Gap qdiscs with classes of given rates, for ack_charging.

# A segment of TCP with neither payload nor flags but ACK: an IP header of 20
# bytes, less than 64 bytes in all.
pure_ack=(match ip protocol 6 0xff match u8 0x05 0x0f at 0
	match u16 0x0000 0xffc0 at 2 match u8 0x10 0xff at 33)

ack_load() {
	[[ -d /sys/module/sch_gap ]] || insmod "$HW_BUILD/kmod/$(uname -r)/sch_gap.ko" || return
	modprobe -a cls_flower cls_u32
}

# ack_classes OWN_BYTES_PER_S REMOTE_BYTES_PER_S charged|uncharged: on every node.
# Where they are not charged, a class without a rate takes pure ACKs.
ack_classes() {
	local node own other
	for node in $(hw_nodes); do
		own=10.1.0.0/16 other=10.2.0.0/16
		[[ $node != b* ]] || own=10.2.0.0/16 other=10.1.0.0/16
		hw_node "$node" tc -batch - <<-BATCH || return
			qdisc replace dev eth0 root handle 1: gap
			class replace dev eth0 parent 1: classid 1:10 gap rate ${1}bps
			class replace dev eth0 parent 1: classid 1:11 gap rate ${2}bps
			class replace dev eth0 parent 1: classid 1:12 gap
			filter add dev eth0 parent 1: protocol ip pref 20 flower dst_ip $own classid 1:10
			filter add dev eth0 parent 1: protocol ip pref 20 flower dst_ip $other classid 1:11
		BATCH
		[[ $3 == charged ]] || hw_node "$node" tc filter add dev eth0 parent 1: \
			protocol ip pref 10 u32 "${pure_ack[@]}" classid 1:12 || return
	done
}

ack_unload() {
	hw_each_node tc qdisc del dev eth0 root
}
