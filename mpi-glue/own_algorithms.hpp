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

#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>

#include "argument_check.hpp"
#include "channel.hpp"
#include "exchange.hpp"
#include "operation.hpp"
#include "own_state.hpp"
#include "ring_exchange.hpp"
#include "rooted_exchange.hpp"
#include "told_sizes.hpp"

namespace headway::glue {

class OwnAlgorithms {
public:
    OwnAlgorithms();

    /// From now on; called by all ranks of the job or by none, in MPI_Init.
    void allow() noexcept;
    /// The same, after that; see Carrier::connect_all().
    [[nodiscard]] bool connect_all() noexcept { return allowed_ && carrier_.connect_all(); }

    using State = OwnState;
    /// What all ranks have agreed on.
    struct Chosen {
        Algorithm algorithm = Algorithm::native;
        State* state = nullptr;
        bool tells_sizes = false;  ///< learn_sizes() is worth its time
        ToldCall told{};           ///< what came of it
        CallRates rates{};  ///< by which this rank paces itself
        bool is_by_clock = false;  ///< it does
        bool is_whole = false;     ///< messages have no limit, and are a piece each
        bool is_refused = false;   ///< this rank's arguments, by the MPI library
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
        if (!state->channel) {
            take(state->verdict_on(collective.operation), Algorithm::native, false, false);
            return {};
        }
        return choose_for(collective, communicator, *state, see(call_of(*state, 0), may_tell_sizes(*state)));
    }

    /// Whether it is an intracommunicator; of what is no communicator the program's handler does not hear.
    [[nodiscard]] bool knows(MPI_Comm communicator) const noexcept;
    [[nodiscard]] bool are_allowed() const { return allowed_.load(std::memory_order_relaxed); }
    /// What this thread has seen of it; null: nothing.
    [[nodiscard]] static State* remembered(const ThreadState& thread, MPI_Comm communicator) noexcept {
        return thread.find(communicator, forgotten_.load(std::memory_order_acquire));
    }

    /// The program has error handlers of its own, which may leave a call by a jump: then nobody would hear that the
    /// library has refused it.  So such a program's arguments are looked at before each call.
    static void expect_jumps() noexcept { expects_jumps_.store(true, std::memory_order_relaxed); }
    [[nodiscard]] static bool expects_jumps() { return expects_jumps_.load(std::memory_order_relaxed); }

    /// The ranks tell each other who sends how much to whom; false if that went wrong.  Where they pace themselves,
    /// they know from that how long it takes.  Collective over the communicator.
    [[nodiscard]] bool learn_sizes(Chosen& chosen, const Exchange& exchange) noexcept;
    /// What came of it by host, places in the communicator's hosts; empty if that went wrong.
    [[nodiscard]] static HostTraffic told_traffic(const Chosen& chosen) noexcept;
    /// How long that took, with the daemon's answer.
    static void note_telling(const Chosen& chosen, std::chrono::nanoseconds telling) noexcept;

    /// Of a call that is native: whether the MPI library will refuse its arguments, or has done so.  Then it is no call, for
    /// the other ranks wait for another one of this rank.
    bool take_back_if_refused(State* state, Operation operation, MPI_Comm communicator,
                                     const auto& arguments) const noexcept {
        const bool is_refused = state != nullptr && !state->is_of_library &&
                                !arguments.is_acceptable(ArgumentCheck(carrier_.lonely(), communicator));
        if (is_refused) state->take_back(operation);
        return is_refused;
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
    [[nodiscard]] bool tell_rates(const Verdict& verdict, Operation operation, std::uint32_t number, State& state) noexcept;
    [[nodiscard]] static bool may_tell_sizes(const State& state) noexcept;

    /// Null: the communicator is the MPI library's, at all its ranks.
    [[nodiscard]] State* state_of(MPI_Comm communicator) noexcept;
    [[nodiscard]] State* find_or_make(MPI_Comm communicator) noexcept;
    [[nodiscard]] State* make(MPI_Comm communicator) noexcept;
    [[nodiscard]] Chosen choose_for(const Collective& collective, MPI_Comm communicator, State& state,
                                    const SeenCall& seen) noexcept;
    void agree(const Collective& collective, MPI_Comm communicator, State& state) noexcept;
    static void take(Verdict& verdict, Algorithm algorithm, bool tells, bool by_clock) noexcept;
    void renew_channel(MPI_Comm communicator, State& state) noexcept;
    [[nodiscard]] OwnCall call_of(const State& state, std::uint32_t number) noexcept;
    [[nodiscard]] OwnCall next_call(State& state) noexcept;
    static void note_refused(State& state) noexcept;
    [[nodiscard]] static HostRing ring_of(const State& state) noexcept;
    [[nodiscard]] static bool* missing_of(State& state) noexcept;
    void forget(State& state) noexcept;

    static int forget_communicator(MPI_Comm, int, void* value, void*);

    // Each call looks at these two, wherever the object is; a handler may be made before there is one.
    static inline constinit std::atomic<bool> expects_jumps_{false};
    static inline constinit std::atomic<std::uint64_t> forgotten_{0};  ///< communicators; see FoundState
    std::atomic<bool> allowed_{false};
    Carrier carrier_;
    int key_ = MPI_KEYVAL_INVALID;
    State not_ours_;  ///< of communicators that are the MPI library's
};

/// See the_only(), short_memory.hpp.
[[nodiscard]] OwnAlgorithms& own_algorithms();

}  // namespace headway::glue
