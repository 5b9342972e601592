// SPDX-License-Identifier: Apache-2.0
// Collectives in which most ranks have nothing for each other, and checks their data.
//
//   sparse_check BYTES
//
// In MPI_Alltoallv and MPI_Alltoallw each rank sends BYTES to the next one; the other
// messages of the latter are elements of a type without any bytes.  In MPI_Gatherv and
// MPI_Scatterv only the last rank and the root, rank 0, exchange something.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANKS_MAX 64

static char *sent, *received;
static int counts[RANKS_MAX], other_counts[RANKS_MAX], displs[RANKS_MAX];
static int rank, ranks, bytes;

static void begin(void)
{
	memset(sent, 'a' + rank, (size_t)bytes);
	memset(received, 0, (size_t)bytes);
	memset(counts, 0, sizeof(counts));
	memset(other_counts, 0, sizeof(other_counts));
}

static void expect(const char *operation, int from)
{
	for (int at = 0; at < bytes; at++)
		if (received[at] != 'a' + from) {
			printf("rank %d: wrong data of %s\n", rank, operation);
			MPI_Abort(MPI_COMM_WORLD, 1);
		}
}

int main(int argc, char **argv)
{
	MPI_Datatype nothing, types[RANKS_MAX], other_types[RANKS_MAX];
	int next, previous, last;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	bytes = argc > 1 ? atoi(argv[1]) : 0;
	if (bytes <= 0 || ranks > RANKS_MAX)
		MPI_Abort(MPI_COMM_WORLD, 2);
	sent = malloc((size_t)bytes);
	received = malloc((size_t)bytes);
	next = (rank + 1) % ranks;
	previous = (rank + ranks - 1) % ranks;
	last = ranks - 1;

	begin();
	counts[next] = other_counts[previous] = bytes;
	MPI_Alltoallv(sent, counts, displs, MPI_CHAR, received, other_counts, displs, MPI_CHAR,
		      MPI_COMM_WORLD);
	expect("alltoallv", previous);

	begin();
	MPI_Type_contiguous(0, MPI_CHAR, &nothing);
	MPI_Type_commit(&nothing);
	for (int peer = 0; peer < ranks; peer++) {
		counts[peer] = other_counts[peer] = bytes;
		types[peer] = peer == next ? MPI_CHAR : nothing;
		other_types[peer] = peer == previous ? MPI_CHAR : nothing;
	}
	MPI_Alltoallw(sent, counts, displs, types, received, other_counts, displs, other_types,
		      MPI_COMM_WORLD);
	expect("alltoallw", previous);
	MPI_Type_free(&nothing);

	begin();
	counts[last] = bytes;
	MPI_Gatherv(sent, rank == last ? bytes : 0, MPI_CHAR, received, counts, displs, MPI_CHAR, 0,
		    MPI_COMM_WORLD);
	if (rank == 0)
		expect("gatherv", last);

	begin();
	counts[last] = bytes;
	MPI_Scatterv(sent, counts, displs, MPI_CHAR, received, rank == last ? bytes : 0, MPI_CHAR, 0,
		     MPI_COMM_WORLD);
	if (rank == last)
		expect("scatterv", 0);

	free(sent);
	free(received);
	if (rank == 0)
		puts("all data right");
	MPI_Finalize();
	return 0;
}
