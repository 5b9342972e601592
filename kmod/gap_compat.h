/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Everything that differs between the kernels Headway supports.  The code
 * itself is written for the newest one; no other file tests a version.
 */
#ifndef _GAP_COMPAT_H
#define _GAP_COMPAT_H

#include <linux/version.h>

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
#include <net/gso.h>			/* skb_gso_segment() moved here */
#endif

#endif /* _GAP_COMPAT_H */
