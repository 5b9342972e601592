// SPDX-License-Identifier: Apache-2.0
// Exchanges of what is in the memory of a device at every second rank, by each operation
// that the helper may carry out; also in place, and of a type with gaps.  Checks the results.
// Needs a CUDA driver, such as fake_cuda.c.
//
//   device_check
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT 8000
#define RANKS_MAX 8
#define ROOM (2 * COUNT * RANKS_MAX)

static int (*allocate)(unsigned long long *, size_t);
static int (*to_device)(unsigned long long, const void *, size_t);
static int (*from_device)(void *, unsigned long long, size_t);
static int values[ROOM], rank, ranks;
static int *given, *result;

static void *function(const char *name)
{
	void *symbol = dlsym(RTLD_DEFAULT, name);

	if (!symbol) {
		printf("no %s\n", name);
		exit(2);
	}
	return symbol;
}

/* Every second rank's is a device's. */
static int *room(void)
{
	unsigned long long address;

	if (rank % 2 == 0)
		return malloc(sizeof(values));
	if (allocate(&address, sizeof(values)) != 0)
		exit(2);
	return (int *)(size_t)address;
}

static void put(int *buffer)
{
	if (rank % 2 == 0)
		memcpy(buffer, values, sizeof(values));
	else
		to_device((size_t)buffer, values, sizeof(values));
}

static void get(const int *buffer)
{
	if (rank % 2 == 0)
		memcpy(values, buffer, sizeof(values));
	else
		from_device(values, (size_t)buffer, sizeof(values));
}

static int value(int from, int to, int at)
{
	return from * 1000003 + to * 10007 + at;
}

/* This rank's block for each other one, or the one for rank `only`; every `gap`-th int. */
static void give(int *buffer, int only, int gap)
{
	for (int block = 0; block < ranks; block++)
		for (int at = 0; at < COUNT; at++)
			values[(block * COUNT + at) * gap] = value(rank, only < 0 ? block : only, at);
	put(buffer);
}

/* Block `block` is what rank `from` gave for rank `to`. */
static void expect(const char *operation, int block, int from, int to, int gap)
{
	for (int at = 0; at < COUNT; at++)
		if (values[(block * COUNT + at) * gap] != value(from, to, at)) {
			printf("rank %d: wrong data of %s\n", rank, operation);
			MPI_Abort(MPI_COMM_WORLD, 1);
		}
}

static void expect_of_all(const char *operation, int to)
{
	get(result);
	for (int from = 0; from < ranks; from++)
		expect(operation, from, from, to, 1);
}

static void all_to_all(void)
{
	int counts[RANKS_MAX], displs[RANKS_MAX];

	for (int peer = 0; peer < ranks; peer++) {
		counts[peer] = COUNT;
		displs[peer] = peer * COUNT;
	}
	give(given, -1, 1);
	MPI_Alltoall(given, COUNT, MPI_INT, result, COUNT, MPI_INT, MPI_COMM_WORLD);
	expect_of_all("alltoall", rank);
	give(result, -1, 1);
	MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, result, COUNT, MPI_INT, MPI_COMM_WORLD);
	expect_of_all("alltoall in place", rank);
	MPI_Alltoallv(given, counts, displs, MPI_INT, result, counts, displs, MPI_INT, MPI_COMM_WORLD);
	expect_of_all("alltoallv", rank);
}

static void gather_and_scatter(int root)
{
	give(given, root, 1);
	MPI_Gather(given, COUNT, MPI_INT, result, COUNT, MPI_INT, root, MPI_COMM_WORLD);
	if (rank == root)
		expect_of_all("gather", root);
	give(given, -1, 1);
	MPI_Scatter(given, COUNT, MPI_INT, result, COUNT, MPI_INT, root, MPI_COMM_WORLD);
	get(result);
	expect("scatter", 0, root, rank, 1);
}

static void go_round(int root)
{
	MPI_Datatype with_gaps;

	give(given, 0, 1);
	MPI_Allgather(given, COUNT, MPI_INT, result, COUNT, MPI_INT, MPI_COMM_WORLD);
	expect_of_all("allgather", 0);
	give(result, 0, 1);
	MPI_Allgather(MPI_IN_PLACE, 0, MPI_INT, result, COUNT, MPI_INT, MPI_COMM_WORLD);
	expect_of_all("allgather in place", 0);
	give(result, 0, 1);
	MPI_Bcast(result, COUNT, MPI_INT, root, MPI_COMM_WORLD);
	get(result);
	expect("bcast", 0, root, 0, 1);
	/* the root's data are contiguous, and those of the others have gaps; and the other way round */
	MPI_Type_vector(COUNT, 1, 2, MPI_INT, &with_gaps);
	MPI_Type_commit(&with_gaps);
	for (int turn = 0; turn < 2; turn++) {
		int gap = (rank == root) == (turn == 0) ? 1 : 2;

		give(result, 0, gap);
		MPI_Bcast(result, gap == 1 ? COUNT : 1, gap == 1 ? MPI_INT : with_gaps, root, MPI_COMM_WORLD);
		get(result);
		expect("bcast with gaps", 0, root, 0, gap);
	}
	MPI_Type_free(&with_gaps);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (ranks > RANKS_MAX)
		MPI_Abort(MPI_COMM_WORLD, 2);
	allocate = (__typeof__(allocate))function("cuMemAlloc_v2");
	to_device = (__typeof__(to_device))function("cuMemcpyHtoD_v2");
	from_device = (__typeof__(from_device))function("cuMemcpyDtoH_v2");
	given = room();
	result = room();
	all_to_all();
	for (int root = 0; root < ranks; root++) {
		gather_and_scatter(root);
		go_round(root);
	}
	if (rank == 0)
		puts("all data right");
	MPI_Finalize();
	return 0;
}
