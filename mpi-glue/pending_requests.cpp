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
    UnderWay now{entry, std::move(reported)};
    bool is_new = true;
    try {
        const std::lock_guard lock(mutex_);
        UnderWay& known = nonblocking_.try_emplace(request).first->second;
        is_new = known.entry == not_entered && !known.reported;
        std::swap(known, now);
        if (is_new) ++under_way_;
    } catch (const std::exception&) {
        is_new = false;
    }
    if (!is_new) end(now, false);
}

void PendingRequests::prepare(MPI_Request request, std::optional<Paceable> paceable,
                              std::optional<ReportedRequest> reported) noexcept {
    const std::lock_guard lock(mutex_);
    Persistent persistent{std::move(paceable), std::move(reported)};
    if (by_request_.insert_or_assign(request, std::move(persistent)).second) ++persistent_;
}

void PendingRequests::start(MPI_Request request) noexcept {
    const std::lock_guard lock(mutex_);
    const auto found = by_request_.find(request);
    if (found == by_request_.end() || found->second.under_way) return;
    Persistent& persistent = found->second;
    UnderWay begun{persistent.paceable ? helper().enter(*persistent.paceable) : not_entered,
                   persistent.reported};
    if (begun.entry == not_entered && !begun.reported) return;
    if (begun.reported) begun.reported->start(begun.entry != not_entered, persistent.paceable);
    persistent.under_way = std::move(begun);
    ++under_way_;
}

/// It is not under way any more; none: it was not.
std::optional<PendingRequests::UnderWay> PendingRequests::take(MPI_Request request) {
    const std::lock_guard lock(mutex_);
    std::optional<UnderWay> taken;
    if (const auto found = by_request_.find(request); found != by_request_.end()) {
        taken = std::exchange(found->second.under_way, std::nullopt);
    } else if (auto known = nonblocking_.extract(request); !known.empty()) {
        taken = std::move(known.mapped());
    }
    if (taken) --under_way_;
    return taken;
}

PendingRequests::AllUnderWay PendingRequests::take(std::span<const MPI_Request> waited) noexcept {
    AllUnderWay taken;
    const std::lock_guard lock(mutex_);
    for (std::size_t place = 0; place < waited.size() && !nonblocking_.empty(); ++place) {
        auto known = nonblocking_.extract(waited[place]);
        if (known.empty()) continue;
        known.mapped().place = place;
        taken.insert(std::move(known));
        --under_way_;
    }
    return taken;
}

/// MPI makes a handle null when it has completed its request.
void PendingRequests::end_or_put_back(AllUnderWay taken, std::span<const MPI_Request> waited) noexcept {
    while (!taken.empty()) {
        auto one = taken.extract(taken.begin());
        if (waited[one.mapped().place] != one.key()) {
            end(one.mapped(), true);
            continue;
        }
        const std::lock_guard lock(mutex_);
        const auto put_back = nonblocking_.insert(std::move(one));
        if (put_back.inserted) ++under_way_;
        else end(put_back.node.mapped(), false);
    }
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

void PendingRequests::forget(MPI_Request request) noexcept {
    if (const auto ended = take(request)) end(*ended, false);
    const std::lock_guard lock(mutex_);
    if (by_request_.erase(request) != 0) --persistent_;
}

void PendingRequests::abandon() noexcept {
    AllUnderWay nonblocking;
    std::unordered_map<MPI_Request, Persistent> persistent;
    {
        const std::lock_guard lock(mutex_);
        nonblocking.swap(nonblocking_);
        persistent.swap(by_request_);
        under_way_ = persistent_ = 0;
    }
    for (const auto& [request, under_way] : nonblocking) end(under_way, false);
    for (const auto& [request, prepared] : persistent)
        if (prepared.under_way) end(*prepared.under_way, false);
}

}  // namespace headway::glue
