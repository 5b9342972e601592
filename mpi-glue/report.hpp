// SPDX-License-Identifier: MIT
// HEADWAY_REPORT=summary|FILE.json: what the program's collectives did, told when
// MPI is finalised: a table on rank 0's standard error, or a file.
//
// While it is on, a call costs two looks at the clock and one look-up under a lock;
// while it is off, one load.
#pragma once

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "call_report.hpp"
#include "job_hosts.hpp"
#include "operation.hpp"

namespace headway::glue {

class Reporter {
public:
    /// `where`, the same at all ranks: "summary", a file, or "" for no report.
    void begin(std::string where) noexcept;

    [[nodiscard]] bool is_on() const { return on_.load(std::memory_order_relaxed); }

    /// A call that has ended.
    void count(const Collective& collective, MPI_Comm communicator, std::uint64_t bytes,
               Algorithm algorithm, bool paced, std::chrono::nanoseconds duration) noexcept;

    /// Collective over MPI_COMM_WORLD, once; the daemon can still be asked.
    void finish() noexcept;

private:
    [[nodiscard]] CallKind kind_of(const Collective& collective, MPI_Comm communicator,
                                   std::uint64_t bytes, Algorithm algorithm, bool paced) const;
    void predict();
    [[nodiscard]] CallReport gather_all();
    void tell(CallReport& all) const;

    static int end_of_mpi(MPI_Comm, int, void*, void* reporter);

    std::atomic<bool> on_{false};
    std::string where_;
    int finalize_key_ = MPI_KEYVAL_INVALID;
    NodeCounters at_begin_;

    std::mutex mutex_;  ///< guards what follows
    CallReport report_;
    /// The hosts of those that this rank asks the planner for: whose first rank it is.
    std::map<CallKind, HostSet> to_predict_;
};

/// The process's one; never destroyed, as helper().
[[nodiscard]] Reporter& reporter();

/// One call, from here to the end of the scope.
class ReportedCall {
public:
    using Clock = std::chrono::steady_clock;

    ReportedCall(const auto& call, Algorithm algorithm, bool paced)
        : collective_(call.collective),
          communicator_(call.communicator),
          algorithm_(algorithm),
          paced_(paced),
          is_on_(reporter().is_on()) {
        if (!is_on_) return;
        bytes_ = call.bytes();
        begin_ = Clock::now();
    }
    ReportedCall(const ReportedCall&) = delete;
    ReportedCall& operator=(const ReportedCall&) = delete;
    ~ReportedCall() {
        if (is_on_)
            reporter().count(collective_, communicator_, bytes_, algorithm_, paced_,
                             Clock::now() - begin_);
    }

private:
    Collective collective_;
    MPI_Comm communicator_;
    Algorithm algorithm_;
    bool paced_;
    bool is_on_;
    std::uint64_t bytes_ = 0;
    Clock::time_point begin_;
};

}  // namespace headway::glue
