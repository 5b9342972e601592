/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The classes that a BPF program paces by, where the module of the qdisc gap is not there.
 *
 * A packet's class and entry are chosen as for gap (phase_classifier.bpf.c).  The classes
 * themselves are arrays here: what headwayd wants of each, and a clock that says when its
 * next packet may leave.  The clocks are the node's: all processors and TX queues take their
 * time of them.  A clock counts ticks, parts of a nanosecond: in whole nanoseconds, rounded
 * up, a frame at 9 Gbit/s would take 0.07 % too long.
 */
#ifndef PACING_CLASSES_BPF_H
#define PACING_CLASSES_BPF_H

#include <linux/in.h>
#include <linux/pkt_sched_gap.h>
#include <linux/tcp.h>

#include "phase_classifier.bpf.c"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, HEADWAY_BPF_MINORS);
	__type(key, __u32);
	__type(value, __u64);	/* HEADWAY_BPF_PLACE(), in one piece */
} bpf_places SEC(".maps");

/* headwayd makes both as large as the topology needs. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct headway_bpf_class);
} bpf_classes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct headway_bpf_clock);
} bpf_clocks SEC(".maps");

#define NSEC_PER_SEC		1000000000ULL
#define TICKS(ns)		((ns) << HEADWAY_BPF_TICK_BITS)
/* rounded up: nothing leaves before its time */
#define TICKS_TO_NS(ticks)	(((ticks) + TICKS(1ULL) - 1) >> HEADWAY_BPF_TICK_BITS)
/* No class waits longer.  A clock that seems to be further ahead has stood for more than a year. */
#define AHEAD_MAX_TICKS		TICKS(86400 * NSEC_PER_SEC)

/* Does the class's next packet have to wait?  Clocks run over. */
static __always_inline int is_ahead(__u64 next_ticks, __u64 now_ticks)
{
	return next_ticks - now_ticks - 1 < AHEAD_MAX_TICKS;
}

/* A class on the way from the packet's to the root, and what the packet costs it. */
struct level {
	struct headway_bpf_clock *clock;	/* NULL: there is no such level */
	__u64			cost_ticks;	/* 0: it limits nothing */
	__u32			index;		/* of the clock */
};

/* Adds up the wire bytes of all frames that become of the packet, as the qdisc gap counts them. */
static __always_inline __u64 wire_bytes(const struct __sk_buff *skb)
{
	__u64 frames = skb->gso_segs > 1 ? skb->gso_segs : 1;
	__u64 bytes = skb->wire_len > skb->len ? skb->wire_len : skb->len;

	if (frames == 1 && bytes < GAP_FRAME_MIN_BYTES)
		bytes = GAP_FRAME_MIN_BYTES;
	return bytes + frames * GAP_FRAME_OVERHEAD_BYTES;
}

/* 0 and HEADWAY_BPF_UNLIMITED: it limits nothing. */
static __always_inline __u64 rate_of(const struct headway_bpf_class *class, __u32 entry,
				     __u64 now_ns)
{
	if (entry)
		return class->bytes_per_s[INDEX(entry, HEADWAY_BPF_ENTRIES)];
	if (class->expires_ns &&
	    (__s64)(now_ns - class->renewed_ns) > (__s64)class->expires_ns)
		return class->fallback_bytes_per_s;
	return class->bytes_per_s[0];
}

/* The level of that class, whose parent *@minor is then. */
static __always_inline struct level level_of(__u32 *minor, __u32 entry, __u64 bytes,
					     __u64 now_ns)
{
	const struct headway_bpf_class *class;
	struct level level = { NULL, 0, 0 };
	const volatile __u64 *found;
	__u64 place, rate;
	__u32 index;

	if (!*minor)
		return level;
	found = bpf_map_lookup_elem(&bpf_places, minor);
	place = found ? *found : 0;
	*minor = 0;
	if (!place)
		return level;
	index = HEADWAY_BPF_CLASS_OF(place);
	class = bpf_map_lookup_elem(&bpf_classes, &index);
	level.index = HEADWAY_BPF_CLOCK_OF(place);
	level.clock = bpf_map_lookup_elem(&bpf_clocks, &level.index);
	if (!class)
		return level;
	*minor = class->parent;
	rate = rate_of(class, entry, now_ns);
	/* rounded up: never faster than the rate */
	if (rate && rate != HEADWAY_BPF_UNLIMITED)
		level.cost_ticks = (bytes * TICKS(NSEC_PER_SEC) + rate - 1) / rate;
	return level;
}

/* The packet is sent: all classes on its way count it. */
static __always_inline void count(struct headway_bpf_clock *clock, __u64 bytes)
{
	__sync_fetch_and_add(&clock->wire_bytes, bytes);
	__sync_fetch_and_add(&clock->packets, 1);
}

/*
 * Takes the packet's time of the class: from when on it may leave, not before @start_ticks.
 * Two processors that come at once take one time after the other, for the sum is atomic;
 * where the comparison fails, the other one has put the clock forward.
 */
static __always_inline __u64 take(struct headway_bpf_clock *clock, __u64 start_ticks,
				  __u64 cost_ticks)
{
	__u64 next = clock->next_ticks;

	if (!is_ahead(next, start_ticks))
		__sync_val_compare_and_swap(&clock->next_ticks, next, start_ticks);
	next = __sync_fetch_and_add(&clock->next_ticks, cost_ticks);
	return is_ahead(next, start_ticks) ? next : start_ticks;
}

/* Does the packet only acknowledge?  It is charged then, but waits for no data. */
static __always_inline int is_pure_ack(const struct __sk_buff *skb)
{
	const void *data = (const void *)(long)skb->data;
	const void *end = (const void *)(long)skb->data_end;
	const struct tcphdr *tcp;
	__u32 left;

	if (skb->protocol == bpf_htons(ETH_P_IP)) {
		const struct iphdr *ip = data + ETH_HLEN;

		if ((const void *)(ip + 1) > end || ip->protocol != IPPROTO_TCP || ip->ihl != 5)
			return 0;
		tcp = (const void *)(ip + 1);
		left = bpf_ntohs(ip->tot_len) - sizeof(*ip);
	} else if (skb->protocol == bpf_htons(ETH_P_IPV6)) {
		const struct ipv6hdr *ip = data + ETH_HLEN;

		if ((const void *)(ip + 1) > end || ip->nexthdr != IPPROTO_TCP)
			return 0;
		tcp = (const void *)(ip + 1);
		left = bpf_ntohs(ip->payload_len);
	} else {
		return 0;
	}
	if ((const void *)(tcp + 1) > end)
		return 0;
	return left == tcp->doff * 4U && tcp->ack && !tcp->syn && !tcp->fin && !tcp->rst;
}

#endif /* PACING_CLASSES_BPF_H */
