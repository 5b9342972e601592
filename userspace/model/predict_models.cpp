// SPDX-License-Identifier: Apache-2.0
#include "model/predict_models.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "model/plogp.hpp"
#include "model/plogpt_closed.hpp"
#include "model/prediction.hpp"
#include "model/wire.hpp"

namespace headway {
namespace {

class Predictor {
public:
    Predictor(const Topology& topology, const PlanPolicy& policy, const PredictRequest& request,
              std::uint64_t message_bytes)
        : topology_(topology), policy_(policy), request_(request) {
        const std::uint64_t ranks = request.ranks_per_host;
        const bool root = has_root(request.operation);
        bytes_ = message_bytes * (root ? ranks : ranks * ranks);
    }

    Result<ModelTimes> run() {
        const auto exchange = make_exchange(request_.operation, request_.hosts,
                                            request_.root_cluster, static_cast<double>(bytes_));
        if (!exchange) return tl::unexpected(exchange.error());
        add_bound(*exchange);
        if (request_.operation == Operation::alltoall) {
            if (const auto added = add_alltoall(); !added) return tl::unexpected(added.error());
            add_plogpt();
        } else {
            if (const auto added = add_exchange(*exchange); !added) {
                return tl::unexpected(added.error());
            }
            found_.left_out.emplace_back("PlogP and PlogPT: their closed forms are all-to-alls'");
        }
        return std::move(found_);
    }

private:
    void add(std::string model, double low_s, double high_s, std::string reason) {
        found_.times.push_back({std::move(model), low_s, high_s, std::move(reason)});
    }

    void add(std::string model, const Prediction& prediction) {
        add(std::move(model), prediction.low_s, prediction.high_s, prediction.reason);
    }

    void add_bound(const Exchange& exchange) {
        const ExchangeNetwork network = make_network(topology_, exchange, 1);
        double bound_s = 0;
        std::string reason = "nothing is sent";
        std::vector<double> bits(network.links.size(), 0);
        for (const FluidGroup& group : network.fluid.groups) {
            for (const FluidUse& use : group.path) bits[use.link] += 8 * group.bytes * use.flows;
        }
        for (std::size_t l = 0; l < bits.size(); ++l) {
            const double busy_s = bits[l] / network.fluid.links[l].capacity_bps;
            if (busy_s <= bound_s) continue;
            bound_s = busy_s;
            reason = fmt::format("the {} carries {}",
                                 exchange_link_text(topology_, exchange, network.links[l]),
                                 bytes_text(bits[l] / 8));
        }
        add("bound", bound_s, bound_s, std::move(reason));
    }

    Result<void> add_alltoall() {
        const AllToAllPattern pattern{request_.hosts, request_.hosts, false, 1};
        const auto plan = plan_collective(topology_, policy_, pattern, bytes_);
        if (!plan) return tl::unexpected(plan.error());
        for (const AlgorithmTime& time :
             predict_algorithms(topology_, policy_, plan->shares, bytes_)) {
            const std::string name(algorithm_name(time.algorithm));
            add(fmt::format("fluid, {}, unpaced", name), time.unpaced);
            if (plan->is_paced()) add(fmt::format("fluid, {}, paced", name), time.paced);
        }
        if (!plan->is_paced()) {
            found_.left_out.push_back("paced: " + plan->shares.reason);
        }
        return {};
    }

    Result<void> add_exchange(const Exchange& exchange) {
        const auto plan = plan_exchange(topology_, policy_, exchange);
        if (!plan) return tl::unexpected(plan.error());
        add("fluid, unpaced", plan->unpaced);
        if (plan->chosen) {
            add("fluid, paced", *plan->chosen);
        } else {
            found_.left_out.push_back("paced: " + plan->reason);
        }
        return {};
    }

    /// The clusters as a perfect binary tree; or why they are none.
    Result<std::pair<std::size_t, std::size_t>> twins() const {
        std::vector<std::size_t> used;
        for (std::size_t c = 0; c < request_.hosts.per_cluster.size(); ++c) {
            if (request_.hosts.per_cluster[c] > 0) used.push_back(c);
        }
        if (used.size() != 2) return failure("it takes two clusters, not {}", used.size());
        const auto hosts = [&](std::size_t i) { return request_.hosts.per_cluster[used[i]]; };
        if (hosts(0) != hosts(1)) return failure("the clusters differ in size");
        if (!std::has_single_bit(hosts(0))) return failure("{} hosts are no power of two", hosts(0));
        if (topology_.clusters()[used[0]].host_rate != topology_.clusters()[used[1]].host_rate) {
            return failure("the clusters' hosts differ in rate");
        }
        return std::pair(used[0], used[1]);
    }

    static double bytes_per_s(BitsPerSecond rate) { return static_cast<double>(rate.value) / 8; }

    static double delay_s(const std::optional<std::uint64_t>& buffer_bytes, BitsPerSecond rate) {
        return static_cast<double>(buffer_bytes.value_or(0)) / bytes_per_s(rate);
    }

    Result<PlogptTree> tree_of(const Cluster& a, const Cluster& b, unsigned levels_inside) const {
        const BitsPerSecond trunk = std::min({a.trunk_up_rate, a.trunk_down_rate, b.trunk_up_rate,
                                              b.trunk_down_rate});
        PlogptLinks links;
        for (unsigned h = 1; h <= levels_inside; ++h) {
            links.bandwidth_bytes_per_s.push_back(std::exp2(h - 1) * bytes_per_s(a.host_rate));
            links.buffer_delay_s.push_back(delay_s(a.host_buffer_bytes, a.host_rate));
        }
        links.bandwidth_bytes_per_s.push_back(bytes_per_s(trunk));
        links.buffer_delay_s.push_back(delay_s(a.trunk_buffer_bytes, trunk));
        return PlogptTree::make(std::move(links), plogpt_default_eps_s, PlogptTree::Clamp::yes);
    }

    void add_plogpt() {
        const auto pair = twins();
        if (!pair) {
            found_.left_out.push_back("PlogP, PlogPT: " + pair.error().message);
            return;
        }
        const Cluster& a = topology_.clusters()[pair->first];
        const Cluster& b = topology_.clusters()[pair->second];
        const std::uint32_t inside = request_.hosts.per_cluster[pair->first];
        PlogptAlltoallCase of;
        of.levels = static_cast<unsigned>(std::bit_width(inside));
        of.message_bytes = static_cast<double>(tcp_wire_bytes(bytes_));
        of.gap_s = of.message_bytes / bytes_per_s(a.host_rate);
        of.latency_s =
            static_cast<double>(topology_.delay(pair->first, pair->second).count()) * 1e-9;
        of.timeout_s = rto_default_s;
        const auto tree = tree_of(a, b, of.levels - 1);
        if (!tree) {
            found_.left_out.push_back("PlogPT: " + tree.error().message);
            return;
        }
        const std::uint64_t processes = 2ULL * inside;
        const double plogp_a = plogp_alltoall_a_s(processes, of.gap_s, of.latency_s);
        const double plogp_b = plogp_alltoall_b_s(processes, of.gap_s, of.latency_s);
        add("PlogP A", plogp_a, plogp_a, "no link is shared");
        add("PlogP B", plogp_b, plogp_b, "no link is shared");
        const PlogptAlltoallTimes times = plogpt_alltoall(*tree, of);
        const auto timeouts = static_cast<double>(times.rto_heights.size());
        add("PlogPT A", times.a_s, times.a_s, "every exchange waits for the one before");
        add("PlogPT B", times.b_s - timeouts * of.timeout_s, times.b_s,
            fmt::format("N_RTO = {}", times.rto_heights.size()));
    }

    const Topology& topology_;
    const PlanPolicy& policy_;
    const PredictRequest& request_;
    std::uint64_t bytes_ = 0;  ///< between two hosts
    ModelTimes found_;
};

}  // namespace

Result<ModelTimes> predict_models(const Topology& topology, const PlanPolicy& policy,
                                  const PredictRequest& request, std::uint64_t message_bytes) {
    return Predictor(topology, policy, request, message_bytes).run();
}

}  // namespace headway
