// SPDX-License-Identifier: MIT
// What is kept of a communicator, of what the ranks agreed on and what this rank has seen since (own_algorithms.hpp), and
// how a thread finds it.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "clocked_call.hpp"
#include "exchange_order.hpp"
#include "host_table.hpp"
#include "network_links.hpp"
#include "operation.hpp"
#include "rank_rates.hpp"
#include "session.hpp"
#include "told_sizes.hpp"

namespace headway::glue {

/// To agree takes a few small messages one after the other (agree_on_largest()): a small part of so many calls.
inline constexpr std::uint32_t calls_per_agreement = 16;
/// Of operations that are the MPI library's the next agreement is after twice as many calls as the last one, in these limits.
inline constexpr std::uint32_t calls_per_agreement_least = 4, calls_per_agreement_max = 64;

/// Those that have an algorithm of ours come first.
inline constexpr std::size_t own_operations = static_cast<std::size_t>(Operation::bcast) + 1;

/// What one rank sees of its own call.
struct SeenCall {
    std::uint64_t bytes = 0;   ///< of a message, or of a ring's step
    bool is_uneven = false;    ///< messages differ so much that it is worth telling each other
    bool cannot_tell = false;  ///< of such messages, or of pieces of them, this rank would need copies
};

/// How calls of one operation are carried out.
struct Verdict {
    Algorithm algorithm = Algorithm::native;
    bool tells_sizes = false;
    bool is_by_clock = false;        ///< each rank paces by itself, by the state's rates
    bool is_told = false;            ///< to the user, if verbose
    std::uint64_t large_from_bytes = 0;  ///< from which size on an algorithm of ours may carry a call out
    /// A call with smaller messages is the library's and not paced: it is counted, and nothing else.
    std::uint64_t passes_below_bytes = 0;
    std::uint32_t calls = 1;       ///< to the next agreement, with that before which it comes; the same at all ranks
    std::uint32_t calls_left = 0;  ///< of these

    // Since the last agreement, at this rank; calls that the MPI library has refused may be among them.
    std::uint32_t large_calls = 0;
    std::uint64_t largest_bytes = 0;
    bool is_uneven = false;
    bool cannot_tell = false;

    // At rank 0: what its daemon said last, and of what it was asked.
    Algorithm planned = Algorithm::native;
    const NodeRates* planned_rates = nullptr;  ///< of a planner of the job's own; null: there are none
    AskedAt asked;
    std::pair<int, std::size_t> asked_of{no_root, 0};  ///< the root's host, and the class of size

    void note(const SeenCall& seen) {
        if (seen.bytes >= large_from_bytes) ++large_calls;
        largest_bytes = std::max(largest_bytes, seen.bytes);
        is_uneven = is_uneven || seen.is_uneven;
        cannot_tell = cannot_tell || seen.cannot_tell;
    }
    void take(Algorithm agreed, bool tells, bool by_clock, std::uint64_t paced_from_bytes) {
        algorithm = agreed;
        is_by_clock = by_clock && agreed == Algorithm::linear;
        passes_below_bytes = agreed == Algorithm::native ? std::min(large_from_bytes, paced_from_bytes) : 0;
        tells_sizes = tells;
        const std::uint32_t more = std::clamp(2 * calls, calls_per_agreement_least, calls_per_agreement_max);
        calls = calls_left = agreed != Algorithm::native ? calls_per_agreement : more;
        large_calls = 0;
        largest_bytes = 0;
        is_uneven = cannot_tell = false;
    }
};

/// Of a communicator whose ranks may pace themselves: who is where, and how fast this rank may send.
struct OwnClocks {
    std::vector<int> cluster_of_rank;  ///< see ClockedPlace; empty: no rank paces by itself
    std::size_t own_cluster = 0, cluster_count = 0;
    std::uint64_t ranks_here = 1;      ///< of this rank's node
    std::vector<std::uint64_t> told;   ///< room for NodeRates: the frames of a piece, then the rates
    std::array<RankRates, own_operations> rates{};
    std::optional<LinkLoads> loads;    ///< none: ranks cannot tell how long a call takes

    /// May throw std::bad_alloc.
    void describe(const RanksByCluster& clusters, int own_rank, std::size_t ranks);

    [[nodiscard]] RankRates& of(Operation operation) { return rates[static_cast<std::size_t>(operation)]; }
    /// How long the messages of a call take, at least; with `loads`.
    [[nodiscard]] std::chrono::nanoseconds duration_of(const SizeTable& sizes, const std::vector<int>& host_of_rank,
                                                       std::uint64_t piece_bytes) noexcept;

    /// To be told.
    void put(const NodeRates& planned) noexcept;
    /// What has been told: of a node's rates the part that this rank has.
    void take(Operation operation, std::uint32_t number) noexcept;
};

/// A communicator's attribute, from its first such call on.
struct OwnState {
    bool is_of_library = false;  ///< at all ranks: they are on one host, or some are of other jobs
    std::optional<int> channel;  ///< none: all calls are the MPI library's
    std::uint32_t calls_on_channel = 0;
    bool needs_channel = false;  ///< what went wrong at this rank may have left a message in it

    HostSet hosts;
    std::vector<int> host_of_rank;   ///< places in `hosts`
    std::vector<int> carrier_ranks;  ///< by rank
    std::optional<ExchangeOrder> order;
    std::unique_ptr<bool[]> missing;  ///< by rank; see ring_allgather() and ClockedPlace
    OwnClocks clocks;
    SizeTable sizes;                  ///< of no ranks: there are too many to tell each other
    int rank = 0;
    bool has_links_alone = false;
    bool telling_paid = true;  ///< for this rank, the last time
    std::array<Verdict, own_operations> verdicts{};

    /// May throw std::bad_alloc.  `communicator` has ranks on several hosts, and all of the job.
    void describe(MPI_Comm communicator, HostSet&& its_hosts);

    [[nodiscard]] Verdict& verdict_on(Operation operation) { return verdicts[static_cast<std::size_t>(operation)]; }

    /// A native call that was none after all.
    void take_back(Operation operation) { ++verdict_on(operation).calls_left; }
};

/// What a thread found of a communicator, as long as none has been forgotten since.
struct FoundState {
    MPI_Comm communicator{};
    std::uint64_t forgotten = 0;
    OwnState* state = nullptr;  ///< null: nothing yet
};

/// Of one thread, in one piece: to find it takes ten instructions.
class ThreadState {
public:
    EntryId entered = not_entered;  ///< see Paced

    /// Null: nothing.  `forgotten`: communicators so far; what is known of one from before may be of another.
    [[nodiscard]] OwnState* find(MPI_Comm communicator, std::uint64_t forgotten) const {
        for (const FoundState& one : found_[place_of(communicator)]) {
            if (one.communicator == communicator && one.forgotten == forgotten) return one.state;
        }
        return nullptr;
    }
    void keep(const FoundState& one) {
        Four& four = found_[place_of(one.communicator)];
        std::copy_backward(four.begin(), four.end() - 1, four.end());
        four.front() = one;
    }

private:
    using Four = std::array<FoundState, 4>;

    /// Of the few communicators that a program calls by turns.
    [[nodiscard]] static std::size_t place_of(MPI_Comm communicator) {
        const auto handle = (std::uint64_t)communicator;  // a number, or an address
        return handle * 0x9e3779b97f4a7c15 >> 61U;  // three bits of a product that has mixed them all
    }

    std::array<Four, 8> found_{};  ///< those of one place, the newest first
};

[[nodiscard]] inline ThreadState& this_thread() {
    static thread_local constinit ThreadState state;
    ThreadState* found = &state;
    asm("" : "+r"(found));  // else the compiler has it looked up again wherever it is used
    return *found;
}

}  // namespace headway::glue
