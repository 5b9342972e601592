// SPDX-License-Identifier: Apache-2.0
#include "staged_alltoallv.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

/* Matrices of ranks * ranks, and what a search for a permutation needs. */
struct matrices {
	int ranks;
	long *data;		/* not in a stage yet */
	long *padding;
	int *offsets;		/* in each block, of what is not in a stage yet */
	int *sender_of;		/* by receiver, in the permutation that is looked for; -1: none */
	bool *seen;
};

static void *allocate(size_t count, size_t size)
{
	void *memory = calloc(count ? count : 1, size);

	if (!memory) {
		fprintf(stderr, "staged alltoallv: out of memory\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	return memory;
}

static long sum(const long *first, int count, int stride)
{
	long total = 0;

	for (int at = 0; at < count; at++)
		total += first[(size_t)at * stride];
	return total;
}

/* Afterwards every row and column of data and padding together has the sum that is returned. */
static long pad(struct matrices *all)
{
	int ranks = all->ranks;
	long *missing = allocate(ranks, sizeof(*missing)), most = 0;

	for (int rank = 0; rank < ranks; rank++) {
		long sent = sum(all->data + (size_t)rank * ranks, ranks, 1);
		long received = sum(all->data + rank, ranks, ranks);

		most = sent > most ? sent : most;
		most = received > most ? received : most;
	}
	for (int rank = 0; rank < ranks; rank++)
		missing[rank] = most - sum(all->data + rank, ranks, ranks);
	for (int from = 0; from < ranks; from++) {
		long rest = most - sum(all->data + (size_t)from * ranks, ranks, 1);

		for (int to = 0; to < ranks; to++) {
			long part = rest < missing[to] ? rest : missing[to];

			all->padding[(size_t)from * ranks + to] = part;
			missing[to] -= part;
			rest -= part;
		}
	}
	free(missing);
	return most;
}

static long left(const struct matrices *all, int from, int to)
{
	size_t at = (size_t)from * all->ranks + to;

	return all->data[at] + all->padding[at];
}

/* Finds a receiver for `from`, to whom `least` bytes are left; others may have to change theirs. */
static bool find_receiver(struct matrices *all, int from, long least)
{
	for (int to = 0; to < all->ranks; to++) {
		if (all->seen[to] || left(all, from, to) < least)
			continue;
		all->seen[to] = true;
		if (all->sender_of[to] < 0 || find_receiver(all, all->sender_of[to], least)) {
			all->sender_of[to] = from;
			return true;
		}
	}
	return false;
}

static bool find_permutation(struct matrices *all, long least)
{
	for (int to = 0; to < all->ranks; to++)
		all->sender_of[to] = -1;
	for (int from = 0; from < all->ranks; from++) {
		for (int to = 0; to < all->ranks; to++)
			all->seen[to] = false;
		if (!find_receiver(all, from, least))
			return false;
	}
	return true;
}

/* A large one first, so that stages are few.  There is one while sums are equal and not zero. */
static long next_permutation(struct matrices *all, long sum_left)
{
	long least = sum_left, least_of_all = sum_left;

	while (!find_permutation(all, least))
		least = (least + 1) / 2;
	for (int to = 0; to < all->ranks; to++) {
		long here = left(all, all->sender_of[to], to);

		least_of_all = here < least_of_all ? here : least_of_all;
	}
	return least_of_all;
}

/* Takes `size` bytes from one rank to another, data first; what of it is data. */
static struct stage_part take(struct matrices *all, int from, int to, long size)
{
	size_t at = (size_t)from * all->ranks + to;
	long data = all->data[at] < size ? all->data[at] : size;
	struct stage_part part = { .bytes = (int)data, .offset = all->offsets[at] };

	all->data[at] -= data;
	all->padding[at] -= size - data;
	all->offsets[at] += (int)data;
	return part;
}

static struct stage take_stage(struct matrices *all, int rank, long size)
{
	struct stage stage = { 0 };

	for (int to = 0; to < all->ranks; to++) {
		int from = all->sender_of[to];
		struct stage_part part = take(all, from, to, size);

		if (from == rank) {
			stage.sent = part;
			stage.sent.peer = to;
		}
		if (to == rank) {
			stage.received = part;
			stage.received.peer = from;
		}
	}
	return stage;
}

struct staged_alltoallv plan_stages(const int *bytes, int rank, int ranks)
{
	size_t cells = (size_t)ranks * ranks;
	struct matrices all = {
		.ranks = ranks,
		.data = allocate(cells, sizeof(long)),
		.padding = allocate(cells, sizeof(long)),
		.offsets = allocate(cells, sizeof(int)),
		.sender_of = allocate(ranks, sizeof(int)),
		.seen = allocate(ranks, sizeof(bool)),
	};
	/* each stage empties a cell at least */
	struct staged_alltoallv staged = { .stages = allocate(cells, sizeof(struct stage)) };

	for (size_t at = 0; at < cells; at++)
		all.data[at] = bytes[at];
	for (long rest = pad(&all); rest > 0;) {
		long size = next_permutation(&all, rest);

		staged.stages[staged.count++] = take_stage(&all, rank, size);
		rest -= size;
	}
	free(all.data);
	free(all.padding);
	free(all.offsets);
	free(all.sender_of);
	free(all.seen);
	return staged;
}

void free_stages(struct staged_alltoallv *staged)
{
	free(staged->stages);
}

static int peer_of(const struct stage_part *part)
{
	return part->bytes ? part->peer : MPI_PROC_NULL;
}

void run_stages(const struct staged_alltoallv *staged, const unsigned char *send,
		unsigned char *receive, const int *displacements)
{
	for (int at = 0; at < staged->count; at++) {
		const struct stage_part *out = &staged->stages[at].sent;
		const struct stage_part *in = &staged->stages[at].received;

		MPI_Sendrecv(send + displacements[out->peer] + out->offset, out->bytes, MPI_BYTE,
			     peer_of(out), 0, receive + displacements[in->peer] + in->offset,
			     in->bytes, MPI_BYTE, peer_of(in), 0, MPI_COMM_WORLD,
			     MPI_STATUS_IGNORE);
	}
}
