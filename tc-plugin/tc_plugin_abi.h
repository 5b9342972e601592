/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A qdisc plugin and tc know this of each other; iproute2 6.1 (Debian 12) and
 * 6.15 (Debian 13) are alike.
 *
 * No package installs a header for this, so the facts are restated here, only
 * those that q_gap.c uses.  The plugin structure changed in 4.15 and 5.9; 6.9
 * made its parameters const, which changes nothing for a plugin that is built.
 * Check this file for another release.  All functions are exported by the tc binary itself;
 * tests/tc/q_gap_test.py compares them with the installed one.
 */
#ifndef HEADWAY_TC_PLUGIN_ABI_H
#define HEADWAY_TC_PLUGIN_ABI_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <linux/rtnetlink.h>

/*
 * tc loads q_KIND.so from TC_LIB_DIR and looks up KIND_qdisc_util in it.
 * Parsers get the words after the kind, and the message to append to; unless
 * they return 0, tc ends with status 1 and sends nothing.
 */
struct qdisc_util {
	struct qdisc_util *next;	/* tc's */
	const char *id;
	int (*parse_qopt)(struct qdisc_util *qu, int argc, char **argv,
			  struct nlmsghdr *n, const char *dev);
	int (*print_qopt)(struct qdisc_util *qu, FILE *f, struct rtattr *opt);
	int (*print_xstats)(struct qdisc_util *qu, FILE *f,
			    struct rtattr *xstats);
	int (*parse_copt)(struct qdisc_util *qu, int argc, char **argv,
			  struct nlmsghdr *n, const char *dev);
	int (*print_copt)(struct qdisc_util *qu, FILE *f, struct rtattr *opt);
	int (*has_block)(struct qdisc_util *qu, struct rtattr *opt,
			 __u32 block_idx, bool *p_has);
};

/* Numbers with units; 0 if the text was understood. Rates in bytes per second. */
int get_rate64(__u64 *rate, const char *str);
int get_time64(__s64 *time, const char *str);
int get_tc_classid(__u32 *h, const char *str);

/* buf of TC_TEXT_BYTES */
#define TC_TEXT_BYTES 64
char *sprint_tc_classid(__u32 h, char *buf);
/* With a unit, to three digits. */
char *sprint_time64(__s64 ns, char *buf);

int addattr_l(struct nlmsghdr *n, int maxlen, int type, const void *data,
	      int alen);

/*
 * One call prints text or JSON, as the user asked: with PRINT_ANY either, else
 * only the one named.  The format is for text, the key for JSON; elements of an
 * array have no key.  A call for JSON alone still needs no format.
 */
enum output_type {
	PRINT_FP = 1,
	PRINT_JSON = 2,
	PRINT_ANY = 4,
};

enum color_attr {
	COLOR_NONE = 6,
};

int print_color_u64(enum output_type t, enum color_attr color, const char *key,
		    const char *fmt, uint64_t value);
int print_color_uint(enum output_type t, enum color_attr color,
		     const char *key, const char *fmt, unsigned int value);
int print_color_string(enum output_type t, enum color_attr color,
		       const char *key, const char *fmt, const char *value);
int print_color_null(enum output_type t, enum color_attr color,
		     const char *key, const char *fmt, const char *value);
int print_color_bool(enum output_type t, enum color_attr color,
		     const char *key, const char *fmt, bool value);
/* Text as in "312500Kbit" (units of 1024 after tc -iec), JSON in bytes/s. */
void tc_print_rate(enum output_type t, const char *key, const char *fmt,
		   unsigned long long rate);
void print_nl(void);	/* text only */

void open_json_object(const char *key);
void close_json_object(void);
void open_json_array(enum output_type t, const char *key);
void close_json_array(enum output_type t, const char *text);

#endif /* HEADWAY_TC_PLUGIN_ABI_H */
