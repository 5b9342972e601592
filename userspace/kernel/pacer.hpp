// SPDX-License-Identifier: Apache-2.0
// The rates that collectives ask for, and the rates in the kernel.
//
// Every active collective of every process on the node may limit every class.
// The strictest wins; without any, a class is unlimited.  The
// kernel applies a rate at once, to the packets that wait as well.
//
// What the kernel has already KernelMirror knows, which asks it for the rest only.  After a
// failure retry() tries again with growing pauses.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "kernel/kernel_layout.hpp"
#include "kernel/kernel_mirror.hpp"

namespace headway {

class Pacer {
public:
    using EnterId = std::uint64_t;

    /// The kernel must hold `layout`.  The references must outlive the pacer.
    Pacer(KernelMirror& kernel, const Clock& clock, const KernelLayout& layout);

    /// A collective begins that limits class i to rates[i] (none: no wish).
    /// When this returns, the kernel holds the rates.  If it refuses any, the
    /// collective is not entered and the other classes are as before.
    [[nodiscard]] Result<EnterId> enter(std::vector<ClassRate> rates);

    /// Collectives end.  Never fails for the caller: what the kernel refuses
    /// now is tried again later, and is told once by take_error().
    void leave(std::span<const EnterId> enters);

    /// The kernel holds these rates, one per class, from before this pacer: they
    /// count as a collective's until release_held().
    void hold(std::vector<ClassRate> rates);
    void release_held();

    /// While pacing is off, the kernel holds no rate; what collectives want is remembered.
    void set_off(bool is_off);

    /// Somebody else has seen to it that the kernel holds the wanted rates.
    void confirm();

    /// Brings the kernel to the wanted rates if it is time.
    void retry();
    /// When retry() wants to be called; none: the kernel is as wanted.
    [[nodiscard]] std::optional<std::chrono::nanoseconds> retry_at() const { return retry_at_; }

    /// The last failure that no caller was told, once.
    [[nodiscard]] std::optional<Error> take_error();

    [[nodiscard]] std::size_t active() const { return enters_.size(); }
    [[nodiscard]] ClassRate wanted(std::size_t class_index) const;

private:
    struct PacedClass {
        TcHandle classid;
        std::map<BytesPerSecond, std::uint32_t> wishes{};  ///< rate -> how many want it
    };

    void add_wishes(const std::vector<ClassRate>& rates);
    void remove_wishes(const std::vector<ClassRate>& rates);
    Result<void> reconcile();
    void reconcile_or_retry();

    KernelMirror& kernel_;
    const Clock& clock_;
    std::vector<PacedClass> classes_;
    std::unordered_map<EnterId, std::vector<ClassRate>> enters_;
    std::vector<ClassRate> held_;  ///< or empty
    bool is_off_ = false;
    EnterId next_id_ = 1;
    std::optional<std::chrono::nanoseconds> retry_at_;
    RetryPause retry_pause_;
    std::optional<Error> untold_error_;
};

}  // namespace headway
