/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Structures shared by the files of sch_gap.  Functions visible outside
 * their file are called gap_<file>_<verb>.
 */
#ifndef _GAP_PRIV_H
#define _GAP_PRIV_H

#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/netdevice.h>
#include <linux/rbtree.h>
#include <net/pkt_cls.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>

#include "gap_byteclock.h"

/* Unit of the clock while the link rate is unknown: finer than any link's. */
#define GAP_LINK_RATE_NOMINAL	10000000000ULL

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
 * struct gap_lease - a rate that somebody has to keep alive
 * @timer: runs out when nobody did
 * @expires_ns: after which time, 0: never
 * @fallback: the class's rate then
 * @due: the timer has run out; the packet path has yet to see it
 * @expired: it has happened
 * @notify: and user space has yet to be told
 */
struct gap_lease {
	struct hrtimer	timer;
	u64		expires_ns;
	u64		fallback;
	bool		due;
	bool		expired;
	bool		notify;
};

/**
 * struct gap_turns - children of an ordered class that wait for each other
 * @waiting: those with packets, in order; the first has the turn
 * @last: the child that had it last
 * @join_until_ns: 0: nobody joins a stricter one
 */
struct gap_turns {
	struct list_head	waiting;
	struct gap_class	*last;
	u64			join_until_ns;
};

/**
 * struct gap_class - one class; a leaf has a qdisc, others have children
 */
struct gap_class {
	struct Qdisc_class_common common;
	struct Qdisc		*sch;		/* the gap qdisc it belongs to */
	struct gap_class	*parent;	/* NULL: directly below the qdisc */
	struct Qdisc		*qdisc;		/* leaf only, else NULL */
	struct tcf_proto __rcu	*filter_list;
	struct tcf_block	*block;
	unsigned int		filter_cnt;
	unsigned int		children;
	unsigned int		depth;		/* 1 directly below the qdisc */
	u64			children_rate;	/* sum, unlimited ones not counted */

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

	struct gap_lease	lease;

	/* see gap_order.c */
	u64			ordered_ns;	/* 0: the children are rivals */
	struct gap_turns	turns[GAP_GROUP_MAX + 1];	/* of its children */
	struct list_head	turn;		/* in the parent's turns */
	u32			group;		/* in which of them */

	/* statistics */
	struct gnet_stats_basic_sync bstats;
	struct gnet_stats_queue	qstats;
	struct tc_gap_class_xstats xstats;
};

/* What the administrator asks for, checked against the device and the classes. */
struct gap_conf {
	u64			rate;		/* of the link, 0: the device's */
	u64			hybrid_ns;
	u64			burst_ns;
	u32			defcls;		/* minor of the default class, 0: none */
	u32			frame_max;	/* 0: what the MTU allows */
	enum gap_backend	backend;
	enum gap_frame		frame;
};

enum gap_probe_phase {
	GAP_PROBE_OFF,
	GAP_PROBE_DRAIN,	/* data waits until the device is empty */
	GAP_PROBE_SHORT,	/* shortest gap frames are sent */
	GAP_PROBE_LONG,		/* longest gap frames are sent */
	GAP_PROBE_DONE,		/* the worker has to judge */
};

/**
 * struct gap_probe - the self-test, see gap_probe.c
 * @phase: where it is
 * @valid: it has ended, and there is evidence to show
 * @gave_up: the device did not give its frames back
 * @failed: no memory for a frame
 * @has_counter: the driver counts the PAUSE frames of its port
 * @left: frames of this phase not yet sent
 * @frames: frames of a phase
 * @queued: gap_device_queued_bytes() when the phase began
 * @began_ns: the phase
 * @give_up_ns: when to give it up
 * @short_ns: how long the phase of short frames took, 0 without one
 * @long_ns: the phase of long frames
 * @expected_ns: @long_ns - @short_ns on a device that serialises
 * @counter: of the port, before
 * @counted: by how much it rose
 */
struct gap_probe {
	enum gap_probe_phase	phase;
	bool			valid;
	bool			gave_up;
	bool			failed;
	bool			has_counter;
	bool			is_second;
	u32			left;
	u32			frames;
	u32			queued;
	u64			began_ns;
	u64			give_up_ns;
	u64			short_ns;
	u64			long_ns;
	u64			expected_ns;
	u64			counter;
	u64			counted;
	struct Qdisc		*sch;
	struct hrtimer		timer;
};

struct gap_async;

/**
 * struct gap_sched - private data of the qdisc
 */
struct gap_sched {
	struct Qdisc_class_hash	clhash;
	struct tcf_proto __rcu	*filter_list;
	struct tcf_block	*block;
	struct gap_class	*defcl;		/* of conf.defcls, if a leaf, or direct */

	/* the packet path's own copy of what follows from conf and device */
	struct gap_clock	clock;
	bool			timed;		/* timer back end in use */
	bool			running;	/* frames follow each other */
	bool			leases_due;	/* some class has to fall back */
	u32			slot_max;	/* longest gap frame, byte-times */
	u64			credit_min;	/* byte-times, see gap_pace_charge() */
	u64			hybrid_bytes;	/* byte-times, 0: never sleep */
	u64			wake_ns;	/* what the timer was last set to */

	struct gap_node		root;		/* backlogged top classes */
	struct list_head	stalled;	/* children that held their packets back */
	struct list_head	lingering;	/* classes whose next rate waits */
	struct gap_class	direct;		/* packets of no class */
	struct sk_buff		*frame;		/* what gap frames are cloned from */
	struct qdisc_watchdog	watchdog;

	struct gap_conf		conf;
	bool			speed_known;
	enum gap_verdict	verdict;
	struct gap_probe	probe;
	struct gap_async	*async;		/* what needs RTNL, later */
	struct Qdisc		*sch;		/* this */
	struct list_head	list;		/* in gap_device.c's list of all */
	bool			was_up;
	u64			children_rate;	/* sum over the top classes */
	u64			handed;		/* frames given to the device */
	u64			sent_base;	/* the device's counter at the start */

	struct tc_gap_qdisc_xstats xstats;
};

static inline bool gap_class_is_lingering(const struct gap_class *cl)
{
	return !list_empty(&cl->lingering);
}

/* The children of an ordered class take turns. */
static inline bool gap_order_applies(const struct gap_class *cl)
{
	return cl->parent && cl->parent->ordered_ns;
}

/* Has packets, but another child of its group has the turn. */
static inline bool gap_order_waits(const struct gap_class *cl)
{
	return !list_empty(&cl->turn) &&
	       !list_is_first(&cl->turn, &cl->parent->turns[cl->group].waiting);
}

static inline bool gap_class_is_limited(const struct gap_class *cl)
{
	return cl->pace.rate != GAP_RATE_UNLIMITED;
}

/* Packets that wait for a timer may go earlier now.  Tree lock held. */
static inline void gap_kick(struct Qdisc *sch)
{
	if (sch->q.qlen)
		__netif_schedule(qdisc_root(sch));
}

/*
 * Byte queue limits count what a driver has been given and has given back.
 * A driver that does not do them leaves both counters at zero, where they are
 * for others only until the first frame.
 */
static inline const struct dql *gap_device_dql(const struct net_device *dev)
{
#ifdef CONFIG_BQL
	return &netdev_get_tx_queue(dev, 0)->dql;
#else
	return NULL;
#endif
}

/* Bytes given to the driver so far, modulo 2^32. */
static inline u32 gap_device_queued_bytes(const struct net_device *dev)
{
	const struct dql *dql = gap_device_dql(dev);

	return dql ? READ_ONCE(dql->num_queued) : 0;
}

static inline bool gap_device_has_bql(const struct net_device *dev)
{
	return gap_device_queued_bytes(dev);
}

/* Known to hold nothing. */
static inline bool gap_device_is_empty(const struct net_device *dev)
{
	const struct dql *dql = gap_device_dql(dev);
	u32 completed;

	if (!dql)
		return false;
	completed = READ_ONCE(dql->num_completed);
	return completed && READ_ONCE(dql->num_queued) == completed;
}

static inline bool gap_probe_is_on(const struct gap_probe *probe)
{
	return probe->phase != GAP_PROBE_OFF && probe->phase != GAP_PROBE_DONE;
}

/* gap_request.c */
int gap_request_init(struct Qdisc *sch, struct nlattr *opt,
		     struct netlink_ext_ack *extack);
int gap_request_change(struct Qdisc *sch, struct nlattr *opt,
		       struct netlink_ext_ack *extack);
int gap_request_dump(struct Qdisc *sch, struct sk_buff *skb);
int gap_request_dump_stats(struct Qdisc *sch, struct gnet_dump *d);

/* gap_frame.c */
u32 gap_frame_len_max(const struct gap_conf *conf, u32 mtu);
struct sk_buff *gap_frame_alloc(const struct gap_conf *conf,
				struct net_device *dev, u32 mtu);
struct sk_buff *gap_frame_get(struct gap_sched *q, struct net_device *dev,
			      u32 slot_bytes);
void gap_frame_set_address(struct gap_sched *q, const struct net_device *dev);

/* gap_device.c */
bool gap_device_can_gap(const struct net_device *dev,
			struct netlink_ext_ack *extack);
bool gap_device_is_up(const struct net_device *dev);
u64 gap_device_link_rate(struct net_device *dev);
bool gap_device_pause_counter(struct net_device *dev, u64 *frames);
u64 gap_device_sent_packets(struct net_device *dev);
void gap_device_watch(struct Qdisc *sch);
void gap_device_unwatch(struct gap_sched *q);
int gap_device_register(void);
void gap_device_unregister(void);

/* gap_backend.c */
void gap_backend_settle_clock(struct gap_sched *q);
void gap_backend_set_conf(struct Qdisc *sch, const struct gap_conf *conf,
			  u64 link_rate, struct sk_buff *frame);
void gap_backend_set_link_rate(struct Qdisc *sch, u64 link_rate);
void gap_backend_set_mtu(struct Qdisc *sch, u32 mtu);
void gap_backend_choose(struct Qdisc *sch, bool test);
void gap_backend_conclude(struct Qdisc *sch);

/* gap_probe.c */
void gap_probe_init(struct Qdisc *sch);
void gap_probe_start(struct Qdisc *sch);
void gap_probe_again(struct Qdisc *sch);
void gap_probe_stop(struct gap_sched *q);
void gap_probe_cancel(struct gap_sched *q);
struct sk_buff *gap_probe_dequeue(struct Qdisc *sch);
enum gap_verdict gap_probe_judge(struct Qdisc *sch);
u32 gap_probe_frames(const struct gap_probe *probe);
u64 gap_probe_took_ns(const struct gap_probe *probe);

/* gap_async.c */
int gap_async_init(struct Qdisc *sch);
void gap_async_queue(struct gap_sched *q);
void gap_async_destroy(struct gap_sched *q);
int gap_async_register(void);
void gap_async_unregister(void);

/* gap_lease.c */
void gap_lease_init(struct gap_class *cl);
void gap_lease_refresh(struct gap_class *cl, bool new_rate);
void gap_lease_cancel(struct gap_class *cl);
u64 gap_lease_left_ns(const struct gap_class *cl);
void gap_lease_end_due(struct gap_sched *q);
void gap_lease_notify_all(struct Qdisc *sch);

/* gap_order.c */
struct gap_class *gap_order_choose(struct gap_class *cl);
bool gap_order_take_turn(struct gap_sched *q, struct gap_class *cl);
void gap_order_end_turn(struct gap_sched *q, struct gap_class *cl);
void gap_order_forget(struct gap_class *cl);
void gap_order_init(struct gap_class *cl);
void gap_order_set_group(struct gap_sched *q, struct gap_class *cl, u32 group);
void gap_order_set(struct gap_sched *q, struct gap_class *parent, u64 linger_ns);
bool gap_order_fits(struct gap_sched *q, const struct gap_class *parent);

/* gap_rate.c */
void gap_rate_set(struct gap_sched *q, struct gap_class *cl, u64 rate);
void gap_rate_set_later(struct gap_sched *q, struct gap_class *cl, u64 rate,
			u64 linger_ns);
void gap_rate_reset(struct gap_sched *q, struct gap_class *cl);
void gap_rate_end_lingers(struct gap_sched *q);
void gap_rate_add(struct gap_sched *q, struct gap_class *cl);
void gap_rate_remove(struct gap_sched *q, struct gap_class *cl);
u64 gap_rate_fastest(const struct gap_sched *q);
u32 gap_rate_quantum(const struct gap_sched *q);
u64 gap_rate_effective(const struct gap_sched *q, const struct gap_class *cl);
void gap_rate_warn(const struct gap_sched *q, const struct gap_class *parent,
		   struct netlink_ext_ack *extack);

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
void gap_tree_charge(struct gap_sched *q, struct gap_class *cl,
		     const struct sk_buff *skb, u32 wire);
void gap_tree_reset(struct gap_sched *q);

/* gap_class.c */
struct gap_class *gap_class_lookup(struct Qdisc *sch, u32 classid);
struct gap_class *gap_class_classify(struct sk_buff *skb, struct Qdisc *sch,
				     int *qerr);
void gap_class_find_default(struct Qdisc *sch);
int gap_class_find_parent(struct Qdisc *sch, u32 parentid,
			  struct gap_class **parent,
			  struct netlink_ext_ack *extack);
bool gap_class_is_below(const struct gap_class *cl, u32 parentid);
struct gap_class *gap_class_create(struct Qdisc *sch, u32 classid,
				   struct gap_class *parent,
				   struct netlink_ext_ack *extack);
void gap_class_link(struct Qdisc *sch, struct gap_class *cl);
int gap_class_delete(struct Qdisc *sch, unsigned long arg,
		     struct netlink_ext_ack *extack);
int gap_class_graft(struct Qdisc *sch, unsigned long arg, struct Qdisc *new,
		    struct Qdisc **old, struct netlink_ext_ack *extack);
void gap_class_rebase_all(struct gap_sched *q);
void gap_class_rescale_all(struct gap_sched *q, u64 old_link_rate);
int gap_class_init_direct(struct Qdisc *sch, struct netlink_ext_ack *extack);
void gap_class_reset_all(struct Qdisc *sch);
void gap_class_destroy_all(struct Qdisc *sch);

/* gap_class_request.c */
extern const struct Qdisc_class_ops gap_class_request_ops;
int gap_class_request_dump(struct Qdisc *sch, unsigned long arg,
			   struct sk_buff *skb, struct tcmsg *tcm);

/* gap_leaf.c */
extern struct Qdisc_ops gap_leaf_qdisc_ops;
void gap_leaf_fill_xstats(struct Qdisc *sch, struct tc_gap_class_xstats *xstats);

#endif /* _GAP_PRIV_H */
