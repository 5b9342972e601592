// SPDX-License-Identifier: MIT
#include "pending_requests.hpp"

#include "short_memory.hpp"


#include <exception>
#include <utility>

namespace headway::glue {
PendingRequests& pending_requests() { return the_only<PendingRequests>(); }

void PendingRequests::begin(MPI_Request request, EntryId entry,
                            std::optional<ReportedRequest> reported) noexcept {
    UnderWay now{entry, std::move(reported)};
    bool is_new = true;
    try {
        const std::lock_guard lock(mutex_);
        UnderWay& known = by_request_.try_emplace(request).first->second;
        is_new = known.entry == not_entered && !known.reported;
        std::swap(known, now);
        if (is_new) ++under_way_;
    } catch (const std::exception&) {
        is_new = false;
    }
    if (!is_new) end(now, false);
}

PendingRequests::AllUnderWay PendingRequests::take(std::span<const MPI_Request> waited) noexcept {
    AllUnderWay taken;
    const std::lock_guard lock(mutex_);
    for (std::size_t place = 0; place < waited.size() && !by_request_.empty(); ++place) {
        auto known = by_request_.extract(waited[place]);
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
        const auto put_back = by_request_.insert(std::move(one));
        if (put_back.inserted) ++under_way_;
        else end(put_back.node.mapped(), false);
    }
}

void PendingRequests::end(const UnderWay& ended, bool is_seen) noexcept {
    if (ended.entry != not_entered) helper().leave(ended.entry);
    if (ended.reported) ended.reported->end(is_seen);
}

void PendingRequests::abandon() noexcept {
    AllUnderWay all;
    {
        const std::lock_guard lock(mutex_);
        all.swap(by_request_);
        under_way_ = 0;
    }
    for (const auto& [request, under_way] : all) end(under_way, false);
}

}  // namespace headway::glue
