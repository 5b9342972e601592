// SPDX-License-Identifier: GPL-2.0
#include "q_gap_words.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "gap_attr.h"
#include "tc_plugin_abi.h"

/* Longest number with its unit; anything longer is a mistake anyhow. */
#define WORD_MAX_CHARS 63

/* Longest list of names in a complaint. */
#define LIST_MAX_CHARS 128

/* In the range of every option that takes a rate, or a time. */
#define HARMLESS_RATE	1
#define HARMLESS_NS	GAP_EXPIRES_MIN_NS

/* -------------------------------------------------------------- complaints */

void complain(struct complaints *c, const char *fmt, ...)
{
	va_list args;

	fputs("gap: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	c->count++;
}

bool complaints_end(const struct complaints *c)
{
	if (!c->count)
		return false;
	fprintf(stderr, "Nothing was changed. Syntax: tc %s add gap help\n",
		c->target == TARGET_QDISC ? "qdisc" : "class");
	return true;
}

/* --------------------------------------------------------- sorting of words */

static const struct {
	const char *name;
	bool of_qdisc;
	bool of_class;
	bool alone;		/* takes no value */
} words[WORD_COUNT] = {
	[WORD_RATE]	 = { "rate",	  .of_qdisc = true, .of_class = true },
	[WORD_DEFAULT]	 = { "default",	  .of_qdisc = true },
	[WORD_BACKEND]	 = { "backend",	  .of_qdisc = true },
	[WORD_FRAME]	 = { "frame",	  .of_qdisc = true },
	[WORD_FRAME_MAX] = { "frame-max", .of_qdisc = true },
	[WORD_HYBRID]	 = { "hybrid",	  .of_qdisc = true },
	[WORD_BURST]	 = { "burst",	  .of_qdisc = true },
	[WORD_SELFTEST]	 = { "selftest",  .of_qdisc = true, .alone = true },
	[WORD_LINGER]	 = { "linger",	  .of_class = true },
	[WORD_FALLBACK]	 = { "fallback",  .of_class = true },
	[WORD_EXPIRES]	 = { "expires",	  .of_class = true },
	[WORD_ORDERED]	 = { "ordered",	  .of_class = true },
	[WORD_GROUP]	 = { "group",	  .of_class = true },
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

/* The names of all options of the target, between commas. */
static void list_words(char *list, size_t size, enum target target)
{
	size_t len = 0;
	int w;

	for (w = 0; w < WORD_COUNT && len < size; w++)
		if (word_fits(w, target))
			len += (size_t)snprintf(list + len, size - len, "%s%s",
						len ? ", " : "", words[w].name);
}

static void complain_unknown(struct complaints *c, const char *text)
{
	char list[LIST_MAX_CHARS];
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
	list_words(list, sizeof(list), c->target);
	complain(c, "unknown option \"%s\": there are %s", text, list);
}

/* Take the option at argv[0] and its value; returns how many words that is. */
static int take_option(struct complaints *c, struct values *v, int w, int argc,
		       char **argv)
{
	int taken = words[w].alone ? 1 : 2;

	if (!word_fits(w, c->target))
		complain(c, "\"%s\" is an option of %s", words[w].name,
			 c->target == TARGET_QDISC ? "classes" : "the qdisc");
	if (taken > argc || (taken == 2 && word_find(argv[1]) >= 0)) {
		complain(c, "\"%s\" lacks its value", words[w].name);
		return 1;
	}
	if (v->of[w])
		complain(c, "\"%s\" is given twice", words[w].name);
	v->of[w] = argv[taken - 1];
	return taken;
}

void words_sort(struct complaints *c, struct values *v, int argc, char **argv)
{
	int w, taken;

	for (; argc > 0; argc -= taken, argv += taken) {
		w = word_find(argv[0]);
		if (w < 0) {
			complain_unknown(c, argv[0]);
			taken = 1;
		} else {
			taken = take_option(c, v, w, argc, argv);
		}
	}
}

/* The option that a sentence begins with, -1 if none. */
static int word_of_sentence(const char *text)
{
	char name[LIST_MAX_CHARS];

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(text, " "), text);
	return word_find(name);
}

void words_complain(struct complaints *c, const struct values *v,
		    unsigned int mistakes)
{
	unsigned int bit;

	for (bit = 1; bit && bit <= mistakes; bit <<= 1) {
		const char *text = gap_mistake_text(bit);
		int w = word_of_sentence(text);

		if (!(mistakes & bit))
			continue;
		if (w >= 0 && v->of[w])
			complain(c, "%s \"%s\": %s", words[w].name, v->of[w],
				 text);
		else
			complain(c, "%s", text);
	}
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

/* A number of a conf; what does not fit becomes one that no option takes. */
static uint64_t number_limit(double number)
{
	return number > (double)INT64_MAX ? GAP_RATE_UNLIMITED - 1 :
					    (uint64_t)number;
}

static bool rate_parse(const char *text, uint64_t *bytes_per_s)
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
	*bytes_per_s = number_limit(number * (double)unit_bits / 8);
	return true;
}

static bool time_parse(const char *text, uint64_t *ns)
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
	*ns = number_limit(number * (double)unit_ns + 0.5);
	/* 0 may mean "off", which nobody asked for. */
	if (*ns == 0 && number != 0)
		*ns = 1;
	return true;
}

bool read_rate(struct complaints *c, const struct values *v, enum word w,
	       const char *word, uint64_t value_of_word, uint64_t *bytes_per_s)
{
	const char *text = v->of[w];

	if (!text)
		return false;
	if (word && strcmp(text, word) == 0) {
		*bytes_per_s = value_of_word;
	} else if (!rate_parse(text, bytes_per_s)) {
		complain(c, "%s \"%s\": not a rate (such as 1gbit, 312.5mbit%s%s)",
			 words[w].name, text, word ? ", " : "",
			 word ? word : "");
		*bytes_per_s = HARMLESS_RATE;
	}
	return true;
}

bool read_time(struct complaints *c, const struct values *v, enum word w,
	       const char *word, uint64_t *ns)
{
	const char *text = v->of[w];

	if (!text)
		return false;
	if (word && strcmp(text, word) == 0) {
		*ns = 0;
	} else if (!time_parse(text, ns)) {
		complain(c, "%s \"%s\": not a time with a unit (such as 10ms, 500us%s%s)",
			 words[w].name, text, word ? ", " : "",
			 word ? word : "");
		*ns = HARMLESS_NS;
	}
	return true;
}

bool read_frame_len(struct complaints *c, const struct values *v, enum word w,
		    uint32_t *bytes)
{
	const char *text = v->of[w];

	if (!text)
		return false;
	*bytes = 0;
	if (strcmp(text, "mtu") == 0)
		return true;
	if (!*text || text[strspn(text, "0123456789")]) {
		complain(c, "%s \"%s\": not a number of bytes (such as 60) nor \"mtu\"",
			 words[w].name, text);
		return true;
	}
	/* 0 is the conf's word for "mtu"; whoever means that says so. */
	if (strlen(text) > 5 || atoi(text) == 0)
		*bytes = UINT32_MAX;
	else
		*bytes = (uint32_t)atoi(text);
	return true;
}

static bool classid_parse(const char *text, uint32_t *classid)
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

bool read_classid(struct complaints *c, const struct values *v, enum word w,
		  uint32_t *classid)
{
	const char *text = v->of[w];

	if (!text)
		return false;
	if (!classid_parse(text, classid)) {
		complain(c, "%s \"%s\": not a class id (such as 1:10, :10) nor \"none\"",
			 words[w].name, text);
		*classid = 0;
	}
	return true;
}

bool read_choice(const struct values *v, enum word w,
		 const char *(*name)(uint32_t value), uint32_t max,
		 uint32_t *value)
{
	const char *text = v->of[w];

	if (!text)
		return false;
	for (*value = 0; *value <= max; (*value)++)
		if (strcmp(text, name(*value)) == 0)
			break;
	return true;
}

bool read_digit(const struct values *v, enum word w, uint32_t *value)
{
	const char *text = v->of[w];

	if (!text)
		return false;
	if (strlen(text) == 1 && isdigit((unsigned char)*text))
		*value = (uint32_t)(*text - '0');
	else
		*value = UINT32_MAX;
	return true;
}
