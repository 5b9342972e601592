/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Linux 6.1 to 7.3: what differs for simwire and not for the qdisc.
 */
#ifndef _SIMWIRE_COMPAT_H
#define _SIMWIRE_COMPAT_H

#include <linux/netdevice.h>
#include <linux/sysfs.h>
#include <linux/version.h>
#include <net/rtnetlink.h>

#include "gap_compat.h"	/* the qdisc's, by a link */

/* simwire_newlink(): its arguments, and the namespace of the new link. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 15, 0)
#define SIMWIRE_NEWLINK_ARGUMENTS \
	struct net *net, struct net_device *dev, struct nlattr *tb[], \
	struct nlattr *data[], struct netlink_ext_ack *extack
#define SIMWIRE_NEWLINK_NET	net
#else
#define SIMWIRE_NEWLINK_ARGUMENTS \
	struct net_device *dev, struct rtnl_newlink_params *params, \
	struct netlink_ext_ack *extack
#define SIMWIRE_NEWLINK_NET	rtnl_newlink_link_net(params)
#endif

/* Whether a binary attribute of sysfs is constant to who shows it. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0)
#define SIMWIRE_BIN_CONST
#else
#define SIMWIRE_BIN_CONST	const
#endif

/* Requests of ethtool that call what needs RTNL: with such a lock they go without it else. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 2, 0)
#define SIMWIRE_OP_NEEDS_RTNL
#else
#define SIMWIRE_OP_NEEDS_RTNL \
	.op_needs_rtnl = ETHTOOL_OP_NEEDS_RTNL_SCHANNELS | ETHTOOL_OP_NEEDS_RTNL_GLINK,
#endif

/* Operations of the device are to be called with its instance lock held, where there is one. */
static inline void simwire_request_ops_lock(struct net_device *dev)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 15, 0)
	dev->request_ops_lock = true;
#endif
}

#endif /* _SIMWIRE_COMPAT_H */
