// SPDX-License-Identifier: Apache-2.0
// Keeps the kernel as it should be, whoever changes it.
//
// A pass reads all that the device has, compares it with all it should have,
// and makes the difference.  Passes come when somebody notices a change, and
// again with growing pauses as long as the kernel refuses something.  If others
// keep changing what is put right, passes come once a second at most.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "kernel/kernel_diff.hpp"

namespace headway {

/// The owner of the desired state; it is also told what was found.
class DesiredState {
public:
    virtual ~DesiredState() = default;

    [[nodiscard]] virtual KernelDesire desired() const = 0;
    /// All that is desired is there, on a link of that rate (none: unknown).
    virtual void kernel_agrees(const std::optional<BytesPerSecond>& link_rate) = 0;
    /// Some of it is not, or nobody knows.
    virtual void kernel_differs() = 0;

protected:
    DesiredState() = default;
    DesiredState(const DesiredState&) = default;
    DesiredState& operator=(const DesiredState&) = default;
};

/// Told what each pass finds, and when it has ended.
struct PassObserver {
    std::function<void(const KernelState& observed)> found = [](const KernelState&) {};
    std::function<void()> ended = [] {};
};

/// The result of the last pass.
struct ReconcileStatus {
    std::optional<Error> error;       ///< none: the kernel has what is desired
    std::vector<std::string> failed;  ///< "adding class 1:11": what the kernel refused
    std::uint64_t passes = 0;
    std::uint64_t mended = 0;  ///< passes that found something to put right
};

class Reconciler {
public:
    /// The references must outlive the reconciler.
    Reconciler(TrafficControl& kernel, const Clock& clock, DesiredState& desired);

    /// Something in the kernel has changed, or may have.
    void notice();

    /// When run() wants to be called; none: not before the next notice().
    [[nodiscard]] std::optional<std::chrono::nanoseconds> due_at() const { return due_at_; }
    [[nodiscard]] bool is_due() const { return due_at_ && clock_.now() >= *due_at_; }

    /// A pass, now.  What it found to do; status() tells how that went.
    KernelDiff run();
    /// Runs a pass because the desired state has changed, not the kernel's.
    KernelDiff run_for_own_change();

    [[nodiscard]] const ReconcileStatus& status() const { return status_; }

    void observe(PassObserver observer) { observer_ = std::move(observer); }

private:
    Result<void> attempt(KernelDiff& diff);
    void count_mending(const KernelDiff& diff);
    Result<void> make(const std::vector<Change>& changes);
    void plan_next(const KernelDiff& diff);

    TrafficControl& kernel_;
    const Clock& clock_;
    DesiredState& desired_;
    PassObserver observer_;
    ReconcileStatus status_;
    std::optional<std::chrono::nanoseconds> due_at_;
    std::optional<std::chrono::nanoseconds> last_pass_;
    std::optional<std::chrono::nanoseconds> last_mending_;
    std::chrono::nanoseconds spacing_{0};  ///< from the last pass to one that is asked for
    RetryPause retry_pause_;
};

}  // namespace headway
