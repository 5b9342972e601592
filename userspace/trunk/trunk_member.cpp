// SPDX-License-Identifier: Apache-2.0
#include "trunk/trunk_member.hpp"

#include <algorithm>
#include <utility>

namespace headway {

TrunkMember::TrunkMember(const Setting& setting)
    : setting_(setting),
      wanted_(std::make_shared<MemberRecord>(
          MemberRecord{setting.configuration, {}, setting.trunk.fallback})),
      view_(setting.trunk.hosts) {}

// ---- what happens ----------------------------------------------------------------

void TrunkMember::tick(Time now) { step(now); }

void TrunkMember::want(Time now, std::vector<Demand> demands) {
    wanted_ = std::make_shared<MemberRecord>(
        MemberRecord{setting_.configuration, std::move(demands), setting_.trunk.fallback});
    wanted_since_ = now;
    step(now);
}

void TrunkMember::snapshot(Time now, const StoreSnapshot& snapshot) {
    view_.reset(snapshot);
    has_view_ = true;
    put_seen_from_ = 0;
    unsettled_since_ = now;
    shares_.reset();
    step(now);
}

void TrunkMember::changes(Time now, std::span<const StoreChangeAt> changes) {
    const Revision epoch = view_.epoch();
    for (const StoreChangeAt& change : changes) view_.apply(change);
    if (view_.epoch() != epoch) shares_.reset();
    step(now);
}

void TrunkMember::store_answered(Time now, const StoreAnswer& answer) {
    const LeaseTiming& timing = setting_.timing;
    if (lease_request_ && lease_request_->id == answer.id) {
        // the store began to count when it had the request, not before it was sent
        const Time sent = lease_request_->sent;
        if (std::holds_alternative<GrantLease>(lease_request_->deed)) {
            if (answer.done) lease_ = Lease{answer.lease, sent + timing.lease_at_least(), sent};
            else lease_not_before_ = now + timing.retry_pause;
        } else if (lease_ && answer.lease_lost) {
            lease_.reset();
        } else if (lease_ && answer.done) {
            lease_->until = std::max(lease_->until, sent + timing.lease_at_least());
        }
        lease_request_.reset();
    } else if (put_request_ && put_request_->id == answer.id) {
        if (answer.done) put_seen_from_ = answer.revision;
        else put_not_before_ = now + timing.retry_pause;
        put_request_.reset();
    }
    step(now);
}

void TrunkMember::kernel_answered(Time now, RequestId id, bool done) {
    if (!kernel_request_ || kernel_request_->id != id) return;
    const Request request = *std::exchange(kernel_request_, std::nullopt);
    kernel_refuses_ = !done;
    if (!done) {
        kernel_not_before_ = now + setting_.timing.retry_pause;
        if (std::holds_alternative<SetCap>(request.deed)) cap_.reset();
        guard_refreshed_.reset();
    } else if (const auto* set = std::get_if<SetCap>(&request.deed)) {
        cap_ = set->rate;
        cap_demands_ = set->demands;
    } else if (std::holds_alternative<ReviveGuard>(request.deed) || guard_lives(now)) {
        guard_refreshed_ = request.sent;
    } else {
        guard_refreshed_.reset();  // the refresh may have come too late
    }
    step(now);
}

void TrunkMember::kernel_lost(Time now) {
    kernel_request_.reset();
    cap_.reset();
    guard_refreshed_.reset();
    step(now);
}

void TrunkMember::stop(Time now) {
    stopping_ = true;
    step(now);
}

std::vector<Action> TrunkMember::take_actions() { return std::exchange(actions_, {}); }

// ---- what may be -----------------------------------------------------------------

/// The store has our record, attached to our lease.
bool TrunkMember::has_record() const {
    return lease_ && own().record && own().lease == lease_->id;
}

/// And no epoch since can have been missed: it was put after the snapshot.
bool TrunkMember::counts() const {
    return has_record() && own().changed > view_.snapshot_revision();
}

bool TrunkMember::is_agreed() const {
    return counts() && view_.waiting() == 0 && view_.settled_by();
}

bool TrunkMember::lease_lasts(Time now) const {
    return lease_ && now + setting_.timing.needed() <= lease_->until;
}

/// Surely: it may live longer.
bool TrunkMember::guard_lives(Time now) const {
    return guard_refreshed_ && now < *guard_refreshed_ + setting_.timing.expires;
}

const Shares& TrunkMember::shares() {
    if (!shares_) {
        shares_ = view_.shares(setting_.compute, setting_.trunk, setting_.configuration, setting_.host);
    }
    return *shares_;
}

/// No share is below the fallback; so while many join, nobody computes any.
bool TrunkMember::is_within_share() { return is_at_fallback() || (cap_ && *cap_ <= own_share()); }

BytesPerSecond TrunkMember::target(Time now) {
    const BytesPerSecond fallback = setting_.trunk.fallback;
    if (stopping_ || !cap_ || !has_record() || !guard_lives(now)) return fallback;
    if (is_agreed() && lease_lasts(now)) return own_share();
    return is_within_share() ? *cap_ : own_share();
}

// ---- what is done about it ---------------------------------------------------------

void TrunkMember::step(Time now) {
    forget_slow_request(lease_request_, now);
    forget_slow_request(put_request_, now);
    notice_lost_lease();
    drive_kernel(now);
    if (!has_view_) return;
    drive_lease(now);
    drive_puts(now);
}

void TrunkMember::forget_slow_request(std::optional<Request>& request, Time now) {
    if (request && now > request->sent + setting_.timing.request_timeout) request.reset();
}

/// A record goes with its lease only.
void TrunkMember::notice_lost_lease() {
    if (!lease_) return;
    if (has_record()) lease_->seen = true;
    else if (lease_->seen) lease_.reset();
}

TrunkMember::Request TrunkMember::act(Time now, Deed deed) {
    actions_.push_back({next_id_, deed});
    return {next_id_++, now, std::move(deed)};
}

/// One request at a time: each finds the state that the one before it has left.
void TrunkMember::drive_kernel(Time now) {
    if (kernel_request_ || now < kernel_not_before_) return;
    const BytesPerSecond rate = target(now);
    const bool is_due = !guard_refreshed_ ||
                        now >= *guard_refreshed_ + setting_.timing.refresh_every;
    if (!cap_ || *cap_ > rate || kernel_refuses_) {
        kernel_request_ = act(now, SetCap{rate, shares().of_demand});
    } else if (!lease_lasts(now)) {
        return;
    } else if (!guard_lives(now)) {
        if (is_at_fallback() && has_record()) kernel_request_ = act(now, ReviveGuard{});
    } else if (is_due) {
        kernel_request_ = act(now, RefreshGuard{});
    } else if (is_agreed() && (*cap_ < rate || cap_demands_ != shares().of_demand)) {
        kernel_request_ = act(now, SetCap{rate, shares().of_demand});
    }
}

void TrunkMember::drive_lease(Time now) {
    const LeaseTiming& timing = setting_.timing;
    if (stopping_) {
        if (lease_ && is_at_fallback() && !kernel_request_) {
            act(now, RevokeLease{lease_->id});
            lease_.reset();
        }
        return;
    }
    if (lease_request_ || kernel_refuses_ || now < lease_not_before_) return;
    const bool is_foreign = own().record && !has_record();
    if (is_foreign) {
        // an earlier daemon's of this host; what it had in force, this one has taken down
        if (!is_at_fallback() || kernel_request_) return;
        act(now, RevokeLease{own().lease});
        lease_not_before_ = now + timing.retry_pause;
    } else if (!lease_) {
        const auto time = std::chrono::ceil<std::chrono::seconds>(timing.lease);
        if (is_at_fallback() && !kernel_request_) lease_request_ = act(now, GrantLease{time});
    } else if (now >= lease_->prolonged + timing.keep_alive_every) {
        lease_->prolonged = now;
        lease_request_ = act(now, ProlongLease{lease_->id});
    }
}

void TrunkMember::drive_puts(Time now) {
    if (!lease_ || stopping_ || put_request_ || now < put_not_before_) return;
    if (view_.revision() < put_seen_from_) return;
    if (auto deed = next_put(now)) put_request_ = act(now, *std::move(deed));
}

std::optional<Deed> TrunkMember::next_put(Time now) {
    const LeaseTiming& timing = setting_.timing;
    if (own().record && !has_record()) return {};
    if (!counts()) return PutRecord{lease_->id, wanted_};
    const bool others_agree = view_.waiting() == 0;
    if (*own().record != *wanted_ && (others_agree || now >= wanted_since_ + timing.patience))
        return PutRecord{lease_->id, wanted_};
    if (own().acknowledged != view_.epoch() && !kernel_request_ && is_within_share())
        return PutAcknowledgement{lease_->id, view_.epoch()};
    if (!view_.settled_by() && now >= unsettled_since_ + timing.lease_at_most())
        return PutSettled{lease_->id};
    return {};
}

}  // namespace headway
