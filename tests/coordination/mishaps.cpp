// SPDX-License-Identifier: Apache-2.0
// What goes wrong in a simulation, and what has to be right in the end.
#include <algorithm>
#include <array>
#include <numeric>
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
    make_settings();
}

void Simulation::make_settings() {
    std::vector<HostNumber> numbers(nodes_.size());
    std::iota(numbers.begin(), numbers.end(), 0U);
    settings_.push_back({trunk_, 7, std::vector<bool>(nodes_.size(), true), std::move(numbers)});
    if (options_.hosts || one_in(2)) return;
    for (std::uint64_t more = 1 + random(3); more > 0; --more) add_settings();
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
        if (const auto drawn = random(settings_.size()); settings_[drawn].has[i]) nodes_[i].settings = drawn;
    }
}

/// Some of the nodes are none of its hosts; it may have hosts that there are not.
void Simulation::add_settings() {
    Settings settings{trunk_, 3 + 3 * settings_.size(), {}, {}};
    HostNumber next = one_in(2) ? 0 : static_cast<HostNumber>(random(5));
    const std::uint64_t lacks = one_in(2) ? 0 : 1 + random(3);
    for (std::size_t i = 0; i < nodes_.size(); ++i) settings.has.push_back(lacks == 0 || !one_in(1 + lacks));
    settings.has[random(nodes_.size())] = true;
    settings.numbers.resize(nodes_.size());
    for (const bool has : {true, false}) {
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            if (settings.has[i] == has) settings.numbers[i] = next++;
        }
        if (has) settings.trunk.hosts = next;
    }
    SharedTrunk& trunk = settings.trunk;
    if (one_in(3)) trunk.policy = one_in(2) ? SharePolicy::per_job : SharePolicy::per_host;
    if (one_in(3)) trunk.capacity.value -= random(trunk.capacity.value / 2);
    if (one_in(2)) trunk.fallback.value = std::max<std::uint64_t>(trunk.fallback.value * random(400) / 100, 1);
    trunk.fallback = std::min(trunk.fallback, BytesPerSecond{trunk.capacity.value / trunk.hosts});
    settings_.push_back(std::move(settings));
}

/// The daemon is started again with other settings.
void Simulation::reconfigure(std::uint32_t i, std::size_t settings) {
    kill_daemon(i);
    if (settings_[settings].has[i]) nodes_[i].settings = settings;
    after(up_to_ms(2000), [this, i] { start_daemon(i); });
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
    const std::size_t rolled_out = random(settings_.size());
    const auto start_later = [&] { after(long_time, [this, i] { start_daemon(i); }); };
    switch (random(settings_.size() == 1 ? 18 : 22)) {
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
    case 18: case 19: case 20:
        reconfigure(i, random(settings_.size()));
        break;
    case 21:  // new settings for all, one after the other
        for (std::uint32_t n = 0; n < nodes_.size(); ++n)
            after(up_to_ms(20'000), [this, n, to = rolled_out] { reconfigure(n, to); });
        break;
    }
}

/// Nothing fails from now on, though some daemons stay away.  What is under way ends within half a
/// minute, leases and a new store need another one.
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
    std::vector<std::uint64_t> digests;
    for (std::uint32_t i = 0; i < nodes_.size(); ++i)
        digests.push_back(nodes_[i].member ? settings_of(i).digest : 0);
    const Settings* sharing = leading(digests);
    const auto shares_in_it = [&](std::uint32_t i) { return sharing && digests[i] == sharing->digest; };
    SharedTrunk trunk = sharing ? sharing->trunk : trunk_;
    std::uint64_t others = 0;
    std::vector<Demand> demands;
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
        for (Demand demand : nodes_[i].demands) {
            if (!shares_in_it(i)) continue;
            demand.host = sharing->numbers[i];
            demands.push_back(demand);
        }
        if (!sharing || !nodes_[i].member || shares_in_it(i)) continue;
        const std::uint64_t own = settings_of(i).trunk.fallback.value;
        const std::uint64_t counted = sharing->has[i] ? trunk.fallback.value : 0;
        others += own > counted ? own - counted : 0;
    }
    trunk.capacity.value -= std::min(others, trunk.capacity.value - trunk.fallback.value * trunk.hosts);
    const Shares shares = compute_shares(trunk, demands);
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
        std::uint64_t share = nodes_[i].in_force;
        if (nodes_[i].member) share = settings_of(i).trunk.fallback.value;
        if (shares_in_it(i)) share = shares.of_host[sharing->numbers[i]].value;
        if (nodes_[i].in_force != share)
            fail(fmt::format("host {} has {} byte/s instead of {}", i, nodes_[i].in_force, share));
    }
    events_ = {};
}

}  // namespace headway::test
