/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An all-to-all of blocks of several sizes in stages, after FAST (arXiv
 * 2505.09764): in each stage every rank sends to one rank and receives from one, and
 * all of a stage have the same number of bytes, so that nobody waits for a larger
 * message.  For measurements beside all messages at once.
 *
 * The matrix of all blocks is padded until every row and column has the same sum, and
 * taken apart into permutations (Birkhoff).  A padded part of a stage sends nothing.
 * What FAST does within a server before and after is not here: ranks are its servers.
 */
#ifndef STAGED_ALLTOALLV_H
#define STAGED_ALLTOALLV_H

struct stage_part {
	int peer;
	int bytes;	/* 0: padding */
	int offset;	/* in the block for or from that rank */
};

struct stage {
	struct stage_part sent;
	struct stage_part received;
};

struct staged_alltoallv {
	struct stage *stages;
	int count;
};

/*
 * Plans what `rank` does; all ranks have the same list of stages.  `bytes`: of the block from rank
 * i to rank j at i * ranks + j.  Ends the job when memory is short.
 */
struct staged_alltoallv plan_stages(const int *bytes, int rank, int ranks);
void free_stages(struct staged_alltoallv *staged);

/* Block i of either buffer begins at displacements[i]. */
void run_stages(const struct staged_alltoallv *staged, const unsigned char *send,
		unsigned char *receive, const int *displacements);

#endif
