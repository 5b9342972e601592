// SPDX-License-Identifier: Apache-2.0
// Runs MPI_Alltoall and MPI_Alltoallv in all the ways a program may, and checks
// every byte that arrives.  Needs at least 2 ranks.
//
//   alltoall_check [--exit-status N] [--abort N] [--threads]
//
// Before each collective rank 0 prints "call OPERATION BYTES RANKS": the most
// bytes it sends to any one other rank, as the program counts them, and the
// size of the communicator (negative: an intercommunicator).
//   --exit-status N  after MPI_Finalize every rank exits with N
//   --abort N        the last rank calls MPI_Abort(N) in the middle
//   --threads        starts with MPI_Init_thread and runs the checks in two
//                    threads at once, each with its own communicator
#include <getopt.h>
#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct check {
	MPI_Comm comm;
	int rank;
	int ranks;
	bool tells;	/* prints its calls: one thread on rank 0 */
};

static int world_rank;

static void wrong(const char *what, int from, long at)
{
	fprintf(stderr, "alltoall_check: rank %d: %s: wrong element %ld from rank %d\n",
		world_rank, what, at, from);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

static void *room(size_t bytes)
{
	void *memory = calloc(1, bytes ? bytes : 1);

	if (!memory)
		MPI_Abort(MPI_COMM_WORLD, 2);
	return memory;
}

static void tell(const struct check *check, const char *operation, long bytes)
{
	if (!check->tells)
		return;
	printf("call %s %ld %d\n", operation, bytes, check->ranks);
	fflush(stdout);
}

/* Element `at` of the message between two ranks. */
static int value_of(int from, int to, int at)
{
	return from * 1000003 + to * 1009 + at;
}

static void fill(int *values, int from, int to, int count)
{
	for (int at = 0; at < count; at++)
		values[at] = value_of(from, to, at);
}

static void expect(const char *what, const int *values, int from, int to, int count)
{
	for (int at = 0; at < count; at++)
		if (values[at] != value_of(from, to, at))
			wrong(what, from, at);
}

static void check_plain(const struct check *check, int count)
{
	int *send = room(sizeof(int) * count * check->ranks);
	int *receive = room(sizeof(int) * count * check->ranks);

	for (int rank = 0; rank < check->ranks; rank++)
		fill(send + (size_t)rank * count, check->rank, rank, count);
	tell(check, "alltoall", (long)count * sizeof(int));
	MPI_Alltoall(send, count, MPI_INT, receive, count, MPI_INT, check->comm);
	for (int rank = 0; rank < check->ranks; rank++)
		expect("plain", receive + (size_t)rank * count, rank, check->rank, count);
	free(send);
	free(receive);
}

/* The send arguments mean nothing in place: they hold what must not be read. */
static void check_in_place(const struct check *check, int count)
{
	int *both = room(sizeof(int) * count * check->ranks);
	MPI_Datatype nonsense;

	memset(&nonsense, 0x11, sizeof(nonsense));
#ifdef HEADWAY_STANDARD_ABI
	/* MPICH 5.0.2's library with that ABI reads it all the same, and crashes. */
	nonsense = MPI_DATATYPE_NULL;
#endif
	for (int rank = 0; rank < check->ranks; rank++)
		fill(both + (size_t)rank * count, check->rank, rank, count);
	tell(check, "alltoall", (long)count * sizeof(int));
	MPI_Alltoall(MPI_IN_PLACE, -7, nonsense, both, count, MPI_INT, check->comm);
	for (int rank = 0; rank < check->ranks; rank++)
		expect("in place", both + (size_t)rank * count, rank, check->rank, count);
	free(both);
}

/* Sends every second int of a strided type, receives them packed. */
static void check_derived(const struct check *check, int count)
{
	size_t extent = (size_t)count * 2;
	int *send = room(sizeof(int) * extent * check->ranks);
	int *receive = room(sizeof(int) * count * check->ranks);
	MPI_Datatype strided, resized;

	MPI_Type_vector(count, 1, 2, MPI_INT, &strided);
	MPI_Type_create_resized(strided, 0, (MPI_Aint)(extent * sizeof(int)), &resized);
	MPI_Type_commit(&resized);
	for (int rank = 0; rank < check->ranks; rank++)
		for (int at = 0; at < count; at++)
			send[rank * extent + 2 * at] = value_of(check->rank, rank, at);
	tell(check, "alltoall", (long)count * sizeof(int));
	MPI_Alltoall(send, 1, resized, receive, count, MPI_INT, check->comm);
	for (int rank = 0; rank < check->ranks; rank++)
		expect("derived", receive + (size_t)rank * count, rank, check->rank, count);
	MPI_Type_free(&strided);
	MPI_Type_free(&resized);
	free(send);
	free(receive);
}

/* How much the uneven exchange sends; some pairs exchange nothing. */
static int uneven_count(int from, int to, int unit)
{
	return (from + to) % 3 * unit;
}

/* Counts, and places with a gap of one element before each. */
static int lay_out(int *counts, int *places, const struct check *check, int unit, bool sending)
{
	int end = 0;

	for (int rank = 0; rank < check->ranks; rank++) {
		counts[rank] = sending ? uneven_count(check->rank, rank, unit)
				       : uneven_count(rank, check->rank, unit);
		places[rank] = end + 1;
		end = places[rank] + counts[rank];
	}
	return end;
}

static long largest_to_others(const int *counts, const struct check *check)
{
	int largest = 0;

	for (int rank = 0; rank < check->ranks; rank++)
		if (rank != check->rank && counts[rank] > largest)
			largest = counts[rank];
	return (long)largest * sizeof(int);
}

static void check_uneven(const struct check *check, int unit, bool in_place)
{
	int *counts = room(sizeof(int) * check->ranks);
	int *places = room(sizeof(int) * check->ranks);
	int total = lay_out(counts, places, check, unit, true);
	int *send = room(sizeof(int) * total);
	int *receive = room(sizeof(int) * total);

	/* the layout is symmetric, so one serves both directions */
	for (int rank = 0; rank < check->ranks; rank++)
		fill((in_place ? receive : send) + places[rank], check->rank, rank, counts[rank]);
	tell(check, "alltoallv", largest_to_others(counts, check));
	if (in_place)
		MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, receive, counts,
			      places, MPI_INT, check->comm);
	else
		MPI_Alltoallv(send, counts, places, MPI_INT, receive, counts, places, MPI_INT,
			      check->comm);
	for (int rank = 0; rank < check->ranks; rank++)
		expect(in_place ? "uneven in place" : "uneven", receive + places[rank], rank,
		       check->rank, counts[rank]);
	free(counts);
	free(places);
	free(send);
	free(receive);
}

static void check_all_kinds(const struct check *check)
{
	check_plain(check, 0);
	check_plain(check, 1);
	check_plain(check, 511);	/* 2044 bytes */
	check_plain(check, 512);	/* 2048 bytes */
	check_plain(check, 40000);
	check_in_place(check, 2000);
	check_derived(check, 3000);
	check_uneven(check, 0, false);
	check_uneven(check, 10, false);
	check_uneven(check, 5000, false);
	check_uneven(check, 6000, true);
}

static struct check checks_of(MPI_Comm comm, bool tells)
{
	struct check check = { .comm = comm, .tells = tells && world_rank == 0 };

	MPI_Comm_rank(comm, &check.rank);
	MPI_Comm_size(comm, &check.ranks);
	return check;
}

/* Halves of the job, one rank alone, and many short-lived copies. */
static void check_communicators(void)
{
	struct check check;
	MPI_Comm half, copy;
	int ranks;

	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, world_rank, &half);
	check = checks_of(half, true);
	check_plain(&check, 1000);
	MPI_Comm_free(&half);

	check = checks_of(MPI_COMM_SELF, true);
	check_plain(&check, 1000);

	for (int i = 0; i < 20; i++) {
		MPI_Comm_dup(MPI_COMM_WORLD, &copy);
		check = checks_of(copy, true);
		check_plain(&check, 600 + i);
		MPI_Comm_free(&copy);
	}
}

static void check_intercommunicator(void)
{
	int *send, *receive, remote, ranks, own, first_of_other;
	const int count = 1000;
	MPI_Comm half, inter;
	bool upper;

	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	upper = world_rank >= ranks / 2;
	MPI_Comm_split(MPI_COMM_WORLD, upper, world_rank, &half);
	MPI_Comm_rank(half, &own);
	first_of_other = upper ? 0 : ranks / 2;
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, first_of_other, 1, &inter);
	MPI_Comm_remote_size(inter, &remote);
	send = room(sizeof(int) * count * remote);
	receive = room(sizeof(int) * count * remote);
	for (int rank = 0; rank < remote; rank++)
		fill(send + rank * count, world_rank, first_of_other + rank, count);
	if (world_rank == 0)
		printf("call alltoall %zu %d\n", count * sizeof(int), -remote);
	MPI_Alltoall(send, count, MPI_INT, receive, count, MPI_INT, inter);
	for (int rank = 0; rank < remote; rank++)
		expect("intercommunicator", receive + rank * count, first_of_other + rank,
		       world_rank, count);
	free(send);
	free(receive);
	MPI_Comm_free(&inter);
	MPI_Comm_free(&half);
}

/* A program that handles errors itself must see the same ones. */
static void check_errors(void)
{
	int data[4] = { 0 }, class;

	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Error_class(MPI_Alltoall(data, -1, MPI_INT, data + 2, -1, MPI_INT, MPI_COMM_WORLD),
			&class);
	if (class != MPI_ERR_COUNT)
		wrong("negative count", world_rank, class);
	MPI_Error_class(MPI_Alltoall(data, 1, MPI_DATATYPE_NULL, data + 2, 1, MPI_DATATYPE_NULL,
				     MPI_COMM_WORLD), &class);
	if (class != MPI_ERR_TYPE)
		wrong("null type", world_rank, class);
	MPI_Error_class(MPI_Alltoall(data, 1, MPI_INT, data + 2, 1, MPI_INT, MPI_COMM_NULL),
			&class);
	if (class != MPI_ERR_COMM)
		wrong("null communicator", world_rank, class);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void *check_in_thread(void *comm)
{
	struct check check = checks_of(*(MPI_Comm *)comm, false);

	for (int i = 0; i < 10; i++)
		check_all_kinds(&check);
	return NULL;
}

static void check_threads(void)
{
	enum { THREADS = 2 };
	MPI_Comm comms[THREADS];
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, check_in_thread, &comms[i]))
			MPI_Abort(MPI_COMM_WORLD, 2);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < THREADS; i++)
		MPI_Comm_free(&comms[i]);
}

struct options {
	int exit_status;
	int abort_status;
	bool threads;
};

static struct options parse_options(int argc, char **argv)
{
	static const struct option known[] = {
		{ "exit-status", required_argument, NULL, 'e' },
		{ "abort", required_argument, NULL, 'a' },
		{ "threads", no_argument, NULL, 't' },
		{ 0 }
	};
	struct options options = { 0 };
	int option;

	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		switch (option) {
		case 'e':
			options.exit_status = atoi(optarg);
			break;
		case 'a':
			options.abort_status = atoi(optarg);
			break;
		case 't':
			options.threads = true;
			break;
		default:
			exit(2);
		}
	}
	return options;
}

int main(int argc, char **argv)
{
	struct options options = parse_options(argc, argv);
	struct check world;
	int provided;

	if (options.threads) {
		MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
		if (provided != MPI_THREAD_MULTIPLE)
			MPI_Abort(MPI_COMM_WORLD, 2);
	} else {
		MPI_Init(&argc, &argv);
	}
	MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
	world = checks_of(MPI_COMM_WORLD, true);
	if (options.threads) {
		check_threads();
	} else {
		check_all_kinds(&world);
		if (options.abort_status && world_rank == world.ranks - 1)
			MPI_Abort(MPI_COMM_WORLD, options.abort_status);
		check_communicators();
		check_intercommunicator();
		check_errors();
	}
	MPI_Barrier(MPI_COMM_WORLD);
	if (world_rank == 0)
		printf("all data right\n");
	MPI_Finalize();
	return options.exit_status;
}
