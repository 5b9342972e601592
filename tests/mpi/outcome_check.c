// SPDX-License-Identifier: Apache-2.0
// What a job may do and what may happen to it, while it checks its data.
//
//   outcome_check until FILE       all-to-alls until there is that file; rank 0 counts them on
//                                  stderr: "turn N"
//   outcome_check fork FILE        a child ends by exit() while its parent is in
//                                  an all-to-all, which goes on until there is FILE
//   outcome_check fail CODE        rank 1 aborts in an all-to-all
//   outcome_check intercommunicator  one between the even and the odd ranks
//   outcome_check uncounted        scans and one-sided transfers, one of each
//   outcome_check forgetful N RANK [later]  that rank's N-th allocation from here on, or after a first
//                                  all-to-all, fails, of the helper (pending_spy.c); says whether
//                                  there were so many
//   outcome_check spawn            two more processes, and all-to-alls with them
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT 4096
#define RANKS_MAX 64

static int sent[COUNT * RANKS_MAX], received[COUNT * RANKS_MAX];
static int rank, ranks;

static void fill(int turn, int peers)
{
	for (int i = 0; i < COUNT * peers; i++)
		sent[i] = turn * 1000003 + rank * 101 + i;
}

static void check(int turn, int peers, int own_place)
{
	for (int peer = 0; peer < peers; peer++)
		for (int i = 0; i < COUNT; i++)
			if (received[peer * COUNT + i] !=
			    turn * 1000003 + peer * 101 + own_place * COUNT + i) {
				printf("rank %d: wrong data of %d in turn %d\n", rank, peer, turn);
				MPI_Abort(MPI_COMM_WORLD, 99);
			}
}

static void alltoall(MPI_Comm comm, int turn, int peers)
{
	fill(turn, peers);
	memset(received, 0, sizeof(received));
	MPI_Alltoall(sent, COUNT, MPI_INT, received, COUNT, MPI_INT, comm);
	check(turn, peers, rank);
}

static int agreed(int value)
{
	MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
	return value;
}

static void wait_for(const char *file)
{
	while (access(file, F_OK) != 0)
		usleep(1000);
}

static void until(const char *file)
{
	int turn = 0;

	do {
		alltoall(MPI_COMM_WORLD, turn++, ranks);
		if (rank == 0)
			fprintf(stderr, "turn %d\n", turn);
		usleep(1000);	/* a daemon whose plans change is asked in each turn */
	} while (!agreed(access(file, F_OK) == 0));
}

static void fork_inside(const char *file)
{
	MPI_Request request;
	int status;
	pid_t child;

	alltoall(MPI_COMM_WORLD, 0, ranks);
	fill(1, ranks);
	MPI_Ialltoall(sent, COUNT, MPI_INT, received, COUNT, MPI_INT, MPI_COMM_WORLD, &request);
	child = fork();
	if (child == 0)
		exit(0);
	waitpid(child, &status, 0);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0) {
		printf("forked\n");
		fflush(stdout);
	}
	wait_for(file);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	check(1, ranks, rank);
	alltoall(MPI_COMM_WORLD, 2, ranks);
}

static void fail(int code)
{
	MPI_Request request;

	fill(0, ranks);
	MPI_Ialltoall(sent, COUNT, MPI_INT, received, COUNT, MPI_INT, MPI_COMM_WORLD, &request);
	if (rank == 1)
		MPI_Abort(MPI_COMM_WORLD, code);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Barrier(MPI_COMM_WORLD);
}

/* The group of this process has `ranks` members, and so has the other. */
static void between_groups(void)
{
	MPI_Comm half, both;
	int peers, place, world = rank;

	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 1, &both);
	MPI_Comm_remote_size(both, &peers);
	MPI_Comm_rank(half, &place);
	rank = place;
	alltoall(both, 3, peers);
	if (place + 1 < peers)
		MPI_Send(sent, COUNT, MPI_INT, place + 1, 0, both);
	if (place > 0)
		MPI_Recv(received, COUNT, MPI_INT, place - 1, 0, both, MPI_STATUS_IGNORE);
	rank = world;
	alltoall(MPI_COMM_WORLD, 4, ranks);
	MPI_Comm_free(&both);
	MPI_Comm_free(&half);
}

/* Makes calls of which a recording cannot say who sends what to whom. */
static void uncounted(void)
{
	const int to = (rank + 1) % ranks;
	int other = rank, one = 1;
	MPI_Request requests[6];
	MPI_Win window;
	int *memory;

	MPI_Scan(&rank, received, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Exscan(&rank, received, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Iscan(&rank, received, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
	MPI_Iexscan(&rank, received + 1, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[1]);
	MPI_Win_allocate(COUNT * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
	MPI_Win_lock_all(0, window);
	MPI_Put(&one, 1, MPI_INT, to, 0, 1, MPI_INT, window);
	MPI_Get(received + 2, 1, MPI_INT, to, 1, 1, MPI_INT, window);
	MPI_Accumulate(&one, 1, MPI_INT, to, 2, 1, MPI_INT, MPI_SUM, window);
	MPI_Get_accumulate(&one, 1, MPI_INT, received + 3, 1, MPI_INT, to, 3, 1, MPI_INT, MPI_SUM, window);
	MPI_Fetch_and_op(&one, received + 4, MPI_INT, to, 4, MPI_SUM, window);
	MPI_Compare_and_swap(&one, &other, received + 5, MPI_INT, to, 5, window);
	MPI_Rput(&one, 1, MPI_INT, to, 6, 1, MPI_INT, window, &requests[2]);
	MPI_Rget(received + 6, 1, MPI_INT, to, 7, 1, MPI_INT, window, &requests[3]);
	MPI_Raccumulate(&one, 1, MPI_INT, to, 8, 1, MPI_INT, MPI_SUM, window, &requests[4]);
	MPI_Rget_accumulate(&one, 1, MPI_INT, received + 7, 1, MPI_INT, to, 9, 1, MPI_INT, MPI_SUM, window,
			    &requests[5]);
	MPI_Waitall(6, requests, MPI_STATUSES_IGNORE);
	MPI_Win_unlock_all(window);
	MPI_Win_free(&window);
}

static long (*counted)(void);
static long fails;
static int says;

static void say_counted(void)
{
	if (says)
		printf("%s\n", counted() >= fails ? "forgot" : "forgot nothing");
}

static void forgetful(long n, int forgetting, int is_later)
{
	void (*at)(long) = (__typeof__(at))dlsym(RTLD_DEFAULT, "spy_at");

	counted = (__typeof__(counted))dlsym(RTLD_DEFAULT, "spy_counted");
	if (!at || !counted)
		MPI_Abort(MPI_COMM_WORLD, 3);
	fails = n;
	says = rank == forgetting;
	atexit(say_counted);
	if (is_later)
		alltoall(MPI_COMM_WORLD, 0, ranks);
	at(says ? n : 0);
	alltoall(MPI_COMM_WORLD, 1, ranks);
}

static void with_spawned(MPI_Comm children, int is_child)
{
	MPI_Comm all;
	int total;

	MPI_Intercomm_merge(children, is_child, &all);
	MPI_Comm_size(all, &total);
	MPI_Comm_rank(all, &rank);
	for (int turn = 0; turn < 5; turn++)
		alltoall(all, turn, total);
	MPI_Comm_free(&all);
	MPI_Comm_disconnect(&children);
}

static void spawn(char *program)
{
	char *arguments[] = { "spawned", NULL };
	MPI_Comm children;

	alltoall(MPI_COMM_WORLD, 0, ranks);
	MPI_Comm_spawn(program, arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
		       MPI_ERRCODES_IGNORE);
	with_spawned(children, 0);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	const char *value = argc > 2 ? argv[2] : "";
	MPI_Comm parents;
	int finalized;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (!strcmp(mode, "until"))
		until(value);
	else if (!strcmp(mode, "fork"))
		fork_inside(value);
	else if (!strcmp(mode, "fail"))
		fail(atoi(value));
	else if (!strcmp(mode, "intercommunicator"))
		between_groups();
	else if (!strcmp(mode, "uncounted"))
		uncounted();
	else if (!strcmp(mode, "forgetful"))
		forgetful(atol(value), argc > 3 ? atoi(argv[3]) : 0, argc > 4);
	else if (!strcmp(mode, "spawn"))
		spawn(argv[0]);
	else if (!strcmp(mode, "spawned") && MPI_Comm_get_parent(&parents) == MPI_SUCCESS)
		with_spawned(parents, 1);
	else
		MPI_Abort(MPI_COMM_WORLD, 2);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (rank == 0)
		printf("all data right\n");
	MPI_Finalize();
	MPI_Finalized(&finalized);
	return !finalized;
}
