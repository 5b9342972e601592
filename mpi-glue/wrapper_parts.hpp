// SPDX-License-Identifier: MIT
// What the generated wrappers are made of.
#pragma once

#include <chrono>
#include <exception>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "by_hand.hpp"
#include "call_sizes.hpp"
#include "exchange.hpp"
#include "exchange_by_clock.hpp"
#include "helper.hpp"
#include "next_function.hpp"
#include "own_algorithms.hpp"
#include "pending_requests.hpp"
#include "real.hpp"
#include "report.hpp"
#include "ring_calls.hpp"
#include "wrapper_table.hpp"

namespace headway::glue {

/// One call of a collective.  `size` is a function, for it costs a few calls that a job
/// which is not paced need not make.
template <class Size>
struct CollectiveCall {
    CollectiveCall(Collective what, MPI_Comm where, const Size& its_size)
        : collective(what), communicator(where), size(its_size) {}

    [[nodiscard]] EntryId enter(Algorithm algorithm = Algorithm::native) const {
        if (!helper().applies_to(communicator)) return not_entered;
        const bool is_linear = algorithm == Algorithm::linear;
        const auto paced_bytes = is_linear ? helper().planned_size(collective.operation, bytes()).bytes : bytes();
        return helper().may_pace(paced_bytes) ? helper().enter(collective, communicator, bytes(), algorithm) : not_entered;
    }
    /// The size, asked for once.  0, too, of one among neighbours for whose list there is no memory.
    [[nodiscard]] std::uint64_t bytes() const noexcept try {
        if (!std::exchange(is_measured_, true)) bytes_ = size();
        return bytes_;
    } catch (const std::exception&) {
        return 0;
    }

    Collective collective;
    MPI_Comm communicator;
    const Size& size;

private:
    mutable std::uint64_t bytes_ = 0;
    mutable bool is_measured_ = false;
};

/// Paced from here to the end of the scope.  Of each thread one such entry is known: a program's error handler may leave
/// the scope by a jump, and then the thread's next call ends what that one had entered.
class Paced {
public:
    /// `enter` is a function that gives an EntryId.
    explicit Paced(const auto& enter) : entry_(this_thread().entered) {
        end();
        entry_ = enter();
    }
    Paced(const Paced&) = delete;
    Paced& operator=(const Paced&) = delete;
    ~Paced() { end(); }

    [[nodiscard]] static bool is_entered() { return this_thread().entered != not_entered; }

private:
    void end() {
        if (entry_ != not_entered) helper().leave(std::exchange(entry_, not_entered));
    }

    EntryId& entry_;
};

/// Says whether the call is the MPI library's, and neither paced nor reported: nothing more is
/// asked.
inline bool is_left_alone(Operation operation, MPI_Comm communicator) {
    const ThreadState& thread = this_thread();
    if (thread.entered != not_entered || reporter().is_on()) return false;
    if (!is_planned(operation)) return true;
    if (!own_algorithms().are_allowed()) return !helper().is_active();
    const OwnState* const state = OwnAlgorithms::remembered(thread, communicator);
    return state != nullptr && state->is_of_library;
}

/// Says whether a call of an operation for which we have an algorithm is left alone, and counts it,
/// if need be.  `bytes` is a function, of a message's size.
bool is_left_alone(Operation operation, MPI_Comm communicator, const auto& bytes) {
    const ThreadState& thread = this_thread();
    if (thread.entered != not_entered) return false;
    OwnState* const state = OwnAlgorithms::remembered(thread, communicator);
    if (state == nullptr) return is_left_alone(operation, communicator);
    Verdict& verdict = state->verdict_on(operation);
    if (verdict.calls_left == 0) return state->is_of_library && !reporter().is_on();
    if (OwnAlgorithms::expects_jumps() || bytes() >= verdict.passes_below_bytes) return false;
    --verdict.calls_left;
    return true;
}

/// Ends a call that was left alone; `arguments` is a function.
int ended(int status, Operation operation, MPI_Comm communicator, const auto& arguments) {
    if (status != MPI_SUCCESS) {
        OwnState* const state = OwnAlgorithms::remembered(this_thread(), communicator);
        own_algorithms().take_back_if_refused(state, operation, communicator, arguments());
    }
    return status;
}

/// `native` is the MPI library's own function with all its arguments.
int blocking(const auto& call, const auto& native) {
    const Paced paced([&] { return call.enter(); });
    const ReportedCall reported(call, Algorithm::native, Paced::is_entered());
    return native();
}

/// By rates for what the ranks tell each other of this very call.
EntryId enter_by_told_sizes(const auto& call, OwnAlgorithms::Chosen& chosen, const Exchange& exchange) {
    const bool is_told = own_algorithms().learn_sizes(chosen, exchange);
    if (chosen.is_by_clock) return not_entered;
    const HostTraffic traffic = is_told ? own_algorithms().told_traffic(chosen) : HostTraffic{};
    if (traffic.empty()) return call.enter(chosen.algorithm);
    const EnteredCall entered = helper().enter_call(call.collective, call.communicator, traffic);
    chosen.told.duration = std::chrono::nanoseconds(static_cast<std::int64_t>(entered.end_s * 1e9));
    return entered.entry;
}

int run_by_told_sizes(const auto& call, OwnAlgorithms::Chosen& chosen, const auto& exchange) {
    using Clock = std::chrono::steady_clock;
    ReportedCall reported(call, chosen.algorithm, false);
    const auto begin = Clock::now();
    const Paced paced([&] { return enter_by_told_sizes(call, chosen, exchange.make()); });
    OwnAlgorithms::note_telling(chosen, Clock::now() - begin);
    reported.set_paced(Paced::is_entered() || chosen.is_by_clock);
    return own_algorithms().run(chosen, exchange);
}

/// Returns the status of a call that an algorithm of ours has carried out.  Nothing may follow it:
/// the program's error handler may throw, jump, or end the process.
int returned(const auto& call, const OwnAlgorithms::Chosen& chosen, int status, const auto& native) {
    if (chosen.is_refused) return native();
    if (status != MPI_SUCCESS) PMPI_Comm_call_errhandler(call.communicator, status);
    return status;
}

/// Returns what this rank sees of its call.
template <class Exchanged>
SeenCall seen_of(const auto& call, const auto& exchange, const OwnCall& own, bool may_tell) {
    SeenCall seen{call.bytes(), false, true};
    const auto arguments = exchange.make();
    if (helper().ranks_pace()) seen.cannot_tell = needs_copies(arguments, own);
    if constexpr (std::is_same_v<Exchanged, Exchange>) {
        if (!may_tell || sizes_agree(call.collective.operation)) return seen;
        seen.is_uneven = are_uneven(arguments, own);
        seen.cannot_tell = arguments.in_place || !are_contiguous(arguments, own);
    }
    return seen;
}

/// `arguments`: a CheckedCall, or a ring's.
int blocking_natively(const auto& call, const OwnAlgorithms::Chosen& chosen, const auto& arguments, const auto& native) {
    const auto take_back_if_refused = [&] {
        return own_algorithms().take_back_if_refused(chosen.state, call.collective.operation, call.communicator, arguments);
    };
    if (OwnAlgorithms::expects_jumps() && take_back_if_refused()) return native();
    const int status = blocking(call, native);
    if (status != MPI_SUCCESS && !OwnAlgorithms::expects_jumps()) take_back_if_refused();
    return status;
}

/// Carries out a call that may go by an algorithm of ours; `exchange` is a CheckedCall.
int blocking(const auto& call, const auto& exchange, const auto& native) {
    using Exchanged = decltype(exchange.make());
    auto chosen = own_algorithms().choose(call.collective, call.communicator, [&](const OwnCall& own, bool may_tell) {
        return seen_of<Exchanged>(call, exchange, own, may_tell);
    });
    if (chosen.algorithm == Algorithm::native) return blocking_natively(call, chosen, exchange, native);
    own_algorithms().check(chosen, call.communicator, exchange);
    int status = MPI_SUCCESS;
    if (chosen.tells_sizes) {
        if constexpr (std::is_same_v<Exchanged, Exchange>) status = run_by_told_sizes(call, chosen, exchange);
    } else {
        const Paced paced([&] { return call.enter(chosen.algorithm); });
        const ReportedCall reported(call, chosen.algorithm, Paced::is_entered() || chosen.is_by_clock);
        status = own_algorithms().run(chosen, exchange);
    }
    return returned(call, chosen, status, native);
}

/// Carries out a call that may go around a ring; for `ring` see ring_calls.hpp.
int blocking_by_ring(const auto& call, const auto& ring, const auto& native) {
    auto chosen = own_algorithms().choose(call.collective, call.communicator,
                                          [&](const OwnCall&, bool) { return SeenCall{ring.step_bytes(), false, true}; });
    if (chosen.algorithm == Algorithm::native) return blocking_natively(call, chosen, ring, native);
    own_algorithms().check(chosen, call.communicator, ring);
    int status = MPI_SUCCESS;
    {
        const Paced paced([&] { return call.enter(chosen.algorithm); });
        const ReportedCall reported(call, chosen.algorithm, Paced::is_entered(), ring.step_bytes);
        status = own_algorithms().run_ring(chosen, ring);
    }
    return returned(call, chosen, status, native);
}

int nonblocking(const auto& call, const MPI_Request* request, const auto& native) {
    const EntryId entry = call.enter();
    auto reported = reporter().request(call, CallForm::nonblocking, entry != not_entered);
    const int status = native();
    if (entry == not_entered && !reported) return status;
    if (status == MPI_SUCCESS) {
        pending_requests().begin(*request, entry, std::move(reported));
    } else if (entry != not_entered) {
        helper().leave(entry);
    }
    return status;
}

inline std::span<const MPI_Request> handles_of(const MPI_Request* request) {
    return {request, request != nullptr ? std::size_t{1} : 0};
}

inline std::span<const MPI_Request> handles_of(int count, const MPI_Request* requests) {
    return {requests, count > 0 && requests != nullptr ? static_cast<std::size_t>(count) : 0};
}

int completing(std::span<const MPI_Request> handles, const auto& native) {
    if (pending_requests().is_quiet()) return native();
    const WaitedRequests taken(handles);
    return native();
}

}  // namespace headway::glue
