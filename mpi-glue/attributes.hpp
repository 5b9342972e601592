// SPDX-License-Identifier: MIT
// The attributes HEADWAY_MAXRATE and HEADWAY_MATB of communicators (Kbytes/s),
// after Takano's YAMPI_PSP_MAXRATE and YAMPI_PSP_MATB; headway_mpi.h says what
// they mean to a program.
//
// A program gets their keys by creating a keyval with a magic extra state.  So
// it needs no symbol of ours: without the library it has a keyval like any
// other, whose attribute is nowhere set.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <mutex>
#include <optional>

namespace headway::glue {

class Attributes {
public:
    /// None: that is no magic state of ours, or the library is switched off.
    [[nodiscard]] std::optional<int> keyval_for(MPI_Aint extra_state) noexcept;

    [[nodiscard]] bool is_ours(int keyval) const noexcept;

    /// Where the communicator's value is, in Kbytes/s; the library owns it.
    /// Null: not known.
    [[nodiscard]] int* get(MPI_Comm communicator, int keyval) noexcept;

    /// Of MATB: stores it and changes this process's rate.  MAXRATE cannot be put.
    void put(MPI_Comm communicator, int keyval, int kbytes_per_s) noexcept;

private:
    struct Limit {
        int kbytes_per_s = 0;
    };

    [[nodiscard]] Limit* limit_of(MPI_Comm communicator, bool create);
    [[nodiscard]] int* maximum();

    static int inherit(MPI_Comm, int, void* owner, void* from, void* to, int* copied);
    static int end(MPI_Comm, int, void* value, void* owner);

    mutable std::mutex mutex_;
    int maxrate_key_ = MPI_KEYVAL_INVALID;
    int matb_key_ = MPI_KEYVAL_INVALID;
    int maximum_ = 0;
    const Limit* in_force_ = nullptr;  ///< put last
};

/// The process's one; never destroyed, as helper().
[[nodiscard]] Attributes& attributes();

}  // namespace headway::glue
