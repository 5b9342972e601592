// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "start_together.h"

#include <mpi.h>
#include <time.h>

/* A start is named so much ahead, and twice what a barrier takes. */
#define AHEAD_S 0.5e-3

double monotonic_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec * 1e-9;
}

double start_together(void)
{
	double start_s, began_s;
	struct timespec start;

	MPI_Barrier(MPI_COMM_WORLD);
	began_s = monotonic_s();
	MPI_Barrier(MPI_COMM_WORLD);
	start_s = monotonic_s();
	start_s += AHEAD_S + 2 * (start_s - began_s);
	MPI_Bcast(&start_s, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	start.tv_sec = (time_t)start_s;
	start.tv_nsec = (long)((start_s - (double)start.tv_sec) * 1e9);
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &start, NULL);
	return start_s;
}
