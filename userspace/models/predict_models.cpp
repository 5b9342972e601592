// SPDX-License-Identifier: Apache-2.0
#include "models/predict_models.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <optional>

#include "base/text_lines.hpp"
#include "base/wire.hpp"
#include "models/alltoall_algorithms.hpp"
#include "models/congestion.hpp"
#include "models/plogp.hpp"
#include "models/plogpt_closed.hpp"
#include "models/plogpt_of_topology.hpp"
#include "models/plogpt_simulator.hpp"
#include "plan/planner_measured.hpp"

namespace headway {
namespace {

constexpr std::uint64_t congestion_links_max = 1U << 16;
constexpr std::uint32_t simulated_hosts_max = 128;

void add(ModelTimes& found, std::string model, double low_s, double high_s, std::string reason) {
    found.times.push_back({std::move(model), low_s, high_s, std::move(reason)});
}

void add(ModelTimes& found, std::string model, const Prediction& prediction) {
    add(found, std::move(model), prediction.low_s, prediction.high_s, prediction.reason);
}

void leave_out(ModelTimes& found, std::string_view model, std::string_view reason) {
    found.left_out.push_back(fmt::format("{}: {}", model, reason));
}

void add_bound(ModelTimes& found, const Topology& topology, const Exchange& exchange) {
    const ExchangeNetwork network(topology, exchange, 1);
    const auto [bound_s, link] = network.earliest_end();
    if (!link) return add(found, "bound", 0, 0, "nothing is sent");
    const double carried_bytes = bound_s * network.fluid.links[*link].capacity_bps / 8;
    add(found, "bound", bound_s, bound_s,
        fmt::format("the {} carries {}", network.name_of(*link), bytes_text(carried_bytes)));
}

/// Of a broadcast, every link carries the data once at least: hosts may pass them on.
void add_bound_of_broadcast(ModelTimes& found, const Topology& topology, const Exchange& exchange,
                            double message_bytes) {
    const ExchangeNetwork network(topology, exchange, 1);
    std::optional<std::size_t> slowest;
    const auto rate_bps = [&](std::size_t l) { return network.fluid.links[l].capacity_bps; };
    for (const FluidGroup& group : network.fluid.groups) {
        for (const FluidUse& use : group.path) {
            if (!slowest || rate_bps(use.link) < rate_bps(*slowest)) slowest = use.link;
        }
    }
    if (!slowest) return add(found, "bound", 0, 0, "nothing is sent");
    const double bytes = tcp_wire_bytes_of(message_bytes);
    const double bound_s = 8 * bytes / rate_bps(*slowest);
    add(found, "bound", bound_s, bound_s,
        fmt::format("the {} carries {}", network.name_of(*slowest), bytes_text(bytes)));
}

/// Adds the times by measurements of this network to those of the models.
void add_measured(ModelTimes& found, const Topology& topology, const Exchange& exchange) {
    const auto unpaced = measured_time(topology, exchange, predict(ExchangeNetwork(topology, exchange, 1)));
    if (!unpaced) return;
    add(found, "measured", std::min(unpaced->usual_s, unpaced->time_s), unpaced->time_s,
        fmt::format("{}, unpaced{}", unpaced->source, losses_text(*unpaced)));
}

Result<void> add_planned(ModelTimes& found, const Topology& topology, const PlanPolicy& policy,
                         const Exchange& exchange, const ModelProgress& progress) {
    const auto plan = plan_exchange(topology, policy, exchange, progress);
    if (!plan) return tl::unexpected(plan.error());
    add(found, "fluid, unpaced", plan->unpaced);
    if (plan->chosen) add(found, "fluid, paced", *plan->chosen);
    else leave_out(found, "paced", plan->reason);
    return {};
}

// ------------------------------------------------------------------------- Zhu

/// An exchange message by message; or why it is none that Zhu's model knows.
struct CongestionCase {
    CongestionPattern pattern;
    std::vector<double> megabits;
};

/// The common rate of the racks' cables; infinite with one rack.
Result<double> backbone_mbps(const Topology& topology, const Exchange& exchange) {
    const ExchangeNetwork network(topology, exchange, 1);
    std::optional<BitsPerSecond> rate;
    for (const HostGroup& group : exchange.groups) {
        if (topology.trunks_above(group.cluster).size() > 1) {
            return failure("it knows racks around one switch, not trees");
        }
        const Cluster& cluster = topology.clusters()[group.cluster];
        for (std::size_t l = 0; l < network.links.size(); ++l) {
            if (!network.links[l].is_trunk() || network.links[l].owner != group.cluster) continue;
            const BitsPerSecond one = network.carried_rate(l);
            if (rate.value_or(one) != one) return failure("the clusters' trunks differ");
            rate = one;
        }
        if (cluster.host_rate != topology.clusters()[exchange.groups[0].cluster].host_rate) {
            return failure("the clusters' hosts differ in rate");
        }
    }
    const bool one_rack = std::all_of(
        exchange.groups.begin(), exchange.groups.end(),
        [&](const HostGroup& group) { return group.cluster == exchange.groups[0].cluster; });
    return one_rack ? std::numeric_limits<double>::infinity()
                    : static_cast<double>(rate->value) / 1e6;
}

Result<CongestionCase> congestion_case(const Topology& topology, const Exchange& exchange) {
    const auto backbone = backbone_mbps(topology, exchange);
    if (!backbone) return tl::unexpected(backbone.error());
    CongestionCase made;
    made.pattern.backbone_bandwidth = *backbone;
    made.pattern.nic_bandwidth = static_cast<double>(
        topology.clusters()[exchange.groups[0].cluster].host_rate.value) / 1e6;
    std::vector<std::uint32_t> first;  // node of each group
    std::map<std::size_t, std::uint32_t> racks;
    for (const HostGroup& group : exchange.groups) {
        first.push_back(static_cast<std::uint32_t>(made.pattern.rack_of_node.size()));
        const auto rack =
            racks.emplace(group.cluster, static_cast<std::uint32_t>(racks.size())).first->second;
        made.pattern.rack_of_node.insert(made.pattern.rack_of_node.end(), group.hosts, rack);
    }
    for (std::size_t i = 0; i < first.size(); ++i) {
        for (std::size_t j = 0; j < first.size(); ++j) {
            const std::uint64_t links =
                std::uint64_t{exchange.groups[i].hosts} * exchange.groups[j].hosts;
            if (!(exchange.bytes[i][j] > 0)) continue;
            if (made.pattern.links.size() + links > congestion_links_max) {
                return failure("more than {} messages", congestion_links_max);
            }
            for (std::uint32_t a = 0; a < exchange.groups[i].hosts; ++a) {
                for (std::uint32_t b = 0; b < exchange.groups[j].hosts; ++b) {
                    if (i == j && a == b) continue;
                    made.pattern.links.push_back({first[i] + a, first[j] + b});
                    made.megabits.push_back(8e-6 * tcp_wire_bytes_of(exchange.bytes[i][j]));
                }
            }
        }
    }
    if (made.pattern.links.empty()) return failure("nothing is sent");
    return made;
}

void add_zhu(ModelTimes& found, const Topology& topology, const Exchange& exchange) {
    const auto one = congestion_case(topology, exchange);
    if (!one) return leave_out(found, "Zhu", one.error().message);
    const auto add_variant = [&](std::string name, CongestionVariant variant, auto times_s,
                                 std::string reason) {
        const auto times = times_s(one->pattern, variant, one->megabits);
        if (!times) return leave_out(found, name, times.error().message);
        const double last_s = *std::max_element(times->begin(), times->end());
        add(found, std::move(name), last_s, last_s, std::move(reason));
    };
    add_variant("Zhu, static", CongestionVariant::paper, congestion_static_times_s,
                "Algorithm 1; bandwidths stay as all begin");
    add_variant("Zhu, max-min, dynamic", CongestionVariant::bidirectional_max_min,
                congestion_dynamic_times_s, "shares grow whenever a message has ended");
}

// ---------------------------------------------------------------------- PlogPT

/// Fitted parameters hold for as many hosts as their tree has leaves.  For fewer hosts the topology
/// serves instead, if it is a tree of PlogPT's: it knows which heights are between them.
bool is_fitted_for(const std::optional<FittedPlogpt>& fitted, const Result<PlogptTopology>& network,
                   const HostCounts& hosts) {
    return fitted && (!network || hosts.total() >= fitted->tree.leaves());
}

PlogptPlacedPrograms placed(const PlogptPrograms& programs, const PlogptTopology& network) {
    std::vector<std::uint32_t> leaves = network.leaf_of_host;
    leaves.resize(programs.processes());
    return {programs, std::move(leaves), static_cast<std::uint32_t>(network.tree.leaves())};
}

Result<PlogptRange> simulate(const PlogptSystem& system, const PlogptPrograms& programs,
                             double timeout_s) {
    PlogptRto rto = *parse_plogpt_rto("random:0");
    rto.timeout_s = timeout_s;
    return simulate_plogpt_range(system, programs, rto, program_seeds);
}

// ---------------------------------------------------------------- all-to-alls

class Predictor {
public:
    Predictor(const Topology& topology, const PlanPolicy& policy, const PredictRequest& request,
              std::uint64_t message_bytes)
        : topology_(topology),
          policy_(policy),
          request_(request),
          message_bytes_(static_cast<double>(message_bytes)) {
        const std::uint64_t ranks = request.ranks_per_host;
        connections_ = has_root(request.operation) ? ranks : ranks * ranks;
        bytes_ = message_bytes * connections_;
    }

    Result<ModelTimes> run() {
        auto exchange = make_exchange(request_.operation, request_.hosts, request_.root_cluster,
                                      static_cast<double>(bytes_));
        if (!exchange) return tl::unexpected(exchange.error());
        exchange->connections = static_cast<double>(connections_);
        if (exchange->groups.empty()) return failure("no host takes part");
        if (request_.operation == Operation::bcast) add_bound_of_broadcast(found_, topology_, *exchange, message_bytes_);
        else add_bound(found_, topology_, *exchange);
        add_measured(found_, topology_, *exchange);
        const bool alltoall = request_.operation == Operation::alltoall;
        const auto added =
            alltoall ? add_alltoall() : add_planned(found_, topology_, policy_, *exchange, {});
        if (!added) return tl::unexpected(added.error());
        if (alltoall) add_plogpt();
        else leave_out(found_, "PlogP, PlogPT", "their closed forms are all-to-alls'");
        add_zhu(found_, topology_, *exchange);
        add_contention();
        add_lastovetsky();
        return std::move(found_);
    }

private:
    Result<void> add_alltoall() {
        const AllToAllPattern pattern{request_.hosts, request_.hosts, false, request_.ranks_per_host};
        const auto plan = plan_collective(topology_, policy_, pattern, bytes_ / connections_);
        if (!plan) return tl::unexpected(plan.error());
        for (const AlgorithmTime& time :
             predict_algorithms(topology_, policy_, plan->shares, bytes_)) {
            const std::string name(algorithm_name(time.algorithm));
            add(found_, fmt::format("fluid, {}, unpaced", name), time.unpaced);
            if (plan->is_paced()) add(found_, fmt::format("fluid, {}, paced", name), time.paced);
        }
        if (!plan->is_paced()) leave_out(found_, "paced", plan->shares.reason);
        return {};
    }

    void add_plogpt() {
        const auto& fitted = request_.fitted.plogpt;
        const auto network = plogpt_of_topology(topology_, request_.hosts);
        PlogptAlltoallCase of;
        of.timeout_s = rto_s(topology_);
        if (is_fitted_for(fitted, network, request_.hosts) && (!network || request_.ranks_per_host == 1)) {
            of.message_bytes = message_bytes_;
            of.gap_s = fitted->gap(message_bytes_);
            of.latency_s = fitted->latency_s;
            return add_plogpt(of, fitted->tree, processes(), "as fitted: ");
        }
        if (!network) return leave_out(found_, "PlogP, PlogPT", network.error().message);
        of.message_bytes = tcp_wire_bytes_of(static_cast<double>(bytes_));
        of.gap_s = of.message_bytes / bytes_per_s(network->edge_rate);
        of.latency_s = network->latency_s;
        if (network->is_full()) return add_plogpt(of, network->tree, request_.hosts.total(), "");
        add_plogp(of, request_.hosts.total(), "");
        simulate_alltoall(*network, of, PlogptAlltoall::Algorithm::a, "PlogPT A");
        simulate_alltoall(*network, of, PlogptAlltoall::Algorithm::b, "PlogPT B");
    }

    /// Where hosts do not fill a binary tree: the closed forms are for those that do.
    void simulate_alltoall(const PlogptTopology& network, const PlogptAlltoallCase& of,
                           PlogptAlltoall::Algorithm algorithm, const char* name) {
        const std::uint32_t hosts = request_.hosts.total();
        if (hosts > simulated_hosts_max) {
            return leave_out(found_, name,
                             fmt::format("{} hosts do not fill a binary tree, and more than {} are not simulated",
                                         hosts, simulated_hosts_max));
        }
        const auto alltoall = PlogptAlltoall::make(algorithm, hosts, of.message_bytes);
        auto gap = GapTable::make({{of.message_bytes, of.gap_s}});
        if (!alltoall) return leave_out(found_, name, alltoall.error().message);
        if (!gap) return leave_out(found_, name, gap.error().message);
        const auto range = simulate({network.tree, std::move(*gap), of.latency_s},
                                    placed(*alltoall, network), of.timeout_s);
        if (!range) return leave_out(found_, name, range.error().message);
        add(found_, name, range->without_rto_s, range->most_s,
            fmt::format("{} simulations of hosts that do not fill a binary tree", program_seeds));
    }

    void add_plogp(const PlogptAlltoallCase& of, std::uint64_t processes, const char* source) {
        const double a_s = plogp_alltoall_a_s(processes, of.gap_s, of.latency_s);
        const double b_s = plogp_alltoall_b_s(processes, of.gap_s, of.latency_s);
        const auto reason = fmt::format("{}as if no link were shared, and so perhaps below the bound", source);
        add(found_, "PlogP A", a_s, a_s, reason);
        add(found_, "PlogP B", b_s, b_s, reason);
    }

    void add_plogpt(PlogptAlltoallCase of, const PlogptTree& tree, std::uint64_t processes,
                    const char* source) {
        if (!std::has_single_bit(processes) || processes > tree.leaves()) {
            return leave_out(found_, "PlogP, PlogPT",
                             fmt::format("the fitted tree has {} leaves, and {} processes are no "
                                         "power of two up to that",
                                         tree.leaves(), processes));
        }
        of.levels = static_cast<unsigned>(std::bit_width(processes) - 1);
        add_plogp(of, processes, source);
        const PlogptAlltoallTimes times = plogpt_alltoall(tree, of);
        const auto timeouts = static_cast<double>(times.rto_heights.size());
        add(found_, "PlogPT A", times.a_s, times.a_s,
            fmt::format("{}every exchange waits for the one before", source));
        add(found_, "PlogPT B", times.b_s - timeouts * of.timeout_s, times.b_s,
            fmt::format("{}N_RTO = {}", source, times.rto_heights.size()));
    }

    [[nodiscard]] std::uint64_t processes() const {
        return std::uint64_t{request_.hosts.total()} * request_.ranks_per_host;
    }

    void add_contention() {
        const auto& fitted = request_.fitted.contention;
        constexpr const char* name = "Steffenel's signature";
        if (!fitted) return leave_out(found_, name, "no parameters are given");
        if (request_.operation != Operation::alltoall) {
            return leave_out(found_, name, "it is of all-to-alls");
        }
        const double time_s =
            alltoall_contended_s(processes(), message_bytes_, fitted->cost, fitted->signature);
        add(found_, "Steffenel", time_s, time_s,
            fmt::format("gamma {:.4g}, delta {}, fitted with {} processes{}",
                        fitted->signature.ratio, seconds_text(fitted->signature.startup_s),
                        fitted->processes,
                        processes() < fitted->processes
                            ? "; of fewer the network may be less contended"
                            : ""));
    }

    /// The other ends of the root's messages; different hosts have to be as many.
    Result<std::vector<DelayedPath>> others(const FittedManyToOne& fitted) const {
        const std::vector<DelayedPath>& known = fitted.sources;
        const auto wanted = static_cast<std::size_t>(processes() - 1);
        if (wanted == 0) return failure("there is nobody but the root");
        if (known.size() == wanted) return known;
        const DelayedPath& first = known.front();
        const bool alike = std::all_of(known.begin(), known.end(), [&](const DelayedPath& one) {
            return one.host.fixed_s == first.host.fixed_s &&
                   one.host.per_byte_s == first.host.per_byte_s &&
                   one.rate_bytes_per_s == first.rate_bytes_per_s;
        });
        if (alike) return std::vector(wanted, first);
        return failure("{} different sources are described, and {} are needed", known.size(),
                       wanted);
    }

    void add_lastovetsky() {
        constexpr const char* name = "Lastovetsky's many-to-one";
        const auto& fitted = request_.fitted.many_to_one;
        if (!fitted) return leave_out(found_, name, "no parameters are given");
        if (!has_root(request_.operation)) {
            return leave_out(found_, name, "the operation has no root");
        }
        const auto paths = others(*fitted);
        if (!paths) return leave_out(found_, name, paths.error().message);
        if (is_to_root(request_.operation)) {
            add_many_to_one(*fitted, *paths);
        } else {
            add_one_to_many(*paths, fitted->buffered_bytes);
        }
    }

    void add_many_to_one(const FittedManyToOne& fitted, const std::vector<DelayedPath>& paths) {
        const auto time = many_to_one(paths, message_bytes_, fitted.regions, ReceiverIdle::ignored);
        if (!time) return leave_out(found_, "Lastovetsky's many-to-one", time.error().message);
        const bool small = message_bytes_ <= fitted.regions.small_bytes;
        const bool large = message_bytes_ > fitted.regions.large_bytes;
        add(found_, "Lastovetsky", time->time_s, time->time_s,
            small   ? "below the region of congestion"
            : large ? "above the region of congestion"
                    : "within the region of congestion");
    }

    void add_one_to_many(const std::vector<DelayedPath>& paths, std::optional<double> buffered_bytes) {
        constexpr double everything = std::numeric_limits<double>::infinity();
        const auto parallel =
            one_to_many_s(paths.front().host, paths, message_bytes_, buffered_bytes.value_or(everything));
        const auto serial =
            one_to_many_s(paths.front().host, paths, message_bytes_, buffered_bytes.value_or(0));
        if (!parallel || !serial) return;  // only without receivers
        add(found_, "Lastovetsky", *parallel, *serial,
            !buffered_bytes ? "receivers in parallel, if the root's system buffers the messages, or one by one"
            : message_bytes_ <= *buffered_bytes ? "up to S: receivers in parallel"
                                                : "beyond S: receivers one by one");
    }

    const Topology& topology_;
    const PlanPolicy& policy_;
    const PredictRequest& request_;
    double message_bytes_ = 0;       ///< between two ranks
    std::uint64_t connections_ = 1;  ///< between two hosts
    std::uint64_t bytes_ = 0;        ///< between two hosts
    ModelTimes found_;
};

// ------------------------------------------------------------------- programs

/// g(m) of an edge at every size that the program sends.
Result<GapTable> gaps_of(const PlogptPrograms& program, BitsPerSecond edge) {
    std::vector<double> sizes{0};
    for (std::uint32_t m = 0; m < program.messages(); ++m) sizes.push_back(program.message(m).bytes);
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    std::vector<GapPoint> points;
    for (const double size : sizes) points.push_back({size, tcp_wire_bytes_of(size) / bytes_per_s(edge)});
    return GapTable::make(std::move(points));
}

}  // namespace

std::string losses_text(const Prediction::Measured& measured) {
    if (measured.timeout_part <= 0) return "";
    return fmt::format("; packets were lost, and up to {:.2g} % of calls meet a time-out", 100 * measured.timeout_part);
}

Result<ModelTimes> predict_exchange(const Topology& topology, const PlanPolicy& policy,
                                    const Exchange& exchange, const ModelProgress& progress) {
    ModelTimes found;
    add_bound(found, topology, exchange);
    add_measured(found, topology, exchange);
    if (const auto added = add_planned(found, topology, policy, exchange, progress); !added) {
        return tl::unexpected(added.error());
    }
    leave_out(found, "PlogP, PlogPT", "they know the order of messages, which a matrix does not");
    add_zhu(found, topology, exchange);
    return found;
}

Result<ModelTimes> predict_program(const Topology& topology, const HostCounts& hosts,
                                   const FittedParameters& fitted, const PlogptPrograms& program) {
    const auto network = plogpt_of_topology(topology, hosts);
    const bool is_fitted = is_fitted_for(fitted.plogpt, network, hosts);
    const auto range = [&]() -> Result<PlogptRange> {
        if (is_fitted) {
            const FittedPlogpt& known = *fitted.plogpt;
            return simulate({known.tree, known.gap, known.latency_s}, program, rto_s(topology));
        }
        if (!network) return tl::unexpected(network.error());
        if (program.processes() > network->leaf_of_host.size()) {
            return failure("the program has {} processes, and there are {} hosts", program.processes(),
                           network->leaf_of_host.size());
        }
        auto gap = gaps_of(program, network->edge_rate);
        if (!gap) return tl::unexpected(gap.error());
        return simulate({network->tree, std::move(*gap), network->latency_s}, placed(program, *network),
                        rto_s(topology));
    }();
    if (!range) return tl::unexpected(range.error().within("PlogPT"));
    ModelTimes found;
    const char* const source = is_fitted ? "as fitted" : "as the topology says";
    add(found, "PlogPT, no time-out", range->without_rto_s, range->without_rto_s,
        fmt::format("{}, {}", counted(program.messages(), "message"), source));
    add(found, "PlogPT", range->least_s, range->most_s,
        fmt::format("time-outs strike at random, {} simulations", program_seeds));
    leave_out(found, "others", "only PlogPT knows the order of messages");
    return found;
}

Result<ModelTimes> predict_models(const Topology& topology, const PlanPolicy& policy,
                                  const PredictRequest& request, std::uint64_t message_bytes) {
    return Predictor(topology, policy, request, message_bytes).run();
}

}  // namespace headway
