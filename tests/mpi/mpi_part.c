// SPDX-License-Identifier: Apache-2.0
// The half of an MPI library that has the functions MPI_X (pmpi_part.c has the others); and, built as
// mpi_tool, a tool that wraps them.  Each adds its part to what MPI_Bcast returns: 10 and 100.
#define EXPORT __attribute__((visibility("default")))
#define mpi_part 10
#define mpi_tool 100

EXPORT int MPI_Get_library_version(char *version, int *length);
EXPORT int MPI_Bcast(void *buffer, int count, void *type, int root, void *comm);
int PMPI_Get_library_version(char *version, int *length);
int PMPI_Bcast(void *buffer, int count, void *type, int root, void *comm);

int MPI_Get_library_version(char *version, int *length)
{
	return PMPI_Get_library_version(version, length);
}

int MPI_Bcast(void *buffer, int count, void *type, int root, void *comm)
{
	return PART + PMPI_Bcast(buffer, count, type, root, comm);
}
