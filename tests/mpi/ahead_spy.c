// SPDX-License-Identifier: Apache-2.0
// Preload, behind the helper: how far a rank is ahead of what has come to it.  Rank 0 writes on stderr, when MPI is
// finalised,
//
//   waited N times ahead by A
//
// for the receives of 64 bytes and more for which it waited between two of its sends: A is the fewest sends that it had
// posted then beyond what it had received.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

enum { most_receives = 1024, least_bytes = 64 };

static MPI_Request receives[most_receives];
static int under_way, sent, received, waits, ahead_at_wait, least_ahead;
static int has_waited;	/* since the last send */
static int last_tag;	/* each call has another one */

static void *behind(const char *name)
{
	void *real = dlsym(RTLD_NEXT, name);

	if (!real)
		abort();
	return real;
}

static int is_data(int count, MPI_Datatype type)
{
	int bytes = 0;

	if (count > 0)
		PMPI_Type_size(type, &bytes);
	return (long)count * bytes >= least_bytes;
}

static void note_call(int tag)
{
	if (tag != last_tag)
		under_way = sent = received = has_waited = 0;
	last_tag = tag;
}

/* most_receives: it is none of these. */
static int place_of(MPI_Request request)
{
	int at = 0;

	while (at < under_way && receives[at] != request)
		at++;
	return at < under_way ? at : most_receives;
}

static void forget(int at)
{
	received++;
	receives[at] = receives[--under_way];
}

static void note_receive(MPI_Request request, int tag)
{
	note_call(tag);
	if (under_way < most_receives)
		receives[under_way++] = request;
}

EXPORT int PMPI_Irecv(void *buf, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request)
{
	__typeof__(&PMPI_Irecv) real = (__typeof__(real))behind("PMPI_Irecv");
	int status = real(buf, count, type, from, tag, comm, request);

	if (is_data(count, type))
		note_receive(*request, tag);
	return status;
}

EXPORT int PMPI_Recv_init(void *buf, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
			  MPI_Request *request)
{
	__typeof__(&PMPI_Recv_init) real = (__typeof__(real))behind("PMPI_Recv_init");
	int status = real(buf, count, type, from, tag, comm, request);

	if (is_data(count, type))
		note_receive(*request, tag);
	return status;
}

EXPORT int PMPI_Isend(const void *buf, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
		      MPI_Request *request)
{
	__typeof__(&PMPI_Isend) real = (__typeof__(real))behind("PMPI_Isend");

	if (is_data(count, type)) {
		note_call(tag);
		sent++;
		if (has_waited && (waits++ == 0 || ahead_at_wait < least_ahead))
			least_ahead = ahead_at_wait;
		has_waited = 0;
	}
	return real(buf, count, type, to, tag, comm, request);
}

EXPORT int PMPI_Wait(MPI_Request *request, MPI_Status *status)
{
	__typeof__(&PMPI_Wait) real = (__typeof__(real))behind("PMPI_Wait");
	const int at = place_of(*request);

	if (at < most_receives) {
		ahead_at_wait = sent - received;
		has_waited = 1;
		forget(at);
	}
	return real(request, status);
}

EXPORT int PMPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
	__typeof__(&PMPI_Test) real = (__typeof__(real))behind("PMPI_Test");
	const int at = place_of(*request);
	const int result = real(request, flag, status);

	if (at < most_receives && *flag)
		forget(at);
	return result;
}

EXPORT int PMPI_Finalize(void)
{
	__typeof__(&PMPI_Finalize) real = (__typeof__(real))behind("PMPI_Finalize");
	int rank;

	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (rank == 0)
		fprintf(stderr, "waited %d times ahead by %d\n", waits, least_ahead);
	return real();
}

EXPORT int MPI_Finalize(void)
{
	return PMPI_Finalize();
}
