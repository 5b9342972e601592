// SPDX-License-Identifier: Apache-2.0
// An MPI library that does nothing, for mpi_cost.cpp: a job of two ranks on two hosts, of which
// this process is the first.  The other rank says whatever this one says.  Handles are MPICH's,
// because these are numbers.
#include <limits.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { most_communicators = 2048, most_keys = 16, first_duplicate = 0x44000100 };

static void *attributes[most_communicators][most_keys];
static int is_set[most_communicators][most_keys];
static int communicators = 2, keys;

// 0 is the world, 1 this process alone.
static int place(MPI_Comm comm)
{
	if (comm == MPI_COMM_WORLD || comm == MPI_COMM_SELF)
		return comm == MPI_COMM_SELF;
	return comm - first_duplicate;
}

// Both names of a function are the same one.
#define MPI(name) __typeof__(P##name) name __attribute__((alias("P" #name)));

int PMPI_Get_library_version(char *version, int *length)
{
	strcpy(version, "MPICH stub");
	*length = (int)strlen(version);
	return MPI_SUCCESS;
}

int PMPI_Init(int *argc, char ***argv)
{
	return MPI_SUCCESS;
}
MPI(MPI_Init)

int PMPI_Initialized(int *flag)
{
	*flag = 1;
	return MPI_SUCCESS;
}

int PMPI_Comm_size(MPI_Comm comm, int *size)
{
	*size = comm == MPI_COMM_SELF ? 1 : 2;
	return MPI_SUCCESS;
}

int PMPI_Comm_rank(MPI_Comm comm, int *rank)
{
	*rank = 0;
	return MPI_SUCCESS;
}

int PMPI_Comm_dup(MPI_Comm comm, MPI_Comm *made)
{
	if (communicators == most_communicators)
		abort();
	*made = first_duplicate + communicators++;
	return MPI_SUCCESS;
}
MPI(MPI_Comm_dup)

int PMPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *made)
{
	return PMPI_Comm_dup(comm, made);
}

int PMPI_Comm_test_inter(MPI_Comm comm, int *flag)
{
	*flag = 0;
	return MPI_SUCCESS;
}

int PMPI_Comm_get_parent(MPI_Comm *parent)
{
	*parent = MPI_COMM_NULL;
	return MPI_SUCCESS;
}

int PMPI_Topo_test(MPI_Comm comm, int *status)
{
	*status = MPI_UNDEFINED;
	return MPI_SUCCESS;
}

int PMPI_Comm_get_name(MPI_Comm comm, char *name, int *length)
{
	*name = 0;
	*length = 0;
	return MPI_SUCCESS;
}

// A group's handle is its number of ranks.
int PMPI_Comm_group(MPI_Comm comm, MPI_Group *group)
{
	return PMPI_Comm_size(comm, group);
}

int PMPI_Group_incl(MPI_Group group, int count, const int ranks[], MPI_Group *made)
{
	*made = count;
	return MPI_SUCCESS;
}

int PMPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *made)
{
	return PMPI_Comm_dup(comm, made);
}

int PMPI_Group_size(MPI_Group group, int *size)
{
	*size = group;
	return MPI_SUCCESS;
}

int PMPI_Group_translate_ranks(MPI_Group from, int count, const int ranks[], MPI_Group to,
			       int translated[])
{
	memcpy(translated, ranks, (size_t)count * sizeof(*ranks));
	return MPI_SUCCESS;
}

int PMPI_Group_free(MPI_Group *group)
{
	*group = MPI_GROUP_NULL;
	return MPI_SUCCESS;
}

int PMPI_Comm_create_keyval(MPI_Comm_copy_attr_function *copy, MPI_Comm_delete_attr_function *delete,
			    int *key, void *state)
{
	if (keys == most_keys)
		abort();
	*key = keys++;
	return MPI_SUCCESS;
}

int PMPI_Comm_set_attr(MPI_Comm comm, int key, void *value)
{
	attributes[place(comm)][key] = value;
	is_set[place(comm)][key] = 1;
	return MPI_SUCCESS;
}

int PMPI_Comm_get_attr(MPI_Comm comm, int key, void *value, int *flag)
{
	static int highest_tag = INT_MAX;

	if (key == MPI_TAG_UB) {
		*(int **)value = &highest_tag;
		*flag = 1;
		return MPI_SUCCESS;
	}
	if (key < 0 || key >= keys) {
		*flag = 0;
		return MPI_SUCCESS;
	}
	*(void **)value = attributes[place(comm)][key];
	*flag = is_set[place(comm)][key];
	return MPI_SUCCESS;
}

int PMPI_Comm_get_errhandler(MPI_Comm comm, MPI_Errhandler *handler)
{
	*handler = MPI_ERRORS_ARE_FATAL;
	return MPI_SUCCESS;
}

int PMPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler)
{
	return MPI_SUCCESS;
}

int PMPI_Errhandler_free(MPI_Errhandler *handler)
{
	*handler = MPI_ERRHANDLER_NULL;
	return MPI_SUCCESS;
}

// MPICH's handles of basic types have the size in their second byte.
static int bytes_of(MPI_Datatype type)
{
	return (type >> 8) & 0xff;
}

int PMPI_Type_size_x(MPI_Datatype type, MPI_Count *size)
{
	*size = bytes_of(type);
	return MPI_SUCCESS;
}

int PMPI_Type_get_extent(MPI_Datatype type, MPI_Aint *least, MPI_Aint *extent)
{
	*least = 0;
	*extent = bytes_of(type);
	return MPI_SUCCESS;
}

int PMPI_Type_get_true_extent(MPI_Datatype type, MPI_Aint *least, MPI_Aint *extent)
{
	return PMPI_Type_get_extent(type, least, extent);
}

int PMPI_Type_get_envelope(MPI_Datatype type, int *integers, int *addresses, int *types,
			   int *combiner)
{
	*integers = *addresses = *types = 0;
	*combiner = MPI_COMBINER_NAMED;
	return MPI_SUCCESS;
}

int PMPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
	return MPI_SUCCESS;
}
MPI(MPI_Bcast)

int PMPI_Allreduce(const void *own, void *all, int count, MPI_Datatype type, MPI_Op op,
		   MPI_Comm comm)
{
	if (own != MPI_IN_PLACE)
		memcpy(all, own, (size_t)count * (size_t)bytes_of(type));
	for (int i = 0; op == MPI_SUM && type == MPI_INT && i < count; i++)
		((int *)all)[i] *= 2;
	return MPI_SUCCESS;
}
MPI(MPI_Allreduce)

// The helper gathers names: the other host's are its own but for the first letter.
int PMPI_Allgather(const void *own, int count, MPI_Datatype type, void *all, int all_count,
		   MPI_Datatype all_type, MPI_Comm comm)
{
	size_t bytes = (size_t)count * (size_t)bytes_of(type);

	memcpy(all, own, bytes);
	memcpy((char *)all + bytes, own, bytes);
	if (type == MPI_CHAR && bytes > 0)
		((char *)all)[bytes]++;
	return MPI_SUCCESS;
}
MPI(MPI_Allgather)

int PMPI_Alltoall(const void *from, int count, MPI_Datatype type, void *to, int to_count,
		  MPI_Datatype to_type, MPI_Comm comm)
{
	return MPI_SUCCESS;
}
MPI(MPI_Alltoall)

// The other rank has nothing to say in an agreement.
int PMPI_Send(const void *buffer, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm)
{
	return MPI_SUCCESS;
}
MPI(MPI_Send)

int PMPI_Recv(void *buffer, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm,
	      MPI_Status *status)
{
	return MPI_SUCCESS;
}

int PMPI_Sendrecv(const void *buffer, int count, MPI_Datatype type, int to, int tag, void *others,
		  int its_count, MPI_Datatype its_type, int from, int its_tag, MPI_Comm comm, MPI_Status *status)
{
	return MPI_SUCCESS;
}

int PMPI_Iprobe(int rank, int tag, MPI_Comm comm, int *is_there, MPI_Status *status)
{
	*is_there = 0;
	return MPI_SUCCESS;
}

int PMPI_Isend(const void *buffer, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm,
	       MPI_Request *request)
{
	*request = MPI_REQUEST_NULL;
	return MPI_SUCCESS;
}
MPI(MPI_Isend)

int PMPI_Request_free(MPI_Request *request)
{
	return MPI_SUCCESS;
}
MPI(MPI_Request_free)

int PMPI_Alltoallv(const void *from, const int *counts, const int *displs, MPI_Datatype type, void *to,
		   const int *to_counts, const int *to_displs, MPI_Datatype to_type, MPI_Comm comm)
{
	return MPI_SUCCESS;
}
MPI(MPI_Alltoallv)

int PMPI_Ialltoall(const void *from, int count, MPI_Datatype type, void *to, int to_count, MPI_Datatype to_type,
		   MPI_Comm comm, MPI_Request *request)
{
	*request = MPI_REQUEST_NULL;
	return MPI_SUCCESS;
}
MPI(MPI_Ialltoall)

int PMPI_Gather(const void *own, int count, MPI_Datatype type, void *all, int all_count,
		MPI_Datatype all_type, int root, MPI_Comm comm)
{
	return MPI_SUCCESS;
}
MPI(MPI_Gather)

int PMPI_Wait(MPI_Request *request, MPI_Status *status)
{
	return MPI_SUCCESS;
}
MPI(MPI_Wait)
