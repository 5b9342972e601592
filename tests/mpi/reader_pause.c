// SPDX-License-Identifier: Apache-2.0
#include "reader_pause.h"

#include <mpi.h>
#include <stdio.h>

static void wait_for_reader(const char *when, int bytes)
{
	int answer;

	printf("{\"pause\":\"%s\",\"bytes\":%d}\n", when, bytes);
	fflush(stdout);
	do {
		answer = getchar();
	} while (answer != '\n' && answer != EOF);
	if (answer == EOF) {
		fprintf(stderr, "--pause: standard input has ended\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
}

void pause_for_reader(const char *when, int bytes)
{
	int rank;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (rank == 0)
		wait_for_reader(when, bytes);
	MPI_Barrier(MPI_COMM_WORLD);
}
