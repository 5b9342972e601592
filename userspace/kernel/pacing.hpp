// SPDX-License-Identifier: Apache-2.0
// The rates that collectives ask for, and the rates in the kernel.
//
// Pacer: every active collective of every process on the node may limit every class.
// The strictest wins; without any, a class is unlimited.  The kernel applies a rate at
// once, to the packets that wait as well.  After a failure retry() tries again with
// growing pauses.
//
// KernelMirror: what the kernel's classes are known to have, in one place for all who
// change them.  Whoever wants a rate asks for it whenever it could be another one; what
// the kernel has acknowledged, or has shown in a dump since, is not sent again.  After a
// failure what was asked and not acknowledged is in doubt: a change may have been made of
// which only the acknowledgement was lost.  It is sent again when it is asked for again.
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
#include "kernel/traffic_control.hpp"

namespace headway {

class KernelMirror final : public TrafficControl {
public:
    /// `kernel` must outlive the mirror, through which all changes of classes have to go but those
    /// of the self-test's own.
    explicit KernelMirror(TrafficControl& kernel) : kernel_(kernel) {}

    [[nodiscard]] Result<void> find_device() override { return kernel_.find_device(); }
    /// From then on the link's rate is known.
    [[nodiscard]] Result<std::optional<RootQdisc>> root_qdisc() override;
    /// From then on what they show is known.
    [[nodiscard]] Result<std::vector<ClassState>> classes() override;
    [[nodiscard]] Result<std::vector<FilterState>> filters(TcHandle qdisc) override {
        return kernel_.filters(qdisc);
    }
    /// Rates and entries of tables that the kernel has already are made by asking nothing.
    [[nodiscard]] tl::expected<void, ApplyFailure> apply(std::span<const Change> changes,
                                                         ApplyMode mode) override;

    /// Asking for it would ask nothing.
    [[nodiscard]] bool has_rate(TcHandle classid, const ClassRate& rate) const;

    /// Somebody else may have changed anything.
    void doubt() { known_.clear(); }

private:
    struct Known {
        RateTable table{};
        bool is_leased = false;  ///< it may expire at any time, so its rate is never known
        bool is_rate_known = false;
        ClassRate rate{};
        std::uint64_t shown_in = 0;  ///< the last dump that did, by number

        void learn_rate(const ClassRate& told) {
            is_rate_known = !is_leased;
            rate = told;
        }
        [[nodiscard]] bool has(TableEntry number, const ClassRate& wanted) const {
            const auto entry = table.find(number);
            return entry != table.end() && entry->second == wanted;
        }
    };
    struct Learner;

    [[nodiscard]] bool is_all_news(const Change& change) const;
    [[nodiscard]] std::optional<Change> news_of(const Change& change) const;
    tl::expected<void, ApplyFailure> ask(std::span<const Change> changes, ApplyMode mode);

    TrafficControl& kernel_;
    std::unordered_map<std::uint32_t, Known> known_;  ///< by handle
    std::optional<BytesPerSecond> link_rate_;
    std::uint64_t dumps_ = 0;
};

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
