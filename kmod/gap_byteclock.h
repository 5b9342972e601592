/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The byte clock: arithmetic only, no kernel state.
 *
 * While a qdisc is backlogged the wire carries data frames and gap frames
 * without a pause, so the number of bytes handed to the device *is* the time
 * on the wire.  All times here are byte-times of the link, and exact: a class
 * keeps the remainder of every division and so has no long-run rate error.
 * Where gap frames cannot be used the clock follows real time instead.
 *
 * tests/unit/byteclock_test.cc compiles this header unchanged in user space.
 */
#ifndef _GAP_BYTECLOCK_H
#define _GAP_BYTECLOCK_H

#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/types.h>

#include "include/uapi/linux/pkt_sched_gap.h"

#define GAP_NSEC_PER_SEC	1000000000ULL
/* Longest difference of two times, in ns or byte-times; sums stay far from 2^64. */
#define GAP_TIME_MAX		0x2000000000000000ULL
/* After so long real time gets a new origin; costs less than a byte-time. */
#define GAP_TIE_AGE_NS		(3600 * GAP_NSEC_PER_SEC)
/* A wire that is free cannot have this much left to send. */
#define GAP_TIE_AHEAD_NS	GAP_NSEC_PER_SEC

/* Byte-times that a frame of @len bytes (no FCS, VLAN tags counted) takes. */
static inline u32 gap_wire_bytes(u32 len)
{
	return max_t(u32, len, GAP_FRAME_MIN_BYTES) + GAP_FRAME_OVERHEAD_BYTES;
}

/**
 * struct gap_clock - time on the wire of one link
 * @bytes: now, in byte-times; the frame sent next starts then
 * @tie_bytes: a moment at which byte-times and real time were compared
 * @tie_ns: the same moment in real time
 * @link_rate: byte-times per second
 */
struct gap_clock {
	u64	bytes;
	u64	tie_bytes;
	u64	tie_ns;
	u64	link_rate;
};

/* @now_ns from any monotonic clock, the same in every call. */
static inline void gap_clock_init(struct gap_clock *clock, u64 link_rate,
				  u64 now_ns)
{
	clock->bytes = 0;
	clock->tie_bytes = 0;
	clock->tie_ns = now_ns;
	clock->link_rate = link_rate;
}

/*
 * @a * @mul / @div, at most GAP_TIME_MAX.  The processor's division traps where
 * the result does not fit; a link rate that was given far too low gets there.
 */
static inline u64 gap_mul_div(u64 a, u64 mul, u64 div)
{
	if (mul_u64_u64_shr(a, mul, 64) >= div)
		return GAP_TIME_MAX;
	return min(mul_u64_u64_div_u64(a, mul, div), GAP_TIME_MAX);
}

/* Byte-times as real time, and back. */
static inline u64 gap_clock_bytes_to_ns(const struct gap_clock *clock,
					u64 bytes)
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
	return clock->tie_ns +
	       gap_clock_bytes_to_ns(clock, clock->bytes - clock->tie_bytes);
}

/*
 * Real time, rounded up, at which the clock will have come to @bytes if it
 * runs with the link rate from its last tie on.
 */
static inline u64 gap_clock_ns_at(const struct gap_clock *clock, u64 bytes)
{
	return clock->tie_ns + 1 +
	       gap_clock_bytes_to_ns(clock, bytes - clock->tie_bytes);
}

/*
 * Count the time for which the wire was idle; returns it in ns.  Only to be
 * called when the device is known to hold nothing: frames in its ring are not
 * idle time, and a device that is slower than it says, or was paused, may
 * hold some for longer than the link rate tells.  Without it a class would
 * still owe gaps for a schedule that real time has long overtaken.
 *
 * Between two ties only the NIC's own clock counts.  A tie brings in how far
 * it and the kernel's have drifted apart since the one before.
 */
static inline u64 gap_clock_tie(struct gap_clock *clock, u64 now_ns)
{
	u64 free_ns = gap_clock_wire_free_ns(clock);

	if (now_ns <= free_ns) {
		/* the link is faster than its rate says */
		if (free_ns - now_ns > GAP_TIE_AHEAD_NS) {
			clock->tie_bytes = clock->bytes;
			clock->tie_ns = now_ns;
		}
		return 0;
	}
	clock->bytes += gap_clock_ns_to_bytes(clock, now_ns - free_ns);
	clock->tie_bytes = clock->bytes;
	clock->tie_ns = now_ns;
	return now_ns - free_ns;
}

/* Real time is the clock: it says what has passed, whatever was sent. */
static inline void gap_clock_follow(struct gap_clock *clock, u64 now_ns)
{
	u64 bytes;

	if (now_ns <= clock->tie_ns)
		return;
	bytes = clock->tie_bytes +
		gap_clock_ns_to_bytes(clock, now_ns - clock->tie_ns);
	clock->bytes = max(clock->bytes, bytes);
	if (now_ns - clock->tie_ns > GAP_TIE_AGE_NS) {
		clock->tie_bytes = bytes;
		clock->tie_ns = now_ns;
	}
}

/* Count from @origin on, so that the clock never comes to its end. */
static inline void gap_clock_rebase(struct gap_clock *clock, u64 origin)
{
	clock->tie_ns = gap_clock_wire_free_ns(clock);
	clock->bytes -= origin;
	clock->tie_bytes = clock->bytes;
}

/* A new link rate holds from @now_ns on; time already counted stays. */
static inline void gap_clock_set_link_rate(struct gap_clock *clock,
					   u64 link_rate, u64 now_ns)
{
	clock->tie_ns = max(gap_clock_wire_free_ns(clock), now_ns);
	clock->tie_bytes = clock->bytes;
	clock->link_rate = link_rate;
}

/**
 * struct gap_pace - the schedule of one class
 * @rate: bytes of wire time per second
 * @next: the byte-time at which the next frame is due
 * @rem: what the divisions left over, in units of 1/@rate byte-times
 */
struct gap_pace {
	u64	rate;
	u64	next;
	u64	rem;
};

/*
 * A new rate from @now on.  What is left of the current interval shrinks or
 * grows in proportion, so a class that leaves a crawl need not wait it out.
 * The remainder, a fraction of a byte-time, is dropped.
 */
static inline void gap_pace_set_rate(struct gap_pace *pace, u64 rate, u64 now)
{
	if (rate == GAP_RATE_UNLIMITED || pace->rate == GAP_RATE_UNLIMITED)
		pace->next = now;
	else if (pace->next > now)
		pace->next = now + gap_mul_div(pace->next - now, pace->rate,
					       rate);
	pace->rate = rate;
	pace->rem = 0;
}

/*
 * The link rate, and so the length of a byte-time, changed at @now: what is
 * left to wait stays the same in real time.
 */
static inline void gap_pace_rescale(struct gap_pace *pace, u64 now,
				    u64 old_link_rate, u64 link_rate)
{
	if (pace->next > now)
		pace->next = now + gap_mul_div(pace->next - now, link_rate,
					       old_link_rate);
	pace->rem = 0;
}

static inline void gap_pace_rebase(struct gap_pace *pace, u64 origin)
{
	pace->next -= min(pace->next, origin);
}

/* The first frame after an idle time: an idle class earns no credit. */
static inline void gap_pace_activate(struct gap_pace *pace, u64 now)
{
	pace->next = max(pace->next, now);
}

/*
 * Charge a frame of @wire byte-times that starts at @start; return the
 * lateness that could not be made up, in byte-times.
 *
 * A frame that starts late because another one held the wire, or because a
 * timer was late, does not move the schedule: the class makes the time up
 * with its next frames.  At most one period is credited this way, or
 * @credit_min where that is longer: with gap frames what a foreign frame can
 * cost (the longest frame of the device and the shortest gap), with the timer
 * what the administrator allows.  More would become a burst.
 */
static inline u64 gap_pace_charge(struct gap_pace *pace, u64 link_rate,
				  u64 start, u32 wire, u64 credit_min)
{
	u64 lost = 0;
	u64 interval;
	u64 credit;

	/* wire < 2^17 and link_rate < 2^40: no overflow */
	interval = div64_u64_rem((u64)wire * link_rate + pace->rem, pace->rate,
				 &pace->rem);
	credit = max(interval, credit_min);
	if (start > pace->next && start - pace->next > credit) {
		lost = start - pace->next - credit;
		pace->next += lost;
	}
	pace->next += interval;
	return lost;
}

/*
 * Byte-times of the gap frame to send now when @need are to pass before the
 * next data frame: never less than the shortest slot, never more than
 * @slot_max, and never such that an impossible remainder is left.  Only a
 * @need below the shortest slot is exceeded; the data frame then starts late
 * and gap_pace_charge() makes that up.
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

#endif /* _GAP_BYTECLOCK_H */
