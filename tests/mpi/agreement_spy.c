// SPDX-License-Identifier: Apache-2.0
// Preload, behind the helper: at its end rank 0 prints
//   agreements N BYTES
// N: of the broadcasts and allreduces of MPI_UINT64_T, in which the helper's ranks agree on
// algorithms; the program must have none of its own.  BYTES: of the largest one.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

static int agreements, largest_bytes, is_rank_0;

static void *next(const char *name)
{
	void *function = dlsym(RTLD_NEXT, name);

	if (!function)
		abort();
	return function;
}

static void count_one(int count, MPI_Datatype type)
{
	int rank;

	if (type != MPI_UINT64_T)
		return;
	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	is_rank_0 = rank == 0;
	agreements++;
	if (8 * count > largest_bytes)
		largest_bytes = 8 * count;
}

EXPORT int PMPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
	static __typeof__(&PMPI_Bcast) real;

	if (!real)
		real = (__typeof__(real))next("PMPI_Bcast");
	count_one(count, type);
	return real(buffer, count, type, root, comm);
}

EXPORT int PMPI_Allreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type,
			  MPI_Op op, MPI_Comm comm)
{
	static __typeof__(&PMPI_Allreduce) real;

	if (!real)
		real = (__typeof__(real))next("PMPI_Allreduce");
	count_one(count, type);
	return real(sendbuf, recvbuf, count, type, op, comm);
}

static void __attribute__((destructor)) print_count(void)
{
	if (is_rank_0)
		printf("agreements %d %d\n", agreements, largest_bytes);
}
