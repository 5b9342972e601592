// SPDX-License-Identifier: MIT
// HEADWAY_REPORT=summary|FILE.json: what the program's collectives did, told when
// MPI is finalised: a table on rank 0's standard error, or a file.
//
// While it is on, a call costs two looks at the clock and look-ups under locks; while it
// is off, one load.
#pragma once

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "call_report.hpp"
#include "helper.hpp"
#include "operation.hpp"

namespace headway::glue {

enum class CallForm { blocking, nonblocking };

/// A call as it is counted.
struct ReportedKind {
    CallKind kind;
    std::uint64_t bytes = 0;
    std::optional<double> predicted_s{};  ///< by what the daemon has answered so far
    /// The hosts, if this rank asks the planner for the kind's prediction: it is their first rank.
    std::optional<HostSet> hosts{};
};

/// A collective as a request: its communicator may be gone when it ends.
struct ReportedRequest {
    using Clock = std::chrono::steady_clock;

    ReportedKind what;
    Clock::time_point begin = Clock::now();

    /// It has ended now, or at a time that nobody saw.
    void end(bool is_seen) const noexcept;
};

class Reporter {
public:
    /// `where`, the same at all ranks: "summary", a file, or "" for no report.
    void begin(std::string where) noexcept;

    [[nodiscard]] bool is_on() const { return on_.load(std::memory_order_relaxed); }

    /// A call that has been made.  `planned_bytes`: what the daemon was asked for, of a
    /// ring its steps.  What is predicted, and for which hosts, is said of the first of a kind.
    [[nodiscard]] ReportedKind kind_of(const Collective& collective, CallForm form,
                                       MPI_Comm communicator, std::uint64_t bytes,
                                       std::uint64_t planned_bytes, Algorithm algorithm, bool paced);
    /// Begins to report a request; none: no report is wanted.
    [[nodiscard]] std::optional<ReportedRequest> request(const auto& call, CallForm form,
                                                         bool paced) noexcept;

    /// It has ended; `duration`: none if nobody saw when.
    void count(const ReportedKind& what, std::optional<std::chrono::nanoseconds> duration) noexcept;

    /// This rank has no memory to count on: then there is no report, of which all ranks hear when it is finished.
    void give_up() noexcept {
        is_incomplete_ = true;
        on_ = false;
    }
    /// There is none, of which all ranks know.
    void cancel() noexcept { has_begun_ = on_ = false; }

    /// Collective over MPI_COMM_WORLD, once; the daemon can still be asked.
    void finish() noexcept;

private:
    [[nodiscard]] bool is_known(const CallKind& kind);
    void count_connections(const std::set<Address>& addresses);
    [[nodiscard]] std::optional<std::string> complete(const std::set<Address>& addresses);
    void predict();
    void tell(CallReport& all) const;

    static int end_of_mpi(MPI_Comm, int, void*, void* reporter);

    std::atomic<bool> on_{false};
    std::atomic<bool> is_incomplete_{false};
    bool has_begun_ = false;  ///< at all ranks
    std::string where_;
    int finalize_key_ = MPI_KEYVAL_INVALID;
    NodeCounters at_begin_;

    std::mutex mutex_;  ///< guards what follows
    CallReport report_;
    std::map<CallKind, HostSet> to_predict_;  ///< all-to-alls that the plan is asked for
};

/// See the_only(), short_memory.hpp.
[[nodiscard]] Reporter& reporter();

std::optional<ReportedRequest> Reporter::request(const auto& call, CallForm form,
                                                 bool paced) noexcept try {
    if (!is_on()) return std::nullopt;
    return ReportedRequest{kind_of(call.collective, form, call.communicator, call.bytes(),
                                   call.bytes(), Algorithm::native, paced)};
} catch (const std::exception&) {
    give_up();
    return std::nullopt;
}

/// One call, from here to the end of the scope.
class ReportedCall {
public:
    using Clock = std::chrono::steady_clock;

    ReportedCall(const auto& call, Algorithm algorithm, bool paced)
        : ReportedCall(call, algorithm, paced, [&] { return call.bytes(); }) {}
    /// `ring_bytes` is a function: of a ring's step.
    ReportedCall(const auto& call, Algorithm algorithm, bool paced, const auto& ring_bytes)
        : collective_(call.collective),
          communicator_(call.communicator),
          algorithm_(algorithm),
          paced_(paced),
          is_on_(reporter().is_on()) {
        if (!is_on_) return;
        bytes_ = call.bytes();
        planned_bytes_ = algorithm == Algorithm::ring ? ring_bytes() : bytes_;
        begin_ = Clock::now();
    }
    void set_paced(bool paced) { paced_ = paced; }
    ReportedCall(const ReportedCall&) = delete;
    ReportedCall& operator=(const ReportedCall&) = delete;
    ~ReportedCall() {
        if (is_on_) count(Clock::now() - begin_);
    }

private:
    void count(Clock::duration duration) noexcept try {
        reporter().count(reporter().kind_of(collective_, CallForm::blocking, communicator_, bytes_,
                                            planned_bytes_, algorithm_, paced_),
                         duration);
    } catch (const std::exception&) {
        reporter().give_up();
    }

    Collective collective_;
    MPI_Comm communicator_;
    Algorithm algorithm_;
    bool paced_;
    bool is_on_;
    std::uint64_t bytes_ = 0;
    std::uint64_t planned_bytes_ = 0;
    Clock::time_point begin_;
};

}  // namespace headway::glue
