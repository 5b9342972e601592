// SPDX-License-Identifier: Apache-2.0
// Preload, behind the helper: how many requests a process had under way at most that were
// begun by PMPI_Isend and PMPI_Irecv, which the helper's algorithms call and an MPI library's
// own collectives do not.  At its end the process writes that number into the file
// $REQUEST_SPY/PID.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define REAL(function)                                                                             \
	static __typeof__(&function) real;                                                         \
	if (!real)                                                                                 \
		real = (__typeof__(real))next(#function)

static int under_way, most;

static void *next(const char *name)
{
	void *function = dlsym(RTLD_NEXT, name);

	if (!function)
		abort();
	return function;
}

static int begun(int status)
{
	if (status == MPI_SUCCESS && ++under_way > most)
		most = under_way;
	return status;
}

static int not_null(int count, const MPI_Request *requests)
{
	int found = 0;

	for (int i = 0; i < count; i++)
		found += requests[i] != MPI_REQUEST_NULL;
	return found;
}

EXPORT int PMPI_Isend(const void *buf, int count, MPI_Datatype type, int dest, int tag,
		      MPI_Comm comm, MPI_Request *request)
{
	REAL(PMPI_Isend);
	return begun(real(buf, count, type, dest, tag, comm, request));
}

EXPORT int PMPI_Irecv(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
		      MPI_Request *request)
{
	REAL(PMPI_Irecv);
	return begun(real(buf, count, type, source, tag, comm, request));
}

EXPORT int PMPI_Wait(MPI_Request *request, MPI_Status *status)
{
	REAL(PMPI_Wait);
	int before = not_null(1, request), result = real(request, status);

	under_way -= before - not_null(1, request);
	return result;
}

EXPORT int PMPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
	REAL(PMPI_Waitall);
	int before = not_null(count, requests), result = real(count, requests, statuses);

	under_way -= before - not_null(count, requests);
	return result;
}

EXPORT int PMPI_Waitsome(int count, MPI_Request requests[], int *done, int indices[],
			 MPI_Status statuses[])
{
	REAL(PMPI_Waitsome);
	int before = not_null(count, requests);
	int result = real(count, requests, done, indices, statuses);

	under_way -= before - not_null(count, requests);
	return result;
}

static void __attribute__((destructor)) write_most(void)
{
	const char *folder = getenv("REQUEST_SPY");
	char path[4096];
	FILE *file;

	if (!folder || most == 0)
		return;
	snprintf(path, sizeof(path), "%s/%d", folder, getpid());
	file = fopen(path, "w");
	if (file) {
		fprintf(file, "%d\n", most);
		fclose(file);
	}
}
