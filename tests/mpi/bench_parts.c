// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "bench_parts.h"

#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* A start is named so much ahead, and twice what a barrier takes at most. */
#define AHEAD_S 0.5e-3

void fail(const char *format, const char *detail)
{
	fprintf(stderr, "%s: ", program_invocation_short_name);
	fprintf(stderr, format, detail);
	fputc('\n', stderr);
	MPI_Abort(MPI_COMM_WORLD, 2);
}

void *allocate(size_t bytes)
{
	void *memory = malloc(bytes ? bytes : 1);

	if (!memory)
		fail("%s", "out of memory");
	return memory;
}

int parse_number(const char *text, int least, int most, const char *what)
{
	char *end;
	long value = strtol(text, &end, 10);

	if (end == text || *end || value < least || value > most)
		fail("%s: not a number in range", what);
	return (int)value;
}

double monotonic_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec * 1e-9;
}

static double barrier_s(void)
{
	double began_s = monotonic_s();

	MPI_Barrier(MPI_COMM_WORLD);
	return monotonic_s() - began_s;
}

/* The longer one of two barriers counts: to a rank that comes last to one the next but one takes no
 * time at all, as the others' messages are there already.
 */
double start_together(void)
{
	double start_s, first_s, second_s;
	struct timespec start;

	MPI_Barrier(MPI_COMM_WORLD);
	first_s = barrier_s();
	second_s = barrier_s();
	start_s = monotonic_s() + AHEAD_S + 2 * (first_s > second_s ? first_s : second_s);
	MPI_Bcast(&start_s, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	start.tv_sec = (time_t)start_s;
	start.tv_nsec = (long)((start_s - (double)start.tv_sec) * 1e9);
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &start, NULL);
	return start_s;
}
