/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The packets of a class in an instance, and the slots that they lie in.
 *
 * Destinations take turns, a packet each.  TCP's pure ACKs go first, with no more wire bytes
 * than the data frame before them.
 */
#ifndef QDISC_QUEUE_BPF_H
#define QDISC_QUEUE_BPF_H

#include "qdisc_parts.bpf.h"

static __always_inline void append(__u32 *first, __u32 *last, __u32 slot)
{
	struct qdisc_slot *before;

	if (*first) {
		before = slot_at(*last);
		if (before)
			before->next = slot;
	} else {
		*first = slot;
	}
	*last = slot;
}

static __always_inline void turn_put(const struct headway_qdisc *q, struct qdisc_queue *queue,
				     __u32 class, __u32 turn, __u32 slot)
{
	struct qdisc_turn *here = turn_of(q, class, turn), *before;

	if (!here)
		return;
	append(&here->head, &here->tail, slot);
	if (here->qlen++)
		return;
	here->next = 0;
	before = queue->first_turn ? turn_of(q, class, queue->last_turn - 1) : NULL;
	if (before)
		before->next = turn + 1;
	else
		queue->first_turn = turn + 1;
	queue->last_turn = turn + 1;
}

/* Takes the first packet of the turn @here; it must have one. */
static __always_inline __u32 turn_take(struct qdisc_turn *here)
{
	__u32 slot = here->head;
	struct qdisc_slot *taken = slot_at(slot);

	here->head = taken ? taken->next : 0;
	here->qlen--;
	return slot;
}

/* Takes a packet of the destination whose turn it is, which is the last one then. */
static __always_inline __u32 turn_take_next(const struct headway_qdisc *q,
					    struct qdisc_queue *queue, __u32 class)
{
	__u32 turn = queue->first_turn - 1, slot;
	struct qdisc_turn *here = turn_of(q, class, turn), *last;

	if (!here)
		return 0;
	slot = turn_take(here);
	if (here->qlen && queue->first_turn == queue->last_turn)
		return slot;
	queue->first_turn = here->next;
	here->next = 0;
	if (!here->qlen)
		return slot;
	last = turn_of(q, class, queue->last_turn - 1);
	if (last)
		last->next = turn + 1;
	queue->last_turn = turn + 1;
	return slot;
}

static __always_inline int is_ack_next(const struct qdisc_queue *queue)
{
	return queue->first_ack && !(queue->first_turn && queue->ack_room_bytes <= 0);
}

/* The slot that the class sends next; it stays there. */
static __always_inline __u32 next_slot(const struct headway_qdisc *q,
				       const struct qdisc_queue *queue, __u32 class)
{
	const struct qdisc_turn *here;

	if (is_ack_next(queue))
		return queue->first_ack;
	here = queue->first_turn ? turn_of(q, class, queue->first_turn - 1) : NULL;
	return here ? here->head : 0;
}

static __always_inline void take_next(const struct headway_qdisc *q, struct qdisc_queue *queue,
				      __u32 class, const struct qdisc_slot *slot)
{
	queue->qlen--;
	if (!is_ack_next(queue)) {
		turn_take_next(q, queue, class);
		queue->ack_room_bytes = slot->wire_bytes;
		return;
	}
	queue->first_ack = slot->next;
	queue->acks--;
	if (queue->first_turn)
		queue->ack_room_bytes -= slot->wire_bytes;
}

/* ---------------------------------------------------------------------------- slots */

/* Returns a slot that holds nothing; 0: all hold packets. */
static __always_inline __u32 slot_new(struct headway_qdisc *q)
{
	__u32 slot = q->free_slot;
	struct qdisc_slot *taken;

	if (!slot)
		return q->used_slots < q->slot_count ? q->first_slot + q->used_slots++ : 0;
	taken = slot_at(slot);
	q->free_slot = taken ? taken->next : 0;
	return slot;
}

static __always_inline void slot_free(struct headway_qdisc *q, struct qdisc_slot *taken,
				      __u32 slot)
{
	taken->next = q->free_slot;
	q->free_slot = slot;
}

#endif /* QDISC_QUEUE_BPF_H */
