// SPDX-License-Identifier: GPL-2.0
/*
 * Classes: how they come and go, their requests and dumps.  A request is
 * checked as a whole before anything of it is applied.
 */
#include <linux/rtnetlink.h>
#include <net/pkt_cls.h>

#include "gap_sched.h"

static struct netlink_range_validation gap_class_rate_range = { 1, GAP_RATE_UNLIMITED };
static struct netlink_range_validation gap_class_expires_range = { 0, GAP_EXPIRES_MAX_NS };
static struct netlink_range_validation gap_class_burst_range = { 0, GAP_BURST_MAX_BYTES };

static const struct nla_policy gap_class_policy[TCA_GAP_CLASS_MAX + 1] = {
	[TCA_GAP_CLASS_RATE64] =
		NLA_POLICY_FULL_RANGE(NLA_U64, &gap_class_rate_range),
	[TCA_GAP_CLASS_PHASES] = { .type = NLA_BINARY },
	[TCA_GAP_CLASS_FALLBACK64] =
		NLA_POLICY_FULL_RANGE(NLA_U64, &gap_class_rate_range),
	[TCA_GAP_CLASS_EXPIRES_NS] =
		NLA_POLICY_FULL_RANGE(NLA_U64, &gap_class_expires_range),
	[TCA_GAP_CLASS_BURST] =
		NLA_POLICY_FULL_RANGE(NLA_U32, &gap_class_burst_range),
};

/* What a request asks for, checked. */
struct gap_class_request {
	struct nlattr			*tb[TCA_GAP_CLASS_MAX + 1];
	const struct nlattr		*phases;	/* TCA_GAP_CLASS_PHASES */
	unsigned int			phase_count;
	struct gap_rate			*table;		/* for a class that has none yet */
};

/* @attr: where @rate was given. */
static int gap_class_check_rate(const struct gap_sched *q, u64 rate,
				const struct nlattr *attr, struct netlink_ext_ack *extack)
{
	u64 most = q->speed_known ? q->clock.link_rate : GAP_RATE_MAX;

	if (rate <= most || rate == GAP_RATE_UNLIMITED)
		return 0;
	NL_SET_ERR_MSG_ATTR(extack, attr,
			    "the rate exceeds the link rate; to leave packets unpaced use unlimited");
	return -EINVAL;
}

/* The attribute is aligned to 4 bytes, the entry to 8. */
static struct tc_gap_phase_rate gap_class_phase_of(const struct nlattr *attr, unsigned int i)
{
	struct tc_gap_phase_rate entry;

	memcpy(&entry, nla_data(attr) + i * sizeof(entry), sizeof(entry));
	return entry;
}

/* What may fail of a request is done here: also the table is made. */
static int gap_class_check_phases(const struct gap_sched *q, const struct gap_class *cl,
				  struct gap_class_request *req,
				  struct netlink_ext_ack *extack)
{
	const struct nlattr *attr = req->tb[TCA_GAP_CLASS_PHASES];
	struct tc_gap_phase_rate entry;
	unsigned int i;
	int err;

	req->phases = attr;
	req->phase_count = nla_len(attr) / sizeof(entry);
	if (nla_len(attr) % sizeof(entry)) {
		NL_SET_ERR_MSG_ATTR(extack, attr,
				    "the table of rates is cut off in the middle of an entry");
		return -EINVAL;
	}
	if (cl && !gap_class_is_leaf(cl)) {
		NL_SET_ERR_MSG_ATTR(extack, attr,
				    "only a class without children has packets, and rates for their phases");
		return -EINVAL;
	}
	for (i = 0; i < req->phase_count; i++) {
		entry = gap_class_phase_of(attr, i);
		if (!entry.phase || entry.phase > GAP_PHASE_MAX || entry.reserved) {
			NL_SET_ERR_MSG_ATTR(extack, attr,
					    "a phase has a number from 1 to "
					    __stringify(GAP_PHASE_MAX));
			return -ERANGE;
		}
		err = gap_class_check_rate(q, entry.rate, attr, extack);
		if (err)
			return err;
	}
	if (!req->phase_count || (cl && cl->phases))
		return 0;
	req->table = kcalloc(GAP_PHASE_MAX, sizeof(*req->table), GFP_KERNEL);
	if (req->table)
		return 0;
	NL_SET_ERR_MSG(extack, "no memory for the table of rates");
	return -ENOMEM;
}

static int gap_class_check_lease(const struct gap_class *cl, struct nlattr **tb,
				 struct netlink_ext_ack *extack)
{
	struct nlattr *expires = tb[TCA_GAP_CLASS_EXPIRES_NS];
	struct nlattr *fallback = tb[TCA_GAP_CLASS_FALLBACK64];
	bool leased = cl && cl->expires_ns;
	u64 ns = expires ? nla_get_u64(expires) : 0;

	if (ns && ns < GAP_EXPIRES_MIN_NS) {
		NL_SET_ERR_MSG_ATTR(extack, expires,
				    "a rate expires after 1 ms to 1 day, or with 0 never");
		return -ERANGE;
	}
	if (fallback && !expires && !leased)
		NL_SET_ERR_MSG_ATTR(extack, fallback,
				    "a fallback needs expires: the time after which it takes effect");
	else if (ns && !fallback && !leased)
		NL_SET_ERR_MSG_ATTR(extack, expires,
				    "expires needs fallback: the rate that takes effect then");
	else
		return 0;
	return -EINVAL;
}

static int gap_class_check_burst(const struct gap_class *cl, const struct nlattr *burst,
				 struct netlink_ext_ack *extack)
{
	if (!burst || !nla_get_u32(burst) || !cl || gap_class_is_leaf(cl))
		return 0;
	NL_SET_ERR_MSG_ATTR(extack, burst,
			    "only a class without children has packets that a burst keeps whole");
	return -EINVAL;
}

/* @cl: NULL for a new class. */
static int gap_class_parse(const struct gap_sched *q, const struct gap_class *cl,
			   struct nlattr **tca, struct gap_class_request *req,
			   struct netlink_ext_ack *extack)
{
	struct nlattr *rate, *fallback;
	int err;

	if (tca[TCA_RATE]) {
		NL_SET_ERR_MSG_ATTR(extack, tca[TCA_RATE],
				    "rate estimators are not supported");
		return -EOPNOTSUPP;
	}
	if (!tca[TCA_OPTIONS])
		return 0;
	err = nla_parse_nested(req->tb, TCA_GAP_CLASS_MAX, tca[TCA_OPTIONS],
			       gap_class_policy, extack);
	rate = req->tb[TCA_GAP_CLASS_RATE64];
	fallback = req->tb[TCA_GAP_CLASS_FALLBACK64];
	if (!err && rate)
		err = gap_class_check_rate(q, nla_get_u64(rate), rate, extack);
	if (!err && fallback)
		err = gap_class_check_rate(q, nla_get_u64(fallback), fallback, extack);
	if (!err)
		err = gap_class_check_lease(cl, req->tb, extack);
	if (!err)
		err = gap_class_check_burst(cl, req->tb[TCA_GAP_CLASS_BURST], extack);
	if (!err && req->tb[TCA_GAP_CLASS_PHASES])
		err = gap_class_check_phases(q, cl, req, extack);
	return err;
}

/*
 * Could a packet have to wait in the class, or has the administrator given it a qdisc or
 * a filter, which have to see its packets?  A leased rate may change at any time.
 */
static bool gap_class_needs_queue(const struct gap_class *cl)
{
	unsigned int i;

	if (gap_rate_is_limited(&cl->rate) || cl->expires_ns || cl->qdisc || cl->filter_cnt)
		return true;
	for (i = 0; cl->phases && i < GAP_PHASE_MAX; i++)
		if (cl->phases[i].rate && gap_rate_is_limited(&cl->phases[i]))
			return true;
	return false;
}

/*
 * Recompute TCQ_F_CAN_BYPASS.  The core clears the flag when a filter is added; we set it
 * again, on purpose: see TCA_GAP_BYPASS.  Needs RTNL, as all that changes the flags does,
 * and the tree lock.
 */
void gap_update_bypass(struct Qdisc *sch)
{
	struct gap_sched *q = qdisc_priv(sch);
	struct gap_class *cl;

	q->bypassed = q->conf.bypass;
	list_for_each_entry(cl, &q->classes, list) {
		if (!q->bypassed)
			break;
		q->bypassed = !gap_class_needs_queue(cl);
	}
	if (q->bypassed)
		sch->flags |= TCQ_F_CAN_BYPASS;
	else
		sch->flags &= ~TCQ_F_CAN_BYPASS;
}

static void gap_class_apply(struct gap_sched *q, struct gap_class *cl,
			    struct gap_class_request *req)
{
	struct nlattr *rate = req->tb[TCA_GAP_CLASS_RATE64];
	struct nlattr *fallback = req->tb[TCA_GAP_CLASS_FALLBACK64];
	struct nlattr *expires = req->tb[TCA_GAP_CLASS_EXPIRES_NS];
	struct nlattr *burst = req->tb[TCA_GAP_CLASS_BURST];
	struct tc_gap_phase_rate entry;
	unsigned int i;

	if (burst)
		WRITE_ONCE(cl->burst_bytes, nla_get_u32(burst));	/* read by dumps */
	if (fallback)
		cl->fallback = nla_get_u64(fallback);
	if (expires)
		cl->expires_ns = nla_get_u64(expires);
	if (rate || !cl->expires_ns)
		cl->expired = false;
	if (rate)
		gap_class_set_entry(q, cl, &cl->rate, nla_get_u64(rate));
	else if (cl->expired)
		gap_class_set_entry(q, cl, &cl->rate, cl->fallback);
	if (req->table)
		cl->phases = req->table;
	for (i = 0; i < req->phase_count; i++) {
		entry = gap_class_phase_of(req->phases, i);
		gap_class_set_entry(q, cl, &cl->phases[entry.phase - 1], entry.rate);
	}
	gap_lease_refresh(cl);
	gap_update_bypass(q->sch);
	gap_kick(q->sch);
}

/* Packets that nobody claims; tree lock held. */
void gap_class_find_default(struct Qdisc *sch)
{
	struct gap_sched *q = qdisc_priv(sch);
	struct gap_class *cl = NULL;

	if (q->conf.defcls)
		cl = gap_class_find(q, TC_H_MAKE(sch->handle, q->conf.defcls));
	q->defcl = cl && gap_class_is_leaf(cl) ? cl : &q->direct;
}

/* *@parent: NULL directly below the qdisc. */
static int gap_class_find_parent(struct Qdisc *sch, u32 parentid,
				 struct gap_class **parent, struct netlink_ext_ack *extack)
{
	*parent = NULL;
	if (parentid == TC_H_ROOT || !TC_H_MIN(parentid))
		return 0;
	*parent = gap_class_find(qdisc_priv(sch), parentid);
	if (!*parent) {
		NL_SET_ERR_MSG(extack, "the parent class does not exist");
		return -ENOENT;
	}
	if ((*parent)->depth >= GAP_CLASS_DEPTH_MAX) {
		NL_SET_ERR_MSG(extack, "classes may be nested 8 deep at most");
		return -EINVAL;
	}
	return 0;
}

/* Drop all packets of a leaf; tree lock held. */
static void gap_class_empty(struct Qdisc *sch, struct gap_class *cl)
{
	u32 qlen = cl->queue.qlen, backlog_bytes = cl->queue.backlog_bytes;

	if (cl->qdisc)
		qdisc_purge_queue(cl->qdisc);
	gap_class_purge(cl);
	sch->q.qlen -= qlen;
	qstats_backlog_sub(sch, backlog_bytes);
	qdisc_tree_reduce_backlog(sch, qlen, backlog_bytes);
	gap_tree_update(cl);
}

static void gap_class_free(struct gap_class *cl)
{
	hrtimer_cancel(&cl->lease_timer);
	qdisc_put(cl->qdisc);
	kfree(cl->phases);
	kfree(cl->queue.hashed);
	kfree(cl);
}

static int gap_class_add(struct Qdisc *sch, u32 classid, struct gap_class *parent,
			 struct gap_class_request *req, unsigned long *arg)
{
	struct gap_class *cl = kzalloc(sizeof(*cl), GFP_KERNEL);
	struct gap_sched *q = qdisc_priv(sch);
	struct Qdisc *parent_qdisc = NULL;
	struct gap_rate *table = NULL;

	if (!cl || !gap_class_init(q, cl, parent)) {
		kfree(cl);
		return -ENOMEM;
	}
	cl->common.classid = classid;
	sch_tree_lock(sch);
	if (parent && gap_class_is_leaf(parent)) {
		gap_class_empty(sch, parent);
		swap(parent->qdisc, parent_qdisc);
		swap(parent->phases, table);
		parent->charged = &parent->rate;
		parent->burst_bytes = 0;
	}
	if (parent)
		parent->child_count++;
	qdisc_class_hash_insert(&q->clhash, &cl->common);
	list_add_tail(&cl->list, &q->classes);
	gap_class_apply(q, cl, req);
	gap_class_find_default(sch);
	sch_tree_unlock(sch);

	qdisc_class_hash_grow(sch, &q->clhash);
	qdisc_put(parent_qdisc);
	kfree(table);
	*arg = (unsigned long)cl;
	return 0;
}

static int gap_class_change(struct Qdisc *sch, u32 classid, u32 parentid,
			    struct nlattr **tca, unsigned long *arg,
			    struct netlink_ext_ack *extack)
{
	struct gap_class *cl = (struct gap_class *)*arg, *parent;
	struct gap_sched *q = qdisc_priv(sch);
	struct gap_class_request req = {};
	int err;

	err = gap_class_find_parent(sch, parentid, &parent, extack);
	if (err)
		return err;
	if (cl && parentid && parent != cl->parent) {
		NL_SET_ERR_MSG(extack, "a class cannot be moved to another parent");
		return -EINVAL;
	}
	if (!TC_H_MIN(classid)) {
		NL_SET_ERR_MSG(extack,
			       "a class needs a classid with a minor number other than 0");
		return -EINVAL;
	}
	err = gap_class_parse(q, cl, tca, &req, extack);
	if (err)
		return err;
	if (cl) {
		sch_tree_lock(sch);
		gap_class_apply(q, cl, &req);
		sch_tree_unlock(sch);
		return 0;
	}
	err = gap_class_add(sch, classid, parent, &req, arg);
	if (err) {
		kfree(req.table);
		NL_SET_ERR_MSG(extack, "no memory for the class");
	}
	return err;
}

static int gap_class_delete(struct Qdisc *sch, unsigned long arg,
			    struct netlink_ext_ack *extack)
{
	struct gap_class *cl = (struct gap_class *)arg;
	struct gap_sched *q = qdisc_priv(sch);

	if (!gap_class_is_leaf(cl)) {
		NL_SET_ERR_MSG(extack, "the class has child classes; delete them first");
		return -EBUSY;
	}
	if (cl->filter_cnt) {
		NL_SET_ERR_MSG(extack, "filters lead to the class; delete them first");
		return -EBUSY;
	}
	sch_tree_lock(sch);
	gap_class_empty(sch, cl);
	qdisc_class_hash_remove(&q->clhash, &cl->common);
	list_del(&cl->list);
	if (cl->parent)
		cl->parent->child_count--;
	gap_class_find_default(sch);
	gap_update_bypass(sch);
	sch_tree_unlock(sch);
	gap_class_free(cl);
	return 0;
}

/* The filters, which lead to classes, are gone already. */
void gap_class_destroy_all(struct Qdisc *sch)
{
	struct gap_sched *q = qdisc_priv(sch);
	struct gap_class *cl, *next;

	list_for_each_entry_safe(cl, next, &q->classes, list)
		gap_class_free(cl);
	qdisc_class_hash_destroy(&q->clhash);
}

/* Without a qdisc the class has its own queue. */
static int gap_class_graft(struct Qdisc *sch, unsigned long arg, struct Qdisc *new,
			   struct Qdisc **old, struct netlink_ext_ack *extack)
{
	struct gap_class *cl = (struct gap_class *)arg;

	if (!gap_class_is_leaf(cl)) {
		NL_SET_ERR_MSG(extack, "only a class without children can have a qdisc");
		return -EINVAL;
	}
	sch_tree_lock(sch);
	gap_class_empty(sch, cl);
	*old = cl->qdisc;
	cl->qdisc = new;
	gap_update_bypass(sch);
	sch_tree_unlock(sch);
	return 0;
}

static struct Qdisc *gap_class_leaf(struct Qdisc *sch, unsigned long arg)
{
	return ((struct gap_class *)arg)->qdisc;
}

static void gap_class_qlen_notify(struct Qdisc *sch, unsigned long arg)
{
	gap_tree_update((struct gap_class *)arg);
}

static unsigned long gap_class_search(struct Qdisc *sch, u32 classid)
{
	return (unsigned long)gap_class_find(qdisc_priv(sch), classid);
}

/* Filters are the qdisc's only: one of them leads to any class at once. */
static struct tcf_block *gap_class_tcf_block(struct Qdisc *sch, unsigned long arg,
					     struct netlink_ext_ack *extack)
{
	struct gap_sched *q = qdisc_priv(sch);

	if (!arg)
		return q->block;
	NL_SET_ERR_MSG(extack, "classes have no filters of their own; add them to the qdisc");
	return NULL;
}

static unsigned long gap_class_bind(struct Qdisc *sch, unsigned long parent, u32 classid)
{
	struct gap_class *cl = gap_class_find(qdisc_priv(sch), classid);

	if (!cl)
		return 0;
	cl->filter_cnt++;
	gap_update_bypass(sch);
	return (unsigned long)cl;
}

static void gap_class_unbind(struct Qdisc *sch, unsigned long arg)
{
	((struct gap_class *)arg)->filter_cnt--;
	gap_update_bypass(sch);
}

static int gap_class_put_phases(const struct gap_class *cl, struct sk_buff *skb)
{
	struct tc_gap_phase_rate entry = {};
	struct nlattr *attr;

	if (!cl->phases)
		return 0;
	attr = nla_reserve(skb, TCA_GAP_CLASS_PHASES, 0);
	if (!attr)
		return -EMSGSIZE;
	while (entry.phase < GAP_PHASE_MAX) {
		entry.rate = cl->phases[entry.phase++].rate;
		if (entry.rate && nla_append(skb, sizeof(entry), &entry))
			return -EMSGSIZE;
	}
	nla_nest_end(skb, attr);
	return 0;
}

static int gap_class_put_burst(const struct gap_class *cl, struct sk_buff *skb)
{
	u32 burst_bytes = READ_ONCE(cl->burst_bytes);

	return burst_bytes ? nla_put_u32(skb, TCA_GAP_CLASS_BURST, burst_bytes) : 0;
}

static int gap_class_put_lease(const struct gap_class *cl, bool expired, struct sk_buff *skb)
{
	s64 left_ns = cl->deadline_ns - ktime_get_boottime_ns();

	if (!cl->expires_ns)
		return 0;
	if (nla_put_u64_64bit(skb, TCA_GAP_CLASS_FALLBACK64, cl->fallback, TCA_GAP_CLASS_PAD) ||
	    nla_put_u64_64bit(skb, TCA_GAP_CLASS_EXPIRES_NS, cl->expires_ns, TCA_GAP_CLASS_PAD))
		return -EMSGSIZE;
	if (expired)
		return nla_put_flag(skb, TCA_GAP_CLASS_EXPIRED);
	return nla_put_u64_64bit(skb, TCA_GAP_CLASS_LEFT_NS, max_t(s64, left_ns, 0),
				 TCA_GAP_CLASS_PAD);
}

static int gap_class_dump(struct Qdisc *sch, unsigned long arg,
			  struct sk_buff *skb, struct tcmsg *tcm)
{
	struct gap_class *cl = (struct gap_class *)arg;
	/* gap_lease_fall_back(): who has expired has the fallback rate */
	bool expired = smp_load_acquire(&cl->expired);
	struct nlattr *nest;
	int err;

	tcm->tcm_parent = cl->parent ? cl->parent->common.classid : TC_H_ROOT;
	tcm->tcm_handle = cl->common.classid;
	if (cl->qdisc)
		tcm->tcm_info = cl->qdisc->handle;

	nest = nla_nest_start_noflag(skb, TCA_OPTIONS);
	if (!nest)
		return -EMSGSIZE;
	err = nla_put_u64_64bit(skb, TCA_GAP_CLASS_RATE64, READ_ONCE(cl->rate.rate),
				TCA_GAP_CLASS_PAD);
	if (!err)
		err = gap_class_put_phases(cl, skb);
	if (!err)
		err = gap_class_put_lease(cl, expired, skb);
	if (!err)
		err = gap_class_put_burst(cl, skb);
	if (err) {
		nla_nest_cancel(skb, nest);
		return err;
	}
	return nla_nest_end(skb, nest);
}

static int gap_class_dump_stats(struct Qdisc *sch, unsigned long arg, struct gnet_dump *d)
{
	struct gap_class *cl = (struct gap_class *)arg;
	struct tc_gap_xstats xstats = { .type = TC_GAP_XSTATS_CLASS };
	struct tc_gap_class_xstats *x = &xstats.cl;
	struct gnet_stats_queue qstats = {
		.drops = READ_ONCE(cl->drops),
		.backlog = READ_ONCE(cl->queue.backlog_bytes),
	};
	u32 qlen = READ_ONCE(cl->queue.qlen);

	/* the packet path counts under a lock that dumps do not take */
	*x = data_race(cl->xstats);
	x->acks_first = READ_ONCE(cl->queue.acks_first);
	x->destinations = READ_ONCE(cl->queue.turns_count);
	if (cl->qdisc)
		qdisc_qstats_qlen_backlog(cl->qdisc, &qlen, &qstats.backlog);

	if (gnet_stats_copy_basic(d, NULL, &cl->bstats, true) < 0 ||
	    gnet_stats_copy_queue(d, NULL, &qstats, qlen) < 0)
		return -1;
	return gnet_stats_copy_app(d, &xstats, sizeof(xstats));
}

static void gap_class_walk(struct Qdisc *sch, struct qdisc_walker *walker)
{
	struct gap_sched *q = qdisc_priv(sch);
	struct gap_class *cl;

	if (walker->stop)
		return;
	list_for_each_entry(cl, &q->classes, list)
		if (!tc_qdisc_stats_dump(sch, (unsigned long)cl, walker))
			return;
}

const struct Qdisc_class_ops gap_class_ops = {
	.graft		= gap_class_graft,
	.leaf		= gap_class_leaf,
	.qlen_notify	= gap_class_qlen_notify,
	.find		= gap_class_search,
	.change		= gap_class_change,
	.delete		= gap_class_delete,
	.walk		= gap_class_walk,
	.tcf_block	= gap_class_tcf_block,
	.bind_tcf	= gap_class_bind,
	.unbind_tcf	= gap_class_unbind,
	.dump		= gap_class_dump,
	.dump_stats	= gap_class_dump_stats,
};

/* Something has changed by itself: the class, or with NULL the qdisc.  Needs RTNL. */
void gap_notify(struct Qdisc *sch, struct gap_class *cl)
{
	struct net_device *dev = qdisc_dev(sch);
	struct sk_buff *skb = nlmsg_new(NLMSG_GOODSIZE, GFP_KERNEL);
	struct nlmsghdr *nlh;
	struct tcmsg *tcm;

	if (!skb)
		goto lost;
	nlh = nlmsg_put(skb, 0, 0, cl ? RTM_NEWTCLASS : RTM_NEWQDISC, sizeof(*tcm), 0);
	tcm = nlmsg_data(nlh);
	*tcm = (struct tcmsg){
		.tcm_family = AF_UNSPEC,
		.tcm_ifindex = dev->ifindex,
		.tcm_parent = sch->parent,
		.tcm_handle = sch->handle,
	};
	if (nla_put_string(skb, TCA_KIND, sch->ops->id) ||
	    (cl ? gap_class_dump(sch, (unsigned long)cl, skb, tcm) :
		  sch->ops->dump(sch, skb)) < 0)
		goto lost;
	nlmsg_end(skb, nlh);
	rtnl_notify(skb, dev_net(dev), 0, RTNLGRP_TC, NULL, GFP_KERNEL);
	return;
lost:
	kfree_skb(skb);
	rtnl_set_sk_err(dev_net(dev), RTNLGRP_TC, -ENOBUFS);
}

/* Needs RTNL. */
void gap_class_notify_expired(struct Qdisc *sch)
{
	struct gap_sched *q = qdisc_priv(sch);
	struct gap_class *cl;

	sch_tree_lock(sch);
	gap_lease_end(q);
	gap_kick(sch);
	sch_tree_unlock(sch);
	list_for_each_entry(cl, &q->classes, list)
		if (cl->notify) {
			cl->notify = false;
			gap_notify(sch, cl);
		}
}
