/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Linux 6.1 to 7.3: what newer kernels have, for older ones.  The only place
 * that asks for a kernel's version.
 */
#ifndef _GAP_COMPAT_H
#define _GAP_COMPAT_H

#include <linux/ethtool.h>
#include <linux/hrtimer.h>
#include <linux/version.h>
#include <net/sch_generic.h>

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
#include <net/gso.h>
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
#endif

/* A packet's length on the wire's accounts, with all its frames' headers, and their number. */
static inline void gap_set_packet_len(struct sk_buff *skb, unsigned int len, unsigned int frames)
{
	qdisc_skb_cb(skb)->pkt_len = len;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 19, 0)
	qdisc_skb_cb(skb)->pkt_segs = frames;
#endif
}

#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 2, 0)
/* The device's instance lock, where it has one, is held; since 7.2 only this may be called then. */
static inline int netif_get_link_ksettings(struct net_device *dev,
					   struct ethtool_link_ksettings *settings)
{
	return __ethtool_get_link_ksettings(dev, settings);
}

/* The core reads them without the lock since then, and older ones as they are. */
#define qdisc_qlen_inc(sch)		((sch)->q.qlen++)
#define qdisc_qlen_dec(sch)		((sch)->q.qlen--)
#define qstats_backlog_add(sch, bytes)	((sch)->qstats.backlog += (bytes))
#define qstats_backlog_sub(sch, bytes)	((sch)->qstats.backlog -= (bytes))
#endif

#endif /* _GAP_COMPAT_H */
