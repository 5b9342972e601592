/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The queue of a class that has no qdisc of its own.
 *
 * Destinations take turns, a packet each, so that a burst to one receiver is
 * spread out by the traffic to all others: the receivers' switch ports see
 * no incast from one sender's queue order.  Those of one hash share a turn.
 * TCP ACKs without payload go first in a class that is paced just now, whose
 * queue of data would otherwise delay the other direction's clock.  Nothing else
 * overtakes: a short data segment that passes its own flow looks like a loss.
 *
 * A segment that acknowledges less than what its receiver knows to be acknowledged,
 * by more than a window, is discarded there as an attack (RFC 5961, 5.2).  Data that
 * ACKs have overtaken come to that, where much arrives while they wait at a low
 * rate.  So they leave with the acknowledgment of the last ACK that overtook them.
 */
#ifndef _GAP_QUEUE_H
#define _GAP_QUEUE_H

#include <linux/etherdevice.h>
#include <linux/hash.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <net/tcp.h>

#include "gap_sched.h"

/* Destinations of one hash, and their packets, by skb->next. */
struct gap_turn {
	struct sk_buff		*head;
	struct sk_buff		*tail;
	struct list_head	list;		/* in the queue's turns, if it has packets */
	/* The last ACK that overtook some of them: whose it was, and what it said. */
	const struct sock	*ack_sk;	/* never looked into; NULL: there was none */
	__be32			ack_ports;	/* another socket may get the same memory */
	__be32			ack_seq;
};

/* By the address, so that neighbours have turns of their own, else the station. */
static __always_inline u32 gap_turn_hash(const struct sk_buff *skb)
{
	unsigned int offset = skb_network_offset(skb);
	__be16 protocol = skb_protocol(skb, true);
	u32 key = 0;

	if (likely(protocol == htons(ETH_P_IP) &&
		   offset + sizeof(struct iphdr) <= skb_headlen(skb)))
		key = (__force u32)ip_hdr(skb)->daddr;
	else if (protocol == htons(ETH_P_IPV6) &&
		 offset + sizeof(struct ipv6hdr) <= skb_headlen(skb))
		key = ipv6_addr_hash(&ipv6_hdr(skb)->daddr);
	else
		skb_copy_bits(skb, ETH_ALEN - sizeof(key), &key, sizeof(key));
	return hash_32(key, GAP_TURN_BITS);
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
		GAP_ADD(queue->turns_count, 1);
	}
	turn->tail = skb;
	skb->next = NULL;
}

/* Of the destination whose turn it is. */
static __always_inline struct sk_buff *gap_turn_get(struct gap_queue *queue)
{
	struct gap_turn *turn = list_first_entry(&queue->turns, struct gap_turn, list);
	struct sk_buff *skb = turn->head;

	turn->head = skb->next;
	skb_mark_not_on_list(skb);
	if (unlikely(turn->ack_sk)) {
		gap_turn_renew_ack(turn, skb);
		if (!turn->head)
			turn->ack_sk = NULL;
	}
	if (unlikely(!turn->head)) {
		list_del(&turn->list);
		GAP_ADD(queue->turns_count, -1);
	} else if (queue->turns_count > 1) {
		list_move_tail(&turn->list, &queue->turns);
	}
	return skb;
}

/* False: there is no room for it. */
static __always_inline bool gap_queue_put(struct gap_class *cl, struct sk_buff *skb)
{
	struct gap_queue *queue = &cl->queue;
	struct gap_turn *turn;

	if (unlikely(queue->qlen >= GAP_QUEUE_LIMIT_PACKETS))
		return false;
	if (unlikely(!queue->hashed))
		queue->hashed = kcalloc(1 << GAP_TURN_BITS, sizeof(struct gap_turn),
					GFP_ATOMIC | __GFP_NOWARN);
	if (unlikely(!queue->hashed))
		return false;
	turn = &queue->hashed[gap_turn_hash(skb)];
	if (skb_is_tcp_pure_ack(skb) && gap_rate_is_limited(cl->charged)) {
		__skb_queue_tail(&queue->acks, skb);
		gap_turn_note_ack(turn, skb);
	} else {
		gap_turn_put(queue, turn, skb);
	}
	GAP_ADD(queue->backlog_bytes, qdisc_pkt_len(skb));
	GAP_ADD(queue->qlen, 1);
	return true;
}

/* The queue is not empty. */
static __always_inline struct sk_buff *gap_queue_get(struct gap_queue *queue)
{
	struct sk_buff *skb;

	if (unlikely(!skb_queue_empty(&queue->acks))) {
		skb = __skb_dequeue(&queue->acks);
		GAP_ADD(queue->acks_first, !!queue->turns_count);
	} else {
		skb = gap_turn_get(queue);
	}
	GAP_ADD(queue->backlog_bytes, -qdisc_pkt_len(skb));
	GAP_ADD(queue->qlen, -1);
	return skb;
}

#endif /* _GAP_QUEUE_H */
