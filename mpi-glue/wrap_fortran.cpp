// SPDX-License-Identifier: MIT
// The MPI functions that Fortran programs call.  Each wrapper calls its twin of
// the profiling interface with the very same addresses, so that whatever Open MPI
// does with Fortran's special constants stays its own affair.
//
// The twins live in Open MPI's Fortran libraries, which a C program does not
// load: the references are weak, and only a program that has the libraries gets
// here.
#include <mpi.h>

#include "helper.hpp"
#include "message_size.hpp"

using headway::glue::helper;
using headway::glue::message_bytes;
using headway::glue::Operation;
using headway::glue::Paced;

static_assert(sizeof(MPI_Fint) == sizeof(int), "count arrays are passed on as they are");

#define HEADWAY_EXPORT __attribute__((visibility("default")))

extern "C" {
/// The variable whose address is Fortran's MPI_IN_PLACE.
extern int mpi_fortran_in_place_;
}

namespace {

bool is_in_place(const void* buffer) { return buffer == &mpi_fortran_in_place_; }

template <class Init>
void around_init(const Init& init) {
    helper().before_init();
    init();
    helper().after_init();
}

std::uint64_t alltoall_bytes(const MPI_Fint* count, const MPI_Fint* type) {
    return message_bytes(*count, PMPI_Type_f2c(*type));
}

std::uint64_t alltoallv_bytes(MPI_Comm comm, const MPI_Fint* counts, const MPI_Fint* type) {
    return message_bytes(comm, counts, PMPI_Type_f2c(*type));
}

}  // namespace

// One definition for each function; NAME is a symbol a compiler may call, TWIN
// the one of the profiling interface that does the work.

#define WRAP_INIT(NAME, TWIN)                                              \
    extern "C" __attribute__((weak)) void TWIN(MPI_Fint* ierror);          \
    extern "C" HEADWAY_EXPORT void NAME(MPI_Fint* ierror) {                \
        around_init([&] { TWIN(ierror); });                                \
    }

#define WRAP_INIT_THREAD(NAME, TWIN)                                                              \
    extern "C" __attribute__((weak)) void TWIN(MPI_Fint* required, MPI_Fint* provided,            \
                                               MPI_Fint* ierror);                                 \
    extern "C" HEADWAY_EXPORT void NAME(MPI_Fint* required, MPI_Fint* provided,                   \
                                        MPI_Fint* ierror) {                                       \
        around_init([&] { TWIN(required, provided, ierror); });                                   \
    }

#define WRAP_ALLTOALL(NAME, TWIN)                                                                 \
    extern "C" __attribute__((weak)) void TWIN(void* sendbuf, MPI_Fint* sendcount,                \
                                               MPI_Fint* sendtype, void* recvbuf,                 \
                                               MPI_Fint* recvcount, MPI_Fint* recvtype,           \
                                               MPI_Fint* comm, MPI_Fint* ierror);                 \
    extern "C" HEADWAY_EXPORT void NAME(void* sendbuf, MPI_Fint* sendcount, MPI_Fint* sendtype,   \
                                        void* recvbuf, MPI_Fint* recvcount, MPI_Fint* recvtype,   \
                                        MPI_Fint* comm, MPI_Fint* ierror) {                       \
        if (is_in_place(sendbuf)) { /* see MPI_Alltoall in wrap_c.cpp */                          \
            sendcount = recvcount;                                                                \
            sendtype = recvtype;                                                                  \
        }                                                                                         \
        const Paced paced(Operation::alltoall, PMPI_Comm_f2c(*comm),                              \
                          [&] { return alltoall_bytes(recvcount, recvtype); });                   \
        TWIN(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, ierror);           \
    }

#define WRAP_ALLTOALLV(NAME, TWIN)                                                                \
    extern "C" __attribute__((weak)) void TWIN(void* sendbuf, MPI_Fint* sendcounts,               \
                                               MPI_Fint* sdispls, MPI_Fint* sendtype,             \
                                               void* recvbuf, MPI_Fint* recvcounts,               \
                                               MPI_Fint* rdispls, MPI_Fint* recvtype,             \
                                               MPI_Fint* comm, MPI_Fint* ierror);                 \
    extern "C" HEADWAY_EXPORT void NAME(void* sendbuf, MPI_Fint* sendcounts, MPI_Fint* sdispls,   \
                                        MPI_Fint* sendtype, void* recvbuf, MPI_Fint* recvcounts,  \
                                        MPI_Fint* rdispls, MPI_Fint* recvtype, MPI_Fint* comm,    \
                                        MPI_Fint* ierror) {                                       \
        const MPI_Comm communicator = PMPI_Comm_f2c(*comm);                                       \
        const Paced paced(Operation::alltoallv, communicator, [&] {                               \
            return is_in_place(sendbuf) ? alltoallv_bytes(communicator, recvcounts, recvtype)     \
                                        : alltoallv_bytes(communicator, sendcounts, sendtype);    \
        });                                                                                       \
        TWIN(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype,      \
             comm, ierror);                                                                       \
    }

// Compilers spell the names of mpif.h and "use mpi" in four ways; "use mpi_f08"
// has one name.
#define FOR_EACH_BINDING(WRAP, LOWER, UPPER)   \
    WRAP(mpi_##LOWER, pmpi_##LOWER##_)         \
    WRAP(mpi_##LOWER##_, pmpi_##LOWER##_)      \
    WRAP(mpi_##LOWER##__, pmpi_##LOWER##_)     \
    WRAP(MPI_##UPPER, pmpi_##LOWER##_)         \
    WRAP(mpi_##LOWER##_f08_, pmpi_##LOWER##_f08_)

FOR_EACH_BINDING(WRAP_INIT, init, INIT)
FOR_EACH_BINDING(WRAP_INIT_THREAD, init_thread, INIT_THREAD)
FOR_EACH_BINDING(WRAP_ALLTOALL, alltoall, ALLTOALL)
FOR_EACH_BINDING(WRAP_ALLTOALLV, alltoallv, ALLTOALLV)
