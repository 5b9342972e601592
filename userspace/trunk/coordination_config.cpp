// SPDX-License-Identifier: Apache-2.0
#include "trunk/coordination_config.hpp"

#include <linux/pkt_sched_gap.h>

namespace headway {

LeaseTiming::Time LeaseTiming::drift(Time time) const { return time * drift_ppm / 1'000'000; }

LeaseTiming::Time LeaseTiming::lease_at_least() const { return lease - drift(lease) - margin; }

LeaseTiming::Time LeaseTiming::lease_at_most() const { return lease + drift(lease) + margin; }

LeaseTiming::Time LeaseTiming::needed() const { return 2 * expires; }

Result<void> check_timing(const LeaseTiming& t) {
    if (t.expires < std::chrono::nanoseconds(GAP_EXPIRES_MIN_NS) ||
        t.expires > std::chrono::nanoseconds(GAP_EXPIRES_MAX_NS))
        return failure("a class expires after 1 ms to 1 day");
    if (t.lease > std::chrono::hours(24)) return failure("a lease lasts a day at most");
    if (t.drift_ppm >= 1'000'000 || t.margin.count() < 0 || t.lease.count() <= 0)
        return failure("a lease needs a positive time, margin and drift");
    if (t.refresh_every.count() <= 0 || 3 * t.refresh_every > t.expires)
        return failure("a class that expires is refreshed three times as often");
    if (t.keep_alive_every.count() <= 0 ||
        t.needed() + 3 * t.keep_alive_every > t.lease_at_least())
        return failure("the lease is too short: twice `expires`, the margin and three times the "
                       "time between two prolongings have to fit into it");
    return {};
}

}  // namespace headway
