// SPDX-License-Identifier: GPL-2.0
/*
 * The rare cases of a class's queue: no plain IPv4, it is full, or data have been overtaken.
 */
#include "gap_queue.h"

/* What packets to the same destination have in common. */
u32 gap_turn_key(const struct sk_buff *skb)
{
	unsigned int offset = skb_network_offset(skb);
	__be16 protocol = skb_protocol(skb, true);
	u32 key = 0;

	if (protocol == htons(ETH_P_IP) && offset + sizeof(struct iphdr) <= skb_headlen(skb))
		return (__force u32)ip_hdr(skb)->daddr;
	if (protocol == htons(ETH_P_IPV6) && offset + sizeof(struct ipv6hdr) <= skb_headlen(skb))
		return ipv6_addr_hash(&ipv6_hdr(skb)->daddr);
	skb_copy_bits(skb, ETH_ALEN - sizeof(key), &key, sizeof(key));
	return key;
}

/*
 * Take the packet that has waited longest from the longest turn, or from the ACKs where
 * those are more.  NULL if the longest is @turn: then the packet that comes now, and that
 * its sender learns to be dropped, is the one to go.  @turn is NULL for an ACK.
 */
struct sk_buff *gap_queue_evict(struct gap_queue *queue, const struct gap_turn *turn)
{
	u32 most = skb_queue_len(&queue->acks);
	struct gap_turn *longest = NULL, *other;
	struct sk_buff *skb;

	list_for_each_entry(other, &queue->turns, list) {
		if (other->qlen > most || (other->qlen == most && other == turn)) {
			most = other->qlen;
			longest = other;
		}
	}
	if (longest && longest == turn)
		return NULL;
	skb = longest ? gap_turn_get(queue, longest) : __skb_dequeue(&queue->acks);
	gap_queue_count(queue, skb, -1);
	return skb;
}

static bool gap_is_own_tcp(const struct sk_buff *skb)
{
	__be16 protocol = skb_protocol(skb, true);

	if (!skb->sk || !skb_transport_header_was_set(skb) ||
	    skb_transport_offset(skb) + sizeof(struct tcphdr) > skb_headlen(skb))
		return false;
	return (protocol == htons(ETH_P_IP) && ip_hdr(skb)->protocol == IPPROTO_TCP &&
		!ip_is_fragment(ip_hdr(skb))) ||
	       (protocol == htons(ETH_P_IPV6) && ipv6_hdr(skb)->nexthdr == IPPROTO_TCP);
}

/* An ACK overtakes what waits there. */
void gap_turn_note_ack(struct gap_turn *turn, const struct sk_buff *skb)
{
	if (!turn->head || !gap_is_own_tcp(skb))
		return;
	turn->ack_sk = skb->sk;
	turn->ack_hash = skb->hash;
	turn->ack_seq = tcp_hdr(skb)->ack_seq;
	turn->ack_window = tcp_hdr(skb)->window;
}

/* Not where options may sign the header. */
void gap_turn_renew_ack(const struct gap_turn *turn, struct sk_buff *skb)
{
	struct tcphdr *th;

	if (skb->sk != turn->ack_sk || skb->hash != turn->ack_hash || !gap_is_own_tcp(skb))
		return;
	th = tcp_hdr(skb);
	if (!th->ack || th->doff * 4 > sizeof(*th) + TCPOLEN_TSTAMP_ALIGNED ||
	    !before(ntohl(th->ack_seq), ntohl(turn->ack_seq)))
		return;
	if (skb_ensure_writable(skb, skb_transport_offset(skb) + sizeof(*th)))
		return;
	th = tcp_hdr(skb);
	inet_proto_csum_replace4(&th->check, skb, th->ack_seq, turn->ack_seq, false);
	th->ack_seq = turn->ack_seq;
	/* the old window would begin at the new acknowledgment, and end too late */
	if (ntohs(th->window) > ntohs(turn->ack_window)) {
		inet_proto_csum_replace2(&th->check, skb, th->window, turn->ack_window, false);
		th->window = turn->ack_window;
	}
}
