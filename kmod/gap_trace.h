/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints of sch_gap, /sys/kernel/tracing/events/gap/.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM gap

#if !defined(_GAP_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _GAP_TRACE_H

#include <linux/netdevice.h>
#include <linux/tracepoint.h>

/* A gap frame that takes @wire_bytes is handed to the device. */
TRACE_EVENT(gap_frame,
	TP_PROTO(const struct net_device *dev, u32 wire_bytes, u64 clock_bytes),
	TP_ARGS(dev, wire_bytes, clock_bytes),
	TP_STRUCT__entry(
		__field(int, ifindex)
		__field(u32, wire_bytes)
		__field(u64, clock_bytes)
	),
	TP_fast_assign(
		__entry->ifindex = dev->ifindex;
		__entry->wire_bytes = wire_bytes;
		__entry->clock_bytes = clock_bytes;
	),
	TP_printk("ifindex=%d wire_bytes=%u clock_bytes=%llu", __entry->ifindex,
		  __entry->wire_bytes, __entry->clock_bytes)
);

/* A frame of a class with a rate starts @late_bytes byte-times late. */
TRACE_EVENT(gap_release,
	TP_PROTO(u32 classid, u32 wire_bytes, u64 clock_bytes, u64 late_bytes),
	TP_ARGS(classid, wire_bytes, clock_bytes, late_bytes),
	TP_STRUCT__entry(
		__field(u32, classid)
		__field(u32, wire_bytes)
		__field(u64, clock_bytes)
		__field(u64, late_bytes)
	),
	TP_fast_assign(
		__entry->classid = classid;
		__entry->wire_bytes = wire_bytes;
		__entry->clock_bytes = clock_bytes;
		__entry->late_bytes = late_bytes;
	),
	TP_printk("classid=%x:%x wire_bytes=%u clock_bytes=%llu late_bytes=%llu",
		  __entry->classid >> 16, __entry->classid & 0xffff,
		  __entry->wire_bytes, __entry->clock_bytes, __entry->late_bytes)
);

/* @timer paces from now on, or gap frames do; @verdict is a GAP_VERDICT_*. */
TRACE_EVENT(gap_backend,
	TP_PROTO(const struct net_device *dev, bool timer, u32 verdict),
	TP_ARGS(dev, timer, verdict),
	TP_STRUCT__entry(
		__field(int, ifindex)
		__field(bool, timer)
		__field(u32, verdict)
	),
	TP_fast_assign(
		__entry->ifindex = dev->ifindex;
		__entry->timer = timer;
		__entry->verdict = verdict;
	),
	TP_printk("ifindex=%d backend=%s verdict=%u", __entry->ifindex,
		  __entry->timer ? "timer" : "gap", __entry->verdict)
);

#endif /* _GAP_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE gap_trace
#include <trace/define_trace.h>
