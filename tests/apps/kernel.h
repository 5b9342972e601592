/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel with the communication of a benchmark of the NPB.  It works on a team of
 * processes, which for the serial result is one process alone; main.c times it and
 * compares the two.
 */
#ifndef HEADWAY_APPS_KERNEL_H
#define HEADWAY_APPS_KERNEL_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

struct team {
	MPI_Comm comm;
	int rank;
	int ranks;
};

struct kernel {
	const char *name;
	const char *size_means;
	int size;		/* unless another is asked for */
	/* How much a checksum may differ from the serial one, of its magnitude. */
	double tolerance;
	/* Why so many ranks cannot work on that size; NULL: they can. */
	const char *(*unfit)(int size, int ranks);
	void *(*prepare)(const struct team *team, int size);
	/*
	 * One iteration.  Returns this rank's part of a checksum: the sum over all ranks
	 * depends on all data of the iteration and where each of them is.
	 */
	double (*iterate)(void *state, int iteration);
	void (*release)(void *state);
};

extern const struct kernel is_kernel, ft_kernel, cg_kernel, mg_kernel, lu_kernel, sp_kernel, moe_kernel,
	fftw_kernel;

struct team team_of(MPI_Comm comm);

/* Zeros.  Ends the job where there is no memory. */
void *allocate(size_t count, size_t size);

/* A random number from 0 to 1, always the same for an index. */
double random_of(uint64_t index);

/* A term of a checksum: by its index a value weighs 1 to 2. */
double weighted(uint64_t index, double value);

/* Where part `part` of `parts` of `count` things begins; so far the one before reaches. */
int part_begin(int count, int parts, int part);

/* Where each of the parts begins that have these counts.  Returns their sum. */
int add_up(int count, const int *counts, int *begins);

#endif
