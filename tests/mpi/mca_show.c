// SPDX-License-Identifier: Apache-2.0
// Prints, on rank 0, what value each named MCA parameter has in the running
// Open MPI ("NAME=VALUE", asked through MPI_T), and after that every OMPI_MCA_
// variable in the environment that names one of them ("environment NAME=VALUE").
//   mca_show NAME...
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST_BYTES 4096

static void print_value(const char *name, int index)
{
	int type_size = 0, count = 0, verbosity, bind, scope, length = 0;
	char text[MOST_BYTES] = "";
	MPI_T_cvar_handle handle;
	MPI_Datatype datatype;
	MPI_T_enum names;

	MPI_T_cvar_get_info(index, NULL, &length, &verbosity, &datatype, &names, NULL, NULL,
			    &bind, &scope);
	MPI_T_cvar_handle_alloc(index, NULL, &handle, &count);
	PMPI_Type_size(datatype, &type_size);
	if ((size_t)type_size * count >= sizeof(text))
		MPI_Abort(MPI_COMM_WORLD, 2);
	MPI_T_cvar_read(handle, text);
	if (datatype == MPI_CHAR)
		printf("%s=%s\n", name, text);
	else
		printf("%s=%d\n", name, *(int *)(void *)text);
	MPI_T_cvar_handle_free(&handle);
}

int main(int argc, char **argv)
{
	int rank, provided, index;
	char variable[256];

	MPI_Init(&argc, &argv);
	MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 1; i < argc && rank == 0; i++) {
		if (MPI_T_cvar_get_index(argv[i], &index) != MPI_SUCCESS) {
			fprintf(stderr, "mca_show: no parameter %s\n", argv[i]);
			MPI_Abort(MPI_COMM_WORLD, 1);
		}
		print_value(argv[i], index);
		snprintf(variable, sizeof(variable), "OMPI_MCA_%s", argv[i]);
		if (getenv(variable))
			printf("environment %s=%s\n", argv[i], getenv(variable));
	}
	MPI_T_finalize();
	MPI_Finalize();
	return 0;
}
