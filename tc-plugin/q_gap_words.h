/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The words of a tc command for the `gap` qdisc: sorted into options, read as
 * numbers.  Every complaint is printed when it is found and counted.
 */
#ifndef HEADWAY_Q_GAP_WORDS_H
#define HEADWAY_Q_GAP_WORDS_H

#include <stdbool.h>
#include <stdint.h>

enum target { TARGET_QDISC, TARGET_CLASS };

struct complaints {
	enum target target;
	unsigned int count;
};

void __attribute__((format(printf, 2, 3)))
complain(struct complaints *c, const char *fmt, ...);

/* Says what to do if there were any, and returns whether. */
bool complaints_end(const struct complaints *c);

enum word {
	WORD_RATE,
	WORD_DEFAULT,
	WORD_BACKEND,
	WORD_FRAME,
	WORD_FRAME_MAX,
	WORD_HYBRID,
	WORD_BURST,
	WORD_SELFTEST,
	WORD_LINGER,
	WORD_FALLBACK,
	WORD_EXPIRES,
	WORD_ORDERED,
	WORD_GROUP,
	WORD_COUNT,
};

/* The text given for each option, NULL if there was none. */
struct values {
	const char *of[WORD_COUNT];
};

void words_sort(struct complaints *c, struct values *v, int argc, char **argv);

/* Complain of each mistake in a set of enum gap_mistake. */
void words_complain(struct complaints *c, const struct values *v,
		    unsigned int mistakes);

/*
 * Readers: whether the option is there, and its value.  A text that cannot be
 * read is complained of, and the value is then one that no further complaint
 * will be about.  Ranges are left to gap_attr.h.
 *
 * `word` is a word that may stand instead of a number, NULL for none, and
 * `value_of_word` what it means.
 */
bool read_rate(struct complaints *c, const struct values *v, enum word w,
	       const char *word, uint64_t value_of_word, uint64_t *bytes_per_s);
bool read_time(struct complaints *c, const struct values *v, enum word w,
	       const char *word, uint64_t *ns);
bool read_frame_len(struct complaints *c, const struct values *v, enum word w,
		    uint32_t *bytes);
bool read_classid(struct complaints *c, const struct values *v, enum word w,
		  uint32_t *classid);

/* One of the names of 0 .. max; any other text is max + 1, out of range. */
bool read_choice(const struct values *v, enum word w,
		 const char *(*name)(uint32_t value), uint32_t max,
		 uint32_t *value);

/* A single digit; any other text is UINT32_MAX, out of range. */
bool read_digit(const struct values *v, enum word w, uint32_t *value);

#endif /* HEADWAY_Q_GAP_WORDS_H */
