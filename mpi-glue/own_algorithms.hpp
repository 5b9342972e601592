// SPDX-License-Identifier: MIT
// Which algorithm an all-to-all takes, and taking it.
//
// All ranks of a communicator must take the same one, and their daemons may plan
// differently, or be gone: what rank 0 of the communicator is told holds for
// all.  At the first use of (communicator, operation, size class) it broadcasts
// that; whether there is a broadcast at all depends only on what all ranks know.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "exchange.hpp"
#include "host_table.hpp"
#include "operation.hpp"

namespace headway::glue {

/// Of MPI_Alltoall, per pair; smaller exchanges are the MPI library's.  Not the
/// daemon's to say: nodes must agree without talking.
inline constexpr std::uint64_t own_from_bytes = 2048;

class OwnAlgorithms {
public:
    /// From now on; called by all ranks of the job or by none.
    void allow() { allowed_ = true; }

    /// The status of an exchange by one of our algorithms; none: it is the MPI
    /// library's.  `bytes` is the size per pair, `exchange` a function that
    /// returns the Exchange.
    template <class MakeExchange>
    std::optional<int> run(Operation operation, MPI_Comm communicator, const auto& bytes,
                           const MakeExchange& exchange) noexcept {
        if (!allowed_) return std::nullopt;
        const Chosen chosen = choose(operation, communicator, bytes);
        if (chosen.algorithm == Algorithm::native) return std::nullopt;
        return finish(communicator, chosen, exchange());
    }

    /// MPI is about to be finalised.
    void release() noexcept;

private:
    using Key = std::pair<Operation, int>;  ///< and size class

    /// Kept as an attribute of each communicator that was seen.
    struct Choices {
        std::optional<HostSet> hosts;  ///< none: members of other jobs
        std::map<Key, Algorithm> algorithms;
        Clusters clusters;
        MPI_Comm own = MPI_COMM_NULL;  ///< the same ranks, for our messages alone
    };
    struct Chosen {
        Algorithm algorithm = Algorithm::native;
        const Choices* choices = nullptr;
    };

    [[nodiscard]] Chosen choose(Operation operation, MPI_Comm communicator, const auto& bytes) {
        // only MPI_Alltoall's size is the same at all ranks
        const std::uint64_t size = operation == Operation::alltoall ? bytes() : own_from_bytes;
        if (size < own_from_bytes) return {};
        return choose_for(operation, communicator, size);
    }
    [[nodiscard]] Chosen choose_for(Operation operation, MPI_Comm communicator,
                                    std::uint64_t bytes) noexcept;
    [[nodiscard]] int finish(MPI_Comm communicator, const Chosen& chosen,
                             const Exchange& exchange) noexcept;

    [[nodiscard]] Choices* choices_of(MPI_Comm communicator);
    [[nodiscard]] Algorithm agree(Operation operation, MPI_Comm communicator, Choices& choices);
    void open(MPI_Comm communicator, Choices& choices);
    void close(Choices& choices);
    static int forget_communicator(MPI_Comm, int, void* value, void*);

    std::atomic<bool> allowed_{false};
    std::mutex mutex_;  ///< guards what follows
    int key_ = MPI_KEYVAL_INVALID;
    std::set<Choices*> opened_;
};

/// The process's one; never destroyed, as helper().
[[nodiscard]] OwnAlgorithms& own_algorithms();

}  // namespace headway::glue
