// SPDX-License-Identifier: GPL-2.0
/*
 * Classes of the gap qdisc: which packet belongs to which class, and the
 * netlink requests that make, change, show and delete classes.
 */
#include <linux/module.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <net/netlink.h>
#include <net/pkt_cls.h>

#include "gap_priv.h"

struct gap_class *gap_class_lookup(struct Qdisc *sch, u32 classid)
{
	struct gap_sched *q = qdisc_priv(sch);
	struct Qdisc_class_common *common;

	common = qdisc_class_find(&q->clhash, classid);
	return common ? container_of(common, struct gap_class, common) : NULL;
}

/* ---- packets ---------------------------------------------------------- */

/* What the filters' verdict says about the packet; true if it is gone. */
static bool gap_class_act_took(int verdict, int *qerr)
{
#ifdef CONFIG_NET_CLS_ACT
	switch (verdict) {
	case TC_ACT_QUEUED:
	case TC_ACT_STOLEN:
	case TC_ACT_TRAP:
		*qerr = NET_XMIT_SUCCESS | __NET_XMIT_STOLEN;
		return true;
	case TC_ACT_SHOT:
		return true;
	}
#endif
	return false;
}

static struct gap_class *gap_class_default(struct Qdisc *sch)
{
	struct gap_sched *q = qdisc_priv(sch);
	struct gap_class *cl = NULL;

	if (q->defcls)
		cl = gap_class_lookup(sch, TC_H_MAKE(sch->handle, q->defcls));
	return cl && cl->qdisc ? cl : &q->direct;
}

/*
 * The leaf for @skb: the one skb->priority names, else the one the filters
 * lead to, from class to class downwards, else the default class, else
 * "direct".  NULL if an action took or refused the packet; *@qerr says which.
 */
struct gap_class *gap_class_classify(struct sk_buff *skb, struct Qdisc *sch,
				     int *qerr)
{
	struct gap_sched *q = qdisc_priv(sch);
	struct gap_class *cl = NULL, *next;
	struct tcf_result res;
	struct tcf_proto *fl;
	int verdict;

	*qerr = NET_XMIT_SUCCESS | __NET_XMIT_BYPASS;
	if (skb->priority == sch->handle)
		return &q->direct;
	if (TC_H_MAJ(skb->priority) == sch->handle)
		cl = gap_class_lookup(sch, skb->priority);
	if (cl && cl->qdisc)
		return cl;

	fl = cl ? rcu_dereference_bh(cl->filter_list) :
		  rcu_dereference_bh(q->filter_list);
	while (fl) {
		verdict = tcf_classify(skb, NULL, fl, &res, false);
		if (verdict < 0)
			break;
		if (gap_class_act_took(verdict, qerr))
			return NULL;
		next = (struct gap_class *)res.class;
		if (!next)
			next = gap_class_lookup(sch, res.classid);
		if (!next || (cl && next->depth <= cl->depth))
			break;		/* nowhere, or back up: a loop */
		if (next->qdisc)
			return next;
		cl = next;
		fl = rcu_dereference_bh(cl->filter_list);
	}
	return gap_class_default(sch);
}

/* ---- rates ------------------------------------------------------------ */

/* Caller holds the tree lock. */
void gap_class_set_rate(struct gap_sched *q, struct gap_class *cl, u64 rate)
{
	list_del_init(&cl->lingering);
	if (rate == cl->pace.rate)
		return;
	if (q->idle)
		gap_clock_tie(&q->clock, ktime_get_ns());
	gap_pace_set_rate(&cl->pace, rate, q->clock.bytes);
	gap_tree_requeue(q, cl);
}

/* Let a waiting rate take effect once the class is empty or out of time. */
void gap_class_end_linger(struct gap_sched *q, struct gap_class *cl)
{
	if (!gap_tree_is_backlogged(cl) ||
	    ktime_get_ns() >= cl->next_deadline_ns)
		gap_class_set_rate(q, cl, cl->next_rate);
}

void gap_class_end_lingers(struct gap_sched *q)
{
	struct gap_class *cl, *tmp;

	list_for_each_entry_safe(cl, tmp, &q->lingering, lingering)
		gap_class_end_linger(q, cl);
}

/* The highest rate that a class has or will have, 0 if all are unlimited. */
u64 gap_class_fastest(const struct gap_sched *q)
{
	const struct gap_class *cl;
	u64 fastest = 0;
	unsigned int i;

	for (i = 0; i < q->clhash.hashsize; i++)
		hlist_for_each_entry(cl, &q->clhash.hash[i], common.hnode) {
			if (gap_class_is_limited(cl))
				fastest = max(fastest, cl->pace.rate);
			if (gap_class_is_lingering(cl) &&
			    cl->next_rate != GAP_RATE_UNLIMITED)
				fastest = max(fastest, cl->next_rate);
		}
	return fastest;
}

/* ---- requests ---------------------------------------------------------- */

static struct netlink_range_validation gap_class_rate_range = {
	.min = 1,
	.max = GAP_RATE_UNLIMITED,
};

static struct netlink_range_validation gap_class_linger_range = {
	.max = GAP_LINGER_MAX_NS,
};

static const struct nla_policy gap_class_policy[TCA_GAP_CLASS_MAX + 1] = {
	[TCA_GAP_CLASS_RATE64] =
		NLA_POLICY_FULL_RANGE(NLA_U64, &gap_class_rate_range),
	[TCA_GAP_CLASS_LINGER_NS] =
		NLA_POLICY_FULL_RANGE(NLA_U64, &gap_class_linger_range),
	[TCA_GAP_CLASS_NEXT_RATE64] = { .type = NLA_REJECT },
};

/* What a request asks for, checked against the class and the qdisc. */
struct gap_class_conf {
	bool	has_rate;
	u64	rate;
	u64	linger_ns;
};

static int gap_class_parse(const struct gap_sched *q, const struct gap_class *cl,
			   struct nlattr *opt, struct gap_class_conf *conf,
			   struct netlink_ext_ack *extack)
{
	struct nlattr *tb[TCA_GAP_CLASS_MAX + 1] = {};
	int err;

	if (opt) {
		err = nla_parse_nested(tb, TCA_GAP_CLASS_MAX, opt,
				       gap_class_policy, extack);
		if (err < 0)
			return err;
	}

	memset(conf, 0, sizeof(*conf));
	conf->rate = GAP_RATE_UNLIMITED;
	if (tb[TCA_GAP_CLASS_RATE64]) {
		conf->has_rate = true;
		conf->rate = nla_get_u64(tb[TCA_GAP_CLASS_RATE64]);
	}
	if (conf->rate != GAP_RATE_UNLIMITED &&
	    conf->rate > q->clock.link_rate) {
		NL_SET_ERR_MSG_ATTR(extack, tb[TCA_GAP_CLASS_RATE64],
				    "the class rate exceeds the link rate; to leave the class unpaced use unlimited");
		return -EINVAL;
	}
	if (tb[TCA_GAP_CLASS_LINGER_NS]) {
		conf->linger_ns = nla_get_u64(tb[TCA_GAP_CLASS_LINGER_NS]);
		if (!cl || !conf->has_rate) {
			NL_SET_ERR_MSG_ATTR(extack, tb[TCA_GAP_CLASS_LINGER_NS],
					    "linger delays a change of a class's rate: it needs an existing class and a rate");
			return -EINVAL;
		}
	}
	return 0;
}

static void gap_class_apply(struct Qdisc *sch, struct gap_class *cl,
			    const struct gap_class_conf *conf)
{
	struct gap_sched *q = qdisc_priv(sch);

	if (!conf->has_rate)
		return;
	sch_tree_lock(sch);
	/* an earlier one may have come to its end with no packet to see it */
	gap_class_end_lingers(q);
	if (conf->linger_ns) {
		cl->next_rate = conf->rate;
		cl->next_deadline_ns = ktime_get_ns() + conf->linger_ns;
		list_move_tail(&cl->lingering, &q->lingering);
		gap_class_end_linger(q, cl);
	} else {
		gap_class_set_rate(q, cl, conf->rate);
	}
	sch_tree_unlock(sch);
}

/* *@parent: NULL directly below the qdisc. */
static int gap_class_find_parent(struct Qdisc *sch, u32 parentid,
				 struct gap_class **parent,
				 struct netlink_ext_ack *extack)
{
	*parent = NULL;
	if (parentid == TC_H_ROOT || !TC_H_MIN(parentid))
		return 0;
	*parent = gap_class_lookup(sch, parentid);
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

static int gap_class_check_new(struct Qdisc *sch, u32 classid,
			       struct nlattr **tca,
			       struct netlink_ext_ack *extack)
{
	if (!TC_H_MIN(classid) || TC_H_MAJ(classid ^ sch->handle)) {
		NL_SET_ERR_MSG(extack,
			       "a class needs a classid with the major number of its qdisc and a minor number other than 0");
		return -EINVAL;
	}
	if (tca[TCA_RATE]) {
		NL_SET_ERR_MSG_ATTR(extack, tca[TCA_RATE],
				    "rate estimators are not supported");
		return -EOPNOTSUPP;
	}
	return 0;
}

static struct Qdisc *gap_class_new_leaf(struct Qdisc *sch, u32 classid,
					struct netlink_ext_ack *extack)
{
	struct Qdisc *leaf;

	leaf = qdisc_create_dflt(sch->dev_queue, &gap_leaf_qdisc_ops, classid,
				 extack);
	if (!leaf)
		NL_SET_ERR_MSG(extack, "no memory for the class's queue");
	return leaf;
}

/* The parent ceases to be a leaf: what it still held is dropped. */
static void gap_class_become_inner(struct gap_sched *q, struct gap_class *cl,
				   struct Qdisc **old)
{
	qdisc_purge_queue(cl->qdisc);
	gap_tree_deactivate(q, cl);
	*old = cl->qdisc;
	cl->qdisc = NULL;
}

static int gap_class_create(struct Qdisc *sch, u32 classid, u32 parentid,
			    struct nlattr **tca, unsigned long *arg,
			    struct netlink_ext_ack *extack)
{
	struct gap_sched *q = qdisc_priv(sch);
	struct Qdisc *parent_leaf = NULL;
	struct gap_class *cl, *parent;
	struct gap_class_conf conf;
	int err;

	err = gap_class_check_new(sch, classid, tca, extack);
	if (!err)
		err = gap_class_find_parent(sch, parentid, &parent, extack);
	if (!err)
		err = gap_class_parse(q, NULL, tca[TCA_OPTIONS], &conf, extack);
	if (err)
		return err;

	cl = kzalloc(sizeof(*cl), GFP_KERNEL);
	if (!cl)
		return -ENOMEM;
	gap_tree_init_class(cl);
	gnet_stats_basic_sync_init(&cl->bstats);
	err = tcf_block_get(&cl->block, &cl->filter_list, sch, extack);
	if (err)
		goto err_free;
	cl->qdisc = gap_class_new_leaf(sch, classid, extack);
	if (!cl->qdisc) {
		err = -ENOMEM;
		goto err_block;
	}
	qdisc_hash_add(cl->qdisc, true);
	cl->common.classid = classid;
	cl->parent = parent;
	cl->depth = parent ? parent->depth + 1 : 1;
	cl->pace.rate = conf.rate;

	sch_tree_lock(sch);
	if (parent) {
		if (parent->qdisc)
			gap_class_become_inner(q, parent, &parent_leaf);
		parent->children++;
	}
	qdisc_class_hash_insert(&q->clhash, &cl->common);
	sch_tree_unlock(sch);

	qdisc_class_hash_grow(sch, &q->clhash);
	qdisc_put(parent_leaf);
	*arg = (unsigned long)cl;
	return 0;

err_block:
	tcf_block_put(cl->block);
err_free:
	kfree(cl);
	return err;
}

static bool gap_class_is_below(const struct gap_class *cl, u32 parentid)
{
	if (parentid == TC_H_ROOT || !TC_H_MIN(parentid))
		return !cl->parent;
	return cl->parent && cl->parent->common.classid == parentid;
}

static int gap_class_change(struct Qdisc *sch, u32 classid, u32 parentid,
			    struct nlattr **tca, unsigned long *arg,
			    struct netlink_ext_ack *extack)
{
	struct gap_class *cl = (struct gap_class *)*arg;
	struct gap_sched *q = qdisc_priv(sch);
	struct gap_class_conf conf;
	int err;

	if (!cl)
		return gap_class_create(sch, classid, parentid, tca, arg, extack);

	if (parentid && !gap_class_is_below(cl, parentid)) {
		NL_SET_ERR_MSG(extack, "a class cannot be moved to another parent");
		return -EINVAL;
	}
	err = gap_class_parse(q, cl, tca[TCA_OPTIONS], &conf, extack);
	if (!err)
		gap_class_apply(sch, cl, &conf);
	return err;
}

static int gap_class_delete(struct Qdisc *sch, unsigned long arg,
			    struct netlink_ext_ack *extack)
{
	struct gap_class *cl = (struct gap_class *)arg;
	struct gap_sched *q = qdisc_priv(sch);
	struct gap_class *parent = cl->parent;
	struct Qdisc *parent_leaf = NULL;

	if (cl->children) {
		NL_SET_ERR_MSG(extack, "the class has child classes; delete them first");
		return -EBUSY;
	}
	if (cl->filter_cnt) {
		NL_SET_ERR_MSG(extack, "filters lead to the class; delete them first");
		return -EBUSY;
	}
	if (parent && parent->children == 1) {
		parent_leaf = gap_class_new_leaf(sch, parent->common.classid,
						 extack);
		if (!parent_leaf)
			return -ENOMEM;
		qdisc_hash_add(parent_leaf, true);
	}

	sch_tree_lock(sch);
	qdisc_purge_queue(cl->qdisc);
	gap_tree_deactivate(q, cl);
	list_del_init(&cl->lingering);
	qdisc_class_hash_remove(&q->clhash, &cl->common);
	if (parent) {
		parent->children--;
		if (parent_leaf)
			parent->qdisc = parent_leaf;
	}
	sch_tree_unlock(sch);

	qdisc_put(cl->qdisc);
	tcf_block_put(cl->block);
	kfree(cl);
	return 0;
}

/* ---- child qdiscs and filters ------------------------------------------- */

static int gap_class_graft(struct Qdisc *sch, unsigned long arg,
			   struct Qdisc *new, struct Qdisc **old,
			   struct netlink_ext_ack *extack)
{
	struct gap_class *cl = (struct gap_class *)arg;

	if (!cl->qdisc) {
		NL_SET_ERR_MSG(extack, "only a class without children can have a qdisc");
		return -EINVAL;
	}
	if (!new) {
		new = gap_class_new_leaf(sch, cl->common.classid, extack);
		if (!new)
			return -ENOMEM;
		qdisc_hash_add(new, true);
	}
	*old = qdisc_replace(sch, new, &cl->qdisc);
	return 0;
}

static struct Qdisc *gap_class_leaf(struct Qdisc *sch, unsigned long arg)
{
	return ((struct gap_class *)arg)->qdisc;
}

static void gap_class_qlen_notify(struct Qdisc *sch, unsigned long arg)
{
	gap_tree_deactivate(qdisc_priv(sch), (struct gap_class *)arg);
}

static unsigned long gap_class_search(struct Qdisc *sch, u32 classid)
{
	return (unsigned long)gap_class_lookup(sch, classid);
}

static struct tcf_block *gap_class_tcf_block(struct Qdisc *sch,
					     unsigned long arg,
					     struct netlink_ext_ack *extack)
{
	struct gap_class *cl = (struct gap_class *)arg;
	struct gap_sched *q = qdisc_priv(sch);

	return cl ? cl->block : q->block;
}

static unsigned long gap_class_bind(struct Qdisc *sch, unsigned long parent,
				    u32 classid)
{
	struct gap_class *cl = gap_class_lookup(sch, classid);

	if (cl)
		cl->filter_cnt++;
	return (unsigned long)cl;
}

static void gap_class_unbind(struct Qdisc *sch, unsigned long arg)
{
	struct gap_class *cl = (struct gap_class *)arg;

	if (cl)
		cl->filter_cnt--;
}

/* ---- dumps ---------------------------------------------------------------- */

static int gap_class_dump(struct Qdisc *sch, unsigned long arg,
			  struct sk_buff *skb, struct tcmsg *tcm)
{
	struct gap_class *cl = (struct gap_class *)arg;
	u64 rate, next_rate;
	struct nlattr *nest;
	bool pending;

	sch_tree_lock(sch);
	rate = cl->pace.rate;
	next_rate = cl->next_rate;
	pending = gap_class_is_lingering(cl);
	/* due, but the device has asked for no frame since */
	if (pending && ktime_get_ns() >= cl->next_deadline_ns) {
		rate = next_rate;
		pending = false;
	}
	sch_tree_unlock(sch);

	tcm->tcm_parent = cl->parent ? cl->parent->common.classid : TC_H_ROOT;
	tcm->tcm_handle = cl->common.classid;
	if (cl->qdisc)
		tcm->tcm_info = cl->qdisc->handle;

	nest = nla_nest_start_noflag(skb, TCA_OPTIONS);
	if (!nest)
		return -EMSGSIZE;
	if (nla_put_u64_64bit(skb, TCA_GAP_CLASS_RATE64, rate,
			      TCA_GAP_CLASS_PAD) ||
	    (pending && nla_put_u64_64bit(skb, TCA_GAP_CLASS_NEXT_RATE64,
					  next_rate, TCA_GAP_CLASS_PAD))) {
		nla_nest_cancel(skb, nest);
		return -EMSGSIZE;
	}
	return nla_nest_end(skb, nest);
}

static int gap_class_dump_stats(struct Qdisc *sch, unsigned long arg,
				struct gnet_dump *d)
{
	struct gap_class *cl = (struct gap_class *)arg;
	struct tc_gap_xstats xstats = { .type = TC_GAP_XSTATS_CLASS };
	struct gnet_stats_queue qstats;
	u32 qlen = 0;

	sch_tree_lock(sch);
	xstats.cl = cl->xstats;
	qstats = cl->qstats;
	if (cl->qdisc) {
		qdisc_qstats_qlen_backlog(cl->qdisc, &qlen, &qstats.backlog);
		gap_leaf_fill_xstats(cl->qdisc, &xstats.cl);
	}
	sch_tree_unlock(sch);

	if (gnet_stats_copy_basic(d, NULL, &cl->bstats, true) < 0 ||
	    gnet_stats_copy_queue(d, NULL, &qstats, qlen) < 0)
		return -1;
	return gnet_stats_copy_app(d, &xstats, sizeof(xstats));
}

static void gap_class_walk(struct Qdisc *sch, struct qdisc_walker *walker)
{
	struct gap_sched *q = qdisc_priv(sch);
	struct gap_class *cl;
	unsigned int i;

	if (walker->stop)
		return;
	for (i = 0; i < q->clhash.hashsize; i++)
		hlist_for_each_entry(cl, &q->clhash.hash[i], common.hnode)
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

/* ---- the qdisc's own life ------------------------------------------------- */

static void gap_class_reset(struct gap_class *cl)
{
	if (cl->qdisc)
		qdisc_reset(cl->qdisc);
	if (gap_class_is_lingering(cl))
		cl->pace.rate = cl->next_rate;
	gap_tree_init_class(cl);
}

void gap_class_reset_all(struct Qdisc *sch)
{
	struct gap_sched *q = qdisc_priv(sch);
	struct gap_class *cl;
	unsigned int i;

	for (i = 0; i < q->clhash.hashsize; i++)
		hlist_for_each_entry(cl, &q->clhash.hash[i], common.hnode)
			gap_class_reset(cl);
	gap_class_reset(&q->direct);
	gap_tree_reset(q);
}

/* Filters may lead to classes: all of them go before the first class does. */
void gap_class_destroy_all(struct Qdisc *sch)
{
	struct gap_sched *q = qdisc_priv(sch);
	struct hlist_node *tmp;
	struct gap_class *cl;
	unsigned int i;

	tcf_block_put(q->block);
	for (i = 0; i < q->clhash.hashsize; i++)
		hlist_for_each_entry(cl, &q->clhash.hash[i], common.hnode) {
			tcf_block_put(cl->block);
			cl->block = NULL;
		}
	for (i = 0; i < q->clhash.hashsize; i++)
		hlist_for_each_entry_safe(cl, tmp, &q->clhash.hash[i],
					  common.hnode) {
			qdisc_put(cl->qdisc);
			kfree(cl);
		}
	qdisc_class_hash_destroy(&q->clhash);
	qdisc_put(q->direct.qdisc);
}
