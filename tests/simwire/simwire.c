// SPDX-License-Identifier: GPL-2.0
/*
 * simwire: two Ethernet devices joined by a wire of a given rate and delay.
 *
 *	ip link add w0 type simwire	makes w0 and w0p, the two ends
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
 *	ring_frames	frames the device holds at most, the one being sent
 *			included; a further one waits in the qdisc
 *	speed_known	0: do not tell ethtool the speed.  ethtool knows whole
 *			Mbit/s only; any other rate is unknown to it, too
 *	tx_frames, tx_wire_bytes, rx_frames,
 *	rx_mac_control_frames, rx_mac_control_wire_bytes
 *			counters; MAC control frames are in no other rx counter
 *	record_frames	room for so many records; writing clears them, 0 frees
 *	records		struct simwire_record for each frame sent since then,
 *			until there is no more room
 */
#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/hrtimer.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/sysfs.h>
#include <linux/vmalloc.h>
#include <net/rtnetlink.h>

#define SIMWIRE_FRAME_MIN	60
#define SIMWIRE_OVERHEAD	24		/* FCS 4, preamble 8, inter-frame gap 12 */
#define SIMWIRE_MTU_MAX		9000
#define SIMWIRE_RATE_BPS	1000000000ULL
#define SIMWIRE_RATE_MIN_BPS	1000ULL
#define SIMWIRE_RATE_MAX_BPS	1000000000000ULL
#define SIMWIRE_DELAY_MAX_NS	(10 * NSEC_PER_SEC)
#define SIMWIRE_RING		64
#define SIMWIRE_RING_MAX	4096
#define SIMWIRE_RECORDS_MAX	(4U << 20)
#define SIMWIRE_BITS_NSEC	(8ULL * NSEC_PER_SEC)

/* Native byte order, 16 bytes. */
struct simwire_record {
	u64	start_ns;	/* rounded down; errors do not add up */
	u32	wire_bytes;
	__be16	protocol;	/* as in the frame's Ethernet header */
	u16	reserved;
};

/* What the wire must know of a frame under way; lives in skb->cb. */
struct simwire_cb {
	u64	start_ns;
	u64	end_ns;		/* the last bit has left, resp. has arrived */
};

struct simwire {
	struct net_device	*dev;
	struct net_device __rcu	*peer;
	spinlock_t		lock;		/* everything below */

	/* parameters */
	u64			rate_bps;
	u64			delay_ns;
	u64			ring_frames;
	u64			speed_known;

	/* the sending side: frames the device holds */
	struct sk_buff_head	ring;
	struct hrtimer		sent;
	u64			free_ns;	/* the wire is free from then on */
	u64			free_rem;	/* and this many 1/rate_bps ns more */

	/* frames between the ends */
	struct sk_buff_head	flight;
	struct hrtimer		arrival;

	u64			tx_frames;
	u64			tx_bytes;
	u64			tx_wire_bytes;
	u64			tx_dropped;
	u64			rx_frames;
	u64			rx_bytes;
	u64			rx_dropped;
	u64			rx_mac_control_frames;
	u64			rx_mac_control_wire_bytes;

	struct simwire_record	*records;
	u32			record_frames;
	u32			record_count;
};

static struct device *simwire_parent;

static struct simwire_cb *simwire_cb(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct simwire_cb) > sizeof(skb->cb));
	return (struct simwire_cb *)skb->cb;
}

static u32 simwire_wire_bytes(const struct sk_buff *skb)
{
	return max_t(u32, skb->len, SIMWIRE_FRAME_MIN) + SIMWIRE_OVERHEAD;
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

	rcu_read_lock();
	peer = rcu_dereference(sw->peer);
	if (!peer || !netif_running(peer)) {
		kfree_skb(skb);
		goto out;
	}
	to = netdev_priv(peer);
	if (eth_hdr(skb)->h_proto == htons(ETH_P_PAUSE)) {
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

static enum hrtimer_restart simwire_arrival(struct hrtimer *timer)
{
	struct simwire *sw = container_of(timer, struct simwire, arrival);
	struct sk_buff_head due;
	struct sk_buff *skb;
	u64 now = ktime_get_ns();
	bool more;

	__skb_queue_head_init(&due);
	spin_lock(&sw->lock);
	while ((skb = skb_peek(&sw->flight)) && simwire_cb(skb)->end_ns <= now)
		__skb_queue_tail(&due, __skb_dequeue(&sw->flight));
	more = skb;
	if (more)
		hrtimer_set_expires(timer, ns_to_ktime(simwire_cb(skb)->end_ns));
	spin_unlock(&sw->lock);

	simwire_deliver_all(sw, &due);
	return more ? HRTIMER_RESTART : HRTIMER_NORESTART;
}

/* ---- the sending end ------------------------------------------------------ */

static void simwire_arm(struct hrtimer *timer, u64 ns)
{
	hrtimer_start(timer, ns_to_ktime(ns), HRTIMER_MODE_ABS_SOFT);
}

/*
 * The last bit of the ring's first frame has left.  Without a delay it is at
 * the other end already, which saves a timer.
 */
static void simwire_launch(struct simwire *sw, struct sk_buff *skb,
			   struct sk_buff_head *due)
{
	bool first = skb_queue_empty(&sw->flight);

	__skb_unlink(skb, &sw->ring);
	skb_orphan(skb);		/* sent: the socket may send more */
	if (first && !sw->delay_ns) {
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
	unsigned int frames = 0, bytes = 0;
	u64 now = ktime_get_ns();
	struct sk_buff_head due;
	struct sk_buff *skb;
	bool more;

	__skb_queue_head_init(&due);
	spin_lock(&sw->lock);
	while ((skb = skb_peek(&sw->ring)) && simwire_cb(skb)->end_ns <= now) {
		frames++;
		bytes += skb->len;
		simwire_launch(sw, skb, &due);
	}
	more = skb;
	if (more)
		hrtimer_set_expires(timer, ns_to_ktime(simwire_cb(skb)->end_ns));
	netdev_completed_queue(sw->dev, frames, bytes);
	if (netif_running(sw->dev) && netif_queue_stopped(sw->dev) &&
	    skb_queue_len(&sw->ring) < sw->ring_frames)
		netif_wake_queue(sw->dev);
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
	record->reserved = 0;
}

/* Put the frame on the wire's schedule: right behind the last one, or now. */
static void simwire_schedule(struct simwire *sw, struct sk_buff *skb)
{
	u64 now = ktime_get_ns(), rem;
	u32 wire = simwire_wire_bytes(skb);

	if (sw->free_ns < now) {
		sw->free_ns = now;
		sw->free_rem = 0;
	}
	simwire_cb(skb)->start_ns = sw->free_ns;
	simwire_record(sw, skb, sw->free_ns, wire);
	sw->free_ns += div64_u64_rem(wire * SIMWIRE_BITS_NSEC + sw->free_rem,
				     sw->rate_bps, &rem);
	sw->free_rem = rem;
	simwire_cb(skb)->end_ns = sw->free_ns;
	sw->tx_frames++;
	sw->tx_bytes += skb->len;
	sw->tx_wire_bytes += wire;
}

static netdev_tx_t simwire_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct simwire *sw = netdev_priv(dev);
	bool first;

	if (skb_put_padto(skb, SIMWIRE_FRAME_MIN)) {
		simwire_count(&sw->tx_dropped, 1);
		return NETDEV_TX_OK;
	}
	skb_reset_mac_header(skb);
	skb_tx_timestamp(skb);

	spin_lock(&sw->lock);
	first = skb_queue_empty(&sw->ring);
	simwire_schedule(sw, skb);
	__skb_queue_tail(&sw->ring, skb);
	netdev_sent_queue(dev, skb->len);
	if (skb_queue_len(&sw->ring) >= sw->ring_frames)
		netif_stop_queue(dev);
	if (first)
		simwire_arm(&sw->sent, simwire_cb(skb)->end_ns);
	spin_unlock(&sw->lock);
	return NETDEV_TX_OK;
}

/* ---- the device ----------------------------------------------------------- */

static struct net_device *simwire_peer(struct net_device *dev)
{
	struct simwire *sw = netdev_priv(dev);

	return rtnl_dereference(sw->peer);
}

static int simwire_open(struct net_device *dev)
{
	struct net_device *peer = simwire_peer(dev);

	if (!peer)
		return -ENOTCONN;
	netdev_reset_queue(dev);
	netif_start_queue(dev);
	if (netif_running(peer)) {
		netif_carrier_on(dev);
		netif_carrier_on(peer);
	}
	return 0;
}

static int simwire_stop(struct net_device *dev)
{
	struct net_device *peer = simwire_peer(dev);
	struct simwire *sw = netdev_priv(dev);

	netif_carrier_off(dev);
	if (peer)
		netif_carrier_off(peer);
	netif_tx_disable(dev);
	hrtimer_cancel(&sw->sent);
	hrtimer_cancel(&sw->arrival);
	__skb_queue_purge(&sw->ring);
	__skb_queue_purge(&sw->flight);
	netdev_reset_queue(dev);
	sw->free_ns = 0;
	return 0;
}

static void simwire_get_stats64(struct net_device *dev,
				struct rtnl_link_stats64 *stats)
{
	struct simwire *sw = netdev_priv(dev);

	stats->tx_packets = READ_ONCE(sw->tx_frames);
	stats->tx_bytes = READ_ONCE(sw->tx_bytes);
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

static int simwire_get_link_ksettings(struct net_device *dev,
				      struct ethtool_link_ksettings *settings)
{
	struct simwire *sw = netdev_priv(dev);
	u32 rest;
	u64 mbps = div_u64_rem(READ_ONCE(sw->rate_bps), 1000000, &rest);

	settings->base.speed = SPEED_UNKNOWN;
	if (READ_ONCE(sw->speed_known) && !rest)
		settings->base.speed = mbps;
	settings->base.duplex = DUPLEX_FULL;
	settings->base.port = PORT_OTHER;
	return 0;
}

static const struct ethtool_ops simwire_ethtool_ops = {
	.get_link		= ethtool_op_get_link,
	.get_link_ksettings	= simwire_get_link_ksettings,
};

/* ---- attributes ----------------------------------------------------------- */

static struct simwire *simwire_of(struct device *d)
{
	return netdev_priv(to_net_dev(d));
}

/* A u64 of struct simwire as a file; the limits are for writing. */
struct simwire_attribute {
	struct device_attribute	attr;
	size_t			offset;
	u64			min;
	u64			max;
};

static u64 *simwire_value(struct device *d,
			  const struct simwire_attribute *attribute)
{
	return (void *)simwire_of(d) + attribute->offset;
}

static ssize_t simwire_show(struct device *d, struct device_attribute *attr,
			    char *buf)
{
	struct simwire_attribute *attribute =
		container_of(attr, struct simwire_attribute, attr);

	return sysfs_emit(buf, "%llu\n", READ_ONCE(*simwire_value(d, attribute)));
}

static ssize_t simwire_store(struct device *d, struct device_attribute *attr,
			     const char *buf, size_t len)
{
	struct simwire_attribute *attribute =
		container_of(attr, struct simwire_attribute, attr);
	struct simwire *sw = simwire_of(d);
	u64 value;
	int err;

	err = kstrtou64(buf, 0, &value);
	if (err)
		return err;
	if (value < attribute->min || value > attribute->max)
		return -ERANGE;
	spin_lock_bh(&sw->lock);
	WRITE_ONCE(*simwire_value(d, attribute), value);
	/* a remainder of the old rate means nothing at a new one */
	sw->free_rem = 0;
	spin_unlock_bh(&sw->lock);
	return len;
}

#define SIMWIRE_PARAMETER(field, low, high)				\
	.attr = __ATTR(field, 0644, simwire_show, simwire_store),	\
	.offset = offsetof(struct simwire, field),			\
	.min = (low),							\
	.max = (high)

#define SIMWIRE_COUNTER(field)						\
	.attr = __ATTR(field, 0444, simwire_show, NULL),		\
	.offset = offsetof(struct simwire, field)

static struct simwire_attribute simwire_rate_bps = {
	SIMWIRE_PARAMETER(rate_bps, SIMWIRE_RATE_MIN_BPS, SIMWIRE_RATE_MAX_BPS)
};

static struct simwire_attribute simwire_delay_ns = {
	SIMWIRE_PARAMETER(delay_ns, 0, SIMWIRE_DELAY_MAX_NS)
};

static struct simwire_attribute simwire_ring_frames = {
	SIMWIRE_PARAMETER(ring_frames, 1, SIMWIRE_RING_MAX)
};

static struct simwire_attribute simwire_speed_known = {
	SIMWIRE_PARAMETER(speed_known, 0, 1)
};

static struct simwire_attribute simwire_tx_frames = {
	SIMWIRE_COUNTER(tx_frames)
};

static struct simwire_attribute simwire_tx_wire_bytes = {
	SIMWIRE_COUNTER(tx_wire_bytes)
};

static struct simwire_attribute simwire_rx_frames = {
	SIMWIRE_COUNTER(rx_frames)
};

static struct simwire_attribute simwire_rx_mac_control_frames = {
	SIMWIRE_COUNTER(rx_mac_control_frames)
};

static struct simwire_attribute simwire_rx_mac_control_wire_bytes = {
	SIMWIRE_COUNTER(rx_mac_control_wire_bytes)
};

static ssize_t record_frames_show(struct device *d,
				  struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(simwire_of(d)->record_frames));
}

static ssize_t record_frames_store(struct device *d,
				   struct device_attribute *attr,
				   const char *buf, size_t len)
{
	struct simwire_record *records = NULL, *old;
	struct simwire *sw = simwire_of(d);
	u32 frames;
	int err;

	err = kstrtou32(buf, 0, &frames);
	if (err)
		return err;
	if (frames > SIMWIRE_RECORDS_MAX)
		return -ERANGE;
	if (frames) {
		records = vmalloc(array_size(frames, sizeof(*records)));
		if (!records)
			return -ENOMEM;
	}
	spin_lock_bh(&sw->lock);
	old = sw->records;
	sw->records = records;
	sw->record_frames = frames;
	sw->record_count = 0;
	spin_unlock_bh(&sw->lock);
	vfree(old);
	return len;
}
static DEVICE_ATTR_RW(record_frames);

static ssize_t records_read(struct file *file, struct kobject *kobj,
			    struct bin_attribute *attr, char *buf, loff_t off,
			    size_t len)
{
	struct simwire *sw = simwire_of(kobj_to_dev(kobj));
	ssize_t copied;

	spin_lock_bh(&sw->lock);
	copied = memory_read_from_buffer(buf, len, &off, sw->records,
					 sw->record_count * sizeof(*sw->records));
	spin_unlock_bh(&sw->lock);
	return copied;
}
static BIN_ATTR_RO(records, 0);

static struct attribute *simwire_attrs[] = {
	&simwire_rate_bps.attr.attr,
	&simwire_delay_ns.attr.attr,
	&simwire_ring_frames.attr.attr,
	&simwire_speed_known.attr.attr,
	&simwire_tx_frames.attr.attr,
	&simwire_tx_wire_bytes.attr.attr,
	&simwire_rx_frames.attr.attr,
	&simwire_rx_mac_control_frames.attr.attr,
	&simwire_rx_mac_control_wire_bytes.attr.attr,
	&dev_attr_record_frames.attr,
	NULL
};

static struct bin_attribute *simwire_bin_attrs[] = {
	&bin_attr_records,
	NULL
};

static const struct attribute_group simwire_group = {
	.name		= "simwire",
	.attrs		= simwire_attrs,
	.bin_attrs	= simwire_bin_attrs,
};

/* ---- making and removing pairs ----------------------------------------------- */

static void simwire_free(struct net_device *dev)
{
	struct simwire *sw = netdev_priv(dev);

	vfree(sw->records);
}

static void simwire_init_timer(struct hrtimer *timer,
			       enum hrtimer_restart (*function)(struct hrtimer *))
{
	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	timer->function = function;
}

static void simwire_setup(struct net_device *dev)
{
	struct simwire *sw = netdev_priv(dev);

	ether_setup(dev);
	dev->netdev_ops = &simwire_netdev_ops;
	dev->ethtool_ops = &simwire_ethtool_ops;
	dev->needs_free_netdev = true;
	dev->priv_destructor = simwire_free;
	dev->priv_flags &= ~IFF_TX_SKB_SHARING;
	dev->priv_flags |= IFF_LIVE_ADDR_CHANGE;
	dev->max_mtu = SIMWIRE_MTU_MAX;
	dev->hw_features = NETIF_F_SG | NETIF_F_FRAGLIST | NETIF_F_HW_CSUM |
			   NETIF_F_HIGHDMA;
	dev->features = dev->hw_features;
	dev->sysfs_groups[0] = &simwire_group;
	SET_NETDEV_DEV(dev, simwire_parent);
	eth_hw_addr_random(dev);
	netif_carrier_off(dev);

	sw->dev = dev;
	spin_lock_init(&sw->lock);
	sw->rate_bps = SIMWIRE_RATE_BPS;
	sw->ring_frames = SIMWIRE_RING;
	sw->speed_known = true;
	__skb_queue_head_init(&sw->ring);
	__skb_queue_head_init(&sw->flight);
	simwire_init_timer(&sw->sent, simwire_sent);
	simwire_init_timer(&sw->arrival, simwire_arrival);
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
	peer = alloc_netdev(sizeof(struct simwire), name, NET_NAME_ENUM,
			    simwire_setup);
	if (!peer)
		return ERR_PTR(-ENOMEM);
	dev_net_set(peer, net);
	peer->rtnl_link_ops = &simwire_link_ops;
	peer->rtnl_link_state = RTNL_LINK_INITIALIZED;
	err = register_netdevice(peer);
	if (err) {
		NL_SET_ERR_MSG(extack, "cannot make the peer, whose name is this one's with a p");
		free_netdev(peer);
		return ERR_PTR(err);
	}
	return peer;
}

static int simwire_newlink(struct net *net, struct net_device *dev,
			   struct nlattr *tb[], struct nlattr *data[],
			   struct netlink_ext_ack *extack)
{
	struct net_device *peer;
	int err;

	if (strchr(dev->name, '%')) {
		err = dev_alloc_name(dev, dev->name);
		if (err < 0)
			return err;
	}
	peer = simwire_new_peer(net, dev, extack);
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
