// SPDX-License-Identifier: Apache-2.0
// TrunkMember between the kernel and headway-etcd: carries out its actions, and
// tells it what happens.  No event loop, no process: coordination_loop.hpp.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>
#include <spdlog/fwd.h>

#include "base/clock.hpp"
#include "kernel/reconciler.hpp"
#include "kernel/traffic_control.hpp"
#include "trunk/coordination_config.hpp"
#include "trunk/shared_trunk.hpp"
#include "trunk/store_link.hpp"
#include "trunk/trunk_member.hpp"

namespace headway {

/// The way of a packet to headway-etcd.  What is sent while there is none is lost.
using StoreSender = std::function<void(const std::string& packet)>;

class Coordinator {
public:
    /// The kernel must hold guard and cap, however they are, on a link of `link_rate`.  `clock` counts time
    /// in which the node sleeps (CLOCK_BOOTTIME).  `hosts` has numbered those in reports.  The
    /// references must outlive this.
    Coordinator(const NodeTrunk& node, const CoordinationConfig& config, TrafficControl& kernel,
                StoreSender store, const Clock& clock, BytesPerSecond link_rate, const HostNumbers& hosts,
                spdlog::logger& log);

    /// The jobs of the node are these from now on.
    void want(const std::vector<JobHere>& jobs);
    /// As often as TrunkMember::tick() wants it.
    void tick();
    /// Fails if it is out of place: then what headway-etcd says means nothing.
    [[nodiscard]] Result<void> report(const StoreReport& report);
    /// headway-etcd has gone; the next one begins with a snapshot.
    void store_gone();
    void stop();
    [[nodiscard]] bool has_stopped() const { return member_.has_stopped(); }
    /// As the kernel has it; none: nobody knows.
    [[nodiscard]] std::optional<TrunkDivision> division() const;

    /// Makes the observer by which the reconciler tells the coordinator of its passes.
    [[nodiscard]] PassObserver observer();

    /// For "status".
    [[nodiscard]] nlohmann::json status() const;

private:
    void pass_found(const KernelState& observed);
    void pass_ended();
    void carry_out();
    std::optional<bool> carry_out(const Action& action);
    bool change(const Change& change);
    [[nodiscard]] BytesPerSecond in_kernel(BytesPerSecond cap) const;
    [[nodiscard]] std::vector<Demand> demands_of(const std::vector<JobHere>& jobs) const;
    [[nodiscard]] std::uint32_t weight_of(const JobHere& job) const;
    bool set_cap(const SetCap& deed);
    void snapshot_if_complete();
    void tell_cap();
    [[nodiscard]] std::vector<HostNumber> differing() const;
    void tell_differing();
    [[nodiscard]] std::string differing_text(const std::vector<HostNumber>& differing) const;

    Result<void> take(const StoreAnswer& answer);
    Result<void> take(const SnapshotBegins& begins);
    Result<void> take(const SnapshotMember& member);
    Result<void> take(const StoreChanges& changes);
    Result<void> take(const StoreCondition& condition);

    const NodeTrunk node_;
    const CoordinationConfig config_;
    TrafficControl& kernel_;
    StoreSender store_;
    const Clock& clock_;
    const HostNumbers& hosts_;
    spdlog::logger& log_;
    TrunkMember member_;
    std::vector<JobHere> jobs_;
    std::map<JobIdentity, BytesPerSecond> job_shares_;  ///< by which the cap was set
    std::optional<StoreSnapshot> beginning_;  ///< none: no member is missing
    std::uint64_t members_missing_ = 0;       ///< are still to come
    bool has_snapshot_ = false;          ///< of this headway-etcd
    bool is_kernel_lost_ = false;        ///< somebody has changed guard or cap
    BytesPerSecond link_rate_;
    std::optional<BytesPerSecond> told_cap_;
    std::vector<HostNumber> told_differing_;
    Revision told_differing_at_ = 0;  ///< epoch
    std::chrono::nanoseconds tell_differing_from_{0};
    StoreCondition condition_{false, "headway-etcd has not said anything yet"};
};

}  // namespace headway
