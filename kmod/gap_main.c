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
 * Some devices silently drop MAC control frames that the host sends, or do not
 * serialise frames: the gaps then take no time.  User space tests that before
 * it asks for gap frames; where they get lost later, a timer paces from then on.
 */
#include <linux/ethtool.h>
#include <linux/if_arp.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>
#include <net/pkt_cls.h>

#include "gap_sched.h"

#define GAP_QUEUE_LIMIT_PACKETS	10000	/* of a class, unless TCA_GAP_LIMIT says another */

static LIST_HEAD(gap_list);	/* all gap qdiscs; RTNL */

/*
 * Devices without a queue (veth, vlan, bond, team, macvlan, bridge) pass frames
 * on at once; others made by software alone (tun, ifb, dummy) have no parent.
 */
static bool gap_device_is_virtual(const struct net_device *dev)
{
	return dev->priv_flags & IFF_NO_QUEUE || dev->flags & IFF_LOOPBACK ||
	       (dev->rtnl_link_ops && !dev->dev.parent);
}

static bool gap_device_is_up(const struct net_device *dev)
{
	return netif_running(dev) && netif_carrier_ok(dev);
}

/* Bytes per second, 0 where the device reports no speed. */
static u64 gap_device_ask_rate(struct net_device *dev)
{
	struct ethtool_link_ksettings ksettings;
	u32 speed;

	if (netif_get_link_ksettings(dev, &ksettings))
		return 0;
	speed = ksettings.base.speed;
	if (!speed || speed == (u32)SPEED_UNKNOWN)
		return 0;
	return (u64)speed * (1000000 / BITS_PER_BYTE);
}

static bool gap_device_ask_pause(struct net_device *dev)
{
	const struct ethtool_ops *ops = dev->ethtool_ops;
	struct ethtool_pauseparam pause = { .cmd = ETHTOOL_GPAUSEPARAM };

	if (!ops || !ops->get_pauseparam || !netif_device_present(dev))
		return false;
	if (ops->begin && ops->begin(dev))
		return false;
	ops->get_pauseparam(dev, &pause);
	if (ops->complete)
		ops->complete(dev);
	return pause.tx_pause;
}

/*
 * The device may sleep to answer.  RTNL is held, and so is the device's instance
 * lock where it has one (kernels from 6.15 on): by whoever calls the qdisc's
 * operations, and in the events NETDEV_UP and NETDEV_CHANGE.
 */
static struct gap_device gap_device_ask(struct net_device *dev)
{
	ASSERT_RTNL();
	return (struct gap_device){
		.rate = gap_device_ask_rate(dev),
		.sends_pause = gap_device_ask_pause(dev),
	};
}

/* Bytes per second, 0: nobody knows. */
static u64 gap_link_rate(const struct gap_sched *q, const struct gap_conf *conf)
{
	u64 rate = conf->rate ?: q->device.rate;

	/* many devices tell no speed while they have no carrier */
	if (!rate && !q->conf.rate && !gap_device_is_up(qdisc_dev(q->sch)))
		rate = q->speed_known ? q->clock.link_rate : 0;
	return rate;
}

/* Needs the tree lock: the packet path finds out what is lost. */
static enum gap_reason gap_pick_backend(const struct gap_sched *q, u64 rate,
					const struct gap_frames *frames)
{
	if (q->conf.backend == GAP_BACKEND_TIMER)
		return GAP_REASON_ASKED;
	if (!rate)
		return GAP_REASON_NO_SPEED;
	if (!frames)
		return GAP_REASON_NO_MEMORY;
	if (q->device.sends_pause)
		return GAP_REASON_TX_PAUSE;
	if (q->frames_lost)
		return GAP_REASON_LOST;
	return GAP_REASON_ASKED;
}

/*
 * The packet path obeys the options as far as the device lets it.  @rate: of
 * the link, 0: unknown, byte-times then have a nominal length.  @retry: gap frames
 * that the device has lost may get through now.
 */
static void gap_configure(struct gap_sched *q, u64 rate, struct gap_frames *frames, bool retry)
{
	struct gap_frames *old = q->frames;
	enum gap_reason reason;

	sch_tree_lock(q->sch);
	if (retry)
		q->frames_lost = false;
	reason = gap_pick_backend(q, rate, frames);
	q->speed_known = rate;
	WRITE_ONCE(q->reason, reason);
	gap_packet_configure(q, rate ?: GAP_LINK_RATE_NOMINAL, frames,
			     q->conf.backend == GAP_BACKEND_TIMER ||
			     reason != GAP_REASON_ASKED);
	sch_tree_unlock(q->sch);
	if (old != frames)
		gap_frames_free(old);
}

/* The back end has changed without a request: tc monitor and the log learn of it. */
static void gap_tell(struct gap_sched *q)
{
	static const char * const why[__GAP_REASON_MAX] = {
		[GAP_REASON_NO_SPEED] = "the device reports no speed",
		[GAP_REASON_TX_PAUSE] = "the device sends PAUSE frames of its own",
		[GAP_REASON_LOST] = "frames leave faster than the link can carry them",
		[GAP_REASON_NO_MEMORY] = "there is no memory for gap frames",
	};
	enum gap_reason reason = READ_ONCE(q->reason);

	if (reason == q->reason_notified)
		return;
	gap_notify(q->sch, NULL);
	q->reason_notified = reason;
	if (why[reason] && net_ratelimit())
		netdev_warn(qdisc_dev(q->sch), "gap: a timer paces instead of gap frames: %s\n",
			    why[reason]);
}

/*
 * The packet path or a timer has left word.  Whoever destroys the qdisc holds
 * RTNL and waits for this: so it does not wait for RTNL.
 */
static void gap_work(struct work_struct *work)
{
	struct gap_sched *q = container_of(to_delayed_work(work), struct gap_sched, work);

	if (!rtnl_trylock()) {
		schedule_delayed_work(&q->work, 1);
		return;
	}
	sch_tree_lock(q->sch);
	gap_update_bypass(q->sch);
	sch_tree_unlock(q->sch);
	gap_class_notify_expired(q->sch);
	gap_tell(q);
	rtnl_unlock();
}

/* @device: what it answers now, NULL: it was not asked. */
static void gap_device_event(struct gap_sched *q, struct net_device *dev, unsigned long event,
			     const struct gap_device *device)
{
	bool remake = event == NETDEV_CHANGEMTU || event == NETDEV_CHANGEADDR;
	struct gap_frames *frames = q->frames;
	bool up = gap_device_is_up(dev), retry;
	u64 rate;

	if (device)
		q->device = *device;
	rate = gap_link_rate(q, &q->conf);
	/* also where there was no memory for them before */
	if ((remake || !frames) && q->conf.backend == GAP_BACKEND_GAP)
		frames = gap_frames_alloc(dev);
	/* another link, or another partner */
	retry = rate != q->clock.link_rate || (up && !q->was_up);
	q->was_up = up;
	gap_configure(q, rate, frames, retry);
	gap_tell(q);
}

static int gap_device_notify(struct notifier_block *nb, unsigned long event, void *ptr)
{
	struct net_device *dev = netdev_notifier_info_to_dev(ptr);
	struct gap_device device, *answer = NULL;
	struct gap_sched *q;

	switch (event) {
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
	case NETDEV_CHANGEMTU:
	case NETDEV_CHANGEADDR:
		list_for_each_entry(q, &gap_list, list) {
			if (qdisc_dev(q->sch) != dev)
				continue;
			/* once for all qdiscs of the device: firmware takes its time */
			if (!answer && (event == NETDEV_UP || event == NETDEV_CHANGE)) {
				device = gap_device_ask(dev);
				answer = &device;
			}
			gap_device_event(q, dev, event, answer);
		}
	}
	return NOTIFY_DONE;
}

static struct notifier_block gap_device_notifier = { .notifier_call = gap_device_notify };

static struct netlink_range_validation gap_rate_range = { 1, GAP_RATE_MAX };

static const struct nla_policy gap_policy[TCA_GAP_MAX + 1] = {
	[TCA_GAP_RATE64] = NLA_POLICY_FULL_RANGE(NLA_U64, &gap_rate_range),
	[TCA_GAP_DEFAULT] = { .type = NLA_U32 },
	[TCA_GAP_BACKEND] = NLA_POLICY_MAX(NLA_U32, GAP_BACKEND_MAX),
	[TCA_GAP_BYPASS] = NLA_POLICY_MAX(NLA_U32, 1),
	/* when one makes room for another, a qdisc above that counts both is not empty */
	[TCA_GAP_LIMIT] = NLA_POLICY_MIN(NLA_U32, GAP_LIMIT_MIN_PACKETS),
};

static int gap_read_options(struct Qdisc *sch, struct nlattr **tb,
			    struct gap_conf *conf, struct netlink_ext_ack *extack)
{
	u32 classid;

	if (tb[TCA_GAP_RATE64])
		conf->rate = nla_get_u64(tb[TCA_GAP_RATE64]);
	if (tb[TCA_GAP_BACKEND])
		conf->backend = nla_get_u32(tb[TCA_GAP_BACKEND]);
	if (tb[TCA_GAP_BYPASS])
		conf->bypass = nla_get_u32(tb[TCA_GAP_BYPASS]);
	if (tb[TCA_GAP_LIMIT])
		conf->limit = nla_get_u32(tb[TCA_GAP_LIMIT]);
	if (!tb[TCA_GAP_DEFAULT])
		return 0;
	classid = nla_get_u32(tb[TCA_GAP_DEFAULT]);
	if (TC_H_MAJ(classid) && TC_H_MAJ(classid ^ sch->handle)) {
		NL_SET_ERR_MSG_ATTR(extack, tb[TCA_GAP_DEFAULT],
				    "the default class belongs to another qdisc");
		return -EINVAL;
	}
	conf->defcls = TC_H_MIN(classid);
	return 0;
}

/* Gap frames where they cannot work are refused; the timer always works. */
static int gap_check_backend(struct Qdisc *sch, const struct gap_conf *conf, u64 rate,
			     struct netlink_ext_ack *extack)
{
	const struct gap_sched *q = qdisc_priv(sch);
	struct net_device *dev = qdisc_dev(sch);

	if (conf->backend != GAP_BACKEND_GAP)
		return 0;
	if (sch->parent != TC_H_ROOT)
		NL_SET_ERR_MSG(extack,
			       "gap frames were never queued, so they work in the root qdisc only; use backend timer");
	else if (dev->type != ARPHRD_ETHER)
		NL_SET_ERR_MSG(extack, "gap frames need an Ethernet device; use backend timer");
	else if (gap_device_is_virtual(dev))
		NL_SET_ERR_MSG(extack,
			       "a gap frame takes no time on a virtual device; use the physical device below it, or backend timer");
	else if (!rate)
		NL_SET_ERR_MSG(extack,
			       "the device does not report its speed; give the link rate with rate, or use backend timer");
	else if (q->device.sends_pause)
		NL_SET_ERR_MSG(extack,
			       "the device sends PAUSE frames to stop its peer, and gap frames would end each of its pauses; switch them off (ethtool -A DEV tx off), or use backend timer");
	else
		return 0;
	return -EOPNOTSUPP;
}

static int gap_change(struct Qdisc *sch, struct nlattr *opt,
		      struct netlink_ext_ack *extack)
{
	struct nlattr *tb[TCA_GAP_MAX + 1] = {};
	struct gap_sched *q = qdisc_priv(sch);
	struct gap_frames *frames = NULL;
	struct gap_conf conf = q->conf;
	int err = 0;
	bool retry;
	u64 rate;

	if (opt)
		err = nla_parse_nested(tb, TCA_GAP_MAX, opt, gap_policy, extack);
	if (!err)
		err = gap_read_options(sch, tb, &conf, extack);
	if (err)
		return err;
	q->device = gap_device_ask(qdisc_dev(sch));
	rate = gap_link_rate(q, &conf);
	err = gap_check_backend(sch, &conf, rate, extack);
	if (err)
		return err;
	if (conf.backend == GAP_BACKEND_GAP) {
		frames = q->frames ?: gap_frames_alloc(qdisc_dev(sch));
		if (!frames) {
			NL_SET_ERR_MSG(extack, "no memory for gap frames");
			return -ENOMEM;
		}
	}

	/* gap frames that are asked for anew are tried anew */
	retry = tb[TCA_GAP_BACKEND] || rate != q->clock.link_rate;
	sch_tree_lock(sch);
	q->conf = conf;
	/* from 6.19 on the core, too, drops what waits for the lock beyond this */
	WRITE_ONCE(sch->limit, conf.limit);
	gap_class_find_default(sch);
	gap_update_bypass(sch);
	sch_tree_unlock(sch);
	gap_configure(q, rate, frames, retry);
	q->reason_notified = READ_ONCE(q->reason);
	return 0;
}

/* Whatever gap_destroy() touches is set up before the first early return. */
static int gap_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct gap_sched *q = qdisc_priv(sch);
	bool ok;
	int err;

	q->sch = sch;
	q->conf.limit = GAP_QUEUE_LIMIT_PACKETS;
	q->was_up = gap_device_is_up(qdisc_dev(sch));
	qdisc_watchdog_init(&q->watchdog, sch);
	ok = gap_packet_init(q, GAP_LINK_RATE_NOMINAL);
	INIT_DELAYED_WORK(&q->work, gap_work);
	list_add(&q->list, &gap_list);

	err = ok ? qdisc_class_hash_init(&q->clhash) : -ENOMEM;
	if (!err)
		err = tcf_block_get(&q->block, &q->filter_list, sch, extack);
	if (!err)
		err = gap_change(sch, opt, extack);
	return err;
}

static void gap_reset(struct Qdisc *sch)
{
	struct gap_sched *q = qdisc_priv(sch);

	qdisc_watchdog_cancel(&q->watchdog);
	gap_packet_reset(q);
}

static void gap_destroy(struct Qdisc *sch)
{
	struct gap_sched *q = qdisc_priv(sch);

	list_del(&q->list);
	qdisc_watchdog_cancel(&q->watchdog);
	gap_packet_reset(q);
	tcf_block_put(q->block);
	gap_class_destroy_all(sch);
	/* no timer asks for it any more, and RTNL keeps it from the classes */
	cancel_delayed_work_sync(&q->work);
	kfree(q->direct.queue.hashed);
	gap_frames_free(q->frames);
}

static int gap_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	struct gap_sched *q = qdisc_priv(sch);
	const struct gap_conf *conf = &q->conf;
	struct nlattr *nest;

	nest = nla_nest_start_noflag(skb, TCA_OPTIONS);
	if (!nest)
		return -EMSGSIZE;
	if ((conf->rate && nla_put_u64_64bit(skb, TCA_GAP_RATE64, conf->rate,
					     TCA_GAP_PAD)) ||
	    (conf->defcls && nla_put_u32(skb, TCA_GAP_DEFAULT,
					 TC_H_MAKE(sch->handle, conf->defcls))) ||
	    (q->speed_known && nla_put_u64_64bit(skb, TCA_GAP_LINK_RATE64,
						 READ_ONCE(q->clock.link_rate), TCA_GAP_PAD)) ||
	    nla_put_u32(skb, TCA_GAP_BACKEND, conf->backend) ||
	    nla_put_u32(skb, TCA_GAP_BYPASS, conf->bypass) ||
	    nla_put_u32(skb, TCA_GAP_LIMIT, conf->limit) ||
	    nla_put_u32(skb, TCA_GAP_BACKEND_USED,
			READ_ONCE(q->use_timer) ? GAP_BACKEND_TIMER : GAP_BACKEND_GAP) ||
	    nla_put_u32(skb, TCA_GAP_REASON, READ_ONCE(q->reason))) {
		nla_nest_cancel(skb, nest);
		return -EMSGSIZE;
	}
	return nla_nest_end(skb, nest);
}

static int gap_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct tc_gap_xstats xstats = { .type = TC_GAP_XSTATS_QDISC };
	struct tc_gap_qdisc_xstats *x = &xstats.qdisc;
	struct gap_sched *q = qdisc_priv(sch);

	/* the packet path counts under a lock that dumps do not take */
	*x = data_race(q->xstats);
	x->stamp_ns = ktime_get_ns();
	gap_device_bytes(qdisc_dev(sch), &x->device_queued_bytes,
			 &x->device_completed_bytes);
	x->direct_packets = u64_stats_read(&q->direct.bstats.packets);
	x->direct_wire_bytes = READ_ONCE(q->direct.xstats.wire_bytes);
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
	int err;

	err = register_netdevice_notifier(&gap_device_notifier);
	if (err)
		return err;
	err = register_qdisc(&gap_qdisc_ops);
	if (err)
		unregister_netdevice_notifier(&gap_device_notifier);
	return err;
}

static void __exit gap_module_exit(void)
{
	unregister_qdisc(&gap_qdisc_ops);
	unregister_netdevice_notifier(&gap_device_notifier);
}

module_init(gap_module_init);
module_exit(gap_module_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Byte-exact packet pacing with gap frames");
MODULE_ALIAS("net-sch-gap");	/* what kernels from 6.9 on ask for */
