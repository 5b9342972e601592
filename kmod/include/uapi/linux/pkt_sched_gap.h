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
 * GAP_BACKEND_GAP	keeps the wire busy: gap frames of exactly the missing
 *			length stand between data frames.  Needs a device that
 *			serialises frames at a known rate and lets gap frames
 *			through, and works as the root qdisc only.
 * GAP_BACKEND_TIMER	waits for a timer.  Works everywhere.
 * GAP_BACKEND_AUTO	the timer, until a self-test has shown that gap frames
 *			reach the wire; then gap frames.  The self-test runs
 *			when the qdisc comes to life, after carrier, after a
 *			change of the link's speed and on request.
 *
 * Qdisc options
 * -------------
 * An option that is absent on change keeps its value.
 * TCA_GAP_RATE64	u64, 1 .. GAP_RATE_MAX.  Rate of the link the device
 *			drives.  Absent on creation: the device's own speed is
 *			used and followed; where it reports none, `auto` stays
 *			with the timer and `gap` is refused.  Dumped only if it
 *			was given.
 * TCA_GAP_DEFAULT	u32 class id (major 0 or the qdisc's) of the class for
 *			packets that no filter and no skb->priority names.
 *			0: none; such packets leave unpaced but are accounted
 *			in the byte clock ("direct" in the statistics).  The
 *			class need not exist yet; until it does, packets are
 *			direct.
 * TCA_GAP_LINK_RATE64	u64, dump only: the link rate in use.  Absent while it
 *			is unknown.
 * TCA_GAP_BACKEND	u32, GAP_BACKEND_*.  Absent on creation: auto.
 * TCA_GAP_FRAME	u32, GAP_FRAME_*: what gap frames are.  Absent on
 *			creation: PAUSE frames with a pause time of zero.
 * TCA_GAP_FRAME_MAX	u32, 0 or GAP_FRAME_MIN_BYTES .. 65535: length of the
 *			longest gap frame (no FCS); 0 is what the MTU allows.
 *			Never more than that.  Absent on creation: 0.
 * TCA_GAP_HYBRID_NS	u64, 0 .. GAP_HYBRID_MAX_NS: a gap longer than twice
 *			this is slept on the timer but for this much, which gap
 *			frames fill exactly.  0: gap frames fill every gap.
 *			Only where the device tells what it holds (byte queue
 *			limits).  Absent on creation: GAP_HYBRID_DEFAULT_NS.
 * TCA_GAP_BURST_NS	u64, 0 .. GAP_BURST_MAX_NS, timer back end: so much
 *			lateness of the timer is made up by frames that follow
 *			closer than the rate; at least the interval of one
 *			frame is.  Absent on creation: GAP_BURST_DEFAULT_NS.
 * TCA_GAP_SELFTEST	flag, never dumped: run the self-test (again).
 * TCA_GAP_BACKEND_USED	u32, dump only: GAP_BACKEND_GAP or GAP_BACKEND_TIMER.
 * TCA_GAP_VERDICT	u32, dump only: GAP_VERDICT_*, why that one.
 * TCA_GAP_TEST_FRAMES	u32, dump only, as all of TCA_GAP_TEST_*: present after
 *			a self-test.  Gap frames it sent.
 * TCA_GAP_TEST_EXPECTED_NS u64: what they take at the link rate.
 * TCA_GAP_TEST_TOOK_NS	u64: until the device had given them all back, or until
 *			the self-test gave up.
 * TCA_GAP_TEST_COUNTED	u64: by how much the port's counter of sent PAUSE
 *			frames rose; absent where the driver has none.
 * TCA_GAP_CHILDREN_RATE64 u64, dump only: sum of the rates of the classes
 *			directly below, unlimited ones not counted.
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
 * TCA_GAP_CLASS_FALLBACK64 u64, 1 .. the link rate, or GAP_RATE_UNLIMITED;
 * TCA_GAP_CLASS_EXPIRES_NS u64, 0 or GAP_EXPIRES_MIN_NS .. GAP_EXPIRES_MAX_NS:
 *			when no change request (an empty one will do) reaches
 *			the class for that long, its rate becomes the fallback
 *			and RTM_NEWTCLASS tells RTNLGRP_TC.  The class stays
 *			there until a change gives a rate.  Both together the
 *			first time; EXPIRES 0 ends it.  Time includes suspend
 *			(CLOCK_BOOTTIME).
 * TCA_GAP_CLASS_LEFT_NS u64, dump only, while EXPIRES is set and the class has
 *			not expired: time left.
 * TCA_GAP_CLASS_EXPIRED flag, dump only: the class is at its fallback.
 * TCA_GAP_CLASS_EFFECTIVE64 u64, dump only, if there is a limit at all: the
 *			least of the class's rate, its ancestors' and the
 *			link's; over many frames it is met exactly.
 * TCA_GAP_CLASS_QUANTUM_BYTES u32, dump only, with a rate: by how much the
 *			start of a single frame may miss its due time because
 *			the back end cannot do finer, in byte-times.
 * TCA_GAP_CLASS_CHILDREN_RATE64 u64, dump only, if the class has children: as
 *			TCA_GAP_CHILDREN_RATE64.
 * TCA_GAP_CLASS_ORDERED_NS u64, 0 .. GAP_LINGER_MAX_NS: the classes below are
 *			the phases of one traffic.  One of them has the turn;
 *			the others wait in the order in which they got packets,
 *			so that no flow is reordered where a filter sends it to
 *			another one.  Packets for a class with a higher rate
 *			join the queue of the newest one with packets until
 *			that runs empty, and this much longer than their first
 *			at the latest.  The classes below can have none
 *			themselves.  0, or absent on creation: they are rivals.
 *			Dumped unless 0.
 * TCA_GAP_CLASS_GROUP u32, 0 .. GAP_GROUP_MAX, of a class below such a one: it
 *			takes turns with those of the same group, whose packets
 *			join each other's; groups are rivals.  Absent on
 *			creation: 0.  Dumped unless 0.
 *
 * Errors
 * ------
 * A refused request changes nothing and carries an extended-ack sentence.
 * A request that succeeds but lets the classes below a class, or below the
 * qdisc, ask for more than that has gets a warning there.
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
#define GAP_RATE_MAX			1000000000000ULL	/* 8 Tbit/s */
#define GAP_LINGER_MAX_NS		10000000000ULL		/* 10 s */
#define GAP_CLASS_DEPTH_MAX		8
#define GAP_GROUP_MAX			7

#define GAP_FRAME_MAX_BYTES		65535
#define GAP_HYBRID_DEFAULT_NS		200000ULL		/* 200 us */
#define GAP_HYBRID_MAX_NS		1000000000ULL		/* 1 s */
#define GAP_BURST_DEFAULT_NS		100000ULL		/* 100 us */
#define GAP_BURST_MAX_NS		1000000000ULL		/* 1 s */
#define GAP_EXPIRES_MIN_NS		1000000ULL		/* 1 ms */
#define GAP_EXPIRES_MAX_NS		86400000000000ULL	/* 1 day */

enum gap_backend {
	GAP_BACKEND_AUTO,
	GAP_BACKEND_GAP,
	GAP_BACKEND_TIMER,
	__GAP_BACKEND_MAX,
};

#define GAP_BACKEND_MAX (__GAP_BACKEND_MAX - 1)

enum gap_frame {
	GAP_FRAME_PAUSE,	/* 802.3x, ends at the port at the other end of the cable */
	GAP_FRAME_VOID,		/* to the sender's own address: the first switch discards it */
	__GAP_FRAME_MAX,
};

#define GAP_FRAME_KIND_MAX (__GAP_FRAME_MAX - 1)

/* Why the back end in use is used. */
enum gap_verdict {
	GAP_VERDICT_ASKED,	/* `backend` names it */
	GAP_VERDICT_PENDING,	/* timer until the self-test is over */
	GAP_VERDICT_PASSED,	/* gap: gap frames took their time on the wire */
	GAP_VERDICT_LOST,	/* timer: gap frames took no time, they are dropped */
	GAP_VERDICT_SLOW,	/* timer: the device is slower than the link rate says */
	GAP_VERDICT_NO_SPEED,	/* timer: the link rate is unknown */
	GAP_VERDICT_VIRTUAL,	/* timer: gap frames take no time on this kind of device */
	GAP_VERDICT_NOT_ROOT,	/* timer: gap frames work below the root only */
	GAP_VERDICT_NO_CARRIER,	/* timer: nothing can be sent now */
	GAP_VERDICT_NO_MEMORY,	/* timer: the self-test could not get its frames */
	__GAP_VERDICT_MAX,
};

enum {
	TCA_GAP_UNSPEC,
	TCA_GAP_PAD,
	TCA_GAP_RATE64,
	TCA_GAP_DEFAULT,
	TCA_GAP_LINK_RATE64,
	TCA_GAP_BACKEND,
	TCA_GAP_FRAME,
	TCA_GAP_FRAME_MAX,
	TCA_GAP_HYBRID_NS,
	TCA_GAP_BURST_NS,
	TCA_GAP_SELFTEST,
	TCA_GAP_BACKEND_USED,
	TCA_GAP_VERDICT,
	TCA_GAP_TEST_FRAMES,
	TCA_GAP_TEST_EXPECTED_NS,
	TCA_GAP_TEST_TOOK_NS,
	TCA_GAP_TEST_COUNTED,
	TCA_GAP_CHILDREN_RATE64,
	__TCA_GAP_MAX,
};

#define TCA_GAP_MAX (__TCA_GAP_MAX - 1)

enum {
	TCA_GAP_CLASS_UNSPEC,
	TCA_GAP_CLASS_PAD,
	TCA_GAP_CLASS_RATE64,
	TCA_GAP_CLASS_LINGER_NS,
	TCA_GAP_CLASS_NEXT_RATE64,
	TCA_GAP_CLASS_FALLBACK64,
	TCA_GAP_CLASS_EXPIRES_NS,
	TCA_GAP_CLASS_LEFT_NS,
	TCA_GAP_CLASS_EXPIRED,
	TCA_GAP_CLASS_EFFECTIVE64,
	TCA_GAP_CLASS_QUANTUM_BYTES,
	TCA_GAP_CLASS_CHILDREN_RATE64,
	TCA_GAP_CLASS_ORDERED_NS,
	TCA_GAP_CLASS_GROUP,
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
	__u64	underruns;		/* the wire was idle while a paced class waited (gap) */
	__u64	underrun_ns;		/* for so long in all */
	__u64	slept;			/* gaps whose coarse part the timer did */
	__u64	timer_wakes;		/* timer back end: times it had to wait */
	__u64	bypass_packets;		/* sent by the device, but not by this qdisc */
	__u64	backend_changes;
	__u64	selftests;
	__u64	expired;		/* classes that fell back because nobody refreshed them */
};

/*
 * Bucket 0 counts frames that started when they were due; bucket i those late
 * by 2^(i-1) .. 2^i - 1 byte-times; the last one also all above.
 */
#define GAP_LATE_BUCKETS		24

struct tc_gap_class_xstats {
	__u64	wire_bytes;
	__u64	late_max_bytes;		/* longest wait behind other frames, byte-times */
	__u64	credit_lost_bytes;	/* lateness beyond what may be made up, byte-times */
	__u64	acks_first;		/* TCP ACKs that overtook data (built-in leaf) */
	__u32	destinations;		/* with packets waiting now (built-in leaf) */
	__u32	reserved;
	__u64	expired;		/* times the class fell back */
	__u64	turns;			/* times it took over from another (ordered parent) */
	__u64	joined;			/* packets of laxer classes that joined it */
	__u64	late[GAP_LATE_BUCKETS];	/* frames by lateness of their start */
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
