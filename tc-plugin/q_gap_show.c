// SPDX-License-Identifier: GPL-2.0
#include "q_gap_show.h"

#include <inttypes.h>

#include "gap_attr.h"

static int show_bad_dump(const char *what)
{
	fprintf(stderr, "[gap: the kernel's %s cannot be read]", what);
	return -1;
}

/* ------------------------------------------------------------------- values */

static void show_rate(enum output_type t, const char *key, const char *fmt,
		      uint64_t bytes_per_s)
{
	if (bytes_per_s == GAP_RATE_UNLIMITED)
		print_color_null(t, COLOR_NONE, key, fmt, "unlimited");
	else
		tc_print_rate(t, key, fmt, bytes_per_s);
}

static void show_u64(enum output_type t, const char *key, const char *fmt,
		     uint64_t value)
{
	print_color_u64(t, COLOR_NONE, key, fmt, value);
}

static void show_text(enum output_type t, const char *key, const char *fmt,
		      const char *text)
{
	print_color_string(t, COLOR_NONE, key, fmt, text);
}

/* The largest unit that leaves a whole number: what is shown can be given. */
static const char *time_text(uint64_t ns, char *text, size_t size)
{
	static const struct {
		uint64_t ns;
		const char *name;
	} units[] = { { 1000000000, "s" }, { 1000000, "ms" }, { 1000, "us" } };
	size_t i;

	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (ns >= units[i].ns && ns % units[i].ns == 0) {
			snprintf(text, size, "%" PRIu64 "%s", ns / units[i].ns,
				 units[i].name);
			return text;
		}
	}
	snprintf(text, size, "%" PRIu64 "%s", ns, ns ? "ns" : "");
	return text;
}

/* `word` stands for 0 in text; JSON has the number. */
static void show_time(const char *key, const char *fmt, const char *word,
		      uint64_t ns)
{
	char text[TC_TEXT_BYTES];

	show_u64(PRINT_JSON, key, NULL, ns);
	show_text(PRINT_FP, NULL, fmt,
		  word && !ns ? word : time_text(ns, text, sizeof(text)));
}

static void show_frame_max(uint32_t bytes)
{
	if (bytes)
		print_color_uint(PRINT_ANY, COLOR_NONE, "frame-max",
				 "frame-max %u ", bytes);
	else
		print_color_null(PRINT_ANY, COLOR_NONE, "frame-max",
				 "frame-max %s ", "mtu");
}

/* ------------------------------------------------------------------ options */

static void show_qdisc_options(const struct gap_qdisc_conf *conf)
{
	char text[TC_TEXT_BYTES];

	if (conf->has_rate)
		show_rate(PRINT_ANY, "rate", "rate %s ",
			  conf->rate_bytes_per_s);
	if (conf->has_default)
		show_text(PRINT_ANY, "default", "default %s ",
			  sprint_tc_classid(conf->default_classid, text));
	if (conf->has_backend)
		show_text(PRINT_ANY, "backend", "backend %s ",
			  gap_backend_name(conf->backend));
	if (conf->has_frame)
		show_text(PRINT_ANY, "frame", "frame %s ",
			  gap_frame_name(conf->frame));
	if (conf->has_frame_max)
		show_frame_max(conf->frame_max_bytes);
	if (conf->has_hybrid)
		show_time("hybrid", "hybrid %s ", "off", conf->hybrid_ns);
	if (conf->has_burst)
		show_time("burst", "burst %s ", NULL, conf->burst_ns);
}

/* The evidence of the last self-test; in text a line of its own. */
static void show_selftest(const struct gap_qdisc_conf *conf)
{
	enum output_type t = show_stats || show_details ? PRINT_ANY : PRINT_JSON;

	if (!conf->has_test_frames)
		return;
	if (t == PRINT_ANY)
		print_nl();
	open_json_object("selftest");
	show_u64(t, "frames", "  selftest frames %" PRIu64, conf->test_frames);
	if (conf->has_test_expected)
		show_u64(t, "expected_ns", " expected_ns %" PRIu64,
			 conf->test_expected_ns);
	if (conf->has_test_took)
		show_u64(t, "took_ns", " took_ns %" PRIu64,
			 conf->test_took_ns);
	if (conf->has_test_counted)
		show_u64(t, "counted", " counted %" PRIu64,
			 conf->test_counted);
	close_json_object();
}

static void show_qdisc_state(const struct gap_qdisc_conf *conf)
{
	if (conf->has_link_rate)
		show_rate(PRINT_ANY, "link_rate", "link_rate %s ",
			  conf->link_rate_bytes_per_s);
	if (conf->has_children_rate)
		show_rate(show_details ? PRINT_ANY : PRINT_JSON,
			  "children_rate", "children_rate %s ",
			  conf->children_rate_bytes_per_s);
	if (conf->has_backend_used)
		show_text(PRINT_ANY, "backend_used", "backend_used %s ",
			  gap_backend_name(conf->backend_used));
	if (conf->has_verdict) {
		show_text(PRINT_ANY, "verdict", "verdict %s ",
			  gap_verdict_name(conf->verdict));
		show_text(PRINT_FP, NULL, "(%s) ",
			  gap_verdict_text(conf->verdict));
	}
	show_selftest(conf);
}

int gap_show_qdisc(struct qdisc_util *qu, FILE *f, struct rtattr *opt)
{
	struct gap_qdisc_conf conf;

	(void)qu;
	(void)f;
	if (!opt)
		return 0;
	if (gap_qdisc_decode(&conf, RTA_DATA(opt), RTA_PAYLOAD(opt)))
		return show_bad_dump("options");
	show_qdisc_options(&conf);
	show_qdisc_state(&conf);
	return 0;
}

static void show_lease(const struct gap_class_conf *conf)
{
	char text[TC_TEXT_BYTES];

	if (conf->has_fallback)
		show_rate(PRINT_ANY, "fallback", "fallback %s ",
			  conf->fallback_bytes_per_s);
	if (conf->has_expires)
		show_time("expires", "expires %s ", "off", conf->expires_ns);
	if (conf->has_left) {
		show_u64(PRINT_JSON, "left", NULL, conf->left_ns);
		show_text(PRINT_FP, NULL, "left %s ",
			  sprint_time64((__s64)conf->left_ns, text));
	}
	if (conf->has_expires || conf->expired)
		print_color_bool(PRINT_JSON, COLOR_NONE, "expired", NULL,
				 conf->expired);
	if (conf->expired)
		show_text(PRINT_FP, NULL, "%s ", "expired");
}

int gap_show_class(struct qdisc_util *qu, FILE *f, struct rtattr *opt)
{
	enum output_type detail = show_details ? PRINT_ANY : PRINT_JSON;
	struct gap_class_conf conf;

	(void)qu;
	(void)f;
	if (!opt)
		return 0;
	if (gap_class_decode(&conf, RTA_DATA(opt), RTA_PAYLOAD(opt)))
		return show_bad_dump("options");
	if (conf.has_rate)
		show_rate(PRINT_ANY, "rate", "rate %s ", conf.rate_bytes_per_s);
	if (conf.has_next_rate)
		show_rate(PRINT_ANY, "next_rate", "next_rate %s ",
			  conf.next_rate_bytes_per_s);
	show_lease(&conf);
	if (conf.has_ordered)
		show_time("ordered", "ordered %s ", "off", conf.ordered_ns);
	if (conf.has_group)
		print_color_uint(PRINT_ANY, COLOR_NONE, "group", "group %u ",
				 conf.group);
	if (conf.has_effective)
		show_rate(detail, "effective", "effective %s ",
			  conf.effective_bytes_per_s);
	if (conf.has_quantum)
		print_color_uint(detail, COLOR_NONE, "quantum_bytes",
				 "quantum_bytes %u ", conf.quantum_bytes);
	if (conf.has_children_rate)
		show_rate(detail, "children_rate", "children_rate %s ",
			  conf.children_rate_bytes_per_s);
	return 0;
}

/* --------------------------------------------------------------- statistics */

static void show_qdisc_xstats(const struct tc_gap_qdisc_xstats *x)
{
	show_u64(PRINT_ANY, "wire_bytes", "  wire %" PRIu64 " bytes",
		 x->wire_bytes);
	show_u64(PRINT_ANY, "gap_packets", " gaps %" PRIu64, x->gap_packets);
	show_u64(PRINT_ANY, "gap_wire_bytes", " (%" PRIu64 " bytes,",
		 x->gap_wire_bytes);
	show_u64(PRINT_ANY, "gap_failed", " failed %" PRIu64 ")",
		 x->gap_failed);
	print_nl();
	show_u64(PRINT_ANY, "direct_packets", "  direct %" PRIu64 " pkt",
		 x->direct_packets);
	show_u64(PRINT_ANY, "direct_wire_bytes", " (%" PRIu64 " bytes)",
		 x->direct_wire_bytes);
	show_u64(PRINT_ANY, "gso_split", " gso_split %" PRIu64, x->gso_split);
	show_u64(PRINT_ANY, "bypass_packets", " bypass %" PRIu64 " pkt",
		 x->bypass_packets);
	print_nl();
	show_u64(PRINT_ANY, "underruns", "  underruns %" PRIu64, x->underruns);
	show_u64(PRINT_ANY, "underrun_ns", " (%" PRIu64 " ns)", x->underrun_ns);
	show_u64(PRINT_ANY, "slept", " slept %" PRIu64, x->slept);
	show_u64(PRINT_ANY, "timer_wakes", " timer_wakes %" PRIu64,
		 x->timer_wakes);
	print_nl();
	show_u64(PRINT_ANY, "selftests", "  selftests %" PRIu64, x->selftests);
	show_u64(PRINT_ANY, "backend_changes", " backend_changes %" PRIu64,
		 x->backend_changes);
	show_u64(PRINT_ANY, "expired", " expired %" PRIu64, x->expired);
}

/* The lateness that bucket i begins with, in byte-times. */
static uint64_t late_from(unsigned int i)
{
	return i ? (uint64_t)1 << (i - 1) : 0;
}

/* In text "0:17 1:3 4-7:1 4194304+:2", buckets without frames left out. */
static void show_late(const __u64 late[GAP_LATE_BUCKETS])
{
	char text[TC_TEXT_BYTES];
	unsigned int i;

	open_json_array(PRINT_JSON, "late");
	show_text(PRINT_FP, NULL, "  %s", "late");
	for (i = 0; i < GAP_LATE_BUCKETS; i++) {
		uint64_t from = late_from(i), to = late_from(i + 1) - 1;

		show_u64(PRINT_JSON, NULL, "%" PRIu64, late[i]);
		if (!late[i])
			continue;
		if (i == GAP_LATE_BUCKETS - 1)
			snprintf(text, sizeof(text), "%" PRIu64 "+", from);
		else if (from == to)
			snprintf(text, sizeof(text), "%" PRIu64, from);
		else
			snprintf(text, sizeof(text), "%" PRIu64 "-%" PRIu64,
				 from, to);
		show_text(PRINT_FP, NULL, " %s", text);
		show_u64(PRINT_FP, NULL, ":%" PRIu64, late[i]);
	}
	close_json_array(PRINT_JSON, NULL);
}

static void show_class_xstats(const struct tc_gap_class_xstats *x)
{
	show_u64(PRINT_ANY, "wire_bytes", "  wire %" PRIu64 " bytes",
		 x->wire_bytes);
	show_u64(PRINT_ANY, "late_max_bytes", " late_max %" PRIu64 " bytes",
		 x->late_max_bytes);
	show_u64(PRINT_ANY, "credit_lost_bytes",
		 " credit_lost %" PRIu64 " bytes", x->credit_lost_bytes);
	print_nl();
	show_u64(PRINT_ANY, "acks_first", "  acks_first %" PRIu64,
		 x->acks_first);
	print_color_uint(PRINT_ANY, COLOR_NONE, "destinations",
			 " destinations %u", x->destinations);
	show_u64(PRINT_ANY, "expired", " expired %" PRIu64, x->expired);
	show_u64(PRINT_ANY, "turns", " turns %" PRIu64, x->turns);
	show_u64(PRINT_ANY, "joined", " joined %" PRIu64, x->joined);
	print_nl();
	show_late(x->late);
}

int gap_show_xstats(struct qdisc_util *qu, FILE *f, struct rtattr *xstats)
{
	struct tc_gap_xstats x;

	(void)qu;
	(void)f;
	if (!xstats)
		return 0;
	if (gap_xstats_decode(&x, RTA_DATA(xstats), RTA_PAYLOAD(xstats)))
		return show_bad_dump("statistics");
	if (x.type == TC_GAP_XSTATS_QDISC)
		show_qdisc_xstats(&x.qdisc);
	else if (x.type == TC_GAP_XSTATS_CLASS)
		show_class_xstats(&x.cl);
	else
		return show_bad_dump("kind of statistics");
	return 0;
}
