// SPDX-License-Identifier: GPL-2.0
/*
 * What the packet path and timers find out, but only RTNL's holder may act
 * on.  The work outlives the qdisc: destroying one, under RTNL, cannot wait
 * for a work that waits for RTNL.
 */
#include <linux/kref.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "gap_priv.h"

/**
 * struct gap_async - work on behalf of a qdisc
 * @work: the work
 * @ref: the qdisc's, and one for each time the work is queued
 * @sch: NULL when the qdisc is gone; RTNL
 */
struct gap_async {
	struct work_struct	work;
	struct kref		ref;
	struct Qdisc		*sch;
};

static struct workqueue_struct *gap_async_wq;

static void gap_async_release(struct kref *ref)
{
	kfree(container_of(ref, struct gap_async, ref));
}

static void gap_async_work(struct work_struct *work)
{
	struct gap_async *async = container_of(work, struct gap_async, work);

	rtnl_lock();
	if (async->sch) {
		gap_backend_conclude(async->sch);
		gap_lease_notify_all(async->sch);
	}
	rtnl_unlock();
	kref_put(&async->ref, gap_async_release);
}

int gap_async_init(struct Qdisc *sch)
{
	struct gap_sched *q = qdisc_priv(sch);

	q->async = kzalloc(sizeof(*q->async), GFP_KERNEL);
	if (!q->async)
		return -ENOMEM;
	INIT_WORK(&q->async->work, gap_async_work);
	kref_init(&q->async->ref);
	q->async->sch = sch;
	return 0;
}

/* Any context; the qdisc exists. */
void gap_async_queue(struct gap_sched *q)
{
	kref_get(&q->async->ref);
	if (!queue_work(gap_async_wq, &q->async->work))
		kref_put(&q->async->ref, gap_async_release);
}

/* Needs RTNL; nobody calls gap_async_queue() any more. */
void gap_async_destroy(struct gap_sched *q)
{
	if (!q->async)
		return;
	q->async->sch = NULL;
	kref_put(&q->async->ref, gap_async_release);
	q->async = NULL;
}

int gap_async_register(void)
{
	gap_async_wq = alloc_workqueue("sch_gap", WQ_UNBOUND, 0);
	return gap_async_wq ? 0 : -ENOMEM;
}

/* Waits for works still queued. */
void gap_async_unregister(void)
{
	destroy_workqueue(gap_async_wq);
}
