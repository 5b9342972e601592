// SPDX-License-Identifier: MIT
// The attribute functions that Fortran programs call.  Both MPI libraries'
// Fortran layers go past the C functions here, because an attribute is a value in
// Fortran and a pointer in C.
//
// The twins of the profiling interface live in the Fortran libraries, which a C
// program does not load: the references are weak, and only a program that has
// the libraries gets here.
#include <mpi.h>

#include "attributes.hpp"

#define HEADWAY_EXPORT __attribute__((visibility("default")))

#ifdef HEADWAY_OMPI
#define TWIN_F08(NAME) pmpi_##NAME##_f08_
#else
#define TWIN_F08(NAME) pmpir_##NAME##_f08_
#endif

namespace {

using headway::glue::attributes;

constexpr MPI_Fint fortran_true = 1;

/// In mpi_f08 the error is optional.
void succeed(MPI_Fint* ierror) {
    if (ierror != nullptr) *ierror = MPI_SUCCESS;
}

bool create_ours(MPI_Fint* keyval, const MPI_Aint* extra_state, MPI_Fint* ierror) {
    const auto ours = attributes().keyval_for(*extra_state);
    if (!ours) return false;
    *keyval = *ours;
    succeed(ierror);
    return true;
}

/// `Value` is the kind of integer that the interface has for attributes.
template <class Value>
bool get_ours(const MPI_Fint* comm, const MPI_Fint* keyval, Value* value, MPI_Fint* flag,
              MPI_Fint* ierror) {
    if (!attributes().is_ours(*keyval)) return false;
    const int* stored = attributes().get(PMPI_Comm_f2c(*comm), *keyval);
    *flag = stored != nullptr ? fortran_true : 0;
    if (stored != nullptr) *value = *stored;
    succeed(ierror);
    return true;
}

template <class Value>
bool put_ours(const MPI_Fint* comm, const MPI_Fint* keyval, const Value* value, MPI_Fint* ierror) {
    if (!attributes().is_ours(*keyval)) return false;
    attributes().put(PMPI_Comm_f2c(*comm), *keyval, static_cast<int>(*value));
    succeed(ierror);
    return true;
}

}  // namespace

// One definition for each function; NAME is a symbol a compiler may call, TWIN
// the one of the profiling interface that does the work otherwise.

#define WRAP_CREATE(NAME, TWIN)                                                                   \
    extern "C" __attribute__((weak)) void TWIN(void* copy, void* destroy, MPI_Fint* keyval,       \
                                               MPI_Aint* extra_state, MPI_Fint* ierror);          \
    extern "C" HEADWAY_EXPORT void NAME(void* copy, void* destroy, MPI_Fint* keyval,              \
                                        MPI_Aint* extra_state, MPI_Fint* ierror) {                \
        if (!create_ours(keyval, extra_state, ierror))                                            \
            TWIN(copy, destroy, keyval, extra_state, ierror);                                     \
    }

#define WRAP_GET_AS(VALUE, NAME, TWIN)                                                            \
    extern "C" __attribute__((weak)) void TWIN(MPI_Fint* comm, MPI_Fint* keyval, VALUE* value,    \
                                               MPI_Fint* flag, MPI_Fint* ierror);                 \
    extern "C" HEADWAY_EXPORT void NAME(MPI_Fint* comm, MPI_Fint* keyval, VALUE* value,           \
                                        MPI_Fint* flag, MPI_Fint* ierror) {                       \
        if (!get_ours(comm, keyval, value, flag, ierror)) TWIN(comm, keyval, value, flag, ierror); \
    }

#define WRAP_PUT_AS(VALUE, NAME, TWIN)                                                            \
    extern "C" __attribute__((weak)) void TWIN(MPI_Fint* comm, MPI_Fint* keyval, VALUE* value,    \
                                               MPI_Fint* ierror);                                 \
    extern "C" HEADWAY_EXPORT void NAME(MPI_Fint* comm, MPI_Fint* keyval, VALUE* value,           \
                                        MPI_Fint* ierror) {                                       \
        if (!put_ours(comm, keyval, value, ierror)) TWIN(comm, keyval, value, ierror);            \
    }

#define WRAP_GET(NAME, TWIN) WRAP_GET_AS(MPI_Aint, NAME, TWIN)
#define WRAP_PUT(NAME, TWIN) WRAP_PUT_AS(MPI_Aint, NAME, TWIN)
#define WRAP_OLD_GET(NAME, TWIN) WRAP_GET_AS(MPI_Fint, NAME, TWIN)
#define WRAP_OLD_PUT(NAME, TWIN) WRAP_PUT_AS(MPI_Fint, NAME, TWIN)

// Compilers spell the names of mpif.h and "use mpi" in four ways; "use mpi_f08"
// has one name, which the old two functions are not in.
#define FOR_EACH_SPELLING(WRAP, LOWER, UPPER) \
    WRAP(mpi_##LOWER, pmpi_##LOWER##_)        \
    WRAP(mpi_##LOWER##_, pmpi_##LOWER##_)     \
    WRAP(mpi_##LOWER##__, pmpi_##LOWER##_)    \
    WRAP(MPI_##UPPER, pmpi_##LOWER##_)

FOR_EACH_SPELLING(WRAP_CREATE, comm_create_keyval, COMM_CREATE_KEYVAL)
FOR_EACH_SPELLING(WRAP_GET, comm_get_attr, COMM_GET_ATTR)
FOR_EACH_SPELLING(WRAP_PUT, comm_set_attr, COMM_SET_ATTR)
FOR_EACH_SPELLING(WRAP_OLD_GET, attr_get, ATTR_GET)
FOR_EACH_SPELLING(WRAP_OLD_PUT, attr_put, ATTR_PUT)

WRAP_CREATE(mpi_comm_create_keyval_f08_, TWIN_F08(comm_create_keyval))
WRAP_GET(mpi_comm_get_attr_f08_, TWIN_F08(comm_get_attr))
WRAP_PUT(mpi_comm_set_attr_f08_, TWIN_F08(comm_set_attr))
