// SPDX-License-Identifier: MIT
// A rate that the program asks for itself, by MPI_Comm_set_info; what the keys mean to a
// program: Documentation/mpi-records.rst, "A program's own rate".  The rate is a phase in
// the session's slot, beside whatever collectives enter and leave; headwayd is asked for it
// once, so that a program may set it before each exchange and end it after that.
//
// The end of a communicator is seen by its MPI_Comm_free, not by a delete callback of an
// attribute: the MPI library may hold a lock while it calls back, for which a thread may
// wait that looks for an attribute and holds the helper's lock, which ending a rate needs.
#pragma once

#include <mpi.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "session.hpp"

namespace headway::glue {

class SendingRate {
public:
    /// The program's info has been set on the communicator.
    void set(MPI_Comm communicator, MPI_Info info) noexcept;

    /// Adds what is known here to the info that the MPI library gives.
    void add_to(MPI_Info info, MPI_Comm communicator) noexcept;

    /// The communicator has been freed.
    void forget(MPI_Comm communicator) noexcept;

private:
    void hold(int kbytes_per_s);
    [[nodiscard]] int maxrate_kbytes_per_s();

    std::mutex mutex_;  ///< guards what follows; taken before the helper's
    std::map<MPI_Comm, int> matb_kbytes_per_s_;
    std::optional<MPI_Comm> in_force_;  ///< set last
    std::map<int, std::shared_ptr<HeldRates>> rates_;  ///< by Kbytes/s
    std::optional<int> maxrate_kbytes_per_s_;  ///< none: not asked for yet; 0: not known
};

/// See the_only(), short_memory.hpp.
[[nodiscard]] SendingRate& sending_rate();

}  // namespace headway::glue
