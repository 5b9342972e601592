// SPDX-License-Identifier: Apache-2.0
// Uses HEADWAY_MAXRATE and HEADWAY_MATB as a program would, the paper's own
// fragment among them, and prints on rank 0 what it finds.
#include <headway_mpi.h>
#include <stdio.h>

static int rank;

static void show(const char *what, MPI_Comm comm)
{
	int *value = NULL, known = 0;

	MPI_Comm_get_attr(comm, HEADWAY_MATB, &value, &known);
	if (rank == 0)
		printf("%s %d\n", what, known ? *value : -1);
}

/* Takano's psp_set_limit, with the communicator by value and a return. */
static int psp_set_limit(MPI_Comm comm, int n)
{
	int *rate, *matb, flag;

	MPI_Attr_get(comm, YAMPI_PSP_MAXRATE, (void *)&rate, &flag);
	if (flag) {	/* if the attribute is given */
		MPI_Attr_get(comm, YAMPI_PSP_MATB, (void *)&matb, &flag);
		*matb = *rate / n;
		MPI_Attr_put(comm, YAMPI_PSP_MATB, (void *)matb);
	}
	return flag;
}

int main(int argc, char **argv)
{
	int own = 777, ordinary, *value, known = 0;
	MPI_Comm copy, split;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);

	MPI_Comm_get_attr(MPI_COMM_WORLD, HEADWAY_MAXRATE, &value, &known);
	if (rank == 0)
		printf("maxrate %d\n", known ? *value : -1);
	show("first", MPI_COMM_WORLD);
	known = psp_set_limit(MPI_COMM_WORLD, 4);
	if (rank == 0)
		printf("paper %d\n", known);
	show("quarter", MPI_COMM_WORLD);

	MPI_Comm_dup(MPI_COMM_WORLD, &copy);
	show("dup", copy);
	MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &split);
	show("split", split);
	MPI_Comm_set_attr(copy, HEADWAY_MATB, &own);
	show("put", copy);
	show("world", MPI_COMM_WORLD);
	MPI_Comm_free(&copy);	/* the rate goes with it */
	MPI_Comm_set_attr(split, HEADWAY_MATB, &own);
	MPI_Comm_delete_attr(split, HEADWAY_MATB);
	MPI_Comm_free(&split);

	/* other attributes are left alone */
	MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &ordinary, NULL);
	MPI_Comm_set_attr(MPI_COMM_WORLD, ordinary, &own);
	MPI_Comm_get_attr(MPI_COMM_WORLD, ordinary, &value, &known);
	if (rank == 0)
		printf("ordinary %d\n", known && value == &own);
	MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &known);
	if (rank == 0)
		printf("tag_ub %d\n", known && *value >= 32767);
	MPI_Finalize();
	return 0;
}
