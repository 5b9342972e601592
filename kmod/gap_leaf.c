// SPDX-License-Identifier: GPL-2.0
/*
 * The built-in leaf of a gap class; a grafted qdisc replaces it.
 *
 * Destinations take turns, a packet each, so that a burst to one receiver is
 * spread out by the traffic to all others: the receivers' switch ports see
 * no incast from one sender's queue order.  TCP ACKs without payload go
 * first, because a paced queue of data would otherwise delay the other
 * direction's clock.  Nothing else overtakes: a short data segment that
 * passes its own flow looks like a loss to the receiver.
 */
#include <linux/etherdevice.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/jhash.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <net/ip.h>

#include "gap_priv.h"

#define GAP_LEAF_LIMIT_PACKETS	10000	/* as fq: one TCP per core never gets there */
#define GAP_LEAF_IDLE_MAX	256	/* destinations remembered without packets */
#define GAP_LEAF_HASH_BITS	8

/* Compared and hashed as bytes: cleared before it is filled. */
struct gap_leaf_key {
	__be16	protocol;
	u8	addr[16];
};

struct gap_leaf_dest {
	struct gap_leaf_key	key;
	struct hlist_node	hash;
	struct list_head	list;		/* in turns or in idle */
	struct sk_buff_head	packets;
};

struct gap_leaf {
	struct sk_buff_head	acks;
	struct list_head	turns;		/* destinations with packets */
	struct list_head	idle;		/* without, oldest first */
	u32			idle_count;
	u32			turns_count;
	u64			acks_first;
	u32			seed;
	struct hlist_head	hash[1 << GAP_LEAF_HASH_BITS];
};

static bool gap_leaf_tcp_offset(struct sk_buff *skb, int *offset, int *len)
{
	int nhoff = skb_network_offset(skb);

	switch (skb_protocol(skb, true)) {
	case htons(ETH_P_IP): {
		struct iphdr _iph, *iph;

		iph = skb_header_pointer(skb, nhoff, sizeof(_iph), &_iph);
		if (!iph || iph->protocol != IPPROTO_TCP || ip_is_fragment(iph))
			return false;
		*offset = nhoff + iph->ihl * 4;
		*len = ntohs(iph->tot_len) - iph->ihl * 4;
		return true;
	}
	case htons(ETH_P_IPV6): {
		struct ipv6hdr _ip6h, *ip6h;

		ip6h = skb_header_pointer(skb, nhoff, sizeof(_ip6h), &_ip6h);
		if (!ip6h || ip6h->nexthdr != IPPROTO_TCP)
			return false;
		*offset = nhoff + sizeof(*ip6h);
		*len = ntohs(ip6h->payload_len);
		return true;
	}
	}
	return false;
}

static bool gap_leaf_is_pure_ack(struct sk_buff *skb)
{
	const __be32 other = TCP_FLAG_SYN | TCP_FLAG_FIN | TCP_FLAG_RST |
			     TCP_FLAG_URG;
	struct tcphdr _th, *th;
	int offset, len;

	if (!gap_leaf_tcp_offset(skb, &offset, &len))
		return false;
	th = skb_header_pointer(skb, offset, sizeof(_th), &_th);
	return th && (tcp_flag_word(th) & (TCP_FLAG_ACK | other)) == TCP_FLAG_ACK &&
	       len == th->doff * 4;
}

static void gap_leaf_fill_key(struct sk_buff *skb, struct gap_leaf_key *key)
{
	int nhoff = skb_network_offset(skb);

	memset(key, 0, sizeof(*key));
	key->protocol = skb_protocol(skb, true);
	switch (key->protocol) {
	case htons(ETH_P_IP):
		if (!skb_copy_bits(skb, nhoff + offsetof(struct iphdr, daddr),
				   key->addr, sizeof(struct in_addr)))
			return;
		break;
	case htons(ETH_P_IPV6):
		if (!skb_copy_bits(skb, nhoff + offsetof(struct ipv6hdr, daddr),
				   key->addr, sizeof(struct in6_addr)))
			return;
		break;
	}
	/* what is not IP is known by the station it goes to */
	key->protocol = 0;
	skb_copy_bits(skb, 0, key->addr, ETH_ALEN);
}

static void gap_leaf_forget(struct gap_leaf *q, struct gap_leaf_dest *dest)
{
	hlist_del(&dest->hash);
	list_del(&dest->list);
	q->idle_count--;
	kfree(dest);
}

static void gap_leaf_set_idle(struct gap_leaf *q, struct gap_leaf_dest *dest)
{
	list_move_tail(&dest->list, &q->idle);
	q->turns_count--;
	if (++q->idle_count > GAP_LEAF_IDLE_MAX)
		gap_leaf_forget(q, list_first_entry(&q->idle,
						    struct gap_leaf_dest, list));
}

static struct gap_leaf_dest *gap_leaf_get_dest(struct gap_leaf *q,
					       struct sk_buff *skb)
{
	struct gap_leaf_dest *dest;
	struct hlist_head *bucket;
	struct gap_leaf_key key;

	gap_leaf_fill_key(skb, &key);
	bucket = &q->hash[jhash(&key, sizeof(key), q->seed) >>
			  (32 - GAP_LEAF_HASH_BITS)];
	hlist_for_each_entry(dest, bucket, hash)
		if (!memcmp(&dest->key, &key, sizeof(key)))
			return dest;

	dest = kmalloc(sizeof(*dest), GFP_ATOMIC | __GFP_NOWARN);
	if (!dest)
		return NULL;
	dest->key = key;
	__skb_queue_head_init(&dest->packets);
	hlist_add_head(&dest->hash, bucket);
	list_add_tail(&dest->list, &q->idle);
	q->idle_count++;
	return dest;
}

static int gap_leaf_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			    struct sk_buff **to_free)
{
	struct gap_leaf *q = qdisc_priv(sch);
	struct gap_leaf_dest *dest;

	if (unlikely(sch->q.qlen >= sch->limit))
		return qdisc_drop(skb, sch, to_free);

	if (gap_leaf_is_pure_ack(skb)) {
		__skb_queue_tail(&q->acks, skb);
	} else {
		dest = gap_leaf_get_dest(q, skb);
		if (unlikely(!dest))
			return qdisc_drop(skb, sch, to_free);
		if (skb_queue_empty(&dest->packets)) {
			list_move_tail(&dest->list, &q->turns);
			q->idle_count--;
			q->turns_count++;
		}
		__skb_queue_tail(&dest->packets, skb);
	}
	qdisc_qstats_backlog_inc(sch, skb);
	sch->q.qlen++;
	return NET_XMIT_SUCCESS;
}

static struct sk_buff *gap_leaf_next_turn(struct gap_leaf *q)
{
	struct gap_leaf_dest *dest;
	struct sk_buff *skb;

	dest = list_first_entry_or_null(&q->turns, struct gap_leaf_dest, list);
	if (!dest)
		return NULL;
	skb = __skb_dequeue(&dest->packets);
	if (skb_queue_empty(&dest->packets))
		gap_leaf_set_idle(q, dest);
	else
		list_move_tail(&dest->list, &q->turns);
	return skb;
}

static struct sk_buff *gap_leaf_dequeue(struct Qdisc *sch)
{
	struct gap_leaf *q = qdisc_priv(sch);
	struct sk_buff *skb;

	skb = __skb_dequeue(&q->acks);
	if (!skb)
		skb = gap_leaf_next_turn(q);
	else if (!list_empty(&q->turns))
		q->acks_first++;
	if (!skb)
		return NULL;
	qdisc_bstats_update(sch, skb);
	qdisc_qstats_backlog_dec(sch, skb);
	sch->q.qlen--;
	return skb;
}

static void gap_leaf_reset(struct Qdisc *sch)
{
	struct gap_leaf *q = qdisc_priv(sch);
	struct gap_leaf_dest *dest, *tmp;

	__skb_queue_purge(&q->acks);
	list_for_each_entry_safe(dest, tmp, &q->turns, list) {
		__skb_queue_purge(&dest->packets);
		gap_leaf_set_idle(q, dest);
	}
	sch->qstats.backlog = 0;
	sch->q.qlen = 0;
}

static int gap_leaf_init(struct Qdisc *sch, struct nlattr *opt,
			 struct netlink_ext_ack *extack)
{
	struct gap_leaf *q = qdisc_priv(sch);

	sch->limit = GAP_LEAF_LIMIT_PACKETS;
	q->seed = get_random_u32();
	__skb_queue_head_init(&q->acks);
	INIT_LIST_HEAD(&q->turns);
	INIT_LIST_HEAD(&q->idle);
	return 0;
}

static void gap_leaf_destroy(struct Qdisc *sch)
{
	struct gap_leaf *q = qdisc_priv(sch);
	struct gap_leaf_dest *dest, *tmp;

	gap_leaf_reset(sch);
	list_for_each_entry_safe(dest, tmp, &q->idle, list)
		gap_leaf_forget(q, dest);
}

/* Not registered: it exists only below a gap class. */
struct Qdisc_ops gap_leaf_qdisc_ops __read_mostly = {
	.id		= "gap_leaf",
	.priv_size	= sizeof(struct gap_leaf),
	.enqueue	= gap_leaf_enqueue,
	.dequeue	= gap_leaf_dequeue,
	.peek		= qdisc_peek_dequeued,
	.init		= gap_leaf_init,
	.reset		= gap_leaf_reset,
	.destroy	= gap_leaf_destroy,
	.owner		= THIS_MODULE,
};

/* Adds nothing for a qdisc of another kind. */
void gap_leaf_fill_xstats(struct Qdisc *sch, struct tc_gap_class_xstats *xstats)
{
	struct gap_leaf *q = qdisc_priv(sch);

	if (sch->ops != &gap_leaf_qdisc_ops)
		return;
	xstats->acks_first = q->acks_first;
	xstats->destinations = q->turns_count;
}
