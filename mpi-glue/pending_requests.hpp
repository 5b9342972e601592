// SPDX-License-Identifier: MIT
// Collectives that are under way as requests.  A nonblocking collective stays
// entered until MPI says that its request is complete, a persistent one from
// each start to the completion of that start.
//
// The scheme is cheap where nothing is under way: a wait or a test then costs
// one load.  Otherwise the requests handed to MPI are remembered over the call,
// and those it completed are looked up here.  A request that MPI completes and
// the program never waits for stays entered, at the latest until MPI_Finalize.
#pragma once

#include <mpi.h>

#include <atomic>
#include <mutex>
#include <unordered_map>

#include "helper.hpp"

namespace headway::glue {

class PendingRequests {
public:
    /// Nothing that a wait could complete is of interest.
    [[nodiscard]] bool is_quiet() const { return under_way_.load(std::memory_order_relaxed) == 0; }
    /// Nothing that a start could start is of interest.
    [[nodiscard]] bool has_persistent() const {
        return persistent_.load(std::memory_order_relaxed) != 0;
    }

    /// A nonblocking collective, entered already.  If MPI gave its handle to another one
    /// before, that has ended, whoever has seen it.
    void begin(MPI_Request request, EntryId entry) noexcept;

    /// A persistent collective, inactive.
    void prepare(MPI_Request request, const Paceable& paceable) noexcept;
    /// It is about to be started; false: it could not be.
    void start(MPI_Request request) noexcept;

    void complete(MPI_Request request) noexcept;
    /// The program gives its handle back.
    void forget(MPI_Request request) noexcept;

private:
    struct Persistent {
        Paceable paceable;
        EntryId entry = not_entered;
    };

    std::atomic<long> under_way_{0};
    std::atomic<long> persistent_{0};
    std::mutex mutex_;  ///< guards what follows
    std::unordered_map<MPI_Request, EntryId> nonblocking_;
    std::unordered_map<MPI_Request, Persistent> by_request_;
};

/// The process's one; never destroyed, as helper().
[[nodiscard]] PendingRequests& pending_requests();

}  // namespace headway::glue
