// SPDX-License-Identifier: MIT
// Which algorithm a collective takes, and taking it.
//
// All ranks of a communicator must take the same one, and their daemons may plan
// differently, or be gone: what rank 0 of the communicator is told holds for
// all.  At the first use of (communicator, operation, root's host, size class) it
// broadcasts that; whether there is a broadcast at all depends only on what all
// ranks know.  Every rank then asks its own daemon for the rates of that very
// algorithm.
//
// Lock step: where rank 0's plan has rates for each step of the algorithm, all
// ranks wait for all others before each step, whatever their own daemons say.
// Without that a rank may be steps ahead of another (the exchange of a step binds
// only those two), and the rates of different steps together are more than a
// trunk has.  A rank comes out of the barrier when every receive of the step
// before is complete, and only then stores the next step's phase: in no trunk is
// anything left of that step.  A rank whose daemon has no rates for the steps
// keeps those of the whole, which count everybody as sending.
//
// The broadcast is on the program's communicator, just before the collective
// itself, where every rank must come by: a communicator of our own costs several
// such, and is made only when an algorithm of ours has been agreed on.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <tuple>

#include "exchange.hpp"
#include "host_table.hpp"
#include "operation.hpp"
#include "rooted_exchange.hpp"
#include "session.hpp"

namespace headway::glue {

/// Per pair, where all ranks know the size; smaller exchanges are the MPI
/// library's.  Not the daemon's to say: nodes must agree without talking.
inline constexpr std::uint64_t own_from_bytes = 2048;

class OwnAlgorithms {
public:
    /// From now on; called by all ranks of the job or by none.
    void allow() { allowed_ = true; }

    /// Kept as an attribute of each communicator that was seen.
    struct Choices;
    /// What all ranks have agreed on.
    struct Chosen : PlannedAlgorithm {
        const Choices* choices = nullptr;
    };

    /// `bytes` is a function: the size per pair.
    [[nodiscard]] Chosen choose(const Collective& collective, MPI_Comm communicator,
                                const auto& bytes) noexcept {
        if (!allowed_) return {};
        // other operations' sizes need not be the same at all ranks
        if (!sizes_agree(collective.operation))
            return choose_for(collective, communicator, std::nullopt);
        const std::uint64_t size = bytes();
        if (size < own_from_bytes) return {};
        return choose_for(collective, communicator, size);
    }

    /// A status of MPI; `chosen` is none of native.  `paced`: this rank has entered.
    [[nodiscard]] int run(const Chosen& chosen, MPI_Comm communicator, const Exchange& exchange,
                          bool paced) noexcept;
    [[nodiscard]] int run(const Chosen& chosen, MPI_Comm communicator,
                          const RootedExchange& exchange, bool paced) noexcept;

    /// MPI is about to be finalised.
    void release() noexcept;

private:
    [[nodiscard]] Chosen choose_for(const Collective& collective, MPI_Comm communicator,
                                    std::optional<std::uint64_t> bytes) noexcept;
    [[nodiscard]] static int carry_out(MPI_Comm communicator, const auto& algorithm) noexcept;
    [[nodiscard]] Choices* choices_of(MPI_Comm communicator);
    [[nodiscard]] PlannedAlgorithm agree(PatternKey key, std::optional<std::uint64_t> bytes,
                                         MPI_Comm communicator, Choices& choices);
    void open(MPI_Comm communicator, Choices& choices);
    void close(Choices& choices);
    static int forget_communicator(MPI_Comm, int, void* value, void*);

    std::atomic<bool> allowed_{false};
    std::mutex mutex_;  ///< guards what follows
    int key_ = MPI_KEYVAL_INVALID;
    std::set<Choices*> opened_;
};

struct OwnAlgorithms::Choices {
    /// Operation, the root's host, size class.
    using Key = std::tuple<Operation, int, std::size_t>;

    std::optional<HostSet> hosts;  ///< none: members of other jobs
    std::map<Key, PlannedAlgorithm> algorithms;
    Clusters clusters;
    MPI_Comm own = MPI_COMM_NULL;  ///< the same ranks, for our messages alone
};

/// The process's one; never destroyed, as helper().
[[nodiscard]] OwnAlgorithms& own_algorithms();

}  // namespace headway::glue
