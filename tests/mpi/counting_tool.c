// SPDX-License-Identifier: Apache-2.0
// A small tool of the profiling interface, for C and Fortran (mpif.h, "use mpi"), to be
// preloaded or linked.  At its end rank 0 writes "counted NAME CALLS" on stdout for
// each function that it wraps.
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>

#define EXPORT __attribute__((visibility("default")))

enum function { init, alltoall, alltoallv, functions };
static const char *const names[functions] = { "init", "alltoall", "alltoallv" };
static int calls[functions];

/* Within a function of Fortran's, the one of C that it may be made of is the same call. */
static bool in_fortran;
static int rank = -1;

static void count(enum function function)
{
	if (!in_fortran)
		calls[function]++;
}

__attribute__((destructor)) static void tell(void)
{
	for (int function = 0; rank == 0 && function < functions; function++)
		printf("counted %s %d\n", names[function], calls[function]);
}

EXPORT int MPI_Init(int *argc, char ***argv)
{
	int status = PMPI_Init(argc, argv);

	count(init);
	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	return status;
}

EXPORT int MPI_Alltoall(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
			int recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
	count(alltoall);
	return PMPI_Alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
}

EXPORT int MPI_Alltoallv(const void *sendbuf, const int *sendcounts, const int *sdispls,
			 MPI_Datatype sendtype, void *recvbuf, const int *recvcounts,
			 const int *rdispls, MPI_Datatype recvtype, MPI_Comm comm)
{
	count(alltoallv);
	return PMPI_Alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls,
			      recvtype, comm);
}

/* Weak: a program in C loads no Fortran library. */
#define FORTRAN(name, parameters, arguments)						\
	__attribute__((weak)) void pmpi_##name##_ parameters;				\
	EXPORT void mpi_##name##_ parameters;						\
	void mpi_##name##_ parameters							\
	{										\
		count(name);								\
		in_fortran = true;							\
		pmpi_##name##_ arguments;						\
		in_fortran = false;							\
		if (rank < 0)								\
			PMPI_Comm_rank(MPI_COMM_WORLD, &rank);				\
	}

FORTRAN(init, (MPI_Fint *ierror), (ierror))
FORTRAN(alltoall,
	(void *sendbuf, MPI_Fint *sendcount, MPI_Fint *sendtype, void *recvbuf, MPI_Fint *recvcount,
	 MPI_Fint *recvtype, MPI_Fint *comm, MPI_Fint *ierror),
	(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, ierror))
FORTRAN(alltoallv,
	(void *sendbuf, MPI_Fint *sendcounts, MPI_Fint *sdispls, MPI_Fint *sendtype, void *recvbuf,
	 MPI_Fint *recvcounts, MPI_Fint *rdispls, MPI_Fint *recvtype, MPI_Fint *comm,
	 MPI_Fint *ierror),
	(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm,
	 ierror))
