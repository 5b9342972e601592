// SPDX-License-Identifier: Apache-2.0
// A program with a session of its own.
//
//   sessions_check alone     without MPI_Init
//   sessions_check beside    beside the world model: exchanges with both in turns
//
// "all data right" from rank 0; before MPI 4 there are no sessions, and the status is 2.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Open MPI 5 has them, and says that it is of MPI 3.1. */
#if MPI_VERSION >= 4 || defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5

enum { count = 16384, calls = 20 };

static MPI_Comm communicator_of(MPI_Session session)
{
	MPI_Group all;
	MPI_Comm made;

	MPI_Group_from_session_pset(session, "mpi://WORLD", &all);
	MPI_Comm_create_from_group(all, "headway.sessions_check", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &made);
	MPI_Group_free(&all);
	return made;
}

static int exchange(MPI_Comm comm)
{
	int rank, ranks, right = 1;
	int *sent, *received;

	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &ranks);
	sent = malloc(sizeof(int) * count * ranks);
	received = calloc(count * ranks, sizeof(int));
	if (!sent || !received)
		return 0;
	for (int i = 0; i < count * ranks; i++)
		sent[i] = rank * 1000 + i / count;
	MPI_Alltoall(sent, count, MPI_INT, received, count, MPI_INT, comm);
	for (int i = 0; i < count * ranks; i++)
		right = right && received[i] == i / count * 1000 + rank;
	free(sent);
	free(received);
	return right;
}

int main(int argc, char **argv)
{
	const int beside = argc > 1 && strcmp(argv[1], "beside") == 0;
	int rank, right = 1;
	MPI_Session session;
	MPI_Comm comm;

	if (beside)
		MPI_Init(&argc, &argv);
	MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
	comm = communicator_of(session);
	MPI_Comm_rank(comm, &rank);
	for (int i = 0; i < calls; i++)
		right = exchange(comm) && (!beside || exchange(MPI_COMM_WORLD)) && right;
	MPI_Comm_free(&comm);
	MPI_Session_finalize(&session);
	if (beside)
		MPI_Finalize();
	if (rank == 0 && right)
		puts("all data right");
	return !right;
}

#else

int main(void)
{
	return 2;
}

#endif
