// SPDX-License-Identifier: GPL-2.0
/*
 * sch_gap: byte-exact pacing with gap frames
 *
 * A paced class may send one frame per interval.  Instead of waiting for a
 * timer, the qdisc keeps the wire busy: between two data frames it sends
 * gap frames (802.3x PAUSE, pause time zero) of exactly the missing length,
 * which the port at the other end of the cable discards.  Spacing is then as
 * exact as the NIC's serialiser, a byte, and needs no timer at all.
 *
 * The idea is PSPacer's: R. Takano et al., "Design and Evaluation of Precise
 * Software Pacing Mechanisms for Fast Long-Distance Networks", PFLDnet 2005.
 *
 * Some devices do not serialise the frames they are given, or drop MAC
 * control frames that the host sends, in hardware and silently: the gaps then
 * take no time.  So a timer paces until a self-test has shown that they do.
 *
 * gap_byteclock.h	the arithmetic
 * gap_main.c		packets on their way through the qdisc
 * gap_tree.c		which class may send, and when
 * gap_leaf.c		the queue of a class, unless another is grafted
 * gap_request.c	the qdisc's requests and dumps
 * gap_class.c		classes, and which packet belongs to which
 * gap_class_request.c	their requests and dumps
 * gap_rate.c		rates of classes, at once or later; sums of them
 * gap_lease.c		rates that end unless somebody keeps them alive
 * gap_order.c		children that take turns: the phases of one traffic
 * gap_frame.c		gap frames
 * gap_device.c		what is known of the device, and its changes
 * gap_backend.c	gap frames or timer?
 * gap_probe.c		the self-test that decides it
 * gap_async.c		what has to wait for RTNL
 */
#include <linux/if_vlan.h>
#include <linux/module.h>
#include <net/pkt_cls.h>

#include "gap_compat.h"
#include "gap_priv.h"

#define CREATE_TRACE_POINTS
#include "gap_trace.h"

/* ---- the clock ---------------------------------------------------------- */

/*
 * Gap frames: the wire is known to be idle when the device holds nothing, and
 * only then real time counts.  It was an underrun if frames had followed each
 * other up to here.
 */
static void gap_tie_clock(struct gap_sched *q, struct net_device *dev)
{
	u64 idle_ns;

	if (!gap_device_is_empty(dev))
		return;
	idle_ns = gap_clock_tie(&q->clock, ktime_get_ns());
	if (idle_ns && q->running) {
		q->xstats.underruns++;
		q->xstats.underrun_ns += idle_ns;
	}
}

/* Bring the clock to now; there are packets. */
static void gap_sync_clock(struct Qdisc *sch)
{
	struct gap_sched *q = qdisc_priv(sch);

	if (q->timed)
		gap_clock_follow(&q->clock, ktime_get_ns());
	else
		gap_tie_clock(q, qdisc_dev(sch));
	if (unlikely(q->clock.bytes > 4 * GAP_TIME_MAX))
		gap_class_rebase_all(q);
}

static void gap_pause_clock(struct gap_sched *q)
{
	q->running = false;
}

/* ---- in ----------------------------------------------------------------- */

static int gap_enqueue_frame(struct sk_buff *skb, struct Qdisc *sch,
			     struct gap_class *cl, struct sk_buff **to_free)
{
	struct gap_sched *q = qdisc_priv(sch);
	unsigned int len = qdisc_pkt_len(skb);
	bool first = !cl->qdisc->q.qlen;
	int ret;

	ret = qdisc_enqueue(skb, cl->qdisc, to_free);
	if (unlikely(ret != NET_XMIT_SUCCESS)) {
		if (net_xmit_drop_count(ret)) {
			qdisc_qstats_drop(sch);
			cl->qstats.drops++;
		}
		return ret;
	}
	sch->qstats.backlog += len;
	sch->q.qlen++;
	if (first) {
		if (q->timed || !q->running)
			gap_sync_clock(sch);
		gap_tree_activate(q, cl);
	}
	return NET_XMIT_SUCCESS;
}

/* A GSO packet is many frames on the wire, and each has its own due time. */
static int gap_enqueue_gso(struct sk_buff *skb, struct Qdisc *sch,
			   struct gap_class *cl, struct sk_buff **to_free)
{
	netdev_features_t features = netif_skb_features(skb);
	unsigned int len = 0, whole_len = qdisc_pkt_len(skb);
	struct gap_sched *q = qdisc_priv(sch);
	struct sk_buff *segs, *next;
	int queued = 0;

	segs = skb_gso_segment(skb, features & ~NETIF_F_GSO_MASK);
	if (IS_ERR_OR_NULL(segs))
		return qdisc_drop(skb, sch, to_free);

	skb_list_walk_safe(segs, segs, next) {
		unsigned int seg_len = segs->len;

		skb_mark_not_on_list(segs);
		qdisc_skb_cb(segs)->pkt_len = seg_len;
		if (gap_enqueue_frame(segs, sch, cl, to_free) == NET_XMIT_SUCCESS) {
			len += seg_len;
			queued++;
		}
	}
	if (!queued) {
		__qdisc_drop(skb, to_free);
		return NET_XMIT_DROP;
	}
	/* a parent will count one packet of the whole's length */
	qdisc_tree_reduce_backlog(sch, 1 - queued, whole_len - len);
	q->xstats.gso_split++;
	consume_skb(skb);
	return NET_XMIT_SUCCESS;
}

static int gap_enqueue(struct sk_buff *skb, struct Qdisc *sch,
		       struct sk_buff **to_free)
{
	struct gap_class *cl;
	int ret;

	cl = gap_class_classify(skb, sch, &ret);
	if (unlikely(!cl)) {
		if (ret & __NET_XMIT_BYPASS)
			qdisc_qstats_drop(sch);
		__qdisc_drop(skb, to_free);
		return ret;
	}
	if (gap_order_applies(cl))
		cl = gap_order_choose(cl);
	if (skb_is_gso(skb))
		return gap_enqueue_gso(skb, sch, cl, to_free);
	return gap_enqueue_frame(skb, sch, cl, to_free);
}

/* ---- out ---------------------------------------------------------------- */

static u32 gap_skb_wire_bytes(const struct sk_buff *skb)
{
	/* a tag that the device will insert is on the wire all the same */
	return gap_wire_bytes(skb->len +
			      (skb_vlan_tag_present(skb) ? VLAN_HLEN : 0));
}

/* NULL: the leaf has run empty, or holds its packets back for now. */
static struct sk_buff *gap_dequeue_leaf(struct gap_sched *q, struct gap_class *cl)
{
	struct sk_buff *skb = cl->qdisc->dequeue(cl->qdisc);

	if (skb)
		return skb;
	if (cl->qdisc->q.qlen)
		gap_tree_stall(q, cl);
	else
		gap_tree_deactivate(q, cl);
	return NULL;
}

static void gap_account(struct Qdisc *sch, struct gap_class *cl,
			struct sk_buff *skb)
{
	struct gap_sched *q = qdisc_priv(sch);
	u32 wire = gap_skb_wire_bytes(skb);

	qdisc_bstats_update(sch, skb);
	qdisc_qstats_backlog_dec(sch, skb);
	sch->q.qlen--;

	gap_tree_charge(q, cl, skb, wire);
	if (!q->timed)
		q->clock.bytes += wire;
	q->xstats.wire_bytes += wire;
	if (cl == &q->direct) {
		q->xstats.direct_packets++;
		q->xstats.direct_wire_bytes += wire;
	}
	if (unlikely(!list_empty(&q->lingering)))
		gap_rate_end_lingers(q);
}

static void gap_wake_at(struct gap_sched *q, u64 ns)
{
	const struct gap_class *cl;

	gap_pause_clock(q);
	q->wake_ns = ns;
	list_for_each_entry(cl, &q->lingering, lingering)
		ns = min(ns, cl->next_deadline_ns);
	qdisc_watchdog_schedule_ns(&q->watchdog, ns);
}

/*
 * Leave the coarse part of a long gap to the timer.  Needs a device that says
 * when it is empty: only that ends the gap exactly, whenever the timer fires.
 */
static bool gap_sleep(struct Qdisc *sch, u64 need)
{
	struct gap_sched *q = qdisc_priv(sch);
	u64 wake_ns, now_ns;

	if (!q->hybrid_bytes || need <= 2 * q->hybrid_bytes ||
	    !gap_device_has_bql(qdisc_dev(sch)))
		return false;
	wake_ns = gap_clock_ns_at(&q->clock,
				  q->clock.bytes + need - q->hybrid_bytes);
	now_ns = ktime_get_ns();
	/* frames that the link rate has overtaken are still in the device */
	if (wake_ns <= now_ns)
		return false;
	if (q->wake_ns <= now_ns)
		q->xstats.slept++;	/* and not only asked once more */
	gap_wake_at(q, wake_ns);
	return true;
}

/* Fill @need byte-times, or as many of them as one frame can. */
static struct sk_buff *gap_dequeue_gap(struct Qdisc *sch, u64 need)
{
	struct net_device *dev = qdisc_dev(sch);
	struct gap_sched *q = qdisc_priv(sch);
	struct sk_buff *skb;
	u32 slot;

	if (gap_sleep(sch, need))
		return NULL;
	slot = gap_slot_bytes(need, q->slot_max);
	skb = gap_frame_get(q, dev, slot);
	if (unlikely(!skb)) {
		q->xstats.gap_failed++;
		gap_wake_at(q, ktime_get_ns() +
			    gap_clock_bytes_to_ns(&q->clock, need));
		return NULL;
	}
	q->clock.bytes += slot;
	q->running = true;
	q->handed++;
	q->xstats.gap_packets++;
	q->xstats.gap_wire_bytes += slot;
	trace_gap_frame(dev, slot, q->clock.bytes);
	return skb;
}

/* Timer back end: nobody may send for @need byte-times. */
static void gap_wait(struct gap_sched *q, u64 need)
{
	u64 wake_ns = gap_clock_ns_at(&q->clock, q->clock.bytes + need);

	if (q->wake_ns != wake_ns)
		q->xstats.timer_wakes++;	/* and not only asked once more */
	gap_wake_at(q, wake_ns);
}

static struct sk_buff *gap_dequeue_data(struct Qdisc *sch, u64 *need)
{
	struct gap_sched *q = qdisc_priv(sch);
	struct gap_class *cl;
	struct sk_buff *skb;

	while ((cl = gap_tree_pick(q, need))) {
		skb = gap_dequeue_leaf(q, cl);
		if (skb) {
			gap_account(sch, cl, skb);
			q->running = true;
			q->handed++;
			return skb;
		}
	}
	return NULL;
}

static struct sk_buff *gap_dequeue(struct Qdisc *sch)
{
	struct gap_sched *q = qdisc_priv(sch);
	struct sk_buff *skb;
	u64 need;

	if (unlikely(gap_probe_is_on(&q->probe)))
		return gap_probe_dequeue(sch);
	if (sch->q.qlen)
		gap_sync_clock(sch);
	if (unlikely(!list_empty(&q->stalled)))
		gap_tree_resume(q);
	if (unlikely(!list_empty(&q->lingering)))
		gap_rate_end_lingers(q);
	if (unlikely(READ_ONCE(q->leases_due)))
		gap_lease_end_due(q);

	skb = gap_dequeue_data(sch, &need);
	if (!skb && !need) {
		gap_pause_clock(q);
		return NULL;
	}
	if (q->timed) {
		if (!skb)
			gap_wait(q, need);
		return skb;
	}
	if (!skb)
		skb = gap_dequeue_gap(sch, need);
	/* data and gaps stay in order only within one queue of the device */
	if (skb)
		skb_set_queue_mapping(skb, 0);
	return skb;
}

/* ---- the qdisc's life ----------------------------------------------------- */

static void gap_reset(struct Qdisc *sch)
{
	struct gap_sched *q = qdisc_priv(sch);

	qdisc_watchdog_cancel(&q->watchdog);
	gap_probe_stop(q);
	gap_class_reset_all(sch);
	gap_pause_clock(q);
}

static void gap_destroy(struct Qdisc *sch)
{
	struct gap_sched *q = qdisc_priv(sch);

	gap_device_unwatch(q);
	gap_probe_cancel(q);
	qdisc_watchdog_cancel(&q->watchdog);
	gap_class_destroy_all(sch);
	gap_async_destroy(q);		/* no timer is left to queue work */
	kfree_skb(q->frame);
}

static struct Qdisc_ops gap_qdisc_ops __read_mostly = {
	.id		= "gap",
	.cl_ops		= &gap_class_request_ops,
	.priv_size	= sizeof(struct gap_sched),
	.enqueue	= gap_enqueue,
	.dequeue	= gap_dequeue,
	.peek		= qdisc_peek_dequeued,
	.init		= gap_request_init,
	.reset		= gap_reset,
	.destroy	= gap_destroy,
	.change		= gap_request_change,
	.dump		= gap_request_dump,
	.dump_stats	= gap_request_dump_stats,
	.owner		= THIS_MODULE,
};

static int __init gap_module_init(void)
{
	int err;

	err = gap_async_register();
	if (err)
		return err;
	err = gap_device_register();
	if (err)
		goto err_async;
	err = register_qdisc(&gap_qdisc_ops);
	if (err)
		goto err_device;
	return 0;

err_device:
	gap_device_unregister();
err_async:
	gap_async_unregister();
	return err;
}

static void __exit gap_module_exit(void)
{
	unregister_qdisc(&gap_qdisc_ops);
	gap_device_unregister();
	gap_async_unregister();
}

module_init(gap_module_init);
module_exit(gap_module_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Byte-exact packet pacing with gap frames");
MODULE_ALIAS("net-sch-gap");	/* what kernels from 6.9 on ask for */
