// SPDX-License-Identifier: Apache-2.0
// The half of an MPI library that has the functions PMPI_X; mpi_part.c has the others.
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int ompi_mpi_comm_world;	/* it is taken for Open MPI */
EXPORT int PMPI_Get_library_version(char *version, int *length);
EXPORT int PMPI_Abi_get_version(int *major, int *minor);
EXPORT int PMPI_Bcast(void *buffer, int count, void *type, int root, void *comm);

int PMPI_Get_library_version(char *version, int *length)
{
	strcpy(version, "MPI of two parts 1.0");
	*length = (int)strlen(version);
	return 0;
}

/* As libraries of MPI 5: -1 where the ABI is the library's own. */
int PMPI_Abi_get_version(int *major, int *minor)
{
	*major = getenv("WITH_STANDARD_ABI") ? 1 : -1;
	*minor = *major < 0 ? -1 : 0;
	return 0;
}

int PMPI_Bcast(void *buffer, int count, void *type, int root, void *comm)
{
	(void)buffer;
	(void)count;
	(void)type;
	(void)root;
	(void)comm;
	return 1;
}
