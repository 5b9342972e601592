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
 *            set), ask *_mistakes() if every mistake is wanted in words, and
 *            put what *_encode() wrote into TCA_OPTIONS | NLA_F_NESTED.
 * Receiving: hand the payload of TCA_OPTIONS to *_decode() and that of
 *            TCA_STATS_APP or TCA_XSTATS to gap_xstats_decode().
 *
 * A conf with nothing in it encodes to no bytes.  Leave TCA_OPTIONS out then:
 * the kernel hands a class change without it to the qdisc like any other, and
 * that is how `expires` is refreshed.  An empty TCA_OPTIONS does the same.
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
#define GAP_ATTR_BUF_BYTES 128

/* All rates are bytes per second of wire time. */
struct gap_qdisc_conf {
	bool has_rate;
	bool has_default;
	bool has_backend;
	bool has_frame;
	bool has_frame_max;
	bool has_hybrid;
	bool has_burst;
	bool selftest;				/* run it; never dumped */
	uint32_t default_classid;		/* 0: no class */
	uint32_t backend;			/* GAP_BACKEND_* */
	uint32_t frame;				/* GAP_FRAME_* */
	uint32_t frame_max_bytes;		/* 0: what the MTU allows */
	uint64_t rate_bytes_per_s;
	uint64_t hybrid_ns;			/* 0: off */
	uint64_t burst_ns;

	/* dumps only */
	bool has_link_rate;
	bool has_backend_used;
	bool has_verdict;
	bool has_test_frames;
	bool has_test_expected;
	bool has_test_took;
	bool has_test_counted;
	bool has_children_rate;
	uint32_t backend_used;			/* GAP_BACKEND_* */
	uint32_t verdict;			/* GAP_VERDICT_* */
	uint32_t test_frames;
	uint64_t test_expected_ns;
	uint64_t test_took_ns;
	uint64_t test_counted;
	uint64_t link_rate_bytes_per_s;
	uint64_t children_rate_bytes_per_s;
};

struct gap_class_conf {
	bool has_rate;
	bool has_linger;
	bool has_fallback;
	bool has_expires;
	bool has_ordered;
	bool has_group;
	uint64_t rate_bytes_per_s;		/* may be GAP_RATE_UNLIMITED */
	uint64_t linger_ns;
	uint64_t fallback_bytes_per_s;		/* may be GAP_RATE_UNLIMITED */
	uint64_t expires_ns;			/* 0: never */
	uint64_t ordered_ns;			/* 0: off */
	uint32_t group;				/* 0: of all that name none */

	/* dumps only */
	bool has_next_rate;
	bool has_left;
	bool has_effective;
	bool has_quantum;
	bool has_children_rate;
	bool expired;
	uint32_t quantum_bytes;
	uint64_t next_rate_bytes_per_s;		/* may be GAP_RATE_UNLIMITED */
	uint64_t left_ns;
	uint64_t effective_bytes_per_s;
	uint64_t children_rate_bytes_per_s;
};

/* What can be wrong with a conf that is to be sent.  A set is an OR of these. */
enum gap_mistake {
	GAP_MISTAKE_QDISC_RATE_RANGE	 = 1u << 0,
	GAP_MISTAKE_DEFAULT_NO_MINOR	 = 1u << 1,
	GAP_MISTAKE_BACKEND_RANGE	 = 1u << 2,
	GAP_MISTAKE_FRAME_RANGE		 = 1u << 3,
	GAP_MISTAKE_FRAME_MAX_RANGE	 = 1u << 4,
	GAP_MISTAKE_HYBRID_RANGE	 = 1u << 5,
	GAP_MISTAKE_BURST_RANGE		 = 1u << 6,
	GAP_MISTAKE_CLASS_RATE_RANGE	 = 1u << 7,
	GAP_MISTAKE_LINGER_RANGE	 = 1u << 8,
	GAP_MISTAKE_FALLBACK_RANGE	 = 1u << 9,
	GAP_MISTAKE_EXPIRES_RANGE	 = 1u << 10,
	GAP_MISTAKE_LINGER_WITHOUT_RATE	 = 1u << 11,
	GAP_MISTAKE_FALLBACK_NEVER	 = 1u << 12,
	GAP_MISTAKE_ORDERED_RANGE	 = 1u << 13,
	GAP_MISTAKE_GROUP_RANGE		 = 1u << 14,
	GAP_MISTAKE_DUMP_ONLY		 = 1u << 15,
};

/* The set of mistakes in a conf to be sent, 0 if none. */
unsigned int gap_qdisc_mistakes(const struct gap_qdisc_conf *conf);
unsigned int gap_class_mistakes(const struct gap_class_conf *conf);

/*
 * Why the mistake is one, as a clause in English without a full stop; never
 * NULL.  It starts with the option's name and a blank, if it is about one.
 * `mistake` is one bit of a set; of several the lowest is told.
 */
const char *gap_mistake_text(unsigned int mistake);

/*
 * Write the attributes that are present and return their length (0 if there
 * are none), or
 * -ERANGE	a number is outside its range
 * -EINVAL	a combination or an attribute that only the kernel may send
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
 * The word for a GAP_BACKEND_*, GAP_FRAME_* or GAP_VERDICT_*, as tc takes and
 * shows it; "unknown" for one that this version does not know.
 */
const char *gap_backend_name(uint32_t backend);
const char *gap_frame_name(uint32_t frame);
const char *gap_verdict_name(uint32_t verdict);

/* The verdict as a clause in English, without a full stop. */
const char *gap_verdict_text(uint32_t verdict);

#ifdef __cplusplus
}
#endif

#endif /* HEADWAY_GAP_ATTR_H */
