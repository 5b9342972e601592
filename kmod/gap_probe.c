// SPDX-License-Identifier: GPL-2.0
/*
 * The self-test: do gap frames take their time on the wire?
 *
 * When the device is empty, as many gap frames of the shortest length as of
 * the longest are sent, one kind after the other, and for each the time is
 * taken until the device has given all of them back.  What the long ones take
 * more than the short ones is known from the link rate.  Taking the
 * difference leaves out all that a frame costs whatever its length: the
 * processor's and the bus's time, interrupt moderation.  A device that drops
 * the frames shows no difference, and neither does one that the processor
 * cannot fill.
 *
 * Where the longest frame is hardly longer than the shortest (frame-max), the
 * time of the frames themselves has to do, within a narrower margin, and a
 * port counter of sent PAUSE frames must have moved if there is one.
 *
 * A processor or a device that is held up meanwhile makes a good device look
 * bad, but hardly twice: only the second test can fail.
 *
 * Data waits meanwhile, for some milliseconds.
 */
#include <linux/rtnetlink.h>

#include "gap_priv.h"

#define GAP_PROBE_TARGET_NS	(5 * NSEC_PER_MSEC)	/* on the wire, long frames */
#define GAP_PROBE_FRAMES_MIN	16
#define GAP_PROBE_FRAMES_MAX	8192
#define GAP_PROBE_POLL_NS	(50 * NSEC_PER_USEC)
#define GAP_PROBE_DRAIN_NS	(100 * NSEC_PER_MSEC)
#define GAP_PROBE_SLACK_NS	(2 * NSEC_PER_MSEC)	/* for a busy processor */
#define GAP_PROBE_GIVE_UP_NS	(20 * NSEC_PER_MSEC)	/* and three times the target */
/* How much longer the longest frame must be for a difference to be measured. */
#define GAP_PROBE_RATIO_MIN	4

static bool gap_probe_by_difference(const struct gap_sched *q)
{
	return q->slot_max >= GAP_PROBE_RATIO_MIN * GAP_SLOT_MIN_BYTES;
}

static u32 gap_probe_slot(const struct gap_sched *q)
{
	return q->probe.phase == GAP_PROBE_SHORT ? GAP_SLOT_MIN_BYTES :
						   q->slot_max;
}

/* Is it this qdisc that the device asks for frames? */
static bool gap_probe_is_attached(struct Qdisc *sch)
{
	struct net_device *dev = qdisc_dev(sch);

	return rcu_access_pointer(netdev_get_tx_queue(dev, 0)->qdisc) == sch;
}

/*
 * Has the device given back all gap frames?  Byte queue limits tell; without
 * them the references to the template's bytes do, one for each frame.
 */
static bool gap_probe_is_drained(struct gap_sched *q)
{
	const struct net_device *dev = qdisc_dev(q->probe.sch);
	u32 queued;

	if (!gap_device_has_bql(dev))
		return !skb_cloned(q->frame);
	queued = gap_device_queued_bytes(dev) - q->probe.queued;
	if (q->probe.phase != GAP_PROBE_DRAIN &&
	    queued < q->probe.frames *
		     (gap_probe_slot(q) - GAP_FRAME_OVERHEAD_BYTES))
		return false;	/* some are still on their way to the driver */
	return gap_device_is_empty(dev);
}

static void gap_probe_begin(struct gap_sched *q, enum gap_probe_phase phase,
			    u64 now_ns)
{
	struct gap_probe *probe = &q->probe;

	probe->phase = phase;
	probe->left = probe->frames;
	probe->queued = gap_device_queued_bytes(qdisc_dev(probe->sch));
	probe->began_ns = now_ns;
	probe->give_up_ns = now_ns + GAP_PROBE_GIVE_UP_NS +
		3 * gap_clock_bytes_to_ns(&q->clock,
					  (u64)probe->frames * gap_probe_slot(q));
}

/* Tree lock held. */
static void gap_probe_advance(struct gap_sched *q, u64 now_ns)
{
	struct gap_probe *probe = &q->probe;
	bool drained = gap_probe_is_drained(q) && !probe->left;

	if (!drained && now_ns >= probe->give_up_ns) {
		probe->gave_up = true;
		probe->long_ns = now_ns - probe->began_ns;
		probe->phase = GAP_PROBE_DONE;
		return;
	}
	switch (probe->phase) {
	case GAP_PROBE_DRAIN:
		if (drained && gap_probe_is_attached(probe->sch))
			gap_probe_begin(q, gap_probe_by_difference(q) ?
					GAP_PROBE_SHORT : GAP_PROBE_LONG, now_ns);
		break;
	case GAP_PROBE_SHORT:
		if (drained) {
			probe->short_ns = now_ns - probe->began_ns;
			gap_probe_begin(q, GAP_PROBE_LONG, now_ns);
		}
		break;
	case GAP_PROBE_LONG:
		if (drained) {
			probe->long_ns = now_ns - probe->began_ns;
			probe->phase = GAP_PROBE_DONE;
		}
		break;
	default:
		break;
	}
}

/*
 * Tree lock held: the timer's own function may be running while a new test
 * starts, so nobody but who holds the lock moves the timer.
 */
static void gap_probe_arm(struct gap_probe *probe)
{
	hrtimer_start(&probe->timer, ns_to_ktime(GAP_PROBE_POLL_NS),
		      HRTIMER_MODE_REL_SOFT);
}

/*
 * Only a root qdisc is tested, so its own lock is the tree lock.  Until it is
 * attached another one is the root, which may go away here: its lock is not
 * for timers.
 */
static enum hrtimer_restart gap_probe_poll(struct hrtimer *timer)
{
	struct gap_probe *probe = container_of(timer, struct gap_probe, timer);
	struct gap_sched *q = container_of(probe, struct gap_sched, probe);
	struct Qdisc *sch = probe->sch;
	bool on;

	spin_lock_bh(qdisc_lock(sch));
	on = gap_probe_is_on(probe);
	if (on) {
		gap_probe_advance(q, ktime_get_ns());
		on = gap_probe_is_on(probe);
		if (on)
			gap_probe_arm(probe);
		else
			gap_async_queue(q);
		if (gap_probe_is_attached(sch) && (!on || probe->left))
			__netif_schedule(sch);
	}
	spin_unlock_bh(qdisc_lock(sch));
	return HRTIMER_NORESTART;
}

/* What the qdisc sends while the self-test is on. */
struct sk_buff *gap_probe_dequeue(struct Qdisc *sch)
{
	struct gap_sched *q = qdisc_priv(sch);
	struct gap_probe *probe = &q->probe;
	struct sk_buff *skb;

	if (!probe->left)
		return NULL;
	skb = gap_frame_get(q, qdisc_dev(sch), gap_probe_slot(q));
	if (!skb) {
		probe->failed = true;
		return NULL;
	}
	skb_set_queue_mapping(skb, 0);
	probe->left--;
	q->handed++;
	q->xstats.gap_packets++;
	q->xstats.gap_wire_bytes += gap_probe_slot(q);
	return skb;
}

void gap_probe_init(struct Qdisc *sch)
{
	struct gap_sched *q = qdisc_priv(sch);

	q->probe.sch = sch;
	hrtimer_init(&q->probe.timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
	q->probe.timer.function = gap_probe_poll;
}

/* Needs RTNL, a device that is up and the timer back end. */
static void gap_probe_run(struct Qdisc *sch, bool is_second)
{
	struct gap_sched *q = qdisc_priv(sch);
	struct gap_probe *probe = &q->probe;
	u64 frames;

	sch_tree_lock(sch);
	probe->is_second = is_second;
	frames = div_u64(gap_clock_ns_to_bytes(&q->clock, GAP_PROBE_TARGET_NS),
			 q->slot_max);
	probe->frames = clamp_t(u64, frames, GAP_PROBE_FRAMES_MIN,
				GAP_PROBE_FRAMES_MAX);
	probe->has_counter = q->conf.frame == GAP_FRAME_PAUSE &&
		gap_device_pause_counter(qdisc_dev(sch), &probe->counter);
	probe->valid = false;
	probe->gave_up = false;
	probe->failed = false;
	probe->short_ns = 0;
	probe->left = 0;
	probe->phase = GAP_PROBE_DRAIN;
	probe->began_ns = ktime_get_ns();
	probe->give_up_ns = probe->began_ns + GAP_PROBE_DRAIN_NS;
	q->xstats.selftests++;
	gap_probe_arm(probe);
	sch_tree_unlock(sch);
}

void gap_probe_start(struct Qdisc *sch)
{
	gap_probe_run(sch, false);
}

/* What held up the first test is hardly there again in the second. */
void gap_probe_again(struct Qdisc *sch)
{
	gap_probe_run(sch, true);
}

/* Tree lock held, or nobody else knows of the qdisc. */
void gap_probe_stop(struct gap_sched *q)
{
	q->probe.phase = GAP_PROBE_OFF;
	q->probe.left = 0;
}

/* After this the timer does not run and will not. */
void gap_probe_cancel(struct gap_sched *q)
{
	gap_probe_stop(q);
	hrtimer_cancel(&q->probe.timer);
}

/* ---- the result -------------------------------------------------------------- */

u32 gap_probe_frames(const struct gap_probe *probe)
{
	return probe->short_ns ? 2 * probe->frames : probe->frames;
}

/* To be compared with gap_probe.expected_ns. */
u64 gap_probe_took_ns(const struct gap_probe *probe)
{
	return probe->long_ns > probe->short_ns ?
	       probe->long_ns - probe->short_ns : 0;
}

static enum gap_verdict gap_probe_verdict(const struct gap_probe *probe,
					  bool difference)
{
	u64 took_ns = gap_probe_took_ns(probe);

	if (probe->gave_up)
		return probe->failed ? GAP_VERDICT_NO_MEMORY : GAP_VERDICT_SLOW;
	if (took_ns * 10 < probe->expected_ns * (difference ? 7 : 9))
		return GAP_VERDICT_LOST;
	if (!difference && probe->has_counter && !probe->counted)
		return GAP_VERDICT_LOST;
	if (took_ns * 2 > probe->expected_ns * 3 + GAP_PROBE_SLACK_NS)
		return GAP_VERDICT_SLOW;
	return GAP_VERDICT_PASSED;
}

/* The self-test is done: collect the evidence.  Needs RTNL. */
enum gap_verdict gap_probe_judge(struct Qdisc *sch)
{
	struct gap_sched *q = qdisc_priv(sch);
	bool difference = gap_probe_by_difference(q);
	struct gap_probe *probe = &q->probe;
	u64 counter;
	u32 slot;

	slot = q->slot_max - (difference ? GAP_SLOT_MIN_BYTES : 0);
	probe->expected_ns = gap_clock_bytes_to_ns(&q->clock,
						   (u64)probe->frames * slot);
	if (probe->has_counter &&
	    gap_device_pause_counter(qdisc_dev(sch), &counter))
		probe->counted = counter - probe->counter;
	probe->phase = GAP_PROBE_OFF;
	probe->valid = true;
	return gap_probe_verdict(probe, difference);
}
