// SPDX-License-Identifier: Apache-2.0
// Workers send rank 0 more than it receives for now.  It prints by how many MiB its memory has grown
// when the last of that has come to it, receives all, says so, and ends the job: in MPI_Finalize of
// MPICH 4.0.2 over UCX's TCP, without Headway, too, a rank sometimes waits for ever for the answer of
// another one that waits in PMI's barrier.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGES 40
#define BYTES (512 << 10)

enum { DATA, LAST };

static long peak_kib(void)
{
	char line[256];
	long kib = 0;
	FILE *file = fopen("/proc/self/status", "r");

	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "VmHWM: %ld", &kib);
	if (file)
		fclose(file);
	return kib;
}

static void work(void)
{
	static MPI_Request requests[MESSAGES];
	static MPI_Status statuses[MESSAGES];
	char *data = calloc(1, BYTES);

	for (int i = 0; i < MESSAGES; i++)
		MPI_Isend(data, BYTES, MPI_CHAR, 0, DATA, MPI_COMM_WORLD, &requests[i]);
	MPI_Send(NULL, 0, MPI_CHAR, 0, LAST, MPI_COMM_WORLD);
	MPI_Waitall(MESSAGES, requests, statuses);
	free(data);
}

static void manage(int workers)
{
	char *data = malloc(BYTES);
	long before;

	memset(data, 1, BYTES);
	before = peak_kib();
	for (int worker = 1; worker <= workers; worker++)
		MPI_Recv(NULL, 0, MPI_CHAR, worker, LAST, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	printf("%ld\n", (peak_kib() - before) >> 10);
	for (int i = 0; i < MESSAGES * workers; i++)
		MPI_Recv(data, BYTES, MPI_CHAR, MPI_ANY_SOURCE, DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	free(data);
	printf("all received\n");
	fflush(stdout);
	MPI_Abort(MPI_COMM_WORLD, 0);
}

int main(int argc, char **argv)
{
	int rank, ranks;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (rank == 0)
		manage(ranks - 1);
	else
		work();
	return MPI_Barrier(MPI_COMM_WORLD);	/* until rank 0 ends the job */
}
