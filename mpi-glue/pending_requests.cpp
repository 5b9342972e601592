// SPDX-License-Identifier: MIT
#include "pending_requests.hpp"

#include <algorithm>
#include <utility>

namespace headway::glue {
namespace {

/// The error of a call for one request is that request's, which is complete.  Of several,
/// an error of one does not mean that others were not completed.
bool may_have_completed(const RequestCall& call, int status) {
    if (status != MPI_SUCCESS) {
        if (call.request != nullptr) return true;
        int error_class = MPI_SUCCESS;
        PMPI_Error_class(status, &error_class);
        if (error_class != MPI_ERR_IN_STATUS) return false;
    }
    return call.flag == nullptr || *call.flag != 0;
}

}  // namespace

PendingRequests& pending_requests() {
    static PendingRequests* const instance = new PendingRequests;
    return *instance;
}

void PendingRequests::begin(MPI_Request request, EntryId entry,
                            std::optional<ReportedRequest> reported) noexcept {
    std::optional<UnderWay> ended;
    {
        const std::lock_guard lock(mutex_);
        UnderWay now{entry, std::move(reported)};
        const auto [known, is_new] = by_request_.try_emplace(request);
        if (!is_new) ended = std::move(known->second);
        known->second = std::move(now);
        if (is_new) ++under_way_;
    }
    if (ended) end(*ended, false);
}

/// It is not under way any more; none: it was not.
std::optional<PendingRequests::UnderWay> PendingRequests::take(MPI_Request request) {
    const std::lock_guard lock(mutex_);
    auto known = by_request_.extract(request);
    if (known.empty()) return std::nullopt;
    --under_way_;
    return std::move(known.mapped());
}

void PendingRequests::end(const UnderWay& ended, bool is_seen) noexcept {
    if (ended.entry != not_entered) helper().leave(ended.entry);
    if (ended.reported) ended.reported->end(is_seen);
}

void PendingRequests::complete(MPI_Request request) noexcept {
    if (const auto ended = take(request)) end(*ended, true);
}

void PendingRequests::complete(const std::vector<MPI_Request>& waited, const RequestCall& call,
                               int status) noexcept {
    if (!may_have_completed(call, status)) return;
    const auto complete_at = [&](int at) { complete(waited[static_cast<std::size_t>(at)]); };
    if (call.index != nullptr) {
        if (*call.index != MPI_UNDEFINED) complete_at(*call.index);
    } else if (call.indices != nullptr) {  // MPI_UNDEFINED of them is less than none
        std::for_each_n(call.indices, std::max(*call.outcount, 0), complete_at);
    } else {
        for (const MPI_Request request : waited) complete(request);
    }
}

void PendingRequests::abandon() noexcept {
    std::unordered_map<MPI_Request, UnderWay> all;
    {
        const std::lock_guard lock(mutex_);
        all.swap(by_request_);
        under_way_ = 0;
    }
    for (const auto& [request, ended] : all) end(ended, false);
}

}  // namespace headway::glue
