// SPDX-License-Identifier: GPL-2.0
/* simwire's wire: frames wait, leave, travel and arrive. */
#include <linux/delay.h>
#include <linux/etherdevice.h>
#include <linux/math64.h>

#include "simwire.h"
#include "simwire_compat.h"

#define SIMWIRE_FRAME_MIN	60
#define SIMWIRE_OVERHEAD	24		/* FCS 4, preamble 8, inter-frame gap 12 */
#define SIMWIRE_BITS_NSEC	(8ULL * NSEC_PER_SEC)

/* The wire must know this of a frame under way; it lives in skb->cb. */
struct simwire_cb {
	u64	start_ns;
	u64	end_ns;		/* the last bit has left, resp. has arrived */
	struct sk_buff *original; /* a frame that its sender keeps; this is its clone */
	u32	original_len;
	bool	filtered;	/* never was on the wire */
	bool	in_bql;		/* byte queue limits know of it */
};

/* Counts the frames of a TX queue that are through, for its byte queue limits. */
struct simwire_completed {
	unsigned int	frames;
	unsigned int	bytes;
};

static struct simwire_cb *simwire_cb(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct simwire_cb) > sizeof(skb->cb));
	return (struct simwire_cb *)skb->cb;
}

static u32 simwire_wire_bytes(const struct sk_buff *skb)
{
	return max_t(u32, skb->len, SIMWIRE_FRAME_MIN) + SIMWIRE_OVERHEAD;
}

static bool simwire_is_mac_control(const struct sk_buff *skb)
{
	return eth_hdr(skb)->h_proto == htons(ETH_P_PAUSE);
}

/* ---- the receiving end ---------------------------------------------------- */

static void simwire_count(u64 *counter, u64 by)
{
	WRITE_ONCE(*counter, *counter + by);
}

static void simwire_deliver(struct simwire *sw, struct sk_buff *skb)
{
	u64 start_ns = simwire_cb(skb)->start_ns;
	struct net_device *peer;
	struct simwire *to;

	if (simwire_cb(skb)->filtered) {
		consume_skb(skb);
		return;
	}
	rcu_read_lock();
	peer = rcu_dereference(sw->peer);
	if (!peer || !netif_running(peer) || !netif_carrier_ok(peer)) {
		kfree_skb(skb);
		goto out;
	}
	to = netdev_priv(peer);
	if (simwire_is_mac_control(skb)) {
		simwire_count(&to->rx_mac_control_frames, 1);
		simwire_count(&to->rx_mac_control_wire_bytes,
			      simwire_wire_bytes(skb));
		consume_skb(skb);
		goto out;
	}
	/* a sender that keeps the frame must not see this end's timestamp */
	if (skb_unclone(skb, GFP_ATOMIC)) {
		simwire_count(&to->rx_dropped, 1);
		kfree_skb(skb);
		goto out;
	}
	simwire_count(&to->rx_frames, 1);
	simwire_count(&to->rx_bytes, skb->len);
	skb_scrub_packet(skb, true);
	/* a router behind the wire hashes headers, not the sender's socket */
	skb_clear_hash(skb);
	skb->priority = 0;
	memset(skb->cb, 0, sizeof(skb->cb));
	skb->protocol = eth_type_trans(skb, peer);
	skb_hwtstamps(skb)->hwtstamp = ns_to_ktime(start_ns);
	if (netif_rx(skb) == NET_RX_DROP)
		simwire_count(&to->rx_dropped, 1);
out:
	rcu_read_unlock();
}

static void simwire_deliver_all(struct simwire *sw, struct sk_buff_head *due)
{
	struct sk_buff *skb;

	while ((skb = __skb_dequeue(due)))
		simwire_deliver(sw, skb);
}

static void simwire_arrives(struct simwire *sw, struct sk_buff *skb, u64 now)
{
	sw->late_ns = max(sw->late_ns, now - simwire_cb(skb)->end_ns);
}

static enum hrtimer_restart simwire_arrival(struct hrtimer *timer)
{
	struct simwire *sw = container_of(timer, struct simwire, arrival);
	struct sk_buff_head due;
	struct sk_buff *skb;
	u64 now = ktime_get_ns();
	bool more;

	__skb_queue_head_init(&due);
	spin_lock(&sw->lock);
	while ((skb = skb_peek(&sw->flight)) && simwire_cb(skb)->end_ns <= now) {
		simwire_arrives(sw, skb, now);
		__skb_queue_tail(&due, __skb_dequeue(&sw->flight));
	}
	more = skb;
	if (more)
		hrtimer_set_expires(timer, ns_to_ktime(simwire_cb(skb)->end_ns));
	spin_unlock(&sw->lock);

	simwire_deliver_all(sw, &due);
	return more ? HRTIMER_RESTART : HRTIMER_NORESTART;
}

/* ---- the sending end ------------------------------------------------------ */

void simwire_arm(struct hrtimer *timer, u64 ns)
{
	hrtimer_start(timer, ns_to_ktime(ns), HRTIMER_MODE_ABS_SOFT);
}

static struct netdev_queue *simwire_queue(struct simwire *sw, unsigned int i)
{
	return netdev_get_tx_queue(sw->dev, i);
}

/*
 * The frame that the device queues: a clone of one that its sender has a reference to,
 * and may send again once the device gives it back (IFF_TX_SKB_SHARING), for its cb and
 * its next are not ours.  NULL: there is no memory.
 */
static struct sk_buff *simwire_take(struct sk_buff *skb)
{
	struct sk_buff *original = NULL;

	if (skb_shared(skb)) {
		original = skb;
		skb = skb_clone(original, GFP_ATOMIC);
	}
	if (!skb || skb_put_padto(skb, SIMWIRE_FRAME_MIN)) {
		kfree_skb(original);
		return NULL;
	}
	simwire_cb(skb)->original = original;
	simwire_cb(skb)->original_len = original ? original->len : 0;
	return skb;
}

/* As a driver does when the frame has been sent, not before. */
static void simwire_give_back(struct simwire *sw, struct sk_buff *skb)
{
	struct sk_buff *original = simwire_cb(skb)->original;

	if (!original)
		return;
	if (original->len != simwire_cb(skb)->original_len)
		simwire_count(&sw->tx_changed_frames, 1);
	consume_skb(original);
}

/* The device takes a frame. */
static void simwire_hold(struct simwire *sw, struct sk_buff *skb)
{
	unsigned int i = skb_get_queue_mapping(skb);

	__skb_queue_tail(&sw->ring, skb);
	WRITE_ONCE(sw->tx_queues, sw->tx_queues | BIT_ULL(i));
	simwire_cb(skb)->in_bql = sw->bql;
	if (sw->bql)
		netdev_tx_sent_queue(simwire_queue(sw, i), skb->len);
	if (++sw->held[i] >= sw->ring_frames)
		netif_tx_stop_queue(simwire_queue(sw, i));
}

/*
 * The device is done with the ring's first frame.  A frame that byte queue
 * limits were not told of, because the driver did not use them then, does not
 * count.
 */
static void simwire_release(struct simwire *sw, struct sk_buff *skb,
			    struct simwire_completed *completed)
{
	unsigned int i = skb_get_queue_mapping(skb);

	__skb_unlink(skb, &sw->ring);
	simwire_give_back(sw, skb);
	sw->held[i]--;
	if (simwire_cb(skb)->in_bql) {
		completed[i].frames++;
		completed[i].bytes += skb->len;
	}
}

/* Tell the stack what room there is again. */
static void simwire_complete(struct simwire *sw,
			     const struct simwire_completed *completed)
{
	struct netdev_queue *queue;
	unsigned int i;

	for (i = 0; i < sw->dev->num_tx_queues; i++) {
		queue = simwire_queue(sw, i);
		netdev_tx_completed_queue(queue, completed[i].frames,
					  completed[i].bytes);
		if (netif_running(sw->dev) && netif_tx_queue_stopped(queue) &&
		    sw->held[i] < sw->ring_frames)
			netif_tx_wake_queue(queue);
	}
}

/* Returns what the wire carries by the clock of this machine. */
static u64 simwire_true_rate_bps(const struct simwire *sw)
{
	return mul_u64_u64_div_u64(sw->rate_bps, sw->clock_ppm, SIMWIRE_PPM);
}

/* When the driver may know that it is done with the frame. */
static u64 simwire_done_ns(const struct simwire *sw, struct sk_buff *skb)
{
	u64 end_ns = simwire_cb(skb)->end_ns;

	if (likely(!sw->fifo_bytes))
		return end_ns;
	return end_ns - min(end_ns, div64_u64(sw->fifo_bytes * SIMWIRE_BITS_NSEC,
					      simwire_true_rate_bps(sw)));
}

/*
 * The last bit of a frame has left, or will from the FIFO.  Without a delay it
 * is at the other end already, which saves a timer.
 */
static void simwire_launch(struct simwire *sw, struct sk_buff *skb, u64 now,
			   struct sk_buff_head *due)
{
	bool first = skb_queue_empty(&sw->flight);

	skb_orphan(skb);		/* sent: the socket may send more */
	if ((first && !sw->delay_ns && simwire_cb(skb)->end_ns <= now) ||
	    simwire_cb(skb)->filtered) {
		if (!simwire_cb(skb)->filtered)
			simwire_arrives(sw, skb, now);
		__skb_queue_tail(due, skb);
		return;
	}
	simwire_cb(skb)->end_ns += sw->delay_ns;
	__skb_queue_tail(&sw->flight, skb);
	if (first)
		simwire_arm(&sw->arrival, simwire_cb(skb)->end_ns);
}

static enum hrtimer_restart simwire_sent(struct hrtimer *timer)
{
	struct simwire *sw = container_of(timer, struct simwire, sent);
	struct simwire_completed completed[SIMWIRE_TX_QUEUES_MAX] = {};
	u64 now = ktime_get_ns();
	struct sk_buff_head due;
	struct sk_buff *skb;
	bool more;

	__skb_queue_head_init(&due);
	spin_lock(&sw->lock);
	while ((skb = skb_peek(&sw->ring)) && simwire_done_ns(sw, skb) <= now) {
		simwire_release(sw, skb, completed);
		simwire_launch(sw, skb, now, &due);
	}
	more = skb;
	if (more)
		hrtimer_set_expires(timer, ns_to_ktime(max(simwire_done_ns(sw, skb),
							   now + sw->moderation_ns)));
	simwire_complete(sw, completed);
	spin_unlock(&sw->lock);

	simwire_deliver_all(sw, &due);
	return more ? HRTIMER_RESTART : HRTIMER_NORESTART;
}

static void simwire_record(struct simwire *sw, const struct sk_buff *skb,
			   u64 start_ns, u32 wire)
{
	struct simwire_record *record;

	if (sw->record_count >= sw->record_frames)
		return;
	record = &sw->records[sw->record_count++];
	record->start_ns = start_ns;
	record->wire_bytes = wire;
	record->protocol = eth_hdr(skb)->h_proto;
	record->source = *(__be16 *)&eth_hdr(skb)->h_source[4];
}

/* The frame holds the wire from the moment it is free. */
static void simwire_occupy(struct simwire *sw, struct sk_buff *skb)
{
	u32 wire = simwire_wire_bytes(skb);
	u64 rem;

	simwire_record(sw, skb, sw->free_ns, wire);
	sw->free_ns += div64_u64_rem(wire * SIMWIRE_BITS_NSEC + sw->free_rem,
				     simwire_true_rate_bps(sw), &rem);
	sw->free_rem = rem;
	sw->tx_frames++;
	sw->tx_bytes += skb->len;
	sw->tx_wire_bytes += wire;
	if (simwire_is_mac_control(skb))
		sw->tx_mac_control_frames++;
}

/*
 * Put the frame on the wire's schedule: right behind the last one, or now.
 * A filtered one is done with in its turn, but takes no time.
 */
static void simwire_schedule(struct simwire *sw, struct sk_buff *skb)
{
	struct simwire_cb *cb = simwire_cb(skb);
	u64 now = ktime_get_ns();

	if (sw->free_ns < now) {
		sw->free_ns = now;
		sw->free_rem = 0;
	}
	sw->free_ns += sw->stall_ns;
	sw->stall_ns = 0;
	cb->start_ns = sw->free_ns;
	cb->filtered = sw->drop_mac_control && simwire_is_mac_control(skb);
	if (cb->filtered) {
		sw->tx_filtered_frames++;
		sw->tx_filtered_bytes += skb->len;
	} else {
		simwire_occupy(sw, skb);
	}
	cb->end_ns = sw->free_ns;
}

static void simwire_xmit_frame(struct simwire *sw, struct sk_buff *skb)
{
	bool first;

	skb = simwire_take(skb);
	if (!skb) {
		simwire_count(&sw->tx_dropped, 1);
		return;
	}
	skb_reset_mac_header(skb);
	skb_tx_timestamp(skb);

	spin_lock(&sw->lock);
	first = skb_queue_empty(&sw->ring);
	simwire_schedule(sw, skb);
	simwire_hold(sw, skb);
	if (first)
		simwire_arm(&sw->sent, simwire_done_ns(sw, skb) + sw->moderation_ns);
	spin_unlock(&sw->lock);
}

/*
 * The device cuts a large packet into frames (TSO), if that is switched on.  It fills in their
 * checksums, which the other end checks.
 */
static void simwire_xmit_segments(struct simwire *sw, struct sk_buff *skb)
{
	struct sk_buff *segs, *next;

	segs = skb_gso_segment(skb, NETIF_F_SG);
	if (IS_ERR_OR_NULL(segs)) {
		simwire_count(&sw->tx_dropped, 1);
		kfree_skb(skb);
		return;
	}
	simwire_count(&sw->tx_tso_packets, 1);
	consume_skb(skb);
	skb_list_walk_safe(segs, segs, next) {
		skb_mark_not_on_list(segs);
		simwire_xmit_frame(sw, segs);
	}
}

netdev_tx_t simwire_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct simwire *sw = netdev_priv(dev);
	u64 stall_ns;

	if (unlikely(READ_ONCE(sw->tx_busy))) {
		WRITE_ONCE(sw->tx_busy, sw->tx_busy - 1);
		return NETDEV_TX_BUSY;
	}
	stall_ns = READ_ONCE(sw->xmit_stall_ns);
	if (unlikely(stall_ns)) {
		WRITE_ONCE(sw->xmit_stall_ns, 0);
		udelay(div_u64(stall_ns, NSEC_PER_USEC));
	}
	if (skb_is_gso(skb))
		simwire_xmit_segments(sw, skb);
	else
		simwire_xmit_frame(sw, skb);
	return NETDEV_TX_OK;
}

/* ---- the wire as a whole -------------------------------------------------- */

/* Change a parameter, from the next frame on. */
void simwire_set(struct simwire *sw, u64 *parameter, u64 value)
{
	spin_lock_bh(&sw->lock);
	WRITE_ONCE(*parameter, value);
	/* a remainder of the old rate means nothing at a new one */
	sw->free_rem = 0;
	spin_unlock_bh(&sw->lock);
}

void simwire_init_timer(struct hrtimer *timer,
			enum hrtimer_restart (*function)(struct hrtimer *))
{
	hrtimer_setup(timer, function, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
}

void simwire_wire_init(struct simwire *sw)
{
	spin_lock_init(&sw->lock);
	__skb_queue_head_init(&sw->ring);
	__skb_queue_head_init(&sw->flight);
	simwire_init_timer(&sw->sent, simwire_sent);
	simwire_init_timer(&sw->arrival, simwire_arrival);
}

/* Frames under way are lost.  Nothing is sent any more. */
void simwire_wire_stop(struct simwire *sw)
{
	struct sk_buff *skb;

	hrtimer_cancel(&sw->sent);
	hrtimer_cancel(&sw->arrival);
	skb_queue_walk(&sw->ring, skb)
		simwire_give_back(sw, skb);
	__skb_queue_purge(&sw->ring);
	__skb_queue_purge(&sw->flight);
	memset(sw->held, 0, sizeof(sw->held));
	sw->free_ns = 0;
}
