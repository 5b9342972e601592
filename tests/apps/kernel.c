// SPDX-License-Identifier: Apache-2.0
#include "kernel.h"

#include <stdio.h>
#include <stdlib.h>

struct team team_of(MPI_Comm comm)
{
	struct team team = { .comm = comm };

	MPI_Comm_rank(comm, &team.rank);
	MPI_Comm_size(comm, &team.ranks);
	return team;
}

void *allocate(size_t count, size_t size)
{
	void *memory = calloc(count ? count : 1, size);

	if (!memory) {
		fprintf(stderr, "npb_kernel: out of memory; choose a smaller --size\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	return memory;
}

/* splitmix64's mixing of a counter. */
double random_of(uint64_t index)
{
	uint64_t mixed = index * 0x9e3779b97f4a7c15u;

	mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
	mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
	mixed ^= mixed >> 31;
	return (double)(mixed >> 11) * 0x1p-53;
}

double weighted(uint64_t index, double value)
{
	return (1 + (double)(index * 2654435761u % 4096) / 4096) * value;
}

int part_begin(int count, int parts, int part)
{
	return (int)((long long)count * part / parts);
}

int add_up(int count, const int *counts, int *begins)
{
	int sum = 0;

	for (int i = 0; i < count; i++) {
		begins[i] = sum;
		sum += counts[i];
	}
	return sum;
}
