// SPDX-License-Identifier: Apache-2.0
// Reductions of what is in the memory of a device at every second rank, and checks
// their results.  Needs a CUDA driver, such as fake_cuda.c.
//
//   device_check
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT 40000

static int (*allocate)(unsigned long long *, size_t);
static int (*to_device)(unsigned long long, const void *, size_t);
static int (*from_device)(void *, unsigned long long, size_t);
static int values[COUNT], rank, ranks;

static void *function(const char *name)
{
	void *symbol = dlsym(RTLD_DEFAULT, name);

	if (!symbol) {
		printf("no %s\n", name);
		exit(2);
	}
	return symbol;
}

/* Of `count` ints; every second rank's is a device's. */
static int *room(int count)
{
	unsigned long long address;

	if (rank % 2 == 0)
		return malloc(sizeof(int) * (size_t)count);
	if (allocate(&address, sizeof(int) * (size_t)count) != 0)
		exit(2);
	return (int *)(size_t)address;
}

static void put(int *buffer)
{
	for (int at = 0; at < COUNT; at++)
		values[at] = rank * 1009 + at;
	if (rank % 2 == 0)
		memcpy(buffer, values, sizeof(values));
	else
		to_device((size_t)buffer, values, sizeof(values));
}

/* Of the sums of all ranks, from element `first` on. */
static void expect(const char *operation, const int *buffer, int first, int count)
{
	if (rank % 2 == 0)
		memcpy(values, buffer, sizeof(int) * (size_t)count);
	else
		from_device(values, (size_t)buffer, sizeof(int) * (size_t)count);
	for (int at = 0; at < count; at++)
		if (values[at] != 1009 * ranks * (ranks - 1) / 2 + ranks * (first + at)) {
			printf("rank %d: wrong data of %s\n", rank, operation);
			MPI_Abort(MPI_COMM_WORLD, 1);
		}
}

int main(int argc, char **argv)
{
	int *given, *result, part;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	allocate = (__typeof__(allocate))function("cuMemAlloc_v2");
	to_device = (__typeof__(to_device))function("cuMemcpyHtoD_v2");
	from_device = (__typeof__(from_device))function("cuMemcpyDtoH_v2");
	given = room(COUNT);
	result = room(COUNT);
	part = COUNT / ranks;

	put(given);
	MPI_Allreduce(given, result, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	expect("allreduce", result, 0, COUNT);
	put(result);
	MPI_Allreduce(MPI_IN_PLACE, result, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	expect("allreduce in place", result, 0, COUNT);
	for (int root = 0; root < ranks; root++) {
		MPI_Reduce(given, result, COUNT, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
		if (rank == root)
			expect("reduce", result, 0, COUNT);
	}
	MPI_Reduce_scatter_block(given, result, part, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	expect("reduce_scatter_block", result, rank * part, part);
	put(result);
	MPI_Reduce_scatter_block(MPI_IN_PLACE, result, part, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	expect("reduce_scatter_block in place", result, rank * part, part);
	if (rank == 0)
		puts("all data right");
	MPI_Finalize();
	return 0;
}
