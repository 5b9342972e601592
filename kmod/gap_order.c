// SPDX-License-Identifier: GPL-2.0
/*
 * Ordered classes: children that are the phases of one traffic.
 *
 * When a program goes from one phase to another, its next packet belongs to
 * another class but to the same flow.  Were the two classes served as rivals,
 * it could overtake packets of the phase before, and TCP would take that for a
 * loss.  So below an ordered class one child has the turn and the others wait,
 * in the order in which they got their backlog.
 *
 * A program leaves a phase while the tail of its data still waits in the
 * class, or has yet to come out of the socket.  So packets for a laxer child
 * join the stricter one as long as that has packets, but for no longer than
 * the class lingers.  Packets for a stricter child never wait to be paced.
 *
 * The schedule goes with the turn: what is left of the interval after the last
 * child's last packet is waited for, in the proportion of the two rates, as if
 * one class had changed its rate.
 *
 * A child that gets packets while a later one waits for its turn appends them
 * to those it has; flows of that phase may be reordered then.
 *
 * Several programs whose packets a filter tells apart each have a group of the
 * children: all of the above is among those of one group, and groups are
 * rivals.
 */
#include "gap_priv.h"

void gap_order_init(struct gap_class *cl)
{
	unsigned int i;

	for (i = 0; i <= GAP_GROUP_MAX; i++) {
		INIT_LIST_HEAD(&cl->turns[i].waiting);
		cl->turns[i].last = NULL;
		cl->turns[i].join_until_ns = 0;
	}
	INIT_LIST_HEAD(&cl->turn);
}

/* Where a child of an ordered class takes its turn. */
static struct gap_turns *gap_order_turns(const struct gap_class *cl)
{
	return &cl->parent->turns[cl->group];
}

static struct gap_class *gap_order_newest(const struct gap_turns *turns)
{
	return list_last_entry(&turns->waiting, struct gap_class, turn);
}

/* A leaf below an ordered class: the child whose queue the next packet joins. */
struct gap_class *gap_order_choose(struct gap_class *cl)
{
	struct gap_turns *turns = gap_order_turns(cl);
	struct gap_class *newest;
	u64 now_ns;

	if (list_empty(&turns->waiting))
		goto own;
	newest = gap_order_newest(turns);
	if (newest == cl || cl->pace.rate <= newest->pace.rate)
		goto own;
	now_ns = ktime_get_ns();
	if (!turns->join_until_ns)
		turns->join_until_ns = now_ns + cl->parent->ordered_ns;
	if (now_ns >= turns->join_until_ns)
		goto own;
	newest->xstats.joined++;
	return newest;
own:
	turns->join_until_ns = 0;
	return cl;
}

/* @cl takes over the schedule of the child that had the turn before. */
static void gap_order_take_over(struct gap_sched *q, struct gap_class *cl)
{
	struct gap_turns *turns = gap_order_turns(cl);
	struct gap_class *last = turns->last;
	struct gap_pace pace;

	if (last == cl)
		return;
	turns->last = cl;
	if (!last)
		return;
	cl->xstats.turns++;
	pace = last->pace;
	gap_pace_set_rate(&pace, cl->pace.rate, q->clock.bytes);
	gap_pace_activate(&cl->pace, pace.next);
}

/* @cl has packets.  True if it may send them now, false if others go first. */
bool gap_order_take_turn(struct gap_sched *q, struct gap_class *cl)
{
	if (list_empty(&cl->turn))
		list_add_tail(&cl->turn, &gap_order_turns(cl)->waiting);
	if (gap_order_waits(cl))
		return false;
	gap_order_take_over(q, cl);
	return true;
}

/* @cl has run empty, or is going away: the next one's turn. */
void gap_order_end_turn(struct gap_sched *q, struct gap_class *cl)
{
	struct gap_turns *turns = gap_order_turns(cl);
	bool had_turn;

	if (list_empty(&cl->turn))
		return;
	had_turn = !gap_order_waits(cl);
	list_del_init(&cl->turn);
	if (list_empty(&turns->waiting))
		turns->join_until_ns = 0;
	else if (had_turn)
		gap_tree_activate(q, list_first_entry(&turns->waiting,
						      struct gap_class, turn));
}

/* @cl is about to be freed, or to have its turns elsewhere. */
void gap_order_forget(struct gap_class *cl)
{
	if (cl->parent && gap_order_turns(cl)->last == cl)
		gap_order_turns(cl)->last = NULL;
}

/*
 * Tree lock held.  With packets it queues behind those of its new group, so
 * that what it has and what follows stay in order.
 */
void gap_order_set_group(struct gap_sched *q, struct gap_class *cl, u32 group)
{
	bool waited = !list_empty(&cl->turn);

	if (group == cl->group)
		return;
	if (waited)
		gap_order_end_turn(q, cl);
	gap_order_forget(cl);
	cl->group = group;
	if (waited && !gap_order_take_turn(q, cl))
		gap_tree_requeue(q, cl);
	else if (waited)
		gap_tree_activate(q, cl);
}

/* Those that wait become rivals of the ones that have the turn. */
static void gap_order_release(struct gap_sched *q, struct gap_class *parent)
{
	struct gap_class *cl, *tmp;
	unsigned int i;

	for (i = 0; i <= GAP_GROUP_MAX; i++) {
		struct gap_turns *turns = &parent->turns[i];

		list_for_each_entry_safe(cl, tmp, &turns->waiting, turn) {
			list_del_init(&cl->turn);
			gap_tree_activate(q, cl);
		}
		turns->last = NULL;
		turns->join_until_ns = 0;
	}
}

/* Rivals wait for each other from now on, in any order. */
static void gap_order_line_up(struct gap_sched *q, struct gap_class *parent)
{
	struct gap_class *cl;
	unsigned int i;

	for (i = 0; i < q->clhash.hashsize; i++)
		hlist_for_each_entry(cl, &q->clhash.hash[i], common.hnode) {
			if (cl->parent != parent || !cl->qdisc->q.qlen)
				continue;
			if (!gap_order_take_turn(q, cl))
				gap_tree_requeue(q, cl);
		}
}

/* Tree lock held; @linger_ns 0: not ordered. */
void gap_order_set(struct gap_sched *q, struct gap_class *parent, u64 linger_ns)
{
	bool was_ordered = parent->ordered_ns;

	parent->ordered_ns = linger_ns;
	if (was_ordered && !linger_ns)
		gap_order_release(q, parent);
	else if (!was_ordered && linger_ns)
		gap_order_line_up(q, parent);
}

/* An ordered class orders leaves: have the children of @parent none? */
bool gap_order_fits(struct gap_sched *q, const struct gap_class *parent)
{
	const struct gap_class *cl;
	unsigned int i;

	for (i = 0; i < q->clhash.hashsize; i++)
		hlist_for_each_entry(cl, &q->clhash.hash[i], common.hnode)
			if (cl->parent == parent && cl->children)
				return false;
	return true;
}
