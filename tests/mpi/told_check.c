// SPDX-License-Identifier: Apache-2.0
// All-to-alls whose messages to and from rank 0 are 16 times as long as the others, checked byte by byte:
//
//   told_check TURNS
//
// In turn 0 data are contiguous, so that the helper's ranks agree to tell each other sizes; in the turns
// after that they are of a type with gaps at the sender, at the receiver, or in place, in both forms.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { short_ints = 1024, long_ints = 16 * short_ints, ranks_max = 16 };

static int rank, ranks;

/* A buffer: where each rank's block is, and how. */
struct side {
	int gap;		/* ints from one element to the next */
	MPI_Datatype type, types[ranks_max];
	int counts[ranks_max], displs[ranks_max], byte_displs[ranks_max];
	int *data;
};

static int ints_between(int one, int other)
{
	return one == 0 || other == 0 ? long_ints : short_ints;
}

static int value(int turn, int from, int to, int at)
{
	return turn * 1000003 + from * 10007 + to * 101 + at;
}

static struct side make_side(int gap)
{
	struct side side = {.gap = gap, .type = MPI_INT};
	int elements = 0;

	if (gap > 1) {
		MPI_Type_create_resized(MPI_INT, 0, gap * (MPI_Aint)sizeof(int), &side.type);
		MPI_Type_commit(&side.type);
	}
	for (int peer = 0; peer < ranks; peer++) {
		side.types[peer] = side.type;
		side.counts[peer] = ints_between(rank, peer);
		side.displs[peer] = elements;
		side.byte_displs[peer] = elements * gap * (int)sizeof(int);
		elements += side.counts[peer];
	}
	side.data = calloc((size_t)elements, (size_t)gap * sizeof(int));
	return side;
}

static void free_side(struct side *side)
{
	if (side->gap > 1)
		MPI_Type_free(&side->type);
	free(side->data);
}

static int *element(struct side *side, int peer, int at)
{
	return &side->data[(side->displs[peer] + at) * side->gap];
}

static void exchange(int turn, const void *from, struct side *sent, struct side *received)
{
	if (turn % 2 == 0)
		MPI_Alltoallv(from, sent->counts, sent->displs, sent->type, received->data, received->counts,
			      received->displs, received->type, MPI_COMM_WORLD);
	else
		MPI_Alltoallw(from, sent->counts, sent->byte_displs, sent->types, received->data,
			      received->counts, received->byte_displs, received->types, MPI_COMM_WORLD);
}

/* The first call of each form is contiguous: turns 0 and 1. */
static int is_right_in_turn(int turn)
{
	int variant = turn / 2 % 4, in_place = variant == 3, right = 1;
	struct side sent = make_side(variant == 1 ? 3 : 1), received = make_side(variant == 2 ? 2 : 1);
	struct side *from = in_place ? &received : &sent;

	for (int peer = 0; peer < ranks; peer++)
		for (int at = 0; at < from->counts[peer]; at++)
			*element(from, peer, at) = value(turn, rank, peer, at);
	exchange(turn, in_place ? MPI_IN_PLACE : sent.data, &sent, &received);
	for (int peer = 0; peer < ranks; peer++)
		for (int at = 0; at < received.counts[peer]; at++)
			right &= *element(&received, peer, at) == value(turn, peer, rank, at);
	free_side(&sent);
	free_side(&received);
	return right;
}

int main(int argc, char **argv)
{
	int turns = argc > 1 ? atoi(argv[1]) : 40, wrong = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (ranks > ranks_max)
		MPI_Abort(MPI_COMM_WORLD, 2);
	for (int turn = 0; turn < turns; turn++) {
		if (!is_right_in_turn(turn)) {
			printf("rank %d: wrong data in turn %d\n", rank, turn);
			wrong = 1;
		}
	}
	MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
	if (rank == 0 && !wrong)
		puts("all data right");
	MPI_Finalize();
	return 0;
}
