/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Everything that differs between the kernels Headway supports.  The code
 * itself is written for the newest one; no other file tests a version.
 */
#ifndef _GAP_COMPAT_H
#define _GAP_COMPAT_H

#include <linux/netlink.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
#include <net/gso.h>			/* skb_gso_segment() moved here */
#endif

/* Before 6.2 a sentence to user space could carry no numbers. */
#ifdef NL_SET_ERR_MSG_FMT
#define gap_set_warning(extack, plain, fmt, args...) \
	NL_SET_ERR_MSG_FMT(extack, fmt, ##args)
#else
#define gap_set_warning(extack, plain, fmt, args...) \
	NL_SET_ERR_MSG(extack, plain)
#endif

#endif /* _GAP_COMPAT_H */
