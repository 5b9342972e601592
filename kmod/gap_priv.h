/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Structures shared by the files of sch_gap.  Functions visible outside
 * their file are called gap_<file>_<verb>.
 */
#ifndef _GAP_PRIV_H
#define _GAP_PRIV_H

#include <linux/list.h>
#include <linux/rbtree.h>
#include <net/pkt_cls.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>

#include "gap_byteclock.h"

/**
 * struct gap_node - what a parent keeps of its backlogged children
 * @timed: children with a schedule, ordered by gap_class.eligible
 * @free: children with packets that no rate of their own holds back, served
 *	in turn when no timed child is due: what is left is theirs
 */
struct gap_node {
	struct rb_root_cached	timed;
	struct list_head	free;
};

/**
 * struct gap_class - one class; a leaf has a qdisc, others have children
 */
struct gap_class {
	struct Qdisc_class_common common;
	struct gap_class	*parent;	/* NULL: directly below the qdisc */
	struct Qdisc		*qdisc;		/* leaf only, else NULL */
	struct tcf_proto __rcu	*filter_list;
	struct tcf_block	*block;
	unsigned int		filter_cnt;
	unsigned int		children;
	unsigned int		depth;		/* 1 directly below the qdisc */

	/* schedule */
	struct gap_pace		pace;		/* rate GAP_RATE_UNLIMITED: none */
	u64			eligible;	/* key in the parent's tree */
	struct gap_node		node;		/* backlogged children */
	struct rb_node		timed;		/* in the parent's tree */
	struct list_head	free;		/* or in the parent's list */
	struct list_head	stalled;	/* or in gap_sched.stalled */

	/* a rate that waits for the class to run empty */
	struct list_head	lingering;	/* in gap_sched.lingering */
	u64			next_rate;
	u64			next_deadline_ns;

	/* statistics */
	struct gnet_stats_basic_sync bstats;
	struct gnet_stats_queue	qstats;
	struct tc_gap_class_xstats xstats;
};

/**
 * struct gap_sched - private data of the qdisc
 */
struct gap_sched {
	struct Qdisc_class_hash	clhash;
	struct tcf_proto __rcu	*filter_list;
	struct tcf_block	*block;

	u64			rate;		/* configured link rate, 0: the device's */
	u32			defcls;		/* minor of the default class, 0: none */

	struct gap_clock	clock;
	bool			idle;		/* nothing to send when last asked */
	struct gap_node		root;		/* backlogged top classes */
	struct list_head	stalled;	/* children that held their packets back */
	struct list_head	lingering;	/* classes whose next rate waits */
	struct gap_class	direct;		/* packets of no class */
	struct sk_buff		*frame;		/* what gap frames are cloned from */
	struct qdisc_watchdog	watchdog;	/* stands in for a gap without memory */

	struct tc_gap_qdisc_xstats xstats;
};

static inline bool gap_class_is_lingering(const struct gap_class *cl)
{
	return !list_empty(&cl->lingering);
}

static inline bool gap_class_is_limited(const struct gap_class *cl)
{
	return cl->pace.rate != GAP_RATE_UNLIMITED;
}

/* gap_frame.c */
int gap_frame_check_device(const struct net_device *dev,
			   struct netlink_ext_ack *extack);
u64 gap_frame_link_rate(struct net_device *dev);
u32 gap_frame_slot_max(const struct gap_sched *q, const struct net_device *dev);
struct sk_buff *gap_frame_alloc(struct net_device *dev,
				struct netlink_ext_ack *extack);
struct sk_buff *gap_frame_get(struct gap_sched *q, struct net_device *dev,
			      u32 slot_bytes);

/* gap_tree.c */
void gap_tree_init_node(struct gap_node *node);
void gap_tree_init_class(struct gap_class *cl);
bool gap_tree_is_backlogged(const struct gap_class *cl);
void gap_tree_activate(struct gap_sched *q, struct gap_class *cl);
void gap_tree_deactivate(struct gap_sched *q, struct gap_class *cl);
void gap_tree_requeue(struct gap_sched *q, struct gap_class *cl);
void gap_tree_stall(struct gap_sched *q, struct gap_class *cl);
void gap_tree_resume(struct gap_sched *q);
struct gap_class *gap_tree_pick(struct gap_sched *q, u64 *need);
void gap_tree_charge(struct gap_sched *q, struct gap_class *cl, u32 wire,
		     u32 slot_max);
void gap_tree_reset(struct gap_sched *q);

/* gap_class.c */
extern const struct Qdisc_class_ops gap_class_ops;
struct gap_class *gap_class_lookup(struct Qdisc *sch, u32 classid);
struct gap_class *gap_class_classify(struct sk_buff *skb, struct Qdisc *sch,
				     int *qerr);
void gap_class_set_rate(struct gap_sched *q, struct gap_class *cl, u64 rate);
void gap_class_end_linger(struct gap_sched *q, struct gap_class *cl);
void gap_class_end_lingers(struct gap_sched *q);
u64 gap_class_fastest(const struct gap_sched *q);
void gap_class_reset_all(struct Qdisc *sch);
void gap_class_destroy_all(struct Qdisc *sch);

/* gap_leaf.c */
extern struct Qdisc_ops gap_leaf_qdisc_ops;
void gap_leaf_fill_xstats(struct Qdisc *sch, struct tc_gap_class_xstats *xstats);

#endif /* _GAP_PRIV_H */
