// SPDX-License-Identifier: GPL-2.0
/*
 * Gap frames or timer?  And everything the packet path keeps that follows
 * from the answer, from what the administrator asks for and from the device.
 */
#include <linux/rtnetlink.h>

#include "gap_priv.h"
#include "gap_trace.h"

static const char *const gap_verdict_text[__GAP_VERDICT_MAX] = {
	[GAP_VERDICT_ASKED]	= "as asked",
	[GAP_VERDICT_PENDING]	= "until the self-test is over",
	[GAP_VERDICT_PASSED]	= "gap frames take their time on the wire",
	[GAP_VERDICT_LOST]	= "gap frames take no time, something drops them",
	[GAP_VERDICT_SLOW]	= "the device is slower than the link rate",
	[GAP_VERDICT_NO_SPEED]	= "the link rate is unknown",
	[GAP_VERDICT_VIRTUAL]	= "gap frames take no time on this kind of device",
	[GAP_VERDICT_NOT_ROOT]	= "gap frames need the root qdisc",
	[GAP_VERDICT_NO_CARRIER] = "the device is down",
	[GAP_VERDICT_NO_MEMORY]	= "no memory for the self-test",
};

/* Tree lock held. */
static void gap_backend_derive(struct gap_sched *q)
{
	q->slot_max = q->frame ? gap_wire_bytes(q->frame->len) : 0;
	if (q->timed)
		q->credit_min = gap_clock_ns_to_bytes(&q->clock,
						      q->conf.burst_ns);
	else
		q->credit_min = q->slot_max + GAP_SLOT_MIN_BYTES;
	q->hybrid_bytes = gap_clock_ns_to_bytes(&q->clock, q->conf.hybrid_ns);
}

/* Bring the clock to now before something it depends on changes. */
void gap_backend_settle_clock(struct gap_sched *q)
{
	if (q->timed)
		gap_clock_follow(&q->clock, ktime_get_ns());
	else if (!q->running && gap_device_is_empty(qdisc_dev(q->sch)))
		gap_clock_tie(&q->clock, ktime_get_ns());
}

static void gap_backend_change_link_rate(struct Qdisc *sch, u64 link_rate)
{
	struct gap_sched *q = qdisc_priv(sch);
	u64 old = q->clock.link_rate;
	u64 new = link_rate ?: GAP_LINK_RATE_NOMINAL;

	q->speed_known = link_rate;
	if (new == old)
		return;
	gap_backend_settle_clock(q);
	gap_clock_set_link_rate(&q->clock, new, ktime_get_ns());
	gap_class_rescale_all(q, old);
	gap_kick(sch);
}

/* Nothing can fail: @frame (NULL: keep the old one) is ready. */
void gap_backend_set_conf(struct Qdisc *sch, const struct gap_conf *conf,
			  u64 link_rate, struct sk_buff *frame)
{
	struct gap_sched *q = qdisc_priv(sch);
	struct sk_buff *old = NULL;

	sch_tree_lock(sch);
	q->conf = *conf;
	gap_class_find_default(sch);
	if (frame) {
		old = q->frame;
		q->frame = frame;
	}
	gap_backend_change_link_rate(sch, link_rate);
	gap_backend_derive(q);
	sch_tree_unlock(sch);
	kfree_skb(old);
}

void gap_backend_set_link_rate(struct Qdisc *sch, u64 link_rate)
{
	struct gap_sched *q = qdisc_priv(sch);

	sch_tree_lock(sch);
	gap_backend_change_link_rate(sch, link_rate);
	gap_backend_derive(q);
	sch_tree_unlock(sch);
}

/*
 * Without memory for longer frames the old ones go on; frames that have
 * become too long are cut in any case.
 */
void gap_backend_set_mtu(struct Qdisc *sch, u32 mtu)
{
	struct gap_sched *q = qdisc_priv(sch);
	struct sk_buff *frame;

	if (!q->frame)
		return;
	frame = gap_frame_alloc(&q->conf, qdisc_dev(sch), mtu);
	sch_tree_lock(sch);
	if (frame)
		swap(q->frame, frame);
	else
		skb_trim(q->frame, gap_frame_len_max(&q->conf, mtu));
	gap_backend_derive(q);
	sch_tree_unlock(sch);
	kfree_skb(frame);
	if (gap_probe_is_on(&q->probe))
		gap_probe_start(sch);	/* its frames must all be of one length */
}

/* ---- the choice ------------------------------------------------------------ */

static void gap_backend_log(struct Qdisc *sch)
{
	struct gap_sched *q = qdisc_priv(sch);
	struct net_device *dev = qdisc_dev(sch);
	const char *backend = q->timed ? "timer" : "gap frames";
	const char *why = gap_verdict_text[q->verdict];
	struct gap_probe *probe = &q->probe;

	if (!probe->valid)
		netdev_info(dev, "gap %x: paced by %s: %s\n", sch->handle >> 16,
			    backend, why);
	else if (!probe->has_counter)
		netdev_info(dev,
			    "gap %x: paced by %s: %s (%u took %llu us, expected %llu us)\n",
			    sch->handle >> 16, backend, why,
			    gap_probe_frames(probe),
			    div_u64(gap_probe_took_ns(probe), NSEC_PER_USEC),
			    div_u64(probe->expected_ns, NSEC_PER_USEC));
	else
		netdev_info(dev,
			    "gap %x: paced by %s: %s (%u took %llu us, expected %llu us; the port counted %llu)\n",
			    sch->handle >> 16, backend, why,
			    gap_probe_frames(probe),
			    div_u64(gap_probe_took_ns(probe), NSEC_PER_USEC),
			    div_u64(probe->expected_ns, NSEC_PER_USEC),
			    probe->counted);
}

static void gap_backend_use(struct Qdisc *sch, bool timed,
			    enum gap_verdict verdict)
{
	struct gap_sched *q = qdisc_priv(sch);
	bool told = verdict == q->verdict && timed == q->timed;

	sch_tree_lock(sch);
	q->verdict = verdict;
	if (timed != q->timed) {
		gap_backend_settle_clock(q);
		q->timed = timed;
		q->running = false;
		q->xstats.backend_changes++;
		gap_backend_derive(q);
		gap_kick(sch);
	}
	sch_tree_unlock(sch);
	trace_gap_backend(qdisc_dev(sch), timed, verdict);
	if (!told && verdict != GAP_VERDICT_PENDING)
		gap_backend_log(sch);
}

/* What can be said without a self-test; PENDING: one is needed. */
static enum gap_verdict gap_backend_judge_device(struct Qdisc *sch)
{
	struct gap_sched *q = qdisc_priv(sch);
	struct net_device *dev = qdisc_dev(sch);

	if (q->conf.backend != GAP_BACKEND_AUTO)
		return GAP_VERDICT_ASKED;
	if (!gap_device_can_gap(dev, NULL))
		return GAP_VERDICT_VIRTUAL;
	if (sch->parent != TC_H_ROOT)
		return GAP_VERDICT_NOT_ROOT;
	if (!gap_device_is_up(dev))
		return GAP_VERDICT_NO_CARRIER;
	if (!q->speed_known)
		return GAP_VERDICT_NO_SPEED;
	return GAP_VERDICT_PENDING;
}

static bool gap_backend_is_tested(const struct gap_sched *q)
{
	return q->verdict == GAP_VERDICT_PASSED ||
	       q->verdict == GAP_VERDICT_LOST ||
	       q->verdict == GAP_VERDICT_SLOW;
}

/* Choose anew; @test: an earlier self-test no longer counts.  Needs RTNL. */
void gap_backend_choose(struct Qdisc *sch, bool test)
{
	struct gap_sched *q = qdisc_priv(sch);
	enum gap_verdict verdict = gap_backend_judge_device(sch);

	if (verdict != GAP_VERDICT_PENDING) {
		sch_tree_lock(sch);
		gap_probe_stop(q);
		q->probe.valid = false;
		sch_tree_unlock(sch);
		gap_backend_use(sch, q->conf.backend != GAP_BACKEND_GAP, verdict);
	} else if (test || !gap_backend_is_tested(q)) {
		if (gap_probe_is_on(&q->probe) && !test)
			return;
		gap_backend_use(sch, true, GAP_VERDICT_PENDING);
		gap_probe_start(sch);
	}
}

/* The self-test is over.  Needs RTNL. */
void gap_backend_conclude(struct Qdisc *sch)
{
	struct gap_sched *q = qdisc_priv(sch);
	enum gap_verdict verdict;

	if (q->probe.phase != GAP_PROBE_DONE)
		return;
	verdict = gap_probe_judge(sch);
	if (verdict != GAP_VERDICT_PASSED && !q->probe.is_second) {
		gap_probe_again(sch);
		return;
	}
	gap_backend_use(sch, verdict != GAP_VERDICT_PASSED, verdict);
}
