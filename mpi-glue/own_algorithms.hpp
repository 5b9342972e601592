// SPDX-License-Identifier: MIT
// Which algorithm a collective takes, and taking it.
//
// All ranks of a communicator must take the same one, and their daemons may plan
// differently, or be gone: what rank 0 of the communicator is told holds for
// all.  It broadcasts that at the first use of (communicator, operation, root's host,
// size class), and again every calls_per_agreement calls: plans change as other
// jobs come and go.  Whether there is a broadcast at all depends only on what all
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
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "exchange.hpp"
#include "host_table.hpp"
#include "operation.hpp"
#include "ring_exchange.hpp"
#include "rooted_exchange.hpp"
#include "session.hpp"

namespace headway::glue {

/// Per pair or step, where all ranks know the size; smaller exchanges are the MPI
/// library's.  Not the daemon's to say: nodes must agree without talking.
inline constexpr std::uint64_t own_from_bytes = 2048;

/// A broadcast of two numbers is a small part of so many such collectives.
inline constexpr std::uint64_t calls_per_agreement = 16;

class OwnAlgorithms {
public:
    /// From now on; called by all ranks of the job or by none.
    void allow() { allowed_ = true; }

    /// Makes our own communicator now and not in the first collective that needs it.
    /// Collective over `communicator`.
    void open_early(MPI_Comm communicator) noexcept;

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

    /// Of an operation that a ring can carry out; `step_bytes` is a function.  Native, too,
    /// where others may use the ring's links at the same time.
    [[nodiscard]] Chosen choose_ring(const Collective& collective, MPI_Comm communicator,
                                     const auto& step_bytes) noexcept {
        if (!allowed_ || !is_on_its_own(communicator)) return {};
        const std::uint64_t bytes = step_bytes();
        if (bytes < own_from_bytes) return {};
        return choose_for(collective, communicator, bytes);
    }

    /// A status of MPI; `chosen` is none of native.  `paced`: this rank has entered.
    [[nodiscard]] int run(const Chosen& chosen, MPI_Comm communicator, const Exchange& exchange,
                          bool paced) noexcept;
    [[nodiscard]] int run(const Chosen& chosen, MPI_Comm communicator,
                          const RootedExchange& exchange, bool paced) noexcept;
    /// `carry_out_ring` is a function of the Ring and our communicator.
    [[nodiscard]] int run_ring(const Chosen& chosen, MPI_Comm communicator,
                               const auto& carry_out_ring) noexcept;

    /// MPI is about to be finalised.
    void release() noexcept;

private:
    [[nodiscard]] static bool is_on_its_own(MPI_Comm communicator) noexcept;
    [[nodiscard]] Chosen choose_for(const Collective& collective, MPI_Comm communicator,
                                    std::optional<std::uint64_t> bytes) noexcept;
    [[nodiscard]] static int told(MPI_Comm communicator, int status) noexcept;
    [[nodiscard]] static int carry_out(MPI_Comm communicator, const auto& algorithm) noexcept try {
        return told(communicator, algorithm());
    } catch (const std::exception&) {
        return told(communicator, MPI_ERR_NO_MEM);
    }
    [[nodiscard]] Choices* choices_of(MPI_Comm communicator);
    struct Agreement;
    void agree(PatternKey key, std::optional<std::uint64_t> bytes, MPI_Comm communicator,
               Choices& choices, Agreement& agreement);
    void open(MPI_Comm communicator, Choices& choices);
    void close(Choices& choices);
    static int forget_communicator(MPI_Comm, int, void* value, void*);

    std::atomic<bool> allowed_{false};
    std::mutex mutex_;  ///< guards what follows
    int key_ = MPI_KEYVAL_INVALID;
    std::set<Choices*> opened_;
};

struct OwnAlgorithms::Agreement {
    PlannedAlgorithm on;
    std::uint64_t calls = 0;
    AskedAt asked;  ///< by rank 0
};

struct OwnAlgorithms::Choices {
    /// Operation, the root's host, size class.
    using Key = std::tuple<Operation, int, std::size_t>;

    std::optional<HostSet> hosts;  ///< none: members of other jobs
    std::map<Key, Agreement> agreements;
    Clusters clusters;
    std::vector<int> ring;
    MPI_Comm own = MPI_COMM_NULL;  ///< the same ranks, for our messages alone
};

int OwnAlgorithms::run_ring(const Chosen& chosen, MPI_Comm communicator,
                            const auto& carry_out_ring) noexcept {
    const Choices& choices = *chosen.choices;
    return carry_out(communicator, [&] {
        return carry_out_ring(Ring(choices.ring, place_in(communicator).rank), choices.own);
    });
}

/// The process's one; never destroyed, as helper().
[[nodiscard]] OwnAlgorithms& own_algorithms();

}  // namespace headway::glue
