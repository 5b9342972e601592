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
#include <linux/hash.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <net/ip.h>

#include "gap_priv.h"

#define GAP_LEAF_LIMIT_PACKETS	10000	/* as fq: one TCP per core never gets there */
#define GAP_LEAF_IDLE_MAX	256	/* destinations remembered without packets */
#define GAP_LEAF_HASH_BITS	8
#define GAP_LEAF_ACK_MAX_BYTES	(60 + 60)	/* longest IPv4 and TCP headers */

/*
 * Where a packet goes: an IPv6 address, an IPv4 address mapped into IPv6
 * (::ffff:0:0/96), or what is no IPv6 address of anybody and the station.
 */
struct gap_leaf_key {
	u64	high;
	u64	low;
};

#define GAP_LEAF_KEY_MAPPED	0xffff00000000ULL	/* low, above an IPv4 address */
#define GAP_LEAF_KEY_STATION	1ULL			/* high, with a MAC address */

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
	struct gap_leaf_dest	*last;		/* the one looked up last, or NULL */
	u32			idle_count;
	u32			turns_count;
	u64			acks_first;
	u64			seed;
	struct hlist_head	hash[1 << GAP_LEAF_HASH_BITS];
};

/* ---- what is in a packet -------------------------------------------------- */

/* Is the TCP segment of @len bytes at @offset an acknowledgment, no more? */
static bool gap_leaf_is_ack(struct sk_buff *skb, int offset, int len)
{
	const __be32 other = TCP_FLAG_SYN | TCP_FLAG_FIN | TCP_FLAG_RST |
			     TCP_FLAG_URG;
	struct tcphdr _th, *th;

	th = skb_header_pointer(skb, offset, sizeof(_th), &_th);
	return th && (tcp_flag_word(th) & (TCP_FLAG_ACK | other)) == TCP_FLAG_ACK &&
	       len == th->doff * 4;
}

/* No headers are longer, so a longer packet carries data. */
static bool gap_leaf_may_be_ack(const struct sk_buff *skb, int nhoff)
{
	return skb->len <= nhoff + GAP_LEAF_ACK_MAX_BYTES;
}

static bool gap_leaf_read_ipv4(struct sk_buff *skb, struct gap_leaf_key *key,
			       bool *ack)
{
	int nhoff = skb_network_offset(skb);
	struct iphdr _iph, *iph;

	iph = skb_header_pointer(skb, nhoff, sizeof(_iph), &_iph);
	if (unlikely(!iph))
		return false;
	key->high = 0;
	key->low = GAP_LEAF_KEY_MAPPED | (__force u32)iph->daddr;
	*ack = gap_leaf_may_be_ack(skb, nhoff) &&
	       iph->protocol == IPPROTO_TCP && !ip_is_fragment(iph) &&
	       gap_leaf_is_ack(skb, nhoff + iph->ihl * 4,
			       ntohs(iph->tot_len) - iph->ihl * 4);
	return true;
}

static bool gap_leaf_read_ipv6(struct sk_buff *skb, struct gap_leaf_key *key,
			       bool *ack)
{
	int nhoff = skb_network_offset(skb);
	struct ipv6hdr _ip6h, *ip6h;

	ip6h = skb_header_pointer(skb, nhoff, sizeof(_ip6h), &_ip6h);
	if (unlikely(!ip6h))
		return false;
	memcpy(key, &ip6h->daddr, sizeof(*key));
	*ack = gap_leaf_may_be_ack(skb, nhoff) &&
	       ip6h->nexthdr == IPPROTO_TCP &&
	       gap_leaf_is_ack(skb, nhoff + sizeof(*ip6h),
			       ntohs(ip6h->payload_len));
	return true;
}

/* What is not IP is known by the station it goes to. */
static void gap_leaf_read_station(struct sk_buff *skb, struct gap_leaf_key *key)
{
	key->high = GAP_LEAF_KEY_STATION;
	key->low = 0;
	skb_copy_bits(skb, 0, &key->low, ETH_ALEN);
}

/* Where @skb goes; true if it is a TCP acknowledgment without payload. */
static bool gap_leaf_read(struct sk_buff *skb, struct gap_leaf_key *key)
{
	__be16 protocol = skb->protocol;
	bool ack;

	BUILD_BUG_ON(sizeof(*key) != sizeof(struct in6_addr));
	if (unlikely(eth_type_vlan(protocol)))
		protocol = skb_protocol(skb, true);
	if (protocol == htons(ETH_P_IP) && gap_leaf_read_ipv4(skb, key, &ack))
		return ack;
	if (protocol == htons(ETH_P_IPV6) && gap_leaf_read_ipv6(skb, key, &ack))
		return ack;
	gap_leaf_read_station(skb, key);
	return false;
}

/* ---- destinations ----------------------------------------------------------- */

static bool gap_leaf_key_equal(const struct gap_leaf_key *a,
			       const struct gap_leaf_key *b)
{
	return a->low == b->low && a->high == b->high;
}

static struct hlist_head *gap_leaf_bucket(struct gap_leaf *q,
					  const struct gap_leaf_key *key)
{
	u64 mixed = (key->high ^ q->seed) * GOLDEN_RATIO_64;

	return &q->hash[hash_64(mixed ^ key->low ^ q->seed, GAP_LEAF_HASH_BITS)];
}

static void gap_leaf_forget(struct gap_leaf *q, struct gap_leaf_dest *dest)
{
	hlist_del(&dest->hash);
	list_del(&dest->list);
	q->idle_count--;
	if (q->last == dest)
		q->last = NULL;
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

static struct gap_leaf_dest *gap_leaf_new_dest(struct gap_leaf *q,
					       const struct gap_leaf_key *key)
{
	struct gap_leaf_dest *dest;

	dest = kmalloc(sizeof(*dest), GFP_ATOMIC | __GFP_NOWARN);
	if (!dest)
		return NULL;
	dest->key = *key;
	__skb_queue_head_init(&dest->packets);
	hlist_add_head(&dest->hash, gap_leaf_bucket(q, key));
	list_add_tail(&dest->list, &q->idle);
	q->idle_count++;
	return dest;
}

static struct gap_leaf_dest *gap_leaf_find_dest(struct gap_leaf *q,
						const struct gap_leaf_key *key)
{
	struct gap_leaf_dest *dest;

	if (q->last && gap_leaf_key_equal(&q->last->key, key))
		return q->last;
	hlist_for_each_entry(dest, gap_leaf_bucket(q, key), hash)
		if (gap_leaf_key_equal(&dest->key, key))
			goto found;
	dest = gap_leaf_new_dest(q, key);
found:
	q->last = dest;
	return dest;
}

/* ---- the qdisc -------------------------------------------------------------- */

static bool gap_leaf_queue(struct gap_leaf *q, struct sk_buff *skb)
{
	struct gap_leaf_dest *dest;
	struct gap_leaf_key key;

	if (gap_leaf_read(skb, &key)) {
		__skb_queue_tail(&q->acks, skb);
		return true;
	}
	dest = gap_leaf_find_dest(q, &key);
	if (unlikely(!dest))
		return false;
	if (skb_queue_empty(&dest->packets)) {
		list_move_tail(&dest->list, &q->turns);
		q->idle_count--;
		q->turns_count++;
	}
	__skb_queue_tail(&dest->packets, skb);
	return true;
}

static int gap_leaf_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			    struct sk_buff **to_free)
{
	if (unlikely(sch->q.qlen >= sch->limit) ||
	    unlikely(!gap_leaf_queue(qdisc_priv(sch), skb)))
		return qdisc_drop(skb, sch, to_free);
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
	else if (!list_is_singular(&q->turns))
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
	/* packets and bytes are counted by the class */
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
	q->seed = get_random_u64();
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
