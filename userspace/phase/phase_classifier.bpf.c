// SPDX-License-Identifier: GPL-2.0
/*
 * Chooses a packet's class by where it goes and by the phases that the node's
 * processes are in: of those that limit the trunk, the strictest.
 *
 * Attached to the root qdisc in direct-action mode; the filter's own class id
 * has the major number.  Packets to nowhere that is known are left to the
 * qdisc's next filter and default class.
 *
 * What a client writes is a number below HEADWAY_PHASES, or it is ignored: it
 * can only choose among the rates that headwayd put into `rates` for its job.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in6.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "phase_layout.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct headway_phase_config);
} config SEC(".maps");

struct slots_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	/* by size: clang describes no structure this deep within a map */
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct headway_phase_slots));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, HEADWAY_PHASE_JOBS);
	__type(key, __u32);
	__array(values, struct slots_map);
} jobs SEC(".maps");

/* headwayd makes it as large as the topology needs. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct headway_phase_rate);
} rates SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, struct headway_phase_prefix_v4);
	__type(value, __u32);
} trunks_v4 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, struct headway_phase_prefix_v6);
	__type(value, __u32);
} trunks_v6 SEC(".maps");

static __always_inline const __u32 *trunk_v4(const void *data, const void *end)
{
	const struct iphdr *ip = data + ETH_HLEN;
	struct headway_phase_prefix_v4 key = { .length_bits = 32 };

	if ((const void *)(ip + 1) > end)
		return NULL;
	__builtin_memcpy(key.address, &ip->daddr, sizeof(key.address));
	return bpf_map_lookup_elem(&trunks_v4, &key);
}

static __always_inline const __u32 *trunk_v6(const void *data, const void *end)
{
	const struct ipv6hdr *ip = data + ETH_HLEN;
	struct headway_phase_prefix_v6 key = { .length_bits = 128 };

	if ((const void *)(ip + 1) > end)
		return NULL;
	__builtin_memcpy(key.address, &ip->daddr, sizeof(key.address));
	return bpf_map_lookup_elem(&trunks_v6, &key);
}

/* The trunk that the packet takes; NULL: none that is known. */
static __always_inline const __u32 *trunk_of(const struct __sk_buff *skb)
{
	const void *data = (const void *)(long)skb->data;
	const void *end = (const void *)(long)skb->data_end;

	if (skb->protocol == bpf_htons(ETH_P_IP))
		return trunk_v4(data, end);
	if (skb->protocol == bpf_htons(ETH_P_IPV6))
		return trunk_v6(data, end);
	return NULL;
}

/*
 * An index into an array of so many, a power of two.  headwayd's numbers fit
 * anyway, but the verifier does not know that; nor does it follow a comparison
 * that the compiler has made with a copy of the number.
 */
#define INDEX(number, count) ({						\
	__u64 index_ = (number);					\
	_Static_assert(!((count) & ((count) - 1)), "power of two");	\
	asm volatile("%0 &= %1" : "+r" (index_) : "i" ((count) - 1));	\
	(__u32)index_;							\
})

/* What the processes of a job write; NULL if there is no such job. */
static __always_inline const struct headway_phase_slots *slots_of(__u32 job)
{
	const __u32 first = 0;
	void *array = bpf_map_lookup_elem(&jobs, &job);

	return array ? bpf_map_lookup_elem(array, &first) : NULL;
}

/*
 * Minor number of the packet's class; 0: it goes nowhere that is known.
 *
 * The verifier follows the loop to its end only for who has CAP_PERFMON, for it
 * need not try what a processor might guess then.  bpf_loop() would do without,
 * but a packet would cost up to 1.9 times as much with 16 processes, 2.3 with 64
 * (make bench-phase).
 */
static __always_inline __u32 class_of(const struct __sk_buff *skb)
{
	const struct headway_phase_slots *slots = NULL;
	const struct headway_phase_config *c;
	const struct headway_phase_rate *rate;
	const __u32 first = 0, *found;
	__u32 trunk, minor, i, slots_job = HEADWAY_PHASE_JOBS;
	__u64 strictest = ~0ULL;

	found = trunk_of(skb);
	if (!found)
		return 0;
	trunk = INDEX(*found, HEADWAY_PHASE_TRUNKS);
	c = bpf_map_lookup_elem(&config, &first);
	if (!c)
		return 0;

	minor = c->rest_minor[trunk];
	for (i = 0; i < HEADWAY_PHASE_PROCESSES && i < c->process_count; i++) {
		__u32 job = INDEX(c->process[i].job, HEADWAY_PHASE_JOBS);
		__u32 slot = INDEX(c->process[i].slot, HEADWAY_PHASE_SLOTS);
		__u32 phase, index;

		/* processes of a job are mostly neighbours */
		if (job != slots_job) {
			slots = slots_of(job);
			slots_job = job;
		}
		if (!slots)
			continue;
		phase = *(const volatile __u32 *)&slots->phase[slot];
		if (!phase || phase >= c->phase_count[job])
			continue;
		index = (job * HEADWAY_PHASES + phase) * c->trunk_count + trunk;
		rate = bpf_map_lookup_elem(&rates, &index);
		if (rate && rate->bytes_per_s < strictest) {
			strictest = rate->bytes_per_s;
			minor = rate->class_minor;
		}
	}
	return minor;
}

SEC("tc")
int headway_phase(struct __sk_buff *skb)
{
	__u32 minor = class_of(skb);

	if (!minor)
		return TC_ACT_UNSPEC;
	skb->tc_classid = minor;
	return TC_ACT_OK;
}

char phase_license[] SEC("license") = "GPL";
