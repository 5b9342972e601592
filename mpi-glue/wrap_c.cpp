// SPDX-License-Identifier: MIT
// The MPI functions that C and C++ programs call.  Fortran's are in
// wrap_fortran.cpp: Open MPI's Fortran calls PMPI_* and never comes by here.
#include <mpi.h>

#include "helper.hpp"
#include "message_size.hpp"

using headway::glue::helper;
using headway::glue::message_bytes;
using headway::glue::Operation;
using headway::glue::Paced;

#define HEADWAY_EXPORT __attribute__((visibility("default")))

extern "C" {

HEADWAY_EXPORT int MPI_Init(int* argc, char*** argv) {
    helper().before_init();
    const int status = PMPI_Init(argc, argv);
    helper().after_init();
    return status;
}

HEADWAY_EXPORT int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
    helper().before_init();
    const int status = PMPI_Init_thread(argc, argv, required, provided);
    helper().after_init();
    return status;
}

HEADWAY_EXPORT int MPI_Alltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                void* recvbuf, int recvcount, MPI_Datatype recvtype,
                                MPI_Comm comm) {
    if (sendbuf == MPI_IN_PLACE) {
        // These two mean nothing then and may hold anything, but Open MPI's
        // dynamic rules look at them all the same.
        sendcount = recvcount;
        sendtype = recvtype;
    }
    const Paced paced(Operation::alltoall, comm, [&] { return message_bytes(recvcount, recvtype); });
    return PMPI_Alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
}

HEADWAY_EXPORT int MPI_Alltoallv(const void* sendbuf, const int* sendcounts, const int* sdispls,
                                 MPI_Datatype sendtype, void* recvbuf, const int* recvcounts,
                                 const int* rdispls, MPI_Datatype recvtype, MPI_Comm comm) {
    const bool in_place = sendbuf == MPI_IN_PLACE;
    const Paced paced(Operation::alltoallv, comm, [&] {
        return in_place ? message_bytes(comm, recvcounts, recvtype)
                        : message_bytes(comm, sendcounts, sendtype);
    });
    return PMPI_Alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls,
                          recvtype, comm);
}

}  // extern "C"
