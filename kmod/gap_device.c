// SPDX-License-Identifier: GPL-2.0
/*
 * What the qdisc knows of its device, and what it does when that changes.
 */
#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/if_arp.h>
#include <linux/rtnetlink.h>

#include "gap_priv.h"

static LIST_HEAD(gap_device_list);	/* all gap qdiscs; RTNL */

/*
 * A gap is time only where the device puts one frame after the other on a
 * wire.  Devices without a queue (veth, vlan, bond, team, macvlan, bridge)
 * pass frames on at once; other devices made by software alone (tun, ifb,
 * dummy) have no parent device.
 */
static bool gap_device_is_virtual(const struct net_device *dev)
{
	return dev->priv_flags & IFF_NO_QUEUE || dev->flags & IFF_LOOPBACK ||
	       (dev->rtnl_link_ops && !dev->dev.parent);
}

/* Is this a kind of device on which gap frames may work? */
bool gap_device_can_gap(const struct net_device *dev,
			struct netlink_ext_ack *extack)
{
	if (dev->type != ARPHRD_ETHER) {
		NL_SET_ERR_MSG(extack, "gap frames need an Ethernet device");
		return false;
	}
	if (gap_device_is_virtual(dev)) {
		NL_SET_ERR_MSG(extack,
			       "a gap frame takes no time on a virtual device; use the physical device below it");
		return false;
	}
	return true;
}

bool gap_device_is_up(const struct net_device *dev)
{
	return netif_running(dev) && netif_carrier_ok(dev);
}

/* Bytes per second, 0 where the device reports no speed.  Needs RTNL. */
u64 gap_device_link_rate(struct net_device *dev)
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

/* PAUSE frames the port has sent, if the driver counts them.  Needs RTNL. */
bool gap_device_pause_counter(struct net_device *dev, u64 *frames)
{
	struct ethtool_pause_stats stats = {
		.tx_pause_frames = ETHTOOL_STAT_NOT_SET,
	};

	ASSERT_RTNL();
	if (dev->ethtool_ops && dev->ethtool_ops->get_pause_stats)
		dev->ethtool_ops->get_pause_stats(dev, &stats);
	*frames = stats.tx_pause_frames;
	return *frames != (u64)ETHTOOL_STAT_NOT_SET;
}

u64 gap_device_sent_packets(struct net_device *dev)
{
	struct rtnl_link_stats64 stats;

	return dev_get_stats(dev, &stats)->tx_packets;
}

/* ---- changes --------------------------------------------------------------- */

void gap_device_watch(struct Qdisc *sch)
{
	struct gap_sched *q = qdisc_priv(sch);

	ASSERT_RTNL();
	q->sch = sch;
	q->was_up = gap_device_is_up(qdisc_dev(sch));
	list_add(&q->list, &gap_device_list);
}

void gap_device_unwatch(struct gap_sched *q)
{
	ASSERT_RTNL();
	list_del_init(&q->list);
}

/* Carrier or speed may have changed; a known speed outlives the carrier. */
static void gap_device_changed(struct gap_sched *q, struct net_device *dev)
{
	bool up = gap_device_is_up(dev);
	bool test = up && !q->was_up;
	u64 rate;

	if (up && !q->conf.rate) {
		rate = gap_device_link_rate(dev);
		if (rate != (q->speed_known ? q->clock.link_rate : 0)) {
			gap_backend_set_link_rate(q->sch, rate);
			test = true;
		}
	}
	q->was_up = up;
	gap_backend_choose(q->sch, test);
}

static void gap_device_event(struct gap_sched *q, struct net_device *dev,
			     unsigned long event)
{
	switch (event) {
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
		gap_device_changed(q, dev);
		break;
	case NETDEV_CHANGEMTU:
		gap_backend_set_mtu(q->sch, dev->mtu);
		break;
	case NETDEV_CHANGEADDR:
		gap_frame_set_address(q, dev);
		break;
	}
}

static int gap_device_notify(struct notifier_block *nb, unsigned long event,
			     void *ptr)
{
	struct net_device *dev = netdev_notifier_info_to_dev(ptr);
	struct gap_sched *q;

	list_for_each_entry(q, &gap_device_list, list)
		if (qdisc_dev(q->sch) == dev)
			gap_device_event(q, dev, event);
	return NOTIFY_DONE;
}

static struct notifier_block gap_device_notifier = {
	.notifier_call = gap_device_notify,
};

int gap_device_register(void)
{
	return register_netdevice_notifier(&gap_device_notifier);
}

void gap_device_unregister(void)
{
	unregister_netdevice_notifier(&gap_device_notifier);
}
