// SPDX-License-Identifier: Apache-2.0
// A cluster whose daemons, hosts, network and store fail at random, with
// TrunkMember as it is.  Time is virtual; a seed gives the same run again.
//
// At every event: the rates in force are within the trunk, and who is above the
// fallback has a live lease.  At the end, when
// nothing has failed for a while: every daemon has its whole share.
//
// In half of the runs there are several settings, which differ in capacity, fallback, policy and
// hosts, and daemons are started again with others.  Then the trunk is that of those who share by
// the last epoch that has been agreed on, and a host that this epoch does not know with its
// present daemon is counted with what it is counted with there (coordination.rst, assumption 7).
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <random>
#include <string>
#include <vector>

#include "fake_kernel.hpp"
#include "fake_store.hpp"
#include "trunk/trunk_member.hpp"

namespace headway::test {

struct SimulationOptions {
    std::uint64_t seed = 1;
    std::uint32_t hosts = 0;  ///< 0: two to twenty-four, drawn
    std::chrono::seconds trouble{120};  ///< how long things fail
    double mishaps_per_s = 0;  ///< 0: some every ten seconds to some per second, drawn
};

struct SimulationResult {
    std::string failure;  ///< empty: none
    std::uint64_t events = 0;
    std::uint64_t raises = 0;    ///< of caps above the fallback
    std::uint64_t expired = 0;   ///< guards with a cap above the fallback
    std::uint64_t fenced = 0;    ///< requests to the kernel that came too late to matter
    double fullest = 0;          ///< the most that was in force, of the trunk
};

class Simulation {
public:
    explicit Simulation(const SimulationOptions& options);
    SimulationResult run();

private:
    using Time = std::chrono::nanoseconds;

    /// The settings with which a daemon is started.
    struct Settings {
        SharedTrunk trunk;
        std::uint64_t digest = 0;
        std::vector<bool> has{};            ///< by node
        std::vector<HostNumber> numbers{};  ///< of nodes, as HostNumbers does it
    };
    /// The last epoch that all have acknowledged.
    struct Agreed {
        const Settings* sharing = nullptr;      ///< none: all are at their fallback
        std::vector<std::uint64_t> life{};      ///< of the daemon whose record it has; 0: none
        std::vector<std::uint64_t> fallback{};  ///< what a node is counted with as one that does not share
    };

    /// A daemon does one thing after the other, and may be held up between any two.
    struct Node {
        std::size_t settings = 0;  ///< of this daemon, or of the next
        std::uint64_t record_life = 0;  ///< of the daemon whose record is in the store
        std::uint64_t fallback = 0;  ///< its settings', or until its first request an earlier daemon's if that is more
        std::unique_ptr<TrunkMember> member;  ///< none: the daemon is not running
        std::uint64_t life = 0;  ///< counts daemons: what was meant for an earlier one is lost
        bool stops = false;
        bool is_paused = false;
        Time pause_next{};  ///< before the next action
        std::deque<std::function<void(Time)>> inbox;
        std::deque<Action> actions;
        bool has_tick = false;

        FakeGuardedClass kernel;
        std::uint64_t in_force = 0;
        bool kernel_refuses = false;

        double clock_rate = 1;
        Time clock_offset{};

        bool is_connected = false;
        std::uint64_t connection = 0;
        bool is_delivering = false;
        Revision streamed = 0;
        Time cut_until = Time::min();  ///< no connection before
        bool cut_holds_requests = false;  ///< they arrive when the cut is over

        std::vector<Demand> demands;
    };

    // ---- simulation.cpp: time, daemons, network ----
    void at(Time when, std::function<void()> what);
    void after(Time delay, std::function<void()> what) { at(now_ + delay, std::move(what)); }
    [[nodiscard]] Time clock_of(const Node& node) const;
    [[nodiscard]] Time true_time(const Node& node, Time local) const;
    [[nodiscard]] Time latency();
    void start_daemon(std::uint32_t i);
    void kill_daemon(std::uint32_t i);
    void tick(std::uint32_t i, std::uint64_t life);
    void tell(std::uint32_t i, std::uint64_t life, std::function<void(Time)> what);
    void run_daemon(std::uint32_t i);
    void pause(std::uint32_t i, Time how_long);
    void perform(std::uint32_t i, const Action& action);
    bool perform_in_kernel(Node& node, const Deed& deed);
    void send_to_store(std::uint32_t i, const Action& action);
    [[nodiscard]] std::optional<StoreAnswer> serve(std::uint32_t i, const Action& action);
    void connect(std::uint32_t i);
    void disconnect(std::uint32_t i);
    void store_has_changed();
    void deliver(std::uint32_t i, std::uint64_t connection, std::uint64_t life);
    void account(Node& node);
    void check_sum();
    void check_lease(std::uint32_t i);
    [[nodiscard]] const Settings& settings_of(std::uint32_t i) const { return settings_[nodes_[i].settings]; }
    /// Which settings most of these are of; none: there are none.
    [[nodiscard]] const Settings* leading(const std::vector<std::uint64_t>& digests) const;
    void note_agreed();
    void fail(std::string why);

    // ---- mishaps.cpp ----
    void make_settings();
    void add_settings();
    void reconfigure(std::uint32_t i, std::size_t settings);
    void begin();
    void end_leases();
    void schedule_mishap();
    void mishap();
    void change_jobs();
    void cut(std::uint32_t i, Time how_long);
    void incident(std::uint32_t i);
    void store_down(Time how_long);
    void calm_down();
    void check_shares();

    [[nodiscard]] std::uint64_t random(std::uint64_t below) { return random_() % below; }
    [[nodiscard]] Time up_to_ms(std::uint64_t ms) {
        return std::chrono::microseconds(random(ms * 1000) + 1);
    }
    [[nodiscard]] bool is_noisy() const { return !is_calm_ && !only_incidents_; }
    [[nodiscard]] bool one_in(std::uint64_t n) { return random(n) == 0; }

    struct Event {
        Time at;
        std::uint64_t number;
        std::function<void()> what;
        bool operator<(const Event& other) const {  // the queue's top is the greatest
            return at != other.at ? at > other.at : number > other.number;
        }
    };

    SimulationOptions options_;
    std::mt19937_64 random_;
    SharedTrunk trunk_;
    std::vector<Settings> settings_;  ///< the first are those of trunk_, which have all nodes
    Agreed agreed_;
    LeaseTiming timing_;
    std::uint32_t jobs_ = 1;
    std::vector<Node> nodes_;
    std::optional<FakeStore> store_;
    bool store_is_up_ = true;
    Time store_lost_until_ = Time::min();  ///< it has lost everything, and shares last so long
    bool is_calm_ = false;
    bool only_incidents_ = false;  ///< and much time between them
    std::uint64_t in_force_ = 0;

    Time now_{};
    std::uint64_t next_event_ = 0;
    std::priority_queue<Event> events_;
    SimulationResult result_;
};

}  // namespace headway::test
