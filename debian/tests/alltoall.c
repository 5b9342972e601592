// SPDX-License-Identifier: Apache-2.0
// Some all-to-alls whose data is checked: alltoall CALLS
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { RANKS_MAX = 64 };

int main(int argc, char **argv)
{
	int sent[RANKS_MAX], received[RANKS_MAX], rank, ranks;
	int calls = argc > 1 ? atoi(argv[1]) : 1;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (ranks < 2 || ranks > RANKS_MAX)
		MPI_Abort(MPI_COMM_WORLD, 2);
	for (int call = 0; call < calls; call++) {
		for (int peer = 0; peer < ranks; peer++)
			sent[peer] = 1000 * call + RANKS_MAX * rank + peer;
		MPI_Alltoall(sent, 1, MPI_INT, received, 1, MPI_INT, MPI_COMM_WORLD);
		for (int peer = 0; peer < ranks; peer++) {
			if (received[peer] == 1000 * call + RANKS_MAX * peer + rank)
				continue;
			fprintf(stderr, "alltoall: wrong data from rank %d in call %d\n", peer, call);
			MPI_Abort(MPI_COMM_WORLD, 1);
		}
	}
	MPI_Finalize();
	return 0;
}
