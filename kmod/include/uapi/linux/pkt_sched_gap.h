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
 * Qdisc options
 * -------------
 * TCA_GAP_RATE64	u64, 1 .. GAP_RATE_MAX.  Rate of the link the device
 *			drives.  Absent on creation: the device's own speed is
 *			used, and a device that does not report one is refused.
 *			Absent on change: unchanged.  Dumped only if it was
 *			given.
 * TCA_GAP_DEFAULT	u32 class id (major 0 or the qdisc's) of the class for
 *			packets that no filter and no skb->priority names.
 *			0: none; such packets leave unpaced but are accounted
 *			in the byte clock ("direct" in the statistics).  The
 *			class need not exist yet; until it does, packets are
 *			direct.
 * TCA_GAP_LINK_RATE64	u64, dump only: the link rate in use.
 *
 * Class options
 * -------------
 * TCA_GAP_CLASS_RATE64	u64, 1 .. the link rate, or GAP_RATE_UNLIMITED.
 *			Absent on creation: GAP_RATE_UNLIMITED.  Absent on
 *			change: unchanged.  In a dump: the rate in force.
 * TCA_GAP_CLASS_LINGER_NS u64, 0 .. GAP_LINGER_MAX_NS, change only, needs
 *			TCA_GAP_CLASS_RATE64: the new rate takes effect when
 *			the class next runs empty, and this much later at the
 *			latest.  Absent or 0: at once.  A further change of
 *			the rate replaces one that is still pending.
 * TCA_GAP_CLASS_NEXT_RATE64 u64, dump only, while a change is pending: the
 *			rate that will be in force then.
 *
 * Errors
 * ------
 * A refused request changes nothing and carries an extended-ack sentence.
 * EOPNOTSUPP	the device cannot be paced with gap frames
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
#define GAP_RATE_MAX			1000000000000ULL	/* 8 Tbit/s */
#define GAP_LINGER_MAX_NS		10000000000ULL		/* 10 s */
#define GAP_CLASS_DEPTH_MAX		8

enum {
	TCA_GAP_UNSPEC,
	TCA_GAP_PAD,
	TCA_GAP_RATE64,
	TCA_GAP_DEFAULT,
	TCA_GAP_LINK_RATE64,
	__TCA_GAP_MAX,
};

#define TCA_GAP_MAX (__TCA_GAP_MAX - 1)

enum {
	TCA_GAP_CLASS_UNSPEC,
	TCA_GAP_CLASS_PAD,
	TCA_GAP_CLASS_RATE64,
	TCA_GAP_CLASS_LINGER_NS,
	TCA_GAP_CLASS_NEXT_RATE64,
	__TCA_GAP_CLASS_MAX,
};

#define TCA_GAP_CLASS_MAX (__TCA_GAP_CLASS_MAX - 1)

enum {
	TC_GAP_XSTATS_QDISC,
	TC_GAP_XSTATS_CLASS,
};

/* Wire bytes count max(len, 60) + 24 per frame; gaps are frames too. */
struct tc_gap_qdisc_xstats {
	__u64	wire_bytes;		/* data frames of all classes and direct traffic */
	__u64	gap_packets;		/* gap frames handed to the device */
	__u64	gap_wire_bytes;
	__u64	gap_failed;		/* no memory for a gap frame: the timer filled in */
	__u64	direct_packets;		/* packets of no class */
	__u64	direct_wire_bytes;
	__u64	gso_split;		/* GSO packets segmented before queueing */
};

struct tc_gap_class_xstats {
	__u64	wire_bytes;
	__u64	late_max_bytes;		/* longest wait behind other frames, byte-times */
	__u64	credit_lost_bytes;	/* lateness beyond what may be made up, byte-times */
	__u64	acks_first;		/* TCP ACKs that overtook data (built-in leaf) */
	__u32	destinations;		/* with packets waiting now (built-in leaf) */
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
