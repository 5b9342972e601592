// SPDX-License-Identifier: Apache-2.0
#include "simulation.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace headway::test {

using namespace std::chrono_literals;

namespace {

/// Numbers the hosts as members with these numbers read them.
void renumber(StoreChange& change, const std::vector<HostNumber>& numbers) {
    std::visit(
        [&](auto& one) {
            if constexpr (requires { one.host; }) one.host = numbers[one.host];
        },
        change);
}

}  // namespace

// ---- time ----------------------------------------------------------------------

void Simulation::at(Time when, std::function<void()> what) {
    events_.push({when, next_event_++, std::move(what)});
}

SimulationResult Simulation::run() {
    begin();
    while (!events_.empty() && result_.failure.empty()) {
        Event event = events_.top();
        events_.pop();
        now_ = event.at;
        event.what();
        ++result_.events;
    }
    return result_;
}

Simulation::Time Simulation::clock_of(const Node& node) const {
    return node.clock_offset + Time(static_cast<std::int64_t>(
                                   static_cast<double>(now_.count()) * node.clock_rate));
}

Simulation::Time Simulation::true_time(const Node& node, Time local) const {
    return Time(static_cast<std::int64_t>(static_cast<double>(local.count()) / node.clock_rate));
}

/// Mostly milliseconds, sometimes seconds: longer than a request is waited for.
Simulation::Time Simulation::latency() {
    return is_noisy() && one_in(50) ? up_to_ms(4000) : 1ms + up_to_ms(30);
}

// ---- daemons -------------------------------------------------------------------

void Simulation::start_daemon(std::uint32_t i) {
    Node& node = nodes_[i];
    if (node.member) return;
    const Settings& settings = settings_of(i);
    node.kernel.set_up(settings.trunk.fallback.value);
    node.fallback = std::max(node.fallback, settings.trunk.fallback.value);
    TrunkMember::Setting setting{settings.trunk, timing_, settings.numbers[i], settings.digest};
    setting.compute = [](const SharedTrunk& trunk, std::span<const Demand> demands) {
        // all members compute the same: remember the last
        static std::vector<Demand> known;
        static SharedTrunk known_trunk;
        static Shares shares;
        const bool is_same = std::ranges::equal(known, demands) &&
                             known_trunk.capacity == trunk.capacity &&
                             known_trunk.fallback == trunk.fallback &&
                             known_trunk.hosts == trunk.hosts && known_trunk.policy == trunk.policy;
        if (!is_same || shares.of_host.empty()) {
            known.assign(demands.begin(), demands.end());
            known_trunk = trunk;
            shares = compute_shares(trunk, demands);
        }
        return shares;
    };
    node.member = std::make_unique<TrunkMember>(setting);
    ++node.life;
    account(node);
    node.stops = node.is_paused = node.has_tick = false;
    node.pause_next = {};
    tell(i, node.life, [this, i](Time now) { nodes_[i].member->want(now, nodes_[i].demands); });
    tick(i, node.life);
    connect(i);
}

void Simulation::kill_daemon(std::uint32_t i) {
    Node& node = nodes_[i];
    disconnect(i);
    node.member.reset();
    node.inbox.clear();
    node.actions.clear();
    ++node.life;
}

void Simulation::tick(std::uint32_t i, std::uint64_t life) {
    Node& node = nodes_[i];
    if (node.life != life) return;
    if (!std::exchange(node.has_tick, true)) {
        tell(i, life, [this, i](Time now) {
            nodes_[i].has_tick = false;
            nodes_[i].member->tick(now);
        });
    }
    if (node.life == life)
        after(timing_.refresh_every / 2, [this, i, life] { tick(i, life); });
}

void Simulation::tell(std::uint32_t i, std::uint64_t life, std::function<void(Time)> what) {
    Node& node = nodes_[i];
    if (node.life != life || !node.member) return;
    node.inbox.push_back(std::move(what));
    run_daemon(i);
}

void Simulation::pause(std::uint32_t i, Time how_long) {
    Node& node = nodes_[i];
    if (!node.member || node.is_paused) return;
    node.is_paused = true;
    after(how_long, [this, i, life = node.life] {
        if (nodes_[i].life != life) return;
        nodes_[i].is_paused = false;
        run_daemon(i);
    });
}

/// A pause finds the daemon between reading the clock and acting by it, too.
void Simulation::run_daemon(std::uint32_t i) {
    Node& node = nodes_[i];
    while (node.member && !node.is_paused) {
        if (!node.actions.empty()) {
            Time hold_up = std::exchange(node.pause_next, 0ns);
            if (is_noisy() && one_in(500)) hold_up += up_to_ms(6000);
            if (hold_up > 0ns) {
                pause(i, hold_up);
                continue;
            }
            const Action action = node.actions.front();
            node.actions.pop_front();
            perform(i, action);
        } else if (!node.inbox.empty()) {
            const auto what = std::move(node.inbox.front());
            node.inbox.pop_front();
            what(clock_of(node));
            for (Action& action : node.member->take_actions())
                node.actions.push_back(std::move(action));
        } else if (node.stops && node.member->has_stopped()) {
            kill_daemon(i);
        } else {
            break;
        }
    }
}

// ---- what daemons do -------------------------------------------------------------

void Simulation::perform(std::uint32_t i, const Action& action) {
    Node& node = nodes_[i];
    if (action.deed.index() > 2) {
        send_to_store(i, action);
        return;
    }
    const bool done = perform_in_kernel(node, action.deed);
    node.inbox.push_front([&node, id = action.id, done](Time now) {
        node.member->kernel_answered(now, id, done);
    });
}

bool Simulation::perform_in_kernel(Node& node, const Deed& deed) {
    if (node.kernel_refuses) return false;
    const Time expires = true_time(node, timing_.expires);
    if (const auto* set = std::get_if<SetCap>(&deed)) {
        const bool is_raise = set->rate.value > node.fallback &&
                              (!node.member->cap() || set->rate > *node.member->cap());
        if (is_raise) ++result_.raises;
        if (is_raise && now_ >= node.kernel.guard_until()) ++result_.fenced;
        node.kernel.set_cap(set->rate.value);
        node.fallback = settings_[node.settings].trunk.fallback.value;
    } else {
        if (std::holds_alternative<RefreshGuard>(deed)) {
            if (now_ >= node.kernel.guard_until()) ++result_.fenced;
            node.kernel.refresh(now_, expires);
        } else {
            node.kernel.revive(now_, expires);
        }
        if (const Time end = node.kernel.guard_until(); end > now_) {
            at(end, [this, &node] {
                const std::uint64_t before = node.in_force;
                account(node);
                if (node.in_force < before) ++result_.expired;
            });
        }
    }
    account(node);
    return true;
}

void Simulation::account(Node& node) {
    in_force_ -= node.in_force;
    node.in_force = node.kernel.in_force(now_);
    in_force_ += node.in_force;
    check_lease(static_cast<std::uint32_t>(&node - nodes_.data()));
    const double full = static_cast<double>(in_force_) / static_cast<double>(trunk_.capacity.value);
    if (settings_.size() == 1) result_.fullest = std::max(result_.fullest, full);
    check_sum();
}

void Simulation::check_sum() {
    if (settings_.size() == 1) {
        if (in_force_ > trunk_.capacity.value)
            fail(fmt::format("{} byte/s are in force on a trunk of {}", in_force_, trunk_.capacity.value));
        return;
    }
    std::uint64_t sum = 0;
    bool is_any_above = false;  // without, all are at their fallbacks, and those have to fit themselves
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
        const Node& node = nodes_[i];
        const std::uint64_t fallback = node.fallback;
        if (!agreed_.sharing && node.in_force > fallback)
            fail(fmt::format("host {} is above its fallback, and nobody shares", i));
        is_any_above = is_any_above || node.in_force > fallback;
        const bool is_known = !agreed_.sharing || agreed_.life[i] == node.life;
        sum += is_known || node.in_force > fallback ? node.in_force
                                                    : std::min(node.in_force, agreed_.fallback[i]);
    }
    if (agreed_.sharing && is_any_above && sum > agreed_.sharing->trunk.capacity.value)
        fail(fmt::format("{} byte/s are in force, by settings {} with a trunk of {}", sum,
                         agreed_.sharing->digest, agreed_.sharing->trunk.capacity.value));
}

const Simulation::Settings* Simulation::leading(const std::vector<std::uint64_t>& digests) const {
    const Settings* leading = nullptr;
    std::ptrdiff_t most = 0;
    for (const Settings& one : settings_) {
        const auto count = std::ranges::count(digests, one.digest);
        if (count == 0 || count < most || (count == most && one.digest > leading->digest)) continue;
        leading = &one;
        most = count;
    }
    return leading;
}

void Simulation::note_agreed() {
    if (settings_.size() == 1 || !store_->settled_by() || !store_->is_agreed()) return;
    const auto record = [this](std::uint32_t i) { return store_->keys_of(i).record.get(); };
    std::vector<std::uint64_t> digests;
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) digests.push_back(record(i) ? record(i)->configuration : 0);
    agreed_ = {leading(digests), {}, {}};
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
        agreed_.life.push_back(record(i) ? nodes_[i].record_life : 0);
        const bool has = agreed_.sharing && agreed_.sharing->has[i];
        const std::uint64_t counted = has ? agreed_.sharing->trunk.fallback.value : 0;
        agreed_.fallback.push_back(std::max(counted, record(i) ? record(i)->fallback.value : 0));
    }
    check_sum();
}

/// A node uses its share only as long as its lease keeps the others from it.
void Simulation::check_lease(std::uint32_t i) {
    if (nodes_[i].in_force <= nodes_[i].fallback || store_->lease_of(i)) return;
    if (now_ >= store_lost_until_)
        fail(fmt::format("host {} is above its fallback without a live lease", i));
}

void Simulation::fail(std::string why) {
    if (!result_.failure.empty()) return;
    result_.failure = fmt::format("after {:.6f} s, seed {}, {} hosts: {}",
                                  static_cast<double>(now_.count()) / 1e9, options_.seed,
                                  trunk_.hosts, why);
}

// ---- network and store ---------------------------------------------------------------

void Simulation::send_to_store(std::uint32_t i, const Action& action) {
    Node& node = nodes_[i];
    Time delay = latency();
    if (now_ < node.cut_until) {
        if (!node.cut_holds_requests) return;
        delay += node.cut_until - now_;
    } else if (is_noisy() && one_in(100)) {
        return;
    }
    after(delay, [this, i, life = node.life, action] {
        if (!store_is_up_) return;
        const auto answer = serve(i, action);
        const bool is_record = std::holds_alternative<PutRecord>(action.deed);
        if (is_record && answer && answer->done) nodes_[i].record_life = life;
        store_has_changed();
        const bool is_lost = now_ < nodes_[i].cut_until || (is_noisy() && one_in(100));
        if (!answer || is_lost) return;
        after(latency(), [this, i, life, answer] {
            tell(i, life, [this, i, answer](Time now) {
                nodes_[i].member->store_answered(now, *answer);
            });
        });
    });
}

std::optional<StoreAnswer> Simulation::serve(std::uint32_t i, const Action& action) {
    StoreAnswer answer{.id = action.id};
    if (std::holds_alternative<GrantLease>(action.deed)) {
        answer.lease = store_->grant(now_);
        answer.done = true;
    } else if (const auto* prolong = std::get_if<ProlongLease>(&action.deed)) {
        answer.done = store_->prolong(now_, prolong->lease);
        answer.lease_lost = !answer.done;
    } else if (const auto* revoke = std::get_if<RevokeLease>(&action.deed)) {
        store_->revoke(revoke->lease);
        return {};
    } else if (const auto* put = std::get_if<PutRecord>(&action.deed)) {
        answer.revision = store_->put_record(i, put->lease, put->record);
    } else if (const auto* ack = std::get_if<PutAcknowledgement>(&action.deed)) {
        answer.revision = store_->put_acknowledgement(i, ack->lease, ack->epoch);
    } else if (const auto* settled = std::get_if<PutSettled>(&action.deed)) {
        answer.revision = store_->put_settled(i, settled->lease);
    }
    answer.done = answer.done || answer.revision;
    return answer;
}

/// Connects as the daemon's side of etcd does: goes on from the known revision if that is surely
/// the same store's, or else reads all keys.
void Simulation::connect(std::uint32_t i) {
    Node& node = nodes_[i];
    if (!node.member || node.is_connected) return;
    const Time wait = std::max({now_ < node.cut_until ? node.cut_until - now_ : 0ns, Time(0ns)});
    const std::uint64_t connection = ++node.connection;
    after(wait + latency(), [this, i, life = node.life, connection] {
        Node& me = nodes_[i];
        if (me.life != life || me.is_connected || me.connection != connection) return;
        if (!store_is_up_ || now_ < me.cut_until) {
            connect(i);
            return;
        }
        me.is_connected = true;
        me.is_delivering = false;
        const StoreView& view = me.member->view();
        me.streamed = view.revision();
        const bool is_same = view.settled_by() && view.settled_by() == store_->settled_by();
        if (is_same && store_->changes(view.revision(), view.revision())) {
            deliver(i, connection, life);
            return;
        }
        const StoreSnapshot all = store_->snapshot();
        me.streamed = all.revision;
        me.is_delivering = true;  // changes after it
        after(latency(), [this, i, life, connection, all] {
            Node& you = nodes_[i];
            if (you.life != life || you.connection != connection) return;
            you.is_delivering = false;
            tell(i, life, [this, i, connection, all](Time now) {
                if (nodes_[i].connection != connection) return;
                StoreSnapshot seen = all;
                for (SnapshotMember& one : seen.members) one.host = settings_of(i).numbers[one.host];
                nodes_[i].member->snapshot(now, seen);
            });
            deliver(i, connection, life);
        });
    });
}

void Simulation::disconnect(std::uint32_t i) {
    nodes_[i].is_connected = false;
    ++nodes_[i].connection;
}

void Simulation::store_has_changed() {
    note_agreed();
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
        check_lease(i);
        if (nodes_[i].is_connected) deliver(i, nodes_[i].connection, nodes_[i].life);
    }
}

/// One batch at a time is under way, in order; it takes what has come by then.
void Simulation::deliver(std::uint32_t i, std::uint64_t connection, std::uint64_t life) {
    Node& node = nodes_[i];
    if (node.is_delivering || node.streamed == store_->revision()) return;
    node.is_delivering = true;
    after(latency() + 31ms, [this, i, connection, life] {
        Node& me = nodes_[i];
        if (me.life != life || me.connection != connection || !me.is_connected) return;
        me.is_delivering = false;
        me.streamed = store_->revision();
        tell(i, life, [this, i, connection, until = me.streamed](Time now) {
            Node& you = nodes_[i];
            if (you.connection != connection) return;
            const auto changes = store_->changes(you.member->view().revision(), until);
            if (changes) {
                std::vector<StoreChangeAt> seen(changes->begin(), changes->end());
                for (StoreChangeAt& one : seen) renumber(one.change, settings_of(i).numbers);
                you.member->changes(now, seen);
                return;
            }
            disconnect(i);
            connect(i);
        });
    });
}

}  // namespace headway::test
