// SPDX-License-Identifier: Apache-2.0
// Collectives as requests, with others between their start and their end, so
// that the order in which the helper enters and leaves tells how long it held
// them.  Checks no data: collectives.c does.
//
//   requests_check [--fork | --send | --abandon]
//
//   --fork  a child of every rank ends in the middle, by exit()
//   --send  rank r also sends r+1 ints to the next one: at once, as a persistent
//           request started twice, and in another phase of a recording
//   --abandon  never waits for a request that is complete
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define ALLTOALL_INIT MPIX_Alltoall_init
#else
#define ALLTOALL_INIT MPI_Alltoall_init
#endif

#define COUNT 1000
#define RANKS_MAX 64

static int sent[COUNT * RANKS_MAX], received[COUNT * RANKS_MAX], gathered[COUNT * RANKS_MAX];
static int rank, ranks;

static void other_collective(void)
{
	MPI_Allgather(sent, COUNT, MPI_INT, gathered, COUNT, MPI_INT, MPI_COMM_WORLD);
}

static void nonblocking(void)
{
	MPI_Request requests[2];
	int index;

	MPI_Ialltoall(sent, COUNT, MPI_INT, received, COUNT, MPI_INT, MPI_COMM_WORLD, &requests[0]);
	MPI_Ibarrier(MPI_COMM_WORLD, &requests[1]);
	other_collective();
	for (int i = 0; i < 2; i++)
		MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
}

static void persistent(void)
{
	MPI_Request request;

	ALLTOALL_INIT(sent, COUNT, MPI_INT, received, COUNT, MPI_INT, MPI_COMM_WORLD,
		      MPI_INFO_NULL, &request);
	other_collective();
	for (int turn = 0; turn < 2; turn++) {
		MPI_Start(&request);
		other_collective();
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	}
	MPI_Request_free(&request);
}

static void abandoned(void)
{
	MPI_Request request;
	int complete = 0;

	MPI_Iallgather(sent, COUNT, MPI_INT, gathered, COUNT, MPI_INT, MPI_COMM_WORLD, &request);
	while (!complete)
		MPI_Request_get_status(request, &complete, MPI_STATUS_IGNORE);
}

static void child_that_ends(void)
{
	pid_t child = fork();

	if (child == 0)
		exit(0);
	waitpid(child, NULL, 0);
}

static void send_around(void)
{
	int to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
	MPI_Request request;

	MPI_Sendrecv(sent, rank + 1, MPI_INT, to, 0, received, COUNT, MPI_INT, from, 0,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Send_init(sent, rank + 1, MPI_INT, to, 0, MPI_COMM_WORLD, &request);
	for (int turn = 0; turn < 2; turn++) {
		MPI_Start(&request);
		MPI_Recv(received, COUNT, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	}
	MPI_Request_free(&request);
	MPI_Pcontrol(3);
	MPI_Isend(sent, rank + 1, MPI_INT, to, 0, MPI_COMM_WORLD, &request);
	MPI_Recv(received, COUNT, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (ranks > RANKS_MAX)
		MPI_Abort(MPI_COMM_WORLD, 2);
	nonblocking();
	if (argc > 1 && strcmp(argv[1], "--fork") == 0)
		child_that_ends();
	if (argc > 1 && strcmp(argv[1], "--send") == 0)
		send_around();
	if (argc > 1 && strcmp(argv[1], "--abandon") == 0)
		abandoned();
	persistent();
	if (rank == 0)
		puts("done");
	MPI_Finalize();
	return 0;
}
