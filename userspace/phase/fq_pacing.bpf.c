// SPDX-License-Identifier: GPL-2.0
/*
 * Paces with the kernel's own qdisc fq, where the module of the qdisc gap is not there.
 *
 * A packet's class and entry are chosen as for gap.  The classes themselves are two maps
 * here: what headwayd wants of each, and a clock that says when its next packet may
 * leave.  fq holds a packet until the time that this program gives it (its earliest
 * departure time).  A processor that is late then sends what is due in one burst: gaps
 * between frames are exact with gap only.
 */
#include <linux/in.h>
#include <linux/pkt_sched_gap.h>
#include <linux/tcp.h>

#include "phase_classifier.bpf.c"

/* headwayd makes both as large as the topology needs. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct headway_fq_class);
} fq_classes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct headway_fq_clock);
} fq_clocks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, __u64);
} fq_departures SEC(".maps");

#define NSEC_PER_SEC		1000000000ULL
/* A packet without a socket here that would hold its sender back is dropped, not queued for longer.
 */
#define FORWARDED_MAX_NS	(2 * NSEC_PER_SEC)
/* This departure time means that the packet is dropped, and costs no class anything. */
#define NEVER			(~0ULL)

/* A class on the way from the packet's to the root, and what the packet costs it. */
struct level {
	struct headway_fq_clock	*clock;	/* NULL: there is no such level */
	__u64			cost_ns;	/* 0: it limits nothing */
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

/* 0 and HEADWAY_FQ_UNLIMITED: it limits nothing. */
static __always_inline __u64 rate_of(const struct headway_fq_class *class, __u32 entry,
				     __u64 now_ns)
{
	if (entry)
		return class->bytes_per_s[INDEX(entry, HEADWAY_FQ_ENTRIES)];
	if (class->expires_ns &&
	    (__s64)(now_ns - class->renewed_ns) > (__s64)class->expires_ns)
		return class->fallback_bytes_per_s;
	return class->bytes_per_s[0];
}

/* The level of that class, whose parent *@minor is then. */
static __always_inline struct level level_of(__u32 *minor, __u32 entry, __u64 bytes,
					     __u64 now_ns)
{
	const struct headway_fq_class *class;
	struct level level = { NULL, 0 };
	__u64 rate;

	if (!*minor)
		return level;
	class = bpf_map_lookup_elem(&fq_classes, minor);
	level.clock = bpf_map_lookup_elem(&fq_clocks, minor);
	*minor = class ? class->parent : 0;
	rate = class ? rate_of(class, entry, now_ns) : 0;
	/* rounded up: never faster than the rate */
	if (rate && rate != HEADWAY_FQ_UNLIMITED)
		level.cost_ns = (bytes * NSEC_PER_SEC + rate - 1) / rate;
	return level;
}

/*
 * Takes the packet's time of the class: from when on it may leave, not before @start_ns.
 * Two processors that come at once take one time after the other, for the sum is atomic;
 * where the comparison fails, the other one has put the clock forward.
 */
static __always_inline __u64 take(struct headway_fq_clock *clock, __u64 start_ns, __u64 cost_ns)
{
	__u64 next = clock->next_ns;

	if ((__s64)(start_ns - next) > 0)
		__sync_val_compare_and_swap(&clock->next_ns, next, start_ns);
	next = __sync_fetch_and_add(&clock->next_ns, cost_ns);
	return (__s64)(next - start_ns) > 0 ? next : start_ns;
}

/*
 * When the packet may leave.  No class's clock starts before all of them let the packet
 * go, or a class would send in a burst what its parent had held up.
 */
static __always_inline __u64 departure(const struct __sk_buff *skb, __u32 minor, __u32 entry,
				       __u64 now_ns, int has_socket)
{
	struct level levels[HEADWAY_FQ_LEVELS];
	__u64 bytes = wire_bytes(skb), start_ns = now_ns;
	__u32 i;

#pragma unroll
	for (i = 0; i < HEADWAY_FQ_LEVELS; i++) {
		levels[i] = level_of(&minor, i ? 0 : entry, bytes, now_ns);
		if (levels[i].clock && levels[i].cost_ns &&
		    (__s64)(levels[i].clock->next_ns - start_ns) > 0)
			start_ns = levels[i].clock->next_ns;
	}
	if (!has_socket && start_ns - now_ns > FORWARDED_MAX_NS)
		return NEVER;
#pragma unroll
	for (i = 0; i < HEADWAY_FQ_LEVELS; i++) {
		struct headway_fq_clock *clock = levels[i].clock;

		if (!clock)
			continue;
		__sync_fetch_and_add(&clock->wire_bytes, bytes);
		__sync_fetch_and_add(&clock->packets, 1);
		if (levels[i].cost_ns)
			start_ns = take(clock, start_ns, levels[i].cost_ns);
	}
	return start_ns;
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
