// SPDX-License-Identifier: Apache-2.0
// What the helper's library wants to find in an MPI library, and mpi_cost.cpp never calls.
// Without mpi.h, so that all may look alike.
#include <stdio.h>
#include <stdlib.h>

#define NEVER(name)                                              \
	void name(void);                                         \
	void name(void)                                          \
	{                                                        \
		fputs(#name " is a stub: stub_mpi.c\n", stderr); \
		abort();                                         \
	}

// by which the preload knows an MPICH
NEVER(MPIX_Grequest_class_create)

NEVER(PMPI_Cancel)
NEVER(PMPI_Cart_coords)
NEVER(PMPI_Cart_get)
NEVER(PMPI_Cart_rank)
NEVER(PMPI_Cart_shift)
NEVER(PMPI_Cartdim_get)
NEVER(PMPI_Comm_call_errhandler)
NEVER(PMPI_Dist_graph_neighbors)
NEVER(PMPI_Dist_graph_neighbors_count)
NEVER(PMPI_Error_class)
NEVER(PMPI_Get_elements_x)
NEVER(PMPI_Graph_neighbors)
NEVER(PMPI_Graph_neighbors_count)
NEVER(PMPI_Info_get)
NEVER(PMPI_Info_get_valuelen)
NEVER(PMPI_Info_set)
NEVER(PMPI_Irecv)
NEVER(PMPI_Lookup_name)
NEVER(PMPI_Publish_name)
NEVER(PMPI_Recv_init)
