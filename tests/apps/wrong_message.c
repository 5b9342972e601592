// SPDX-License-Identifier: Apache-2.0
// Preloaded, it changes one number of one message: of the last rank's third call that
// receives.  A kernel that does not notice is not checked.
#define _GNU_SOURCE
#include <mpi.h>

/* A double's last byte holds its exponent: 0 becomes a visible number, and this next to nothing. */
#define CHANGED_BITS 0x3f

/* An element near the middle: those at the borders of a halo are used by nobody. */
static void spoil(void *received, int count, MPI_Datatype type)
{
	static int calls;
	int rank, ranks, bytes;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	MPI_Type_size(type, &bytes);
	if (rank == ranks - 1 && ++calls == 3)
		/* of a complex number its real part */
		((unsigned char *)received)[count * 5 / 9 * bytes + (bytes > 8 ? 8 : bytes) - 1] ^= CHANGED_BITS;
}

int MPI_Alltoall(const void *send, int send_count, MPI_Datatype send_type, void *receive, int receive_count,
		 MPI_Datatype receive_type, MPI_Comm comm)
{
	int status = PMPI_Alltoall(send, send_count, send_type, receive, receive_count, receive_type, comm);

	/* counts of keys are for the next call */
	if (receive_type != MPI_INT)
		spoil(receive, receive_count, receive_type);
	return status;
}

int MPI_Alltoallv(const void *send, const int *send_counts, const int *send_at, MPI_Datatype send_type,
		  void *receive, const int *receive_counts, const int *receive_at, MPI_Datatype receive_type,
		  MPI_Comm comm)
{
	int status = PMPI_Alltoallv(send, send_counts, send_at, send_type, receive, receive_counts, receive_at,
				    receive_type, comm);

	spoil(receive, receive_counts[0], receive_type);
	return status;
}

/* Whatever the types are: the buffer's first number. */
int MPI_Alltoallw(const void *send, const int *send_counts, const int *send_at, const MPI_Datatype *send_types,
		  void *receive, const int *receive_counts, const int *receive_at, const MPI_Datatype *receive_types,
		  MPI_Comm comm)
{
	int status = PMPI_Alltoallw(send, send_counts, send_at, send_types, receive, receive_counts, receive_at,
				    receive_types, comm);

	spoil(receive, 0, MPI_DOUBLE);
	return status;
}

int MPI_Sendrecv(const void *send, int send_count, MPI_Datatype send_type, int to, int send_tag, void *receive,
		 int receive_count, MPI_Datatype receive_type, int from, int receive_tag, MPI_Comm comm,
		 MPI_Status *status)
{
	int done = PMPI_Sendrecv(send, send_count, send_type, to, send_tag, receive, receive_count,
				 receive_type, from, receive_tag, comm, status);

	spoil(receive, receive_count, receive_type);
	return done;
}

int MPI_Recv(void *receive, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status)
{
	int done = PMPI_Recv(receive, count, type, from, tag, comm, status);

	spoil(receive, count, type);
	return done;
}
