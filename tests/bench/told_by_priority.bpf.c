// SPDX-License-Identifier: GPL-2.0
/*
 * Tells Headway's BPF qdisc what the packet's priority says, in the place of its classifier: the
 * lower half is the class, the upper half the turn.
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_helpers.h>

#include "qdisc_told.h"

#define FRAME_MIN_BYTES		60
#define FRAME_OVERHEAD_BYTES	24

SEC("tc")
int told_by_priority(struct __sk_buff *skb)
{
	__u32 bytes = skb->len > FRAME_MIN_BYTES ? skb->len : FRAME_MIN_BYTES;

	skb->cb[HEADWAY_TOLD_MAGIC] = skb->priority ? HEADWAY_QDISC_MAGIC : 0;
	skb->cb[HEADWAY_TOLD_CLASS] = skb->priority & 0xffff;
	skb->cb[HEADWAY_TOLD_ENTRY] = 0;
	skb->cb[HEADWAY_TOLD_BYTES] = bytes + FRAME_OVERHEAD_BYTES;
	skb->cb[HEADWAY_TOLD_TURN] = skb->priority >> 16;
	return TC_ACT_OK;
}

char told_license[] SEC("license") = "GPL";
