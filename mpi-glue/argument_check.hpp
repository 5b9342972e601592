// SPDX-License-Identifier: MIT
// Whether the MPI library itself would take the arguments of a collective.  What it
// would refuse is left to its own function before anything is agreed on or
// posted: then the program gets the library's own error, and all goes on as it
// would without us.
//
// A check here is never stricter than the library's: a rank whose arguments are
// refused does not take part in our algorithm, and the others would wait for it.
//
// MPI has no function that tells whether a datatype is committed or a buffer valid.
// So the library is asked by a message to MPI_PROC_NULL, for which it looks at the
// arguments and does nothing else.  The message is on a communicator of this process
// alone which returns errors, so that the program's error handler hears of nothing.
#pragma once

#include <mpi.h>

#include <utility>

#include "message_size.hpp"
#include "messages.hpp"

namespace headway::glue {

class ArgumentCheck {
public:
    ArgumentCheck(MPI_Comm asked_on, MPI_Comm communicator)
        : asked_on_(asked_on), place_(place_in(communicator)) {}

    [[nodiscard]] const Place& place() const { return place_; }
    [[nodiscard]] bool is_root(int root) const { return place_.rank == root; }
    [[nodiscard]] bool is_rank(int rank) const { return rank >= 0 && rank < place_.ranks; }

    [[nodiscard]] bool can_send(const Block& block) const;
    [[nodiscard]] bool can_receive(const Block& block) const;

    /// One block of each rank; displacements do not matter.
    [[nodiscard]] bool can_send(const void* start, const int* counts, const int* displs,
                                MPI_Datatype type) const;
    [[nodiscard]] bool can_receive(void* start, const int* counts, const int* displs,
                                   MPI_Datatype type) const;
    [[nodiscard]] bool can_send(const void* start, const int* counts, const int* displs,
                                const MPI_Datatype* types) const;
    [[nodiscard]] bool can_receive(void* start, const int* counts, const int* displs,
                                   const MPI_Datatype* types) const;

    /// What a rank sends to itself it also receives: Open MPI refuses anything else.
    [[nodiscard]] static bool fit_together(const Block& sent, const Block& received);

    /// MPICH refuses the same buffer for both; Open MPI does not.
    [[nodiscard]] static bool are_apart(const void* sent, const void* received);

private:
    [[nodiscard]] bool can_transfer(const void* start, const int* counts, const int* displs,
                                    MPI_Datatype type, const auto& can) const;
    [[nodiscard]] bool can_transfer(const void* start, const int* counts, const int* displs,
                                    const MPI_Datatype* types, const auto& can) const;

    MPI_Comm asked_on_;
    Place place_;
};

/// A call's arguments as our algorithms want them, made when they are needed, and
/// whether the MPI library would take them: `is_acceptable` is a function of an
/// ArgumentCheck.
template <class Make, class IsAcceptable>
struct CheckedCall {
    Make make;
    IsAcceptable is_acceptable;
};
template <class Make, class IsAcceptable>
CheckedCall(Make, IsAcceptable) -> CheckedCall<Make, IsAcceptable>;

}  // namespace headway::glue
