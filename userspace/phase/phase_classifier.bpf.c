// SPDX-License-Identifier: GPL-2.0
/*
 * Chooses a packet's class by where it goes and whose it is, and the entry of
 * that class's table of rates by the phases that the node's processes are in: of
 * those that limit the trunk, the strictest.
 *
 * If headwayd tells jobs apart, the cgroup of the packet's socket tells whose it
 * is, if the socket is the job's user's as well; or else the socket's user does, and
 * all jobs of that user count.  Where a phase of these limits the trunk, only they
 * count, and the packet takes the class that headwayd has given the job.  All others
 * take the class that all jobs share, and only phases of root's jobs count for them:
 * nobody else limits another's packets, nor those of nobody.
 *
 * Attached to the root qdisc in direct-action mode; the filter's own class id
 * has the major number.  The entry is told to the qdisc in skb->tc_index.
 * Packets to nowhere that is known are left to the qdisc's next filter and
 * default class.
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

/*
 * The trunks of addresses that packets went to lately, by a hash of the address, because
 * a look into the table of prefixes takes as long as all else together.  headwayd fills that
 * table before the first packet, and it stays as it is.
 */
#define RECENT_BITS	8
#define RECENT(address, trunk)	((__u64)(address) << 32 | ((trunk) + 1))

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << RECENT_BITS);
	__type(key, __u32);
	__type(value, __u64);	/* RECENT(), in one piece; 0: none */
} recent_v4 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, HEADWAY_PHASE_CGROUPS);
	__type(key, __u64);
	__type(value, __u32);
} cgroups SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, HEADWAY_PHASE_JOBS);
	__type(key, __u32);
	__type(value, __u32);
} users SEC(".maps");

/* headwayd makes it as large as the topology needs. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} own_classes SEC(".maps");

/*
 * When a job leaves its phase, some of the phase's data may still be in its
 * sockets, because TCP's window did not let it go.  It must not leave unpaced
 * later.  So of each socket it is remembered how much had been written to it when
 * it last sent in a phase: until that has been acknowledged, packets of the socket
 * take the phase's entry, those that TCP sends once more too.
 *
 * What was written after that packet, but before the job left, is not known.  A
 * socket that has such data sends again when an acknowledgement comes, so for
 * two round trips its packets keep the entry as well, and what has been written
 * until then.
 */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct headway_phase_sent);
} sent SEC(".maps");

#define ROUND_TRIPS_MIN_NS	1000000ULL	/* before the first one is measured */
#define ROUND_TRIPS_MAX_NS	1000000000ULL

/* The program reads these members of the kernel's structure, wherever they are there. */
struct tcp_sock {
	__u32	snd_una;
	__u32	write_seq;
	__u32	srtt_us;	/* times eight */
} __attribute__((preserve_access_index));

#define NO_TRUNK	HEADWAY_PHASE_TRUNKS

static __always_inline __u32 trunk_v4(const void *data, const void *end)
{
	const struct iphdr *ip = data + ETH_HLEN;
	struct headway_phase_prefix_v4 key = { .length_bits = 32 };
	volatile __u64 *recent;
	const __u32 *trunk;
	__u32 address, place;
	__u64 known;

	if ((const void *)(ip + 1) > end)
		return NO_TRUNK;
	address = ip->daddr;
	place = address * 0x9e3779b1u >> (32 - RECENT_BITS);
	recent = bpf_map_lookup_elem(&recent_v4, &place);
	if (!recent)
		return NO_TRUNK;
	known = *recent;
	if (known >> 32 == address && (__u32)known)
		return (__u32)known - 1;
	__builtin_memcpy(key.address, &address, sizeof(key.address));
	trunk = bpf_map_lookup_elem(&trunks_v4, &key);
	if (!trunk)
		return NO_TRUNK;
	*recent = RECENT(address, *trunk);
	return *trunk;
}

static __always_inline __u32 trunk_v6(const void *data, const void *end)
{
	const struct ipv6hdr *ip = data + ETH_HLEN;
	struct headway_phase_prefix_v6 key = { .length_bits = 128 };
	const __u32 *trunk;

	if ((const void *)(ip + 1) > end)
		return NO_TRUNK;
	__builtin_memcpy(key.address, &ip->daddr, sizeof(key.address));
	trunk = bpf_map_lookup_elem(&trunks_v6, &key);
	return trunk ? *trunk : NO_TRUNK;
}

/* The trunk that the packet takes; NO_TRUNK: none that is known. */
static __always_inline __u32 trunk_of(const struct __sk_buff *skb)
{
	const void *data = (const void *)(long)skb->data;
	const void *end = (const void *)(long)skb->data_end;

	if (skb->protocol == bpf_htons(ETH_P_IP))
		return trunk_v4(data, end);
	if (skb->protocol == bpf_htons(ETH_P_IPV6))
		return trunk_v6(data, end);
	return NO_TRUNK;
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

/* Returns the slots that the processes of a job write; NULL if there is no such job. */
static __always_inline const struct headway_phase_slots *slots_of(__u32 job)
{
	const __u32 first = 0;
	void *array = bpf_map_lookup_elem(&jobs, &job);

	return array ? bpf_map_lookup_elem(array, &first) : NULL;
}

/*
 * Whose phases count for a packet: those of one job, or of root's jobs, or of all jobs
 * of a user, of whom one job is named.
 */
#define NO_JOB		HEADWAY_PHASE_JOBS
#define USER_OF(job)	(NO_JOB + 1 + (job))

/* The user whose jobs count, where it is not one job. */
static __always_inline __u32 user_of(const struct headway_phase_config *c,
				     __u32 whose)
{
	if (whose == NO_JOB)
		return 0;
	return c->uid[INDEX(whose - USER_OF(0), HEADWAY_PHASE_JOBS)];
}

/* Returns the index in `rates` of what a phase of a job means for the trunk; never 0, for no phase
 * is.
 */
static __always_inline __u32 rate_index(const struct headway_phase_config *c, __u32 job,
					__u32 phase, __u32 trunk)
{
	return (job * HEADWAY_PHASES + phase) * c->trunk_count + trunk;
}

/*
 * Index in `rates` of the phase that limits the trunk most, of those that count for
 * @whose packets and that the processes from @first on are in; 0 if there is none.
 *
 * The verifier follows the loop to its end only for who has CAP_PERFMON, for it
 * need not try what a processor might guess then.  bpf_loop() would do without,
 * but a packet would cost about twice as much with 16 or 64 processes.
 *
 * headwayd waits for the verifier whenever it starts.  A function of its own is
 * verified once, not for each of its calls: so the verifier follows TURNS turns
 * instead of those of all processes, a fifth of the instructions, while a packet
 * costs 6 to 15 % more (make bench-phase).  And because slots is never NULL within
 * the loop, it need not follow each turn with it and without.
 */
#define TURNS	32

__noinline __u32 strictest_of_some(__u32 first, __u32 trunk, __u32 whose)
{
	const struct headway_phase_slots *slots, *found;
	const struct headway_phase_config *c;
	const struct headway_phase_rate *rate;
	const struct headway_phase_process *process;
	__u32 turn, left, slots_job, uid = 0, chosen = 0;
	const __u32 only = 0;
	__u64 least = ~0ULL;
	int by_user;

	trunk = INDEX(trunk, HEADWAY_PHASE_TRUNKS);
	/* TURNS processes from there on are always within the array */
	first = INDEX(first / TURNS, HEADWAY_PHASE_PROCESSES / TURNS) * TURNS;
	c = bpf_map_lookup_elem(&config, &only);
	if (!c)
		return 0;
	/* mostly there is nothing to tell apart by the user */
	by_user = whose >= NO_JOB && c->has_users;
	if (by_user)
		uid = user_of(c, whose);
	process = &c->process[first];
	left = c->process_count;
	left = left > first ? left - first : 0;
	/* a job with processes has slots */
	slots_job = INDEX(process->job, HEADWAY_PHASE_JOBS);
	slots = slots_of(slots_job);
	if (!slots)
		return 0;
	for (turn = 0; turn < TURNS && turn < left; turn++) {
		__u32 job = INDEX(process[turn].job, HEADWAY_PHASE_JOBS);
		__u32 slot = INDEX(process[turn].slot, HEADWAY_PHASE_SLOTS);
		__u32 phase, index;

		if (whose < NO_JOB && job != whose)
			continue;
		if (by_user && c->uid[job] != uid)
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
		index = rate_index(c, job, phase, trunk);
		rate = bpf_map_lookup_elem(&rates, &index);
		if (rate && rate->bytes_per_s < least) {
			least = rate->bytes_per_s;
			chosen = index;
		}
	}
	return chosen;
}

/* The entry of the strictest phase of all processes that count for @whose packets; or 0. */
static __always_inline __u32 strictest(const struct headway_phase_config *c, __u32 trunk,
				       __u32 whose)
{
	__u64 least = ~0ULL;
	__u32 first, entry = 0;

	for (first = 0; first < HEADWAY_PHASE_PROCESSES && first < c->process_count; first += TURNS) {
		__u32 index = strictest_of_some(first, trunk, whose);
		const struct headway_phase_rate *rate;

		rate = index ? bpf_map_lookup_elem(&rates, &index) : NULL;
		if (rate && rate->bytes_per_s < least) {
			least = rate->bytes_per_s;
			entry = rate->entry;
		}
	}
	return entry;
}

/* Returns the job whose packet it is; NO_JOB: it is nobody's, or that is not known. */
static __always_inline __u32 owner_of(struct __sk_buff *skb,
				      const struct headway_phase_config *c)
{
	struct bpf_sock *sk = skb->sk;
	const __u32 *job;
	__u64 cgroup;
	__u32 uid;

	if (!sk || !bpf_sk_fullsock(sk))
		return NO_JOB;
	cgroup = bpf_skb_cgroup_id(skb);
	uid = bpf_get_socket_uid(skb);
	job = bpf_map_lookup_elem(&cgroups, &cgroup);
	if (job) {
		__u32 number = INDEX(*job, HEADWAY_PHASE_JOBS);

		if (!c->uid[number] || c->uid[number] == uid)
			return number;
	}
	job = bpf_map_lookup_elem(&users, &uid);
	return job ? USER_OF(INDEX(*job, HEADWAY_PHASE_JOBS)) : NO_JOB;
}

/* Minor number of the class that the job has of its own; 0: none. */
static __always_inline __u32 own_class(const struct headway_phase_config *c,
				       __u32 job, __u32 trunk)
{
	__u32 index = job * c->trunk_count + trunk;
	const __u64 *minor;

	if (job == NO_JOB)
		return 0;
	minor = bpf_map_lookup_elem(&own_classes, &index);
	return minor ? *minor : 0;
}

/* Returns for how long a socket that sends now may have data of the phase unseen. */
static __always_inline __u64 round_trips_ns(const struct tcp_sock *tcp)
{
	__u64 ns = (__u64)tcp->srtt_us * (2 * 1000 / 8) + ROUND_TRIPS_MIN_NS;

	return ns < ROUND_TRIPS_MAX_NS ? ns : ROUND_TRIPS_MAX_NS;
}

/* The socket sends in a phase. */
static __always_inline void remember(struct bpf_sock *sk, __u32 entry)
{
	const struct tcp_sock *tcp = bpf_skc_to_tcp_sock(sk);
	struct headway_phase_sent *s;

	if (!tcp)
		return;
	s = bpf_sk_storage_get(&sent, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	if (!s)
		return;
	s->entry = entry;
	s->end_seq = tcp->write_seq;
	s->until_ns = bpf_ktime_get_ns() + round_trips_ns(tcp);
}

/*
 * Has data up to @end_seq, of the phase, not been acknowledged yet?  Not unless that
 * lies between what has been and what has been written: numbers wrap around, and
 * the socket may have sent gigabytes since.
 */
static __always_inline int is_outstanding(const struct tcp_sock *tcp,
					   __u32 end_seq)
{
	__u32 left = end_seq - tcp->snd_una;

	return left && left <= tcp->write_seq - tcp->snd_una;
}

/*
 * The entry of a packet that is sent in no phase: that of an earlier phase, as long
 * as data of it may be sent, for the first time or once more.
 */
static __always_inline __u32 entry_of_rest(struct bpf_sock *sk)
{
	struct headway_phase_sent *s = bpf_sk_storage_get(&sent, sk, NULL, 0);
	const struct tcp_sock *tcp;

	if (!s || !s->entry)
		return 0;
	tcp = bpf_skc_to_tcp_sock(sk);
	if (!tcp)
		return 0;
	if (bpf_ktime_get_ns() < s->until_ns)
		s->end_seq = tcp->write_seq;
	else if (!is_outstanding(tcp, s->end_seq))
		s->entry = 0;
	return s->entry;
}

/* Returns the entry of a packet by its socket, when the phases of now give it @entry. */
static __always_inline __u32 entry_of_socket(struct __sk_buff *skb, __u32 entry)
{
	struct bpf_sock *sk = skb->sk;

	if (!sk)
		return entry;
	sk = bpf_sk_fullsock(sk);
	if (!sk)
		return entry;
	if (!entry)
		return entry_of_rest(sk);
	remember(sk, entry);
	return entry;
}

/*
 * Minor number of the packet's class; 0: it is left to the next filter.  Tells
 * the qdisc the entry of the class's table.
 */
static __always_inline __u32 class_of(struct __sk_buff *skb)
{
	__u32 trunk, whose = NO_JOB, job, own, minor, entry;
	const struct headway_phase_config *c;
	const __u32 first = 0;

	trunk = trunk_of(skb);
	if (trunk == NO_TRUNK)
		return 0;
	trunk = INDEX(trunk, HEADWAY_PHASE_TRUNKS);
	c = bpf_map_lookup_elem(&config, &first);
	if (!c || c->is_off)
		return 0;
	if (c->is_apart)
		whose = owner_of(skb, c);
	job = whose > NO_JOB ? whose - USER_OF(0) : whose;
	own = own_class(c, job, trunk);
	entry = strictest(c, trunk, own ? whose : NO_JOB);
	if (c->process_count)
		entry = entry_of_socket(skb, entry);
	/* the strictest of root's is one rate for all: it holds in one class only */
	minor = own && entry ? own : c->shared_minor[trunk];
	if (!entry && own)
		entry = strictest(c, trunk, NO_JOB);
	if (!entry && c->leaves_rest)
		return 0;
	skb->tc_index = entry;
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
