// SPDX-License-Identifier: GPL-2.0
/*
 * Netlink requests and dumps of classes.
 */
#include <linux/rtnetlink.h>
#include <net/netlink.h>
#include <net/pkt_cls.h>

#include "gap_priv.h"

static struct netlink_range_validation gap_class_request_rate_range = {
	.min = 1,
	.max = GAP_RATE_UNLIMITED,
};

static struct netlink_range_validation gap_class_request_linger_range = {
	.max = GAP_LINGER_MAX_NS,
};

static struct netlink_range_validation gap_class_request_expires_range = {
	.max = GAP_EXPIRES_MAX_NS,
};

static const struct nla_policy gap_class_request_policy[TCA_GAP_CLASS_MAX + 1] = {
	[TCA_GAP_CLASS_RATE64] =
		NLA_POLICY_FULL_RANGE(NLA_U64, &gap_class_request_rate_range),
	[TCA_GAP_CLASS_LINGER_NS] =
		NLA_POLICY_FULL_RANGE(NLA_U64, &gap_class_request_linger_range),
	[TCA_GAP_CLASS_NEXT_RATE64] = { .type = NLA_REJECT },
	[TCA_GAP_CLASS_FALLBACK64] =
		NLA_POLICY_FULL_RANGE(NLA_U64, &gap_class_request_rate_range),
	[TCA_GAP_CLASS_EXPIRES_NS] =
		NLA_POLICY_FULL_RANGE(NLA_U64, &gap_class_request_expires_range),
	[TCA_GAP_CLASS_LEFT_NS] = { .type = NLA_REJECT },
	[TCA_GAP_CLASS_EXPIRED] = { .type = NLA_REJECT },
	[TCA_GAP_CLASS_EFFECTIVE64] = { .type = NLA_REJECT },
	[TCA_GAP_CLASS_QUANTUM_BYTES] = { .type = NLA_REJECT },
	[TCA_GAP_CLASS_CHILDREN_RATE64] = { .type = NLA_REJECT },
	[TCA_GAP_CLASS_ORDERED_NS] =
		NLA_POLICY_FULL_RANGE(NLA_U64, &gap_class_request_linger_range),
	[TCA_GAP_CLASS_GROUP] = NLA_POLICY_MAX(NLA_U32, GAP_GROUP_MAX),
};

/* What a request asks for, checked against the class and the qdisc. */
struct gap_class_request {
	bool	has_rate;
	bool	has_fallback;
	bool	has_expires;
	bool	has_ordered;
	bool	has_group;
	u32	group;
	u64	rate;
	u64	linger_ns;
	u64	fallback;
	u64	expires_ns;
	u64	ordered_ns;
};

/* ---- reading and checking ----------------------------------------------------- */

static void gap_class_request_read(struct nlattr **tb,
				   struct gap_class_request *req)
{
	if (tb[TCA_GAP_CLASS_RATE64]) {
		req->has_rate = true;
		req->rate = nla_get_u64(tb[TCA_GAP_CLASS_RATE64]);
	}
	if (tb[TCA_GAP_CLASS_LINGER_NS])
		req->linger_ns = nla_get_u64(tb[TCA_GAP_CLASS_LINGER_NS]);
	if (tb[TCA_GAP_CLASS_FALLBACK64]) {
		req->has_fallback = true;
		req->fallback = nla_get_u64(tb[TCA_GAP_CLASS_FALLBACK64]);
	}
	if (tb[TCA_GAP_CLASS_EXPIRES_NS]) {
		req->has_expires = true;
		req->expires_ns = nla_get_u64(tb[TCA_GAP_CLASS_EXPIRES_NS]);
	}
	if (tb[TCA_GAP_CLASS_ORDERED_NS]) {
		req->has_ordered = true;
		req->ordered_ns = nla_get_u64(tb[TCA_GAP_CLASS_ORDERED_NS]);
	}
	if (tb[TCA_GAP_CLASS_GROUP]) {
		req->has_group = true;
		req->group = nla_get_u32(tb[TCA_GAP_CLASS_GROUP]);
	}
}

static bool gap_class_request_is_too_fast(const struct gap_sched *q,
					  const struct nlattr *attr)
{
	u64 rate = attr ? nla_get_u64(attr) : GAP_RATE_UNLIMITED;

	return rate != GAP_RATE_UNLIMITED && q->speed_known &&
	       rate > q->clock.link_rate;
}

static int gap_class_request_check_expires(const struct nlattr *attr,
					   struct netlink_ext_ack *extack)
{
	u64 ns = attr ? nla_get_u64(attr) : 0;

	if (!ns || ns >= GAP_EXPIRES_MIN_NS)
		return 0;
	NL_SET_ERR_MSG_ATTR(extack, attr,
			    "a rate expires after 1 ms to 1 day, or with 0 never");
	return -ERANGE;
}

static int gap_class_request_check_ordered(struct gap_sched *q,
					   const struct gap_class *cl,
					   const struct gap_class *parent,
					   const struct nlattr *attr,
					   struct netlink_ext_ack *extack)
{
	if (!attr || !nla_get_u64(attr))
		return 0;
	if ((parent && parent->ordered_ns) || (cl && !gap_order_fits(q, cl))) {
		NL_SET_ERR_MSG_ATTR(extack, attr,
				    "an ordered class orders classes that have none below them");
		return -EINVAL;
	}
	return 0;
}

static int gap_class_request_check(const struct gap_sched *q,
				   const struct gap_class *cl,
				   struct nlattr **tb,
				   struct netlink_ext_ack *extack)
{
	bool leased = cl && cl->lease.expires_ns;

	if (gap_class_request_is_too_fast(q, tb[TCA_GAP_CLASS_RATE64])) {
		NL_SET_ERR_MSG_ATTR(extack, tb[TCA_GAP_CLASS_RATE64],
				    "the class rate exceeds the link rate; to leave the class unpaced use unlimited");
		return -EINVAL;
	}
	if (gap_class_request_is_too_fast(q, tb[TCA_GAP_CLASS_FALLBACK64])) {
		NL_SET_ERR_MSG_ATTR(extack, tb[TCA_GAP_CLASS_FALLBACK64],
				    "the fallback exceeds the link rate; to leave the class unpaced use unlimited");
		return -EINVAL;
	}
	if (tb[TCA_GAP_CLASS_LINGER_NS] && (!cl || !tb[TCA_GAP_CLASS_RATE64])) {
		NL_SET_ERR_MSG_ATTR(extack, tb[TCA_GAP_CLASS_LINGER_NS],
				    "linger delays a change of a class's rate: it needs an existing class and a rate");
		return -EINVAL;
	}
	if (tb[TCA_GAP_CLASS_FALLBACK64] && !tb[TCA_GAP_CLASS_EXPIRES_NS] &&
	    !leased) {
		NL_SET_ERR_MSG_ATTR(extack, tb[TCA_GAP_CLASS_FALLBACK64],
				    "a fallback needs expires: the time after which it takes effect");
		return -EINVAL;
	}
	if (tb[TCA_GAP_CLASS_EXPIRES_NS] && !tb[TCA_GAP_CLASS_FALLBACK64] &&
	    !leased && nla_get_u64(tb[TCA_GAP_CLASS_EXPIRES_NS])) {
		NL_SET_ERR_MSG_ATTR(extack, tb[TCA_GAP_CLASS_EXPIRES_NS],
				    "expires needs fallback: the rate that takes effect then");
		return -EINVAL;
	}
	return 0;
}

static int gap_class_request_parse(struct gap_sched *q,
				   const struct gap_class *cl,
				   const struct gap_class *parent,
				   struct nlattr *opt,
				   struct gap_class_request *req,
				   struct netlink_ext_ack *extack)
{
	struct nlattr *tb[TCA_GAP_CLASS_MAX + 1] = {};
	int err;

	if (!opt)
		return 0;
	err = nla_parse_nested(tb, TCA_GAP_CLASS_MAX, opt,
			       gap_class_request_policy, extack);
	if (!err)
		err = gap_class_request_check_expires(tb[TCA_GAP_CLASS_EXPIRES_NS],
						      extack);
	if (!err)
		err = gap_class_request_check(q, cl, tb, extack);
	if (!err)
		err = gap_class_request_check_ordered(q, cl, parent,
						      tb[TCA_GAP_CLASS_ORDERED_NS],
						      extack);
	if (!err)
		gap_class_request_read(tb, req);
	return err;
}

/* ---- applying ------------------------------------------------------------------- */

/* Tree lock held. */
static void gap_class_request_apply(struct gap_sched *q, struct gap_class *cl,
				    const struct gap_class_request *req)
{
	if (req->has_fallback)
		cl->lease.fallback = req->fallback;
	if (req->has_expires)
		cl->lease.expires_ns = req->expires_ns;
	if (req->has_ordered)
		gap_order_set(q, cl, req->ordered_ns);
	if (req->has_group)
		gap_order_set_group(q, cl, req->group);
	gap_lease_refresh(cl, req->has_rate);
	if (req->has_rate)
		gap_rate_set_later(q, cl, req->rate, req->linger_ns);
	else if (cl->lease.expired && req->has_fallback)
		gap_rate_set(q, cl, cl->lease.fallback);
	gap_kick(cl->sch);
}

static int gap_class_request_check_new(struct Qdisc *sch, u32 classid,
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

static int gap_class_request_create(struct Qdisc *sch, u32 classid,
				    u32 parentid, struct nlattr **tca,
				    unsigned long *arg,
				    struct netlink_ext_ack *extack)
{
	struct gap_sched *q = qdisc_priv(sch);
	struct gap_class_request req = {};
	struct gap_class *cl, *parent;
	int err;

	err = gap_class_request_check_new(sch, classid, tca, extack);
	if (!err)
		err = gap_class_find_parent(sch, parentid, &parent, extack);
	if (!err)
		err = gap_class_request_parse(q, NULL, parent,
					      tca[TCA_OPTIONS], &req, extack);
	if (err)
		return err;
	cl = gap_class_create(sch, classid, parent, extack);
	if (!cl)
		return -ENOMEM;
	if (req.has_rate)
		cl->pace.rate = req.rate;
	gap_class_link(sch, cl);

	req.has_rate = false;
	sch_tree_lock(sch);
	gap_class_request_apply(q, cl, &req);
	sch_tree_unlock(sch);
	gap_rate_warn(q, parent, extack);
	*arg = (unsigned long)cl;
	return 0;
}

static int gap_class_request_change(struct Qdisc *sch, u32 classid,
				    u32 parentid, struct nlattr **tca,
				    unsigned long *arg,
				    struct netlink_ext_ack *extack)
{
	struct gap_class *cl = (struct gap_class *)*arg;
	struct gap_sched *q = qdisc_priv(sch);
	struct gap_class_request req = {};
	int err;

	if (!cl)
		return gap_class_request_create(sch, classid, parentid, tca,
						arg, extack);

	if (parentid && !gap_class_is_below(cl, parentid)) {
		NL_SET_ERR_MSG(extack, "a class cannot be moved to another parent");
		return -EINVAL;
	}
	err = gap_class_request_parse(q, cl, cl->parent, tca[TCA_OPTIONS], &req,
				      extack);
	if (err)
		return err;
	sch_tree_lock(sch);
	gap_class_request_apply(q, cl, &req);
	sch_tree_unlock(sch);
	if (req.has_rate)
		gap_rate_warn(q, cl->parent, extack);
	return 0;
}

/* ---- child qdiscs and filters ---------------------------------------------------- */

static struct Qdisc *gap_class_request_leaf(struct Qdisc *sch, unsigned long arg)
{
	return ((struct gap_class *)arg)->qdisc;
}

static void gap_class_request_qlen_notify(struct Qdisc *sch, unsigned long arg)
{
	gap_tree_deactivate(qdisc_priv(sch), (struct gap_class *)arg);
}

static unsigned long gap_class_request_find(struct Qdisc *sch, u32 classid)
{
	return (unsigned long)gap_class_lookup(sch, classid);
}

static struct tcf_block *gap_class_request_block(struct Qdisc *sch,
						 unsigned long arg,
						 struct netlink_ext_ack *extack)
{
	struct gap_class *cl = (struct gap_class *)arg;
	struct gap_sched *q = qdisc_priv(sch);

	return cl ? cl->block : q->block;
}

static unsigned long gap_class_request_bind(struct Qdisc *sch,
					    unsigned long parent, u32 classid)
{
	struct gap_class *cl = gap_class_lookup(sch, classid);

	if (cl)
		cl->filter_cnt++;
	return (unsigned long)cl;
}

static void gap_class_request_unbind(struct Qdisc *sch, unsigned long arg)
{
	struct gap_class *cl = (struct gap_class *)arg;

	if (cl)
		cl->filter_cnt--;
}

/* ---- dumps ------------------------------------------------------------------------- */

/* What the dump says of a rate that changes by itself, all of one moment. */
struct gap_class_state {
	u64	rate;
	u64	next_rate;
	u64	left_ns;
	u64	effective;
	u64	ordered_ns;
	u32	group;
	bool	pending;
	bool	leased;
	bool	expired;
};

static void gap_class_request_look(struct Qdisc *sch, struct gap_class *cl,
				   struct gap_class_state *state)
{
	struct gap_sched *q = qdisc_priv(sch);

	sch_tree_lock(sch);
	state->rate = cl->pace.rate;
	state->next_rate = cl->next_rate;
	state->pending = gap_class_is_lingering(cl);
	/* due, but the device has asked for no frame since */
	if (state->pending && ktime_get_ns() >= cl->next_deadline_ns) {
		state->rate = state->next_rate;
		state->pending = false;
	}
	state->effective = gap_rate_effective(q, cl);
	state->ordered_ns = cl->ordered_ns;
	state->group = cl->group;
	state->leased = cl->lease.expires_ns;
	state->expired = cl->lease.expired;
	state->left_ns = gap_lease_left_ns(cl);
	sch_tree_unlock(sch);
}

static bool gap_class_request_put_u64(struct sk_buff *skb, int type, u64 value)
{
	return !nla_put_u64_64bit(skb, type, value, TCA_GAP_CLASS_PAD);
}

static bool gap_class_request_put_lease(const struct gap_class *cl,
					const struct gap_class_state *state,
					struct sk_buff *skb)
{
	if (!state->leased)
		return true;
	if (!gap_class_request_put_u64(skb, TCA_GAP_CLASS_FALLBACK64,
				       cl->lease.fallback) ||
	    !gap_class_request_put_u64(skb, TCA_GAP_CLASS_EXPIRES_NS,
				       cl->lease.expires_ns))
		return false;
	if (state->expired)
		return !nla_put_flag(skb, TCA_GAP_CLASS_EXPIRED);
	return gap_class_request_put_u64(skb, TCA_GAP_CLASS_LEFT_NS,
					 state->left_ns);
}

static bool gap_class_request_put(const struct gap_sched *q,
				  const struct gap_class *cl,
				  const struct gap_class_state *state,
				  struct sk_buff *skb)
{
	return gap_class_request_put_u64(skb, TCA_GAP_CLASS_RATE64,
					 state->rate) &&
	       (!state->pending ||
		gap_class_request_put_u64(skb, TCA_GAP_CLASS_NEXT_RATE64,
					  state->next_rate)) &&
	       gap_class_request_put_lease(cl, state, skb) &&
	       (state->effective == GAP_RATE_UNLIMITED ||
		gap_class_request_put_u64(skb, TCA_GAP_CLASS_EFFECTIVE64,
					  state->effective)) &&
	       (state->rate == GAP_RATE_UNLIMITED ||
		!nla_put_u32(skb, TCA_GAP_CLASS_QUANTUM_BYTES,
			     gap_rate_quantum(q))) &&
	       (!state->ordered_ns ||
		gap_class_request_put_u64(skb, TCA_GAP_CLASS_ORDERED_NS,
					  state->ordered_ns)) &&
	       (!state->group ||
		!nla_put_u32(skb, TCA_GAP_CLASS_GROUP, state->group)) &&
	       (cl->qdisc ||
		gap_class_request_put_u64(skb, TCA_GAP_CLASS_CHILDREN_RATE64,
					  cl->children_rate));
}

int gap_class_request_dump(struct Qdisc *sch, unsigned long arg,
			   struct sk_buff *skb, struct tcmsg *tcm)
{
	struct gap_class *cl = (struct gap_class *)arg;
	struct gap_class_state state;
	struct nlattr *nest;

	gap_class_request_look(sch, cl, &state);
	tcm->tcm_parent = cl->parent ? cl->parent->common.classid : TC_H_ROOT;
	tcm->tcm_handle = cl->common.classid;
	if (cl->qdisc)
		tcm->tcm_info = cl->qdisc->handle;

	nest = nla_nest_start_noflag(skb, TCA_OPTIONS);
	if (!nest)
		return -EMSGSIZE;
	if (!gap_class_request_put(qdisc_priv(sch), cl, &state, skb)) {
		nla_nest_cancel(skb, nest);
		return -EMSGSIZE;
	}
	return nla_nest_end(skb, nest);
}

static int gap_class_request_dump_stats(struct Qdisc *sch, unsigned long arg,
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

static void gap_class_request_walk(struct Qdisc *sch, struct qdisc_walker *walker)
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

const struct Qdisc_class_ops gap_class_request_ops = {
	.graft		= gap_class_graft,
	.leaf		= gap_class_request_leaf,
	.qlen_notify	= gap_class_request_qlen_notify,
	.find		= gap_class_request_find,
	.change		= gap_class_request_change,
	.delete		= gap_class_delete,
	.walk		= gap_class_request_walk,
	.tcf_block	= gap_class_request_block,
	.bind_tcf	= gap_class_request_bind,
	.unbind_tcf	= gap_class_request_unbind,
	.dump		= gap_class_request_dump,
	.dump_stats	= gap_class_request_dump_stats,
};
