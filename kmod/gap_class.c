// SPDX-License-Identifier: GPL-2.0
/*
 * Classes of the gap qdisc: which packet belongs to which class, and how
 * classes come, go and get their queues.
 */
#include <linux/module.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
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

/* Packets that nobody claims; tree lock held. */
void gap_class_find_default(struct Qdisc *sch)
{
	struct gap_sched *q = qdisc_priv(sch);
	struct gap_class *cl = NULL;

	if (q->conf.defcls)
		cl = gap_class_lookup(sch, TC_H_MAKE(sch->handle,
						     q->conf.defcls));
	q->defcl = cl && cl->qdisc ? cl : &q->direct;
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

	if (skb->priority == sch->handle)
		return &q->direct;
	*qerr = NET_XMIT_SUCCESS | __NET_XMIT_BYPASS;
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
	return q->defcl;
}

/* ---- life ------------------------------------------------------------------ */

/* *@parent: NULL directly below the qdisc. */
int gap_class_find_parent(struct Qdisc *sch, u32 parentid,
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
	if (gap_order_applies(*parent)) {
		NL_SET_ERR_MSG(extack, "a class below an ordered one can have none itself");
		return -EINVAL;
	}
	return 0;
}

bool gap_class_is_below(const struct gap_class *cl, u32 parentid)
{
	if (parentid == TC_H_ROOT || !TC_H_MIN(parentid))
		return !cl->parent;
	return cl->parent && cl->parent->common.classid == parentid;
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

/*
 * A class below @parent (NULL: the qdisc), not yet known to anybody: the
 * caller fills in what it likes and links it.  NULL: no memory.
 */
struct gap_class *gap_class_create(struct Qdisc *sch, u32 classid,
				   struct gap_class *parent,
				   struct netlink_ext_ack *extack)
{
	struct gap_class *cl;

	cl = kzalloc(sizeof(*cl), GFP_KERNEL);
	if (!cl)
		return NULL;
	gap_tree_init_class(cl);
	gap_lease_init(cl);
	gnet_stats_basic_sync_init(&cl->bstats);
	if (tcf_block_get(&cl->block, &cl->filter_list, sch, extack))
		goto err_free;
	cl->qdisc = gap_class_new_leaf(sch, classid, extack);
	if (!cl->qdisc)
		goto err_block;
	cl->common.classid = classid;
	cl->sch = sch;
	cl->parent = parent;
	cl->depth = parent ? parent->depth + 1 : 1;
	cl->pace.rate = GAP_RATE_UNLIMITED;
	return cl;

err_block:
	tcf_block_put(cl->block);
err_free:
	kfree(cl);
	return NULL;
}

void gap_class_link(struct Qdisc *sch, struct gap_class *cl)
{
	struct gap_sched *q = qdisc_priv(sch);
	struct Qdisc *parent_leaf = NULL;

	qdisc_hash_add(cl->qdisc, true);
	sch_tree_lock(sch);
	if (cl->parent) {
		if (cl->parent->qdisc)
			gap_class_become_inner(q, cl->parent, &parent_leaf);
		cl->parent->children++;
	}
	gap_rate_add(q, cl);
	qdisc_class_hash_insert(&q->clhash, &cl->common);
	gap_class_find_default(sch);
	sch_tree_unlock(sch);

	qdisc_class_hash_grow(sch, &q->clhash);
	qdisc_put(parent_leaf);
}

int gap_class_delete(struct Qdisc *sch, unsigned long arg,
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
	gap_order_forget(cl);
	gap_rate_remove(q, cl);
	qdisc_class_hash_remove(&q->clhash, &cl->common);
	if (parent) {
		parent->children--;
		if (parent_leaf)
			parent->qdisc = parent_leaf;
	}
	gap_class_find_default(sch);
	sch_tree_unlock(sch);

	gap_lease_cancel(cl);
	qdisc_put(cl->qdisc);
	tcf_block_put(cl->block);
	kfree(cl);
	return 0;
}

int gap_class_graft(struct Qdisc *sch, unsigned long arg, struct Qdisc *new,
		    struct Qdisc **old, struct netlink_ext_ack *extack)
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

/* ---- the qdisc's own life ------------------------------------------------- */

static void gap_class_reset(struct gap_sched *q, struct gap_class *cl)
{
	if (cl->qdisc)
		qdisc_reset(cl->qdisc);
	gap_rate_reset(q, cl);
	gap_tree_init_class(cl);
}

/* Packets of no class have one that nobody sees. */
int gap_class_init_direct(struct Qdisc *sch, struct netlink_ext_ack *extack)
{
	struct gap_sched *q = qdisc_priv(sch);
	struct gap_class *cl = &q->direct;

	gap_tree_init_class(cl);
	gnet_stats_basic_sync_init(&cl->bstats);
	cl->sch = sch;
	cl->pace.rate = GAP_RATE_UNLIMITED;
	q->defcl = cl;
	cl->qdisc = gap_class_new_leaf(sch, sch->handle, extack);
	return cl->qdisc ? 0 : -ENOMEM;
}

/* Once in months: times count from a later origin; tree lock held. */
void gap_class_rebase_all(struct gap_sched *q)
{
	u64 origin = q->clock.bytes - GAP_TIME_MAX;
	struct gap_class *cl;
	unsigned int i;

	gap_clock_rebase(&q->clock, origin);
	gap_pace_rebase(&q->direct.pace, origin);
	for (i = 0; i < q->clhash.hashsize; i++)
		hlist_for_each_entry(cl, &q->clhash.hash[i], common.hnode) {
			gap_pace_rebase(&cl->pace, origin);
			gap_tree_requeue(q, cl);
		}
}

/* Byte-times have another length now; tree lock held. */
void gap_class_rescale_all(struct gap_sched *q, u64 old_link_rate)
{
	struct gap_class *cl;
	unsigned int i;

	for (i = 0; i < q->clhash.hashsize; i++)
		hlist_for_each_entry(cl, &q->clhash.hash[i], common.hnode) {
			gap_pace_rescale(&cl->pace, q->clock.bytes,
					 old_link_rate, q->clock.link_rate);
			gap_tree_requeue(q, cl);
		}
}

void gap_class_reset_all(struct Qdisc *sch)
{
	struct gap_sched *q = qdisc_priv(sch);
	struct gap_class *cl;
	unsigned int i;

	for (i = 0; i < q->clhash.hashsize; i++)
		hlist_for_each_entry(cl, &q->clhash.hash[i], common.hnode)
			gap_class_reset(q, cl);
	gap_class_reset(q, &q->direct);
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
			gap_lease_cancel(cl);
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
