// SPDX-License-Identifier: MIT
// What the MPI library must be told before MPI_Init so that a paced exchange can
// be fast.  It is told through environment variables, which it reads in MPI_Init;
// afterwards they are taken back, so that child processes and spawned jobs do not
// inherit them.
//
// Before MPI_Init ranks cannot talk, and a rank knows of its own node only: whether it has a
// daemon.  Where it has none nothing is set.  So each of these must be something in which ranks may differ:
//
//   pml_ob1_max_rdma_per_request  A sender with 0 does not wait for the receiver to ask for a put, but
//                        carries one out if it asks; a receiver with 0 does not ask.
//   btl_tcp_eager_limit  It is the sender's, and the receiver's buffers are
//                        as large as btl_tcp_max_send_size, which is not less.
//   mpi_add_procs_cutoff A rank only looks up others earlier by it.
//   UCX_RNDV_THRESH      It is the sender's; a receiver takes both kinds.
//
// They may not differ in btl_tcp_flags: a sender whose flags have no "put" dies when a receiver asks it
// for one (Open MPI 4.1.4 and 5.0.7: mca_pml_ob1_send_request_put_frag, address 8).
#pragma once

#include <string>
#include <vector>

#include "settings.hpp"

namespace headway::glue {

/// Says whether TCP is the one of its networks that UCX will use, by its settings UCX_TLS and
/// UCX_NET_DEVICES, none where they are not set, and by whether the node has InfiniBand devices,
/// which UCX prefers.
[[nodiscard]] bool is_tcp_the_network(const char* transports, const char* devices,
                                      bool has_infiniband);

/// Says whether Open MPI will use TCP, by its settings "pml" and "btl".
[[nodiscard]] bool is_tcp_the_network_of_open_mpi(const char* pml, const char* btl, bool has_infiniband);

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

    /// Tells the user what was set or left, and how to switch it off.
    [[nodiscard]] std::string summary() const;

private:
    void apply_to_open_mpi();
    void apply_to_mpich();
    void set_unless_given(const char* variable, const char* value);

    std::vector<std::string> variables_;  ///< set by us
    std::vector<std::string> told_;       ///< one phrase for each decision
};

}  // namespace headway::glue
