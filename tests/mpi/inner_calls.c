// SPDX-License-Identifier: Apache-2.0
// A call of MPI inside another: the function of a reduction sends a message to its own
// rank, as parts of an MPI library may be made of others that they find by name.
// After that each rank sends itself one as a program does.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void send_to_self(int bytes)
{
	char *data = calloc(2, (size_t)bytes);

	if (!data)
		MPI_Abort(MPI_COMM_WORLD, 2);
	MPI_Sendrecv(data, bytes, MPI_CHAR, 0, 1, data + bytes, bytes, MPI_CHAR, 0, 1, MPI_COMM_SELF,
		     MPI_STATUS_IGNORE);
	free(data);
}

static void sum(void *in, void *inout, int *count, MPI_Datatype *type)
{
	(void)type;
	send_to_self(1000);
	for (int at = 0; at < *count; at++)
		((int *)inout)[at] += ((int *)in)[at];
}

int main(int argc, char **argv)
{
	int value = 1, total = 0, ranks;
	MPI_Op operation;

	MPI_Init(&argc, &argv);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	MPI_Op_create(sum, 1, &operation);
	MPI_Allreduce(&value, &total, 1, MPI_INT, operation, MPI_COMM_WORLD);
	send_to_self(7);
	MPI_Op_free(&operation);
	MPI_Finalize();
	if (total == ranks)
		puts("all data right");
	return total == ranks ? 0 : 1;
}
