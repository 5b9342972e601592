// SPDX-License-Identifier: MIT
// Which algorithm a collective takes, and taking it.
//
// All ranks of a communicator must take the same one, and their daemons may plan
// differently, or be gone: what rank 0 of the communicator is told holds for
// all.  There is one agreement for everything that a communicator has been used for: in
// it rank 0 tells the others an algorithm for each (operation, root's host, size class)
// that there has been.  They agree when one of these is new, and again when one has been
// called calls_per_agreement times since: plans change as other jobs come and go.  Whether the ranks
// talk about it at all depends only on what all of them know.  Every rank then asks its
// own daemon for the rates of that very algorithm.
//
// Where ranks do not know each other's sizes, they agree on the largest message of
// any of them since they agreed last: if that is small, the next calls are the MPI
// library's own, for it would be a waste to have all of them talk in each call.
//
// They agree over the program's communicator, just before the collective itself,
// where every rank must come by: a communicator of our own costs several such
// agreements, and is made only when an algorithm of ours has been agreed on.
//
// They agree, too, on whether the messages of such calls are of very different sizes.  Then, in
// each call, they tell each other who sends how much to whom (told_sizes.hpp), and every rank asks
// its own daemon for the rates of that.  If that took longer for every rank, also the one that came
// last and waited for nobody, than the call is planned to take, they do so no more.
//
// Arguments that the MPI library would refuse are left to it before all that
// (argument_check.hpp).  When agreeing fails, the communicator is the MPI library's
// from then on.  All ranks are told if only one cannot have the communicator of our
// own; a rank that could not hear of the choice itself no algorithm can help.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "able_algorithm.hpp"
#include "argument_check.hpp"
#include "exchange.hpp"
#include "host_table.hpp"
#include "operation.hpp"
#include "ring_exchange.hpp"
#include "rooted_exchange.hpp"
#include "session.hpp"
#include "told_sizes.hpp"

namespace headway::glue {

/// To agree is one broadcast, or one allreduce where ranks do not know each other's sizes, of
/// 8 or 16 bytes for each kind of call: a small part of so many calls.
inline constexpr std::uint64_t calls_per_agreement = 16;

/// Communicators of our own that a process has at most, for MPI libraries have only
/// some thousands, which the program may need.
inline constexpr std::size_t own_communicators_max = 256;

class OwnAlgorithms {
public:
    /// From now on; called by all ranks of the job or by none.
    void allow() noexcept;

    /// Makes our own communicator now and not in the first collective that needs it.
    /// Collective over `communicator`.
    void open_early(MPI_Comm communicator) noexcept;

    /// Kept as an attribute of each communicator that was seen.
    struct Choices;
    /// What all ranks have agreed on.
    struct Chosen {
        Algorithm algorithm = Algorithm::native;
        Choices* choices = nullptr;
        bool tells_sizes = false;  ///< learn_sizes() is worth its time
        ToldCall told{};           ///< what came of it
    };

    /// `bytes` is a function: the size per pair; `exchange` a CheckedCall.
    [[nodiscard]] Chosen choose(const Collective& collective, MPI_Comm communicator,
                                const auto& bytes, const auto& exchange) noexcept {
        if (!allowed_ || !is_of_one_group(communicator)) return {};
        const std::uint64_t size = bytes();
        if (!may_be_ours(collective.operation, size)) return {};
        if (!exchange.is_acceptable(ArgumentCheck(asked_on_, communicator))) return {};
        return choose_for(collective, communicator, size,
                          [&] { return has_uneven_messages(exchange.make(), communicator); });
    }

    /// Of an operation that a ring can carry out; `step_bytes` is a function.  Native, too,
    /// where others may use the ring's links at the same time.
    [[nodiscard]] Chosen choose_ring(const Collective& collective, MPI_Comm communicator,
                                     const auto& step_bytes, const auto& is_acceptable) noexcept {
        if (!allowed_ || !is_on_its_own(communicator)) return {};
        const std::uint64_t bytes = step_bytes();
        if (!may_be_ours(collective.operation, bytes)) return {};
        if (!is_acceptable(ArgumentCheck(asked_on_, communicator))) return {};
        return choose_for(collective, communicator, bytes, [] { return false; });
    }

    /// The ranks tell each other who sends how much to whom.  What comes of it by host, places in
    /// the communicator's hosts; empty if that went wrong.  Collective over the communicator.
    [[nodiscard]] HostTraffic learn_sizes(Chosen& chosen, const Exchange& exchange) noexcept;
    /// How long that took, with the daemon's answer.
    static void note_telling(const Chosen& chosen, std::chrono::nanoseconds telling) noexcept;

    /// A status of MPI; `chosen` is none of native.
    [[nodiscard]] int run(const Chosen& chosen, MPI_Comm communicator,
                          const Exchange& exchange) noexcept;
    [[nodiscard]] int run(const Chosen& chosen, MPI_Comm communicator,
                          const RootedExchange& exchange) noexcept;
    /// `carry_out_ring` is a function of the HostRing and an OwnCall.
    [[nodiscard]] int run_ring(const Chosen& chosen, MPI_Comm communicator,
                               const auto& carry_out_ring) noexcept;

    /// MPI is about to be finalised.
    void release() noexcept;

private:
    [[nodiscard]] static bool is_on_its_own(MPI_Comm communicator) noexcept;
    [[nodiscard]] static bool has_uneven_messages(const Exchange& exchange,
                                                  MPI_Comm communicator);
    [[nodiscard]] static bool has_uneven_messages(const RootedExchange&, MPI_Comm) { return false; }
    /// `is_uneven` is asked only where that can be of use.
    [[nodiscard]] Chosen choose_for(const Collective& collective, MPI_Comm communicator,
                                    std::uint64_t bytes,
                                    const std::function<bool()>& is_uneven) noexcept;
    [[nodiscard]] static bool may_be_ours(Operation operation, std::uint64_t bytes) noexcept;
    [[nodiscard]] static int told(MPI_Comm communicator, int status) noexcept;
    [[nodiscard]] static int carry_out(MPI_Comm communicator, const auto& algorithm) noexcept try {
        return told(communicator, algorithm());
    } catch (const std::exception&) {
        return told(communicator, MPI_ERR_NO_MEM);
    }
    [[nodiscard]] Choices* choices_of(MPI_Comm communicator);
    struct Call;
    struct Verdict;
    static void ask_daemon(const Call& call, const HostSet& hosts, Verdict& verdict);
    [[nodiscard]] static bool can_tell_sizes(MPI_Comm communicator, const Choices& choices);
    void agree(MPI_Comm communicator, Choices& choices);
    void take_verdicts(const std::vector<std::uint64_t>& words, MPI_Comm communicator,
                       Choices& choices);
    void open(MPI_Comm communicator, Choices& choices);
    [[nodiscard]] bool has_room_for_one_more();
    void close(Choices& choices);
    static int forget_communicator(MPI_Comm, int, void* value, void*);

    std::atomic<bool> allowed_{false};
    MPI_Comm asked_on_ = MPI_COMM_NULL;  ///< this process alone; see argument_check.hpp
    std::mutex mutex_;  ///< guards what follows
    int key_ = MPI_KEYVAL_INVALID;
    std::set<Choices*> opened_;
};

/// What all ranks that make this call know of it.
struct OwnAlgorithms::Call {
    Operation operation = Operation::alltoall;
    int root_host = no_root;
    std::size_t size_class = 0;  ///< 0, too, where ranks do not know each other's sizes

    friend auto operator<=>(const Call&, const Call&) = default;
};

/// How such calls are carried out.
struct OwnAlgorithms::Verdict {
    Algorithm algorithm = Algorithm::native;  ///< agreed on
    Algorithm able = Algorithm::native;       ///< the one of ours that it may be
    Algorithm planned = Algorithm::native;    ///< at rank 0: what its daemon said last
    AskedAt asked;                            ///< by rank 0
    std::uint64_t calls = 0;                  ///< since the last agreement
    /// Of this rank's messages in these calls, or in the last ones if there are none.
    std::uint64_t largest_bytes = 0;
    bool is_uneven = false;    ///< these messages, of this rank
    bool tells_sizes = false;  ///< agreed on
    bool is_told = false;  ///< there was an agreement

    void note(std::uint64_t bytes, bool uneven) {
        const bool is_first = calls++ == 0;
        largest_bytes = is_first ? bytes : std::max(largest_bytes, bytes);
        is_uneven = uneven || (is_uneven && !is_first);
    }
    void take(Algorithm agreed, bool by_told_sizes) {
        algorithm = agreed;
        tells_sizes = by_told_sizes && agreed == Algorithm::linear;
        calls = 0;
        is_told = true;
    }
};

struct OwnAlgorithms::Choices {
    /// None: members of other jobs, or something has failed; all calls are the MPI library's.
    std::optional<HostSet> hosts;
    std::map<Call, Verdict> verdicts;  ///< of the same calls at all ranks
    std::optional<ExchangeOrder> order;  ///< none: there were no `hosts` from the start
    std::vector<int> host_of_rank;  ///< places in `hosts`
    bool telling_paid = true;       ///< for this rank, the last time
    MPI_Comm own = MPI_COMM_NULL;  ///< the same ranks, for our messages alone
    std::uint32_t calls = 0;       ///< on `own`

    [[nodiscard]] OwnCall next_call() { return {own, calls++}; }
};

int OwnAlgorithms::run_ring(const Chosen& chosen, MPI_Comm communicator,
                            const auto& carry_out_ring) noexcept {
    Choices& choices = *chosen.choices;
    const OwnCall call = choices.next_call();
    return carry_out(communicator, [&] {
        return carry_out_ring(HostRing(choices.order->ranks_of_host(), place_in(communicator).rank), call);
    });
}

/// The process's one; never destroyed, as helper().
[[nodiscard]] OwnAlgorithms& own_algorithms();

}  // namespace headway::glue
