/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * The classifier (phase_classifier.bpf.c) and headwayd share the contents of
 * these maps.
 *
 * config	one element, headwayd's alone: which slots count, what phases
 *		there are, which classes all jobs share
 * jobs		for each job an array of one struct headway_phase_slots, which
 *		its processes map and write
 * rates	[job][phase][trunk], headwayd's alone
 * own_classes	[job][trunk], headwayd's alone: minor number of the job's own
 *		class, 0 if it has none
 * trunks_v4, trunks_v6
 *		longest prefix of the destination -> index of the trunk
 * cgroups	id of a cgroup (v2) -> the job that its packets are of, headwayd's
 *		alone
 * users	a user -> a job of his whose processes' cgroups do not tell whose
 *		their packets are, headwayd's alone
 * sent		of each socket a struct headway_phase_sent, the classifiers' own
 *		memory: the next run's classifier goes on with it
 *
 * and where packets are paced by a program instead of the qdisc gap:
 *
 * bpf_places	minor number of a class -> HEADWAY_BPF_PLACE(), 0: there is no such class;
 *		headwayd's alone
 * bpf_classes	what headwayd wants of each class, headwayd's alone; 0 is no class's
 * bpf_clocks	the classes' clocks, which the programs put forward: the next run's
 *		program goes on with these three; 0 is no class's
 * fq_departures
 *		of each socket when its last packet may leave, the classifier's own
 *
 * A trunk is where packets of one class of the node go: index 0 is the node's
 * own cluster.  Phase 0 is rest.
 */
#ifndef HEADWAY_PHASE_LAYOUT_H
#define HEADWAY_PHASE_LAYOUT_H

#include <linux/types.h>

#define HEADWAY_PHASE_PROCESSES	256	/* that count, all jobs together */
#define HEADWAY_PHASE_JOBS	64
#define HEADWAY_PHASE_SLOTS	256	/* of a job */
#define HEADWAY_PHASES		64	/* of a job, rest included */
#define HEADWAY_PHASE_TRUNKS	128
#define HEADWAY_PHASE_CGROUPS	256	/* one for each process is enough */

/* All that a client can write. */
struct headway_phase_slots {
	__u32	phase[HEADWAY_PHASE_SLOTS];
	__u32	generation;	/* changes when answers of headwayd are out of date */
};

struct headway_phase_process {
	__u32	job;
	__u32	slot;
} __attribute__((aligned(8)));	/* written in one piece */

struct headway_phase_config {
	struct headway_phase_process process[HEADWAY_PHASE_PROCESSES];
	__u32	process_count;
	__u32	trunk_count;
	__u32	phase_count[HEADWAY_PHASE_JOBS];	/* rest included; 0: no such job */
	__u32	shared_minor[HEADWAY_PHASE_TRUNKS];
	__u32	is_apart;	/* and only their own phases hold for their packets */
	__u32	leaves_rest;	/* packets of no phase are left to the next filter */
	__u32	is_off;		/* so are all packets: pacing is switched off */
	__u32	uid[HEADWAY_PHASE_JOBS];	/* whose the job is; root's binds all */
	__u32	has_users;	/* not all jobs are root's */
	__u32	unused;
};

/*
 * bytes_per_s is ~0 where the phase does not limit the trunk.  Otherwise entry
 * is the number of that rate in the tables of the trunk's classes.
 */
struct headway_phase_rate {
	__u64	bytes_per_s;
	__u32	entry;
	__u32	unused;
};

/*
 * The last that a socket sent in a phase.  A run goes on with the memory of a run of another
 * version: another meaning of this must have another size.
 */
struct headway_phase_sent {
	__u64	until_ns;
	__u32	end_seq;
	__u32	entry;	/* 0: none */
};

#define HEADWAY_BPF_MINORS	65536
/* Where class and clock are.  A class that changes has another place then, and keeps its clock. */
#define HEADWAY_BPF_PLACE(class_, clock) ((__u64)(clock) << 32 | (class_))
#define HEADWAY_BPF_CLASS_OF(place)	((__u32)(place))
#define HEADWAY_BPF_CLOCK_OF(place)	((__u32)((place) >> 32))
#define HEADWAY_BPF_SPARE	64	/* places of classes beyond those that there may be */

#define HEADWAY_BPF_ENTRIES	256	/* of a class's table of rates; 0 is its own rate */
#define HEADWAY_BPF_LEVELS	4	/* of classes below each other */

#define HEADWAY_BPF_UNLIMITED	(~0ULL)	/* so is 0, which nobody has set */

/*
 * A class as the qdisc gap would have it.  Rates are of the wire. Where expires_ns is not 0, and
 * renewed_ns (CLOCK_MONOTONIC) is longer ago, the class's own rate is the fallback.
 */
struct headway_bpf_class {
	__u32	parent;		/* minor number; 0: none */
	__u32	burst_bytes;	/* headwayd's alone: what may leave at once */
	__u64	expires_ns;
	__u64	renewed_ns;
	__u64	fallback_bytes_per_s;
	__u64	bytes_per_s[HEADWAY_BPF_ENTRIES];
};

/* A tick is 1/256 ns of CLOCK_MONOTONIC; ticks run over. */
#define HEADWAY_BPF_TICK_BITS	8

struct headway_bpf_clock {
	__u64	next_ticks;	/* the class's next packet leaves no earlier */
	__u64	wire_bytes;
	__u64	packets;
};

/*
 * An instance of the qdisc (pacing_qdisc.bpf.c).  headwayd fills the second part before its
 * first packet.
 */
struct headway_qdisc {
	__u32	is_used;
	__u32	free_slot;	/* the first of those that hold nothing; 0: none */
	__u32	used_slots;	/* of slot_count: those behind have never held anything */
	__u32	heap_count;
	__u32	longest;	/* the queue that has most packets */
	__u32	parent;		/* of serve(): the class whose child is served, and 1 */
	__u32	blocker;	/* of send(): the class that holds the packet up, and 1 */
	__u64	until_ticks;	/* and until when; of pick(): when the next packet is due, 0: none */

	__u32	first_slot;	/* its places in the arrays */
	__u32	slot_count;
	__u32	first_queue;
	__u32	queue_count;	/* one for each clock */
	__u32	turn_bits;	/* of each queue, a power of two */
};

#define HEADWAY_QDISC_CLASSES	4096	/* of an instance, that of no class included */

/* The device on which instances may be, in the name space of the network that headwayd is in. */
struct headway_qdisc_device {
	__u32	ifindex;
	__u32	netns;		/* inode number */
};

struct headway_phase_prefix_v4 {
	__u32	length_bits;
	__u8	address[4];
};

struct headway_phase_prefix_v6 {
	__u32	length_bits;
	__u8	address[16];
};

#endif /* HEADWAY_PHASE_LAYOUT_H */
