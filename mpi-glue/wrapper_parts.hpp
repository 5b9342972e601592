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
        const std::uint64_t paced_bytes =
            algorithm == Algorithm::node_aware ? helper().bytes_between_hosts(bytes()) : bytes();
        return helper().may_pace(paced_bytes)
                   ? helper().enter(collective, communicator, paced_bytes, algorithm)
                   : not_entered;
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

/// Paced from here to the end of the scope.
class Paced {
public:
    explicit Paced(const auto& call, Algorithm algorithm = Algorithm::native)
        : entry_(call.enter(algorithm)) {}
    explicit Paced(EntryId entry) : entry_(entry) {}
    Paced(const Paced&) = delete;
    Paced& operator=(const Paced&) = delete;
    ~Paced() {
        if (is_entered()) helper().leave(entry_);
    }

    [[nodiscard]] bool is_entered() const { return entry_ != not_entered; }

private:
    EntryId entry_;
};

/// `native` is the MPI library's own function with all its arguments.
int blocking(const auto& call, const auto& native) {
    const Paced paced(call);
    const ReportedCall reported(call, Algorithm::native, paced.is_entered());
    return native();
}

/// By rates for what the ranks tell each other of this very call.
EntryId enter_by_told_sizes(const auto& call, OwnAlgorithms::Chosen& chosen,
                            const Exchange& exchange) {
    const HostTraffic traffic = own_algorithms().learn_sizes(chosen, exchange);
    if (traffic.empty()) return call.enter(chosen.algorithm);
    const EnteredCall entered = helper().enter_call(call.collective, call.communicator, traffic);
    chosen.told.duration = std::chrono::nanoseconds(static_cast<std::int64_t>(entered.end_s * 1e9));
    return entered.entry;
}

int blocking_by_told_sizes(const auto& call, OwnAlgorithms::Chosen& chosen,
                           const Exchange& exchange) {
    using Clock = std::chrono::steady_clock;
    ReportedCall reported(call, chosen.algorithm, false);
    const auto begin = Clock::now();
    const Paced paced(enter_by_told_sizes(call, chosen, exchange));
    OwnAlgorithms::note_telling(chosen, Clock::now() - begin);
    reported.set_paced(paced.is_entered());
    return own_algorithms().run(chosen, call.communicator, exchange);
}

/// With `exchange`, a CheckedCall.
int blocking(const auto& call, const auto& exchange, const auto& native) {
    const auto bytes = [&] { return call.bytes(); };
    auto chosen = own_algorithms().choose(call.collective, call.communicator, bytes, exchange);
    if constexpr (std::is_same_v<decltype(exchange.make()), Exchange>) {
        if (chosen.tells_sizes) return blocking_by_told_sizes(call, chosen, exchange.make());
    }
    const Paced paced(call, chosen.algorithm);
    const ReportedCall reported(call, chosen.algorithm, paced.is_entered());
    if (chosen.algorithm == Algorithm::native) return native();
    return own_algorithms().run(chosen, call.communicator, exchange.make());
}

/// With `ring`, see ring_calls.hpp.
int blocking_by_ring(const auto& call, const auto& ring, const auto& native) {
    const auto chosen = own_algorithms().choose_ring(call.collective, call.communicator,
                                                     ring.step_bytes, ring.is_acceptable);
    const Paced paced(call, chosen.algorithm);
    const ReportedCall reported(call, chosen.algorithm, paced.is_entered(), ring.step_bytes);
    if (chosen.algorithm == Algorithm::native) return native();
    return own_algorithms().run_ring(chosen, call.communicator, ring.carry_out);
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
