// SPDX-License-Identifier: Apache-2.0
// Reduces numbers whose sums depend on the order, and prints the results to the
// last bit: which reductions may be carried out in another order, and which not.
//
//   reductions_check
//
// A line for each: "OPERATION TYPE DIGEST".
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define COUNT 20000	/* elements; two words each */

static int rank, ranks;
static double sent[2 * COUNT], received[2 * COUNT];

static void fill(MPI_Datatype type)
{
	for (int at = 0; at < 2 * COUNT; at++) {
		double value = 1.0 / (1 + at + 7 * rank) * (at % 3 ? 1 : -1e6);

		if (type == MPI_FLOAT)
			((float *)sent)[at] = (float)value;
		else if (type == MPI_DOUBLE || type == MPI_C_DOUBLE_COMPLEX)
			sent[at] = value;
		else
			((int32_t *)sent)[at] = (at * 40503 + rank * 65537) >> (at % 5);
	}
	memset(received, 0, sizeof(received));
}

static void tell(const char *operation, const char *type)
{
	const unsigned char *bytes = (const unsigned char *)received;
	uint64_t hash = 0xcbf29ce484222325ull, all[64] = { 0 };

	for (size_t at = 0; at < sizeof(received); at++)
		hash = (hash ^ bytes[at]) * 0x100000001b3ull;
	PMPI_Gather(&hash, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
	for (int at = 1; at < ranks; at++)
		all[0] = all[0] * 31 + all[at];
	if (rank == 0)
		printf("%s %s %016llx\n", operation, type, (unsigned long long)all[0]);
}

static void reduce_all_ways(MPI_Datatype type, MPI_Op op, const char *name)
{
	fill(type);
	MPI_Allreduce(sent, received, COUNT, type, op, MPI_COMM_WORLD);
	tell("allreduce", name);
	fill(type);
	MPI_Reduce(sent, received, COUNT, type, op, 1, MPI_COMM_WORLD);
	tell("reduce", name);
	fill(type);
	MPI_Reduce_scatter_block(sent, received, COUNT / ranks, type, op, MPI_COMM_WORLD);
	tell("reduce_scatter_block", name);
}

/* Associative, but not commutative: the right one of each pair. */
static void take_right(void *in, void *inout, int *count, MPI_Datatype *type)
{
	(void)in;
	(void)inout;
	(void)count;
	(void)type;
}

int main(int argc, char **argv)
{
	MPI_Datatype pair;
	MPI_Op right;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	reduce_all_ways(MPI_INT, MPI_SUM, "int");
	reduce_all_ways(MPI_FLOAT, MPI_SUM, "float");
	reduce_all_ways(MPI_DOUBLE, MPI_SUM, "double");
	reduce_all_ways(MPI_C_DOUBLE_COMPLEX, MPI_PROD, "complex");
	reduce_all_ways(MPI_2INT, MPI_MINLOC, "2int");

	MPI_Op_create(take_right, 0, &right);
	reduce_all_ways(MPI_INT, right, "own");
	MPI_Type_contiguous(2, MPI_INT, &pair);
	MPI_Type_commit(&pair);
	reduce_all_ways(pair, right, "pair");
	MPI_Type_free(&pair);
	MPI_Op_free(&right);
	MPI_Finalize();
	return 0;
}
