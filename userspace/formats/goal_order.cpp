// SPDX-License-Identifier: Apache-2.0
#include "formats/goal_order.hpp"

#include <queue>

namespace headway {
namespace {

using Earliest =
    std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>>;

class Order {
public:
    Order(std::uint32_t operations, std::span<const GoalDependency> dependencies,
          const std::function<void(GoalStep, std::uint32_t)>& step)
        : states_(operations), step_(step) {
        for (const GoalDependency& dependency : dependencies) {
            states_[dependency.before].followers.push_back(dependency);
            ++states_[dependency.after].not_started;
            if (dependency.at_start) continue;
            ++states_[dependency.after].not_ended;
            states_[dependency.after].ends.push_back(dependency.before);
        }
    }

    bool run() {
        for (std::uint32_t i = 0; i < states_.size(); ++i) {
            if (states_[i].not_started == 0) free_.push(i);
        }
        std::size_t started = 0;
        while (!free_.empty() || !waiting_.empty()) {
            Earliest& queue = free_.empty() ? waiting_ : free_;
            const std::uint32_t next = queue.top();
            queue.pop();
            if (states_[next].has_started) continue;  // was in both queues
            for (const std::uint32_t before : states_[next].ends) end(before);
            start(next);
            ++started;
        }
        return started == states_.size();
    }

private:
    struct State {
        std::vector<GoalDependency> followers;
        std::vector<std::uint32_t> ends;  ///< what has to have ended
        std::uint32_t not_started = 0;    ///< of what it depends on
        std::uint32_t not_ended = 0;
        bool has_started = false;
        bool has_ended = false;
    };

    void start(std::uint32_t operation) {
        states_[operation].has_started = true;
        step_(GoalStep::start, operation);
        for (const GoalDependency& dependency : states_[operation].followers) {
            State& after = states_[dependency.after];
            if (--after.not_started > 0) continue;
            (after.not_ended == 0 ? free_ : waiting_).push(dependency.after);
        }
    }

    void end(std::uint32_t operation) {
        if (states_[operation].has_ended) return;
        states_[operation].has_ended = true;
        step_(GoalStep::wait, operation);
        for (const GoalDependency& dependency : states_[operation].followers) {
            if (dependency.at_start) continue;
            State& after = states_[dependency.after];
            if (--after.not_ended == 0 && after.not_started == 0) free_.push(dependency.after);
        }
    }

    std::vector<State> states_;
    const std::function<void(GoalStep, std::uint32_t)>& step_;
    Earliest free_;     ///< can start
    Earliest waiting_;  ///< can start after waits
};

}  // namespace

bool order_goal_operations(std::uint32_t operations, std::span<const GoalDependency> dependencies,
                           const std::function<void(GoalStep, std::uint32_t)>& step) {
    return Order(operations, dependencies, step).run();
}

}  // namespace headway
