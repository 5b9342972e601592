// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
/*
 * Netlink attributes of the `gap` qdisc; see gap_attr.h for the promises.
 */
#include "gap_attr.h"

#include <errno.h>
#include <string.h>

#include <linux/netlink.h>

#define CLASSID_MINOR_MASK 0xffffu

static const char *word(const char *const words[], size_t count, uint32_t value)
{
	return value < count ? words[value] : "unknown";
}

#define WORD(words, value) word(words, sizeof(words) / sizeof((words)[0]), value)

const char *gap_backend_name(uint32_t backend)
{
	static const char *const words[] = { "timer", "gap" };

	return WORD(words, backend);
}

const char *gap_bypass_name(uint32_t bypass)
{
	static const char *const words[] = { "off", "on" };

	return WORD(words, bypass);
}

const char *gap_reason_name(uint32_t reason)
{
	static const char *const words[] = {
		"asked", "no-speed", "tx-pause", "lost", "no-memory",
	};

	return WORD(words, reason);
}

const char *gap_reason_text(uint32_t reason)
{
	static const char *const words[] = {
		"as asked",
		"the link rate is unknown",
		"the device pauses its peer by PAUSE frames, which gap frames would undo",
		"gap frames take no time, something drops them",
		"no memory for gap frames",
	};

	return WORD(words, reason);
}

static bool is_rate(uint64_t bytes_per_s)
{
	return (bytes_per_s && bytes_per_s <= GAP_RATE_MAX) ||
	       bytes_per_s == GAP_RATE_UNLIMITED;
}

const char *gap_qdisc_mistake(const struct gap_qdisc_conf *conf)
{
	if (conf->has_rate &&
	    (!conf->rate_bytes_per_s || conf->rate_bytes_per_s > GAP_RATE_MAX))
		return "rate: a link carries 8bit to 1600gbit";
	/* "1:0" is the qdisc itself; no class is 0 altogether. */
	if (conf->has_default && conf->default_classid &&
	    !(conf->default_classid & CLASSID_MINOR_MASK))
		return "default: a class has a minor number, as 1:10";
	if (conf->has_backend && conf->backend > GAP_BACKEND_MAX)
		return "backend: there are timer and gap";
	if (conf->has_bypass && conf->bypass > 1)
		return "bypass: there are on and off";
	if (conf->has_limit && conf->limit < GAP_LIMIT_MIN_PACKETS)
		return "limit: a queue holds 2 packets at least";
	return NULL;
}

static const char *phases_mistake(const struct gap_class_conf *conf)
{
	uint32_t i;

	if (conf->phase_count > GAP_PHASE_MAX)
		return "phase: a class has at most 160";
	for (i = 0; i < conf->phase_count; i++) {
		if (!conf->phases[i].phase || conf->phases[i].phase > GAP_PHASE_MAX)
			return "phase: they are numbered from 1 to 160";
		if (conf->phases[i].rate && !is_rate(conf->phases[i].rate))
			return "phase: its rate is 8bit to 1600gbit, unlimited or none";
	}
	return NULL;
}

const char *gap_class_mistake(const struct gap_class_conf *conf)
{
	if (conf->has_rate && !is_rate(conf->rate_bytes_per_s))
		return "rate: 8bit to 1600gbit, or unlimited";
	if (conf->has_fallback && !is_rate(conf->fallback_bytes_per_s))
		return "fallback: 8bit to 1600gbit, or unlimited";
	if (conf->has_expires && conf->expires_ns &&
	    (conf->expires_ns < GAP_EXPIRES_MIN_NS ||
	     conf->expires_ns > GAP_EXPIRES_MAX_NS))
		return "expires: 1ms to 86400s, or off";
	if (conf->has_fallback && conf->has_expires && !conf->expires_ns)
		return "fallback: it never takes effect with expires off";
	if (conf->has_burst && conf->burst_bytes > GAP_BURST_MAX_BYTES)
		return "burst: 0 to 1048576 bytes";
	return phases_mistake(conf);
}

struct writer {
	unsigned char bytes[GAP_ATTR_BUF_BYTES];	/* room for all there are */
	size_t len;
};

static void put(struct writer *w, bool has, uint16_t type, const void *payload,
		size_t size)
{
	const struct nlattr attr = {
		.nla_len = (uint16_t)(NLA_HDRLEN + size),
		.nla_type = type,
	};

	if (!has)
		return;
	memcpy(w->bytes + w->len, &attr, sizeof(attr));
	memcpy(w->bytes + w->len + NLA_HDRLEN, payload, size);
	w->len += NLA_ALIGN((size_t)attr.nla_len);
}

#define PUT(writer, has, type, value) put(writer, has, type, value, sizeof(*(value)))

/* Writes nothing unless it can write all. */
static int finish(const struct writer *w, void *buf, size_t cap)
{
	if (w->len > cap)
		return -ENOSPC;
	if (w->len)
		memcpy(buf, w->bytes, w->len);
	return (int)w->len;
}

int gap_qdisc_encode(const struct gap_qdisc_conf *conf, void *buf, size_t cap)
{
	struct writer w;

	w.len = 0;
	if (gap_qdisc_mistake(conf) || conf->has_link_rate ||
	    conf->has_backend_used || conf->has_reason)
		return -EINVAL;
	PUT(&w, conf->has_rate, TCA_GAP_RATE64, &conf->rate_bytes_per_s);
	PUT(&w, conf->has_default, TCA_GAP_DEFAULT, &conf->default_classid);
	PUT(&w, conf->has_backend, TCA_GAP_BACKEND, &conf->backend);
	PUT(&w, conf->has_bypass, TCA_GAP_BYPASS, &conf->bypass);
	PUT(&w, conf->has_limit, TCA_GAP_LIMIT, &conf->limit);
	return finish(&w, buf, cap);
}

int gap_class_encode(const struct gap_class_conf *conf, void *buf, size_t cap)
{
	struct writer w;

	w.len = 0;
	if (gap_class_mistake(conf) || conf->has_left || conf->expired)
		return -EINVAL;
	PUT(&w, conf->has_rate, TCA_GAP_CLASS_RATE64, &conf->rate_bytes_per_s);
	put(&w, conf->phase_count, TCA_GAP_CLASS_PHASES, conf->phases,
	    conf->phase_count * sizeof(conf->phases[0]));
	PUT(&w, conf->has_fallback, TCA_GAP_CLASS_FALLBACK64,
	    &conf->fallback_bytes_per_s);
	PUT(&w, conf->has_expires, TCA_GAP_CLASS_EXPIRES_NS, &conf->expires_ns);
	PUT(&w, conf->has_burst, TCA_GAP_CLASS_BURST, &conf->burst_bytes);
	return finish(&w, buf, cap);
}

struct reader {
	const unsigned char *pos;
	size_t left;
	uint16_t type;
	const unsigned char *payload;
	size_t size;
	bool bad;
};

/* Step to the next attribute; false at the end and where one is cut off. */
static bool next(struct reader *r)
{
	struct nlattr attr;
	size_t step;

	if (r->bad || !r->left)
		return false;
	if (r->left < sizeof(attr))
		goto cut_off;
	memcpy(&attr, r->pos, sizeof(attr));
	if (attr.nla_len < NLA_HDRLEN || attr.nla_len > r->left)
		goto cut_off;
	r->type = attr.nla_type & NLA_TYPE_MASK;
	r->payload = r->pos + NLA_HDRLEN;
	r->size = (size_t)attr.nla_len - NLA_HDRLEN;
	/* The last one may come without its padding. */
	step = NLA_ALIGN((size_t)attr.nla_len);
	if (step > r->left)
		step = r->left;
	r->pos += step;
	r->left -= step;
	return true;

cut_off:
	r->bad = true;
	return false;
}

static void get(struct reader *r, bool *has, void *value, size_t size)
{
	if (r->size != size) {
		r->bad = true;
		return;
	}
	memcpy(value, r->payload, size);
	*has = true;
}

#define GET(reader, has, value) get(reader, has, value, sizeof(*(value)))

int gap_qdisc_decode(struct gap_qdisc_conf *conf, const void *buf, size_t len)
{
	struct reader r = { .pos = buf, .left = len };
	struct gap_qdisc_conf got = { .has_rate = false };

	while (next(&r)) {
		switch (r.type) {
		case TCA_GAP_RATE64:
			GET(&r, &got.has_rate, &got.rate_bytes_per_s);
			break;
		case TCA_GAP_DEFAULT:
			GET(&r, &got.has_default, &got.default_classid);
			break;
		case TCA_GAP_BACKEND:
			GET(&r, &got.has_backend, &got.backend);
			break;
		case TCA_GAP_BYPASS:
			GET(&r, &got.has_bypass, &got.bypass);
			break;
		case TCA_GAP_LIMIT:
			GET(&r, &got.has_limit, &got.limit);
			break;
		case TCA_GAP_LINK_RATE64:
			GET(&r, &got.has_link_rate, &got.link_rate_bytes_per_s);
			break;
		case TCA_GAP_BACKEND_USED:
			GET(&r, &got.has_backend_used, &got.backend_used);
			break;
		case TCA_GAP_REASON:
			GET(&r, &got.has_reason, &got.reason);
			break;
		}
	}
	if (r.bad)
		return -EBADMSG;
	*conf = got;
	return 0;
}

static void get_phases(struct reader *r, struct gap_class_conf *conf)
{
	if (r->size % sizeof(conf->phases[0]) || r->size > sizeof(conf->phases)) {
		r->bad = true;
		return;
	}
	conf->phase_count = (uint32_t)(r->size / sizeof(conf->phases[0]));
	memcpy(conf->phases, r->payload, r->size);
}

int gap_class_decode(struct gap_class_conf *conf, const void *buf, size_t len)
{
	struct reader r = { .pos = buf, .left = len };
	struct gap_class_conf got = { .has_rate = false };

	while (next(&r)) {
		switch (r.type) {
		case TCA_GAP_CLASS_RATE64:
			GET(&r, &got.has_rate, &got.rate_bytes_per_s);
			break;
		case TCA_GAP_CLASS_PHASES:
			get_phases(&r, &got);
			break;
		case TCA_GAP_CLASS_FALLBACK64:
			GET(&r, &got.has_fallback, &got.fallback_bytes_per_s);
			break;
		case TCA_GAP_CLASS_EXPIRES_NS:
			GET(&r, &got.has_expires, &got.expires_ns);
			break;
		case TCA_GAP_CLASS_BURST:
			GET(&r, &got.has_burst, &got.burst_bytes);
			break;
		case TCA_GAP_CLASS_LEFT_NS:
			GET(&r, &got.has_left, &got.left_ns);
			break;
		case TCA_GAP_CLASS_EXPIRED:
			got.expired = !r.size;
			r.bad = r.size;
			break;
		}
	}
	if (r.bad)
		return -EBADMSG;
	*conf = got;
	return 0;
}

int gap_xstats_decode(struct tc_gap_xstats *xstats, const void *buf, size_t len)
{
	struct tc_gap_xstats got;

	if (len < sizeof(got.type))
		return -EBADMSG;
	memset(&got, 0, sizeof(got));
	memcpy(&got, buf, len < sizeof(got) ? len : sizeof(got));
	*xstats = got;
	return 0;
}
