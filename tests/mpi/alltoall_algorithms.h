/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The all-to-alls of the papers that Headway implements, carried out by a program on
 * its own: for measurements beside the MPI library's choice, with and without pacing.
 * Blocks of equal size, MPI_COMM_WORLD.
 *
 *   linear         every receive and every send posted at once, to rank + 1 first
 *   pairwise_ring  steps; in step s to rank + s and from rank - s
 *   pairwise_xor   steps; in step s an exchange with rank ^ s, if there is such a rank;
 *                  of a power of two of ranks this is A of Nomura et al., Figure 14
 *   alltoall_b     all receives posted, then one send after the other, to rank ^ s; B of
 *                  the same figure
 *   grid           two phases, after Steffenel et al.: within each of two clusters, where
 *                  blocks for a rank of the other one are collected at the member that
 *                  sends them on; then max(a, b) messages each way between clusters of
 *                  a and b ranks
 *
 * In lock step all ranks meet in a barrier before each step of a pairwise exchange.
 */
#ifndef ALLTOALL_ALGORITHMS_H
#define ALLTOALL_ALGORITHMS_H

#include <stdbool.h>

enum alltoall_algorithm {
	ALLTOALL_OF_LIBRARY,
	ALLTOALL_LINEAR,
	ALLTOALL_PAIRWISE_RING,
	ALLTOALL_PAIRWISE_XOR,
	ALLTOALL_B,
	ALLTOALL_GRID,
	ALLTOALL_ALGORITHM_COUNT
};

extern const char *const alltoall_algorithm_names[ALLTOALL_ALGORITHM_COUNT];

struct alltoall {
	const unsigned char *send;
	unsigned char *receive;
	int bytes;		/* of each block */
	int rank;
	int ranks;
	int first_cluster;	/* how many ranks it has, the first ones; for grid */
	bool in_lock_step;
};

/* Ends the job when memory is short. */
void run_alltoall(enum alltoall_algorithm algorithm, const struct alltoall *all);

#endif
