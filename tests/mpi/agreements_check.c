// SPDX-License-Identifier: Apache-2.0
// Three kinds of calls on one communicator in turns, and a fourth at the end, for
// agreement_spy.c to count how often the helper's ranks agree:
//   agreements_check [TURNS]      (40)
// Rank 0 prints "wrong" if a block has not arrived whole.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { small = 4096, large = 16384 };

static int rank, ranks;
static char *sent, *received;

static void alltoall(int bytes)
{
	MPI_Alltoall(sent, bytes, MPI_BYTE, received, bytes, MPI_BYTE, MPI_COMM_WORLD);
}

static void alltoallv(int bytes)
{
	int counts[ranks], displs[ranks];

	for (int i = 0; i < ranks; i++) {
		counts[i] = bytes;
		displs[i] = i * bytes;
	}
	MPI_Alltoallv(sent, counts, displs, MPI_BYTE, received, counts, displs, MPI_BYTE,
		      MPI_COMM_WORLD);
}

static int all_is_there(int bytes)
{
	for (int i = 0; i < ranks; i++) {
		if (received[i * bytes] != i + 1 || received[(i + 1) * bytes - 1] != i + 1)
			return 0;
	}
	return 1;
}

int main(int argc, char **argv)
{
	int turns, right = 1;

	MPI_Init(&argc, &argv);
	turns = argc > 1 ? atoi(argv[1]) : 40;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	sent = malloc(ranks * large);
	received = malloc(ranks * large);
	memset(sent, rank + 1, ranks * large);
	for (int turn = 0; turn < turns; turn++) {
		alltoall(small);
		right &= all_is_there(small);
		alltoall(large);
		right &= all_is_there(large);
		MPI_Gather(sent, large, MPI_BYTE, received, large, MPI_BYTE, 0, MPI_COMM_WORLD);
		right &= rank != 0 || all_is_there(large);
	}
	alltoallv(small);
	right &= all_is_there(small);
	if (!right)
		printf("wrong\n");
	MPI_Finalize();
	free(sent);
	free(received);
	return 0;
}
