// SPDX-License-Identifier: MIT
// Collectives that are under way as requests: a nonblocking collective stays
// entered until MPI says that its request is complete.
//
// The scheme is cheap where nothing is under way: a wait or a test then costs
// one load.  Otherwise the requests handed to MPI are remembered over the call,
// and those it completed are looked up here.  A request that MPI completes and
// the program never waits for stays entered, at the latest until MPI_Finalize.
// While a report is wanted, those that are not paced are under way here as well.
#pragma once

#include <mpi.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "helper.hpp"
#include "report.hpp"

namespace headway::glue {

/// A call that completes requests, by the names that its arguments have in
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

    /// A nonblocking collective, entered already, or not_entered if it is only reported.  If
    /// MPI gave its handle to another one before, that has ended, whoever has seen it.
    void begin(MPI_Request request, EntryId entry, std::optional<ReportedRequest> reported) noexcept;

    void complete(MPI_Request request) noexcept;
    /// Those that MPI has completed of `waited`, the handles as they were before the call,
    /// for MPI takes back what it completes.
    void complete(const std::vector<MPI_Request>& waited, const RequestCall& call,
                  int status) noexcept;
    /// Nobody will see the end of those that are under way; they are reported so.
    void abandon() noexcept;

private:
    /// Of a collective that is under way.
    struct UnderWay {
        EntryId entry = not_entered;
        std::optional<ReportedRequest> reported{};
    };

    [[nodiscard]] std::optional<UnderWay> take(MPI_Request request);
    static void end(const UnderWay& ended, bool is_seen) noexcept;

    std::atomic<long> under_way_{0};
    std::mutex mutex_;  ///< guards what follows
    std::unordered_map<MPI_Request, UnderWay> by_request_;
};

/// The process's one; never destroyed, as helper().
[[nodiscard]] PendingRequests& pending_requests();

}  // namespace headway::glue
