// SPDX-License-Identifier: GPL-2.0
/*
 * Chooses a packet's class by where it goes and by the phases that the node's
 * processes are in: of those that limit the trunk, the strictest.
 *
 * If headwayd says so, packets of several jobs are told apart by the cgroup of
 * their socket: where a phase of the packet's own job limits the trunk, only
 * the job's own count.  All other packets take the strictest of all.
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

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, HEADWAY_PHASE_CGROUPS);
	__type(key, __u64);
	__type(value, __u32);
} cgroups SEC(".maps");

/*
 * As large as the topology needs.  A job that leaves its phase has packets in
 * that phase's class, and more in its sockets.  These must not overtake those
 * by way of another job's class, nor leave unpaced; the qdisc, which sees to
 * that among the classes of one job, does not know whose a packet of another
 * class is.  So for linger_ns after the last packet of a phase the job's
 * packets stay in its class.  Each element is the phase in the bits of
 * TAIL_PHASE, and in the others the time until when.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} tails SEC(".maps");

#define TAIL_PHASE	((__u64)HEADWAY_PHASES - 1)

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

#define NO_JOB	HEADWAY_PHASE_JOBS

/* What a phase of a job, which has it, means for the trunk. */
static __always_inline const struct headway_phase_rate *
rate_of(const struct headway_phase_config *c, __u32 job, __u32 phase, __u32 trunk)
{
	__u32 index = (job * HEADWAY_PHASES + phase) * c->trunk_count + trunk;

	return bpf_map_lookup_elem(&rates, &index);
}

/*
 * The phase that limits the trunk most: of the processes of job @only, or of
 * all with NO_JOB.  Its number in the upper half, the number of its class in the
 * lower one; 0 if there is none.
 *
 * The verifier follows the loop to its end only for who has CAP_PERFMON, for it
 * need not try what a processor might guess then.  bpf_loop() would do without,
 * but a packet would cost up to 1.9 times as much with 16 processes, 2.3 with 64
 * (make bench-phase).
 *
 * A function of its own is verified once, not for each of its callers.  And
 * because slots is never NULL within the loop, the verifier need not follow each
 * turn with it and without.  Together that is a sixth of the instructions to
 * verify, and headwayd waits for them whenever it starts.
 */
__noinline __u64 strictest(__u32 trunk, __u32 only)
{
	const struct headway_phase_slots *slots, *found;
	const struct headway_phase_config *c;
	const struct headway_phase_rate *rate;
	const __u32 first = 0;
	__u64 least = ~0ULL, chosen = 0;
	__u32 i, slots_job;

	trunk = INDEX(trunk, HEADWAY_PHASE_TRUNKS);
	c = bpf_map_lookup_elem(&config, &first);
	if (!c)
		return 0;
	/* a job with processes has slots; without processes the loop has no turn */
	slots_job = INDEX(c->process[0].job, HEADWAY_PHASE_JOBS);
	slots = slots_of(slots_job);
	if (!slots)
		return 0;
	for (i = 0; i < HEADWAY_PHASE_PROCESSES && i < c->process_count; i++) {
		__u32 job = INDEX(c->process[i].job, HEADWAY_PHASE_JOBS);
		__u32 slot = INDEX(c->process[i].slot, HEADWAY_PHASE_SLOTS);
		__u32 phase;

		if (only != NO_JOB && job != only)
			continue;
		/* processes of a job are mostly neighbours */
		if (job != slots_job) {
			found = slots_of(job);
			if (!found)
				continue;
			slots = found;
			slots_job = job;
		}
		phase = *(const volatile __u32 *)&slots->phase[slot];
		if (!phase || phase >= c->phase_count[job])
			continue;
		rate = rate_of(c, job, phase, trunk);
		if (rate && rate->bytes_per_s < least) {
			least = rate->bytes_per_s;
			chosen = (__u64)phase << 32 | rate->class_minor;
		}
	}
	return chosen;
}

/* Whose packet it is; NO_JOB: nobody's, or that is not known. */
static __always_inline __u32 job_of(struct __sk_buff *skb)
{
	__u64 cgroup = bpf_skb_cgroup_id(skb);
	const __u32 *job = bpf_map_lookup_elem(&cgroups, &cgroup);

	return job ? INDEX(*job, HEADWAY_PHASE_JOBS) : NO_JOB;
}

/* The class of the job that was in a phase a moment ago; 0: it was not. */
static __always_inline __u32 class_of_tail(const struct headway_phase_config *c,
					   __u32 trunk, __u32 job, __u64 tail)
{
	const struct headway_phase_rate *rate;
	__u32 phase = tail & TAIL_PHASE;

	if (bpf_ktime_get_ns() >= (tail & ~TAIL_PHASE) ||
	    phase >= c->phase_count[job])
		return 0;
	rate = rate_of(c, job, phase, trunk);
	return rate && ~rate->bytes_per_s ? rate->class_minor : 0;
}

/* The class that the packet has by its own job alone; 0: none. */
static __always_inline __u32 own_class(const struct headway_phase_config *c,
				       struct __sk_buff *skb, __u32 trunk)
{
	__u32 job = job_of(skb), index;
	__u64 *tail, found;

	if (job == NO_JOB)
		return 0;
	index = job * c->trunk_count + trunk;
	tail = bpf_map_lookup_elem(&tails, &index);
	if (!tail)
		return 0;
	found = strictest(trunk, job);
	if (!found)
		return class_of_tail(c, trunk, job, *(volatile __u64 *)tail);
	*(volatile __u64 *)tail =
		((bpf_ktime_get_ns() + c->linger_ns) & ~TAIL_PHASE) | found >> 32;
	return (__u32)found;
}

/* Minor number of the packet's class; 0: it goes nowhere that is known. */
static __always_inline __u32 class_of(struct __sk_buff *skb)
{
	const struct headway_phase_config *c;
	const __u32 first = 0, *found;
	__u32 trunk, minor;

	found = trunk_of(skb);
	if (!found)
		return 0;
	trunk = INDEX(*found, HEADWAY_PHASE_TRUNKS);
	c = bpf_map_lookup_elem(&config, &first);
	if (!c)
		return 0;
	if (c->is_apart) {
		minor = own_class(c, skb, trunk);
		if (minor)
			return minor;
	}
	minor = (__u32)strictest(trunk, NO_JOB);
	return minor ? minor : c->rest_minor[trunk];
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
