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
 * Do not use it where the device does not serialise the frames it is given,
 * or drops MAC control frames that the host sends (some NICs do so in
 * hardware, silently): the gaps then take no time.
 *
 * gap_byteclock.h	the arithmetic
 * gap_tree.c		which class may send, and when
 * gap_class.c		classes: requests, dumps, classification
 * gap_leaf.c		the queue of a class, unless another is grafted
 * gap_frame.c		gap frames and the devices that can carry them
 */
#include <linux/if_vlan.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>
#include <net/netlink.h>
#include <net/pkt_cls.h>

#include "gap_compat.h"
#include "gap_priv.h"

/* ---- packets ---------------------------------------------------------- */

static void gap_leave_idle(struct gap_sched *q)
{
	if (!q->idle)
		return;
	gap_clock_tie(&q->clock, ktime_get_ns());
	q->idle = false;
}

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
		gap_leave_idle(q);
		gap_tree_activate(q, cl);
	}
	return NET_XMIT_SUCCESS;
}

/*
 * A GSO packet is many frames on the wire, and each has its own due time.
 * The qdisc is always the root, so no parent counts packets.
 */
static int gap_enqueue_gso(struct sk_buff *skb, struct Qdisc *sch,
			   struct gap_class *cl, struct sk_buff **to_free)
{
	netdev_features_t features = netif_skb_features(skb);
	struct gap_sched *q = qdisc_priv(sch);
	struct sk_buff *segs, *next;
	int queued = 0;

	segs = skb_gso_segment(skb, features & ~NETIF_F_GSO_MASK);
	if (IS_ERR_OR_NULL(segs))
		return qdisc_drop(skb, sch, to_free);

	skb_list_walk_safe(segs, segs, next) {
		skb_mark_not_on_list(segs);
		qdisc_skb_cb(segs)->pkt_len = segs->len;
		if (gap_enqueue_frame(segs, sch, cl, to_free) == NET_XMIT_SUCCESS)
			queued++;
	}
	if (!queued) {
		__qdisc_drop(skb, to_free);
		return NET_XMIT_DROP;
	}
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
	if (!cl) {
		if (ret & __NET_XMIT_BYPASS)
			qdisc_qstats_drop(sch);
		__qdisc_drop(skb, to_free);
		return ret;
	}
	if (skb_is_gso(skb))
		return gap_enqueue_gso(skb, sch, cl, to_free);
	return gap_enqueue_frame(skb, sch, cl, to_free);
}

static u32 gap_skb_wire_bytes(const struct sk_buff *skb)
{
	/* a tag that the device will insert is on the wire all the same */
	return gap_wire_bytes(skb->len +
			      (skb_vlan_tag_present(skb) ? VLAN_HLEN : 0));
}

/* NULL: the leaf has run empty, or holds its packets back for now. */
static struct sk_buff *gap_dequeue_leaf(struct Qdisc *sch, struct gap_class *cl)
{
	struct sk_buff *skb = cl->qdisc->dequeue(cl->qdisc);
	struct gap_sched *q = qdisc_priv(sch);

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
	struct gap_class *c, *parent;

	qdisc_bstats_update(sch, skb);
	qdisc_qstats_backlog_dec(sch, skb);
	sch->q.qlen--;

	gap_tree_charge(q, cl, wire, gap_frame_slot_max(q, qdisc_dev(sch)));
	q->clock.bytes += wire;
	q->xstats.wire_bytes += wire;
	if (cl == &q->direct) {
		q->xstats.direct_packets++;
		q->xstats.direct_wire_bytes += wire;
	}
	for (c = cl; c; c = parent) {
		parent = c->parent;
		bstats_update(&c->bstats, skb);
		if (unlikely(gap_class_is_lingering(c)))
			gap_class_end_linger(q, c);
	}
}

/* Fill @need byte-times, or as many of them as one frame can. */
static struct sk_buff *gap_dequeue_gap(struct Qdisc *sch, u64 need)
{
	struct net_device *dev = qdisc_dev(sch);
	struct gap_sched *q = qdisc_priv(sch);
	struct sk_buff *skb;
	u32 slot;

	slot = gap_slot_bytes(need, gap_frame_slot_max(q, dev));
	skb = gap_frame_get(q, dev, slot);
	if (unlikely(!skb)) {
		q->xstats.gap_failed++;
		q->idle = true;
		qdisc_watchdog_schedule_ns(&q->watchdog, ktime_get_ns() +
					   mul_u64_u64_div_u64(need, NSEC_PER_SEC,
							       q->clock.link_rate));
		return NULL;
	}
	q->clock.bytes += slot;
	q->xstats.gap_packets++;
	q->xstats.gap_wire_bytes += slot;
	return skb;
}

static struct sk_buff *gap_dequeue(struct Qdisc *sch)
{
	struct gap_sched *q = qdisc_priv(sch);
	struct gap_class *cl;
	struct sk_buff *skb;
	u64 need;

	if (!list_empty(&q->stalled)) {
		gap_leave_idle(q);
		gap_tree_resume(q);
	}
	if (sch->q.qlen)
		gap_leave_idle(q);
	if (unlikely(!list_empty(&q->lingering)))
		gap_class_end_lingers(q);

	while ((cl = gap_tree_pick(q, &need))) {
		skb = gap_dequeue_leaf(sch, cl);
		if (skb) {
			gap_account(sch, cl, skb);
			goto out;
		}
	}
	if (!need) {
		q->idle = true;
		return NULL;
	}
	skb = gap_dequeue_gap(sch, need);
	if (!skb)
		return NULL;
out:
	/* data and gaps stay in order only within one queue of the device */
	skb_set_queue_mapping(skb, 0);
	return skb;
}

/* ---- requests ---------------------------------------------------------- */

static struct netlink_range_validation gap_rate_range = {
	.min = 1,
	.max = GAP_RATE_MAX,
};

static const struct nla_policy gap_policy[TCA_GAP_MAX + 1] = {
	[TCA_GAP_RATE64]	= NLA_POLICY_FULL_RANGE(NLA_U64, &gap_rate_range),
	[TCA_GAP_DEFAULT]	= { .type = NLA_U32 },
	[TCA_GAP_LINK_RATE64]	= { .type = NLA_REJECT },
};

/* What a request asks for, checked against the device and the classes. */
struct gap_conf {
	u64	rate;
	u64	link_rate;
	u32	defcls;
};

static int gap_parse_default(struct Qdisc *sch, struct nlattr *attr,
			     struct gap_conf *conf,
			     struct netlink_ext_ack *extack)
{
	u32 classid = nla_get_u32(attr);

	if (TC_H_MAJ(classid) && TC_H_MAJ(classid ^ sch->handle)) {
		NL_SET_ERR_MSG_ATTR(extack, attr,
				    "the default class belongs to another qdisc");
		return -EINVAL;
	}
	conf->defcls = TC_H_MIN(classid);
	return 0;
}

static int gap_parse(struct Qdisc *sch, struct nlattr *opt,
		     struct gap_conf *conf, struct netlink_ext_ack *extack)
{
	struct gap_sched *q = qdisc_priv(sch);
	struct nlattr *tb[TCA_GAP_MAX + 1] = {};
	int err = 0;

	if (opt)
		err = nla_parse_nested(tb, TCA_GAP_MAX, opt, gap_policy, extack);
	if (err < 0)
		return err;

	conf->rate = q->rate;
	conf->defcls = q->defcls;
	if (tb[TCA_GAP_RATE64])
		conf->rate = nla_get_u64(tb[TCA_GAP_RATE64]);
	if (tb[TCA_GAP_DEFAULT]) {
		err = gap_parse_default(sch, tb[TCA_GAP_DEFAULT], conf, extack);
		if (err)
			return err;
	}

	conf->link_rate = conf->rate ?: gap_frame_link_rate(qdisc_dev(sch));
	if (!conf->link_rate) {
		NL_SET_ERR_MSG(extack,
			       "the device does not report its speed; give the link rate with rate");
		return -EOPNOTSUPP;
	}
	if (conf->link_rate < gap_class_fastest(q)) {
		NL_SET_ERR_MSG(extack,
			       "a class is faster than the new link rate; lower the class first");
		return -EINVAL;
	}
	return 0;
}

static int gap_change(struct Qdisc *sch, struct nlattr *opt,
		      struct netlink_ext_ack *extack)
{
	struct gap_sched *q = qdisc_priv(sch);
	struct gap_conf conf;
	int err;

	err = gap_parse(sch, opt, &conf, extack);
	if (err)
		return err;
	sch_tree_lock(sch);
	q->rate = conf.rate;
	q->defcls = conf.defcls;
	if (q->idle)
		gap_clock_tie(&q->clock, ktime_get_ns());
	gap_clock_set_link_rate(&q->clock, conf.link_rate, ktime_get_ns());
	sch_tree_unlock(sch);
	return 0;
}

/* Whatever gap_destroy() touches is set up before the first early return. */
static int gap_init(struct Qdisc *sch, struct nlattr *opt,
		    struct netlink_ext_ack *extack)
{
	struct net_device *dev = qdisc_dev(sch);
	struct gap_sched *q = qdisc_priv(sch);
	struct gap_conf conf;
	int err;

	qdisc_watchdog_init(&q->watchdog, sch);
	gap_tree_reset(q);
	gap_tree_init_class(&q->direct);
	gnet_stats_basic_sync_init(&q->direct.bstats);
	q->direct.pace.rate = GAP_RATE_UNLIMITED;
	q->idle = true;

	if (sch->parent != TC_H_ROOT) {
		NL_SET_ERR_MSG(extack,
			       "gap sends frames that were never queued, so it works as the root qdisc only");
		return -EOPNOTSUPP;
	}
	err = gap_frame_check_device(dev, extack);
	if (!err)
		err = gap_parse(sch, opt, &conf, extack);
	if (!err)
		err = qdisc_class_hash_init(&q->clhash);
	if (!err)
		err = tcf_block_get(&q->block, &q->filter_list, sch, extack);
	if (err)
		return err;

	q->frame = gap_frame_alloc(dev, extack);
	if (!q->frame)
		return -ENOMEM;
	q->direct.qdisc = qdisc_create_dflt(sch->dev_queue, &gap_leaf_qdisc_ops,
					    sch->handle, extack);
	if (!q->direct.qdisc)
		return -ENOMEM;

	q->rate = conf.rate;
	q->defcls = conf.defcls;
	gap_clock_init(&q->clock, conf.link_rate, ktime_get_ns());
	return 0;
}

static void gap_reset(struct Qdisc *sch)
{
	struct gap_sched *q = qdisc_priv(sch);

	qdisc_watchdog_cancel(&q->watchdog);
	gap_class_reset_all(sch);
	q->idle = true;
}

static void gap_destroy(struct Qdisc *sch)
{
	struct gap_sched *q = qdisc_priv(sch);

	qdisc_watchdog_cancel(&q->watchdog);
	gap_class_destroy_all(sch);
	kfree_skb(q->frame);
}

static int gap_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	struct gap_sched *q = qdisc_priv(sch);
	struct nlattr *nest;

	nest = nla_nest_start_noflag(skb, TCA_OPTIONS);
	if (!nest)
		return -EMSGSIZE;
	if ((q->rate && nla_put_u64_64bit(skb, TCA_GAP_RATE64, q->rate,
					  TCA_GAP_PAD)) ||
	    (q->defcls && nla_put_u32(skb, TCA_GAP_DEFAULT,
				      TC_H_MAKE(sch->handle, q->defcls))) ||
	    nla_put_u64_64bit(skb, TCA_GAP_LINK_RATE64, q->clock.link_rate,
			      TCA_GAP_PAD)) {
		nla_nest_cancel(skb, nest);
		return -EMSGSIZE;
	}
	return nla_nest_end(skb, nest);
}

static int gap_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct tc_gap_xstats xstats = { .type = TC_GAP_XSTATS_QDISC };
	struct gap_sched *q = qdisc_priv(sch);

	sch_tree_lock(sch);
	xstats.qdisc = q->xstats;
	sch_tree_unlock(sch);
	return gnet_stats_copy_app(d, &xstats, sizeof(xstats));
}

static struct Qdisc_ops gap_qdisc_ops __read_mostly = {
	.id		= "gap",
	.cl_ops		= &gap_class_ops,
	.priv_size	= sizeof(struct gap_sched),
	.enqueue	= gap_enqueue,
	.dequeue	= gap_dequeue,
	.peek		= qdisc_peek_dequeued,
	.init		= gap_init,
	.reset		= gap_reset,
	.destroy	= gap_destroy,
	.change		= gap_change,
	.dump		= gap_dump,
	.dump_stats	= gap_dump_stats,
	.owner		= THIS_MODULE,
};

static int __init gap_module_init(void)
{
	return register_qdisc(&gap_qdisc_ops);
}

static void __exit gap_module_exit(void)
{
	unregister_qdisc(&gap_qdisc_ops);
}

module_init(gap_module_init);
module_exit(gap_module_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Byte-exact packet pacing with gap frames");
MODULE_ALIAS("net-sch-gap");	/* what kernels from 6.9 on ask for */
