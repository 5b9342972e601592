// SPDX-License-Identifier: GPL-2.0
/*
 * Paces with a qdisc that is a BPF program itself (Linux 6.16 and later), where the module
 * of the qdisc gap is not there.
 *
 * The classifier at the device's egress tells the qdisc each packet's class, entry, length
 * on the wire and destination.  The qdisc holds packets until all classes on their way let
 * them go, and charges them then: so they leave at the rates of that moment.  As in gap,
 * destinations take turns within a class, and TCP's pure ACKs go first, with no more wire
 * bytes than the data before them.  A program can neither make nor cut packets: there are
 * no gap frames, and a GSO packet leaves whole.
 *
 * There may be an instance for each TX queue.  Each has its own packets, which the lock of
 * its qdisc guards; the clocks of the classes are common to all.
 *
 * An instance keeps its classes with packets in a heap, by the time at which they may send
 * next.  A class that a class above it holds up waits in a list of that one, which is in
 * the heap for it: so a packet costs the same however many classes wait for one parent.
 */
#include "pacing_classes.bpf.h"
#include "qdisc_told.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

/* The program reads these members of the kernel's structures, wherever they are there. */
struct qdisc_skb_cb {
	__u32			pkt_len;
	unsigned char		data[20];
} __attribute__((preserve_access_index));

struct sk_buff {
	char			cb[48];
} __attribute__((preserve_access_index));

/* clang 14 forgets the tag of a pointer to a structure that it knows by its own name */
typedef struct sk_buff		skb_type;

struct ns_common {
	__u32			inum;
} __attribute__((preserve_access_index));

struct net {
	struct ns_common	ns;
} __attribute__((preserve_access_index));

struct net_device {
	int			ifindex;
	struct {
		struct net	*net;
	} nd_net;
} __attribute__((preserve_access_index));

struct netdev_queue {
	struct net_device	*dev;
} __attribute__((preserve_access_index));

struct qdisc_skb_head {
	__u32			qlen;
} __attribute__((preserve_access_index));

struct gnet_stats_queue {
	__u32			backlog;
	__u32			drops;
	__u32			overlimits;
} __attribute__((preserve_access_index));

struct Qdisc {
	__u32			limit;
	struct netdev_queue	*dev_queue;
	struct qdisc_skb_head	q;
	struct gnet_stats_queue	qstats;
} __attribute__((preserve_access_index));

struct nlattr;
struct netlink_ext_ack;

struct bpf_sk_buff_ptr {
	struct sk_buff		*skb;
};

struct Qdisc_ops {
	char			id[16];
	int			(*enqueue)(struct sk_buff *skb, struct Qdisc *sch,
					   struct sk_buff **to_free);
	struct sk_buff *	(*dequeue)(struct Qdisc *sch);
	int			(*init)(struct Qdisc *sch, struct nlattr *arg,
					struct netlink_ext_ack *extack);
	void			(*reset)(struct Qdisc *sch);
	void			(*destroy)(struct Qdisc *sch);
} __attribute__((preserve_access_index));

extern void bpf_qdisc_skb_drop(struct sk_buff *skb, struct bpf_sk_buff_ptr *to_free) __ksym;
extern void bpf_kfree_skb(struct sk_buff *skb) __ksym;
extern void bpf_qdisc_watchdog_schedule(struct Qdisc *sch, __u64 expire, __u64 delta_ns) __ksym;
extern void bpf_qdisc_bstats_update(struct Qdisc *sch, const struct sk_buff *skb) __ksym;

/* Of all links by number, 0 is none. */
struct qdisc_slot {
	skb_type __kptr		*skb;
	__u32			next;
	__u32			wire_bytes;
	__u32			entry;
	__u32			unused;
};

/* Destinations of one hash, and their packets. */
struct qdisc_turn {
	__u32			head;
	__u32			tail;
	__u32			qlen;
	__u32			next;	/* of the class's turns with packets, and 1 */
};

/* The state of a class. */
#define IN_HEAP			1
#define IN_LIST			2	/* of those that wait at a class above */

/* A class in an instance, by the place of its clock; 0: the packets of no class. */
struct qdisc_queue {
	__u32			minor;
	__u32			state;
	__u32			qlen;
	__u32			first_turn;	/* and 1 */
	__u32			last_turn;
	__u32			first_ack;
	__u32			last_ack;
	__u32			acks;
	__s32			ack_room_bytes;	/* for ACKs before the next data */
	__u32			first_waiting;	/* children that it holds up, and 1 */
	__u32			last_waiting;
	__u32			next_waiting;	/* behind it at its parent, and 1 */
	__u64			since_ticks;	/* it has had packets */
};

/* What the classifier says of a packet. */
struct qdisc_told {
	__u32			minor;
	__u32			entry;
	__u32			wire_bytes;
	__u32			turn;
};

struct qdisc_due {
	__u64			ticks;
	__u32			class;
	__u32			unused;
};

struct qdisc_heap {
	struct qdisc_due	due[HEADWAY_QDISC_CLASSES + 1];	/* one has a neighbour always */
};

/* headwayd makes all of them as large as the device and the topology need. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct headway_qdisc);
} qdiscs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct qdisc_slot);
} qdisc_slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct qdisc_queue);
} qdisc_queues SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct qdisc_turn);
} qdisc_turns SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct qdisc_heap);
} qdisc_heaps SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct headway_qdisc_device);
} qdisc_device SEC(".maps");

#define TURN_BITS_MAX		7
#define HEAP_LEVELS		12
#define TRIES			16	/* classes that one packet looks at */
/* What a class makes up for: a timer that is so late, or a packet's time where that is longer. */
#define CREDIT_TICKS		TICKS(100000ULL)
#define NET_XMIT_SUCCESS	0
#define NET_XMIT_DROP		1

/* ------------------------------------------------------------ the parts of an instance */

static __always_inline struct headway_qdisc *qdisc(__u32 number)
{
	return bpf_map_lookup_elem(&qdiscs, &number);
}

static __always_inline struct qdisc_slot *slot_at(__u32 slot)
{
	return bpf_map_lookup_elem(&qdisc_slots, &slot);
}

static __always_inline struct qdisc_queue *queue_of(const struct headway_qdisc *q, __u32 class)
{
	__u32 index = q->first_queue + class;

	return bpf_map_lookup_elem(&qdisc_queues, &index);
}

static __always_inline struct qdisc_turn *turn_of(const struct headway_qdisc *q, __u32 class,
						  __u32 turn)
{
	__u32 index = ((q->first_queue + class) << q->turn_bits) + turn;

	return bpf_map_lookup_elem(&qdisc_turns, &index);
}

static __always_inline struct qdisc_heap *heap_of(__u32 number)
{
	return bpf_map_lookup_elem(&qdisc_heaps, &number);
}

#define DUE(heap, position)	((heap)->due[INDEX(position, HEADWAY_QDISC_CLASSES)])

static __always_inline int is_before(__u64 ticks, __u64 other)
{
	return (__s64)(ticks - other) < 0;
}

/* ------------------------------------------------------------------------- the heap */

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

/* ------------------------------------------------------------------ a class's packets */

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

/* ------------------------------------------------------------------------- enqueueing */

/* Queues the packet in @slot, as it was @told. */
static __always_inline void put(struct headway_qdisc *q, __u32 number, struct qdisc_slot *here,
				__u32 slot, const struct qdisc_told *told)
{
	struct qdisc_queue *queue, *longest = NULL;
	const volatile __u64 *place;
	__u32 class;

	place = bpf_map_lookup_elem(&bpf_places, &told->minor);
	class = place && told->minor ? HEADWAY_BPF_CLOCK_OF(*place) : 0;
	if (class >= q->queue_count)
		class = 0;
	queue = queue_of(q, class);
	if (!queue)
		return;
	here->next = 0;
	here->wire_bytes = told->wire_bytes;
	here->entry = told->entry;
	queue->minor = class ? told->minor : 0;
	if (told->turn == HEADWAY_TURN_ACK) {
		append(&queue->first_ack, &queue->last_ack, slot);
		queue->acks++;
	} else {
		turn_put(q, queue, class, told->turn & ((1U << (q->turn_bits & TURN_BITS_MAX)) - 1),
			 slot);
	}
	queue->qlen++;
	if (class != q->longest)
		longest = queue_of(q, q->longest);
	if (longest && queue->qlen > longest->qlen)
		q->longest = class;
	/* with packets before, it is in the heap or waits at a class that is */
	if (queue->qlen > 1)
		return;
	queue->since_ticks = TICKS(bpf_ktime_get_ns());
	if (!(queue->state & IN_HEAP))
		heap_add(q, heap_of(number), class, next_of(class, queue->since_ticks));
}

struct longest {
	__u32 number;
	__u32 class;
	__u32 turn;	/* and 1; 0: none has more than @most */
	__u32 most;
};

static long is_longer(__u32 turn, void *context)
{
	struct longest *longest = context;
	const struct headway_qdisc *q = qdisc(longest->number);
	const struct qdisc_turn *here = q ? turn_of(q, longest->class, turn) : NULL;

	if (here && here->qlen > longest->most) {
		longest->turn = turn + 1;
		longest->most = here->qlen;
	}
	return 0;
}

/*
 * All slots hold packets: takes the one that has waited longest from the longest turn of the
 * class that has most, or from its ACKs where those are more.  Returns its slot; 0: the
 * packet that comes now is the one to go.
 */
__noinline __u32 evict(__u32 number)
{
	struct longest longest = { number, 0, 0, 0 };
	struct headway_qdisc *q = qdisc(number);
	struct qdisc_queue *queue;
	struct qdisc_turn *here;
	struct qdisc_slot *first;
	__u32 slot;

	queue = q ? queue_of(q, q->longest) : NULL;
	if (!queue)
		return 0;
	longest.class = q->longest;
	longest.most = queue->acks;
	bpf_loop(1 << (q->turn_bits & TURN_BITS_MAX), is_longer, &longest, 0);
	/* the last one of a turn stays, for the turn's place among the others */
	if (longest.most < 2)
		return 0;
	here = longest.turn ? turn_of(q, q->longest, longest.turn - 1) : NULL;
	slot = here ? 0 : queue->first_ack;
	first = slot_at(slot);
	if (here) {
		slot = turn_take(here);
	} else if (first) {
		queue->first_ack = first->next;
		queue->acks--;
	}
	queue->qlen--;
	return slot;
}

static __always_inline struct qdisc_told told_of(const struct sk_buff *skb)
{
	const __u32 *words = (const __u32 *)((const struct qdisc_skb_cb *)skb->cb)->data;
	struct qdisc_told told = { 0, 0, 0, 0 };

	if (words[HEADWAY_TOLD_MAGIC] != HEADWAY_QDISC_MAGIC)
		return told;
	told.minor = words[HEADWAY_TOLD_CLASS];
	told.entry = words[HEADWAY_TOLD_ENTRY];
	told.wire_bytes = words[HEADWAY_TOLD_BYTES];
	told.turn = words[HEADWAY_TOLD_TURN];
	return told;
}

static __always_inline __u32 length_of(const struct sk_buff *skb)
{
	return ((const struct qdisc_skb_cb *)skb->cb)->pkt_len;
}

SEC("struct_ops/headway_enqueue")
int BPF_PROG(headway_enqueue, struct sk_buff *skb, struct Qdisc *sch,
	     struct bpf_sk_buff_ptr *to_free)
{
	const struct qdisc_told told = told_of(skb);
	struct headway_qdisc *q = qdisc(sch->limit);
	struct sk_buff *evicted;
	struct qdisc_slot *here;
	__u32 slot = 0;

	if (q) {
		slot = slot_new(q);
		if (!slot)
			slot = evict(sch->limit);
	}
	here = slot_at(slot);
	if (!q || !slot || !here) {
		sch->qstats.drops++;
		bpf_qdisc_skb_drop(skb, to_free);
		return NET_XMIT_DROP;
	}
	sch->q.qlen++;
	sch->qstats.backlog += length_of(skb);
	evicted = bpf_kptr_xchg(&here->skb, skb);
	if (evicted) {
		sch->q.qlen--;
		sch->qstats.backlog -= length_of(evicted);
		sch->qstats.drops++;
		bpf_qdisc_skb_drop(evicted, to_free);
	}
	put(q, sch->limit, here, slot, &told);
	return NET_XMIT_SUCCESS;
}

/* ------------------------------------------------------------------------- dequeueing */

/* The class is in the heap, if it has packets, or children that wait for it. */
static __always_inline void resume(struct headway_qdisc *q, struct qdisc_heap *heap, __u32 class,
				   __u64 now)
{
	const struct qdisc_queue *queue = queue_of(q, class);

	if (queue && !(queue->state & IN_HEAP) && (queue->qlen || queue->first_waiting))
		heap_add(q, heap, class, next_of(class, now));
}

/* Its next packet waits until q->until_ticks for a class above, q->blocker less 1. */
static __always_inline void hold(struct headway_qdisc *q, struct qdisc_heap *heap,
				 struct qdisc_queue *queue, __u32 class)
{
	struct qdisc_queue *above, *last;

	above = q->blocker ? queue_of(q, q->blocker - 1) : NULL;
	if (!above || (queue->state & IN_LIST))
		return;
	queue->state |= IN_LIST;
	queue->next_waiting = 0;
	last = above->first_waiting ? queue_of(q, above->last_waiting - 1) : NULL;
	if (!last) {
		above->first_waiting = class + 1;
		above->last_waiting = class + 1;
	} else if (q->parent == q->blocker) {	/* it is its turn still */
		queue->next_waiting = above->first_waiting;
		above->first_waiting = class + 1;
	} else {
		last->next_waiting = class + 1;
		above->last_waiting = class + 1;
	}
	if (!(above->state & IN_HEAP))
		heap_add(q, heap, q->blocker - 1, q->until_ticks);
}

/* Takes the first child that waits at the class: its number and 1. */
static __always_inline __u32 take_child(const struct headway_qdisc *q, struct qdisc_queue *queue)
{
	__u32 class = queue->first_waiting;
	struct qdisc_queue *child = queue_of(q, class - 1);

	if (!child)
		return 0;
	queue->first_waiting = child->next_waiting;
	child->state &= ~IN_LIST;
	return class;
}

/* Returns from when on the class's time may count: it saves nothing while it has no packets. */
static __always_inline __u64 earliest_start(const struct qdisc_queue *queue,
					    const struct level *levels, __u64 now)
{
	__u64 credit = CREDIT_TICKS, waited = now - queue->since_ticks;
	__u32 i;

#pragma unroll
	for (i = 0; i < HEADWAY_BPF_LEVELS && levels[i].clock; i++) {
		if (levels[i].cost_ticks > credit)
			credit = levels[i].cost_ticks;
	}
	return now - (waited < credit ? waited : credit);
}

/*
 * Charges the class's next packet to all classes on its way, if they let it go, and takes
 * it: the number of its slot, and q->until_ticks says when the next one may.  0: until then
 * the class q->blocker, less 1, does not, or it has none.  No class's clock starts before
 * all of them let the packet go, or a class would send in a burst what its parent had held
 * up.
 */
static __always_inline __u32 send(struct headway_qdisc *q, struct qdisc_queue *queue, __u32 class,
				  __u64 now_ns)
{
	struct level levels[HEADWAY_BPF_LEVELS];
	__u64 now = TICKS(now_ns), start, next;
	__u32 slot, minor, i, blocker = 0;
	struct qdisc_slot *here;
	int is_taken = 0;

	q->blocker = 0;
	slot = next_slot(q, queue, class);
	here = slot_at(slot);
	if (!slot || !here)
		return 0;
	minor = queue->minor;
	q->until_ticks = now;
#pragma unroll
	for (i = 0; i < HEADWAY_BPF_LEVELS; i++) {
		levels[i] = level_of(&minor, i ? 0 : here->entry, here->wire_bytes, now_ns);
		if (!levels[i].clock)
			break;
	}
	start = earliest_start(queue, levels, now);
#pragma unroll
	for (i = 0; i < HEADWAY_BPF_LEVELS && levels[i].clock; i++) {
		if (!levels[i].cost_ticks)
			continue;
		next = levels[i].clock->next_ticks;
		if (is_ahead(next, q->until_ticks)) {
			q->until_ticks = next;
			blocker = levels[i].index + 1;
		} else if (is_ahead(next, start)) {
			start = next;
		}
	}
	q->blocker = blocker;
	if (blocker)
		return 0;
#pragma unroll
	for (i = 0; i < HEADWAY_BPF_LEVELS; i++) {
		struct headway_bpf_clock *clock = levels[i].clock;

		if (!clock)
			break;
		if (levels[i].cost_ticks && !is_taken) {
			/* another processor may have been faster: then its packet goes first */
			next = clock->next_ticks;
			if (is_ahead(next, now) ||
			    __sync_val_compare_and_swap(&clock->next_ticks, next,
							start + levels[i].cost_ticks) != next) {
				q->blocker = class + 1;
				return 0;
			}
			is_taken = 1;
			if (!i && is_ahead(start + levels[i].cost_ticks, now))
				q->until_ticks = start + levels[i].cost_ticks;
		} else if (levels[i].cost_ticks) {
			take(clock, start, levels[i].cost_ticks);
		}
		count(clock, here->wire_bytes);
	}
	take_next(q, queue, class, here);
	return slot;
}

/*
 * Lets the class send, which is the first of the heap, or a child that waited there.
 * Returns the slot of its packet; 0: it may not yet.
 */
__noinline __u32 serve(struct headway_qdisc *q, struct qdisc_heap *heap, __u64 now_ns)
{
	struct qdisc_queue *top, *queue;
	__u64 now = TICKS(now_ns);
	__u32 class, slot;

	if (!q || !heap)
		return 0;
	class = heap->due[0].class;
	top = queue_of(q, class);
	if (!top)
		return 0;
	q->parent = 0;
	queue = top;
	if (top->first_waiting) {
		q->parent = class + 1;
		class = take_child(q, top) - 1;
		queue = queue_of(q, class);
		if (!queue)
			return 0;
		heap_remove_first(q, heap, top);
	}
	slot = send(q, queue, class, now_ns);
	if (!q->parent && (slot ? queue->qlen : q->blocker == class + 1)) {
		heap_delay_first(q, heap, q->until_ticks);
		return slot;
	}
	if (!q->parent)
		heap_remove_first(q, heap, top);
	if (slot || q->blocker == class + 1)
		resume(q, heap, class, now);
	else
		hold(q, heap, queue, class);
	if (q->parent)
		resume(q, heap, q->parent - 1, now);
	return slot;
}

/* Takes a packet that is due: its slot.  0: none is; q->until_ticks says when one will be. */
static __always_inline __u32 pick(struct headway_qdisc *q, struct qdisc_heap *heap, __u64 now_ns)
{
	__u32 tried, slot;

	for (tried = 0; tried < TRIES; tried++) {
		q->until_ticks = 0;
		if (!q->heap_count)
			return 0;
		if (is_before(TICKS(now_ns), heap->due[0].ticks)) {
			q->until_ticks = heap->due[0].ticks;
			return 0;
		}
		slot = serve(q, heap, now_ns);
		if (slot)
			return slot;
	}
	q->until_ticks = TICKS(now_ns) + 1;
	return 0;
}

SEC("struct_ops/headway_dequeue")
struct sk_buff *BPF_PROG(headway_dequeue, struct Qdisc *sch)
{
	struct headway_qdisc *q;
	struct qdisc_heap *heap;
	struct qdisc_slot *here;
	struct sk_buff *skb;
	__u64 now_ns;
	__u32 slot;

	if (!sch->q.qlen)
		return NULL;
	q = qdisc(sch->limit);
	heap = heap_of(sch->limit);
	if (!q || !heap)
		return NULL;
	now_ns = bpf_ktime_get_ns();
	slot = pick(q, heap, now_ns);
	here = slot_at(slot);
	if (!slot || !here) {
		if (!q->until_ticks)
			return NULL;
		sch->qstats.overlimits++;
		bpf_qdisc_watchdog_schedule(sch, now_ns + TICKS_TO_NS(q->until_ticks - TICKS(now_ns)),
					    0);
		return NULL;
	}
	skb = bpf_kptr_xchg(&here->skb, NULL);
	slot_free(q, here, slot);
	if (!skb)
		return NULL;
	sch->q.qlen--;
	sch->qstats.backlog -= length_of(skb);
	bpf_qdisc_bstats_update(sch, skb);
	return skb;
}

/* ------------------------------------------------------------------- coming and going */

struct search {
	__u32 number;
	__u32 is_found;
};

static long claim(__u32 number, void *context)
{
	struct headway_qdisc *q = qdisc(number);
	struct search *search = context;

	if (!q)
		return 1;
	if (__sync_val_compare_and_swap(&q->is_used, 0, 1))
		return 0;
	search->number = number;
	search->is_found = 1;
	return 1;
}

#define INSTANCES_MAX		4096
#define SLOTS_MAX		(1 << 20)
#define EINVAL			22
#define EBUSY			16

/* Others' devices, in whatever name space, get none. */
SEC("struct_ops/headway_init")
int BPF_PROG(headway_init, struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	const struct net_device *dev = sch->dev_queue->dev;
	const struct headway_qdisc_device *device;
	struct search search = { 0, 0 };
	const __u32 only = 0;

	device = bpf_map_lookup_elem(&qdisc_device, &only);
	if (!device || dev->ifindex != (int)device->ifindex ||
	    dev->nd_net.net->ns.inum != device->netns)
		return -EINVAL;
	bpf_loop(INSTANCES_MAX, claim, &search, 0);
	if (!search.is_found)
		return -EBUSY;
	sch->limit = search.number;
	return 0;
}

/* Drops a packet of the first class, or of a child that waited there. */
static long drop_one(__u32 turn, void *context)
{
	const __u32 number = ((struct search *)context)->number;
	struct qdisc_heap *heap = heap_of(number);
	struct headway_qdisc *q = qdisc(number);
	struct qdisc_queue *top, *queue;
	struct qdisc_slot *here;
	struct sk_buff *skb;
	__u32 class, parent, slot;

	if (!q || !heap || !q->heap_count)
		return 1;
	parent = heap->due[0].class;
	top = queue_of(q, parent);
	if (!top)
		return 1;
	class = top->first_waiting ? take_child(q, top) - 1 : parent;
	heap_remove_first(q, heap, top);
	queue = queue_of(q, class);
	slot = queue ? next_slot(q, queue, class) : 0;
	here = slot_at(slot);
	if (queue && slot && here) {
		take_next(q, queue, class, here);
		skb = bpf_kptr_xchg(&here->skb, NULL);
		slot_free(q, here, slot);
		if (skb)
			bpf_kfree_skb(skb);
	}
	resume(q, heap, class, 0);
	resume(q, heap, parent, 0);
	return 0;
}

SEC("struct_ops/headway_reset")
void BPF_PROG(headway_reset, struct Qdisc *sch)
{
	struct search search = { sch->limit, 1 };

	bpf_loop(SLOTS_MAX, drop_one, &search, 0);
	sch->q.qlen = 0;
	sch->qstats.backlog = 0;
}

/* The kernel has reset it. */
SEC("struct_ops/headway_destroy")
void BPF_PROG(headway_destroy, struct Qdisc *sch)
{
	struct headway_qdisc *q = qdisc(sch->limit);

	if (q)
		q->is_used = 0;
}

SEC(".struct_ops")
struct Qdisc_ops headway_qdisc = {
	.id = "headway",
	.enqueue = (void *)headway_enqueue,
	.dequeue = (void *)headway_dequeue,
	.init = (void *)headway_init,
	.reset = (void *)headway_reset,
	.destroy = (void *)headway_destroy,
};

/* ------------------------------------------------------------------------ classifying */

/* What packets to the same destination have in common. */
static __always_inline __u32 destination_of(const struct __sk_buff *skb)
{
	const void *data = (const void *)(long)skb->data;
	const void *end = (const void *)(long)skb->data_end;
	__u32 address = 0;

	if (skb->protocol == bpf_htons(ETH_P_IP)) {
		const struct iphdr *ip = data + ETH_HLEN;

		if ((const void *)(ip + 1) <= end)
			address = ip->daddr;
	} else if (skb->protocol == bpf_htons(ETH_P_IPV6)) {
		const struct ipv6hdr *ip = data + ETH_HLEN;

		if ((const void *)(ip + 1) <= end)
			address = ip->daddr.in6_u.u6_addr32[0] ^ ip->daddr.in6_u.u6_addr32[1] ^
				  ip->daddr.in6_u.u6_addr32[2] ^ ip->daddr.in6_u.u6_addr32[3];
	}
	return address * 0x9e3779b1u >> (32 - TURN_BITS_MAX);
}

/* Attached to the device's egress. */
SEC("tc")
int headway_bpf(struct __sk_buff *skb)
{
	__u32 minor = class_of(skb);

	skb->cb[HEADWAY_TOLD_MAGIC] = minor ? HEADWAY_QDISC_MAGIC : 0;
	if (!minor)
		return TC_ACT_UNSPEC;
	skb->cb[HEADWAY_TOLD_CLASS] = minor;
	skb->cb[HEADWAY_TOLD_ENTRY] = skb->tc_index;
	skb->cb[HEADWAY_TOLD_BYTES] = wire_bytes(skb);
	skb->cb[HEADWAY_TOLD_TURN] = is_pure_ack(skb) ? HEADWAY_TURN_ACK : destination_of(skb);
	return TC_ACT_OK;
}
