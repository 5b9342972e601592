// SPDX-License-Identifier: Apache-2.0
#include "plan/max_min.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>

#include "plan/compensated_sum.hpp"

namespace headway {
namespace {

/// Relative difference up to which a constraint's users fill it.
constexpr double tolerance = 1e-12;
constexpr double infinite = std::numeric_limits<double>::infinity();

}  // namespace

class MaxMinSystem::Filling {
public:
    explicit Filling(const MaxMinSystem& system)
        : system_(system),
          states_(system.constraints_.begin(), system.constraints_.end()),
          rates_(system.bounds_.size(), growing) {
        list_users();
        list_bounds();
        for (Id id = 0; id < states_.size(); ++id) {
            if (states_[id].growing_users > 0) by_level_.push({level_when_full(id), id});
        }
    }

    std::vector<double> run() {
        while (true) {
            const double full = next_full(), bound = next_bound();
            if (full == infinite && bound == infinite) break;
            level_ = std::max(level_, std::min(full, bound));
            if (bound <= full) {
                stop(by_bound_.back(), bound);
            } else {
                full_.push_back(by_level_.top().id);
                by_level_.pop();
            }
            stop_users_of_full();
        }
        std::ranges::replace(rates_, growing, infinite);
        return std::move(rates_);
    }

private:
    static constexpr double growing = -1;

    /// One line of a cache: constraints are come to in no order.
    struct alignas(64) State : Constraint {
        explicit State(const Constraint& constraint) : Constraint(constraint) {}

        std::size_t users_end = 0;  ///< in users_
        std::uint32_t growing_users = 0;
        double growing_weight = 0;
        CompensatedSum stopped{};
    };
    struct Entry {
        double level;
        Id id;
        bool operator<(const Entry& other) const { return level > other.level; }
    };

    [[nodiscard]] std::span<const Element> elements_of(std::uint32_t variable) const {
        const std::size_t begin = variable == 0 ? 0 : system_.ends_[variable - 1];
        return std::span(system_.elements_).subspan(begin, system_.ends_[variable] - begin);
    }

    [[nodiscard]] std::span<const std::uint32_t> users_of(Id id) const {
        const std::size_t begin = id == 0 ? 0 : states_[id - 1].users_end;
        return std::span(users_).subspan(begin, states_[id].users_end - begin);
    }

    void list_users() {
        for (const Element& element : system_.elements_) {
            ++states_[element.constraint].growing_users;
            states_[element.constraint].growing_weight += element.weight;
        }
        std::size_t begin = 0;
        for (State& state : states_) {
            state.users_end = begin;  // moves on to the end with each of them
            begin += state.growing_users;
        }
        users_.resize(begin);
        for (std::uint32_t variable = 0; variable < rates_.size(); ++variable) {
            for (const Element& element : elements_of(variable))
                users_[states_[element.constraint].users_end++] = variable;
        }
    }

    /// The lowest is the last.
    void list_bounds() {
        for (std::uint32_t variable = 0; variable < rates_.size(); ++variable) {
            if (std::isfinite(system_.bounds_[variable])) by_bound_.push_back(variable);
        }
        const auto bound = [&](std::uint32_t variable) { return system_.bounds_[variable]; };
        if (!std::ranges::is_sorted(by_bound_, std::greater(), bound))
            std::ranges::stable_sort(by_bound_, std::greater(), bound);
    }

    [[nodiscard]] double level_when_full(Id id) const {
        const State& state = states_[id];
        return (state.capacity - state.stopped.value()) / state.growing_weight;
    }

    /// The level at which the first of the heap is full.
    [[nodiscard]] double next_full() {
        while (!by_level_.empty()) {
            const auto [expected, id] = by_level_.top();
            const double now = level_when_full(id);
            if (states_[id].growing_users > 0 && now <= expected) return now;
            by_level_.pop();
            if (states_[id].growing_users > 0) by_level_.push({now, id});
        }
        return infinite;
    }

    [[nodiscard]] double next_bound() {
        while (!by_bound_.empty() && rates_[by_bound_.back()] != growing) by_bound_.pop_back();
        return by_bound_.empty() ? infinite : system_.bounds_[by_bound_.back()];
    }

    [[nodiscard]] bool is_full(Id id) const {
        return states_[id].stopped.value() >= states_[id].capacity * (1 - tolerance);
    }

    /// In both directions; and those of constraints that this fills to the brim.
    void stop_users_of_full() {
        while (!full_.empty()) {
            const Id id = full_.back(), reverse = states_[id].reverse;
            full_.pop_back();
            for (const std::uint32_t variable : users_of(id)) stop(variable, level_);
            if (reverse == none) continue;
            for (const std::uint32_t variable : users_of(reverse)) stop(variable, level_);
        }
    }

    void stop(std::uint32_t variable, double level) {
        if (rates_[variable] != growing) return;
        const double rate = rates_[variable] = std::min(level, system_.bounds_[variable]);
        for (const auto [id, weight] : elements_of(variable)) {
            State& state = states_[id];
            state.stopped.add(weight * rate);
            state.growing_weight -= weight;
            if (--state.growing_users == 0 && is_full(id)) full_.push_back(id);
        }
    }

    const MaxMinSystem& system_;
    std::vector<State> states_;           ///< by constraint
    std::vector<double> rates_;           ///< by variable
    std::vector<std::uint32_t> users_;    ///< of one constraint after the other
    std::vector<std::uint32_t> by_bound_;
    std::priority_queue<Entry> by_level_;
    std::vector<Id> full_;                ///< whose users have still to be stopped
    double level_ = 0;
};

std::vector<double> MaxMinSystem::solve() const { return Filling(*this).run(); }

}  // namespace headway
