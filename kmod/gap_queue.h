/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The queue of a class that has no qdisc of its own.
 *
 * Destinations take turns, a packet each, so that a burst to one receiver is
 * spread out by the traffic to all others: the receivers' switch ports see
 * no incast from one sender's queue order.  Those of one hash share a turn.
 *
 * TCP ACKs without payload go first while a rate holds up the class: behind its
 * data they would delay the clock of the other direction.  ACKs take no more wire
 * bytes than the data frame before them, so that data get half of the rate at least,
 * however much arrives.  Nothing else overtakes: a short data segment that passes
 * its own flow looks like a loss.
 *
 * A full queue makes room in the longest turn: whoever fills it loses packets, and
 * no one else does.
 *
 * TCP discards a segment as an attack if it acknowledges less than has been acknowledged
 * already, by more than a window (RFC 5961, 5.2).  Data that ACKs have overtaken come to
 * that, where much arrives while they wait at a low rate.  So they leave with the
 * acknowledgment of the last ACK that overtook them, and never with a larger window.
 */
#ifndef _GAP_QUEUE_H
#define _GAP_QUEUE_H

#include <linux/hash.h>
#include <linux/if_vlan.h>
#include <net/ipv6.h>
#include <net/tcp.h>

#include "gap_sched.h"

/* Destinations of one hash, and their packets, by skb->next. */
struct gap_turn {
	struct sk_buff		*head;
	struct sk_buff		*tail;
	struct list_head	list;		/* in the queue's turns, if it has packets */
	u32			qlen;
	/* The last ACK that overtook some of them: whose it was, and what it said. */
	const struct sock	*ack_sk;	/* never looked into; NULL: there was none */
	u32			ack_hash;	/* another socket may get the same memory */
	__be32			ack_seq;
	__be16			ack_window;
};

u32 gap_turn_key(const struct sk_buff *skb);

/* By the address, so that neighbours have turns of their own, else the station. */
static __always_inline u32 gap_turn_hash(const struct sk_buff *skb)
{
	if (likely(skb->protocol == htons(ETH_P_IP) &&
		   skb_network_header(skb) + sizeof(struct iphdr) <= skb_tail_pointer(skb)))
		return hash_32((__force u32)ip_hdr(skb)->daddr, GAP_TURN_BITS);
	return hash_32(gap_turn_key(skb), GAP_TURN_BITS);
}

void gap_turn_note_ack(struct gap_turn *turn, const struct sk_buff *skb);
void gap_turn_renew_ack(const struct gap_turn *turn, struct sk_buff *skb);

static __always_inline void
gap_turn_put(struct gap_queue *queue, struct gap_turn *turn, struct sk_buff *skb)
{
	if (turn->head) {
		turn->tail->next = skb;
	} else {
		turn->head = skb;
		list_add_tail(&turn->list, &queue->turns);
		queue->turns_count++;
	}
	turn->tail = skb;
	turn->qlen++;
	skb->next = NULL;
}

static __always_inline struct sk_buff *
gap_turn_get(struct gap_queue *queue, struct gap_turn *turn)
{
	struct sk_buff *skb = turn->head;

	turn->head = skb->next;
	turn->qlen--;
	skb_mark_not_on_list(skb);
	if (unlikely(turn->ack_sk)) {
		gap_turn_renew_ack(turn, skb);
		if (!turn->head)
			turn->ack_sk = NULL;
	}
	if (unlikely(!turn->head)) {
		list_del(&turn->list);
		queue->turns_count--;
	}
	return skb;
}

/* Takes a packet of the destination whose turn it is. */
static __always_inline struct sk_buff *gap_turn_get_next(struct gap_queue *queue)
{
	struct gap_turn *turn = list_first_entry(&queue->turns, struct gap_turn, list);
	struct sk_buff *skb = gap_turn_get(queue, turn);

	if (turn->head && queue->turns_count > 1)
		list_move_tail(&turn->list, &queue->turns);
	return skb;
}

static __always_inline void
gap_queue_count(struct gap_queue *queue, const struct sk_buff *skb, int packets)
{
	queue->backlog_bytes += packets * qdisc_pkt_len(skb);
	queue->qlen += packets;
}

/* Does a rate hold up the packets of the class, its own or that of a class above it? */
static inline bool gap_class_is_limited(const struct gap_class *cl)
{
	for (; cl; cl = cl->parent)
		if (gap_rate_is_limited(cl->charged))
			return true;
	return false;
}

struct sk_buff *gap_queue_evict(struct gap_queue *queue, const struct gap_turn *turn);

/*
 * Queue @skb.  Returns the packet that a full queue has no room for: another one, or
 * @skb itself, which is not queued then.
 */
static __always_inline struct sk_buff *
gap_queue_put(struct gap_class *cl, struct sk_buff *skb, u32 limit)
{
	bool is_ack = skb_is_tcp_pure_ack(skb) && gap_class_is_limited(cl);
	struct gap_queue *queue = &cl->queue;
	struct sk_buff *evicted = NULL;
	struct gap_turn *turn;

	turn = &queue->hashed[gap_turn_hash(skb)];
	if (unlikely(queue->qlen >= limit)) {
		evicted = gap_queue_evict(queue, is_ack ? NULL : turn);
		if (!evicted)
			return skb;
	}
	if (unlikely(is_ack)) {
		__skb_queue_tail(&queue->acks, skb);
		gap_turn_note_ack(turn, skb);
	} else {
		gap_turn_put(queue, turn, skb);
	}
	gap_queue_count(queue, skb, 1);
	return evicted;
}

/* What a packet is on the wire: byte-times, and frames, 1 where nobody has counted them. */
struct gap_on_wire {
	u32 bytes;
	u32 frames;
};

/*
 * A tag that the device will insert is on the wire all the same.  The core has counted the
 * headers of all frames of a GSO packet in qdisc_pkt_len().
 */
static __always_inline struct gap_on_wire gap_skb_on_wire(const struct sk_buff *skb)
{
	u32 tag_bytes = skb_vlan_tag_present(skb) ? VLAN_HLEN : 0;
	struct gap_on_wire wire = { .frames = 1 };

	if (likely(!skb_is_gso(skb))) {
		wire.bytes = gap_wire_bytes(skb->len + tag_bytes);
		return wire;
	}
	wire.frames = max_t(u32, skb_shinfo(skb)->gso_segs, 1);
	wire.bytes = qdisc_pkt_len(skb) + wire.frames * (tag_bytes + GAP_FRAME_OVERHEAD_BYTES);
	return wire;
}

/* The queue is not empty. */
static __always_inline struct sk_buff *
gap_queue_get(struct gap_queue *queue, struct gap_on_wire *wire)
{
	struct sk_buff *skb;

	if (likely(skb_queue_empty(&queue->acks)) ||
	    (queue->turns_count && queue->ack_room_bytes <= 0)) {
		skb = gap_turn_get_next(queue);
		*wire = gap_skb_on_wire(skb);
		queue->ack_room_bytes = wire->bytes;
	} else {
		skb = __skb_dequeue(&queue->acks);
		*wire = gap_skb_on_wire(skb);
		if (queue->turns_count) {
			queue->ack_room_bytes -= wire->bytes;
			queue->acks_first++;
		}
	}
	gap_queue_count(queue, skb, -1);
	return skb;
}

#endif /* _GAP_QUEUE_H */
