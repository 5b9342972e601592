// SPDX-License-Identifier: Apache-2.0
// How long calls take whose MPI functions do nothing (no_work.c): what is left is the
// helper's own part.  Collectives are not among these, for rank 0 calls alone (tests/cost
// counts them).  Writes "cost NAME NANOSECONDS" on rank 0, the least of many rounds, for
// others may use the processor in some.
//
// It calls PMPI_X, which is where no_work.c stands: an MPI_X behind the helper would be a
// tool's, to be called before it.
#include <mpi.h>
#include <stdio.h>
#include <time.h>

enum { rounds = 200, calls = 10000 };

static int buffer[64];

static void isend(void)
{
	MPI_Request request;

	PMPI_Isend(buffer, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
}

static void wait(void)
{
	MPI_Request request = MPI_REQUEST_NULL;

	PMPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void test(void)
{
	MPI_Request request = MPI_REQUEST_NULL;
	int flag;

	PMPI_Test(&request, &flag, MPI_STATUS_IGNORE);
}

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e9 + now.tv_nsec;
}

static double least_ns(void (*call)(void))
{
	double least = 1e9;

	for (int round = 0; round < rounds; round++) {
		double start = now_ns(), each;

		for (int i = 0; i < calls; i++)
			call();
		each = (now_ns() - start) / calls;
		if (each < least)
			least = each;
	}
	return least;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*call)(void);
	} all[] = { { "isend", isend }, { "wait", wait }, { "test", test } };
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (size_t i = 0; rank == 0 && i < sizeof(all) / sizeof(*all); i++)
		printf("cost %s %.1f\n", all[i].name, least_ns(all[i].call));
	MPI_Finalize();
	return 0;
}
