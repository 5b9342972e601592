// SPDX-License-Identifier: Apache-2.0
// Calls other_mpi.c from several threads that begin together, so that they are the
// first to call each function.  Exit status 7: every call got and gave the right
// values.
//
//   other_mpi_program [--missing]
//   --missing  calls MPI_Bcast, which other_mpi.c does not have
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

int MPI_Init(int *argc, char ***argv);
int MPI_Pcontrol(const int level, ...);
int MPI_Alltoallw(const void *a, const int *b, const int *c, const void *d, void *e, const int *f,
		  const int *g, const void *h, const void *i);

#define THREADS 8

static pthread_barrier_t together;

static void *call_all(void *unused)
{
	char place[9];
	const char *p = place;
	long wrong = 0;

	pthread_barrier_wait(&together);
	for (int round = 0; round < 2; round++) {
		wrong += MPI_Pcontrol(3, 4, 5, 6, 7, 8, 9, 10, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0, 17.0,
				      18.0, 19.0, 20.0);
		wrong += MPI_Alltoallw(p, (const void *)(p + 1), (const void *)(p + 2), p + 3, place + 4,
				       (const void *)(p + 5), (const void *)(p + 6), p + 7, p + 8);
	}
	return wrong ? &together : unused;
}

/* Only a preload can have it. */
static int call_missing(void)
{
	int (*bcast)(void *, int, int, int, int) =
		(int (*)(void *, int, int, int, int))dlsym(RTLD_DEFAULT, "MPI_Bcast");

	return bcast ? bcast(NULL, 0, 0, 0, 0) : 3;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	int wrong = 0;

	if (argc > 1)
		return call_missing();

	pthread_barrier_init(&together, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, call_all, NULL))
			return 2;
	for (int i = 0; i < THREADS; i++) {
		void *result;

		pthread_join(threads[i], &result);
		wrong += result != NULL;
	}
	if (wrong)
		fprintf(stderr, "other_mpi_program: wrong arguments in %d threads\n", wrong);
	return wrong ? 1 : MPI_Init(&argc, &argv);
}
