// SPDX-License-Identifier: GPL-2.0
/*
 * Leases: rates that somebody has to keep alive.
 *
 * When no request reaches the class in time, it falls back, whatever has become
 * of the daemon that should have sent one.  There is one timer for all classes,
 * set to the earliest deadline.  It takes no lock and touches no class, because a
 * qdisc that is destroyed is reset without a lock: it only sets flags.  The next
 * dequeue sees them and takes the rates away; on an idle qdisc a work does, which
 * holds RTNL and tells user space as well.
 */
#include "gap_lease.h"
#include "gap_packet.h"

static enum hrtimer_restart gap_lease_expire(struct hrtimer *timer)
{
	struct gap_sched *q = container_of(timer, struct gap_sched, lease_timer);

	WRITE_ONCE(q->lease_due, true);
	WRITE_ONCE(q->slow, true);
	schedule_delayed_work(&q->work, 0);
	rcu_read_lock();
	__netif_schedule(qdisc_root(q->sch));
	rcu_read_unlock();
	return HRTIMER_NORESTART;
}

static void gap_lease_start_timer(struct gap_sched *q, u64 deadline_ns)
{
	hrtimer_start(&q->lease_timer, ns_to_ktime(deadline_ns),
		      HRTIMER_MODE_ABS_SOFT);
}

void gap_lease_refresh(struct gap_sched *q, struct gap_class *cl)
{
	ktime_t due = hrtimer_get_softexpires(&q->lease_timer);

	if (!cl->expires_ns || cl->expired)
		return;
	cl->deadline_ns = ktime_get_boottime_ns() + cl->expires_ns;
	if (!hrtimer_is_queued(&q->lease_timer) ||
	    ktime_before(ns_to_ktime(cl->deadline_ns), due))
		gap_lease_start_timer(q, cl->deadline_ns);
}

u64 gap_lease_left_ns(const struct gap_class *cl)
{
	s64 left = cl->deadline_ns - ktime_get_boottime_ns();

	return max_t(s64, left, 0);
}

static void gap_lease_fall_back(struct gap_sched *q, struct gap_class *cl)
{
	gap_class_set_entry(q, cl, &cl->rate, cl->fallback);
	gap_class_set_cap(q, cl, cl->fallback);
	cl->expired = true;
	cl->notify = true;
	cl->xstats.expired++;
	q->xstats.expired++;
}

/* The earliest of the deadlines that are left is waited for. */
void gap_lease_end(struct gap_sched *q)
{
	u64 next_ns = U64_MAX, now_ns;
	struct gap_class *cl;

	if (!READ_ONCE(q->lease_due))
		return;
	WRITE_ONCE(q->lease_due, false);
	now_ns = ktime_get_boottime_ns();
	list_for_each_entry(cl, &q->classes, list) {
		if (!cl->expires_ns || cl->expired)
			continue;
		if (now_ns >= cl->deadline_ns)
			gap_lease_fall_back(q, cl);
		else
			next_ns = min(next_ns, cl->deadline_ns);
	}
	if (next_ns != U64_MAX)
		gap_lease_start_timer(q, next_ns);
}

void gap_lease_init(struct gap_sched *q)
{
	hrtimer_init(&q->lease_timer, CLOCK_BOOTTIME, HRTIMER_MODE_ABS_SOFT);
	q->lease_timer.function = gap_lease_expire;
}
