/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * The one encoder and decoder of the `gap` qdisc's netlink attributes, used by
 * tc's plugin (q_gap.so) and by headwayd, so that both say the same thing to
 * the kernel.  Names, units and ranges are those of <linux/pkt_sched_gap.h>.
 *
 * Plain C11, usable from C++; no allocation, no global state, no library.
 * Functions never read beyond the bytes they are given, whatever is in them,
 * and need no alignment of their buffers.
 *
 * Sending:   fill a conf (zeroed first: a value counts only if its flag is
 *            set) and put what *_encode() wrote into TCA_OPTIONS | NLA_F_NESTED.
 * Receiving: hand the payload of TCA_OPTIONS to *_decode() and that of
 *            TCA_STATS_APP or TCA_XSTATS to gap_xstats_decode().
 *
 * A conf with nothing in it encodes to no bytes.  Leave TCA_OPTIONS out then:
 * the kernel hands a class change without it to the qdisc like any other, and
 * that is how `expires` is refreshed.
 */
#ifndef HEADWAY_GAP_ATTR_H
#define HEADWAY_GAP_ATTR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/pkt_sched_gap.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Always enough for what *_encode() writes. */
#define GAP_ATTR_BUF_BYTES (128 + GAP_PHASE_MAX * sizeof(struct tc_gap_phase_rate))

/* All rates are bytes per second of wire time. */
struct gap_qdisc_conf {
	bool has_rate;
	bool has_default;
	bool has_backend;
	bool has_bypass;
	bool has_limit;
	uint32_t default_classid;		/* 0: no class */
	uint32_t backend;			/* GAP_BACKEND_* */
	uint32_t bypass;			/* 0 or 1 */
	uint32_t limit;				/* packets */
	uint64_t rate_bytes_per_s;

	/* dumps only */
	bool has_link_rate;
	bool has_backend_used;
	bool has_reason;
	uint32_t backend_used;			/* GAP_BACKEND_* */
	uint32_t reason;			/* GAP_REASON_* */
	uint64_t link_rate_bytes_per_s;
};

struct gap_class_conf {
	bool has_rate;
	bool has_fallback;
	bool has_expires;
	bool has_burst;
	uint32_t burst_bytes;			/* 0: GSO packets are cut */
	uint64_t rate_bytes_per_s;		/* may be GAP_RATE_UNLIMITED */
	uint64_t fallback_bytes_per_s;		/* may be GAP_RATE_UNLIMITED */
	uint64_t expires_ns;			/* 0: never */
	uint32_t phase_count;			/* how many of phases */
	struct tc_gap_phase_rate phases[GAP_PHASE_MAX];

	/* dumps only */
	bool has_left;
	bool expired;
	uint64_t left_ns;
};

/*
 * Why the kernel would refuse the conf, whatever the device and the classes
 * are: a sentence without a full stop, which begins with the name of tc's
 * option.  NULL: nothing is wrong.
 */
const char *gap_qdisc_mistake(const struct gap_qdisc_conf *conf);
const char *gap_class_mistake(const struct gap_class_conf *conf);

/*
 * Write the attributes that are present and return their length (0 if there
 * are none), or
 * -EINVAL	there is a mistake, or an attribute that only the kernel sends
 * -ENOSPC	more than `cap` bytes
 * Nothing is written when an error is returned.
 */
int gap_qdisc_encode(const struct gap_qdisc_conf *conf, void *buf, size_t cap);
int gap_class_encode(const struct gap_class_conf *conf, void *buf, size_t cap);

/*
 * Read a kernel's dump.  Attributes that this version does not know are
 * skipped; of an attribute that occurs twice the last counts.  Values are
 * passed on as they are: it is for the kernel to know what it does.
 * Returns 0, or -EBADMSG if an attribute is cut off or of the wrong size; then
 * *conf is left as it was.
 */
int gap_qdisc_decode(struct gap_qdisc_conf *conf, const void *buf, size_t len);
int gap_class_decode(struct gap_class_conf *conf, const void *buf, size_t len);

/*
 * Read statistics of a kernel that may know fewer or more counters than this
 * version: what is missing becomes 0, what is unknown is dropped.  Returns 0,
 * or -EBADMSG if not even the type is there; then *xstats is left as it was.
 */
int gap_xstats_decode(struct tc_gap_xstats *xstats, const void *buf,
		      size_t len);

/*
 * The word for a GAP_BACKEND_*, TCA_GAP_BYPASS or GAP_REASON_*, as tc takes and
 * shows it; "unknown" for one that this version does not know.
 */
const char *gap_backend_name(uint32_t backend);
const char *gap_bypass_name(uint32_t bypass);
const char *gap_reason_name(uint32_t reason);

/* The reason as a clause in English, without a full stop. */
const char *gap_reason_text(uint32_t reason);

#ifdef __cplusplus
}
#endif

#endif /* HEADWAY_GAP_ATTR_H */
