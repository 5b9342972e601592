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
#include "qdisc_heap.bpf.h"
#include "qdisc_queue.bpf.h"
#include "qdisc_told.h"

#define TRIES			16	/* classes that one packet looks at */
/* What a class makes up for: a timer that is so late, or a packet's time where that is longer. */
#define CREDIT_TICKS		TICKS(100000ULL)
#define NET_XMIT_SUCCESS	0
#define NET_XMIT_DROP		1

/* ------------------------------------------------------------------------- enqueueing */

/* What the classifier says of a packet. */
struct qdisc_told {
	__u32			minor;
	__u32			entry;
	__u32			wire_bytes;
	__u32			turn;
};

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
