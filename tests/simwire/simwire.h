/* SPDX-License-Identifier: GPL-2.0 */
/* The files of simwire share this; simwire_main.c says what it is. */
#ifndef SIMWIRE_H
#define SIMWIRE_H

#include <linux/hrtimer.h>
#include <linux/netdevice.h>
#include <linux/prandom.h>
#include <linux/skbuff.h>
#include <linux/spinlock.h>
#include <linux/sysfs.h>

#define SIMWIRE_TX_QUEUES_MAX	16
#define SIMWIRE_RATE_BPS	1000000000ULL
#define SIMWIRE_RING		64
#define SIMWIRE_PPM		1000000ULL

/* Native byte order, 16 bytes. */
struct simwire_record {
	u64	start_ns;	/* rounded down; errors do not add up */
	u32	wire_bytes;
	__be16	protocol;	/* as in the frame's Ethernet header */
	__be16	source;		/* the last two bytes of its source address */
};

struct simwire {
	struct net_device	*dev;
	struct net_device __rcu	*peer;
	spinlock_t		lock;		/* everything below */

	/* parameters, as simwire_main.c describes them */
	u64			rate_bps;
	u64			delay_ns;
	u64			ring_frames;
	u64			speed_known;
	u64			drop_mac_control;
	u64			stall_ns;
	u64			bql;
	u64			pause_stats;
	u64			clock_ppm;
	u64			xmit_stall_ns;
	u64			tx_busy;
	u64			tx_pause;
	u64			slow_ethtool;
	u64			half_duplex;
	u64			moderation_ns;
	u64			fifo_bytes;
	u64			late_ns;
	u64			tx_queues;

	/* the sending side: frames the device holds, in the order they go */
	struct sk_buff_head	ring;
	unsigned int		held[SIMWIRE_TX_QUEUES_MAX];
	struct hrtimer		sent;
	u64			free_ns;	/* the wire is free from then on */
	u64			free_rem;	/* and this many 1/rate_bps ns more */

	/* frames between the ends */
	struct sk_buff_head	flight;
	struct hrtimer		arrival;

	/* no carrier until then */
	struct hrtimer		negotiation;

	/* the next interrupt of another device */
	struct hrtimer		interrupt;
	u64			interrupt_ns;
	struct rnd_state	interrupt_times;

	u64			tx_frames;
	u64			tx_bytes;
	u64			tx_wire_bytes;
	u64			tx_dropped;
	u64			tx_changed_frames;
	u64			tx_tso_packets;
	u64			tx_mac_control_frames;
	u64			tx_filtered_frames;
	u64			tx_filtered_bytes;
	u64			rx_frames;
	u64			rx_bytes;
	u64			rx_dropped;
	u64			rx_mac_control_frames;
	u64			rx_mac_control_wire_bytes;

	struct simwire_record	*records;
	u32			record_frames;
	u32			record_count;
};

/* simwire_wire.c */
void simwire_wire_init(struct simwire *sw);
void simwire_wire_stop(struct simwire *sw);
void simwire_set(struct simwire *sw, u64 *parameter, u64 value);
void simwire_init_timer(struct hrtimer *timer,
			enum hrtimer_restart (*function)(struct hrtimer *));
void simwire_arm(struct hrtimer *timer, u64 ns);
netdev_tx_t simwire_xmit(struct sk_buff *skb, struct net_device *dev);

/* simwire_attributes.c */
extern const struct attribute_group simwire_group;

/* simwire_main.c */
void simwire_renegotiate(struct net_device *dev, u64 rate_bps);
void simwire_interrupt_for(struct simwire *sw, u64 busy_ns);

#endif
