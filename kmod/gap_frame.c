// SPDX-License-Identifier: GPL-2.0
/*
 * Gap frames: on the wire they are nothing but time.
 *
 * A PAUSE frame (802.3x) with a pause time of zero stops nobody, and the port
 * at the other end of the cable discards it.  A void frame goes to the
 * sender's own address, so the first switch discards it as already at home;
 * for NICs that let no MAC control frame of the host pass.
 */
#include <linux/etherdevice.h>
#include <linux/skbuff.h>

#include "gap_priv.h"

#define GAP_MAC_CONTROL_PAUSE	0x0001

/* The reserved address that no bridge forwards (802.3 annex 31B). */
static const u8 gap_frame_pause_dst[ETH_ALEN] = {
	0x01, 0x80, 0xc2, 0x00, 0x00, 0x01
};

/* Length of the longest gap frame: what the device sends and conf allows. */
u32 gap_frame_len_max(const struct gap_conf *conf, u32 mtu)
{
	u32 len = max_t(u32, mtu + ETH_HLEN, GAP_FRAME_MIN_BYTES);

	return conf->frame_max ? min(len, conf->frame_max) : len;
}

static void gap_frame_fill(const struct gap_conf *conf, struct sk_buff *skb,
			   u32 len)
{
	struct ethhdr *eth = skb_put_zero(skb, len);
	__be16 *control = (__be16 *)(eth + 1);

	if (conf->frame == GAP_FRAME_VOID) {
		eth->h_proto = htons(ETH_P_802_EX1);
	} else {
		ether_addr_copy(eth->h_dest, gap_frame_pause_dst);
		eth->h_proto = htons(ETH_P_PAUSE);
		control[0] = htons(GAP_MAC_CONTROL_PAUSE);
		control[1] = 0;		/* quanta: nobody is stopped */
	}
	skb->protocol = eth->h_proto;
}

/* The bytes are shared with frames in flight, whose source matters to nobody. */
static void gap_frame_fill_address(struct sk_buff *frame,
				   const struct net_device *dev)
{
	struct ethhdr *eth = eth_hdr(frame);

	ether_addr_copy(eth->h_source, dev->dev_addr);
	if (eth->h_proto != htons(ETH_P_PAUSE))
		ether_addr_copy(eth->h_dest, dev->dev_addr);
}

void gap_frame_set_address(struct gap_sched *q, const struct net_device *dev)
{
	if (q->frame)
		gap_frame_fill_address(q->frame, dev);
}

/* The longest gap frame, from which all others are made; NULL: no memory. */
struct sk_buff *gap_frame_alloc(const struct gap_conf *conf,
				struct net_device *dev, u32 mtu)
{
	u32 len = gap_frame_len_max(conf, mtu);
	struct sk_buff *skb;

	skb = alloc_skb(LL_RESERVED_SPACE(dev) + len + dev->needed_tailroom,
			GFP_KERNEL);
	if (!skb)
		return NULL;
	skb_reserve(skb, LL_RESERVED_SPACE(dev));
	skb_reset_mac_header(skb);
	gap_frame_fill(conf, skb, len);
	gap_frame_fill_address(skb, dev);
	skb_set_network_header(skb, ETH_HLEN);
	skb->ip_summed = CHECKSUM_NONE;
	skb->dev = dev;
	return skb;
}

/*
 * A gap frame that takes @slot_bytes on the wire, or NULL without memory.
 *
 * Frames are clones that share the template's bytes.  One skb with many
 * references would be cheaper where the device allows it, but the core links
 * the skbs of one bulk dequeue through skb->next, where none may stand twice.
 */
struct sk_buff *gap_frame_get(struct gap_sched *q, struct net_device *dev,
			      u32 slot_bytes)
{
	u32 len = slot_bytes - GAP_FRAME_OVERHEAD_BYTES;
	struct sk_buff *skb;

	skb = skb_clone(q->frame, GFP_ATOMIC | __GFP_NOWARN);
	if (unlikely(!skb))
		return NULL;
	skb_trim(skb, len);
	skb->dev = dev;
	qdisc_skb_cb(skb)->pkt_len = len;
	return skb;
}
