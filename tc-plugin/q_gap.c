// SPDX-License-Identifier: GPL-2.0
/*
 * q_gap.so: the `gap` qdisc and its classes in tc's language; see tc-gap(8).
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "gap_attr.h"
#include "tc_plugin_abi.h"

/* tc's own buffers have room for 4 KiB of options. */
#define MESSAGE_MAX_BYTES (1024 + GAP_ATTR_BUF_BYTES)
/* Longest number with its unit; anything longer is a mistake anyhow. */
#define NUMBER_MAX_CHARS 63

#define NEXT_ARG() (argv++, argc--)

static int explain_qdisc(void)
{
	fputs("Usage: tc qdisc add|change|replace dev DEV root [handle 1:] gap\n"
	      "          [rate RATE] [default CLASSID] [backend timer|gap]\n"
	      "          [bypass on|off] [limit PACKETS]\n"
	      "\n"
	      "  rate RATE        rate of the link behind DEV\n"
	      "                   {the speed that DEV reports}\n"
	      "  default CLASSID  class for packets that no filter and no priority names,\n"
	      "                   as 1:10, :10 or 10 {none: such packets leave unpaced}\n"
	      "  backend timer    a timer: works on any device, less exact {timer}\n"
	      "  backend gap      gap frames: 802.3x PAUSE frames of no time. Whether they\n"
	      "                   reach the wire behind DEV, `headway selftest DEV` tells\n"
	      "  bypass on        packets bypass the empty qdisc, and its filters, as long as\n"
	      "                   no class has a rate {off}\n"
	      "  limit PACKETS    so many wait in a class without a qdisc of its own; a full\n"
	      "                   one drops from the destination that has most {10000}\n"
	      "\n"
	      "RATE is time on the wire: a frame counts max(length, 60) + 24 bytes, so that\n"
	      "1gbit is all that a 1gbit link carries.\n"
	      "{} holds the default of an option left out of add; change leaves it as it was.\n",
	      stderr);
	return -1;
}

static int explain_class(void)
{
	fputs("Usage: tc class add|change|replace dev DEV parent 1: classid 1:10 gap\n"
	      "          [rate RATE|unlimited] [phase NUMBER RATE|unlimited|none]...\n"
	      "          [fallback RATE|unlimited] [expires TIME|off] [burst BYTES]\n"
	      "\n"
	      "  rate RATE        this class sends at most so much, and never more than the\n"
	      "                   classes above it allow {unlimited: they alone decide}\n"
	      "  phase N RATE     instead of that for packets which a BPF filter marks with N,\n"
	      "                   1 to 160, in skb->tc_index; none: they have no rate of\n"
	      "                   their own any more\n"
	      "  fallback RATE    the rate, and the most that a phase gets, once TIME of\n"
	      "                   expires has passed {none}\n"
	      "  expires TIME     without a change of the class; one without options will do\n"
	      "                   to prevent it. From 1ms to 86400s {off: never}\n"
	      "  burst BYTES      GSO packets leave in parts that take so much of the wire at\n"
	      "                   most. Up to 1048576 {0: as single frames}\n"
	      "\n"
	      "RATE is time on the wire: a frame counts max(length, 60) + 24 bytes.\n"
	      "{} holds the default of an option left out of add; change leaves it as it was.\n",
	      stderr);
	return -1;
}

static int refuse(const char *option, const char *text, const char *why)
{
	fprintf(stderr, "gap: %s \"%s\": %s. Nothing was changed.\n", option, text,
		why);
	return -1;
}

/*
 * tc's own readers take signs, blanks, hexadecimal, "inf" and "nan", and a
 * number that does not fit becomes any other.
 */
static bool is_plain(const char *text)
{
	size_t digits = strspn(text, "0123456789."), len = strlen(text);

	if (!digits || len > NUMBER_MAX_CHARS || strtod(text, NULL) > 1e18)
		return false;
	while (isalpha((unsigned char)text[digits]))
		digits++;
	return digits == len;
}

/* `unlimited` may be given where that is a rate. */
static int get_rate(const char *option, const char *text, bool may_be_unlimited,
		    uint64_t *bytes_per_s)
{
	__u64 read;

	if (may_be_unlimited && strcmp(text, "unlimited") == 0) {
		*bytes_per_s = GAP_RATE_UNLIMITED;
		return 0;
	}
	if (!is_plain(text) || get_rate64(&read, text))
		return refuse(option, text, "not a rate, such as 312.5mbit");
	*bytes_per_s = read;
	return 0;
}

static int get_expires(const char *text, uint64_t *ns)
{
	__s64 read;

	*ns = 0;
	if (strcmp(text, "off") == 0)
		return 0;
	/* tc has two opinions on what a bare number means */
	if (!is_plain(text) || !isalpha((unsigned char)text[strlen(text) - 1]) ||
	    get_time64(&read, text))
		return refuse("expires", text, "not a time with a unit, such as 10ms");
	*ns = (uint64_t)read;
	return *ns ? 0 : refuse("expires", text, "1ms to 86400s, or off");
}

static int get_default(const char *text, uint32_t *classid)
{
	__u32 read;

	*classid = 0;
	if (strcmp(text, "none") == 0)
		return 0;
	/* only digits and one colon: no signs, no blanks, no "root" */
	if (text[strspn(text, "0123456789abcdefABCDEF:")] ||
	    strlen(text) > (strchr(text, ':') ? 9 : 8) ||
	    strcmp(text, ":") == 0 || get_tc_classid(&read, text))
		return refuse("default", text, "not a class id, such as 1:10, nor none");
	*classid = read;
	return 0;
}

static int get_count(const char *option, const char *text, const char *what,
		     uint32_t *count)
{
	size_t digits = strspn(text, "0123456789");
	unsigned long long read = strtoull(text, NULL, 10);

	*count = (uint32_t)read;
	if (!digits || text[digits] || digits > 10 || read > UINT32_MAX)
		return refuse(option, text, what);
	return 0;
}

/* One of the words up to `max`. */
static int get_word(const char *option, const char *text,
		    const char *(*name)(uint32_t value), uint32_t max,
		    uint32_t *value)
{
	for (*value = 0; *value <= max; (*value)++)
		if (strcmp(text, name(*value)) == 0)
			return 0;
	return refuse(option, text, "there is no such thing; see tc qdisc add gap help");
}

static int get_phase(const char *number, const char *rate,
		     struct gap_class_conf *conf)
{
	struct tc_gap_phase_rate *phase = &conf->phases[conf->phase_count];
	uint64_t bytes_per_s = 0;
	char *end;

	if (conf->phase_count == GAP_PHASE_MAX)
		return refuse("phase", number, "a class has at most 160");
	phase->phase = (uint32_t)strtoul(number, &end, 10);
	if (!isdigit((unsigned char)*number) || *end || strlen(number) > 3)
		return refuse("phase", number, "they are numbered from 1 to 160");
	if (strcmp(rate, "none")) {
		if (get_rate("phase", rate, true, &bytes_per_s))
			return -1;
		if (!bytes_per_s)
			return refuse("phase", rate, "a rate is 8bit at least; none unsets it");
	}
	phase->rate = bytes_per_s;
	conf->phase_count++;
	return 0;
}

static int lacks(const char *option)
{
	fprintf(stderr, "gap: \"%s\" lacks its value. Nothing was changed.\n", option);
	return -1;
}

/* Options with a mistake are refused, others go into the message. */
static int append_options(struct nlmsghdr *n, const char *mistake,
			  const void *attrs, int len)
{
	if (mistake) {
		fprintf(stderr, "gap: %s. Nothing was changed.\n", mistake);
		return -1;
	}
	if (len <= 0)
		return len;
	return addattr_l(n, MESSAGE_MAX_BYTES, TCA_OPTIONS | NLA_F_NESTED, attrs,
			 len);
}

static int gap_parse_qopt(struct qdisc_util *qu, int argc, char **argv,
			  struct nlmsghdr *n, const char *dev)
{
	unsigned char attrs[GAP_ATTR_BUF_BYTES];
	struct gap_qdisc_conf conf = { 0 };
	int err;

	for (; argc > 0; NEXT_ARG()) {
		const char *option = *argv;

		if (strcmp(option, "help") == 0)
			return explain_qdisc();
		if (argc < 2)
			return lacks(option);
		NEXT_ARG();
		if (strcmp(option, "rate") == 0) {
			conf.has_rate = true;
			err = get_rate(option, *argv, false, &conf.rate_bytes_per_s);
		} else if (strcmp(option, "default") == 0) {
			conf.has_default = true;
			err = get_default(*argv, &conf.default_classid);
		} else if (strcmp(option, "backend") == 0) {
			conf.has_backend = true;
			err = get_word(option, *argv, gap_backend_name,
				       GAP_BACKEND_MAX, &conf.backend);
		} else if (strcmp(option, "bypass") == 0) {
			conf.has_bypass = true;
			err = get_word(option, *argv, gap_bypass_name, 1, &conf.bypass);
		} else if (strcmp(option, "limit") == 0) {
			conf.has_limit = true;
			err = get_count(option, *argv, "not a number of packets",
					&conf.limit);
		} else {
			fprintf(stderr, "gap: What is \"%s\"?\n", option);
			return explain_qdisc();
		}
		if (err)
			return err;
	}
	return append_options(n, gap_qdisc_mistake(&conf), attrs,
			      gap_qdisc_encode(&conf, attrs, sizeof(attrs)));
}

static int gap_parse_copt(struct qdisc_util *qu, int argc, char **argv,
			  struct nlmsghdr *n, const char *dev)
{
	unsigned char attrs[GAP_ATTR_BUF_BYTES];
	struct gap_class_conf conf = { 0 };
	int err;

	for (; argc > 0; NEXT_ARG()) {
		const char *option = *argv;

		if (strcmp(option, "help") == 0)
			return explain_class();
		if (argc < 2 || (strcmp(option, "phase") == 0 && argc < 3))
			return lacks(option);
		NEXT_ARG();
		if (strcmp(option, "rate") == 0) {
			conf.has_rate = true;
			err = get_rate(option, *argv, true, &conf.rate_bytes_per_s);
		} else if (strcmp(option, "phase") == 0) {
			err = get_phase(argv[0], argv[1], &conf);
			NEXT_ARG();
		} else if (strcmp(option, "fallback") == 0) {
			conf.has_fallback = true;
			err = get_rate(option, *argv, true,
				       &conf.fallback_bytes_per_s);
		} else if (strcmp(option, "expires") == 0) {
			conf.has_expires = true;
			err = get_expires(*argv, &conf.expires_ns);
		} else if (strcmp(option, "burst") == 0) {
			conf.has_burst = true;
			err = get_count(option, *argv, "not a number of bytes",
					&conf.burst_bytes);
		} else {
			fprintf(stderr, "gap: What is \"%s\"?\n", option);
			return explain_class();
		}
		if (err)
			return err;
	}
	return append_options(n, gap_class_mistake(&conf), attrs,
			      gap_class_encode(&conf, attrs, sizeof(attrs)));
}

static int show_bad_dump(const char *what)
{
	fprintf(stderr, "[gap: the kernel's %s cannot be read]", what);
	return -1;
}

static void show_rate(const char *key, const char *fmt, uint64_t bytes_per_s)
{
	if (bytes_per_s == GAP_RATE_UNLIMITED)
		print_color_null(PRINT_ANY, COLOR_NONE, key, fmt, "unlimited");
	else
		tc_print_rate(PRINT_ANY, key, fmt, bytes_per_s);
}

static void show_u64(const char *key, const char *fmt, uint64_t value)
{
	print_color_u64(PRINT_ANY, COLOR_NONE, key, fmt, value);
}

static void show_text(enum output_type t, const char *key, const char *fmt,
		      const char *text)
{
	print_color_string(t, COLOR_NONE, key, fmt, text);
}

/* In the largest unit that leaves a whole number: what is shown can be given. */
static void show_time(const char *key, const char *fmt, uint64_t ns)
{
	static const struct {
		uint64_t ns;
		const char *name;
	} units[] = { { 1000000000, "s" }, { 1000000, "ms" }, { 1000, "us" }, { 1, "ns" } };
	char text[TC_TEXT_BYTES];
	size_t i = 0;

	while (ns % units[i].ns)
		i++;
	snprintf(text, sizeof(text), "%" PRIu64 "%s", ns / units[i].ns, units[i].name);
	print_color_u64(PRINT_JSON, COLOR_NONE, key, NULL, ns);
	show_text(PRINT_FP, NULL, fmt, text);
}

static int gap_print_qopt(struct qdisc_util *qu, FILE *f, struct rtattr *opt)
{
	struct gap_qdisc_conf conf;
	char text[TC_TEXT_BYTES];

	if (!opt)
		return 0;
	if (gap_qdisc_decode(&conf, RTA_DATA(opt), RTA_PAYLOAD(opt)))
		return show_bad_dump("options");
	if (conf.has_rate)
		show_rate("rate", "rate %s ", conf.rate_bytes_per_s);
	if (conf.has_default)
		show_text(PRINT_ANY, "default", "default %s ",
			  sprint_tc_classid(conf.default_classid, text));
	show_text(PRINT_ANY, "backend", "backend %s ", gap_backend_name(conf.backend));
	if (conf.bypass)
		show_text(PRINT_ANY, "bypass", "bypass %s ", gap_bypass_name(conf.bypass));
	if (conf.has_limit)
		print_color_uint(PRINT_ANY, COLOR_NONE, "limit", "limit %u ", conf.limit);
	if (conf.has_link_rate)
		show_rate("link_rate", "link_rate %s ", conf.link_rate_bytes_per_s);
	show_text(PRINT_ANY, "backend_used", "backend_used %s ",
		  gap_backend_name(conf.backend_used));
	show_text(PRINT_JSON, "reason", NULL, gap_reason_name(conf.reason));
	if (conf.reason != GAP_REASON_ASKED)
		show_text(PRINT_FP, NULL, "(%s) ", gap_reason_text(conf.reason));
	return 0;
}

static void show_phases(const struct gap_class_conf *conf)
{
	uint32_t i;

	if (!conf->phase_count)
		return;
	open_json_array(PRINT_JSON, "phases");
	for (i = 0; i < conf->phase_count; i++) {
		open_json_object(NULL);
		print_color_uint(PRINT_ANY, COLOR_NONE, "phase", "phase %u ",
				 conf->phases[i].phase);
		show_rate("rate", "%s ", conf->phases[i].rate);
		close_json_object();
	}
	close_json_array(PRINT_JSON, NULL);
}

static int gap_print_copt(struct qdisc_util *qu, FILE *f, struct rtattr *opt)
{
	struct gap_class_conf conf;
	char text[TC_TEXT_BYTES];

	if (!opt)
		return 0;
	if (gap_class_decode(&conf, RTA_DATA(opt), RTA_PAYLOAD(opt)))
		return show_bad_dump("options");
	if (conf.has_rate)
		show_rate("rate", "rate %s ", conf.rate_bytes_per_s);
	if (conf.has_fallback)
		show_rate("fallback", "fallback %s ", conf.fallback_bytes_per_s);
	if (conf.has_expires) {
		show_time("expires_ns", "expires %s ", conf.expires_ns);
		print_color_bool(PRINT_JSON, COLOR_NONE, "expired", NULL,
				 conf.expired);
	}
	if (conf.has_burst)
		print_color_uint(PRINT_ANY, COLOR_NONE, "burst_bytes", "burst %u ",
				 conf.burst_bytes);
	if (conf.has_left) {
		print_color_u64(PRINT_JSON, COLOR_NONE, "left_ns", NULL, conf.left_ns);
		show_text(PRINT_FP, NULL, "left %s ",
			  sprint_time64((__s64)conf.left_ns, text));
	}
	if (conf.expired)
		show_text(PRINT_FP, NULL, "%s ", "expired");
	show_phases(&conf);
	return 0;
}

static void show_qdisc_xstats(const struct tc_gap_qdisc_xstats *x)
{
	show_u64("wire_bytes", "  wire %" PRIu64 " bytes", x->wire_bytes);
	show_u64("gap_packets", " gaps %" PRIu64, x->gap_packets);
	show_u64("gap_wire_bytes", " (%" PRIu64 " bytes,", x->gap_wire_bytes);
	show_u64("gap_failed", " failed %" PRIu64 ")", x->gap_failed);
	print_nl();
	show_u64("direct_packets", "  direct %" PRIu64 " pkt", x->direct_packets);
	show_u64("direct_wire_bytes", " (%" PRIu64 " bytes)", x->direct_wire_bytes);
	show_u64("gso_split", " gso_split %" PRIu64, x->gso_split);
	print_nl();
	show_u64("underruns", "  underruns %" PRIu64, x->underruns);
	show_u64("underrun_ns", " (%" PRIu64 " ns)", x->underrun_ns);
	print_nl();
	show_u64("fallbacks", "  fallbacks %" PRIu64, x->fallbacks);
	show_u64("expired", " expired %" PRIu64, x->expired);
	print_color_u64(PRINT_JSON, COLOR_NONE, "stamp_ns", NULL, x->stamp_ns);
	print_color_uint(PRINT_JSON, COLOR_NONE, "device_queued_bytes", NULL,
			 x->device_queued_bytes);
	print_color_uint(PRINT_JSON, COLOR_NONE, "device_completed_bytes", NULL,
			 x->device_completed_bytes);
}

static void show_class_xstats(const struct tc_gap_class_xstats *x)
{
	show_u64("wire_bytes", "  wire %" PRIu64 " bytes", x->wire_bytes);
	show_u64("credit_lost_bytes", " credit_lost %" PRIu64 " bytes",
		 x->credit_lost_bytes);
	print_nl();
	show_u64("acks_first", "  acks_first %" PRIu64, x->acks_first);
	print_color_uint(PRINT_ANY, COLOR_NONE, "destinations",
			 " destinations %u", x->destinations);
	show_u64("expired", " expired %" PRIu64, x->expired);
}

static int gap_print_xstats(struct qdisc_util *qu, FILE *f, struct rtattr *xstats)
{
	struct tc_gap_xstats x;

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

extern struct qdisc_util gap_qdisc_util;

__attribute__((visibility("default")))
struct qdisc_util gap_qdisc_util = {
	.id		= "gap",
	.parse_qopt	= gap_parse_qopt,
	.print_qopt	= gap_print_qopt,
	.print_xstats	= gap_print_xstats,
	.parse_copt	= gap_parse_copt,
	.print_copt	= gap_print_copt,
};
