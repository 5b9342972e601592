// SPDX-License-Identifier: Apache-2.0
// A serial code that brings the functions of MPI which it needs, as solvers do that may also be built
// without MPI.  It is opened by others (open_local.c, Python).
#define EXPORT __attribute__((visibility("default")))

EXPORT int MPI_Init(int *argc, char ***argv);
EXPORT int MPI_Comm_rank(int comm, int *rank);
EXPORT int MPI_Allreduce(const void *from, void *to, int count, int type, int op, int comm);
EXPORT int MPI_Wait(int *request, void *status);
EXPORT int MPI_Finalize(void);
EXPORT int simulate(int calls);
EXPORT int finish(void);

static int begun;

int MPI_Init(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	begun++;
	return 0;
}

int MPI_Comm_rank(int comm, int *rank)
{
	*rank = comm;
	return 0;
}

int MPI_Allreduce(const void *from, void *to, int count, int type, int op, int comm)
{
	(void)type;
	(void)op;
	(void)comm;
	for (int at = 0; at < count; at++)
		((int *)to)[at] = ((const int *)from)[at];
	return 0;
}

int MPI_Wait(int *request, void *status)
{
	(void)status;
	*request = 0;
	return 0;
}

int MPI_Finalize(void)
{
	begun--;
	return 0;
}

/* 43, after so many calls of some functions. */
int simulate(int calls)
{
	int one = 42, sum = 0, rank = 0, request, wrong = 0;

	wrong += MPI_Init(0, 0);
	for (int call = 0; call < calls; call++) {
		request = 1;
		wrong += MPI_Allreduce(&one, &sum, 1, 0, 0, 0) + MPI_Comm_rank(1, &rank) + MPI_Wait(&request, 0);
		wrong += request;
	}
	wrong += MPI_Finalize();
	return sum + rank + wrong + begun;
}

/* Ends in a call of MPI, which optimising compilers make a jump: who has called cannot be seen. */
int finish(void)
{
	begun++;
	return MPI_Finalize();
}
