// SPDX-License-Identifier: GPL-2.0
/*
 * Paces with the kernel's own qdisc fq, where the module of the qdisc gap is not there.
 *
 * fq holds a packet until the time that this program gives it (its earliest departure
 * time).  A processor that is late then sends what is due in one burst: gaps between
 * frames are exact with gap only.
 */
#include "pacing_classes.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, __u64);
} fq_departures SEC(".maps");

/* A packet without a socket here that would hold its sender back is dropped, not queued for longer.
 */
#define FORWARDED_MAX_NS	(2 * NSEC_PER_SEC)
/* This departure time means that the packet is dropped, and costs no class anything. */
#define NEVER			(~0ULL)

/*
 * When the packet may leave.  No class's clock starts before all of them let the packet
 * go, or a class would send in a burst what its parent had held up.
 */
static __always_inline __u64 departure(const struct __sk_buff *skb, __u32 minor, __u32 entry,
				       __u64 now_ns, int has_socket)
{
	struct level levels[HEADWAY_BPF_LEVELS];
	__u64 bytes = wire_bytes(skb), now = TICKS(now_ns), start = now;
	__u32 i;

#pragma unroll
	for (i = 0; i < HEADWAY_BPF_LEVELS; i++) {
		levels[i] = level_of(&minor, i ? 0 : entry, bytes, now_ns);
		if (levels[i].clock && levels[i].cost_ticks &&
		    is_ahead(levels[i].clock->next_ticks, start))
			start = levels[i].clock->next_ticks;
	}
	if (!has_socket && start - now > TICKS(FORWARDED_MAX_NS))
		return NEVER;
#pragma unroll
	for (i = 0; i < HEADWAY_BPF_LEVELS; i++) {
		struct headway_bpf_clock *clock = levels[i].clock;

		if (!clock)
			continue;
		count(clock, bytes);
		if (levels[i].cost_ticks)
			start = take(clock, start, levels[i].cost_ticks);
	}
	return now_ns + TICKS_TO_NS(start - now);
}

/*
 * Rates change between two packets of a socket, and fq sorts a flow's packets by their
 * times: none may leave before the one that was sent before it.
 */
static __always_inline __u64 after_earlier(struct __sk_buff *skb, __u64 start_ns, int is_paced)
{
	struct bpf_sock *sk = skb->sk;
	__u64 *last_ns;

	sk = sk ? bpf_sk_fullsock(sk) : NULL;
	if (!sk)
		return start_ns;
	last_ns = bpf_sk_storage_get(&fq_departures, sk, NULL,
				     is_paced ? BPF_SK_STORAGE_GET_F_CREATE : 0);
	if (!last_ns)
		return start_ns;
	if ((__s64)(*last_ns - start_ns) > 0)
		start_ns = *last_ns;
	*last_ns = start_ns;
	return start_ns;
}

/*
 * The time is the later of ours and the socket's own, for which the class's clock does
 * not wait: packets of other sockets have that time.
 */
static __always_inline int pace(struct __sk_buff *skb, int has_socket)
{
	__u64 now_ns = bpf_ktime_get_ns(), start_ns = now_ns;
	__u32 minor = class_of(skb);

	if (minor)
		start_ns = departure(skb, minor, skb->tc_index, now_ns, has_socket);
	if (start_ns == NEVER)
		return TC_ACT_SHOT;
	if (minor && is_pure_ack(skb))
		return TC_ACT_OK;
	if (skb->tstamp > start_ns)
		start_ns = skb->tstamp;
	start_ns = after_earlier(skb, start_ns, minor != 0);
	if (start_ns > now_ns)
		skb->tstamp = start_ns;
	return minor ? TC_ACT_OK : TC_ACT_UNSPEC;
}

/* Attached to the device's egress. */
SEC("tc")
int headway_fq(struct __sk_buff *skb)
{
	return pace(skb, skb->sk != NULL);
}
