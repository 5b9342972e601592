// SPDX-License-Identifier: Apache-2.0
// Plans as one node needs them: host names in, a rate per class out.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "config/config.hpp"
#include "kernel/kernel_layout.hpp"
#include "plan/planner.hpp"
#include "protocol/protocol.hpp"
#include "trunk/shared_trunk.hpp"

namespace headway {

/// A collective's plan for this node's classes.
struct NodePlan {
    bool paced = false;
    std::string reason;
    std::vector<ClassRate> rates;  ///< per class of the layout; empty if not paced
    /// The algorithm that the rates are for; none: the library's.  A ring has no rates: a client
    /// that goes around one asks for that traffic's.
    std::optional<ClientAlgorithm> algorithm{};
    std::optional<Prediction> predicted{};  ///< with a message size: so paced, or so unpaced
    /// The plan does not pace, because a job that is alone need not be.
    bool is_uncontended = false;
    bool has_root = false;  ///< a gather or a scatter, in which some ranks only send
    double end_s = 0;  ///< of traffic: see TrafficPlan
};

/// A collective as the planner sees it: names have become numbers.
struct CollectivePattern {
    const PlannedOperation* operation = nullptr;
    AllToAllPattern hosts;
    std::size_t root_cluster = 0;  ///< of an operation with a root, as the next
    bool root_is_here = false;
    AlgorithmChoice algorithm{};

    /// All ranks ask for the same message size.
    [[nodiscard]] bool sizes_agree() const {
        return operation->sizes_agree || algorithm.able_to_ring;
    }

    friend auto operator<=>(const CollectivePattern&, const CollectivePattern&) = default;
};

/// A plan of messages straight between a root and everybody else.
struct RootedPlan {
    Exchange exchange;
    ExchangePlan plan;
};

/// The size that the collective is planned for: none if the ranks may name different ones,
/// because they would divide a link by different numbers.
[[nodiscard]] std::optional<std::uint64_t> size_to_plan(
    const CollectivePattern& pattern, const std::optional<std::uint64_t>& message_bytes);

/// Why a message of that size is not paced; none: it is large enough, or of
/// no particular size.
[[nodiscard]] std::optional<std::string> too_small(
    const PolicyConfig& policy, const std::optional<std::uint64_t>& message_bytes);

/// The size that messages of `message_bytes` are planned as: one plan serves all
/// that are nearly as large, and none is smaller than it thinks.
[[nodiscard]] std::uint64_t planned_bytes(std::uint64_t message_bytes);

class NodePlanner {
public:
    /// Fails if the host is in no cluster of the configuration.
    [[nodiscard]] static Result<NodePlanner> make(Config config, const std::string& host_name);

    /// A planner of another node with the same configuration, which divides the links as this one
    /// does.  The two make a plan that all nodes share once.
    [[nodiscard]] Result<NodePlanner> on_node(const std::string& name) const;

    [[nodiscard]] const Config& config() const { return config_; }
    /// What the kernel should have; distrust() may change the bursts of its classes.
    [[nodiscard]] const KernelLayout& layout() const { return layout_; }
    /// The trunk that is shared by agreement; none: it is not.
    [[nodiscard]] const std::optional<NodeTrunk>& shared_trunk() const { return shared_trunk_; }
    [[nodiscard]] const std::string& node_name() const { return node_name_; }
    [[nodiscard]] const Cluster& own_cluster() const {
        return config_.topology.clusters()[layout_.own_cluster];
    }

    /// Plans from now on rely on no buffer, and divide every link by so many times
    /// more, divisor_one .. divisor_factor_max; none: they trust the configuration.
    void distrust(std::optional<std::uint32_t> divisor_factor_thousandths);
    [[nodiscard]] std::optional<std::uint32_t> divisor_factor() const { return divisor_factor_; }

    /// The hosts of a list in short form.  Kept for the next who asks: the processes of a job all
    /// name the same.  Fails on what is no list, on more than hosts_per_request_max and on unknown
    /// hosts.
    [[nodiscard]] Result<std::shared_ptr<const HostSet>> hosts_of(const std::string& list) const;

    /// Names to numbers.  Fails as hosts_of() does, on communicator hosts that are not in the job, on
    /// a root that is not in the communicator, and if this node is not.
    [[nodiscard]] Result<CollectivePattern> pattern_of(const CollectiveHosts& hosts) const;

    /// Plans a collective by the size that all its ranks know, too small or not. Clients with
    /// phases and `headway plan` get this one answer.
    [[nodiscard]] Result<NodePlan> plan(const CollectiveHosts& hosts,
                                        std::optional<std::uint64_t> message_bytes) const;

    /// Plans for that message size, or for messages of any size.  It keeps plans, because the
    /// processes of a job all ask the same.
    [[nodiscard]] Result<NodePlan> plan(const CollectivePattern& pattern,
                                        std::optional<std::uint64_t> message_bytes) const;

    /// Plans traffic of any sizes, and keeps the plan.  Fails on unknown hosts, on one named twice,
    /// and if this node is not among them.
    [[nodiscard]] Result<NodePlan> plan(const TrafficRequest& request) const;

    /// Plans an all-to-all of all the job's ranks, for messages of any size.
    [[nodiscard]] Result<NodePlan> plan_job_alltoall(const std::vector<std::string>& hosts,
                                                     std::uint32_t ranks_per_host) const;

    /// The cluster-wide plan of which plan() takes this node's part: of operations planned as
    /// all-to-alls...
    [[nodiscard]] Result<CollectivePlan> plan_from_all(
        const CollectivePattern& pattern, std::optional<std::uint64_t> message_bytes) const;
    /// ... and of those to or from a root, who is the last group of the exchange.
    [[nodiscard]] Result<RootedPlan> plan_at_root(
        const CollectivePattern& pattern, std::optional<std::uint64_t> message_bytes) const;

    /// The whole plan of an all-to-all, for the size that plan() makes of it, whether or not
    /// this node is one of the hosts.
    [[nodiscard]] Result<CollectivePlan> plan_hosts(const PlanRequest& request) const;

private:
    Result<NodePlan> plan_anew(const TrafficRequest& request) const;
    Result<NodePlan> plan_anew(const CollectivePattern& pattern,
                               std::optional<std::uint64_t> message_bytes) const;
    Result<NodePlan> plan_alltoall_like(const CollectivePattern& pattern,
                                        std::optional<std::uint64_t> message_bytes) const;
    Result<NodePlan> plan_by_ring(const CollectivePattern& pattern,
                                  std::optional<std::uint64_t> message_bytes) const;
    Result<NodePlan> plan_rooted(const CollectivePattern& pattern,
                                 std::optional<std::uint64_t> message_bytes) const;

    NodePlanner(Config config, std::string node_name, std::size_t own_cluster,
                std::optional<NodeTrunk> shared_trunk)
        : config_(std::move(config)),
          node_name_(std::move(node_name)),
          shared_trunk_(std::move(shared_trunk)),
          planned_(config_.topology),
          layout_(layout_on(own_cluster)),
          policy_(config_.policy.plan) {}

    [[nodiscard]] KernelLayout layout_on(std::size_t own_cluster) const;

    Config config_;
    std::string node_name_;
    std::optional<NodeTrunk> shared_trunk_;
    Topology planned_;  ///< what plans are made for
    KernelLayout layout_;
    std::optional<std::uint32_t> divisor_factor_;
    PlanPolicy policy_;
    mutable std::unordered_map<std::string, std::shared_ptr<const HostSet>> host_sets_;
    /// The plans made so far, by pattern and size.
    mutable std::map<std::pair<CollectivePattern, std::optional<std::uint64_t>>, NodePlan> plans_;
    mutable std::map<TrafficRequest, NodePlan> traffic_plans_;
    /// The last few of all nodes together, which are large.
    using WholePlans =
        std::map<std::pair<AllToAllPattern, std::optional<std::uint64_t>>, CollectivePlan>;
    std::shared_ptr<WholePlans> whole_plans_ = std::make_shared<WholePlans>();
};

}  // namespace headway
