// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
/*
 * Netlink attributes of the `gap` qdisc; see gap_attr.h for the promises.
 *
 * One table for the qdisc and one for classes say where an attribute's value
 * is in the conf and what it may be; checking, encoding and decoding walk them.
 */
#include "gap_attr.h"

#include <errno.h>
#include <string.h>

#include <linux/netlink.h>

#define CLASSID_MINOR_MASK 0xffffu

/* Mistakes that are no matter of a number's range. */
#define GAP_MISTAKES_EINVAL \
	(GAP_MISTAKE_LINGER_WITHOUT_RATE | GAP_MISTAKE_FALLBACK_NEVER | \
	 GAP_MISTAKE_DUMP_ONLY)

/* ------------------------------------------------------------------ tables */

struct field {
	uint16_t type;
	bool dump_only;
	size_t has;			/* offset of the flag */
	size_t value;			/* offset of the value */
	size_t size;			/* of the value, 0: the flag is all */
	uint64_t min, max;		/* for what is sent */
	uint64_t also;			/* allowed besides, e.g. for "off" */
	unsigned int mistake;		/* if outside of these */
};

#define PLACE(conf, attr, flag, member)				\
	.type = (attr), .has = offsetof(struct conf, flag),	\
	.value = offsetof(struct conf, member),			\
	.size = sizeof(((struct conf *)0)->member)

/* An option whose number must be in min .. max, or be `also`. */
#define OPTION(conf, attr, flag, member, lo, hi, or_also, wrong)	\
	{ PLACE(conf, attr, flag, member), .min = (lo), .max = (hi),	\
	  .also = (or_also), .mistake = (wrong) }

#define DUMPED(conf, attr, flag, member) \
	{ PLACE(conf, attr, flag, member), .dump_only = true }

/* An attribute without a value. */
#define FLAG(conf, attr, flag, only_dumped)			\
	{ .type = (attr), .has = offsetof(struct conf, flag),	\
	  .dump_only = (only_dumped), .max = UINT64_MAX }

#define Q_OPTION(attr, flag, member, lo, hi, also, wrong) \
	OPTION(gap_qdisc_conf, attr, flag, member, lo, hi, also, wrong)
#define Q_DUMPED(attr, flag, member) DUMPED(gap_qdisc_conf, attr, flag, member)

static const struct field qdisc_fields[] = {
	Q_OPTION(TCA_GAP_RATE64, has_rate, rate_bytes_per_s, 1, GAP_RATE_MAX, 1,
		 GAP_MISTAKE_QDISC_RATE_RANGE),
	Q_OPTION(TCA_GAP_DEFAULT, has_default, default_classid, 0, UINT32_MAX,
		 0, GAP_MISTAKE_DEFAULT_NO_MINOR),
	Q_OPTION(TCA_GAP_BACKEND, has_backend, backend, 0, GAP_BACKEND_MAX, 0,
		 GAP_MISTAKE_BACKEND_RANGE),
	Q_OPTION(TCA_GAP_FRAME, has_frame, frame, 0, GAP_FRAME_KIND_MAX, 0,
		 GAP_MISTAKE_FRAME_RANGE),
	Q_OPTION(TCA_GAP_FRAME_MAX, has_frame_max, frame_max_bytes,
		 GAP_FRAME_MIN_BYTES, GAP_FRAME_MAX_BYTES, 0,
		 GAP_MISTAKE_FRAME_MAX_RANGE),
	Q_OPTION(TCA_GAP_HYBRID_NS, has_hybrid, hybrid_ns, 0, GAP_HYBRID_MAX_NS,
		 0, GAP_MISTAKE_HYBRID_RANGE),
	Q_OPTION(TCA_GAP_BURST_NS, has_burst, burst_ns, 0, GAP_BURST_MAX_NS, 0,
		 GAP_MISTAKE_BURST_RANGE),
	FLAG(gap_qdisc_conf, TCA_GAP_SELFTEST, selftest, false),
	Q_DUMPED(TCA_GAP_LINK_RATE64, has_link_rate, link_rate_bytes_per_s),
	Q_DUMPED(TCA_GAP_BACKEND_USED, has_backend_used, backend_used),
	Q_DUMPED(TCA_GAP_VERDICT, has_verdict, verdict),
	Q_DUMPED(TCA_GAP_TEST_FRAMES, has_test_frames, test_frames),
	Q_DUMPED(TCA_GAP_TEST_EXPECTED_NS, has_test_expected, test_expected_ns),
	Q_DUMPED(TCA_GAP_TEST_TOOK_NS, has_test_took, test_took_ns),
	Q_DUMPED(TCA_GAP_TEST_COUNTED, has_test_counted, test_counted),
	Q_DUMPED(TCA_GAP_CHILDREN_RATE64, has_children_rate,
		 children_rate_bytes_per_s),
};

#define C_OPTION(attr, flag, member, lo, hi, also, wrong) \
	OPTION(gap_class_conf, attr, flag, member, lo, hi, also, wrong)
#define C_DUMPED(attr, flag, member) DUMPED(gap_class_conf, attr, flag, member)

static const struct field class_fields[] = {
	C_OPTION(TCA_GAP_CLASS_RATE64, has_rate, rate_bytes_per_s, 1,
		 GAP_RATE_MAX, GAP_RATE_UNLIMITED,
		 GAP_MISTAKE_CLASS_RATE_RANGE),
	C_OPTION(TCA_GAP_CLASS_LINGER_NS, has_linger, linger_ns, 0,
		 GAP_LINGER_MAX_NS, 0, GAP_MISTAKE_LINGER_RANGE),
	C_OPTION(TCA_GAP_CLASS_FALLBACK64, has_fallback, fallback_bytes_per_s,
		 1, GAP_RATE_MAX, GAP_RATE_UNLIMITED,
		 GAP_MISTAKE_FALLBACK_RANGE),
	C_OPTION(TCA_GAP_CLASS_EXPIRES_NS, has_expires, expires_ns,
		 GAP_EXPIRES_MIN_NS, GAP_EXPIRES_MAX_NS, 0,
		 GAP_MISTAKE_EXPIRES_RANGE),
	C_OPTION(TCA_GAP_CLASS_ORDERED_NS, has_ordered, ordered_ns, 0,
		 GAP_LINGER_MAX_NS, 0, GAP_MISTAKE_ORDERED_RANGE),
	C_OPTION(TCA_GAP_CLASS_GROUP, has_group, group, 0, GAP_GROUP_MAX, 0,
		 GAP_MISTAKE_GROUP_RANGE),
	C_DUMPED(TCA_GAP_CLASS_NEXT_RATE64, has_next_rate,
		 next_rate_bytes_per_s),
	C_DUMPED(TCA_GAP_CLASS_LEFT_NS, has_left, left_ns),
	FLAG(gap_class_conf, TCA_GAP_CLASS_EXPIRED, expired, true),
	C_DUMPED(TCA_GAP_CLASS_EFFECTIVE64, has_effective,
		 effective_bytes_per_s),
	C_DUMPED(TCA_GAP_CLASS_QUANTUM_BYTES, has_quantum, quantum_bytes),
	C_DUMPED(TCA_GAP_CLASS_CHILDREN_RATE64, has_children_rate,
		 children_rate_bytes_per_s),
};

struct table {
	const struct field *fields;
	size_t count;
};

#define TABLE(array) { (array), sizeof(array) / sizeof((array)[0]) }

static const struct table qdisc_table = TABLE(qdisc_fields);
static const struct table class_table = TABLE(class_fields);

static bool field_is_set(const struct field *f, const void *conf)
{
	bool set;

	memcpy(&set, (const char *)conf + f->has, sizeof(set));
	return set;
}

static uint64_t field_value(const struct field *f, const void *conf)
{
	const char *at = (const char *)conf + f->value;
	uint64_t value = 0;
	uint32_t narrow;

	if (f->size == sizeof(narrow)) {
		memcpy(&narrow, at, sizeof(narrow));
		value = narrow;
	} else if (f->size == sizeof(value)) {
		memcpy(&value, at, sizeof(value));
	}
	return value;
}

/* ---------------------------------------------------------------- checking */

static unsigned int field_mistake(const struct field *f, const void *conf)
{
	uint64_t value = field_value(f, conf);

	if (!field_is_set(f, conf))
		return 0;
	if (f->dump_only)
		return GAP_MISTAKE_DUMP_ONLY;
	if (value >= f->min && value <= f->max)
		return 0;
	return value == f->also ? 0 : f->mistake;
}

static unsigned int table_mistakes(const struct table *t, const void *conf)
{
	unsigned int mistakes = 0;
	size_t i;

	for (i = 0; i < t->count; i++)
		mistakes |= field_mistake(&t->fields[i], conf);
	return mistakes;
}

unsigned int gap_qdisc_mistakes(const struct gap_qdisc_conf *conf)
{
	unsigned int mistakes = table_mistakes(&qdisc_table, conf);

	/* "1:0" is the qdisc itself; no class is 0 altogether. */
	if (conf->has_default && conf->default_classid != 0 &&
	    (conf->default_classid & CLASSID_MINOR_MASK) == 0)
		mistakes |= GAP_MISTAKE_DEFAULT_NO_MINOR;
	return mistakes;
}

unsigned int gap_class_mistakes(const struct gap_class_conf *conf)
{
	unsigned int mistakes = table_mistakes(&class_table, conf);

	if (conf->has_linger && !conf->has_rate)
		mistakes |= GAP_MISTAKE_LINGER_WITHOUT_RATE;
	if (conf->has_fallback && conf->has_expires && !conf->expires_ns)
		mistakes |= GAP_MISTAKE_FALLBACK_NEVER;
	return mistakes;
}

static int mistakes_to_errno(unsigned int mistakes)
{
	if (mistakes & ~(unsigned int)GAP_MISTAKES_EINVAL)
		return -ERANGE;
	return mistakes ? -EINVAL : 0;
}

/* ---------------------------------------------------------------- encoding */

struct writer {
	unsigned char bytes[GAP_ATTR_BUF_BYTES];
	size_t len;
	int err;
};

static void writer_put(struct writer *w, uint16_t type, const void *payload,
		       size_t payload_len)
{
	const struct nlattr attr = {
		.nla_len = (uint16_t)(NLA_HDRLEN + payload_len),
		.nla_type = type,
	};
	size_t step = NLA_ALIGN((size_t)attr.nla_len);

	if (step > sizeof(w->bytes) - w->len) {
		w->err = -ENOSPC;
		return;
	}
	memcpy(w->bytes + w->len, &attr, sizeof(attr));
	memcpy(w->bytes + w->len + NLA_HDRLEN, payload, payload_len);
	w->len += step;
}

static int writer_finish(const struct writer *w, void *buf, size_t cap)
{
	if (w->err)
		return w->err;
	if (w->len > cap)
		return -ENOSPC;
	if (w->len)
		memcpy(buf, w->bytes, w->len);
	return (int)w->len;
}

static int table_encode(const struct table *t, const void *conf,
			unsigned int mistakes, void *buf, size_t cap)
{
	struct writer w = { .len = 0 };
	size_t i;

	if (mistakes)
		return mistakes_to_errno(mistakes);
	for (i = 0; i < t->count; i++) {
		const struct field *f = &t->fields[i];

		if (field_is_set(f, conf))
			writer_put(&w, f->type, (const char *)conf + f->value,
				   f->size);
	}
	return writer_finish(&w, buf, cap);
}

int gap_qdisc_encode(const struct gap_qdisc_conf *conf, void *buf, size_t cap)
{
	return table_encode(&qdisc_table, conf, gap_qdisc_mistakes(conf), buf,
			    cap);
}

int gap_class_encode(const struct gap_class_conf *conf, void *buf, size_t cap)
{
	return table_encode(&class_table, conf, gap_class_mistakes(conf), buf,
			    cap);
}

/* ---------------------------------------------------------------- decoding */

struct reader {
	const unsigned char *pos;
	size_t left;
	uint16_t type;
	const unsigned char *payload;
	size_t payload_len;
	int err;
};

/* Step to the next attribute; false at the end and on an error. */
static bool reader_next(struct reader *r)
{
	struct nlattr attr;
	size_t step;

	if (r->err || r->left == 0)
		return false;
	if (r->left < sizeof(attr))
		goto cut_off;
	memcpy(&attr, r->pos, sizeof(attr));
	if (attr.nla_len < NLA_HDRLEN || attr.nla_len > r->left)
		goto cut_off;

	r->type = attr.nla_type & NLA_TYPE_MASK;
	r->payload = r->pos + NLA_HDRLEN;
	r->payload_len = (size_t)attr.nla_len - NLA_HDRLEN;
	/* The last one may come without its padding. */
	step = NLA_ALIGN((size_t)attr.nla_len);
	if (step > r->left)
		step = r->left;
	r->pos += step;
	r->left -= step;
	return true;

cut_off:
	r->err = -EBADMSG;
	return false;
}

static void reader_get(struct reader *r, const struct field *f, void *conf)
{
	const bool set = true;

	if (r->payload_len != f->size) {
		r->err = -EBADMSG;
		return;
	}
	memcpy((char *)conf + f->value, r->payload, f->size);
	memcpy((char *)conf + f->has, &set, sizeof(set));
}

static int table_decode(const struct table *t, void *conf, const void *buf,
			size_t len)
{
	struct reader r = { .pos = buf, .left = len };
	size_t i;

	while (reader_next(&r))
		for (i = 0; i < t->count; i++)
			if (t->fields[i].type == r.type)
				reader_get(&r, &t->fields[i], conf);
	return r.err;
}

int gap_qdisc_decode(struct gap_qdisc_conf *conf, const void *buf, size_t len)
{
	struct gap_qdisc_conf got = { .has_rate = false };
	int err = table_decode(&qdisc_table, &got, buf, len);

	if (!err)
		*conf = got;
	return err;
}

int gap_class_decode(struct gap_class_conf *conf, const void *buf, size_t len)
{
	struct gap_class_conf got = { .has_rate = false };
	int err = table_decode(&class_table, &got, buf, len);

	if (!err)
		*conf = got;
	return err;
}

int gap_xstats_decode(struct tc_gap_xstats *xstats, const void *buf,
		      size_t len)
{
	struct tc_gap_xstats got;

	if (len < sizeof(got.type))
		return -EBADMSG;
	memset(&got, 0, sizeof(got));
	memcpy(&got, buf, len < sizeof(got) ? len : sizeof(got));
	*xstats = got;
	return 0;
}
