// SPDX-License-Identifier: Apache-2.0
// Preload that tells which of Open MPI's all-to-all algorithms really ran: they
// are visible functions of libmpi that the coll/tuned component calls by name.
// Rank 0 writes "algorithm NAME" on stderr for each.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

static void *next_function(const char *name)
{
	void *function = dlsym(RTLD_NEXT, name);

	if (!function) {
		fprintf(stderr, "algorithm_spy: this Open MPI has no %s\n", name);
		abort();
	}
	return function;
}

static void tell(const char *algorithm)
{
	int rank;

	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (rank == 0)
		fprintf(stderr, "algorithm %s\n", algorithm);
}

typedef int alltoall_fn(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm,
			void *module);
typedef int alltoall_sync_fn(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm,
			     void *module, int most_requests);
typedef int alltoallv_fn(const void *, const int *, const int *, MPI_Datatype, void *, const int *,
			 const int *, MPI_Datatype, MPI_Comm, void *module);

#define SPY_ALLTOALL(function, name)							\
	EXPORT alltoall_fn function;							\
	int function(const void *sbuf, int scount, MPI_Datatype stype, void *rbuf,	\
		     int rcount, MPI_Datatype rtype, MPI_Comm comm, void *module)	\
	{										\
		alltoall_fn *real = (alltoall_fn *)next_function(#function);		\
											\
		tell(name);								\
		return real(sbuf, scount, stype, rbuf, rcount, rtype, comm, module);	\
	}

#define SPY_ALLTOALLV(function, name)							\
	EXPORT alltoallv_fn function;							\
	int function(const void *sbuf, const int *scounts, const int *sdispls,		\
		     MPI_Datatype stype, void *rbuf, const int *rcounts,		\
		     const int *rdispls, MPI_Datatype rtype, MPI_Comm comm,		\
		     void *module)							\
	{										\
		alltoallv_fn *real = (alltoallv_fn *)next_function(#function);		\
											\
		tell(name);								\
		return real(sbuf, scounts, sdispls, stype, rbuf, rcounts, rdispls,	\
			    rtype, comm, module);					\
	}

SPY_ALLTOALL(ompi_coll_base_alltoall_intra_basic_linear, "linear")
SPY_ALLTOALL(ompi_coll_base_alltoall_intra_pairwise, "pairwise")
SPY_ALLTOALL(ompi_coll_base_alltoall_intra_bruck, "bruck")
SPY_ALLTOALL(ompi_coll_base_alltoall_intra_two_procs, "two_procs")
SPY_ALLTOALLV(ompi_coll_base_alltoallv_intra_basic_linear, "v_linear")
SPY_ALLTOALLV(ompi_coll_base_alltoallv_intra_pairwise, "v_pairwise")

EXPORT alltoall_sync_fn ompi_coll_base_alltoall_intra_linear_sync;
int ompi_coll_base_alltoall_intra_linear_sync(const void *sbuf, int scount, MPI_Datatype stype,
					      void *rbuf, int rcount, MPI_Datatype rtype,
					      MPI_Comm comm, void *module, int most_requests)
{
	alltoall_sync_fn *real =
		(alltoall_sync_fn *)next_function("ompi_coll_base_alltoall_intra_linear_sync");

	tell("linear_sync");
	return real(sbuf, scount, stype, rbuf, rcount, rtype, comm, module, most_requests);
}
