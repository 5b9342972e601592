// SPDX-License-Identifier: MIT
#include "reduction.hpp"

#include <algorithm>
#include <array>

#include "message_size.hpp"

namespace headway::glue {
namespace {

// Handles are no constants in Open MPI.  A library without Fortran has null for its types.
template <class Handle>
bool is_one_of(Handle handle, std::initializer_list<Handle> known) {
    return std::find(known.begin(), known.end(), handle) != known.end();
}

bool is_whole_number(MPI_Datatype type) {
    return type != MPI_DATATYPE_NULL &&
           is_one_of<MPI_Datatype>(
               type, {MPI_INT,         MPI_LONG,           MPI_SHORT,        MPI_LONG_LONG,
                      MPI_UNSIGNED,    MPI_UNSIGNED_LONG,  MPI_UNSIGNED_SHORT,
                      MPI_UNSIGNED_LONG_LONG,              MPI_SIGNED_CHAR,  MPI_UNSIGNED_CHAR,
                      MPI_INT8_T,      MPI_INT16_T,        MPI_INT32_T,      MPI_INT64_T,
                      MPI_UINT8_T,     MPI_UINT16_T,       MPI_UINT32_T,     MPI_UINT64_T,
                      MPI_BYTE,        MPI_C_BOOL,         MPI_AINT,         MPI_OFFSET,
                      MPI_COUNT,       MPI_INTEGER,        MPI_LOGICAL,      MPI_INTEGER1,
                      MPI_INTEGER2,    MPI_INTEGER4,       MPI_INTEGER8});
}

bool is_floating_point(MPI_Datatype type) {
    return type != MPI_DATATYPE_NULL &&
           is_one_of<MPI_Datatype>(
               type, {MPI_FLOAT,             MPI_DOUBLE,           MPI_LONG_DOUBLE,
                      MPI_C_FLOAT_COMPLEX,   MPI_C_DOUBLE_COMPLEX, MPI_C_LONG_DOUBLE_COMPLEX,
                      MPI_REAL,              MPI_DOUBLE_PRECISION, MPI_COMPLEX,
                      MPI_DOUBLE_COMPLEX,    MPI_REAL4,            MPI_REAL8});
}

/// Associative and commutative on whole numbers; sums and products wrap.
bool is_elementwise(MPI_Op operation) {
    return is_one_of<MPI_Op>(operation, {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX, MPI_LAND, MPI_LOR,
                                         MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR});
}

}  // namespace

bool is_exact(MPI_Op operation, MPI_Datatype type) {
    return is_elementwise(operation) && is_whole_number(type);
}

bool is_arithmetic(MPI_Op operation, MPI_Datatype type) {
    return is_elementwise(operation) && (is_whole_number(type) || is_floating_point(type));
}

Reduction::Reduction(MPI_Datatype its_type, MPI_Op its_operation)
    : type(its_type),
      operation(its_operation),
      element_bytes(static_cast<std::size_t>(message_bytes(1, its_type))) {}

int Reduction::combine(const void* in, void* inout, std::size_t elements) const {
    return PMPI_Reduce_local(in, inout, static_cast<int>(elements), type, operation);
}

}  // namespace headway::glue
