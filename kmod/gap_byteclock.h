/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The byte clock: arithmetic only, no kernel state.
 *
 * While a qdisc is backlogged the wire carries data frames and gap frames
 * without a pause, so the number of bytes handed to the device *is* the time
 * on the wire.  All times here are byte-times of the link, and exact: a rate
 * keeps the remainder of every division and so has no long-run error.  Where
 * gap frames are not used the clock follows real time instead.
 *
 * Times wrap around and are compared as jiffies are: two of them that are
 * compared are less than 2^63 byte-times apart, 1.4 years at 1.6 Tbit/s, and
 * 146 years where the link rate is unknown.
 *
 * tests/unit/byteclock compiles this header unchanged in user space.
 */
#ifndef _GAP_BYTECLOCK_H
#define _GAP_BYTECLOCK_H

#include <linux/compiler.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/types.h>

#include "include/uapi/linux/pkt_sched_gap.h"

#define GAP_NSEC_PER_SEC	1000000000ULL
/* Longest difference of two times that is computed, in ns or byte-times. */
#define GAP_TIME_MAX		0x2000000000000000ULL
/* After so long real time gets a new origin; costs less than a byte-time. */
#define GAP_SYNC_AGE_NS		(3600 * GAP_NSEC_PER_SEC)
/* A device that holds nothing may have no more than this left in its FIFO. */
#define GAP_FIFO_MAX_BYTES	(512 * 1024)
/* Byte-times per second while the link rate is unknown: finer than a nanosecond. */
#define GAP_LINK_RATE_NOMINAL	(2 * GAP_NSEC_PER_SEC)

static inline bool gap_time_after(u64 a, u64 b)
{
	return (s64)(b - a) < 0;
}

static inline u64 gap_time_later(u64 a, u64 b)
{
	return gap_time_after(a, b) ? a : b;
}

/* Byte-times that a frame of @len bytes (no FCS, VLAN tags counted) takes. */
static inline u32 gap_wire_bytes(u32 len)
{
	return max_t(u32, len, GAP_FRAME_MIN_BYTES) + GAP_FRAME_OVERHEAD_BYTES;
}

/* Returns the most wire bytes that frames of @len bytes in all can take: all are the shortest. */
static inline u64 gap_wire_bytes_most(u32 len)
{
	return len * (u64)GAP_SLOT_MIN_BYTES / GAP_FRAME_MIN_BYTES;
}

/*
 * When the byte clock is compared with real time:
 *
 * gap_clock_sync_time()	timer back end: whenever the time is needed
 * gap_clock_sync_idle()	gap frames: when the device is known to be empty
 * gap_clock_cap()		gap frames: before a long gap is slept
 * gap_clock_reset()		when what the device held is gone
 */

/**
 * struct gap_clock - time on the wire of one link
 * @bytes: now, in byte-times; the frame sent next starts then
 * @sync_bytes: a moment at which byte-times and real time were compared
 * @sync_ns: the same moment in real time
 * @link_rate: byte-times per second
 */
struct gap_clock {
	u64	bytes;
	u64	sync_bytes;
	u64	sync_ns;
	u64	link_rate;
};

/* @now_ns from any monotonic clock, the same in every call. */
static inline void gap_clock_init(struct gap_clock *clock, u64 link_rate, u64 now_ns)
{
	clock->bytes = 0;
	clock->sync_bytes = 0;
	clock->sync_ns = now_ns;
	clock->link_rate = link_rate;
}

/*
 * @a * @mul / @div, at most GAP_TIME_MAX.  The processor's division traps where
 * the result does not fit; a link rate that was given far too low gets there.
 */
static inline u64 gap_mul_div(u64 a, u64 mul, u64 div)
{
	u64 whole, rest;

	if (mul_u64_u64_shr(a, mul, 64) >= div)
		return GAP_TIME_MAX;
	/* a quotient of large factors is not exact on every processor */
	whole = div64_u64_rem(a, div, &rest) * mul;
	return min(whole + mul_u64_u64_div_u64(rest, mul, div), GAP_TIME_MAX);
}

/* The wire is free at @now_ns, whatever was sent. */
static inline void gap_clock_reset(struct gap_clock *clock, u64 now_ns)
{
	clock->sync_bytes = clock->bytes;
	clock->sync_ns = now_ns;
}

/* Byte-times as real time, and back. */
static inline u64 gap_clock_bytes_to_ns(const struct gap_clock *clock, u64 bytes)
{
	return gap_mul_div(bytes, GAP_NSEC_PER_SEC, clock->link_rate);
}

static inline u64 gap_clock_ns_to_bytes(const struct gap_clock *clock, u64 ns)
{
	return gap_mul_div(ns, clock->link_rate, GAP_NSEC_PER_SEC);
}

/* Real time at which everything sent so far has left the wire. */
static inline u64 gap_clock_wire_free_ns(const struct gap_clock *clock)
{
	return clock->sync_ns +
	       gap_clock_bytes_to_ns(clock, clock->bytes - clock->sync_bytes);
}

/*
 * Real time, rounded up, at which the clock will have come to @bytes if it
 * runs with the link rate from its last comparison on.
 */
static inline u64 gap_clock_ns_at(const struct gap_clock *clock, u64 bytes)
{
	return clock->sync_ns + 1 + gap_clock_bytes_to_ns(clock, bytes - clock->sync_bytes);
}

/*
 * All that was sent has left the wire when the bytes that the device reports as
 * held have, and what its FIFO may hold besides.  A clock that says later is
 * ahead, as on a link faster than its rate, and would make the next gap longer.
 */
static inline void gap_clock_cap(struct gap_clock *clock, u64 now_ns, u32 held_bytes)
{
	u64 bytes = gap_wire_bytes_most(held_bytes) + GAP_FIFO_MAX_BYTES;
	u64 latest_ns = now_ns + gap_clock_bytes_to_ns(clock, bytes);

	if (gap_clock_wire_free_ns(clock) > latest_ns)
		gap_clock_reset(clock, latest_ns);
}

/*
 * Real time is the clock: it says what has passed, whatever was sent.  It is
 * counted from one origin for long, so that roundings do not add up.
 */
static inline void gap_clock_sync_time(struct gap_clock *clock, u64 now_ns)
{
	u64 bytes;

	if (now_ns <= clock->sync_ns)
		return;
	bytes = clock->sync_bytes + gap_clock_ns_to_bytes(clock, now_ns - clock->sync_ns);
	clock->bytes = gap_time_later(clock->bytes, bytes);
	if (now_ns - clock->sync_ns > GAP_SYNC_AGE_NS) {
		clock->sync_bytes = bytes;
		clock->sync_ns = now_ns;
	}
}

/*
 * Count the time for which the wire was idle; returns it in ns.  Only to be
 * called when the device is known to hold nothing: one that is slower than it
 * says, or was paused, may hold frames for longer than the link rate tells.
 * Between two of these comparisons only the NIC's own clock counts.  Each brings in how
 * far it and the kernel's have drifted apart since the one before.
 */
static inline u64 gap_clock_sync_idle(struct gap_clock *clock, u64 now_ns)
{
	u64 before = clock->bytes;

	gap_clock_sync_time(clock, now_ns);
	if (clock->bytes != before)
		return gap_clock_bytes_to_ns(clock, clock->bytes - before);
	/* frames were lost, or the link is faster than its rate says */
	gap_clock_cap(clock, now_ns, 0);
	return 0;
}

/* A new link rate holds from @now_ns on; time already counted stays. */
static inline void gap_clock_set_link_rate(struct gap_clock *clock,
					   u64 link_rate, u64 now_ns)
{
	clock->sync_ns = max(gap_clock_wire_free_ns(clock), now_ns);
	clock->sync_bytes = clock->bytes;
	WRITE_ONCE(clock->link_rate, link_rate);	/* read by dumps */
}

/**
 * struct gap_rate - one rate of a class
 * @rate: bytes of wire time per second, or GAP_RATE_UNLIMITED; 0: not set
 * @rem: what the divisions left over, in units of 1/@rate byte-times
 * @wire: length of the last frame, or GSO packet, in byte-times, 0: none yet
 * @quot: byte-times that a frame of that length takes at this rate,
 * @mod: and what that division leaves over
 */
struct gap_rate {
	u64	rate;
	u64	rem;
	u64	quot;
	u64	mod;
	u32	wire;
};

/* Sets the rate and drops what followed from the rate before, or from another link rate. */
static inline void gap_rate_set(struct gap_rate *rate, u64 bytes_per_s)
{
	WRITE_ONCE(rate->rate, bytes_per_s);	/* read by dumps */
	rate->rem = 0;
	rate->wire = 0;
}

static inline bool gap_rate_is_limited(const struct gap_rate *rate)
{
	return rate->rate != GAP_RATE_UNLIMITED;
}

/*
 * Byte-times from the start of a frame of @wire byte-times to the start of the
 * next one.  Frames of one length follow each other, so the division is rare.
 */
static inline u64 gap_rate_interval(struct gap_rate *rate, u64 link_rate, u32 wire)
{
	u64 interval;

	if (unlikely(rate->wire != wire)) {
		/* wire <= GAP_BURST_MAX_BYTES and link_rate < 2^40: no overflow */
		rate->quot = div64_u64_rem((u64)wire * link_rate, rate->rate, &rate->mod);
		rate->wire = wire;
	}
	interval = rate->quot;
	rate->rem += rate->mod;
	if (rate->rem >= rate->rate) {
		rate->rem -= rate->rate;
		interval++;
	}
	return interval;
}

/*
 * A frame of @wire byte-times starts at @now; it was due at @due.  Sets *@next
 * to when the next one is due, and returns by how much later that is than the
 * rate would have it.
 *
 * A frame that is late because another one held the wire, or because a timer was
 * late, does not move the schedule: the class makes the time up with its next
 * frames.  At most one interval is credited this way, or @credit_min where that
 * is longer: what a foreign frame can cost, or a timer may be late.  More would
 * become a burst.
 */
static inline u64 gap_rate_charge(struct gap_rate *rate, u64 link_rate, u64 due,
				  u64 now, u32 wire, u64 credit_min, u64 *next)
{
	u64 interval = gap_rate_interval(rate, link_rate, wire);
	u64 late = now - due;
	u64 lost;

	*next = due + interval;
	if (likely(late <= credit_min || late <= interval))
		return 0;
	lost = late - max(interval, credit_min);
	*next += lost;
	return lost;
}

/*
 * The class has had no packets: its schedule starts at @now, unless it still owes
 * an interval.  Then @next is ahead of @now by less than GAP_TIME_MAX, which no interval
 * is as long as; a @next that is further ahead has passed, and the difference wrapped.
 */
static inline u64 gap_pace_start(u64 next, u64 now)
{
	return next - now > GAP_TIME_MAX ? now : next;
}

/*
 * A rate or the link rate changes at @now: what is left to wait until @next
 * shrinks or grows as @mul to @div.
 */
static inline u64 gap_pace_rescale(u64 next, u64 now, u64 mul, u64 div)
{
	if (!gap_time_after(next, now))
		return next;
	return now + gap_mul_div(next - now, mul, div);
}

/*
 * Byte-times of the gap frame to send now when @need are to pass before the
 * next data frame: from the shortest slot to @slot_max, and such that no
 * impossible remainder is left.  A @need below the shortest slot is exceeded,
 * and some where the MTU is below 130; the class makes that up.
 */
static inline u32 gap_slot_bytes(u64 need, u32 slot_max)
{
	if (need <= GAP_SLOT_MIN_BYTES)
		return GAP_SLOT_MIN_BYTES;
	if (need <= slot_max)
		return need;
	if (need - slot_max < GAP_SLOT_MIN_BYTES)
		return max_t(u32, need - GAP_SLOT_MIN_BYTES, GAP_SLOT_MIN_BYTES);
	return slot_max;
}

/*
 * Do gap frames take their time on the wire?
 *
 * By the byte clock the device cannot have sent more than the link carries.
 * Where it has, it gave frames back sooner than they could leave: something
 * drops gap frames, and what follows them is not paced.  An honest device may
 * be ahead by what its FIFO holds behind the queue that it reports, what it
 * reports at once and the core's own bulk; and its clock and ours may differ
 * by one part in GAP_WATCH_DRIFT, which is 500 ppm.
 */
#define GAP_WATCH_SLACK_BYTES	(GAP_FIFO_MAX_BYTES + 128 * 1024)
#define GAP_WATCH_STEP_BYTES	(128 * 1024)
#define GAP_WATCH_DRIFT		2000
/* After which gap frames of 0.1 % of the wire come to more than slack and drift. */
#define GAP_WATCH_WINDOW_BYTES	(2ULL * GAP_WATCH_DRIFT * GAP_WATCH_SLACK_BYTES)

/**
 * struct gap_watch - what the device has sent since a moment
 * @check_at: on the byte clock, when to look again
 * @began_ns: that moment, 0: none yet
 * @began_bytes: wire bytes that had left the device by then, at most
 * @began_completed: what the driver had given back by then
 * @completed: what it had given back at the last look
 */
struct gap_watch {
	u64	check_at;
	u64	began_ns;
	u64	began_bytes;
	u32	began_completed;
	u32	completed;
};

/*
 * Is the device ahead of the link?  @queued and @completed are what the driver
 * has been given and has given back.  The core may have taken frames, up to
 * @limit bytes with those of the driver, that the driver has not seen yet.
 */
static inline bool gap_watch_is_ahead(struct gap_watch *watch,
				      const struct gap_clock *clock, u32 queued,
				      u32 completed, u32 limit, u64 now_ns)
{
	u64 left_bytes, most_bytes;
	u32 held_bytes;

	watch->check_at = clock->bytes + GAP_WATCH_STEP_BYTES;
	/* the driver has reset its queue, and will not send what was in it */
	if ((s32)(completed - watch->completed) < 0)
		watch->began_ns = 0;
	watch->completed = completed;
	held_bytes = max(queued - completed, limit);
	left_bytes = clock->bytes - gap_wire_bytes_most(held_bytes) - watch->began_bytes;
	if (gap_time_after(0, left_bytes))
		left_bytes = 0;
	/* and not more than the driver has said */
	left_bytes = min(left_bytes, gap_wire_bytes_most(completed - watch->began_completed));
	most_bytes = gap_clock_ns_to_bytes(clock, now_ns - watch->began_ns);
	most_bytes += most_bytes / GAP_WATCH_DRIFT + GAP_WATCH_SLACK_BYTES;
	if (watch->began_ns && gap_time_after(left_bytes, most_bytes))
		return true;
	if (!watch->began_ns || left_bytes > GAP_WATCH_WINDOW_BYTES) {
		watch->began_ns = now_ns;
		watch->began_bytes = clock->bytes - (queued - completed);
		watch->began_completed = completed;
	}
	return false;
}

/*
 * The clock, compared with real time, found the wire idle for @idle_ns.  The
 * device has sent nothing then; and part of it may be from before the watch
 * began, as when the device's clock has long been slower than ours.
 */
static inline void gap_watch_idle(struct gap_watch *watch,
				  const struct gap_clock *clock, u64 idle_ns)
{
	watch->began_bytes += gap_clock_ns_to_bytes(clock, idle_ns);
}

#endif /* _GAP_BYTECLOCK_H */
