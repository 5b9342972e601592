// SPDX-License-Identifier: MIT
// What the MPI library must be told before MPI_Init so that a paced exchange can
// be fast.  It is told through environment variables, which it reads in MPI_Init;
// afterwards they are taken back, so that child processes and spawned jobs do not
// inherit them.
//
// Before MPI_Init ranks cannot talk, and a rank knows of its own node only.  So what
// may be decided from what a node has depends on whether ranks may differ in it:
//
//   btl_tcp_flags        They may not.  The receiver of a large message asks for a
//                        put if its own flags have "put", and a sender whose flags
//                        have none has no route for it and dies (Open MPI 4.1.4:
//                        mca_pml_ob1_send_request_put_frag, address 8).  So this is
//                        decided from the environment alone, which mpirun makes the
//                        same for all ranks of one program.
//   btl_tcp_eager_limit  They may: it is the sender's, and the receiver's buffers are
//                        as large as btl_tcp_max_send_size, which is not less.
//   mpi_add_procs_cutoff They may: a rank only looks up others earlier by it.
//   UCX_RNDV_THRESH      They may: it is the sender's; a receiver takes both kinds.
//
// The latter three are set only on nodes that have a daemon.
#pragma once

#include <string>
#include <vector>

#include "settings.hpp"

namespace headway::glue {

/// Of the networks that UCX may use, is TCP the one that it will?  Its settings
/// UCX_TLS and UCX_NET_DEVICES, none where they are not set, and whether the node
/// has InfiniBand devices, which UCX prefers.
[[nodiscard]] bool is_tcp_the_network(const char* transports, const char* devices,
                                      bool has_infiniband);

class LibraryEnvironment {
public:
    LibraryEnvironment() = default;
    LibraryEnvironment(const LibraryEnvironment&) = delete;
    LibraryEnvironment& operator=(const LibraryEnvironment&) = delete;
    ~LibraryEnvironment() { restore(); }

    /// Sets what `settings` ask for and the user has not set himself.
    void apply(const Settings& settings);

    /// Takes back what apply() set.
    void restore();

    /// What was set or left, and how to switch it off: for the user's eyes.
    [[nodiscard]] std::string summary() const;

private:
    void apply_to_open_mpi(const Settings& settings);
    void apply_to_mpich(const Settings& settings);
    void set_unless_given(const char* variable, const char* value);

    std::vector<std::string> variables_;  ///< set by us
    std::vector<std::string> told_;       ///< one phrase for each decision
};

}  // namespace headway::glue
