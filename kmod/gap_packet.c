// SPDX-License-Identifier: GPL-2.0
/*
 * A packet's way through the qdisc: to its class (classify), into the class's
 * queue (enqueue), out of it when the class and all above it allow (dequeue),
 * and onto their schedules (charge).
 */
#include <linux/rtnetlink.h>
#include <net/pkt_cls.h>

#include "gap_queue.h"

/* A gap longer than twice this is slept, but for this much at its end. */
#define GAP_WAKE_EARLY_NS	(200 * NSEC_PER_USEC)
/* Timer back end: so much lateness is made up by frames that follow closer. */
#define GAP_BURST_NS		(100 * NSEC_PER_USEC)

/*
 * Byte queue limits count what a driver has been given and has given back, and
 * say what it may have at once.  All is zero with a driver that does not do them,
 * and in a kernel that was built without them.
 */
static const struct dql *gap_device_dql(const struct net_device *dev)
{
#ifdef CONFIG_BQL
	return &netdev_get_tx_queue(dev, 0)->dql;
#else
	static const struct dql none;

	return &none;
#endif
}

void gap_device_bytes(const struct net_device *dev, u32 *queued, u32 *completed)
{
	*completed = READ_ONCE(gap_device_dql(dev)->num_completed);
	*queued = READ_ONCE(gap_device_dql(dev)->num_queued);
}

/*
 * Gap frames: real time counts only when the wire is known to be idle, which is
 * when the device holds nothing and is not about to get something.  The core
 * takes several frames before it gives the first to the driver, which alone
 * counts them: so that count has to have moved since the last one was handed
 * out.  It was an underrun if frames had followed each other up to here.
 */
static noinline void gap_sync_idle_clock(struct gap_sched *q)
{
	u64 idle_ns = gap_clock_sync_idle(&q->clock, ktime_get_ns());

	gap_watch_idle(&q->watch, &q->clock, idle_ns);
	if (idle_ns && q->wire_busy) {
		q->xstats.underruns++;
		q->xstats.underrun_ns += idle_ns;
	}
}

/* Bring the clock to now, for others than the packet path on its way out. */
static void gap_sync_clock(struct gap_sched *q)
{
	u32 queued, completed;

	if (q->use_timer) {
		gap_clock_sync_time(&q->clock, ktime_get_ns());
		return;
	}
	gap_device_bytes(qdisc_dev(q->sch), &queued, &completed);
	if (completed && queued == completed && !q->wire_busy && !qdisc_is_running(q->sch))
		gap_sync_idle_clock(q);
}

/*
 * Every class knows the byte-time at which its own schedule allows the next
 * frame.  A packet may leave when its class and all above allow it, so a class
 * can send at the later of its own time and the earliest of its children's:
 * its key.  Each parent keeps its backlogged children in a tree by key.
 */

static inline struct gap_class *gap_tree_first(const struct rb_root_cached *tree)
{
	return rb_entry_safe(rb_first_cached(tree), struct gap_class, node);
}

static inline bool gap_tree_is_before(u64 key, const struct rb_node *node)
{
	return gap_time_after(rb_entry(node, struct gap_class, node)->key, key);
}

/* The class is backlogged, and no other one below the same parent is. */
static inline bool gap_tree_is_alone(const struct gap_class *cl)
{
	return cl->siblings->rb_root.rb_node == &cl->node && !cl->node.rb_left &&
	       !cl->node.rb_right;
}

static void gap_tree_unlink(struct gap_class *cl)
{
	if (RB_EMPTY_NODE(&cl->node))
		return;
	rb_erase_cached(&cl->node, cl->siblings);
	RB_CLEAR_NODE(&cl->node);
}

/* The node below which @key belongs.  Among thousands the way is long: its steps are short. */
static noinline struct rb_node *gap_tree_parent(const struct rb_root_cached *tree, u64 key)
{
	struct rb_node *node = tree->rb_root.rb_node, *parent = NULL;

	while (node) {
		parent = node;
		node = gap_tree_is_before(key, node) ? node->rb_left : node->rb_right;
	}
	return parent;
}

/* Put a backlogged class where its key wants it. */
static noinline void gap_tree_place(struct gap_class *cl, u64 key)
{
	struct rb_root_cached *tree = cl->siblings;
	struct rb_node *parent;
	bool before;

	if (!RB_EMPTY_NODE(&cl->node)) {
		if (key == cl->key)
			return;
		rb_erase_cached(&cl->node, tree);
	}
	cl->key = key;
	parent = gap_tree_parent(tree, key);
	before = parent && gap_tree_is_before(key, parent);
	rb_link_node(&cl->node, parent, !parent ? &tree->rb_root.rb_node :
		     before ? &parent->rb_left : &parent->rb_right);
	rb_insert_color_cached(&cl->node, tree,
			       !parent || (before && parent == rb_first_cached(tree)));
}

static bool gap_tree_is_backlogged(const struct gap_class *cl)
{
	if (gap_class_is_leaf(cl))
		return gap_class_qlen(cl) && list_empty(&cl->stalled);
	return gap_tree_first(&cl->backlogged);
}

static u64 gap_tree_key(const struct gap_class *cl)
{
	if (gap_class_is_leaf(cl))
		return cl->next;
	if (!gap_rate_is_limited(&cl->rate))
		return gap_tree_first(&cl->backlogged)->key;
	return gap_time_later(cl->next, gap_tree_first(&cl->backlogged)->key);
}

/* The backlog or the schedule of @cl has changed. */
void gap_tree_update(struct gap_class *cl)
{
	for (; cl; cl = cl->parent) {
		if (gap_tree_is_backlogged(cl))
			gap_tree_place(cl, gap_tree_key(cl));
		else
			gap_tree_unlink(cl);
	}
}

/* The same of a leaf that has just given a packet. */
static __always_inline void gap_tree_advance(struct gap_class *cl)
{
	if (unlikely(!gap_class_qlen(cl)))
		gap_tree_unlink(cl);
	else if (gap_tree_is_alone(cl))
		cl->key = cl->next;
	else
		gap_tree_place(cl, cl->next);
	if (cl->parent)
		gap_tree_update(cl->parent);
}

/* A leaf has its first packet: it and those above that were idle start now. */
static void gap_tree_activate(struct gap_sched *q, struct gap_class *cl)
{
	struct gap_class *c = cl;

	do {
		c->next = gap_pace_start(c->next, q->clock.bytes);
		c = c->parent;
	} while (c && !gap_tree_first(&c->backlogged));
	gap_tree_update(cl);
}

/*
 * The leaf to serve now, or NULL.  With NULL, *@need is the number of
 * byte-times after which some leaf may send, or 0 when nothing is waiting.
 */
static __always_inline struct gap_class *gap_tree_pick(struct gap_sched *q, u64 *need)
{
	struct gap_class *cl = gap_tree_first(&q->backlogged);
	u64 now = q->clock.bytes;

	*need = 0;
	if (unlikely(!cl))
		return NULL;
	if (gap_time_after(cl->key, now)) {
		*need = cl->key - now;
		return NULL;
	}
	while (!gap_class_is_leaf(cl))
		cl = gap_tree_first(&cl->backlogged);
	return cl;
}

/*
 * The leaf for @skb: the one skb->priority names, else the one the filters
 * lead to, else the default class, else "direct".  NULL if an action took or
 * refused the packet; q->refusal says which.
 *
 * skb->tc_index says at which rate of the class's table it is charged.  A BPF
 * filter may write it; of the qdiscs that may be grafted only gred does.
 */
static noinline struct gap_class *gap_classify(struct sk_buff *skb, struct Qdisc *sch)
{
	struct gap_sched *q = qdisc_priv(sch);
	struct gap_class *cl = NULL;
	struct tcf_result res;
	int verdict;

	if (skb->priority == sch->handle)
		return &q->direct;
	if (TC_H_MAJ(skb->priority) == sch->handle)
		cl = gap_class_find(q, skb->priority);
	if (cl && gap_class_is_leaf(cl))
		return cl;

	verdict = tcf_classify(skb, NULL, rcu_dereference_bh(q->filter_list), &res, false);
	if (verdict < 0)
		return q->defcl;
	q->refusal = NET_XMIT_SUCCESS | __NET_XMIT_BYPASS;
#ifdef CONFIG_NET_CLS_ACT
	switch (verdict) {
	case TC_ACT_QUEUED:
	case TC_ACT_STOLEN:
	case TC_ACT_TRAP:
		q->refusal = NET_XMIT_SUCCESS | __NET_XMIT_STOLEN;
		fallthrough;
	case TC_ACT_SHOT:
		return NULL;
	}
#endif
	cl = (struct gap_class *)res.class ?: gap_class_find(q, res.classid);
	return cl && gap_class_is_leaf(cl) ? cl : q->defcl;
}

/*
 * A full queue has dropped a packet that the qdiscs above count.  The one that came for it
 * is counted here already: they must not believe that the queue ran empty.
 */
static noinline void gap_count_evicted(struct Qdisc *sch, const struct sk_buff *skb)
{
	qdisc_qlen_dec(sch);
	qstats_backlog_sub(sch, qdisc_pkt_len(skb));
	qdisc_tree_reduce_backlog(sch, 1, qdisc_pkt_len(skb));
}

static __always_inline int
gap_enqueue_frame(struct sk_buff *skb, struct Qdisc *sch, struct gap_class *cl,
		  struct sk_buff **to_free)
{
	struct gap_sched *q = qdisc_priv(sch);
	unsigned int len = qdisc_pkt_len(skb);
	bool first = !gap_class_qlen(cl);
	struct sk_buff *dropped = NULL;
	int ret;

	if (unlikely(cl->qdisc)) {
		ret = qdisc_enqueue(skb, cl->qdisc, to_free);
		if (unlikely(ret != NET_XMIT_SUCCESS)) {
			if (net_xmit_drop_count(ret)) {
				qdisc_qstats_drop(sch);
				cl->drops++;
			}
			return ret;
		}
	} else {
		dropped = gap_queue_put(cl, skb, sch->limit);
		if (unlikely(dropped)) {
			cl->drops++;
			ret = qdisc_drop(dropped, sch, to_free);
			if (dropped == skb)
				return ret;
		}
	}
	qstats_backlog_add(sch, len);
	qdisc_qlen_inc(sch);
	if (unlikely(dropped))
		gap_count_evicted(sch, dropped);
	if (unlikely(first)) {
		gap_sync_clock(q);
		gap_tree_activate(q, cl);
	}
	return NET_XMIT_SUCCESS;
}

/* A GSO packet is many frames on the wire, and each part of it gets its own due time. */
static noinline int
gap_enqueue_gso(struct sk_buff *skb, struct Qdisc *sch, struct gap_class *cl,
		struct sk_buff **to_free)
{
	unsigned int len = 0, whole_len = qdisc_pkt_len(skb);
	struct gap_sched *q = qdisc_priv(sch);
	struct sk_buff *segs, *next;
	int queued = 0;

	segs = gap_gso_cut(cl, skb);
	if (IS_ERR_OR_NULL(segs)) {
		cl->drops++;
		return qdisc_drop(skb, sch, to_free);
	}
	skb_list_walk_safe(segs, segs, next) {
		unsigned int seg_len = qdisc_pkt_len(segs);

		skb_mark_not_on_list(segs);
		if (gap_enqueue_frame(segs, sch, cl, to_free) == NET_XMIT_SUCCESS) {
			len += seg_len;
			queued++;
		}
	}
	if (!queued) {
		__qdisc_drop(skb, to_free);
		return NET_XMIT_DROP;
	}
	/* a parent will count one packet of the whole's length */
	qdisc_tree_reduce_backlog(sch, 1 - queued, whole_len - len);
	q->xstats.gso_split++;
	consume_skb(skb);
	return NET_XMIT_SUCCESS;
}

/*
 * While no class is paced all packets share the queue of direct ones, which keeps the
 * order of arrival, where classes that take turns would change it.  Not while a class
 * still has packets, which later ones must not overtake.
 */
static bool gap_uses_direct(const struct gap_sched *q)
{
	return q->bypassed &&
	       (RB_EMPTY_ROOT(&q->backlogged.rb_root) || gap_tree_is_alone(&q->direct));
}

int gap_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct gap_sched *q = qdisc_priv(sch);
	struct gap_class *cl = q->defcl;

	skb->tc_index = 0;
	if (unlikely(q->bypassed && !(sch->flags & TCQ_F_CAN_BYPASS)))
		schedule_delayed_work(&q->work, 0);
	if (gap_uses_direct(q))
		cl = &q->direct;
	else if (rcu_access_pointer(q->filter_list) || TC_H_MAJ(skb->priority) == sch->handle)
		cl = gap_classify(skb, sch);
	if (unlikely(!cl)) {
		if (q->refusal & __NET_XMIT_BYPASS)
			qdisc_qstats_drop(sch);
		__qdisc_drop(skb, to_free);
		return q->refusal;
	}
	if (skb_is_gso(skb) && !gap_gso_keeps_whole(cl, skb))
		return gap_enqueue_gso(skb, sch, cl, to_free);
	return gap_enqueue_frame(skb, sch, cl, to_free);
}

/*
 * Leases: a class that no request reaches in time falls back.  The class's timer takes
 * no lock and changes no rate, because a qdisc that is destroyed is reset without a
 * lock: it only sets flags.  The next dequeue sees them and takes the rate away; on an
 * idle qdisc a work does, which holds RTNL and tells user space as well.  Each request
 * puts the timer off, so that nothing runs while the rate is kept alive.
 */
static enum hrtimer_restart gap_lease_expire(struct hrtimer *timer)
{
	struct gap_sched *q = container_of(timer, struct gap_class, lease_timer)->q;

	WRITE_ONCE(q->lease_due, true);
	WRITE_ONCE(q->slow_path, true);
	schedule_delayed_work(&q->work, 0);
	gap_kick(q->sch);
	return HRTIMER_NORESTART;
}

/* A request has reached the class. */
void gap_lease_refresh(struct gap_class *cl)
{
	if (!cl->expires_ns || cl->expired)
		return;
	cl->deadline_ns = ktime_get_boottime_ns() + cl->expires_ns;
	hrtimer_start(&cl->lease_timer, cl->deadline_ns, HRTIMER_MODE_ABS_SOFT);
}

/* A class whose deadline has passed falls back. */
void gap_lease_end(struct gap_sched *q)
{
	struct gap_class *cl;

	if (!READ_ONCE(q->lease_due))
		return;
	WRITE_ONCE(q->lease_due, false);
	list_for_each_entry(cl, &q->classes, list) {
		if (!cl->expires_ns || cl->expired || ktime_get_boottime_ns() < cl->deadline_ns)
			continue;
		gap_class_set_entry(q, cl, &cl->rate, cl->fallback);
		/* gap_class_dump() */
		smp_store_release(&cl->expired, true);
		cl->notify = true;
		cl->xstats.expired++;
		q->xstats.expired++;
	}
}

/* Rare work before a packet: children that stalled, leases that have ended. */
static noinline void gap_dequeue_slow(struct gap_sched *q)
{
	struct gap_class *cl, *tmp;

	WRITE_ONCE(q->slow_path, false);
	gap_lease_end(q);
	list_for_each_entry_safe(cl, tmp, &q->stalled, stalled) {
		list_del_init(&cl->stalled);
		gap_tree_activate(q, cl);
	}
}

/* The rate that a packet of the class is charged at. */
static struct gap_rate *gap_rate_of(struct gap_class *cl, const struct sk_buff *skb)
{
	unsigned int phase = skb->tc_index;
	struct gap_rate *entry;

	if (!phase || phase > GAP_PHASE_MAX || !cl->phases)
		return &cl->rate;
	entry = &cl->phases[phase - 1];
	if (!entry->rate || (cl->expired && entry->rate > cl->rate.rate))
		return &cl->rate;
	return entry;
}

/*
 * @skb of leaf @cl, which is @on_wire, starts now: the schedules of the leaf
 * and of all above it go on.  @due: when those that have been charged allowed it.
 */
static __always_inline void
gap_charge(struct gap_sched *q, struct gap_class *cl, const struct sk_buff *skb,
	   struct gap_on_wire on_wire, bool use_timer)
{
	struct gap_rate *rate = gap_rate_of(cl, skb);
	u64 now = q->clock.bytes, due = cl->next, lost;
	u32 wire = on_wire.bytes;
	struct gap_class *c;

	for (c = cl; c; c = c->parent, rate = &c->rate) {
		_bstats_update(&c->bstats, qdisc_pkt_len(skb), on_wire.frames);
		c->xstats.wire_bytes += wire;
		due = gap_time_later(c->next, due);
		c->charged = rate;
		if (!gap_rate_is_limited(rate)) {
			/* the next of its frames comes after those that are due by then */
			c->next = use_timer ? now : now + wire;
			continue;
		}
		lost = gap_rate_charge(rate, q->clock.link_rate, due, now, wire,
				       q->credit_min, &c->next);
		if (unlikely(lost))
			c->xstats.credit_lost_bytes += lost;
	}
	gap_tree_advance(cl);
}

/*
 * From a grafted qdisc.  One that has packets but gives none yet (netem, tbf)
 * is not asked again before the next dequeue, which its own timer will cause.
 */
static noinline struct sk_buff *gap_dequeue_child(struct gap_sched *q, struct gap_class *cl)
{
	struct sk_buff *skb = cl->qdisc->dequeue(cl->qdisc);

	if (skb)
		return skb;
	if (cl->qdisc->q.qlen) {
		list_move_tail(&cl->stalled, &q->stalled);
		q->slow_path = true;
	}
	gap_tree_update(cl);
	return NULL;
}

/* Both back ends: a packet that is due, or NULL; *@need then is as gap_tree_pick() says. */
static __always_inline struct sk_buff *
gap_dequeue_data(struct Qdisc *sch, bool use_timer, u64 *need)
{
	struct gap_sched *q = qdisc_priv(sch);
	struct sk_buff *skb = NULL;
	struct gap_on_wire wire;
	struct gap_class *cl;

	if (unlikely(READ_ONCE(q->slow_path)))
		gap_dequeue_slow(q);
	while (!skb) {
		cl = gap_tree_pick(q, need);
		if (!cl)
			return NULL;
		if (likely(!cl->qdisc)) {
			skb = gap_queue_get(&cl->queue, &wire);
			break;
		}
		skb = gap_dequeue_child(q, cl);
		if (skb)
			wire = gap_skb_on_wire(skb);
	}
	_bstats_update(&sch->bstats, qdisc_pkt_len(skb), wire.frames);
	qdisc_qstats_backlog_dec(sch, skb);
	qdisc_qlen_dec(sch);
	q->xstats.wire_bytes += wire.bytes;
	gap_charge(q, cl, skb, wire, use_timer);
	if (!use_timer)
		q->clock.bytes += wire.bytes;
	return skb;
}

static void gap_wake_at(struct gap_sched *q, u64 ns)
{
	q->wire_busy = false;
	qdisc_watchdog_schedule_ns(&q->watchdog, ns);
}

/*
 * Leave the coarse part of a long gap to the timer.  Needs a device that says
 * when it is empty: only that ends the gap exactly, whenever the timer fires.
 */
static noinline bool gap_sleep(struct Qdisc *sch, u64 need)
{
	struct gap_sched *q = qdisc_priv(sch);
	u32 queued, completed;
	u64 wake_ns, now_ns;

	gap_device_bytes(qdisc_dev(sch), &queued, &completed);
	if (!queued)
		return false;
	now_ns = ktime_get_ns();
	gap_clock_cap(&q->clock, now_ns, queued - completed);
	wake_ns = gap_clock_ns_at(&q->clock, q->clock.bytes + need - q->wake_early_bytes);
	/* frames that the link rate has overtaken are still in the device */
	if (wake_ns <= now_ns)
		return false;
	gap_wake_at(q, wake_ns);
	return true;
}

/* Fill @need byte-times, or as many of them as one frame can. */
static __always_inline struct sk_buff *gap_fill(struct Qdisc *sch, u64 need)
{
	struct gap_sched *q = qdisc_priv(sch);
	struct sk_buff *skb;
	u32 slot;

	qdisc_qstats_overlimit(sch);
	if (need > 2 * q->wake_early_bytes && gap_sleep(sch, need))
		return NULL;
	slot = gap_slot_bytes(need, q->slot_max);
	skb = gap_frames_get(q->frames, slot);
	if (unlikely(!skb)) {
		q->xstats.gap_failed++;
		gap_wake_at(q, ktime_get_ns() + GAP_WAKE_EARLY_NS);
		return NULL;
	}
	q->clock.bytes += slot;
	q->xstats.gap_packets++;
	q->xstats.gap_wire_bytes += slot;
	return skb;
}

/* Does the device drop gap frames?  Then a timer paces from now on. */
static noinline void gap_watch(struct Qdisc *sch)
{
	struct gap_sched *q = qdisc_priv(sch);
	u32 queued, completed;

	gap_device_bytes(qdisc_dev(sch), &queued, &completed);
	if (!gap_watch_is_ahead(&q->watch, &q->clock, queued, completed,
				READ_ONCE(gap_device_dql(qdisc_dev(sch))->limit),
				ktime_get_ns()))
		return;
	q->xstats.fallbacks++;
	q->frames_lost = true;
	/* the clock has counted gap frames that took no time */
	gap_clock_reset(&q->clock, ktime_get_ns());
	WRITE_ONCE(q->reason, GAP_REASON_LOST);
	gap_packet_configure(q, q->clock.link_rate, q->frames, true);
	schedule_delayed_work(&q->work, 0);
}

static noinline struct sk_buff *gap_dequeue_timer(struct Qdisc *sch)
{
	struct gap_sched *q = qdisc_priv(sch);
	struct sk_buff *skb;
	u64 need;

	gap_clock_sync_time(&q->clock, ktime_get_ns());
	skb = gap_dequeue_data(sch, true, &need);
	if (!skb && need) {
		qdisc_qstats_overlimit(sch);
		gap_wake_at(q, gap_clock_ns_at(&q->clock, q->clock.bytes + need));
	}
	return skb;
}

static noinline struct sk_buff *gap_dequeue_gaps(struct Qdisc *sch)
{
	struct gap_sched *q = qdisc_priv(sch);
	u32 queued, completed;
	struct sk_buff *skb;
	u64 need;

	gap_device_bytes(qdisc_dev(sch), &queued, &completed);
	if (queued == completed && queued != q->queued_mark)
		gap_sync_idle_clock(q);
	skb = gap_dequeue_data(sch, false, &need);
	if (!skb && !need)
		q->wire_busy = false;
	else if (!skb)
		skb = gap_fill(sch, need);
	if (!skb)
		return NULL;
	/* data and gaps stay in order only within one queue of the device */
	skb_set_queue_mapping(skb, 0);
	q->wire_busy = true;
	q->queued_mark = queued;
	if (unlikely(gap_time_after(q->clock.bytes, q->watch.check_at)))
		gap_watch(sch);
	return skb;
}

/* After each packet that bypassed the qdisc the core asks for more: that is short. */
struct sk_buff *gap_dequeue(struct Qdisc *sch)
{
	struct gap_sched *q = qdisc_priv(sch);

	if (likely(sch->q.qlen))
		return q->use_timer ? gap_dequeue_timer(sch) : gap_dequeue_gaps(sch);
	q->wire_busy = false;
	return NULL;
}

/* A leaf without a rate of its own, in no tree yet.  False: there is no memory. */
bool gap_class_init(struct gap_sched *q, struct gap_class *cl, struct gap_class *parent)
{
	cl->q = q;
	cl->parent = parent;
	cl->siblings = parent ? &parent->backlogged : &q->backlogged;
	cl->depth = parent ? parent->depth + 1 : 1;
	hrtimer_setup(&cl->lease_timer, gap_lease_expire, CLOCK_BOOTTIME, HRTIMER_MODE_ABS_SOFT);
	gap_rate_set(&cl->rate, GAP_RATE_UNLIMITED);
	cl->charged = &cl->rate;
	gnet_stats_basic_sync_init(&cl->bstats);
	RB_CLEAR_NODE(&cl->node);
	INIT_LIST_HEAD(&cl->stalled);
	INIT_LIST_HEAD(&cl->queue.turns);
	__skb_queue_head_init(&cl->queue.acks);
	cl->queue.hashed = kcalloc(1 << GAP_TURN_BITS, sizeof(struct gap_turn), GFP_KERNEL);
	return cl->queue.hashed;
}

/* The class has no packets any more: those of its own queue go when RTNL is released. */
void gap_class_purge(struct gap_class *cl)
{
	struct gap_on_wire wire;
	struct sk_buff *skb;

	list_del_init(&cl->stalled);
	while (cl->queue.qlen) {
		skb = gap_queue_get(&cl->queue, &wire);
		rtnl_kfree_skbs(skb, skb);
	}
}

/*
 * Set an entry of the class's table, 0: it has no rate any more.  A class that waits
 * for an interval which this entry charged waits longer or shorter from now on.
 */
void gap_class_set_entry(struct gap_sched *q, struct gap_class *cl,
			 struct gap_rate *entry, u64 rate)
{
	u64 old = entry->rate;

	if (rate == old)
		return;
	gap_rate_set(entry, rate);
	if (entry != cl->charged)
		return;
	if (!rate) {
		cl->charged = &cl->rate;
		rate = cl->rate.rate;
	}
	gap_sync_clock(q);
	if (rate == GAP_RATE_UNLIMITED || old == GAP_RATE_UNLIMITED)
		cl->next = q->clock.bytes;
	else
		cl->next = gap_pace_rescale(cl->next, q->clock.bytes, old, rate);
	gap_tree_update(cl);
}

/* Byte-times have another length from now on: waits stay the same in real time. */
static void gap_set_link_rate(struct gap_sched *q, u64 link_rate)
{
	u64 old = q->clock.link_rate;
	struct gap_class *cl;
	unsigned int i;

	gap_clock_set_link_rate(&q->clock, link_rate, ktime_get_ns());
	list_for_each_entry(cl, &q->classes, list) {
		gap_rate_set(&cl->rate, cl->rate.rate);
		for (i = 0; cl->phases && i < GAP_PHASE_MAX; i++)
			gap_rate_set(&cl->phases[i], cl->phases[i].rate);
		cl->next = gap_pace_rescale(cl->next, q->clock.bytes, link_rate, old);
		gap_tree_update(cl);
	}
}

/* @frames: NULL with the timer. */
void gap_packet_configure(struct gap_sched *q, u64 link_rate,
			  struct gap_frames *frames, bool use_timer)
{
	gap_sync_clock(q);
	if (link_rate != q->clock.link_rate)
		gap_set_link_rate(q, link_rate);
	if (use_timer != q->use_timer)
		q->wire_busy = false;
	WRITE_ONCE(q->use_timer, use_timer);
	q->frames = frames;
	q->slot_max = gap_frames_slot_max(q->frames);
	if (q->use_timer)
		q->credit_min = gap_clock_ns_to_bytes(&q->clock, GAP_BURST_NS);
	else
		q->credit_min = q->slot_max + GAP_SLOT_MIN_BYTES;
	q->wake_early_bytes = gap_clock_ns_to_bytes(&q->clock, GAP_WAKE_EARLY_NS);
	q->watch.began_ns = 0;
	q->watch.check_at = q->clock.bytes;
	gap_kick(q->sch);
}

/* False: there is no memory. */
bool gap_packet_init(struct gap_sched *q, u64 link_rate)
{
	bool ok;

	INIT_LIST_HEAD(&q->classes);
	INIT_LIST_HEAD(&q->stalled);
	gap_clock_init(&q->clock, link_rate, ktime_get_ns());
	q->queued_mark = U32_MAX; /* nothing handed out: an idle device is idle */
	ok = gap_class_init(q, &q->direct, NULL);
	q->defcl = &q->direct;
	gap_packet_configure(q, link_rate, NULL, true);
	return ok;
}

static void gap_class_reset(struct gap_class *cl)
{
	if (cl->qdisc)
		qdisc_reset(cl->qdisc);
	gap_class_purge(cl);
	RB_CLEAR_NODE(&cl->node);
	cl->backlogged = RB_ROOT_CACHED;
}

/* All packets go; nobody enqueues or dequeues meanwhile. */
void gap_packet_reset(struct gap_sched *q)
{
	struct gap_class *cl;

	list_for_each_entry(cl, &q->classes, list)
		gap_class_reset(cl);
	gap_class_reset(&q->direct);
	q->backlogged = RB_ROOT_CACHED;
	q->wire_busy = false;
	/* what the device held may be lost as well, and its counters may restart */
	gap_clock_reset(&q->clock, ktime_get_ns());
	q->queued_mark = U32_MAX;
	q->watch.began_ns = 0;
}
