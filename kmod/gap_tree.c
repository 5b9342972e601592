// SPDX-License-Identifier: GPL-2.0
/*
 * Which class may send, and when: a tree of caps.
 *
 * Every class knows the byte-time at which its own schedule allows the next
 * frame.  A packet may leave when its class and all ancestors allow it, so a
 * class is eligible at the later of its own time and the earliest of its
 * children's.  Each parent orders its backlogged children by that time; a
 * change travels from the leaf to the root in O(depth * log(children)).
 */
#include "gap_priv.h"
#include "gap_trace.h"

void gap_tree_init_node(struct gap_node *node)
{
	node->timed = RB_ROOT_CACHED;
	INIT_LIST_HEAD(&node->free);
}

void gap_tree_init_class(struct gap_class *cl)
{
	gap_tree_init_node(&cl->node);
	RB_CLEAR_NODE(&cl->timed);
	INIT_LIST_HEAD(&cl->free);
	INIT_LIST_HEAD(&cl->stalled);
	INIT_LIST_HEAD(&cl->lingering);
	gap_order_init(cl);
}

static struct gap_node *gap_tree_parent_node(struct gap_sched *q,
					     struct gap_class *cl)
{
	return cl->parent ? &cl->parent->node : &q->root;
}

static struct gap_class *gap_tree_first_timed(const struct gap_node *node)
{
	return rb_entry_safe(rb_first_cached(&node->timed), struct gap_class,
			     timed);
}

static bool gap_tree_node_is_empty(const struct gap_node *node)
{
	return RB_EMPTY_ROOT(&node->timed.rb_root) && list_empty(&node->free);
}

bool gap_tree_is_backlogged(const struct gap_class *cl)
{
	if (cl->qdisc)
		return cl->qdisc->q.qlen && list_empty(&cl->stalled) &&
		       !gap_order_waits(cl);
	return !gap_tree_node_is_empty(&cl->node);
}

/* Earliest time at which some child may send; the node is not empty. */
static u64 gap_tree_node_eligible(const struct gap_node *node)
{
	if (!list_empty(&node->free))
		return 0;
	return gap_tree_first_timed(node)->eligible;
}

static void gap_tree_unlink(struct gap_sched *q, struct gap_class *cl)
{
	if (!RB_EMPTY_NODE(&cl->timed)) {
		rb_erase_cached(&cl->timed, &gap_tree_parent_node(q, cl)->timed);
		RB_CLEAR_NODE(&cl->timed);
	}
	if (!list_empty(&cl->free))
		list_del_init(&cl->free);
}

static bool gap_tree_less(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct gap_class, timed)->eligible <
	       rb_entry(b, struct gap_class, timed)->eligible;
}

static void gap_tree_link_timed(struct gap_sched *q, struct gap_class *cl,
				u64 eligible)
{
	cl->eligible = eligible;
	rb_add_cached(&cl->timed, &gap_tree_parent_node(q, cl)->timed,
		      gap_tree_less);
}

static void gap_tree_link_free(struct gap_sched *q, struct gap_class *cl)
{
	list_add_tail(&cl->free, &gap_tree_parent_node(q, cl)->free);
}

/* Of a class with a rate and backlog. */
static u64 gap_tree_eligible(const struct gap_class *cl)
{
	if (cl->qdisc)
		return cl->pace.next;
	return max(cl->pace.next, gap_tree_node_eligible(&cl->node));
}

static void gap_tree_link(struct gap_sched *q, struct gap_class *cl)
{
	if (gap_class_is_limited(cl)) {
		gap_tree_link_timed(q, cl, gap_tree_eligible(cl));
	} else if (cl->qdisc) {
		gap_tree_link_free(q, cl);
	} else {
		/* passes on what its children are, which may be both */
		if (!RB_EMPTY_ROOT(&cl->node.timed.rb_root))
			gap_tree_link_timed(q, cl,
					    gap_tree_first_timed(&cl->node)->eligible);
		if (!list_empty(&cl->node.free))
			gap_tree_link_free(q, cl);
	}
}

/*
 * A class with a rate becomes eligible later.  Often, and always if it is
 * alone, it stays where it is among the others.
 */
static bool gap_tree_stays(struct gap_class *cl)
{
	struct rb_node *next;
	u64 eligible;

	if (RB_EMPTY_NODE(&cl->timed) || !gap_class_is_limited(cl) ||
	    !gap_tree_is_backlogged(cl))
		return false;
	eligible = gap_tree_eligible(cl);
	next = rb_next(&cl->timed);
	if (eligible < cl->eligible ||
	    (next && rb_entry(next, struct gap_class, timed)->eligible <= eligible))
		return false;
	cl->eligible = eligible;
	return true;
}

/* Put @cl and its ancestors where their backlog and schedules want them. */
void gap_tree_requeue(struct gap_sched *q, struct gap_class *cl)
{
	for (; cl; cl = cl->parent) {
		if (gap_tree_stays(cl))
			continue;
		gap_tree_unlink(q, cl);
		if (gap_tree_is_backlogged(cl))
			gap_tree_link(q, cl);
	}
}

/* A leaf got its first packet: it and ancestors that were idle start now. */
void gap_tree_activate(struct gap_sched *q, struct gap_class *cl)
{
	struct gap_class *c;

	if (gap_order_applies(cl) && !gap_order_take_turn(q, cl))
		return;
	for (c = cl; c; c = c->parent) {
		if (c != cl && !gap_tree_node_is_empty(&c->node))
			break;
		gap_pace_activate(&c->pace, q->clock.bytes);
	}
	gap_tree_requeue(q, cl);
}

/* A leaf has run empty, or is going away. */
void gap_tree_deactivate(struct gap_sched *q, struct gap_class *cl)
{
	list_del_init(&cl->stalled);
	gap_tree_unlink(q, cl);
	gap_tree_requeue(q, cl->parent);
	if (gap_order_applies(cl))
		gap_order_end_turn(q, cl);
}

/*
 * The child qdisc of a leaf has packets but gives none yet (netem, tbf): do
 * not ask again before the next dequeue, which its own timer will cause.
 */
void gap_tree_stall(struct gap_sched *q, struct gap_class *cl)
{
	list_move_tail(&cl->stalled, &q->stalled);
	gap_tree_requeue(q, cl);
}

void gap_tree_resume(struct gap_sched *q)
{
	struct gap_class *cl, *tmp;

	list_for_each_entry_safe(cl, tmp, &q->stalled, stalled) {
		list_del_init(&cl->stalled);
		gap_tree_activate(q, cl);
	}
}

/*
 * The leaf to serve now, or NULL.  With NULL, *@need is the number of
 * byte-times after which some leaf may send, or 0 when nothing is waiting.
 */
struct gap_class *gap_tree_pick(struct gap_sched *q, u64 *need)
{
	struct gap_node *node = &q->root;
	u64 now = q->clock.bytes;
	struct gap_class *cl;

	*need = 0;
	while (!gap_tree_node_is_empty(node)) {
		cl = gap_tree_first_timed(node);
		if (!cl || cl->eligible > now) {
			if (list_empty(&node->free)) {
				*need = cl->eligible - now;
				return NULL;
			}
			cl = list_first_entry(&node->free, struct gap_class,
					      free);
		}
		if (cl->qdisc)
			return cl;
		node = &cl->node;
	}
	return NULL;
}

/* Bucket of GAP_LATE_BUCKETS, see the uapi header. */
static unsigned int gap_tree_late_bucket(u64 late)
{
	return min_t(unsigned int, fls64(late), GAP_LATE_BUCKETS - 1);
}

/* A class with a schedule: the frame was due at @due as far as lower ones go. */
static void gap_tree_charge_limited(struct gap_sched *q, struct gap_class *cl,
				    u64 due, u32 wire)
{
	u64 now = q->clock.bytes;
	u64 late;

	/* an ancestor is late only while somebody below it wanted to send */
	gap_pace_activate(&cl->pace, due);
	late = now > cl->pace.next ? now - cl->pace.next : 0;
	cl->xstats.late[gap_tree_late_bucket(late)]++;
	cl->xstats.late_max_bytes = max(cl->xstats.late_max_bytes, late);
	trace_gap_release(cl->common.classid, wire, now, late);
	cl->xstats.credit_lost_bytes +=
		gap_pace_charge(&cl->pace, q->clock.link_rate, now, wire,
				q->credit_min);
}

/* @skb of leaf @cl, @wire byte-times long, starts now. */
void gap_tree_charge(struct gap_sched *q, struct gap_class *cl,
		     const struct sk_buff *skb, u32 wire)
{
	struct gap_class *c;
	u64 due = 0;

	for (c = cl; c; c = c->parent) {
		u64 own = max(c->pace.next, due);

		bstats_update(&c->bstats, skb);
		c->xstats.wire_bytes += wire;
		if (gap_class_is_limited(c))
			gap_tree_charge_limited(q, c, due, wire);
		else
			c->pace.next = q->clock.bytes + wire;
		due = own;
	}
	gap_tree_requeue(q, cl);
	if (gap_order_applies(cl) && !cl->qdisc->q.qlen)
		gap_order_end_turn(q, cl);
}

/* Forget all backlog; the classes' queues are empty. */
void gap_tree_reset(struct gap_sched *q)
{
	gap_tree_init_node(&q->root);
	INIT_LIST_HEAD(&q->stalled);
	INIT_LIST_HEAD(&q->lingering);
}
