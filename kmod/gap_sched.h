/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _GAP_SCHED_H
#define _GAP_SCHED_H

#include <linux/rbtree.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <net/pkt_sched.h>

#include "gap_byteclock.h"
#include "gap_compat.h"

#define GAP_TURN_BITS		7

/* The packets of a class without a qdisc of its own. */
struct gap_queue {
	struct sk_buff_head	acks;		/* TCP's without payload, which go first */
	struct list_head	turns;		/* destinations with packets take turns */
	struct gap_turn		*hashed;	/* all turns */
	u32			qlen;		/* packets in all */
	u32			turns_count;	/* length of turns */
	u32			backlog_bytes;
	s32			ack_room_bytes;	/* on the wire, for ACKs before the next data */
	u64			acks_first;	/* acknowledgments that overtook data */
};

/**
 * struct gap_class - one class: a leaf, or the cap of the classes below it
 *
 * What a packet needs comes first, its read-mostly part before the other.
 */
struct gap_class {
	struct gap_class	*parent;	/* NULL: directly below the qdisc */
	struct Qdisc		*qdisc;		/* grafted one, else NULL: queue */
	struct gap_rate		*phases;	/* entries 1 .. GAP_PHASE_MAX, or NULL */
	struct gap_rate		rate;		/* entry 0 */
	u32			burst_bytes;	/* GSO packets of so many stay whole */

	/* schedule */
	u64			next;		/* when its next frame is due */
	const struct gap_rate	*charged;	/* by this entry of the table, or rate */
	u64			key;		/* when it can send, see gap_tree_key() */
	struct rb_node		node;		/* in *siblings while backlogged */
	struct rb_root_cached	*siblings;	/* those below the same parent, by key */
	struct rb_root_cached	backlogged;	/* its children with packets, by key */
	unsigned int		child_count;	/* all of them; a leaf has none */
	struct gap_queue	queue;
	struct gnet_stats_basic_sync bstats;
	struct tc_gap_class_xstats xstats;

	struct list_head	stalled;	/* in gap_sched.stalled */
	struct Qdisc_class_common common;
	struct list_head	list;		/* in gap_sched.classes */
	unsigned int		filter_cnt;
	unsigned int		depth;		/* 1 directly below the qdisc */
	u32			drops;

	/* a rate that somebody has to keep alive */
	u64			fallback;
	u64			expires_ns;	/* 0: never */
	u64			deadline_ns;	/* CLOCK_BOOTTIME */
	struct hrtimer		lease_timer;	/* at the deadline */
	struct gap_sched	*q;
	bool			expired;	/* no entry is worth more than entry 0 */
	bool			notify;		/* user space is to be told */
};

/* The device's last answer; it is asked only where its instance lock is held. */
struct gap_device {
	u64			rate;		/* bytes per second, 0: it reports no speed */
	bool			sends_pause;	/* it stops its peer by PAUSE frames */
};

/* The administrator's settings. */
struct gap_conf {
	u64			rate;		/* of the link, 0: the device's */
	u32			defcls;		/* minor of the default class, 0: none */
	u32			limit;		/* packets in the queue of a class */
	enum gap_backend	backend;
	bool			bypass;		/* where no class holds packets */
};

/**
 * struct gap_sched - private data of the qdisc
 */
struct gap_sched {
	/* the packet path */
	struct gap_clock	clock;
	bool			use_timer;	/* instead of gap frames */
	bool			wire_busy;	/* frames follow each other */
	bool			slow_path;	/* stalled classes, or leases that are due */
	bool			lease_due;	/* of some class */
	bool			bypassed;	/* see gap_update_bypass() */
	u32			queued_mark;	/* see gap_sync_idle_clock() */
	u32			slot_max;	/* longest gap frame, byte-times */
	u64			credit_min;	/* byte-times, see gap_rate_charge() */
	u64			wake_early_bytes; /* see GAP_WAKE_EARLY_NS */
	struct rb_root_cached	backlogged;	/* top classes with packets, by key */
	struct gap_class	*defcl;		/* of conf.defcls, if a leaf, or direct */
	struct gap_frames	*frames;
	struct gap_watch	watch;
	struct gap_class	direct;		/* packets of no class */
	struct tcf_proto __rcu	*filter_list;
	int			refusal;	/* of gap_classify(), for who sent the packet */
	struct Qdisc_class_hash	clhash;
	struct list_head	classes;	/* all but direct */
	struct list_head	stalled;	/* children that held their packets back */
	struct qdisc_watchdog	watchdog;
	struct tc_gap_qdisc_xstats xstats;

	/* the rest */
	struct tcf_block	*block;
	struct gap_conf		conf;
	struct gap_device	device;
	bool			speed_known;
	bool			frames_lost;	/* the device lost gap frames */
	bool			was_up;
	enum gap_reason		reason;
	enum gap_reason		reason_notified; /* what user space knows */
	struct delayed_work	work;		/* what needs RTNL */
	struct Qdisc		*sch;		/* this */
	struct list_head	list;		/* in gap_main.c's list of all */
};

/* ---- gap_packet.c ---- */

int gap_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free);
struct sk_buff *gap_dequeue(struct Qdisc *sch);

/* Of the device's first queue; both 0 where the driver keeps no such count. */
void gap_device_bytes(const struct net_device *dev, u32 *queued, u32 *completed);

/* Of a qdisc that nobody else knows of yet, or that is about to go. */
bool gap_packet_init(struct gap_sched *q, u64 link_rate);
void gap_packet_reset(struct gap_sched *q);
bool gap_class_init(struct gap_sched *q, struct gap_class *cl, struct gap_class *parent);

/* With the tree lock held. */
void gap_tree_update(struct gap_class *cl);
void gap_class_purge(struct gap_class *cl);
void gap_class_set_entry(struct gap_sched *q, struct gap_class *cl,
			 struct gap_rate *entry, u64 rate);
void gap_lease_refresh(struct gap_class *cl);
void gap_lease_end(struct gap_sched *q);
void gap_packet_configure(struct gap_sched *q, u64 link_rate,
			  struct gap_frames *frames, bool use_timer);

/* ---- gap_gso.c ---- */

bool gap_gso_keeps_whole(const struct gap_class *cl, const struct sk_buff *skb);
struct sk_buff *gap_gso_cut(const struct gap_class *cl, struct sk_buff *skb);

/* ---- gap_class.c ---- */

extern const struct Qdisc_class_ops gap_class_ops;

void gap_class_find_default(struct Qdisc *sch);
void gap_update_bypass(struct Qdisc *sch);
void gap_notify(struct Qdisc *sch, struct gap_class *cl);
void gap_class_notify_expired(struct Qdisc *sch);
void gap_class_destroy_all(struct Qdisc *sch);

/* ---- gap_frame.c ---- */

struct gap_frames *gap_frames_alloc(struct net_device *dev);
void gap_frames_free(struct gap_frames *frames);
u32 gap_frames_slot_max(const struct gap_frames *frames);
struct sk_buff *gap_frames_get(struct gap_frames *frames, u32 slot_bytes);

static inline bool gap_class_is_leaf(const struct gap_class *cl)
{
	return !cl->child_count;
}

static inline u32 gap_class_qlen(const struct gap_class *cl)
{
	return unlikely(cl->qdisc) ? cl->qdisc->q.qlen : cl->queue.qlen;
}

static inline struct gap_class *gap_class_find(const struct gap_sched *q, u32 classid)
{
	struct Qdisc_class_common *common = qdisc_class_find(&q->clhash, classid);

	return common ? container_of(common, struct gap_class, common) : NULL;
}

/* Packets that wait for a timer may go earlier now. */
static inline void gap_kick(struct Qdisc *sch)
{
	if (!sch->q.qlen)
		return;
	rcu_read_lock();
	__netif_schedule(qdisc_root(sch));
	rcu_read_unlock();
}

#endif /* _GAP_SCHED_H */
