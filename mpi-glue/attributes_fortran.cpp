// SPDX-License-Identifier: MIT
// The attribute functions that Fortran programs call.  Both MPI libraries'
// Fortran layers go past the C functions here, because an attribute is a value in
// Fortran and a pointer in C.
#include <mpi.h>

#include "attributes.hpp"
#include "next_function.hpp"
#include "wrapper_table.hpp"

namespace {

using headway::glue::attributes;
using headway::glue::next_function;

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

// One definition for each function.  NAME is a symbol that a compiler may call; what
// is not ours is done by the function that has that name behind us, a tool's or the
// Fortran library's.

#define WRAP_CREATE(NAME)                                                                      \
    void NAME(void* copy, void* destroy, MPI_Fint* keyval, MPI_Aint* extra_state,              \
              MPI_Fint* ierror) {                                                              \
        if (create_ours(keyval, extra_state, ierror)) return;                                  \
        static const auto next = next_function<decltype(&NAME)>(#NAME);                        \
        next(copy, destroy, keyval, extra_state, ierror);                                      \
    }

#define WRAP_GET_AS(VALUE, NAME)                                                               \
    void NAME(MPI_Fint* comm, MPI_Fint* keyval, VALUE* value, MPI_Fint* flag,                  \
              MPI_Fint* ierror) {                                                              \
        if (get_ours(comm, keyval, value, flag, ierror)) return;                               \
        static const auto next = next_function<decltype(&NAME)>(#NAME);                        \
        next(comm, keyval, value, flag, ierror);                                               \
    }

#define WRAP_PUT_AS(VALUE, NAME)                                                               \
    void NAME(MPI_Fint* comm, MPI_Fint* keyval, VALUE* value, MPI_Fint* ierror) {              \
        if (put_ours(comm, keyval, value, ierror)) return;                                     \
        static const auto next = next_function<decltype(&NAME)>(#NAME);                        \
        next(comm, keyval, value, ierror);                                                     \
    }

#define WRAP_GET(NAME) WRAP_GET_AS(MPI_Aint, NAME)
#define WRAP_PUT(NAME) WRAP_PUT_AS(MPI_Aint, NAME)
#define WRAP_OLD_GET(NAME) WRAP_GET_AS(MPI_Fint, NAME)
#define WRAP_OLD_PUT(NAME) WRAP_PUT_AS(MPI_Fint, NAME)

#define IN_TABLE(NAME) {#NAME, reinterpret_cast<headway_function*>(&NAME)},

// Compilers spell the names of mpif.h and "use mpi" in four ways; "use mpi_f08"
// has one name, which the old two functions are not in.
#define FOR_EACH_SPELLING(DO, LOWER, UPPER) \
    DO(mpi_##LOWER)                         \
    DO(mpi_##LOWER##_)                      \
    DO(mpi_##LOWER##__)                     \
    DO(MPI_##UPPER)

#define FOR_EACH_FUNCTION(CREATE, GET, PUT, OLD_GET, OLD_PUT)             \
    FOR_EACH_SPELLING(CREATE, comm_create_keyval, COMM_CREATE_KEYVAL)     \
    FOR_EACH_SPELLING(GET, comm_get_attr, COMM_GET_ATTR)                  \
    FOR_EACH_SPELLING(PUT, comm_set_attr, COMM_SET_ATTR)                  \
    FOR_EACH_SPELLING(OLD_GET, attr_get, ATTR_GET)                        \
    FOR_EACH_SPELLING(OLD_PUT, attr_put, ATTR_PUT)                        \
    CREATE(mpi_comm_create_keyval_f08_)                                   \
    GET(mpi_comm_get_attr_f08_)                                           \
    PUT(mpi_comm_set_attr_f08_)

namespace fortran {

FOR_EACH_FUNCTION(WRAP_CREATE, WRAP_GET, WRAP_PUT, WRAP_OLD_GET, WRAP_OLD_PUT)

const headway::glue::Wrapper wrappers[] = {
    FOR_EACH_FUNCTION(IN_TABLE, IN_TABLE, IN_TABLE, IN_TABLE, IN_TABLE)
};

}  // namespace fortran
}  // namespace

namespace headway::glue {

headway_function* fortran_wrapper_of(const char* name) {
    return wrapper_among(fortran::wrappers, name);
}

}  // namespace headway::glue
