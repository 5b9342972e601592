// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
/* Netlink attributes of the `gap` qdisc; see gap_attr.h for the promises. */
#include "gap_attr.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include <linux/netlink.h>

/* Mistakes that are no matter of a number's range. */
#define GAP_MISTAKES_EINVAL \
	(GAP_MISTAKE_LINGER_WITHOUT_RATE | GAP_MISTAKE_DUMP_ONLY)

#define CLASSID_MINOR_MASK 0xffffu

/* ---------------------------------------------------------------- checking */

unsigned int gap_qdisc_mistakes(const struct gap_qdisc_conf *conf)
{
	unsigned int mistakes = 0;

	if (conf->has_rate && (conf->rate_bytes_per_s == 0 ||
			       conf->rate_bytes_per_s > GAP_RATE_MAX))
		mistakes |= GAP_MISTAKE_QDISC_RATE_RANGE;
	/* "1:0" is the qdisc itself; no class is 0 altogether. */
	if (conf->has_default && conf->default_classid != 0 &&
	    (conf->default_classid & CLASSID_MINOR_MASK) == 0)
		mistakes |= GAP_MISTAKE_DEFAULT_NO_MINOR;
	if (conf->has_link_rate)
		mistakes |= GAP_MISTAKE_DUMP_ONLY;
	return mistakes;
}

unsigned int gap_class_mistakes(const struct gap_class_conf *conf)
{
	unsigned int mistakes = 0;

	if (conf->has_rate && conf->rate_bytes_per_s != GAP_RATE_UNLIMITED &&
	    (conf->rate_bytes_per_s == 0 ||
	     conf->rate_bytes_per_s > GAP_RATE_MAX))
		mistakes |= GAP_MISTAKE_CLASS_RATE_RANGE;
	if (conf->has_linger && conf->linger_ns > GAP_LINGER_MAX_NS)
		mistakes |= GAP_MISTAKE_LINGER_RANGE;
	if (conf->has_linger && !conf->has_rate)
		mistakes |= GAP_MISTAKE_LINGER_WITHOUT_RATE;
	if (conf->has_next_rate)
		mistakes |= GAP_MISTAKE_DUMP_ONLY;
	return mistakes;
}

const char *gap_mistake_text(unsigned int mistake)
{
	/* The lowest bit alone. */
	switch (mistake & -mistake) {
	case GAP_MISTAKE_QDISC_RATE_RANGE:
		return "rate must be from 8bit to 8tbit";
	case GAP_MISTAKE_DEFAULT_NO_MINOR:
		return "default must name a class (1:10), not a qdisc (1:)";
	case GAP_MISTAKE_CLASS_RATE_RANGE:
		return "rate must be from 8bit to 8tbit, or unlimited";
	case GAP_MISTAKE_LINGER_RANGE:
		return "linger must be from 0 to 10s";
	case GAP_MISTAKE_LINGER_WITHOUT_RATE:
		return "linger needs a rate: it tells when the new rate takes effect";
	case GAP_MISTAKE_DUMP_ONLY:
		return "an attribute that only the kernel may send is present";
	default:
		return "no mistake";
	}
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
};

/* No conf has more than two attributes to send; a writer cannot overflow. */
static_assert(2 * (NLA_HDRLEN + sizeof(uint64_t)) <= GAP_ATTR_BUF_BYTES,
	      "GAP_ATTR_BUF_BYTES is too small");

static void writer_put(struct writer *w, uint16_t type, const void *payload,
		       size_t payload_len)
{
	const struct nlattr attr = {
		.nla_len = (uint16_t)(NLA_HDRLEN + payload_len),
		.nla_type = type,
	};

	memcpy(w->bytes + w->len, &attr, sizeof(attr));
	memcpy(w->bytes + w->len + NLA_HDRLEN, payload, payload_len);
	w->len += NLA_ALIGN(attr.nla_len);
}

static void writer_put_u32(struct writer *w, uint16_t type, uint32_t value)
{
	writer_put(w, type, &value, sizeof(value));
}

static void writer_put_u64(struct writer *w, uint16_t type, uint64_t value)
{
	writer_put(w, type, &value, sizeof(value));
}

static int writer_finish(const struct writer *w, void *buf, size_t cap)
{
	if (w->len > cap)
		return -ENOSPC;
	if (w->len)
		memcpy(buf, w->bytes, w->len);
	return (int)w->len;
}

int gap_qdisc_encode(const struct gap_qdisc_conf *conf, void *buf, size_t cap)
{
	struct writer w = { .len = 0 };
	int err = mistakes_to_errno(gap_qdisc_mistakes(conf));

	if (err)
		return err;
	if (conf->has_rate)
		writer_put_u64(&w, TCA_GAP_RATE64, conf->rate_bytes_per_s);
	if (conf->has_default)
		writer_put_u32(&w, TCA_GAP_DEFAULT, conf->default_classid);
	return writer_finish(&w, buf, cap);
}

int gap_class_encode(const struct gap_class_conf *conf, void *buf, size_t cap)
{
	struct writer w = { .len = 0 };
	int err = mistakes_to_errno(gap_class_mistakes(conf));

	if (err)
		return err;
	if (conf->has_rate)
		writer_put_u64(&w, TCA_GAP_CLASS_RATE64,
			       conf->rate_bytes_per_s);
	if (conf->has_linger)
		writer_put_u64(&w, TCA_GAP_CLASS_LINGER_NS, conf->linger_ns);
	return writer_finish(&w, buf, cap);
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

static void reader_get(struct reader *r, void *value, size_t size, bool *has)
{
	if (r->payload_len != size) {
		r->err = -EBADMSG;
		return;
	}
	memcpy(value, r->payload, size);
	*has = true;
}

static void reader_get_u32(struct reader *r, uint32_t *value, bool *has)
{
	reader_get(r, value, sizeof(*value), has);
}

static void reader_get_u64(struct reader *r, uint64_t *value, bool *has)
{
	reader_get(r, value, sizeof(*value), has);
}

int gap_qdisc_decode(struct gap_qdisc_conf *conf, const void *buf, size_t len)
{
	struct reader r = { .pos = buf, .left = len };
	struct gap_qdisc_conf got = { .has_rate = false };

	while (reader_next(&r)) {
		switch (r.type) {
		case TCA_GAP_RATE64:
			reader_get_u64(&r, &got.rate_bytes_per_s,
				       &got.has_rate);
			break;
		case TCA_GAP_DEFAULT:
			reader_get_u32(&r, &got.default_classid,
				       &got.has_default);
			break;
		case TCA_GAP_LINK_RATE64:
			reader_get_u64(&r, &got.link_rate_bytes_per_s,
				       &got.has_link_rate);
			break;
		}
	}
	if (!r.err)
		*conf = got;
	return r.err;
}

int gap_class_decode(struct gap_class_conf *conf, const void *buf, size_t len)
{
	struct reader r = { .pos = buf, .left = len };
	struct gap_class_conf got = { .has_rate = false };

	while (reader_next(&r)) {
		switch (r.type) {
		case TCA_GAP_CLASS_RATE64:
			reader_get_u64(&r, &got.rate_bytes_per_s,
				       &got.has_rate);
			break;
		case TCA_GAP_CLASS_LINGER_NS:
			reader_get_u64(&r, &got.linger_ns, &got.has_linger);
			break;
		case TCA_GAP_CLASS_NEXT_RATE64:
			reader_get_u64(&r, &got.next_rate_bytes_per_s,
				       &got.has_next_rate);
			break;
		}
	}
	if (!r.err)
		*conf = got;
	return r.err;
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
