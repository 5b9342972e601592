// SPDX-License-Identifier: GPL-2.0
/*
 * Gap frames: on the wire they are nothing but time.
 *
 * A PAUSE frame (802.3x) with a pause time of zero stops nobody, and the port
 * at the other end of the cable discards it.
 */
#include <linux/etherdevice.h>

#include "gap_sched.h"

#define GAP_FRAMES_RING			256	/* power of two */
#define GAP_MAC_CONTROL_PAUSE		0x0001

/**
 * struct gap_frames - gap frames that are made once and sent many times
 * @len_max: length of the longest
 * @next: which of the ring comes next
 * @ring: clones of one frame of @len_max bytes, all with its bytes
 *
 * The ring keeps a reference to each.  A frame whose reference is the only one
 * is back from the device, and goes out again with another length: that is
 * what IFF_TX_SKB_SHARING allows, and what pktgen does.
 */
struct gap_frames {
	u32		len_max;
	u32		next;
	struct sk_buff	*ring[GAP_FRAMES_RING];
};

/* The reserved address that no bridge forwards (802.3 annex 31B). */
static const u8 gap_frame_pause_dst[ETH_ALEN] = { 0x01, 0x80, 0xc2, 0x00, 0x00, 0x01 };

/* A frame of @len bytes, from which all others are cloned. */
static struct sk_buff *gap_frame_alloc(struct net_device *dev, u32 len)
{
	struct sk_buff *skb;
	__be16 *control;

	skb = alloc_skb(LL_RESERVED_SPACE(dev) + len + dev->needed_tailroom, GFP_KERNEL);
	if (!skb)
		return NULL;
	skb_reserve(skb, LL_RESERVED_SPACE(dev) + ETH_HLEN);
	skb_reset_network_header(skb);
	/* all zero behind the opcode: a pause of no time */
	control = skb_put_zero(skb, len - ETH_HLEN);
	*control = htons(GAP_MAC_CONTROL_PAUSE);
	eth_header(skb, dev, ETH_P_PAUSE, gap_frame_pause_dst, dev->dev_addr, len);
	skb_reset_mac_header(skb);
	skb->protocol = htons(ETH_P_PAUSE);
	skb->dev = dev;
	return skb;
}

/* NULL: no memory. */
struct gap_frames *gap_frames_alloc(struct net_device *dev)
{
	u32 len_max = max_t(u32, dev->mtu + ETH_HLEN, GAP_FRAME_MIN_BYTES);
	struct gap_frames *frames;
	unsigned int i;

	frames = kzalloc(sizeof(*frames), GFP_KERNEL);
	if (!frames)
		return NULL;
	frames->len_max = len_max;
	frames->ring[0] = gap_frame_alloc(dev, len_max);
	for (i = 1; i < GAP_FRAMES_RING && frames->ring[i - 1]; i++)
		frames->ring[i] = skb_clone(frames->ring[0], GFP_KERNEL);
	if (frames->ring[GAP_FRAMES_RING - 1])
		return frames;
	gap_frames_free(frames);
	return NULL;
}

/* Those that are under way go when the device gives them back. */
void gap_frames_free(struct gap_frames *frames)
{
	unsigned int i;

	if (!frames)
		return;
	for (i = 0; i < GAP_FRAMES_RING; i++)
		kfree_skb(frames->ring[i]);
	kfree(frames);
}

u32 gap_frames_slot_max(const struct gap_frames *frames)
{
	return frames ? gap_wire_bytes(frames->len_max) : 0;
}

/*
 * A frame that takes @slot_bytes on the wire, or NULL without memory.  The core
 * links the frames of one bulk through skb->next, so none may be there twice.
 */
struct sk_buff *gap_frames_get(struct gap_frames *frames, u32 slot_bytes)
{
	u32 len = slot_bytes - GAP_FRAME_OVERHEAD_BYTES;
	struct sk_buff *skb = frames->ring[frames->next];

	if (skb->dev->priv_flags & IFF_TX_SKB_SHARING &&
	    refcount_read(&skb->users) == 1) {
		/* pairs with the driver's release: it has done with the frame */
		smp_rmb();
		frames->next = (frames->next + 1) % GAP_FRAMES_RING;
		skb_get(skb);
	} else {
		skb = skb_clone(skb, GFP_ATOMIC | __GFP_NOWARN);
		if (unlikely(!skb))
			return NULL;
	}
	skb->len = len;
	skb_set_tail_pointer(skb, len);
	gap_set_packet_len(skb, len, 1);
	return skb;
}
