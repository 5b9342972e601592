// SPDX-License-Identifier: Apache-2.0
#include "alltoall_algorithms.h"
#include "bench_parts.h"

#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const alltoall_algorithm_names[ALLTOALL_ALGORITHM_COUNT] = {
	"library", "linear", "pairwise_ring", "pairwise_xor", "alltoall_b", "grid",
};

static const unsigned char *block_for(const struct alltoall *all, int rank)
{
	return all->send + (size_t)rank * all->bytes;
}

static unsigned char *block_from(const struct alltoall *all, int rank)
{
	return all->receive + (size_t)rank * all->bytes;
}

/* Requests of one phase, which are waited for together. */
struct requests {
	MPI_Request *list;
	int count;
};

static struct requests room_for_requests(int most)
{
	return (struct requests){ .list = allocate(most * sizeof(MPI_Request)) };
}

static void finish(struct requests *requests)
{
	MPI_Waitall(requests->count, requests->list, MPI_STATUSES_IGNORE);
	free(requests->list);
}

static void post_receive(struct requests *requests, void *data, int bytes, int from, int tag)
{
	MPI_Irecv(data, bytes, MPI_BYTE, from, tag, MPI_COMM_WORLD,
		  &requests->list[requests->count++]);
}

static void post_send(struct requests *requests, const void *data, int bytes, int to, int tag)
{
	MPI_Isend(data, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD,
		  &requests->list[requests->count++]);
}

static void linear(const struct alltoall *all)
{
	struct requests requests = room_for_requests(2 * all->ranks);

	for (int step = 1; step <= all->ranks; step++) {
		int from = (all->rank + 2 * all->ranks - step) % all->ranks;

		post_receive(&requests, block_from(all, from), all->bytes, from, 0);
	}
	for (int step = 1; step <= all->ranks; step++) {
		int to = (all->rank + step) % all->ranks;

		post_send(&requests, block_for(all, to), all->bytes, to, 0);
	}
	finish(&requests);
}

static void step_of(const struct alltoall *all, int to, int from)
{
	MPI_Sendrecv(block_for(all, to), all->bytes, MPI_BYTE, to, 0, block_from(all, from),
		     all->bytes, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void meet_before(const struct alltoall *all, int step)
{
	if (all->in_lock_step && step > 0)
		MPI_Barrier(MPI_COMM_WORLD);
}

static void pairwise_ring(const struct alltoall *all)
{
	for (int step = 0; step < all->ranks; step++) {
		meet_before(all, step);
		step_of(all, (all->rank + step) % all->ranks,
			(all->rank + all->ranks - step) % all->ranks);
	}
}

/* The number of steps in which rank ^ step meets every rank. */
static int xor_steps(int ranks)
{
	int steps = 1;

	while (steps < ranks)
		steps *= 2;
	return steps;
}

static void pairwise_xor(const struct alltoall *all)
{
	for (int step = 0; step < xor_steps(all->ranks); step++) {
		int peer = all->rank ^ step;

		meet_before(all, step);
		if (peer < all->ranks)
			step_of(all, peer, peer);
	}
}

static void alltoall_b(const struct alltoall *all)
{
	struct requests requests = room_for_requests(all->ranks);

	for (int rank = 0; rank < all->ranks; rank++)
		post_receive(&requests, block_from(all, rank), all->bytes, rank, 0);
	for (int step = 0; step < xor_steps(all->ranks); step++) {
		int to = all->rank ^ step;

		if (to < all->ranks)
			MPI_Send(block_for(all, to), all->bytes, MPI_BYTE, to, 0, MPI_COMM_WORLD);
	}
	finish(&requests);
}

/* ---- two clusters, one of the first ranks and one of the rest ---------------- */

static bool is_in_first(const struct alltoall *all, int rank)
{
	return rank < all->first_cluster;
}

static int first_of_cluster(const struct alltoall *all, int rank)
{
	return is_in_first(all, rank) ? 0 : all->first_cluster;
}

static int ranks_of_cluster(const struct alltoall *all, int rank)
{
	return is_in_first(all, rank) ? all->first_cluster : all->ranks - all->first_cluster;
}

/*
 * The member of the source's cluster that sends its block on to a target in the other
 * one.  In the larger cluster several collect for one target: every so many'th member.
 */
static int collector(const struct alltoall *all, int source, int target)
{
	int ours = ranks_of_cluster(all, source), theirs = ranks_of_cluster(all, target);
	int place = target - first_of_cluster(all, target);
	int own = source - first_of_cluster(all, source);
	int partners = ours <= theirs ? 1 : (ours - place + theirs - 1) / theirs;

	return first_of_cluster(all, source) +
	       (ours <= theirs ? place % ours : place + theirs * (own % partners));
}

/* Calls for each source in the cluster of `member` that hands it blocks for `target`. */
#define FOR_EACH_SOURCE(all, source, member, target)                                   \
	for (int source = first_of_cluster(all, member);                               \
	     source < first_of_cluster(all, member) + ranks_of_cluster(all, member);   \
	     source++)                                                                 \
		if (collector(all, source, target) == (member))

static bool are_together(const struct alltoall *all, int a, int b)
{
	return is_in_first(all, a) == is_in_first(all, b);
}

/* Tags: 0 of the own cluster's blocks, else 1 + the block's target. */
static void within_cluster(const struct alltoall *all, unsigned char *collected)
{
	struct requests requests = room_for_requests(2 * all->ranks * (1 + all->ranks));
	size_t at = 0;

	for (int rank = 0; rank < all->ranks; rank++) {
		if (are_together(all, rank, all->rank)) {
			post_receive(&requests, block_from(all, rank), all->bytes, rank, 0);
			post_send(&requests, block_for(all, rank), all->bytes, rank, 0);
			continue;
		}
		FOR_EACH_SOURCE(all, source, all->rank, rank) {
			post_receive(&requests, collected + at, all->bytes, source, 1 + rank);
			at += all->bytes;
		}
		post_send(&requests, block_for(all, rank), all->bytes,
			  collector(all, all->rank, rank), 1 + rank);
	}
	finish(&requests);
}

/* One message to each rank for which blocks were collected here; `arrived` has those
 * that come, by the member of the other cluster that has collected them. */
static void between_clusters(const struct alltoall *all, const unsigned char *collected,
			     unsigned char *arrived)
{
	struct requests requests = room_for_requests(2 * all->ranks);
	size_t sent = 0, received = 0;

	for (int rank = 0; rank < all->ranks; rank++) {
		int out = 0, in = 0;

		if (are_together(all, rank, all->rank))
			continue;
		FOR_EACH_SOURCE(all, source, all->rank, rank)
			out += all->bytes;
		FOR_EACH_SOURCE(all, source, rank, all->rank)
			in += all->bytes;
		if (in)
			post_receive(&requests, arrived + received, in, rank, 0);
		if (out)
			post_send(&requests, collected + sent, out, rank, 0);
		sent += out;
		received += in;
	}
	finish(&requests);
}

static void spread_arrived(const struct alltoall *all, const unsigned char *arrived)
{
	for (int rank = 0; rank < all->ranks; rank++) {
		if (are_together(all, rank, all->rank))
			continue;
		FOR_EACH_SOURCE(all, source, rank, all->rank) {
			memcpy(block_from(all, source), arrived, all->bytes);
			arrived += all->bytes;
		}
	}
}

static void grid(const struct alltoall *all)
{
	int ours = ranks_of_cluster(all, all->rank);
	size_t most = (size_t)ours * (all->ranks - ours) * all->bytes;
	unsigned char *collected = allocate(most), *arrived = allocate(most);

	within_cluster(all, collected);
	between_clusters(all, collected, arrived);
	spread_arrived(all, arrived);
	free(collected);
	free(arrived);
}

void run_alltoall(enum alltoall_algorithm algorithm, const struct alltoall *all)
{
	switch (algorithm) {
	case ALLTOALL_LINEAR:
		linear(all);
		break;
	case ALLTOALL_PAIRWISE_RING:
		pairwise_ring(all);
		break;
	case ALLTOALL_PAIRWISE_XOR:
		pairwise_xor(all);
		break;
	case ALLTOALL_B:
		alltoall_b(all);
		break;
	case ALLTOALL_GRID:
		grid(all);
		break;
	default:
		MPI_Alltoall(all->send, all->bytes, MPI_BYTE, all->receive, all->bytes, MPI_BYTE,
			     MPI_COMM_WORLD);
	}
}
