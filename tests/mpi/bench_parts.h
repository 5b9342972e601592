/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that time MPI have this in common: arguments, and a moment at which all ranks begin. */
#ifndef HEADWAY_BENCH_PARTS_H
#define HEADWAY_BENCH_PARTS_H

#include <stddef.h>

/* Ends the job with status 2, after the program's name and the message. */
void fail(const char *format, const char *detail);

/* As malloc(), also of no bytes; fails if there is no memory. */
void *allocate(size_t bytes);

/* Fails, naming `what`, for anything but a whole number from `least` to `most`. */
int parse_number(const char *text, int least, int most, const char *what);

/* CLOCK_MONOTONIC, which all ranks of a host share. */
double monotonic_s(void);

/*
 * Collective: returns at the same moment on all ranks, which rank 0 names after a barrier, far
 * enough ahead for all to hear of it.  The moment, as by monotonic_s().
 */
double start_together(void);

#endif
