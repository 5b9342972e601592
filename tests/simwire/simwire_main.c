// SPDX-License-Identifier: GPL-2.0
/*
 * simwire: two Ethernet devices joined by a wire of a given rate and delay.
 *
 *	ip link add w0 type simwire	makes w0 and w0p, the two ends
 *	ip link add w0 numtxqueues 4 type simwire
 *					the same with 4 TX queues each, 16 at
 *					most; all share the wire, in the order
 *					in which frames are handed over
 *
 * Each direction serialises its frames as a real link does: a frame of `len`
 * bytes (no FCS, VLAN tag included) holds the wire for max(len, 60) + 24
 * byte-times, the next one starts right after it or when it is handed over,
 * whichever is later.  Start times are computed, not measured, so that a late
 * timer does not move them as long as the ring holds a further frame.  A frame
 * reaches the other end when its last bit does, plus the delay; its hardware
 * receive timestamp is the exact start of its first bit (CLOCK_MONOTONIC).
 * MAC control frames are counted and discarded on arrival, as a switch port
 * does.  Nothing but the frame travels: no mark, priority, socket or time.
 *
 * Attributes of each end, in /sys/class/net/DEV/simwire/:
 *	rate_bps	rate of the direction this end sends in
 *	delay_ns	propagation delay of that direction
 *	ring_frames	frames of a TX queue the device holds at most, the one
 *			being sent included; a further one waits in the qdisc
 *	speed_known	0: do not tell ethtool the speed.  ethtool knows whole
 *			Mbit/s only; any other rate is unknown to it, too
 *	drop_mac_control
 *			1: the device drops the MAC control frames it is given,
 *			as Intel's i40e and ice do: each is done with in its
 *			turn, takes no time on the wire and never arrives.
 *			tx_packets counts it: the driver handed it over
 *	stall_ns	the next frame is so much later, once: then it is 0 again
 *	bql		0: the driver tells byte queue limits of no further frame
 *	pause_stats	0: the driver has no pause statistics for ethtool; with
 *			1 they count the MAC control frames on the wire
 *	clock_ppm	the wire's clock as millionths of this machine's: with
 *			1000100 it carries 100 ppm more than rate_bps says
 *	xmit_stall_ns	the driver holds the next frame for so long before it
 *			tells byte queue limits of it, once; 1 ms at most
 *	tx_busy		the driver refuses so many frames (NETDEV_TX_BUSY), each of which
 *			makes this one less
 *	tx_pause	1: tell ethtool that this end stops the other by PAUSE
 *			frames.  It does not
 *	slow_ethtool	1: what ethtool asks takes a while, and sleeps, as where
 *			firmware has to be asked
 *	moderation_ns	the driver is told of frames that are done with so late,
 *			and of further ones no sooner than so long after that.
 *			They reach the other end no sooner
 *	fifo_bytes	the driver is told that a frame is done with when it enters
 *			a FIFO of so many byte-times before the wire
 *	late_ns		the longest that this machine has been late with an arrival at the
 *			other end since somebody wrote 0 here: frames that are due by then
 *			arrive at once, as no real wire brings them
 *	tx_queues	bit i is set: TX queue i has had a frame since somebody wrote 0 here.
 *			A device may send those of several queues in any order
 *	interrupt_ns	another device keeps this processor busy for so long at a
 *			time, with interrupts off, every 100 us on average
 *	renegotiate	write a rate: the carrier goes, both directions take the
 *			rate over, the carrier returns two seconds later.  What
 *			is sent or arrives meanwhile is lost, the speed unknown
 *	tx_frames, tx_wire_bytes, tx_mac_control_frames, rx_frames,
 *	rx_mac_control_frames, rx_mac_control_wire_bytes
 *			counters of frames on the wire; tx counts MAC control
 *			frames in all of its, rx in those of that name only
 *	tx_filtered_frames
 *			MAC control frames that drop_mac_control dropped
 *	tx_changed_frames
 *			frames that their sender kept, and gave another length before
 *			the device had sent them and given them back
 *	tx_tso_packets	packets that the device has cut into frames: ethtool -K DEV tso on
 *	record_frames	room for so many records; writing clears them, 0 frees
 *	records		struct simwire_record for each frame sent since then,
 *			until there is no more room
 */
#include <linux/delay.h>
#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>
#include <linux/vmalloc.h>
#include <net/rtnetlink.h>

#include "simwire.h"
#include "simwire_compat.h"

#define SIMWIRE_MTU_MAX		9000
#define SIMWIRE_NEGOTIATION_NS	(2 * NSEC_PER_SEC)
#define SIMWIRE_INTERRUPT_EVERY_NS	(100 * NSEC_PER_USEC)

static struct device *simwire_parent;

/* ---- the device ----------------------------------------------------------- */

static struct net_device *simwire_peer(struct net_device *dev)
{
	struct simwire *sw = netdev_priv(dev);

	return rtnl_dereference(sw->peer);
}

static void simwire_take_carrier(struct net_device *dev)
{
	struct simwire *sw = netdev_priv(dev);

	hrtimer_cancel(&sw->negotiation);
	netif_carrier_off(dev);
}

static void simwire_reset_queues(struct net_device *dev)
{
	unsigned int i;

	for (i = 0; i < dev->num_tx_queues; i++)
		netdev_tx_reset_queue(netdev_get_tx_queue(dev, i));
}

static int simwire_open(struct net_device *dev)
{
	struct net_device *peer = simwire_peer(dev);

	if (!peer)
		return -ENOTCONN;
	simwire_reset_queues(dev);
	netif_tx_start_all_queues(dev);
	if (netif_running(peer)) {
		netif_carrier_on(dev);
		netif_carrier_on(peer);
	}
	return 0;
}

static int simwire_stop(struct net_device *dev)
{
	struct net_device *peer = simwire_peer(dev);

	simwire_take_carrier(dev);
	if (peer)
		simwire_take_carrier(peer);
	netif_tx_disable(dev);
	simwire_wire_stop(netdev_priv(dev));
	simwire_reset_queues(dev);
	return 0;
}

static enum hrtimer_restart simwire_negotiated(struct hrtimer *timer)
{
	struct simwire *sw = container_of(timer, struct simwire, negotiation);
	struct net_device *peer;

	rcu_read_lock();
	peer = rcu_dereference(sw->peer);
	if (peer) {
		netif_carrier_on(sw->dev);
		netif_carrier_on(peer);
	}
	rcu_read_unlock();
	return HRTIMER_NORESTART;
}

/* The carrier returns by itself, unless an end is down. */
void simwire_renegotiate(struct net_device *dev, u64 rate_bps)
{
	struct net_device *peer = simwire_peer(dev);
	struct simwire *sw = netdev_priv(dev), *to;

	if (!peer)
		return;
	simwire_take_carrier(dev);
	simwire_take_carrier(peer);
	to = netdev_priv(peer);
	simwire_set(sw, &sw->rate_bps, rate_bps);
	simwire_set(to, &to->rate_bps, rate_bps);
	if (netif_running(dev) && netif_running(peer))
		simwire_arm(&sw->negotiation,
			    ktime_get_ns() + SIMWIRE_NEGOTIATION_NS);
}

static enum hrtimer_restart simwire_interrupt(struct hrtimer *timer)
{
	struct simwire *sw = container_of(timer, struct simwire, interrupt);
	u64 busy_ns = READ_ONCE(sw->interrupt_ns), start = ktime_get_ns();

	while (ktime_get_ns() - start < busy_ns)
		cpu_relax();
	/* not get_random_u32(): its lock sleeps on PREEMPT_RT */
	hrtimer_forward_now(timer,
			    ns_to_ktime(1 + prandom_u32_state(&sw->interrupt_times) %
					    (2 * SIMWIRE_INTERRUPT_EVERY_NS)));
	return busy_ns ? HRTIMER_RESTART : HRTIMER_NORESTART;
}

/* 0: no more of them. */
void simwire_interrupt_for(struct simwire *sw, u64 busy_ns)
{
	WRITE_ONCE(sw->interrupt_ns, busy_ns);
	if (busy_ns)
		hrtimer_start(&sw->interrupt,
			      ns_to_ktime(SIMWIRE_INTERRUPT_EVERY_NS),
			      HRTIMER_MODE_REL_HARD);
}

static void simwire_get_stats64(struct net_device *dev,
				struct rtnl_link_stats64 *stats)
{
	struct simwire *sw = netdev_priv(dev);

	stats->tx_packets = READ_ONCE(sw->tx_frames) +
			    READ_ONCE(sw->tx_filtered_frames);
	stats->tx_bytes = READ_ONCE(sw->tx_bytes) +
			  READ_ONCE(sw->tx_filtered_bytes);
	stats->tx_dropped = READ_ONCE(sw->tx_dropped);
	stats->rx_packets = READ_ONCE(sw->rx_frames);
	stats->rx_bytes = READ_ONCE(sw->rx_bytes);
	stats->rx_dropped = READ_ONCE(sw->rx_dropped);
}

static const struct net_device_ops simwire_netdev_ops = {
	.ndo_open		= simwire_open,
	.ndo_stop		= simwire_stop,
	.ndo_start_xmit		= simwire_xmit,
	.ndo_get_stats64	= simwire_get_stats64,
	.ndo_set_mac_address	= eth_mac_addr,
	.ndo_validate_addr	= eth_validate_addr,
};

static void simwire_ask_firmware(const struct simwire *sw)
{
	might_sleep();
	if (READ_ONCE(sw->slow_ethtool))
		msleep(20);
}

static int simwire_get_link_ksettings(struct net_device *dev,
				      struct ethtool_link_ksettings *settings)
{
	struct simwire *sw = netdev_priv(dev);
	u32 rest;
	u64 mbps = div_u64_rem(READ_ONCE(sw->rate_bps), 1000000, &rest);

	simwire_ask_firmware(sw);
	settings->base.speed = SPEED_UNKNOWN;
	if (READ_ONCE(sw->speed_known) && !rest &&
	    (netif_carrier_ok(dev) || !netif_running(dev)))
		settings->base.speed = mbps;
	settings->base.duplex = READ_ONCE(sw->half_duplex) ? DUPLEX_HALF :
							     DUPLEX_FULL;
	settings->base.port = PORT_OTHER;
	return 0;
}

/* Neither end stops for the other, whatever is said here. */
static void simwire_get_pauseparam(struct net_device *dev,
				   struct ethtool_pauseparam *pause)
{
	struct simwire *sw = netdev_priv(dev);

	simwire_ask_firmware(sw);
	pause->tx_pause = READ_ONCE(sw->tx_pause);
}

static void simwire_get_pause_stats(struct net_device *dev,
				    struct ethtool_pause_stats *stats)
{
	struct simwire *sw = netdev_priv(dev);

	simwire_ask_firmware(sw);
	if (!READ_ONCE(sw->pause_stats))
		return;
	stats->tx_pause_frames = READ_ONCE(sw->tx_mac_control_frames);
	stats->rx_pause_frames = READ_ONCE(sw->rx_mac_control_frames);
}

static void simwire_get_channels(struct net_device *dev,
				 struct ethtool_channels *channels)
{
	channels->max_tx = dev->num_tx_queues;
	channels->tx_count = dev->real_num_tx_queues;
	channels->max_rx = 1;
	channels->rx_count = 1;
}

static int simwire_set_channels(struct net_device *dev,
				struct ethtool_channels *channels)
{
	return netif_set_real_num_tx_queues(dev, channels->tx_count);
}

static const struct ethtool_ops simwire_ethtool_ops = {
	SIMWIRE_OP_NEEDS_RTNL
	.get_link		= ethtool_op_get_link,
	.get_channels		= simwire_get_channels,
	.set_channels		= simwire_set_channels,
	.get_link_ksettings	= simwire_get_link_ksettings,
	.get_pauseparam		= simwire_get_pauseparam,
	.get_pause_stats	= simwire_get_pause_stats,
};

/* ---- making and removing pairs ----------------------------------------------- */

static void simwire_free(struct net_device *dev)
{
	struct simwire *sw = netdev_priv(dev);

	hrtimer_cancel(&sw->interrupt);
	vfree(sw->records);
}

static void simwire_setup(struct net_device *dev)
{
	struct simwire *sw = netdev_priv(dev);

	ether_setup(dev);
	dev->netdev_ops = &simwire_netdev_ops;
	dev->ethtool_ops = &simwire_ethtool_ops;
	dev->needs_free_netdev = true;
	dev->priv_destructor = simwire_free;
	dev->priv_flags |= IFF_LIVE_ADDR_CHANGE;
	dev->max_mtu = SIMWIRE_MTU_MAX;
	dev->hw_features = NETIF_F_SG | NETIF_F_FRAGLIST | NETIF_F_HW_CSUM |
			   NETIF_F_HIGHDMA;
	dev->features = dev->hw_features;
	dev->hw_features |= NETIF_F_TSO | NETIF_F_TSO6;
	dev->sysfs_groups[0] = &simwire_group;
	SET_NETDEV_DEV(dev, simwire_parent);
	simwire_request_ops_lock(dev);
	eth_hw_addr_random(dev);
	netif_carrier_off(dev);

	sw->dev = dev;
	sw->rate_bps = SIMWIRE_RATE_BPS;
	sw->ring_frames = SIMWIRE_RING;
	sw->speed_known = 1;
	sw->bql = 1;
	sw->pause_stats = 1;
	sw->clock_ppm = SIMWIRE_PPM;
	simwire_wire_init(sw);
	simwire_init_timer(&sw->negotiation, simwire_negotiated);
	hrtimer_setup(&sw->interrupt, simwire_interrupt, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	prandom_seed_state(&sw->interrupt_times, get_random_u64());
}

static struct rtnl_link_ops simwire_link_ops;

static struct net_device *simwire_new_peer(struct net *net,
					   const struct net_device *dev,
					   struct netlink_ext_ack *extack)
{
	struct net_device *peer;
	char name[IFNAMSIZ];
	int err;

	if (snprintf(name, sizeof(name), "%sp", dev->name) >= sizeof(name)) {
		NL_SET_ERR_MSG(extack, "the name leaves no room for the p of its peer");
		return ERR_PTR(-EINVAL);
	}
	peer = alloc_netdev_mqs(sizeof(struct simwire), name, NET_NAME_ENUM,
				simwire_setup, dev->num_tx_queues, 1);
	if (!peer)
		return ERR_PTR(-ENOMEM);
	dev_net_set(peer, net);
	peer->rtnl_link_ops = &simwire_link_ops;
	err = register_netdevice(peer);
	if (err) {
		NL_SET_ERR_MSG(extack, "cannot make the peer, whose name is this one's with a p");
		free_netdev(peer);
		return ERR_PTR(err);
	}
	return peer;
}

static int simwire_newlink(SIMWIRE_NEWLINK_ARGUMENTS)
{
	struct net_device *peer;
	int err;

	if (dev->num_tx_queues > SIMWIRE_TX_QUEUES_MAX) {
		NL_SET_ERR_MSG(extack, "a wire takes at most 16 TX queues");
		return -EINVAL;
	}
	if (strchr(dev->name, '%')) {
		err = dev_alloc_name(dev, dev->name);
		if (err < 0)
			return err;
	}
	peer = simwire_new_peer(SIMWIRE_NEWLINK_NET, dev, extack);
	if (IS_ERR(peer))
		return PTR_ERR(peer);
	err = register_netdevice(dev);
	if (err) {
		unregister_netdevice(peer);
		return err;
	}
	rcu_assign_pointer(((struct simwire *)netdev_priv(dev))->peer, peer);
	rcu_assign_pointer(((struct simwire *)netdev_priv(peer))->peer, dev);
	return 0;
}

static void simwire_dellink(struct net_device *dev, struct list_head *head)
{
	struct net_device *peer = simwire_peer(dev);
	struct simwire *sw = netdev_priv(dev);

	RCU_INIT_POINTER(sw->peer, NULL);
	unregister_netdevice_queue(dev, head);
	if (!peer)
		return;
	sw = netdev_priv(peer);
	RCU_INIT_POINTER(sw->peer, NULL);
	unregister_netdevice_queue(peer, head);
}

static struct rtnl_link_ops simwire_link_ops = {
	.kind		= "simwire",
	.priv_size	= sizeof(struct simwire),
	.setup		= simwire_setup,
	.newlink	= simwire_newlink,
	.dellink	= simwire_dellink,
};

static int __init simwire_module_init(void)
{
	int err;

	simwire_parent = root_device_register("simwire");
	if (IS_ERR(simwire_parent))
		return PTR_ERR(simwire_parent);
	err = rtnl_link_register(&simwire_link_ops);
	if (err)
		root_device_unregister(simwire_parent);
	return err;
}

static void __exit simwire_module_exit(void)
{
	rtnl_link_unregister(&simwire_link_ops);
	root_device_unregister(simwire_parent);
}

module_init(simwire_module_init);
module_exit(simwire_module_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("A pair of Ethernet devices joined by a wire of given rate and delay");
MODULE_ALIAS_RTNL_LINK("simwire");
