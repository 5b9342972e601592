// SPDX-License-Identifier: Apache-2.0
// Each rank exchanges messages with each other one, of sizes around the limits of transports and above.
// Rank 0 prints "all data right" if they are.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMES 2

static int rank, ranks;

static unsigned char letter(int from, int to, int bytes)
{
	return (unsigned char)(from * 31 + to * 7 + bytes % 251 + 1);
}

/* The number of bytes that came wrong. */
static int exchange(int to, int from, int bytes)
{
	unsigned char *sent = malloc(bytes), *received = calloc(1, bytes);
	int wrong = 0;

	if (!sent || !received)
		MPI_Abort(MPI_COMM_WORLD, 2);
	memset(sent, letter(rank, to, bytes), bytes);
	MPI_Sendrecv(sent, bytes, MPI_CHAR, to, 0, received, bytes, MPI_CHAR, from, 0, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
	for (int at = 0; at < bytes; at++)
		wrong += received[at] != letter(from, rank, bytes);
	free(sent);
	free(received);
	return wrong;
}

int main(int argc, char **argv)
{
	static const int sizes[] = { 1000, 65536, 100000, 131072, 150000, 262144, 1000000, 3000000 };
	int wrong = 0, all = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (int turn = 0; turn < TIMES; turn++)
		for (size_t size = 0; size < sizeof(sizes) / sizeof(*sizes); size++)
			for (int distance = 1; distance < ranks; distance++)
				wrong += exchange((rank + distance) % ranks, (rank + ranks - distance) % ranks,
						  sizes[size]);
	PMPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (rank == 0 && !all)
		puts("all data right");
	MPI_Finalize();
	return all != 0;
}
