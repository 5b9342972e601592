// SPDX-License-Identifier: MIT
#include "pending_requests.hpp"

namespace headway::glue {

PendingRequests& pending_requests() {
    static PendingRequests* const instance = new PendingRequests;
    return *instance;
}

void PendingRequests::begin(MPI_Request request) noexcept {
    const std::lock_guard lock(mutex_);
    ++nonblocking_[request];
    ++under_way_;
}

void PendingRequests::prepare(MPI_Request request, const Paceable& paceable) noexcept {
    const std::lock_guard lock(mutex_);
    if (by_request_.insert_or_assign(request, Persistent{paceable}).second) ++persistent_;
}

void PendingRequests::start(MPI_Request request) noexcept {
    const std::lock_guard lock(mutex_);
    const auto found = by_request_.find(request);
    if (found == by_request_.end() || found->second.entered) return;
    found->second.entered = helper().enter(found->second.paceable);
    if (found->second.entered) ++under_way_;
}

void PendingRequests::complete(MPI_Request request) noexcept {
    const std::lock_guard lock(mutex_);
    if (const auto found = by_request_.find(request); found != by_request_.end()) {
        if (!found->second.entered) return;
        found->second.entered = false;
    } else if (const auto counted = nonblocking_.find(request); counted != nonblocking_.end()) {
        if (--counted->second == 0) nonblocking_.erase(counted);
    } else {
        return;
    }
    --under_way_;
    helper().leave();
}

void PendingRequests::forget(MPI_Request request) noexcept {
    complete(request);
    const std::lock_guard lock(mutex_);
    if (by_request_.erase(request) != 0) --persistent_;
}

}  // namespace headway::glue
