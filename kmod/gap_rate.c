// SPDX-License-Identifier: GPL-2.0
/*
 * Rates of classes: changed at once, or when the class has run empty; and the
 * sums by which an administrator sees that classes ask for more than there is.
 */
#include "gap_compat.h"
#include "gap_priv.h"

/* ---- sums ------------------------------------------------------------------ */

static u64 *gap_rate_sum(struct gap_sched *q, struct gap_class *parent)
{
	return parent ? &parent->children_rate : &q->children_rate;
}

/* @cl counts among its parent's children from now on. */
void gap_rate_add(struct gap_sched *q, struct gap_class *cl)
{
	if (gap_class_is_limited(cl))
		*gap_rate_sum(q, cl->parent) += cl->pace.rate;
}

void gap_rate_remove(struct gap_sched *q, struct gap_class *cl)
{
	if (gap_class_is_limited(cl))
		*gap_rate_sum(q, cl->parent) -= cl->pace.rate;
}

/* What is enforced on @cl: the least on its way; UNLIMITED if nothing is. */
u64 gap_rate_effective(const struct gap_sched *q, const struct gap_class *cl)
{
	u64 rate = q->speed_known ? q->clock.link_rate : GAP_RATE_UNLIMITED;

	for (; cl; cl = cl->parent)
		rate = min(rate, cl->pace.rate);
	return rate;
}

/* Finest step of the back end in use, in byte-times. */
u32 gap_rate_quantum(const struct gap_sched *q)
{
	if (!q->timed)
		return GAP_SLOT_MIN_BYTES;
	return max_t(u64, 1, gap_clock_ns_to_bytes(&q->clock, 1));
}

/* Tell who made the request if the children of @parent ask for too much. */
void gap_rate_warn(const struct gap_sched *q, const struct gap_class *parent,
		   struct netlink_ext_ack *extack)
{
	u64 sum = parent ? parent->children_rate : q->children_rate;
	u64 limit = gap_rate_effective(q, parent);

	if (parent && parent->ordered_ns)
		return;		/* its children take turns */
	if (sum > limit)
		gap_set_warning(extack,
				"classes ask for more wire bytes per second than their parent has; compare the sums in the dump",
				"classes ask for %llu wire bytes/s, their parent has %llu",
				sum, limit);
}

/* The highest rate that a class has or may get, 0 if all are unlimited. */
u64 gap_rate_fastest(const struct gap_sched *q)
{
	const struct gap_class *cl;
	u64 fastest = 0;
	unsigned int i;

	for (i = 0; i < q->clhash.hashsize; i++)
		hlist_for_each_entry(cl, &q->clhash.hash[i], common.hnode) {
			if (gap_class_is_limited(cl))
				fastest = max(fastest, cl->pace.rate);
			if (gap_class_is_lingering(cl) &&
			    cl->next_rate != GAP_RATE_UNLIMITED)
				fastest = max(fastest, cl->next_rate);
		}
	return fastest;
}

/* ---- changes; tree lock held ------------------------------------------------- */

static void gap_rate_store(struct gap_sched *q, struct gap_class *cl, u64 rate)
{
	gap_rate_remove(q, cl);
	gap_pace_set_rate(&cl->pace, rate, q->clock.bytes);
	gap_rate_add(q, cl);
}

void gap_rate_set(struct gap_sched *q, struct gap_class *cl, u64 rate)
{
	list_del_init(&cl->lingering);
	if (rate == cl->pace.rate)
		return;
	/* while a timer waits nobody else moves the clock */
	gap_backend_settle_clock(q);
	gap_rate_store(q, cl, rate);
	gap_tree_requeue(q, cl);
}

/* A reset empties the class; the tree it was in is about to be forgotten. */
void gap_rate_reset(struct gap_sched *q, struct gap_class *cl)
{
	if (gap_class_is_lingering(cl))
		gap_rate_store(q, cl, cl->next_rate);
}

/* Let a waiting rate take effect once the class is empty or out of time. */
static void gap_rate_end_linger(struct gap_sched *q, struct gap_class *cl)
{
	if (!gap_tree_is_backlogged(cl) ||
	    ktime_get_ns() >= cl->next_deadline_ns)
		gap_rate_set(q, cl, cl->next_rate);
}

void gap_rate_end_lingers(struct gap_sched *q)
{
	struct gap_class *cl, *tmp;

	list_for_each_entry_safe(cl, tmp, &q->lingering, lingering)
		gap_rate_end_linger(q, cl);
}

/* @linger_ns 0: now. */
void gap_rate_set_later(struct gap_sched *q, struct gap_class *cl, u64 rate,
			u64 linger_ns)
{
	/* an earlier one may have come to its end with no packet to see it */
	gap_rate_end_lingers(q);
	if (!linger_ns) {
		gap_rate_set(q, cl, rate);
		return;
	}
	cl->next_rate = rate;
	cl->next_deadline_ns = ktime_get_ns() + linger_ns;
	list_move_tail(&cl->lingering, &q->lingering);
	gap_rate_end_linger(q, cl);
}
