// SPDX-License-Identifier: Apache-2.0
// Preload, behind the helper: tells in which phase messages are sent and waited for.  Rank R
// writes on stderr "sent R DESTINATION PHASE" for each PMPI_Isend over MPI_COMM_WORLD, or of 64
// bytes or more, which are data, and "waits R PHASE" for each PMPI_Waitany, where PHASE is the
// first word of the slots that the daemon shares with it ("memfd:slots"), 0 without any.  The program's own
// MPI_Isend, which the helper does not wrap, is led there as by a tool.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared_slots.h"

#define EXPORT __attribute__((visibility("default")))

/* The function behind, of which the line tells. */
static void *behind(const char *name, const char *line)
{
	void *function = dlsym(RTLD_NEXT, name);

	/* one write, so that lines of two ranks do not mix */
	if (!function || write(STDERR_FILENO, line, strlen(line)) < 0)
		abort();
	return function;
}

static int rank_in(MPI_Comm comm)
{
	int rank;

	PMPI_Comm_rank(comm, &rank);
	return rank;
}

EXPORT int PMPI_Isend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag,
		      MPI_Comm comm, MPI_Request *request)
{
	__typeof__(&PMPI_Isend) real;
	char line[64] = "";
	int bytes = 0;

	if (count > 0)
		PMPI_Type_size(datatype, &bytes);
	if (shared_slots() && (comm == MPI_COMM_WORLD || (long)count * bytes >= 64))
		snprintf(line, sizeof(line), "sent %d %d %u\n", rank_in(comm), dest, shared_phase());
	real = (__typeof__(real))behind("PMPI_Isend", line);
	return real(buf, count, datatype, dest, tag, comm, request);
}

EXPORT int MPI_Isend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag,
		     MPI_Comm comm, MPI_Request *request)
{
	return PMPI_Isend(buf, count, datatype, dest, tag, comm, request);
}

EXPORT int PMPI_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status)
{
	__typeof__(&PMPI_Waitany) real;
	char line[64];

	snprintf(line, sizeof(line), "waits %d %u\n", rank_in(MPI_COMM_WORLD), shared_phase());
	real = (__typeof__(real))behind("PMPI_Waitany", line);
	return real(count, requests, index, status);
}
