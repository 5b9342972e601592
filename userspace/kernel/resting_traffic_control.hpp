// SPDX-License-Identifier: Apache-2.0
// Traffic control of a device that has its own qdiscs as long as nobody is paced.
//
// A root qdisc of ours in the place of mq takes the device's TX queues away from those
// who are not paced.  So where no class is limited, all of ours can rest: the device
// has its default again, and what was in the kernel is kept here, where it is read and
// changed as before.  The first change that limits a class puts all of it back before it returns.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kernel/traffic_control.hpp"

namespace headway {

class RestingTrafficControl final : public TrafficControl {
public:
    /// Told of the end of each rest; with the reason, if the device's own qdiscs had to stay.
    using Woken = std::function<void(const Result<void>& done)>;

    /// The kernel, which must outlive this object, has all that is wanted.  `program` is that of the
    /// classifier; none: there is no classifier.
    RestingTrafficControl(TrafficControl& kernel, std::optional<PhaseProgram> program, AskLinkRate link_rate)
        : kernel_(kernel), program_(program), link_rate_(std::move(link_rate)) {}

    /// Gives the device its default, if no class of ours is limited and no packet waits.  False: that
    /// is not so, or something of the earlier run or of others is there.
    [[nodiscard]] Result<bool> rest();
    [[nodiscard]] bool is_resting() const { return kept_.has_value(); }
    void when_woken(Woken woken) { woken_ = std::move(woken); }

    [[nodiscard]] Result<void> find_device() override { return kernel_.find_device(); }
    [[nodiscard]] Result<std::optional<RootQdisc>> root_qdisc() override;
    [[nodiscard]] Result<std::vector<ClassState>> classes() override;
    [[nodiscard]] Result<std::vector<FilterState>> filters(TcHandle qdisc) override;
    [[nodiscard]] tl::expected<void, ApplyFailure> apply(std::span<const Change> changes,
                                                         ApplyMode mode) override;

private:
    /// What is in the kernel else.
    struct Kept {
        std::uint32_t backend = GAP_BACKEND_TIMER;
        std::vector<AddClass> classes;  ///< parents first
        std::vector<Change> filters;
    };
    struct Applier;

    [[nodiscard]] std::optional<Kept> keep(const RootQdisc& root, const std::vector<ClassState>& classes,
                                           const std::vector<FilterState>& filters) const;
    [[nodiscard]] std::optional<Change> to_change(const FilterState& state) const;
    Result<void> wake(const Kept& wanted);
    Result<void> put_back(const Kept& wanted);

    TrafficControl& kernel_;
    std::optional<PhaseProgram> program_;
    AskLinkRate link_rate_;
    Woken woken_ = [](const Result<void>&) {};
    std::optional<Kept> kept_;  ///< none: it is in the kernel
};

}  // namespace headway
