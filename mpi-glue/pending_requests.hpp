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
#include <unordered_map>
#include <utility>
#include <vector>

#include "helper.hpp"
#include "report.hpp"

namespace headway::glue {

/// A call that starts or completes requests, by the names that its arguments have in
/// functions.def; null what it does not have.  MPI's answers are there once it returns.
struct RequestCall {
    const MPI_Request* request = nullptr;
    int count = 0;
    const MPI_Request* requests = nullptr;
    const int* index = nullptr;
    const int* outcount = nullptr;
    const int* indices = nullptr;
    const int* flag = nullptr;

    [[nodiscard]] std::span<const MPI_Request> handles() const {
        if (request != nullptr) return {request, 1};
        if (count <= 0 || requests == nullptr) return {};
        return {requests, static_cast<std::size_t>(count)};
    }
};

class PendingRequests {
public:
    /// Nothing that a wait could complete is of interest.
    [[nodiscard]] bool is_quiet() const { return under_way_.load(std::memory_order_relaxed) == 0; }
    /// Nothing that a start could start is of interest.
    [[nodiscard]] bool has_persistent() const {
        return persistent_.load(std::memory_order_relaxed) != 0;
    }

    /// Of a nonblocking collective that is under way.
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

    /// A persistent collective, inactive; `paceable`: none of one that is only reported.
    void prepare(MPI_Request request, std::optional<Paceable> paceable,
                 std::optional<ReportedRequest> reported) noexcept;
    /// It is about to be started; false: it could not be.
    void start(MPI_Request request) noexcept;

    /// What is known of `waited`, which is not under way here any more.
    [[nodiscard]] AllUnderWay take(std::span<const MPI_Request> waited) noexcept;
    /// Of `taken`, which take() gave, those that MPI has completed end; `waited` as it is now.
    void end_or_put_back(AllUnderWay taken, std::span<const MPI_Request> waited) noexcept;

    void complete(MPI_Request request) noexcept;
    /// Of persistent ones those that MPI has completed of `waited`, the handles as they were before the call,
    /// for MPI takes back what it completes.
    void complete(const std::vector<MPI_Request>& waited, const RequestCall& call,
                  int status) noexcept;
    /// The program gives its handle back.
    void forget(MPI_Request request) noexcept;
    /// Nobody will see the end of those that are under way; they are reported so.
    void abandon() noexcept;

private:
    struct Persistent {
        std::optional<Paceable> paceable;
        std::optional<ReportedRequest> reported;
        std::optional<UnderWay> under_way{};  ///< since its last start
    };

    [[nodiscard]] std::optional<UnderWay> take(MPI_Request request);
    static void end(const UnderWay& ended, bool is_seen) noexcept;

    std::atomic<long> under_way_{0};
    std::atomic<long> persistent_{0};
    std::mutex mutex_;  ///< guards what follows
    AllUnderWay nonblocking_;
    std::unordered_map<MPI_Request, Persistent> by_request_;
};

/// The process's one; never destroyed, as helper().
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
