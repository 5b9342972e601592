/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The classes of an instance that have packets, or children that wait for them, by the time at
 * which they may send next.
 */
#ifndef QDISC_HEAP_BPF_H
#define QDISC_HEAP_BPF_H

#include "qdisc_parts.bpf.h"

#define HEAP_LEVELS		12	/* of HEADWAY_QDISC_CLASSES */

#define DUE(heap, position)	((heap)->due[INDEX(position, HEADWAY_QDISC_CLASSES)])

static __always_inline int is_before(__u64 ticks, __u64 other)
{
	return (__s64)(ticks - other) < 0;
}

/* The verifier follows functions with a name of their own once, not for each call. */
__noinline int heap_add(struct headway_qdisc *q, struct qdisc_heap *heap, __u32 class, __u64 ticks)
{
	struct qdisc_queue *queue = q ? queue_of(q, class) : NULL;
	__u32 position, level;

	if (!queue || !heap)
		return 0;
	queue->state |= IN_HEAP;
	position = q->heap_count++;
	for (level = 0; level < HEAP_LEVELS && position; level++) {
		__u32 above = (position - 1) / 2;

		if (!is_before(ticks, DUE(heap, above).ticks))
			break;
		DUE(heap, position) = DUE(heap, above);
		position = above;
	}
	DUE(heap, position).ticks = ticks;
	DUE(heap, position).class = class;
	return 0;
}

/*
 * Puts the class in the place of the first, and then where it belongs.  Each turn chooses the
 * earlier one below without a jump, for the verifier would follow all ways through the turns.
 */
__noinline int heap_sift(struct qdisc_heap *heap, __u64 count, __u32 class, __u64 ticks)
{
	struct qdisc_due *here, *below;
	__u64 next = 1;
	__u32 level;

	if (!heap)
		return 0;
	here = &heap->due[0];
	for (level = 0; level < HEAP_LEVELS && next < count; level++) {
		below = &DUE(heap, next);
		next += (next + 1 - count) >> 63 & (below[1].ticks - below->ticks) >> 63;
		below = &DUE(heap, next);
		if (!is_before(below->ticks, ticks))
			break;
		*here = *below;
		here = below;
		next = 2 * next + 1;
	}
	here->ticks = ticks;
	here->class = class;
	return 0;
}

/* The first class may send next at @ticks. */
static __always_inline void heap_delay_first(const struct headway_qdisc *q, struct qdisc_heap *heap,
					     __u64 ticks)
{
	if (q->heap_count == 1)
		heap->due[0].ticks = ticks;
	else
		heap_sift(heap, q->heap_count, heap->due[0].class, ticks);
}

static __always_inline void heap_remove_first(struct headway_qdisc *q, struct qdisc_heap *heap,
					      struct qdisc_queue *queue)
{
	queue->state &= ~IN_HEAP;
	q->heap_count--;
	if (q->heap_count)
		heap_sift(heap, q->heap_count, DUE(heap, q->heap_count).class,
			  DUE(heap, q->heap_count).ticks);
}

/* When the class may send next, as far as it is known by its own clock. */
static __always_inline __u64 next_of(__u32 class, __u64 now)
{
	const struct headway_bpf_clock *clock = bpf_map_lookup_elem(&bpf_clocks, &class);

	return clock && class && is_ahead(clock->next_ticks, now) ? clock->next_ticks : now;
}

#endif /* QDISC_HEAP_BPF_H */
