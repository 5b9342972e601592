// SPDX-License-Identifier: MIT
// Collectives that are under way as requests.  A nonblocking collective stays
// entered until MPI says that its request is complete, a persistent one from
// each start to the completion of that start.
//
// The scheme is cheap where nothing is under way: a wait or a test then costs
// one load.  Otherwise what is known of the requests handed to MPI is taken out before
// the call (WaitedRequests), for once MPI has completed one it may give its handle to
// another thread's; afterwards it is ended, or put back.  That needs no memory.
// A request that MPI completes and the program never waits for stays entered, at the
// latest until MPI_Finalize.
// While a report is wanted, those that are not paced are under way here as well.
#pragma once

#include <mpi.h>

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include "helper.hpp"
#include "report.hpp"

namespace headway::glue {

class PendingRequests {
public:
    /// Says whether a wait could complete nothing of interest.
    [[nodiscard]] bool is_quiet() const { return under_way_.load(std::memory_order_relaxed) == 0; }
    /// A nonblocking collective that is under way.
    struct UnderWay {
        EntryId entry = not_entered;
        std::optional<ReportedRequest> reported{};
        std::size_t place = 0;  ///< among those that are waited for
    };
    using AllUnderWay = std::map<MPI_Request, UnderWay>;  ///< whose nodes move without memory

    /// A nonblocking collective, entered already, or not_entered if it is only reported.  If
    /// MPI gave its handle to another one before, that has ended, whoever has seen it.
    /// Without memory for it, it ends now, as if nobody had seen when.
    void begin(MPI_Request request, EntryId entry, std::optional<ReportedRequest> reported) noexcept;

    /// Takes what is known of `waited`, which is not under way here any more.
    [[nodiscard]] AllUnderWay take(std::span<const MPI_Request> waited) noexcept;
    /// Ends those of `taken`, which take() gave, that MPI has completed; `waited` as it is now.
    void end_or_put_back(AllUnderWay taken, std::span<const MPI_Request> waited) noexcept;

    /// Reports that nobody will see the end of those that are under way.
    void abandon() noexcept;

private:
    static void end(const UnderWay& ended, bool is_seen) noexcept;

    std::atomic<long> under_way_{0};
    std::mutex mutex_;  ///< guards what follows
    AllUnderWay by_request_;
};

/// See the_only(), short_memory.hpp.
[[nodiscard]] PendingRequests& pending_requests();

/// Taken out during a call that waits for them or tests them, also if an error handler
/// throws out of it.
class WaitedRequests {
public:
    explicit WaitedRequests(std::span<const MPI_Request> waited)
        : waited_(waited), taken_(pending_requests().take(waited)) {}
    WaitedRequests(const WaitedRequests&) = delete;
    WaitedRequests& operator=(const WaitedRequests&) = delete;
    ~WaitedRequests() {
        if (!taken_.empty()) pending_requests().end_or_put_back(std::move(taken_), waited_);
    }

private:
    std::span<const MPI_Request> waited_;
    PendingRequests::AllUnderWay taken_;
};

}  // namespace headway::glue
