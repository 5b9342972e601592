// SPDX-License-Identifier: GPL-2.0
/*
 * Gap frames: 802.3x PAUSE frames with a pause time of zero.
 *
 * They stop nobody, and the port at the other end of the cable discards
 * them, so that on the wire they are nothing but time.
 */
#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/if_arp.h>
#include <linux/rtnetlink.h>
#include <linux/skbuff.h>

#include "gap_priv.h"

#define GAP_MAC_CONTROL_PAUSE	0x0001

/* The reserved address that no bridge forwards (802.3 annex 31B). */
static const u8 gap_frame_dst[ETH_ALEN] = {
	0x01, 0x80, 0xc2, 0x00, 0x00, 0x01
};

/*
 * A gap is time only where the device puts one frame after the other on a
 * wire.  Devices without a queue (veth, vlan, bond, team, macvlan, bridge)
 * pass frames on at once; other devices made by software alone (tun, ifb,
 * dummy) have no parent device.
 */
static bool gap_frame_dev_is_virtual(const struct net_device *dev)
{
	return dev->priv_flags & IFF_NO_QUEUE || dev->flags & IFF_LOOPBACK ||
	       (dev->rtnl_link_ops && !dev->dev.parent);
}

int gap_frame_check_device(const struct net_device *dev,
			   struct netlink_ext_ack *extack)
{
	if (dev->type != ARPHRD_ETHER) {
		NL_SET_ERR_MSG(extack, "gap frames need an Ethernet device");
		return -EOPNOTSUPP;
	}
	if (gap_frame_dev_is_virtual(dev)) {
		NL_SET_ERR_MSG(extack,
			       "a gap frame takes no time on a virtual device; use the physical device below it");
		return -EOPNOTSUPP;
	}
	return 0;
}

/* Bytes per second, 0 where the device reports no speed.  Needs RTNL. */
u64 gap_frame_link_rate(struct net_device *dev)
{
	struct ethtool_link_ksettings ksettings;
	u32 speed;

	ASSERT_RTNL();
	if (__ethtool_get_link_ksettings(dev, &ksettings))
		return 0;
	speed = ksettings.base.speed;
	if (!speed || speed == (u32)SPEED_UNKNOWN)
		return 0;
	return (u64)speed * (1000000 / BITS_PER_BYTE);
}

static u32 gap_frame_len_max(const struct net_device *dev)
{
	return max_t(u32, READ_ONCE(dev->mtu) + ETH_HLEN, GAP_FRAME_MIN_BYTES);
}

/* The longest gap frame: what the device sends and the template holds. */
u32 gap_frame_slot_max(const struct gap_sched *q, const struct net_device *dev)
{
	return gap_wire_bytes(min(q->frame->len, gap_frame_len_max(dev)));
}

struct sk_buff *gap_frame_alloc(struct net_device *dev,
				struct netlink_ext_ack *extack)
{
	u32 len = gap_frame_len_max(dev);
	struct sk_buff *skb;
	__be16 *control;
	struct ethhdr *eth;

	skb = alloc_skb(LL_RESERVED_SPACE(dev) + len + dev->needed_tailroom,
			GFP_KERNEL);
	if (!skb) {
		NL_SET_ERR_MSG(extack, "no memory for the gap frame");
		return NULL;
	}
	skb_reserve(skb, LL_RESERVED_SPACE(dev));
	skb_reset_mac_header(skb);
	eth = skb_put_zero(skb, len);
	ether_addr_copy(eth->h_dest, gap_frame_dst);
	ether_addr_copy(eth->h_source, dev->dev_addr);
	eth->h_proto = htons(ETH_P_PAUSE);
	control = (__be16 *)(eth + 1);
	control[0] = htons(GAP_MAC_CONTROL_PAUSE);
	control[1] = 0;			/* quanta: nobody is stopped */

	skb_set_network_header(skb, ETH_HLEN);
	skb->protocol = htons(ETH_P_PAUSE);
	skb->ip_summed = CHECKSUM_NONE;
	skb->dev = dev;
	return skb;
}

/* The bytes are shared with frames in flight, whose source matters to nobody. */
static void gap_frame_follow_address(struct sk_buff *frame,
				     const struct net_device *dev)
{
	struct ethhdr *eth = eth_hdr(frame);

	if (unlikely(!ether_addr_equal(eth->h_source, dev->dev_addr)))
		ether_addr_copy(eth->h_source, dev->dev_addr);
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

	gap_frame_follow_address(q->frame, dev);
	skb = skb_clone(q->frame, GFP_ATOMIC | __GFP_NOWARN);
	if (unlikely(!skb))
		return NULL;
	skb_trim(skb, len);
	skb->dev = dev;
	qdisc_skb_cb(skb)->pkt_len = len;
	return skb;
}
