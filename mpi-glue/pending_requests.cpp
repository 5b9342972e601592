// SPDX-License-Identifier: MIT
#include "pending_requests.hpp"

#include <utility>

namespace headway::glue {

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

void PendingRequests::forget(MPI_Request request) noexcept {
    complete(request);
    const std::lock_guard lock(mutex_);
    if (by_request_.erase(request) != 0) --persistent_;
}

}  // namespace headway::glue
