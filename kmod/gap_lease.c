// SPDX-License-Identifier: GPL-2.0
/*
 * A rate that somebody has to keep alive: when no request reaches the class
 * in time, its rate becomes the fallback, whatever has become of the daemon
 * that should have sent one.
 */
#include <linux/rtnetlink.h>
#include <net/netlink.h>

#include "gap_priv.h"

/*
 * Only leaves word: a qdisc is reset on its way out without any lock, so
 * nothing but the packet path and RTNL's holder may touch the classes' tree.
 */
static enum hrtimer_restart gap_lease_expire(struct hrtimer *timer)
{
	struct gap_lease *lease = container_of(timer, struct gap_lease, timer);
	struct gap_class *cl = container_of(lease, struct gap_class, lease);
	struct gap_sched *q = qdisc_priv(cl->sch);

	WRITE_ONCE(lease->due, true);
	WRITE_ONCE(q->leases_due, true);
	gap_async_queue(q);
	rcu_read_lock();
	__netif_schedule(qdisc_root(cl->sch));
	rcu_read_unlock();
	return HRTIMER_NORESTART;
}

static void gap_lease_fall_back(struct gap_sched *q, struct gap_class *cl)
{
	struct gap_lease *lease = &cl->lease;

	lease->due = false;
	/* a refresh may have come in since */
	if (!lease->expires_ns || gap_lease_left_ns(cl))
		return;
	gap_rate_set(q, cl, lease->fallback);
	lease->expired = true;
	lease->notify = true;
	cl->xstats.expired++;
	q->xstats.expired++;
}

/* Tree lock held. */
void gap_lease_end_due(struct gap_sched *q)
{
	struct gap_class *cl;
	unsigned int i;

	q->leases_due = false;
	for (i = 0; i < q->clhash.hashsize; i++)
		hlist_for_each_entry(cl, &q->clhash.hash[i], common.hnode)
			if (READ_ONCE(cl->lease.due))
				gap_lease_fall_back(q, cl);
}

void gap_lease_init(struct gap_class *cl)
{
	cl->lease.fallback = GAP_RATE_UNLIMITED;
	hrtimer_init(&cl->lease.timer, CLOCK_BOOTTIME, HRTIMER_MODE_ABS_SOFT);
	cl->lease.timer.function = gap_lease_expire;
}

/*
 * A request has reached the class; @new_rate: it gave a rate, which ends the
 * fallback.  Tree lock held.
 */
void gap_lease_refresh(struct gap_class *cl, bool new_rate)
{
	struct gap_lease *lease = &cl->lease;

	if (new_rate || !lease->expires_ns)
		lease->expired = false;
	if (!lease->expires_ns)
		hrtimer_try_to_cancel(&lease->timer);
	else if (!lease->expired)
		hrtimer_start(&lease->timer,
			      ktime_add_ns(ktime_get_boottime(),
					   lease->expires_ns),
			      HRTIMER_MODE_ABS_SOFT);
}

/* After this the timer does not run and will not.  Tree lock not held. */
void gap_lease_cancel(struct gap_class *cl)
{
	hrtimer_cancel(&cl->lease.timer);
}

u64 gap_lease_left_ns(const struct gap_class *cl)
{
	s64 left = ktime_to_ns(hrtimer_get_softexpires(&cl->lease.timer)) -
		   ktime_get_boottime_ns();

	return max_t(s64, left, 0);
}

/* ---- telling user space -------------------------------------------------------- */

static int gap_lease_fill(struct Qdisc *sch, struct gap_class *cl,
			  struct sk_buff *skb)
{
	struct nlmsghdr *nlh;
	struct tcmsg *tcm;

	nlh = nlmsg_put(skb, 0, 0, RTM_NEWTCLASS, sizeof(*tcm), 0);
	if (!nlh)
		return -EMSGSIZE;
	tcm = nlmsg_data(nlh);
	memset(tcm, 0, sizeof(*tcm));
	tcm->tcm_family = AF_UNSPEC;
	tcm->tcm_ifindex = qdisc_dev(sch)->ifindex;
	if (nla_put_string(skb, TCA_KIND, sch->ops->id) ||
	    gap_class_request_dump(sch, (unsigned long)cl, skb, tcm) < 0)
		return -EMSGSIZE;
	nlmsg_end(skb, nlh);
	return 0;
}

static void gap_lease_notify(struct Qdisc *sch, struct gap_class *cl)
{
	struct net *net = dev_net(qdisc_dev(sch));
	struct sk_buff *skb;
	int err = -ENOBUFS;

	skb = nlmsg_new(NLMSG_GOODSIZE, GFP_KERNEL);
	if (skb) {
		err = gap_lease_fill(sch, cl, skb);
		if (!err) {
			rtnl_notify(skb, net, 0, RTNLGRP_TC, NULL, GFP_KERNEL);
			return;
		}
		kfree_skb(skb);
	}
	rtnl_set_sk_err(net, RTNLGRP_TC, err);
}

/* Needs RTNL. */
void gap_lease_notify_all(struct Qdisc *sch)
{
	struct gap_sched *q = qdisc_priv(sch);
	struct gap_class *cl;
	unsigned int i;

	sch_tree_lock(sch);
	gap_lease_end_due(q);
	sch_tree_unlock(sch);
	for (i = 0; i < q->clhash.hashsize; i++)
		hlist_for_each_entry(cl, &q->clhash.hash[i], common.hnode)
			if (cl->lease.notify) {
				cl->lease.notify = false;
				gap_lease_notify(sch, cl);
			}
}
