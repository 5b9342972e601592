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

void PendingRequests::begin(MPI_Request request, EntryId entry) noexcept {
    const std::lock_guard lock(mutex_);
    EntryId& known = nonblocking_[request];
    const EntryId ended = std::exchange(known, entry);
    if (ended == not_entered) {
        ++under_way_;
    } else {
        helper().leave(ended);
    }
}

void PendingRequests::prepare(MPI_Request request, const Paceable& paceable) noexcept {
    const std::lock_guard lock(mutex_);
    if (by_request_.insert_or_assign(request, Persistent{paceable, not_entered}).second) ++persistent_;
}

void PendingRequests::start(MPI_Request request) noexcept {
    const std::lock_guard lock(mutex_);
    const auto found = by_request_.find(request);
    if (found == by_request_.end() || found->second.entry != not_entered) return;
    found->second.entry = helper().enter(found->second.paceable);
    if (found->second.entry != not_entered) ++under_way_;
}

void PendingRequests::complete(MPI_Request request) noexcept {
    const std::lock_guard lock(mutex_);
    EntryId ended = not_entered;
    if (const auto found = by_request_.find(request); found != by_request_.end()) {
        ended = std::exchange(found->second.entry, not_entered);
    } else if (const auto known = nonblocking_.extract(request); !known.empty()) {
        ended = known.mapped();
    }
    if (ended == not_entered) return;
    --under_way_;
    helper().leave(ended);
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
    complete(request);
    const std::lock_guard lock(mutex_);
    if (by_request_.erase(request) != 0) --persistent_;
}

}  // namespace headway::glue
