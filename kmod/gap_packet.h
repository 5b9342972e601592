/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _GAP_PACKET_H
#define _GAP_PACKET_H

#include "gap_sched.h"

int gap_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free);
struct sk_buff *gap_dequeue(struct Qdisc *sch);

/* Counts the bytes of the device's first queue; both are 0 where the driver keeps no such count. */
void gap_device_bytes(const struct net_device *dev, u32 *queued, u32 *completed);

/* The qdisc must be one that nobody else knows of yet, or one that is about to go. */
bool gap_packet_init(struct gap_sched *q, u64 link_rate);
void gap_packet_reset(struct gap_sched *q);
bool gap_class_init(struct gap_class *cl);

/* The caller holds the tree lock. */
void gap_class_purge(struct gap_class *cl);
void gap_class_deactivate(struct gap_class *cl);
void gap_class_set_entry(struct gap_sched *q, struct gap_class *cl,
			 struct gap_rate *entry, u64 rate);
void gap_lease_refresh(struct gap_sched *q, struct gap_class *cl);
void gap_lease_end(struct gap_sched *q);
void gap_packet_configure(struct gap_sched *q, u64 link_rate,
			  struct gap_frames *frames, bool use_timer);

#endif /* _GAP_PACKET_H */
