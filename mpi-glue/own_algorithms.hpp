// SPDX-License-Identifier: MIT
// Which algorithm a collective takes, and taking it.
//
// All ranks of a communicator must take the same one, and whether one of them takes part must not depend on anything that
// it knows alone: its arguments, its memory, its daemon.  So the rule is:
//
//   What decides who carries a call out is the communicator, the operation, and how often that operation has been
//   called on it.  A rank's arguments change what the rank returns, never whether it takes part.
//
// For each operation the ranks agree at its first call, and then again after calls_per_agreement calls; after 4, 8 and
// so on, where the calls are the MPI library's.  What they agree on holds for all calls until then, of whatever size:
// what rank 0's daemon plans for the largest messages since the last agreement, if at least half of the calls had
// messages large enough for an algorithm of ours.  Plans change as other jobs come and go.  Every rank then asks its own
// daemon for the rates of that very algorithm.
//
// They agree, too, on whether the messages of such calls are of very different sizes.  Then, in each call, they tell each
// other who sends how much to whom (told_sizes.hpp), and every rank asks its own daemon for the rates of that.  If that
// took longer for every rank, also the one that came last and waited for nobody, than the call is planned to take, they
// do so no more.
//
// Agreements and algorithms go over a channel (channel.hpp), whose number the ranks agree on at the first call of any such
// operation on the communicator.  A rank that has no memory for what it needs says so there; then the communicator is the
// MPI library's for all ranks, from then on.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <vector>

#include "able_algorithm.hpp"
#include "argument_check.hpp"
#include "channel.hpp"
#include "exchange.hpp"
#include "host_table.hpp"
#include "operation.hpp"
#include "ring_exchange.hpp"
#include "rooted_exchange.hpp"
#include "session.hpp"
#include "told_sizes.hpp"

namespace headway::glue {

/// To agree takes a few small messages one after the other (agree_on_largest()): a small part of so many calls.
inline constexpr std::uint32_t calls_per_agreement = 16;
/// Of operations that are the MPI library's the next agreement is after twice as many calls as the last one, but not more.
inline constexpr std::uint32_t calls_per_agreement_max = 64;

/// What one rank sees of its own call.
struct SeenCall {
    std::uint64_t bytes = 0;   ///< of a message, or of a ring's step
    bool is_uneven = false;    ///< messages differ so much that it is worth telling each other
    bool cannot_tell = false;  ///< of such messages this rank would need copies
};

/// What is kept of a communicator as its attribute, from its first such call on.
struct OwnState;

/// What a thread found of a communicator, as long as none has been forgotten since.
struct FoundState {
    MPI_Comm communicator{};
    std::uint64_t forgotten = 0;
    OwnState* state = nullptr;  ///< null: nothing yet
};

/// Of one thread, in one piece: to find it takes ten instructions.
struct ThreadState {
    EntryId entered = not_entered;  ///< see Paced
    std::array<FoundState, 16> found{};

    /// Of the few communicators that a program calls by turns.
    [[nodiscard]] FoundState& place_of(MPI_Comm communicator) {
        const auto handle = (std::uint64_t)communicator;  // a number, or an address
        return found[handle * 0x9e3779b97f4a7c15 >> 60U];  // four bits of a product that has mixed them all
    }
};

[[nodiscard]] inline ThreadState& this_thread() {
    static thread_local constinit ThreadState state;
    return state;
}

class OwnAlgorithms {
public:
    OwnAlgorithms();

    /// From now on; called by all ranks of the job or by none, in MPI_Init.
    void allow() noexcept;

    using State = OwnState;
    /// What all ranks have agreed on.
    struct Chosen {
        Algorithm algorithm = Algorithm::native;
        State* state = nullptr;
        bool tells_sizes = false;  ///< learn_sizes() is worth its time
        ToldCall told{};           ///< what came of it
        bool is_refused = false;   ///< this rank's arguments, by the MPI library
        Operation operation = Operation::alltoall;
    };

    /// Of a call that is not native, before anything is done with its arguments; `arguments` is a CheckedCall or a RingCall.
    void check(Chosen& chosen, MPI_Comm communicator, const auto& arguments) const noexcept {
        chosen.is_refused = !arguments.is_acceptable(ArgumentCheck(carrier_.lonely(), communicator));
    }

    /// Every rank comes here in every call of an operation that has an algorithm of ours.  `see` gives a SeenCall: a function
    /// of an OwnCall, and of whether ranks may tell each other sizes.
    [[nodiscard]] Chosen choose(const Collective& collective, MPI_Comm communicator, const auto& see) noexcept {
        State* const state = allowed_ ? state_of(communicator) : nullptr;
        if (state == nullptr) return {};
        return choose_for(collective, communicator, *state, see(call_of(*state, 0), may_tell_sizes(*state)));
    }

    /// Whether it is an intracommunicator; of what is no communicator the program's handler does not hear.
    [[nodiscard]] bool knows(MPI_Comm communicator) const noexcept;
    /// At all its ranks: it is on one host, or has ranks of other jobs, and this thread has seen so.
    [[nodiscard]] bool leaves_alone(MPI_Comm communicator) const noexcept {
        return are_allowed() && remembered(communicator) == not_ours_;
    }
    [[nodiscard]] bool are_allowed() const { return allowed_.load(std::memory_order_relaxed); }

    /// The ranks tell each other who sends how much to whom.  What comes of it by host, places in the communicator's
    /// hosts; empty if that went wrong.  Collective over the communicator.
    [[nodiscard]] HostTraffic learn_sizes(Chosen& chosen, const Exchange& exchange) noexcept;
    /// How long that took, with the daemon's answer.
    static void note_telling(const Chosen& chosen, std::chrono::nanoseconds telling) noexcept;

    /// Of a call that is native and has not succeeded.  What the MPI library refuses is no call: the other ranks wait for
    /// another one of this rank.
    void note_failed(const Chosen& chosen, MPI_Comm communicator, const auto& arguments) const noexcept {
        if (chosen.state != nullptr && !arguments.is_acceptable(ArgumentCheck(carrier_.lonely(), communicator)))
            take_back(chosen);
    }

    /// A status of MPI; `checked`: a CheckedCall of an Exchange or a RootedExchange.  `chosen` is checked and not native.
    [[nodiscard]] int run(const Chosen& chosen, const auto& checked) noexcept {
        return carry_out(chosen, checked,
                         [&](const OwnCall& call) { return carry_out_exchange(chosen, checked.make(), call); });
    }
    /// The same of a RingCall.
    [[nodiscard]] int run_ring(const Chosen& chosen, const auto& ring) noexcept {
        return carry_out(chosen, ring, [&](const OwnCall& call) {
            return ring.carry_out(ring_of(*chosen.state), call, chosen.is_refused, missing_of(*chosen.state));
        });
    }

    /// MPI is about to be finalised.
    void release() noexcept;

private:
    [[nodiscard]] int carry_out(const Chosen& chosen, const auto& arguments, const auto& algorithm) noexcept {
        const OwnCall call = next_call(*chosen.state);
        int status = algorithm(call);
        if (!chosen.is_refused && arguments.is_aliased(call.rank)) keep_first_error(status, MPI_ERR_BUFFER);
        if (chosen.is_refused) note_refused(*chosen.state);
        return status;
    }
    [[nodiscard]] static int carry_out_exchange(const Chosen& chosen, const Exchange& exchange,
                                                const OwnCall& call) noexcept;
    [[nodiscard]] static int carry_out_exchange(const Chosen& chosen, const RootedExchange& exchange,
                                                const OwnCall& call) noexcept;
    [[nodiscard]] static bool may_tell_sizes(const State& state) noexcept;

    /// Null: the communicator is the MPI library's, at all its ranks.
    [[nodiscard]] State* state_of(MPI_Comm communicator) noexcept;
    [[nodiscard]] State* find_or_make(MPI_Comm communicator) noexcept;
    /// Null: nothing.
    [[nodiscard]] State* remembered(MPI_Comm communicator) const noexcept {
        const FoundState& found = this_thread().place_of(communicator);
        const bool holds = found.communicator == communicator && found.forgotten == forgotten_.load(std::memory_order_acquire);
        return holds ? found.state : nullptr;
    }
    [[nodiscard]] State* make(MPI_Comm communicator) noexcept;
    [[nodiscard]] Chosen choose_for(const Collective& collective, MPI_Comm communicator, State& state,
                                    const SeenCall& seen) noexcept;
    void agree(const Collective& collective, MPI_Comm communicator, State& state) noexcept;
    void renew_channel(MPI_Comm communicator, State& state) noexcept;
    [[nodiscard]] OwnCall call_of(const State& state, std::uint32_t number) noexcept;
    [[nodiscard]] OwnCall next_call(State& state) noexcept;
    static void take_back(const Chosen& chosen) noexcept;
    static void note_refused(State& state) noexcept;
    [[nodiscard]] static HostRing ring_of(const State& state) noexcept;
    [[nodiscard]] static bool* missing_of(State& state) noexcept;
    void forget(State& state) noexcept;

    static int forget_communicator(MPI_Comm, int, void* value, void*);

    std::atomic<bool> allowed_{false};
    Carrier carrier_;
    int key_ = MPI_KEYVAL_INVALID;
    State* const not_ours_;  ///< of communicators that are the MPI library's; as long as the process
    std::atomic<std::uint64_t> forgotten_{0};  ///< communicators; what a thread remembers of one may be of another then
};

/// The process's one; never destroyed, as helper().
[[nodiscard]] OwnAlgorithms& own_algorithms();

}  // namespace headway::glue
