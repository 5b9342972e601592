// SPDX-License-Identifier: GPL-2.0
/*
 * q_gap.so: the `gap` qdisc and its classes in tc's language; see tc-gap(8).
 *
 * Words are sorted first, then read, then checked against the ranges that
 * gap_attr.c knows; every complaint is printed before the command fails, and
 * nothing is sent if there was one.
 */
#include <string.h>

#include "gap_attr.h"
#include "q_gap_show.h"
#include "q_gap_words.h"
#include "tc_plugin_abi.h"

/* tc's buffers are larger, but our options are small: a bound that is a bound. */
#define MESSAGE_MAX_BYTES 1024

/* -------------------------------------------------------------------- help */

static void explain_qdisc(void)
{
	fputs("Usage: tc qdisc add|change|replace dev DEV root [handle 1:] gap\n"
	      "          [rate RATE] [default CLASSID] [backend auto|gap|timer]\n"
	      "          [frame pause|void] [frame-max mtu|BYTES] [hybrid off|TIME]\n"
	      "          [burst TIME] [selftest]\n"
	      "\n"
	      "  rate RATE        rate of the link behind DEV\n"
	      "                   {the speed that DEV reports}\n"
	      "  default CLASSID  class for packets that no filter and no priority names,\n"
	      "                   as 1:10, :10 or 10 {none: such packets leave unpaced}\n"
	      "  backend auto     gap frames if a self-test shows that they reach the wire,\n"
	      "                   a timer until then and otherwise {auto}\n"
	      "  backend gap      gap frames, untested\n"
	      "  backend timer    a timer: works on any device, less exact\n"
	      "  frame pause      gap frames are 802.3x PAUSE frames of no time {pause}\n"
	      "  frame void       they are frames to DEV's own address, which the first\n"
	      "                   switch discards\n"
	      "  frame-max BYTES  no gap frame is longer, without its 4 bytes of FCS; from 60\n"
	      "                   to what the MTU allows {mtu: just that}\n"
	      "  hybrid TIME      a timer sleeps gaps of more than twice TIME, gap frames do\n"
	      "                   their last TIME; off: gap frames do it all {200us}\n"
	      "  burst TIME       timer back end: up to so much lateness of the timer is made\n"
	      "                   up by packets that follow closer than the rate {100us}\n"
	      "  selftest         run the self-test again, now\n",
	      stderr);
}

static void explain_class(void)
{
	fputs("Usage: tc class add|change|replace dev DEV parent 1: classid 1:10 gap\n"
	      "          [rate RATE|unlimited] [linger TIME]\n"
	      "          [fallback RATE|unlimited] [expires TIME|off] [ordered TIME|off]\n"
	      "          [group 0..7]\n"
	      "\n"
	      "  rate RATE        this class sends at most so much, and never more than the\n"
	      "                   classes above it allow {unlimited: they alone decide}\n"
	      "  linger TIME      only to change a rate: the new one holds as soon as the\n"
	      "                   class runs empty, at most TIME from now {0: at once}\n"
	      "  fallback RATE    the rate, once TIME of expires has passed {none}\n"
	      "  expires TIME     without a change of the class; one without options will do\n"
	      "                   to prevent it. From 1ms to 86400s {off: never}\n"
	      "  ordered TIME     the classes below take turns in the order of their packets;\n"
	      "                   packets for a faster one join a slower one that still has\n"
	      "                   some, until it is empty or TIME has passed {off}\n"
	      "  group NUMBER     below such a class: the turns are those of the classes of\n"
	      "                   this number; groups do not wait for each other {0}\n",
	      stderr);
}

static void explain_common(void)
{
	fputs("\n"
	      "RATE is time on the wire: a frame counts max(length, 60) + 24 bytes, so that\n"
	      "1gbit is all that a 1gbit link carries.  Units are bit kbit mbit gbit tbit, and\n"
	      "bps kbps mbps gbps for bytes; from 8bit to 8tbit.\n"
	      "TIME has a unit: s ms us ns.  hybrid and burst are at most 1s, linger and\n"
	      "ordered 10s.\n"
	      "{} holds the default of an option left out of add; change leaves it as it was.\n",
	      stderr);
}

/* The only word is "help", and it has been helped. */
static bool explained(enum target target, int argc, char **argv)
{
	if (argc != 1 || strcmp(argv[0], "help") != 0)
		return false;
	if (target == TARGET_QDISC)
		explain_qdisc();
	else
		explain_class();
	explain_common();
	return true;
}

/* ----------------------------------------------------------------- sending */

static int append_options(struct nlmsghdr *n, const void *attrs, int len)
{
	if (len < 0) {
		fprintf(stderr, "gap: cannot encode the options: %s\n",
			strerror(-len));
		return -1;
	}
	if (len == 0)
		return 0;
	return addattr_l(n, MESSAGE_MAX_BYTES, TCA_OPTIONS | NLA_F_NESTED,
			 attrs, len);
}

static void qdisc_read(struct complaints *c, const struct values *v,
		       struct gap_qdisc_conf *conf)
{
	const char *rate = v->of[WORD_RATE];

	if (rate && strcmp(rate, "unlimited") == 0)
		complain(c, "rate \"unlimited\": a link has a rate; leave it out for the device's own");
	else
		conf->has_rate = read_rate(c, v, WORD_RATE, NULL, 0,
					   &conf->rate_bytes_per_s);
	conf->has_default = read_classid(c, v, WORD_DEFAULT,
					 &conf->default_classid);
	conf->has_backend = read_choice(v, WORD_BACKEND, gap_backend_name,
					GAP_BACKEND_MAX, &conf->backend);
	conf->has_frame = read_choice(v, WORD_FRAME, gap_frame_name,
				      GAP_FRAME_KIND_MAX, &conf->frame);
	conf->has_frame_max = read_frame_len(c, v, WORD_FRAME_MAX,
					     &conf->frame_max_bytes);
	conf->has_hybrid = read_time(c, v, WORD_HYBRID, "off",
				     &conf->hybrid_ns);
	conf->has_burst = read_time(c, v, WORD_BURST, NULL, &conf->burst_ns);
	conf->selftest = v->of[WORD_SELFTEST];
}

static int gap_parse_qopt(struct qdisc_util *qu, int argc, char **argv,
			  struct nlmsghdr *n, const char *dev)
{
	struct complaints c = { .target = TARGET_QDISC };
	unsigned char attrs[GAP_ATTR_BUF_BYTES];
	struct gap_qdisc_conf conf = { 0 };
	struct values v = { { NULL } };

	(void)qu;
	(void)dev;
	if (explained(TARGET_QDISC, argc, argv))
		return -1;
	words_sort(&c, &v, argc, argv);
	qdisc_read(&c, &v, &conf);
	words_complain(&c, &v, gap_qdisc_mistakes(&conf));
	if (complaints_end(&c))
		return -1;
	return append_options(n, attrs,
			      gap_qdisc_encode(&conf, attrs, sizeof(attrs)));
}

static void class_read(struct complaints *c, const struct values *v,
		       struct gap_class_conf *conf)
{
	conf->has_rate = read_rate(c, v, WORD_RATE, "unlimited",
				   GAP_RATE_UNLIMITED, &conf->rate_bytes_per_s);
	conf->has_linger = read_time(c, v, WORD_LINGER, NULL, &conf->linger_ns);
	conf->has_fallback = read_rate(c, v, WORD_FALLBACK, "unlimited",
				       GAP_RATE_UNLIMITED,
				       &conf->fallback_bytes_per_s);
	conf->has_expires = read_time(c, v, WORD_EXPIRES, "off",
				      &conf->expires_ns);
	conf->has_ordered = read_time(c, v, WORD_ORDERED, "off",
				      &conf->ordered_ns);
	conf->has_group = read_digit(v, WORD_GROUP, &conf->group);
}

/* What is wrong for a class that does not exist yet. */
static void new_class_check(struct complaints *c,
			    const struct gap_class_conf *conf)
{
	if (conf->has_linger)
		complain(c, "\"linger\" is for change: a new class has no rate to linger at");
	if (conf->has_fallback && !conf->has_expires)
		complain(c, "\"fallback\" of a new class needs \"expires\": it tells when to fall back");
	if (!conf->has_fallback && conf->expires_ns)
		complain(c, "\"expires\" of a new class needs \"fallback\": it tells the rate then");
}

static int gap_parse_copt(struct qdisc_util *qu, int argc, char **argv,
			  struct nlmsghdr *n, const char *dev)
{
	struct complaints c = { .target = TARGET_CLASS };
	unsigned char attrs[GAP_ATTR_BUF_BYTES];
	struct gap_class_conf conf = { 0 };
	struct values v = { { NULL } };

	(void)qu;
	(void)dev;
	if (explained(TARGET_CLASS, argc, argv))
		return -1;
	words_sort(&c, &v, argc, argv);
	class_read(&c, &v, &conf);
	if (n->nlmsg_flags & NLM_F_EXCL)
		new_class_check(&c, &conf);
	words_complain(&c, &v, gap_class_mistakes(&conf));
	if (complaints_end(&c))
		return -1;
	return append_options(n, attrs,
			      gap_class_encode(&conf, attrs, sizeof(attrs)));
}

extern struct qdisc_util gap_qdisc_util;

__attribute__((visibility("default")))
struct qdisc_util gap_qdisc_util = {
	.id		= "gap",
	.parse_qopt	= gap_parse_qopt,
	.print_qopt	= gap_show_qdisc,
	.print_xstats	= gap_show_xstats,
	.parse_copt	= gap_parse_copt,
	.print_copt	= gap_show_class,
};
