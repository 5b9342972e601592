// SPDX-License-Identifier: MIT
// Whether the MPI library itself would take the arguments of a collective.  A rank whose arguments it would refuse takes
// part in our algorithm with empty blocks, and then calls the library's own function, which refuses them: so the program
// gets the library's own error.
//
// A check here is never stricter than the library's, whose function would else wait for the other ranks.
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
#include "mpi_library.hpp"

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

    /// Says whether a rank receives as much as it sends to itself in an all-to-all: Open MPI
    /// refuses anything else.
    [[nodiscard]] static bool fit_together(const Block& sent, const Block& received);

    /// MPICH says that a rank's own block may not be sent from where it is received, if it is the same list or number of
    /// elements of the same type.  Such a call is carried out, and then returns that error.
    [[nodiscard]] static bool are_the_same(const void* sent, const void* received) {
        return sent == received && sent != nullptr && sent != MPI_IN_PLACE && !is_open_mpi();
    }

private:
    [[nodiscard]] bool can_transfer(const void* start, const int* counts, const int* displs,
                                    MPI_Datatype type, const auto& can) const;
    [[nodiscard]] bool can_transfer(const void* start, const int* counts, const int* displs,
                                    const MPI_Datatype* types, const auto& can) const;

    MPI_Comm asked_on_;
    Place place_;
};

/// A call's arguments as our algorithms want them, made when they are needed; whether the MPI library would take them, a
/// function of an ArgumentCheck; and whether it would complain of one buffer for both, a function of the own rank.
template <class Make, class IsAcceptable, class IsAliased>
struct CheckedCall {
    Make make;
    IsAcceptable is_acceptable;
    IsAliased is_aliased;
};
template <class Make, class IsAcceptable, class IsAliased>
CheckedCall(Make, IsAcceptable, IsAliased) -> CheckedCall<Make, IsAcceptable, IsAliased>;

}  // namespace headway::glue
