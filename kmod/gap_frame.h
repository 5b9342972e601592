/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _GAP_FRAME_H
#define _GAP_FRAME_H

#include <linux/netdevice.h>
#include <linux/skbuff.h>

struct gap_frames;

struct gap_frames *gap_frames_alloc(struct net_device *dev);
void gap_frames_free(struct gap_frames *frames);
u32 gap_frames_slot_max(const struct gap_frames *frames);
struct sk_buff *gap_frames_get(struct gap_frames *frames, u32 slot_bytes);

#endif /* _GAP_FRAME_H */
