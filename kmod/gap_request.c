// SPDX-License-Identifier: GPL-2.0
/*
 * The qdisc's netlink requests: they are checked first, against the device
 * and the classes, and then applied as a whole.
 */
#include <linux/rtnetlink.h>
#include <net/netlink.h>
#include <net/pkt_cls.h>

#include "gap_priv.h"

static struct netlink_range_validation gap_request_rate_range = {
	.min = 1,
	.max = GAP_RATE_MAX,
};

static struct netlink_range_validation gap_request_hybrid_range = {
	.max = GAP_HYBRID_MAX_NS,
};

static struct netlink_range_validation gap_request_burst_range = {
	.max = GAP_BURST_MAX_NS,
};

/* Not a function in the policy: netlink would show its address as a range. */
static struct netlink_range_validation gap_request_frame_max_range = {
	.max = GAP_FRAME_MAX_BYTES,
};

static const struct nla_policy gap_request_policy[TCA_GAP_MAX + 1] = {
	[TCA_GAP_RATE64] = NLA_POLICY_FULL_RANGE(NLA_U64, &gap_request_rate_range),
	[TCA_GAP_DEFAULT] = { .type = NLA_U32 },
	[TCA_GAP_LINK_RATE64] = { .type = NLA_REJECT },
	[TCA_GAP_BACKEND] = NLA_POLICY_MAX(NLA_U32, GAP_BACKEND_MAX),
	[TCA_GAP_FRAME] = NLA_POLICY_MAX(NLA_U32, GAP_FRAME_KIND_MAX),
	[TCA_GAP_FRAME_MAX] = NLA_POLICY_FULL_RANGE(NLA_U32,
						    &gap_request_frame_max_range),
	[TCA_GAP_HYBRID_NS] = NLA_POLICY_FULL_RANGE(NLA_U64,
						    &gap_request_hybrid_range),
	[TCA_GAP_BURST_NS] = NLA_POLICY_FULL_RANGE(NLA_U64,
						   &gap_request_burst_range),
	[TCA_GAP_SELFTEST] = { .type = NLA_FLAG },
	[TCA_GAP_BACKEND_USED] = { .type = NLA_REJECT },
	[TCA_GAP_VERDICT] = { .type = NLA_REJECT },
	[TCA_GAP_TEST_FRAMES] = { .type = NLA_REJECT },
	[TCA_GAP_TEST_EXPECTED_NS] = { .type = NLA_REJECT },
	[TCA_GAP_TEST_TOOK_NS] = { .type = NLA_REJECT },
	[TCA_GAP_TEST_COUNTED] = { .type = NLA_REJECT },
	[TCA_GAP_CHILDREN_RATE64] = { .type = NLA_REJECT },
};

/**
 * struct gap_request - what a request comes to
 * @conf: the options after it
 * @link_rate: of @conf or of the device, 0: unknown
 * @frame: new template for gap frames, or NULL: the old one will do
 * @test: the self-test is to run (again)
 */
struct gap_request {
	struct gap_conf	conf;
	u64		link_rate;
	struct sk_buff	*frame;
	bool		test;
};

/* ---- reading ---------------------------------------------------------------- */

static int gap_request_read_default(struct Qdisc *sch, struct nlattr *attr,
				    struct gap_conf *conf,
				    struct netlink_ext_ack *extack)
{
	u32 classid = nla_get_u32(attr);

	if (TC_H_MAJ(classid) && TC_H_MAJ(classid ^ sch->handle)) {
		NL_SET_ERR_MSG_ATTR(extack, attr,
				    "the default class belongs to another qdisc");
		return -EINVAL;
	}
	conf->defcls = TC_H_MIN(classid);
	return 0;
}

static int gap_request_read_frame_max(struct nlattr *attr,
				      struct gap_conf *conf,
				      struct netlink_ext_ack *extack)
{
	u32 len = nla_get_u32(attr);

	if (len && len < GAP_FRAME_MIN_BYTES) {
		NL_SET_ERR_MSG_ATTR(extack, attr,
				    "the longest gap frame has 60 to 65535 bytes, or 0 for what the MTU allows");
		return -ERANGE;
	}
	conf->frame_max = len;
	return 0;
}

static int gap_request_read(struct Qdisc *sch, struct nlattr *opt,
			    struct gap_request *req,
			    struct netlink_ext_ack *extack)
{
	struct gap_sched *q = qdisc_priv(sch);
	struct nlattr *tb[TCA_GAP_MAX + 1] = {};
	struct gap_conf *conf = &req->conf;
	int err;

	*conf = q->conf;
	if (!opt)
		return 0;
	err = nla_parse_nested(tb, TCA_GAP_MAX, opt, gap_request_policy, extack);
	if (err < 0)
		return err;
	if (tb[TCA_GAP_RATE64])
		conf->rate = nla_get_u64(tb[TCA_GAP_RATE64]);
	if (tb[TCA_GAP_BACKEND])
		conf->backend = nla_get_u32(tb[TCA_GAP_BACKEND]);
	if (tb[TCA_GAP_FRAME])
		conf->frame = nla_get_u32(tb[TCA_GAP_FRAME]);
	if (tb[TCA_GAP_HYBRID_NS])
		conf->hybrid_ns = nla_get_u64(tb[TCA_GAP_HYBRID_NS]);
	if (tb[TCA_GAP_BURST_NS])
		conf->burst_ns = nla_get_u64(tb[TCA_GAP_BURST_NS]);
	req->test = tb[TCA_GAP_SELFTEST];
	if (tb[TCA_GAP_FRAME_MAX])
		err = gap_request_read_frame_max(tb[TCA_GAP_FRAME_MAX], conf,
						 extack);
	if (!err && tb[TCA_GAP_DEFAULT])
		err = gap_request_read_default(sch, tb[TCA_GAP_DEFAULT], conf,
					       extack);
	return err;
}

/* ---- checking --------------------------------------------------------------- */

/* What the administrator wants must be possible; `auto` always is. */
static int gap_request_check_backend(struct Qdisc *sch,
				     const struct gap_request *req,
				     struct netlink_ext_ack *extack)
{
	if (req->conf.backend != GAP_BACKEND_GAP)
		return 0;
	if (sch->parent != TC_H_ROOT) {
		NL_SET_ERR_MSG(extack,
			       "gap frames were never queued, so the gap back end works in the root qdisc only");
		return -EOPNOTSUPP;
	}
	if (!gap_device_can_gap(qdisc_dev(sch), extack))
		return -EOPNOTSUPP;
	if (!req->link_rate) {
		NL_SET_ERR_MSG(extack,
			       "the device does not report its speed; give the link rate with rate");
		return -EOPNOTSUPP;
	}
	return 0;
}

/* A link that got slower by itself is no reason to refuse other changes. */
static int gap_request_check_rate(struct Qdisc *sch,
				  const struct gap_request *req,
				  struct netlink_ext_ack *extack)
{
	struct gap_sched *q = qdisc_priv(sch);

	if (!req->link_rate ||
	    (q->speed_known && req->link_rate >= q->clock.link_rate))
		return 0;
	if (req->link_rate < gap_rate_fastest(q)) {
		NL_SET_ERR_MSG(extack,
			       "a class is faster than the new link rate; lower the class first");
		return -EINVAL;
	}
	return 0;
}

/* Gap frames are there wherever they could ever be used. */
static int gap_request_make_frame(struct Qdisc *sch, struct gap_request *req,
				  struct netlink_ext_ack *extack)
{
	struct net_device *dev = qdisc_dev(sch);
	struct gap_sched *q = qdisc_priv(sch);

	if (sch->parent != TC_H_ROOT || !gap_device_can_gap(dev, NULL))
		return 0;
	if (q->frame && q->conf.frame == req->conf.frame &&
	    q->conf.frame_max == req->conf.frame_max)
		return 0;
	req->frame = gap_frame_alloc(&req->conf, dev, dev->mtu);
	if (req->frame)
		return 0;
	NL_SET_ERR_MSG(extack, "no memory for the gap frame");
	return -ENOMEM;
}

static u64 gap_request_link_rate(struct Qdisc *sch, const struct gap_conf *conf)
{
	struct gap_sched *q = qdisc_priv(sch);
	u64 rate;

	if (conf->rate)
		return conf->rate;
	rate = gap_device_link_rate(qdisc_dev(sch));
	/* many devices tell no speed while they have no carrier */
	if (!rate && !q->conf.rate && q->speed_known &&
	    !gap_device_is_up(qdisc_dev(sch)))
		rate = q->clock.link_rate;
	return rate;
}

/* All of a request, checked; nothing has changed yet. */
static int gap_request_prepare(struct Qdisc *sch, struct nlattr *opt,
			       struct gap_request *req,
			       struct netlink_ext_ack *extack)
{
	int err;

	err = gap_request_read(sch, opt, req, extack);
	if (err)
		return err;
	req->link_rate = gap_request_link_rate(sch, &req->conf);
	err = gap_request_check_backend(sch, req, extack);
	if (!err)
		err = gap_request_check_rate(sch, req, extack);
	if (!err)
		err = gap_request_make_frame(sch, req, extack);
	return err;
}

/* ---- applying --------------------------------------------------------------- */

static void gap_request_apply(struct Qdisc *sch, const struct gap_request *req)
{
	struct gap_sched *q = qdisc_priv(sch);
	u64 known = q->speed_known ? q->clock.link_rate : 0;
	bool test = req->test || req->frame || req->link_rate != known;

	gap_backend_set_conf(sch, &req->conf, req->link_rate, req->frame);
	gap_backend_choose(sch, test);
}

int gap_request_change(struct Qdisc *sch, struct nlattr *opt,
		       struct netlink_ext_ack *extack)
{
	struct gap_sched *q = qdisc_priv(sch);
	struct gap_request req = {};
	int err;

	err = gap_request_prepare(sch, opt, &req, extack);
	if (err)
		return err;
	gap_request_apply(sch, &req);
	gap_rate_warn(q, NULL, extack);
	return 0;
}

/* Whatever gap_destroy() touches is set up before the first early return. */
int gap_request_init(struct Qdisc *sch, struct nlattr *opt,
		     struct netlink_ext_ack *extack)
{
	struct gap_sched *q = qdisc_priv(sch);
	struct gap_request req = {};
	int err;

	qdisc_watchdog_init(&q->watchdog, sch);
	gap_tree_reset(q);
	gap_probe_init(sch);
	gap_device_watch(sch);
	q->conf.hybrid_ns = GAP_HYBRID_DEFAULT_NS;
	q->conf.burst_ns = GAP_BURST_DEFAULT_NS;
	q->timed = true;
	q->sent_base = gap_device_sent_packets(qdisc_dev(sch));
	gap_clock_init(&q->clock, GAP_LINK_RATE_NOMINAL, ktime_get_ns());

	err = gap_async_init(sch);
	if (!err)
		err = gap_class_init_direct(sch, extack);
	if (!err)
		err = qdisc_class_hash_init(&q->clhash);
	if (!err)
		err = tcf_block_get(&q->block, &q->filter_list, sch, extack);
	if (!err)
		err = gap_request_prepare(sch, opt, &req, extack);
	if (!err)
		gap_request_apply(sch, &req);
	return err;
}

/* ---- dumps ------------------------------------------------------------------- */

static bool gap_request_put_test(struct gap_sched *q, struct sk_buff *skb)
{
	const struct gap_probe *probe = &q->probe;

	if (!probe->valid)
		return true;
	return !nla_put_u32(skb, TCA_GAP_TEST_FRAMES, gap_probe_frames(probe)) &&
	       !nla_put_u64_64bit(skb, TCA_GAP_TEST_EXPECTED_NS,
				  probe->expected_ns, TCA_GAP_PAD) &&
	       !nla_put_u64_64bit(skb, TCA_GAP_TEST_TOOK_NS,
				  gap_probe_took_ns(probe), TCA_GAP_PAD) &&
	       (!probe->has_counter ||
		!nla_put_u64_64bit(skb, TCA_GAP_TEST_COUNTED, probe->counted,
				   TCA_GAP_PAD));
}

static bool gap_request_put_conf(const struct gap_conf *conf, u32 handle,
				 struct sk_buff *skb)
{
	return (!conf->rate || !nla_put_u64_64bit(skb, TCA_GAP_RATE64,
						  conf->rate, TCA_GAP_PAD)) &&
	       (!conf->defcls ||
		!nla_put_u32(skb, TCA_GAP_DEFAULT,
			     TC_H_MAKE(handle, conf->defcls))) &&
	       !nla_put_u32(skb, TCA_GAP_BACKEND, conf->backend) &&
	       !nla_put_u32(skb, TCA_GAP_FRAME, conf->frame) &&
	       !nla_put_u32(skb, TCA_GAP_FRAME_MAX, conf->frame_max) &&
	       !nla_put_u64_64bit(skb, TCA_GAP_HYBRID_NS, conf->hybrid_ns,
				  TCA_GAP_PAD) &&
	       !nla_put_u64_64bit(skb, TCA_GAP_BURST_NS, conf->burst_ns,
				  TCA_GAP_PAD);
}

static bool gap_request_put_state(struct gap_sched *q, struct sk_buff *skb)
{
	return (!q->speed_known ||
		!nla_put_u64_64bit(skb, TCA_GAP_LINK_RATE64,
				   q->clock.link_rate, TCA_GAP_PAD)) &&
	       !nla_put_u32(skb, TCA_GAP_BACKEND_USED,
			    q->timed ? GAP_BACKEND_TIMER : GAP_BACKEND_GAP) &&
	       !nla_put_u32(skb, TCA_GAP_VERDICT, q->verdict) &&
	       !nla_put_u64_64bit(skb, TCA_GAP_CHILDREN_RATE64,
				  q->children_rate, TCA_GAP_PAD);
}

int gap_request_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	struct gap_sched *q = qdisc_priv(sch);
	struct nlattr *nest;

	nest = nla_nest_start_noflag(skb, TCA_OPTIONS);
	if (!nest)
		return -EMSGSIZE;
	if (!gap_request_put_conf(&q->conf, sch->handle, skb) ||
	    !gap_request_put_state(q, skb) || !gap_request_put_test(q, skb)) {
		nla_nest_cancel(skb, nest);
		return -EMSGSIZE;
	}
	return nla_nest_end(skb, nest);
}

/*
 * Frames the device has sent since the qdisc came, but not from it: XDP,
 * AF_XDP, PACKET_QDISC_BYPASS, the NIC itself.  Frames under way hide some.
 */
static u64 gap_request_bypass(struct Qdisc *sch)
{
	struct gap_sched *q = qdisc_priv(sch);
	u64 sent;

	if (sch->parent != TC_H_ROOT)
		return 0;
	sent = gap_device_sent_packets(qdisc_dev(sch)) - q->sent_base;
	return sent > q->handed ? sent - q->handed : 0;
}

int gap_request_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct tc_gap_xstats xstats = { .type = TC_GAP_XSTATS_QDISC };
	struct gap_sched *q = qdisc_priv(sch);
	u64 bypass = gap_request_bypass(sch);

	sch_tree_lock(sch);
	q->xstats.bypass_packets = max(q->xstats.bypass_packets, bypass);
	xstats.qdisc = q->xstats;
	sch_tree_unlock(sch);
	return gnet_stats_copy_app(d, &xstats, sizeof(xstats));
}
