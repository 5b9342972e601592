// SPDX-License-Identifier: Apache-2.0
// Tasks in a time of their own.  One of them runs at a time, until it sleeps; the time goes on
// only when all of them sleep, and then to the moment at which the next one wakes.  Of those
// that wake at the same moment one is drawn.  So a seed says all that happens.
#pragma once

#include <ucontext.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <utility>
#include <vector>

namespace headway::test {

class VirtualTime {
public:
    using Clock = std::chrono::steady_clock;

    explicit VirtualTime(std::uint32_t seed) : random_(seed) {}
    VirtualTime(const VirtualTime&) = delete;
    VirtualTime& operator=(const VirtualTime&) = delete;

    [[nodiscard]] Clock::time_point now() const { return now_; }

    /// A task begins at once, and sleeps by sleep().
    void add(std::function<void()> work) {
        auto task = std::make_unique<Task>();
        task->work = std::move(work);
        task->wakes = now_;
        getcontext(&task->context);
        task->context.uc_stack.ss_sp = task->stack.get();
        task->context.uc_stack.ss_size = stack_bytes;
        task->context.uc_link = &scheduler_;
        makecontext(&task->context, reinterpret_cast<void (*)()>(&carry_out), 1, task.get());
        tasks_.push_back(std::move(task));
    }

    void sleep(Clock::duration pause) {
        Task& task = *running_;
        task.wakes = now_ + pause;
        swapcontext(&task.context, &scheduler_);
    }

    /// Until all tasks have ended.
    void run() {
        while (!tasks_.empty()) {
            std::shuffle(tasks_.begin(), tasks_.end(), random_);
            const auto next = std::min_element(tasks_.begin(), tasks_.end(), [](const auto& one, const auto& other) {
                return one->wakes < other->wakes;
            });
            running_ = next->get();
            now_ = running_->wakes;
            swapcontext(&scheduler_, &running_->context);
            if (running_->is_over) tasks_.erase(next);
        }
    }

private:
    static constexpr std::size_t stack_bytes = 64 * 1024;
    struct Task {
        std::function<void()> work;
        Clock::time_point wakes;
        bool is_over = false;
        ucontext_t context{};
        std::unique_ptr<char[]> stack = std::make_unique_for_overwrite<char[]>(stack_bytes);
    };

    static void carry_out(Task* task) {
        task->work();
        task->is_over = true;
    }

    Clock::time_point now_{std::chrono::hours(1)};
    std::minstd_rand random_;
    std::vector<std::unique_ptr<Task>> tasks_;
    Task* running_ = nullptr;
    ucontext_t scheduler_{};
};

}  // namespace headway::test
