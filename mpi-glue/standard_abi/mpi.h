/* SPDX-License-Identifier: MIT
 * What the helper uses of MPI, as the standard's ABI has it (MPI 5.0, chapter 20 and appendix A).  Every
 * library with that ABI has the same types and values, so one build of the helper serves all of them.
 * Debian 12 and 13 have no such header; tests/mpi/mpi5 compares this one with those of MPICH 5 and Open MPI 6.
 *
 * abi_functions.h has the functions of functions.def; generate_wrappers.py writes it.
 */
#ifndef HEADWAY_STANDARD_ABI_MPI_H
#define HEADWAY_STANDARD_ABI_MPI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef intptr_t MPI_Aint;
typedef int64_t MPI_Offset;
typedef MPI_Offset MPI_Count;

typedef struct {
	int MPI_SOURCE;
	int MPI_TAG;
	int MPI_ERROR;
	int MPI_internal[5];
} MPI_Status;

typedef struct MPI_ABI_Comm *MPI_Comm;
typedef struct MPI_ABI_Datatype *MPI_Datatype;
typedef struct MPI_ABI_Errhandler *MPI_Errhandler;
typedef struct MPI_ABI_Group *MPI_Group;
typedef struct MPI_ABI_Info *MPI_Info;
typedef struct MPI_ABI_Op *MPI_Op;
typedef struct MPI_ABI_Request *MPI_Request;
typedef struct MPI_ABI_Win *MPI_Win;

typedef void (MPI_Comm_errhandler_function)(MPI_Comm *comm, int *error_code, ...);
typedef int (MPI_Comm_copy_attr_function)(MPI_Comm comm, int keyval, void *extra_state, void *in, void *out,
					  int *flag);
typedef int (MPI_Comm_delete_attr_function)(MPI_Comm comm, int keyval, void *attribute_val,
					    void *extra_state);

#define MPI_SUM				((MPI_Op)0x21)
#define MPI_MIN				((MPI_Op)0x22)
#define MPI_MAX				((MPI_Op)0x23)
#define MPI_BAND			((MPI_Op)0x28)

#define MPI_COMM_NULL			((MPI_Comm)0x100)
#define MPI_COMM_WORLD			((MPI_Comm)0x101)
#define MPI_COMM_SELF			((MPI_Comm)0x102)
#define MPI_GROUP_NULL			((MPI_Group)0x108)
#define MPI_INFO_NULL			((MPI_Info)0x130)
#define MPI_ERRHANDLER_NULL		((MPI_Errhandler)0x140)
#define MPI_ERRORS_ARE_FATAL		((MPI_Errhandler)0x141)
#define MPI_ERRORS_RETURN		((MPI_Errhandler)0x143)
#define MPI_REQUEST_NULL		((MPI_Request)0x180)

#define MPI_DATATYPE_NULL		((MPI_Datatype)0x200)
#define MPI_INT				((MPI_Datatype)0x209)
#define MPI_CHAR			((MPI_Datatype)0x243)
#define MPI_BYTE			((MPI_Datatype)0x247)
#define MPI_INT64_T			((MPI_Datatype)0x258)
#define MPI_UINT64_T			((MPI_Datatype)0x259)

#define MPI_BOTTOM			((void *)0)
#define MPI_IN_PLACE			((void *)1)
#define MPI_STATUS_IGNORE		((MPI_Status *)0)
#define MPI_COMM_NULL_COPY_FN		((MPI_Comm_copy_attr_function *)0)

#define MPI_MAX_OBJECT_NAME		128
#define MPI_MAX_PORT_NAME		1024
#define MPI_MAX_LIBRARY_VERSION_STRING	8192

enum {
	MPI_SUCCESS = 0,
	MPI_ERR_BUFFER = 1,
	MPI_ERR_COUNT = 2,
	MPI_ERR_TRUNCATE = 15,
	MPI_ERR_OTHER = 16,
	MPI_ERR_NO_MEM = 39,
};

enum {
	MPI_ANY_SOURCE = -1,
	MPI_ANY_TAG = -2,
	MPI_PROC_NULL = -3,
	MPI_UNDEFINED = -32766,
	MPI_KEYVAL_INVALID = 0,
	MPI_TAG_UB = 501,
	MPI_COMBINER_NAMED = 101,
	MPI_CART = 211,
	MPI_GRAPH = 212,
	MPI_DIST_GRAPH = 213,
};

int PMPI_Cancel(MPI_Request *request);
int PMPI_Cart_coords(MPI_Comm comm, int rank, int maxdims, int coords[]);
int PMPI_Cart_get(MPI_Comm comm, int maxdims, int dims[], int periods[], int coords[]);
int PMPI_Cart_rank(MPI_Comm comm, const int coords[], int *rank);
int PMPI_Cart_shift(MPI_Comm comm, int direction, int disp, int *source, int *dest);
int PMPI_Cartdim_get(MPI_Comm comm, int *ndims);
int PMPI_Comm_call_errhandler(MPI_Comm comm, int error_code);
int PMPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *newcomm);
int PMPI_Comm_create_keyval(MPI_Comm_copy_attr_function *copy, MPI_Comm_delete_attr_function *erase,
			    int *keyval, void *extra_state);
int PMPI_Comm_get_attr(MPI_Comm comm, int keyval, void *attribute_val, int *flag);
int PMPI_Comm_get_errhandler(MPI_Comm comm, MPI_Errhandler *errhandler);
int PMPI_Comm_get_name(MPI_Comm comm, char *name, int *length);
int PMPI_Comm_get_parent(MPI_Comm *parent);
int PMPI_Comm_group(MPI_Comm comm, MPI_Group *group);
int PMPI_Comm_rank(MPI_Comm comm, int *rank);
int PMPI_Comm_set_attr(MPI_Comm comm, int keyval, void *attribute_val);
int PMPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler errhandler);
int PMPI_Comm_size(MPI_Comm comm, int *size);
int PMPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *newcomm);
int PMPI_Comm_test_inter(MPI_Comm comm, int *flag);
int PMPI_Dist_graph_neighbors(MPI_Comm comm, int maxindegree, int sources[], int sourceweights[],
			      int maxoutdegree, int destinations[], int destweights[]);
int PMPI_Dist_graph_neighbors_count(MPI_Comm comm, int *indegree, int *outdegree, int *weighted);
int PMPI_Errhandler_free(MPI_Errhandler *errhandler);
int PMPI_Error_class(int error_code, int *error_class);
int PMPI_Get_elements_x(const MPI_Status *status, MPI_Datatype datatype, MPI_Count *count);
int PMPI_Get_library_version(char *version, int *length);
int PMPI_Graph_neighbors(MPI_Comm comm, int rank, int maxneighbors, int neighbors[]);
int PMPI_Graph_neighbors_count(MPI_Comm comm, int rank, int *nneighbors);
int PMPI_Group_free(MPI_Group *group);
int PMPI_Group_incl(MPI_Group group, int n, const int ranks[], MPI_Group *newgroup);
int PMPI_Group_size(MPI_Group group, int *size);
int PMPI_Group_translate_ranks(MPI_Group group1, int n, const int ranks1[], MPI_Group group2, int ranks2[]);
int PMPI_Info_get(MPI_Info info, const char *key, int valuelen, char *value, int *flag);
int PMPI_Info_get_valuelen(MPI_Info info, const char *key, int *valuelen, int *flag);
int PMPI_Info_set(MPI_Info info, const char *key, const char *value);
int PMPI_Initialized(int *flag);
int PMPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status);
int PMPI_Irecv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
	       MPI_Request *request);
int PMPI_Lookup_name(const char *service_name, MPI_Info info, char *port_name);
int PMPI_Publish_name(const char *service_name, MPI_Info info, const char *port_name);
int PMPI_Recv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
	      MPI_Status *status);
int PMPI_Recv_init(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
		   MPI_Request *request);
int PMPI_Topo_test(MPI_Comm comm, int *status);
int PMPI_Type_get_envelope(MPI_Datatype datatype, int *integers, int *addresses, int *datatypes, int *combiner);
int PMPI_Type_get_extent(MPI_Datatype datatype, MPI_Aint *lb, MPI_Aint *extent);
int PMPI_Type_get_true_extent(MPI_Datatype datatype, MPI_Aint *true_lb, MPI_Aint *true_extent);
int PMPI_Type_size_x(MPI_Datatype datatype, MPI_Count *size);

#include "abi_functions.h"

#ifdef __cplusplus
}
#endif

#endif
