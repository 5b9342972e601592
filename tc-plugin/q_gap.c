// SPDX-License-Identifier: GPL-2.0
/*
 * q_gap.so: the `gap` qdisc and its classes in tc's language; see tc-gap(8).
 *
 * Words are sorted first, then read, then checked against the ranges that
 * gap_attr.c knows; every complaint is printed before the command fails, and
 * nothing is sent if there was one.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "gap_attr.h"
#include "tc_plugin_abi.h"

/* tc's buffers are larger, but our options are small: a bound that is a bound. */
#define MESSAGE_MAX_BYTES 1024

/* Longest number with its unit; anything longer is a mistake anyhow. */
#define WORD_MAX_CHARS 63

/* -------------------------------------------------------------- complaints */

enum target { TARGET_QDISC, TARGET_CLASS };

struct complaints {
	enum target target;
	unsigned int count;
};

static void __attribute__((format(printf, 2, 3)))
complain(struct complaints *c, const char *fmt, ...)
{
	va_list args;

	fputs("gap: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	c->count++;
}

static int complaints_end(const struct complaints *c)
{
	if (!c->count)
		return 0;
	fprintf(stderr, "Nothing was changed. Syntax: tc %s add gap help\n",
		c->target == TARGET_QDISC ? "qdisc" : "class");
	return -1;
}

static void explain_qdisc(void)
{
	fputs("Usage: tc qdisc add|change|replace dev DEV root [handle 1:] gap\n"
	      "          [rate RATE] [default CLASSID]\n"
	      "\n"
	      "  rate RATE        rate of the link behind DEV\n"
	      "                   {the speed that DEV reports}\n"
	      "  default CLASSID  class for packets that no filter and no priority names,\n"
	      "                   as 1:10, :10 or 10 {none: such packets leave unpaced}\n",
	      stderr);
}

static void explain_class(void)
{
	fputs("Usage: tc class add|change|replace dev DEV parent 1: classid 1:10 gap\n"
	      "          [rate RATE|unlimited] [linger TIME]\n"
	      "\n"
	      "  rate RATE        this class sends at most so much, and never more than the\n"
	      "                   classes above it allow {unlimited: they alone decide}\n"
	      "  linger TIME      only to change a rate: the new one holds as soon as the\n"
	      "                   class runs empty, at most TIME from now {0: at once}\n"
	      "                   TIME has a unit (s ms us ns) and is at most 10s\n",
	      stderr);
}

static void explain_common(void)
{
	fputs("\n"
	      "RATE is time on the wire: a frame counts max(length, 60) + 24 bytes, so that\n"
	      "1gbit is all that a 1gbit link carries.  Units are bit kbit mbit gbit tbit, and\n"
	      "bps kbps mbps gbps for bytes; from 8bit to 8tbit.\n"
	      "{} holds the default of an option left out of add; change leaves it as it was.\n",
	      stderr);
}

static void explain(enum target target)
{
	if (target == TARGET_QDISC)
		explain_qdisc();
	else
		explain_class();
	explain_common();
}

/* --------------------------------------------------------- sorting of words */

enum word { WORD_RATE, WORD_DEFAULT, WORD_LINGER, WORD_COUNT };

static const struct {
	const char *name;
	bool of_qdisc;
	bool of_class;
} words[WORD_COUNT] = {
	[WORD_RATE]	= { "rate", true, true },
	[WORD_DEFAULT]	= { "default", true, false },
	[WORD_LINGER]	= { "linger", false, true },
};

/* The text given for each option, NULL if there was none. */
struct values {
	const char *of[WORD_COUNT];
};

static int word_find(const char *text)
{
	int w;

	for (w = 0; w < WORD_COUNT; w++)
		if (strcmp(text, words[w].name) == 0)
			return w;
	return -1;
}

static bool word_fits(int w, enum target target)
{
	return target == TARGET_QDISC ? words[w].of_qdisc : words[w].of_class;
}

static void complain_unknown(struct complaints *c, const char *text)
{
	size_t len = strlen(text);
	int w;

	/* Other qdiscs take abbreviations; say why this one does not. */
	for (w = 0; w < WORD_COUNT && len; w++) {
		if (word_fits(w, c->target) &&
		    strncmp(text, words[w].name, len) == 0) {
			complain(c, "unknown option \"%s\": write \"%s\" in full",
				 text, words[w].name);
			return;
		}
	}
	complain(c, "unknown option \"%s\"", text);
}

static void sort_words(struct complaints *c, struct values *v, int argc,
		       char **argv)
{
	int w, i;

	for (i = 0; i < argc; i++) {
		w = word_find(argv[i]);
		if (w < 0) {
			complain_unknown(c, argv[i]);
			continue;
		}
		if (!word_fits(w, c->target))
			complain(c, "\"%s\" is an option of %s", words[w].name,
				 c->target == TARGET_QDISC ? "classes" :
							     "the qdisc");
		if (i + 1 == argc || word_find(argv[i + 1]) >= 0) {
			complain(c, "\"%s\" lacks its value", words[w].name);
			continue;
		}
		i++;
		if (v->of[w])
			complain(c, "\"%s\" is given twice", words[w].name);
		v->of[w] = argv[i];
	}
}

static bool wants_help(int argc, char **argv)
{
	return argc == 1 && strcmp(argv[0], "help") == 0;
}

/* ------------------------------------------------------- reading of numbers */

/*
 * tc's own readers take signs, blanks, hexadecimal, "inf" and "nan", and turn
 * what does not fit into any number.  So look at the number first: store it,
 * and where its unit starts.
 */
static bool number_split(const char *text, double *number, const char **unit)
{
	char *end;

	if (strlen(text) > WORD_MAX_CHARS)
		return false;
	if (!isdigit((unsigned char)text[0]) && text[0] != '.')
		return false;
	if (text[0] == '0' && tolower((unsigned char)text[1]) == 'x')
		return false;
	*number = strtod(text, &end);
	*unit = end;
	/* Letters alone: the callers put another number before the unit. */
	while (isalpha((unsigned char)*end))
		end++;
	return *unit != text && *end == '\0';
}

/* A number that is out of range in a way that the checker will notice. */
static uint64_t number_limit(double number, uint64_t max)
{
	return number > (double)max ? max + 1 : (uint64_t)number;
}

/* Bytes per second; not checked against the ranges. */
static bool rate_read(const char *text, uint64_t *bytes_per_s)
{
	char eight_units[WORD_MAX_CHARS + 2];
	double number;
	const char *unit;
	__u64 unit_bits;

	if (!number_split(text, &number, &unit))
		return false;
	/* Eight units a second in bytes are one in bits. */
	snprintf(eight_units, sizeof(eight_units), "8%s", unit);
	if (get_rate64(&unit_bits, eight_units))
		return false;
	*bytes_per_s = number_limit(number * (double)unit_bits / 8,
				    GAP_RATE_MAX);
	return true;
}

static bool time_read(const char *text, uint64_t *ns)
{
	char one_unit[WORD_MAX_CHARS + 2];
	double number;
	const char *unit;
	__s64 unit_ns;

	if (!number_split(text, &number, &unit))
		return false;
	/* tc has two opinions on what a bare number means. */
	if (*unit == '\0' && number != 0)
		return false;
	snprintf(one_unit, sizeof(one_unit), "1%s", unit);
	if (get_time64(&unit_ns, one_unit))
		return false;
	*ns = number_limit(number * (double)unit_ns, GAP_LINGER_MAX_NS);
	return true;
}

static bool classid_read(const char *text, uint32_t *classid)
{
	__u32 read;

	if (strcmp(text, "none") == 0) {
		*classid = 0;
		return true;
	}
	/* Only digits and one colon: no signs, no blanks, no "root". */
	if (text[strspn(text, "0123456789abcdefABCDEF:")] != '\0' ||
	    strcmp(text, ":") == 0)
		return false;
	/* Without a colon tc cuts what is longer than 32 bits. */
	if (!strchr(text, ':') && strtoull(text, NULL, 16) > UINT32_MAX)
		return false;
	if (get_tc_classid(&read, text))
		return false;
	*classid = read;
	return true;
}

static void complain_of_set(struct complaints *c, const struct values *v,
			    unsigned int mistakes)
{
	unsigned int bit;
	int w;

	for (bit = 1; bit && bit <= mistakes; bit <<= 1) {
		const char *text = gap_mistake_text(bit);

		if (!(mistakes & bit))
			continue;
		/* The sentence begins with the option's name. */
		for (w = 0; w < WORD_COUNT; w++)
			if (v->of[w] && strncmp(text, words[w].name,
						strlen(words[w].name)) == 0)
				break;
		if (w < WORD_COUNT)
			complain(c, "%s \"%s\": %s", words[w].name, v->of[w],
				 text);
		else
			complain(c, "%s", text);
	}
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
	const char *classid = v->of[WORD_DEFAULT];

	if (rate && strcmp(rate, "unlimited") == 0)
		complain(c, "rate \"unlimited\": a link has a rate; leave it out for the device's own");
	else if (rate && !rate_read(rate, &conf->rate_bytes_per_s))
		complain(c, "rate \"%s\": not a rate (such as 1gbit, 312.5mbit)",
			 rate);
	else
		conf->has_rate = rate;

	if (classid && !classid_read(classid, &conf->default_classid))
		complain(c, "default \"%s\": not a class id (such as 1:10, :10) nor \"none\"",
			 classid);
	else
		conf->has_default = classid;
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
	if (wants_help(argc, argv)) {
		explain(TARGET_QDISC);
		return -1;
	}
	sort_words(&c, &v, argc, argv);
	qdisc_read(&c, &v, &conf);
	complain_of_set(&c, &v, gap_qdisc_mistakes(&conf));
	if (complaints_end(&c))
		return -1;
	return append_options(n, attrs,
			      gap_qdisc_encode(&conf, attrs, sizeof(attrs)));
}

static void class_read(struct complaints *c, const struct values *v,
		       struct gap_class_conf *conf)
{
	const char *rate = v->of[WORD_RATE];
	const char *linger = v->of[WORD_LINGER];

	conf->has_rate = rate;
	if (rate && strcmp(rate, "unlimited") == 0) {
		conf->rate_bytes_per_s = GAP_RATE_UNLIMITED;
	} else if (rate && !rate_read(rate, &conf->rate_bytes_per_s)) {
		complain(c, "rate \"%s\": not a rate (such as 1gbit, 312.5mbit, unlimited)",
			 rate);
		/* Still present: linger must not be told that it lacks one. */
		conf->rate_bytes_per_s = GAP_RATE_UNLIMITED;
	}

	conf->has_linger = linger;
	if (linger && !time_read(linger, &conf->linger_ns)) {
		complain(c, "linger \"%s\": not a time with a unit (such as 10ms, 500us)",
			 linger);
		conf->linger_ns = 0;
	}
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
	if (wants_help(argc, argv)) {
		explain(TARGET_CLASS);
		return -1;
	}
	sort_words(&c, &v, argc, argv);
	class_read(&c, &v, &conf);
	if (conf.has_linger && (n->nlmsg_flags & NLM_F_EXCL))
		complain(&c, "\"linger\" is for change: a new class has no rate to linger at");
	complain_of_set(&c, &v, gap_class_mistakes(&conf));
	if (complaints_end(&c))
		return -1;
	return append_options(n, attrs,
			      gap_class_encode(&conf, attrs, sizeof(attrs)));
}

/* ---------------------------------------------------------------- printing */

static int print_bad_dump(const char *what)
{
	fprintf(stderr, "[gap: the kernel's %s cannot be read]", what);
	return -1;
}

static void print_rate(const char *key, const char *fmt, uint64_t bytes_per_s)
{
	if (bytes_per_s == GAP_RATE_UNLIMITED)
		print_color_null(PRINT_ANY, COLOR_NONE, key, fmt, "unlimited");
	else
		tc_print_rate(PRINT_ANY, key, fmt, bytes_per_s);
}

static void print_u64(const char *key, const char *fmt, uint64_t value)
{
	print_color_u64(PRINT_ANY, COLOR_NONE, key, fmt, value);
}

static int gap_print_qopt(struct qdisc_util *qu, FILE *f, struct rtattr *opt)
{
	struct gap_qdisc_conf conf;
	char text[TC_TEXT_BYTES];

	(void)qu;
	(void)f;
	if (!opt)
		return 0;
	if (gap_qdisc_decode(&conf, RTA_DATA(opt), RTA_PAYLOAD(opt)))
		return print_bad_dump("options");
	if (conf.has_rate)
		print_rate("rate", "rate %s ", conf.rate_bytes_per_s);
	if (conf.has_default)
		print_color_string(PRINT_ANY, COLOR_NONE, "default",
				   "default %s ",
				   sprint_tc_classid(conf.default_classid,
						     text));
	if (conf.has_link_rate)
		print_rate("link_rate", "link_rate %s ",
			   conf.link_rate_bytes_per_s);
	return 0;
}

static int gap_print_copt(struct qdisc_util *qu, FILE *f, struct rtattr *opt)
{
	struct gap_class_conf conf;

	(void)qu;
	(void)f;
	if (!opt)
		return 0;
	if (gap_class_decode(&conf, RTA_DATA(opt), RTA_PAYLOAD(opt)))
		return print_bad_dump("options");
	if (conf.has_rate)
		print_rate("rate", "rate %s ", conf.rate_bytes_per_s);
	if (conf.has_next_rate)
		print_rate("next_rate", "next_rate %s ",
			   conf.next_rate_bytes_per_s);
	return 0;
}

static void print_qdisc_xstats(const struct tc_gap_qdisc_xstats *x)
{
	print_u64("wire_bytes", "  wire %" PRIu64 " bytes", x->wire_bytes);
	print_u64("gap_packets", " gaps %" PRIu64, x->gap_packets);
	print_u64("gap_wire_bytes", " (%" PRIu64 " bytes,",
		  x->gap_wire_bytes);
	print_u64("gap_failed", " failed %" PRIu64 ")", x->gap_failed);
	print_nl();
	print_u64("direct_packets", "  direct %" PRIu64 " pkt",
		  x->direct_packets);
	print_u64("direct_wire_bytes", " (%" PRIu64 " bytes)",
		  x->direct_wire_bytes);
	print_u64("gso_split", " gso_split %" PRIu64, x->gso_split);
}

static void print_class_xstats(const struct tc_gap_class_xstats *x)
{
	print_u64("wire_bytes", "  wire %" PRIu64 " bytes", x->wire_bytes);
	print_u64("late_max_bytes", " late_max %" PRIu64 " bytes",
		  x->late_max_bytes);
	print_u64("credit_lost_bytes", " credit_lost %" PRIu64 " bytes",
		  x->credit_lost_bytes);
	print_nl();
	print_u64("acks_first", "  acks_first %" PRIu64, x->acks_first);
	print_color_uint(PRINT_ANY, COLOR_NONE, "destinations",
			 " destinations %u", x->destinations);
}

static int gap_print_xstats(struct qdisc_util *qu, FILE *f,
			    struct rtattr *xstats)
{
	struct tc_gap_xstats x;

	(void)qu;
	(void)f;
	if (!xstats)
		return 0;
	if (gap_xstats_decode(&x, RTA_DATA(xstats), RTA_PAYLOAD(xstats)))
		return print_bad_dump("statistics");
	if (x.type == TC_GAP_XSTATS_QDISC)
		print_qdisc_xstats(&x.qdisc);
	else if (x.type == TC_GAP_XSTATS_CLASS)
		print_class_xstats(&x.cl);
	else
		return print_bad_dump("kind of statistics");
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
