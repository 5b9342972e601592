// SPDX-License-Identifier: Apache-2.0
// One host's part in sharing one trunk: a state machine without input or output
// of its own.  Documentation/coordination.rst says why no order of events makes
// the hosts' rates add up to more than the trunk.
//
// In the kernel there are two classes, one below the other, above all classes
// whose packets cross the trunk:
//
//   guard   unlimited, but falls back to the fallback when it is not refreshed
//           for `expires`, whatever has become of the daemon
//   cap     what the host may use; never expires
//
// A refresh is a request without a rate, so that the kernel ignores one that
// comes too late; the guard is made unlimited again only while the cap is at
// the fallback.  Changes of the cap do not refresh the guard.  So no request
// can raise what is in force once the guard has expired, however late it comes.
//
// The caller passes what happens, in order, with the time at which it reads it
// (CLOCK_BOOTTIME, as the kernel's `expires`), and carries out the actions in
// their order, one after the other, before it passes the next.  It need not be
// quick about it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "trunk/coordination_config.hpp"
#include "trunk/store_view.hpp"

namespace headway {

// ---- what is to be done in the kernel; kernel_answered() follows ----------------

struct SetCap {
    BytesPerSecond rate;
    /// The shares of the host's demands, as in its record: what to divide the cap by.
    std::vector<BytesPerSecond> demands;
};
/// The empty request.
struct RefreshGuard {};
/// Unlimited, with the fallback and `expires`.
struct ReviveGuard {};

// ---- what is to be asked of the store; store_answered() follows if an answer does

struct GrantLease {
    std::chrono::seconds time{0};
};
struct ProlongLease {
    LeaseId lease;
};
/// The store does not answer it; the lease's keys go with it.
struct RevokeLease {
    LeaseId lease;
};
/// The host's record: only if there is none, or it is attached to this lease.
struct PutRecord {
    LeaseId lease;
    MemberRecordPtr record;
};
/// Puts the key only while the host's record is attached to this lease.
struct PutAcknowledgement {
    LeaseId lease;
    Revision epoch;
};
/// Stays without a lease; only if there is none, and while the host's record is
/// attached to this lease: one meant for a store that is lost must not reach the next.
struct PutSettled {
    LeaseId lease;
};

using RequestId = std::uint64_t;
using Deed = std::variant<SetCap, RefreshGuard, ReviveGuard, GrantLease, ProlongLease, RevokeLease,
                          PutRecord, PutAcknowledgement, PutSettled>;

struct Action {
    RequestId id;
    Deed deed;
};

struct StoreAnswer {
    RequestId id = 0;
    bool done = false;      ///< false: refused, or nobody knows
    LeaseId lease = 0;      ///< granted
    bool lease_lost = false;  ///< of ProlongLease: the store does not know it any more
    Revision revision = 0;  ///< of a put
};

class TrunkMember {
public:
    using Time = std::chrono::nanoseconds;

    struct Setting {
        SharedTrunk trunk;
        LeaseTiming timing;
        HostNumber host = 0;
        std::uint64_t configuration = 0;  ///< digest of trunk, host names and timing
        ShareFunction compute = compute_shares;
    };

    /// Knows nothing of the kernel's state: both classes may be as an earlier
    /// daemon left them, or as they were made: at the fallback.
    explicit TrunkMember(const Setting& setting);

    // ---- what happens ----
    void tick(Time now);  ///< at least every `refresh_every` / 2
    void want(Time now, std::vector<Demand> demands);
    void snapshot(Time now, const StoreSnapshot& snapshot);
    /// All changes of a revision in one call.
    void changes(Time now, std::span<const StoreChangeAt> changes);
    void store_answered(Time now, const StoreAnswer& answer);
    void kernel_answered(Time now, RequestId id, bool done);
    /// Somebody else has changed the classes: they are at the fallback, or gone.
    void kernel_lost(Time now);
    /// Down to the fallback, then the lease is given back.
    void stop(Time now);

    /// Returns the actions since the last call.
    [[nodiscard]] std::vector<Action> take_actions();

    // ---- for those who look ----
    [[nodiscard]] bool has_stopped() const { return stopping_ && !lease_ && is_at_fallback(); }
    [[nodiscard]] std::optional<BytesPerSecond> cap() const { return cap_; }
    /// All live members have acknowledged the epoch.
    [[nodiscard]] bool is_agreed() const;
    [[nodiscard]] const StoreView& view() const { return view_; }
    /// How long the lease surely lasts; none: there is none.
    [[nodiscard]] std::optional<Time> lease_until() const {
        return lease_ ? std::optional(lease_->until) : std::nullopt;
    }

private:
    struct Request {
        RequestId id = 0;
        Time sent{};
        Deed deed;
    };
    struct Lease {
        LeaseId id = 0;
        Time until{};        ///< surely alive so long
        Time prolonged{};    ///< last asked
        bool seen = false;   ///< with a record of ours
    };

    void step(Time now);
    void notice_lost_lease();
    void forget_slow_request(std::optional<Request>& request, Time now);

    // what may be
    [[nodiscard]] const HostKeys& own() const { return view_.host(setting_.host); }
    [[nodiscard]] bool has_record() const;
    [[nodiscard]] bool counts() const;
    [[nodiscard]] bool lease_lasts(Time now) const;
    [[nodiscard]] bool guard_lives(Time now) const;
    [[nodiscard]] bool is_at_fallback() const { return cap_ && *cap_ <= setting_.trunk.fallback; }
    [[nodiscard]] bool is_within_share();
    [[nodiscard]] const Shares& shares();
    [[nodiscard]] BytesPerSecond own_share() { return shares().of_host[setting_.host]; }
    [[nodiscard]] BytesPerSecond target(Time now);

    // what is done about it
    void drive_kernel(Time now);
    void drive_lease(Time now);
    void drive_puts(Time now);
    [[nodiscard]] std::optional<Deed> next_put(Time now);
    Request act(Time now, Deed deed);

    Setting setting_;
    MemberRecordPtr wanted_;
    Time wanted_since_{};
    StoreView view_;
    bool has_view_ = false;
    bool stopping_ = false;
    std::optional<Shares> shares_;  ///< none: not computed since the records changed
    Time unsettled_since_{};  ///< at the earliest

    std::optional<BytesPerSecond> cap_;  ///< as the kernel acknowledged; none: unknown
    std::vector<BytesPerSecond> cap_demands_;
    std::optional<Time> guard_refreshed_;  ///< none: it may have expired
    bool kernel_refuses_ = false;
    Time kernel_not_before_{};

    std::optional<Lease> lease_;
    Time lease_not_before_{};
    Time put_not_before_{};
    Revision put_seen_from_ = 0;  ///< the view has to be so new before the next put

    RequestId next_id_ = 1;
    std::optional<Request> kernel_request_, lease_request_, put_request_;
    std::vector<Action> actions_;
};

}  // namespace headway
