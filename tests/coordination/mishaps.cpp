// SPDX-License-Identifier: Apache-2.0
// What goes wrong in a simulation, and what has to be right in the end.
#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "simulation.hpp"

namespace headway::test {

using namespace std::chrono_literals;

namespace {

LeaseTiming timing_of_simulation() {
    LeaseTiming timing;
    timing.drift_ppm = 50'000;
    return timing;
}

}  // namespace

Simulation::Simulation(const SimulationOptions& options)
    : options_(options), random_(options.seed), timing_(timing_of_simulation()) {
    if (options_.mishaps_per_s <= 0)
        options_.mishaps_per_s = std::array{0.2, 0.5, 1.0, 2.0, 4.0}[random(5)];
    only_incidents_ = one_in(4);
    trunk_.hosts = options.hosts ? options.hosts : static_cast<std::uint32_t>(2 + random(23));
    trunk_.capacity = {1'000'000 + random(5'000'000'000)};
    trunk_.fallback = one_in(4) ? BytesPerSecond{trunk_.capacity.value / trunk_.hosts}
                                : default_fallback(trunk_.capacity, trunk_.hosts);
    if (one_in(2)) trunk_.fallback = {std::max<std::uint64_t>(trunk_.fallback.value / 3, 1)};
    trunk_.policy = one_in(2) ? SharePolicy::per_job : SharePolicy::per_host;
    jobs_ = static_cast<std::uint32_t>(1 + random(5));
    nodes_.resize(trunk_.hosts);
    // clocks differ by the drift allowed at most: the store's is true or extreme as well
    const double half = timing_.drift_ppm / 2e6 * 0.98;
    const auto rate = [&] { return 1 + half * (one_in(2) ? 1.0 : -1.0); };
    for (Node& node : nodes_) {
        node.clock_rate = rate();
        node.clock_offset = up_to_ms(1'000'000'000);
    }
    const double lease_ns = static_cast<double>(timing_.lease.count()) / rate();
    store_.emplace(trunk_.hosts, Time(static_cast<std::int64_t>(lease_ns)));
}

void Simulation::begin() {
    for (std::uint32_t i = 0; i < nodes_.size(); ++i)
        at(up_to_ms(3000), [this, i] { start_daemon(i); });
    at(up_to_ms(3000), [this] { change_jobs(); });
    end_leases();
    at(25s, [this] { schedule_mishap(); });
    at(25s + options_.trouble * (only_incidents_ ? 10 : 1), [this] { calm_down(); });
}

void Simulation::end_leases() {
    if (store_is_up_) store_->end_leases(now_);
    store_has_changed();
    after(10ms, [this] { end_leases(); });
}

void Simulation::schedule_mishap() {
    if (is_calm_) return;
    if (only_incidents_) incident(static_cast<std::uint32_t>(random(nodes_.size())));
    else mishap();
    const double pause_ms = only_incidents_ ? 60'000 : 2000 / options_.mishaps_per_s;
    after(up_to_ms(static_cast<std::uint64_t>(pause_ms)), [this] { schedule_mishap(); });
}

void Simulation::change_jobs() {
    const JobIdentity job{1000, random(jobs_), "solver"};
    const std::uint64_t among = one_in(2) ? 1 : 1 + random(4);
    const bool comes = !one_in(3);
    const auto weight = static_cast<std::uint32_t>(1 + random(4));
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
        if (!one_in(among)) continue;
        std::vector<Demand>& demands = nodes_[i].demands;
        std::erase_if(demands, [&](const Demand& demand) { return demand.job == job; });
        if (comes) {
            const bool is_modest = one_in(4);
            const BytesPerSecond wanted{random(trunk_.capacity.value / 4)};
            demands.push_back({i, job, weight, is_modest ? wanted : no_limit_wanted});
        }
        tell(i, nodes_[i].life,
             [this, i](Time now) { nodes_[i].member->want(now, nodes_[i].demands); });
    }
}

void Simulation::cut(std::uint32_t i, Time how_long) {
    Node& node = nodes_[i];
    node.cut_until = std::max(node.cut_until, now_ + how_long);
    node.cut_holds_requests = one_in(2);
    if (one_in(3)) return;  // only the other direction: the watch goes on
    disconnect(i);
    connect(i);
}

/// Several things at once: those that the limits of the timing are for.  The host
/// cannot prolong its lease any more, and its daemon is held up just before one of
/// the last refreshes that it may make; or before it revives the guard.
void Simulation::incident(std::uint32_t i) {
    const bool comes_back = one_in(3);
    if (one_in(2)) store_->replace_leader(now_, now_ + timing_.margin / 20 * 19);
    const Time cut_at = 300ms + up_to_ms(900);
    const Time cut_for = comes_back ? 4s + up_to_ms(5000) : 20s;
    after(cut_at, [this, i, cut_for] { cut(i, cut_for); });
    const Time pause_at =
        cut_at + (comes_back ? cut_for + up_to_ms(1000) : 2s + up_to_ms(5000));
    const Time pause_for = comes_back ? 6s + up_to_ms(6000) : 700ms + up_to_ms(900);
    after(pause_at, [this, i, pause_for] { nodes_[i].pause_next = pause_for; });
}

void Simulation::store_down(Time how_long) {
    if (!std::exchange(store_is_up_, false)) return;
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
        disconnect(i);
        connect(i);
    }
    const bool is_lost = one_in(4);
    after(how_long, [this, is_lost] {
        store_is_up_ = true;
        store_->renew_leases(now_);
        if (!is_lost) return;
        store_->lose_everything();
        store_lost_until_ = now_ + timing_.lease_at_most();
    });
}

void Simulation::mishap() {
    const auto i = static_cast<std::uint32_t>(random(nodes_.size()));
    Node& node = nodes_[i];
    const Time long_time = up_to_ms(one_in(2) ? 3'000 : 30'000);
    const auto start_later = [&] { after(long_time, [this, i] { start_daemon(i); }); };
    switch (random(18)) {
    case 0: case 1: case 2:
        change_jobs();
        break;
    case 3: case 4:
        kill_daemon(i);
        start_later();
        break;
    case 5:
        kill_daemon(i);
        node.kernel.boot();
        account(node);
        start_later();
        break;
    case 6:
        pause(i, long_time);
        break;
    case 7: case 8: case 9:
        node.pause_next = long_time;
        break;
    case 10: case 11:
        cut(i, long_time);
        break;
    case 12:
        if (one_in(2)) {
            for (std::uint32_t n = 0; n < nodes_.size(); n += 2) cut(n, long_time);
        } else {
            store_->compact();
        }
        break;
    case 13:
        if (one_in(3)) store_down(long_time);
        else store_->replace_leader(now_, now_ + timing_.margin / 20 * 19);
        break;
    case 14:
        node.kernel_refuses = true;
        after(long_time, [&node] { node.kernel_refuses = false; });
        break;
    case 15: case 16:
        incident(i);
        break;
    case 17:
        node.stops = true;
        tell(i, node.life, [this, i](Time now) { nodes_[i].member->stop(now); });
        start_later();
        break;
    }
}

/// From now on nothing fails; some daemons stay away.  What is under way ends
/// within half a minute, leases and a new store need another one.
void Simulation::calm_down() {
    is_calm_ = true;
    const std::uint32_t away = one_in(3) ? static_cast<std::uint32_t>(random(nodes_.size())) : 0;
    for (std::uint32_t i = 0; i < away; ++i) kill_daemon(i);
    after(35s, [this, away] {
        for (std::uint32_t i = away; i < nodes_.size(); ++i) start_daemon(i);
    });
    // reading all anew is not a failure
    after(40s + timing_.lease_at_most(), [this] {
        store_->compact();
        for (std::uint32_t i = 0; i < nodes_.size(); i += 2) {
            disconnect(i);
            connect(i);
        }
    });
    after(41s + 3 * timing_.lease_at_most(), [this] { check_shares(); });
}

void Simulation::check_shares() {
    std::vector<Demand> demands;
    for (const Node& node : nodes_) {
        if (node.member) demands.insert(demands.end(), node.demands.begin(), node.demands.end());
    }
    const Shares shares = compute_shares(trunk_, demands);
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
        const std::uint64_t share =
            nodes_[i].member ? shares.of_host[i].value : nodes_[i].in_force;
        if (nodes_[i].in_force != share)
            fail(fmt::format("host {} has {} byte/s instead of {}", i, nodes_[i].in_force, share));
    }
    events_ = {};
}

}  // namespace headway::test
