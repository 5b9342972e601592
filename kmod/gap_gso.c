// SPDX-License-Identifier: GPL-2.0
/*
 * GSO packets, in which the kernel hands over many frames at once: those within the
 * class's burst stay whole, longer ones become shorter ones that the burst holds, or
 * single frames where there is no burst or where the core alone knows how to cut.
 */
#include <linux/ip.h>
#include <linux/tcp.h>
#include <net/checksum.h>

#include "gap_queue.h"

#define GAP_GSO_TCP	(SKB_GSO_TCPV4 | SKB_GSO_TCPV6 | SKB_GSO_TCP_ECN | SKB_GSO_TCP_FIXEDID)

/*
 * May the GSO packet leave whole?  While no class is paced all may.  The number of frames is
 * not known of one that another machine made (SKB_GSO_DODGY), before something has checked it.
 */
bool gap_gso_keeps_whole(const struct gap_class *cl, const struct sk_buff *skb)
{
	if (cl == &cl->q->direct && cl->q->bypassed)
		return true;
	return cl->burst_bytes && skb_shinfo(skb)->gso_segs &&
	       !(skb_shinfo(skb)->gso_type & SKB_GSO_DODGY) &&
	       gap_skb_on_wire(skb).bytes <= cl->burst_bytes;
}

static bool gap_gso_is_plain_tcp(const struct sk_buff *skb)
{
	unsigned int type = skb_shinfo(skb)->gso_type;

	return !(type & ~GAP_GSO_TCP) && type & (SKB_GSO_TCPV4 | SKB_GSO_TCPV6) &&
	       !skb->encapsulation && !skb_has_frag_list(skb) &&
	       skb->ip_summed == CHECKSUM_PARTIAL;
}

/* How many frames of the packet the burst holds, if fewer than it has; else 1. */
static unsigned int gap_gso_frames_held(const struct gap_class *cl, const struct sk_buff *skb)
{
	unsigned int header_bytes = skb_tcp_all_headers(skb);
	unsigned int tag_bytes = skb_vlan_tag_present(skb) ? VLAN_HLEN : 0;
	unsigned int payload_bytes = skb_shinfo(skb)->gso_size;
	unsigned int held;

	held = cl->burst_bytes / gap_wire_bytes(header_bytes + payload_bytes + tag_bytes);
	/* gso_size has 16 bits, and all of them set have a meaning of their own */
	held = min(held, (U16_MAX - 1U) / payload_bytes);
	return held && header_bytes + held * payload_bytes < skb->len ? held : 1;
}

/* @seg is the @i-th of the packets that @held frames each of @skb became. */
static void gap_gso_describe(struct sk_buff *seg, const struct sk_buff *skb,
			     unsigned int held, unsigned int i)
{
	unsigned int payload_bytes = skb_shinfo(skb)->gso_size;
	/* not those of @skb, which has one more if it is longer than IPv6 can say */
	unsigned int header_bytes = skb_tcp_all_headers(seg);
	unsigned int frames = DIV_ROUND_UP(seg->len - header_bytes, payload_bytes);
	struct iphdr *ip = ip_hdr(seg);
	__be16 id;

	if (frames > 1) {
		skb_shinfo(seg)->gso_size = payload_bytes;
		skb_shinfo(seg)->gso_segs = frames;
		skb_shinfo(seg)->gso_type = skb_shinfo(skb)->gso_type;
	}
	gap_set_packet_len(seg, seg->len + header_bytes * (frames - 1), frames);
	if (!(skb_shinfo(skb)->gso_type & SKB_GSO_TCPV4) ||
	    skb_shinfo(skb)->gso_type & SKB_GSO_TCP_FIXEDID)
		return;
	/* the core counted packets, and each of their frames takes a number */
	id = htons(ntohs(ip->id) + i * (held - 1));
	csum_replace2(&ip->check, ip->id, id);
	ip->id = id;
}

/*
 * Returns the packets that @skb becomes, with their lengths set, or NULL, or an error.
 * The core's segmentation makes them: it takes several frames' payload for one.
 */
struct sk_buff *gap_gso_cut(const struct gap_class *cl, struct sk_buff *skb)
{
	netdev_features_t features = netif_skb_features(skb) & ~NETIF_F_GSO_MASK;
	unsigned int payload_bytes = skb_shinfo(skb)->gso_size;
	unsigned int held = 1, i = 0;
	struct sk_buff *segs, *seg;

	if (cl->burst_bytes && gap_gso_is_plain_tcp(skb))
		held = gap_gso_frames_held(cl, skb);
	/* TCP has a clone, for which the size of a frame must stay */
	if (held > 1 && skb_unclone(skb, GFP_ATOMIC))
		held = 1;
	if (held > 1) {
		/* checksums are left to whoever cuts them to frames */
		features |= NETIF_F_HW_CSUM | NETIF_F_SG;
		skb_shinfo(skb)->gso_size = held * payload_bytes;
	}
	segs = skb_gso_segment(skb, features);
	if (held > 1)
		skb_shinfo(skb)->gso_size = payload_bytes;
	if (IS_ERR_OR_NULL(segs))
		return segs;
	for (seg = segs; seg; seg = seg->next) {
		if (held > 1)
			gap_gso_describe(seg, skb, held, i++);
		else
			gap_set_packet_len(seg, seg->len, 1);
	}
	return segs;
}
