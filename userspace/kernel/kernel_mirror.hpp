// SPDX-License-Identifier: Apache-2.0
// What the kernel's classes are known to have, in one place for all who change them.
//
// Whoever wants a rate asks for it whenever it could be another one; what the kernel has
// acknowledged, or has shown in a dump since, is not sent again.  After a failure what was asked
// and not acknowledged is in doubt: a change may have been made of which only the
// acknowledgement was lost.  It is sent again when it is asked for again.
//
// The kernel takes no rate above its link's: such are no limit there, and are asked for as none.
#pragma once

#include <unordered_map>

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

    [[nodiscard]] ClassRate allowed(const ClassRate& rate) const;
    [[nodiscard]] bool is_all_news(const Change& change) const;
    [[nodiscard]] std::optional<Change> news_of(const Change& change) const;
    tl::expected<void, ApplyFailure> ask(std::span<const Change> changes, ApplyMode mode);

    TrafficControl& kernel_;
    std::unordered_map<std::uint32_t, Known> known_;  ///< by handle
    std::optional<BytesPerSecond> link_rate_;
};

}  // namespace headway
