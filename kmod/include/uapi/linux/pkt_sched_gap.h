/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The contract between the `gap` qdisc, tc and headwayd.
 *
 * Messages
 * --------
 * Everything travels in the ordinary rtnetlink messages of traffic control
 * (RTM_{NEW,DEL,GET}QDISC and RTM_{NEW,DEL,GET}TCLASS) with TCA_KIND "gap".
 * TCA_OPTIONS is a nest of TCA_GAP_* for the qdisc and of TCA_GAP_CLASS_* for
 * a class.  TCA_STATS2/TCA_STATS_APP (and the older TCA_XSTATS) carries one
 * struct tc_gap_xstats.  A reader must accept a longer structure than it
 * knows, and a shorter one, reading the missing tail as zero.
 *
 * Units
 * -----
 * All rates are bytes per second *of wire time*: a frame of skb length `len`
 * (Ethernet header and VLAN tags included, FCS not) takes
 * max(len, GAP_FRAME_MIN_BYTES) + GAP_FRAME_OVERHEAD_BYTES byte-times.
 * GAP_RATE_UNLIMITED stands for "no limit of its own".
 *
 * Back ends
 * ---------
 * GAP_BACKEND_TIMER	waits for a timer.  Works everywhere.
 * GAP_BACKEND_GAP	keeps the wire busy: gap frames of exactly the missing
 *			length stand between data frames.  Needs a device that
 *			serialises frames at a known rate and lets gap frames
 *			through, and works as the root qdisc only.  The qdisc
 *			does not test the device before (headway-selftest(8)
 *			does), but it watches it: see GAP_REASON_*.
 *
 * Qdisc options
 * -------------
 * An option that is absent on change keeps its value.
 * TCA_GAP_RATE64	u64, 1 .. GAP_RATE_MAX.  Rate of the link the device
 *			drives.  Absent on creation: the device's own speed is
 *			used and followed.  Dumped only if it was given.
 * TCA_GAP_DEFAULT	u32 class id (major 0 or the qdisc's) of the class for
 *			packets that no filter and no skb->priority names.
 *			0: none; such packets leave unpaced but are accounted
 *			in the byte clock ("direct" in the statistics).  The
 *			class need not exist yet; until it does, packets are
 *			direct.
 * TCA_GAP_LINK_RATE64	u64, dump only: the link rate in use.  Absent while it
 *			is unknown.
 * TCA_GAP_BACKEND	u32, GAP_BACKEND_*.  Absent on creation: timer.
 *			A request that names GAP_BACKEND_GAP ends a fallback to
 *			the timer.
 * TCA_GAP_BYPASS	u32, 0 or 1.  1: packets bypass the empty qdisc as long as
 *			no class could hold them back or has a filter that leads
 *			to it.  Filters do not see them then, and no class counts
 *			them.  Those that find packets in the qdisc are direct.
 *			Absent on creation: 0.
 * TCA_GAP_LIMIT	u32, GAP_LIMIT_MIN_PACKETS and more: packets that the
 *			queue of a class without a qdisc of its own holds, and
 *			that of direct packets.  A full queue drops from the
 *			destination that has most of them.
 *			One that is above a new limit keeps what it has.
 *			Absent on creation: 10000.
 * TCA_GAP_BACKEND_USED	u32, dump only: GAP_BACKEND_GAP or GAP_BACKEND_TIMER.
 * TCA_GAP_REASON	u32, dump only: GAP_REASON_*, why that one.
 *			RTM_NEWQDISC tells RTNLGRP_TC when it changes by itself.
 *
 * Class options
 * -------------
 * A class has a table of rates, and every packet is charged at one of them:
 * entry 0, the class's rate, unless a BPF filter wrote the number of another
 * entry to skb->tc_index.  The packet keeps that number while it is queued, in
 * any child qdisc, and takes the rate that the entry has when it leaves.  A
 * number whose entry is not set means entry 0.
 *
 * TCA_GAP_CLASS_RATE64	u64, 1 .. the link rate, or GAP_RATE_UNLIMITED: entry
 *			0.  Absent on creation: GAP_RATE_UNLIMITED.  Absent on
 *			change: unchanged.  In a dump: the rate in force.
 * TCA_GAP_CLASS_PHASES	array of struct tc_gap_phase_rate, leaf classes only:
 *			entries 1 .. GAP_PHASE_MAX to set; a rate of 0 unsets
 *			one.  Others are unchanged.  In a dump: those set.
 * TCA_GAP_CLASS_FALLBACK64 u64, 1 .. the link rate, or GAP_RATE_UNLIMITED;
 * TCA_GAP_CLASS_EXPIRES_NS u64, 0 or GAP_EXPIRES_MIN_NS .. GAP_EXPIRES_MAX_NS:
 *			when no change request (an empty one will do) reaches
 *			the class for that long, no entry of its table is worth
 *			more than the fallback, entry 0 becomes the fallback,
 *			and RTM_NEWTCLASS tells RTNLGRP_TC.  The class stays
 *			there until a change gives a rate.  Both together the
 *			first time; EXPIRES 0 ends it.  Time includes suspend
 *			(CLOCK_BOOTTIME).
 * TCA_GAP_CLASS_BURST	u32, 0 .. GAP_BURST_MAX_BYTES, leaf classes only: GSO
 *			packets that take so many byte-times at most leave whole
 *			and are charged for all their frames at once; longer ones
 *			of TCP are cut to parts of that size.  0, as absent on
 *			creation: each is cut to frames.  In a dump absent if 0.
 * TCA_GAP_CLASS_LEFT_NS u64, dump only, while EXPIRES is set and the class has
 *			not expired: time left.
 * TCA_GAP_CLASS_EXPIRED flag, dump only: the class is at its fallback.
 *
 * Errors
 * ------
 * A refused request changes nothing and carries an extended-ack sentence.
 * EOPNOTSUPP	the device cannot be paced in this way
 * EINVAL	an argument or a combination of arguments is wrong
 * ERANGE	a number is outside its range (policy)
 * ENOENT	a class or parent that does not exist
 * EBUSY	the class has children or filters
 */
#ifndef _UAPI_LINUX_PKT_SCHED_GAP_H
#define _UAPI_LINUX_PKT_SCHED_GAP_H

#include <linux/types.h>

#define GAP_FRAME_MIN_BYTES		60
#define GAP_FRAME_OVERHEAD_BYTES	24	/* FCS 4, preamble 8, inter-frame gap 12 */
#define GAP_SLOT_MIN_BYTES		(GAP_FRAME_MIN_BYTES + GAP_FRAME_OVERHEAD_BYTES)

#define GAP_RATE_UNLIMITED		0xffffffffffffffffULL
#define GAP_RATE_MAX			200000000000ULL		/* 1.6 Tbit/s */
#define GAP_CLASS_DEPTH_MAX		8
#define GAP_LIMIT_MIN_PACKETS		2
#define GAP_BURST_MAX_BYTES		1048576
/* A message about a class with so many entries fits into a page. */
#define GAP_PHASE_MAX			160
#define GAP_EXPIRES_MIN_NS		1000000ULL		/* 1 ms */
#define GAP_EXPIRES_MAX_NS		86400000000000ULL	/* 1 day */

enum gap_backend {
	GAP_BACKEND_TIMER,
	GAP_BACKEND_GAP,
	__GAP_BACKEND_MAX,
};

#define GAP_BACKEND_MAX (__GAP_BACKEND_MAX - 1)

/* Why the back end in use is used. */
enum gap_reason {
	GAP_REASON_ASKED,	/* `backend` names it */
	GAP_REASON_NO_SPEED,	/* timer: the link rate is unknown */
	GAP_REASON_TX_PAUSE,	/* timer: the device sends PAUSE frames of its own */
	GAP_REASON_LOST,	/* timer: frames left faster than the link can carry them */
	GAP_REASON_NO_MEMORY,	/* timer: no memory for gap frames of the new MTU or address */
	__GAP_REASON_MAX,
};

enum {
	TCA_GAP_UNSPEC,
	TCA_GAP_PAD,
	TCA_GAP_RATE64,
	TCA_GAP_DEFAULT,
	TCA_GAP_LINK_RATE64,
	TCA_GAP_BACKEND,
	TCA_GAP_UNUSED,		/* was the kind of gap frames */
	TCA_GAP_BACKEND_USED,
	TCA_GAP_REASON,
	TCA_GAP_BYPASS,
	TCA_GAP_LIMIT,
	__TCA_GAP_MAX,
};

#define TCA_GAP_MAX (__TCA_GAP_MAX - 1)

enum {
	TCA_GAP_CLASS_UNSPEC,
	TCA_GAP_CLASS_PAD,
	TCA_GAP_CLASS_RATE64,
	TCA_GAP_CLASS_PHASES,
	TCA_GAP_CLASS_FALLBACK64,
	TCA_GAP_CLASS_EXPIRES_NS,
	TCA_GAP_CLASS_LEFT_NS,
	TCA_GAP_CLASS_EXPIRED,
	TCA_GAP_CLASS_BURST,
	__TCA_GAP_CLASS_MAX,
};

#define TCA_GAP_CLASS_MAX (__TCA_GAP_CLASS_MAX - 1)

/* One entry of TCA_GAP_CLASS_PHASES. */
struct tc_gap_phase_rate {
	__u64	rate;			/* bytes per second, GAP_RATE_UNLIMITED, or 0: not set */
	__u32	phase;			/* 1 .. GAP_PHASE_MAX */
	__u32	reserved;		/* 0 */
};

enum {
	TC_GAP_XSTATS_QDISC,
	TC_GAP_XSTATS_CLASS,
};

/* Wire bytes count max(len, 60) + 24 per frame; gaps are frames too. */
struct tc_gap_qdisc_xstats {
	__u64	stamp_ns;		/* CLOCK_MONOTONIC when these numbers were read */
	__u64	wire_bytes;		/* data frames handed to the device */
	__u64	gap_wire_bytes;		/* gap frames handed to the device */
	__u64	gap_packets;
	__u64	gap_failed;		/* no memory for a gap frame: the timer filled in */
	__u64	direct_packets;		/* packets of no class */
	__u64	direct_wire_bytes;
	__u64	gso_split;		/* GSO packets segmented before queueing */
	__u64	underruns;		/* the wire was idle while a paced class waited (gap) */
	__u64	underrun_ns;		/* for so long in all */
	__u64	reserved[2];		/* 0 */
	__u64	fallbacks;		/* times the device was found out to lose gap frames */
	__u64	expired;		/* classes that fell back because nobody refreshed them */
	__u32	device_queued_bytes;	/* given to the driver, by its byte queue limits */
	__u32	device_completed_bytes;	/* and given back; both 0 if it has none */
};

struct tc_gap_class_xstats {
	__u64	wire_bytes;
	__u64	unused;			/* 0 */
	__u64	credit_lost_bytes;	/* lateness beyond what may be made up, byte-times */
	__u64	acks_first;		/* TCP ACKs that overtook data (built-in queue) */
	__u64	expired;		/* times the class fell back */
	__u32	destinations;		/* turns with packets now (built-in queue) */
	__u32	reserved;
};

struct tc_gap_xstats {
	__u32	type;			/* TC_GAP_XSTATS_* */
	__u32	reserved;
	union {
		struct tc_gap_qdisc_xstats qdisc;
		struct tc_gap_class_xstats cl;
	};
};

#endif /* _UAPI_LINUX_PKT_SCHED_GAP_H */
