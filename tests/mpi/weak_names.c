// SPDX-License-Identifier: Apache-2.0
// A program that takes newer functions of MPI where the library has them, as mpi4py does: it asks by
// weak references.  Rank 0 prints which it found; each that is there is called, and gives the right data
// ("all data right").
#include <mpi.h>
#include <stdio.h>

#define MAYBE __attribute__((weak))
#ifndef MPIX_Alltoall_init	/* its header is not for every version */
MAYBE int MPIX_Alltoall_init(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm, MPI_Info,
			     MPI_Request *);
#endif
MAYBE int MPI_Alltoall_init(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm, MPI_Info,
			    MPI_Request *);
MAYBE int MPI_Allreduce_c(const void *, void *, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm);
MAYBE int MPI_Isend_c(const void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

typedef __typeof__(&MPI_Alltoall_init) alltoall_init;

#define RANKS_MAX 64

static int rank, ranks;

static int sum_of_ones(void)
{
	int one = 1, sum = 0;

	if (MPI_Allreduce_c)
		MPI_Allreduce_c(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	else
		MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	return sum;
}

/* By `init`, or at once: one number to each rank.  Returns how many came wrong. */
static int exchange(alltoall_init init)
{
	int sent[RANKS_MAX], received[RANKS_MAX], wrong = 0;
	MPI_Request request;

	for (int to = 0; to < ranks; to++) {
		sent[to] = rank * RANKS_MAX + to;
		received[to] = -1;
	}
	if (init) {
		init(sent, 1, MPI_INT, received, 1, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
		MPI_Start(&request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		MPI_Request_free(&request);
	} else {
		MPI_Alltoall(sent, 1, MPI_INT, received, 1, MPI_INT, MPI_COMM_WORLD);
	}
	for (int from = 0; from < ranks; from++)
		wrong += received[from] != from * RANKS_MAX + rank;
	return wrong;
}

static int send_to_self(void)
{
	int sent = 7, received = 0;
	MPI_Request request;

	if (MPI_Isend_c)
		MPI_Isend_c(&sent, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &request);
	else
		MPI_Isend(&sent, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &request);
	MPI_Recv(&received, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	return received != 7;
}

int main(int argc, char **argv)
{
	int wrong;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	wrong = sum_of_ones() != ranks;
	wrong += exchange(MPI_Alltoall_init) + exchange(MPIX_Alltoall_init) + send_to_self();
	if (rank == 0)
		printf("Allreduce_c %d Alltoall_init %d MPIX_Alltoall_init %d Isend_c %d\n", MPI_Allreduce_c != NULL,
		       MPI_Alltoall_init != NULL, MPIX_Alltoall_init != NULL, MPI_Isend_c != NULL);
	if (rank == 0 && !wrong)
		puts("all data right");
	MPI_Finalize();
	return wrong != 0;
}
