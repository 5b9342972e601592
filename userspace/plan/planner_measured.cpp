// SPDX-License-Identifier: Apache-2.0
#include "plan/planner_measured.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/core.h>

#include "network/measured_document.hpp"

namespace headway {
namespace {

/// Of times of a document.  Their mean is that of the usual rounds; those that met a time-out are
/// on levels, where there are any.
MeasuredSize size_of(const MeasuredDocument::Time& time, double timeout_s) {
    constexpr double half_a_call = 0.5;  // Jeffreys' prior: what to expect of others if none of n did
    const double mean_s = time.mean_s.value_or(0);
    MeasuredSize size{static_cast<double>(time.bytes), mean_s, 0, time.retransmissions > 0,
                      time.median_s.value_or(mean_s)};
    double delay_s = 0;
    for (const auto& [level_s, probability] : time.levels) {
        size.timeout_part += probability;
        delay_s += probability * std::max(0.0, level_s - mean_s);
    }
    if (size.was_lossy && size.timeout_part == 0) {
        size.timeout_part = half_a_call / (static_cast<double>(time.rounds) + 1);
        delay_s = size.timeout_part * timeout_s;
    }
    size.time_s += delay_s;
    return size;
}

std::vector<MeasuredSize> sizes_of(const std::vector<MeasuredDocument::Time>& times,
                                   double timeout_s) {
    std::vector<MeasuredSize> sizes;
    for (const MeasuredDocument::Time& time : times)
        if (time.rounds > 0) sizes.push_back(size_of(time, timeout_s));
    std::ranges::sort(sizes, {}, &MeasuredSize::bytes);
    return sizes;
}

/// As many of the hosts, far apart in their list: those of a measured all-to-all.
std::vector<std::string> spread_out(const std::vector<std::string>& hosts, std::size_t count) {
    std::vector<std::string> part;
    for (std::size_t i = 0; i < count; ++i) part.push_back(hosts[i * hosts.size() / count]);
    return part;
}

/// The document's hosts are the topology's, each named once.
MeasuredCosts costs_of(const MeasuredDocument& document, const Topology& topology) {
    const MeasuredDocument::Messages& messages = *document.messages;
    const double timeout_s = messages.least_retransmission_timeout_s.value_or(rto_default_s);
    MeasuredCosts costs;
    costs.hosts = document.host_names();
    costs.rto_s = messages.least_retransmission_timeout_s;
    for (const MeasuredDocument::AllToAll& all : messages.all_to_all) {
        const auto part = topology.resolve(spread_out(costs.hosts, all.hosts));
        costs.all_to_alls.push_back({topology.count(*part), sizes_of(all.times, timeout_s)});
    }
    costs.gather.spread = topology.count(*topology.resolve(costs.hosts));
    costs.gather.sizes = sizes_of(messages.many_to_one, timeout_s);
    for (const MeasuredDocument::Neighbours& grid : messages.neighbours) {
        MeasuredNeighbours& measured = costs.neighbours.emplace_back();
        measured.flows = grid.flows;
        measured.exchanges.sizes = sizes_of(grid.times, timeout_s);
    }
    return costs;
}

/// Says whether as many hosts take part, within one of each cluster.
bool is_spread_as(const Exchange& exchange, std::uint32_t all_hosts, const HostCounts& measured) {
    std::vector<double> hosts(measured.per_cluster.size(), 0);
    for (const HostGroup& group : exchange.groups) hosts[group.cluster] += group.hosts;
    for (std::size_t c = 0; c < hosts.size(); ++c)
        if (std::abs(hosts[c] - measured.per_cluster[c]) > 1) return false;
    return all_hosts == measured.total();
}

/// Interpolates between sizes; none: the size is smaller or larger than all that was measured.
std::optional<MeasuredSize> between(const std::vector<MeasuredSize>& sizes, double bytes) {
    const auto after = std::ranges::lower_bound(sizes, bytes, {}, &MeasuredSize::bytes);
    if (after == sizes.end()) return std::nullopt;
    if (after->bytes == bytes) return *after;
    if (after == sizes.begin()) return std::nullopt;
    const MeasuredSize& before = *(after - 1);
    const double part = (bytes - before.bytes) / (after->bytes - before.bytes);
    return MeasuredSize{bytes, std::lerp(before.time_s, after->time_s, part),
                        std::lerp(before.timeout_part, after->timeout_part, part),
                        before.was_lossy || after->was_lossy,
                        std::lerp(before.usual_s, after->usual_s, part)};
}

/// Observed at exchanges of one kind.
class DelayPoints {
public:
    /// `exchange_of(spread, bytes)` is the Exchange.
    void observe(MeasuredExchanges& measured, const Topology& topology, const auto& exchange_of) {
        for (MeasuredSize& size : measured.sizes) {
            const Prediction fluid = predict(ExchangeNetwork(topology, exchange_of(measured.spread, size.bytes), 1));
            if (&size == &measured.sizes.front()) measured.overhead_s = std::max(0.0, size.usual_s - fluid.low_s);
            if (!size.was_lossy) lossless_.push_back({size.bytes, std::max(0.0, size.usual_s - fluid.low_s)});
            seen_.push_back({&size, fluid.low_s, fluid.piled_up_bytes});
        }
    }

    [[nodiscard]] MeasuredDelays learn() {
        MeasuredDelays delays{MonotoneCurve(lossless_), {}, {}, {}};
        // An exchange with no queue has no loss.
        std::vector<MonotoneCurve::Point> losses{{0, 0}}, timeouts{{0, 0}}, parts{{0, 0}};
        for (const auto& [size, fluid_s, piled_up_bytes] : seen_) {
            const double lossless_s = fluid_s + delays.lossless_s.nearest(size->bytes);
            if (size->usual_s == 0) size->usual_s = lossless_s;
            else losses.push_back({piled_up_bytes, size->was_lossy ? std::max(0.0, size->usual_s - lossless_s) : 0});
            timeouts.push_back({piled_up_bytes, size->was_lossy ? std::max(0.0, size->time_s - size->usual_s) : 0});
            parts.push_back({piled_up_bytes, size->timeout_part});
        }
        delays.losses_s = MonotoneCurve(std::move(losses));
        delays.timeouts_s = MonotoneCurve(std::move(timeouts));
        delays.timeout_part = MonotoneCurve(std::move(parts));
        return delays;
    }

private:
    struct Seen {
        MeasuredSize* size = nullptr;
        double fluid_s = 0, piled_up_bytes = 0;
    };

    std::vector<MonotoneCurve::Point> lossless_;
    std::vector<Seen> seen_;
};

/// The measured time of the same kind of exchange between equally placed hosts.
std::optional<Prediction::Measured> time_of(const MeasuredExchanges& measured, double bytes, std::string source) {
    const auto size = between(measured.sizes, bytes);
    if (!size) return std::nullopt;
    return Prediction::Measured{size->time_s,       std::move(source),   size->was_lossy,
                                size->timeout_part, measured.overhead_s, size->usual_s};
}

/// The time by measured exchanges in which as much piled up.
std::optional<Prediction::Measured> time_with(const MeasuredDelays& delays, double overhead_s, std::string_view kind,
                                              double message_bytes, const Prediction& fluid) {
    const double piled_up_bytes = fluid.piled_up_bytes;
    const auto lost_s = delays.losses_s.at(piled_up_bytes), timeouts_s = delays.timeouts_s.at(piled_up_bytes);
    if (!lost_s) return std::nullopt;
    const double usual_s = fluid.low_s + delays.lossless_s.nearest(message_bytes) + *lost_s;
    return Prediction::Measured{usual_s + *timeouts_s,
                                fmt::format("the measured {} in which as much piled up", kind),
                                *lost_s + *timeouts_s > 0,
                                *delays.timeout_part.at(piled_up_bytes),
                                overhead_s,
                                usual_s};
}

Exchange exchange_between(const std::vector<std::string>& names, const MeasuredNeighbours& neighbours,
                          const Topology& topology, double bytes) {
    std::vector<std::size_t> hosts;
    for (const std::string& name : names) hosts.push_back(*topology.find_host(name));
    std::vector<std::vector<double>> of_pairs(hosts.size(), std::vector<double>(hosts.size(), 0));
    for (const auto& [from, to] : neighbours.flows) of_pairs[from][to] += bytes;
    Exchange exchange = make_exchange(topology, hosts, std::move(of_pairs));
    exchange.message_bytes = bytes;
    return exchange;
}

/// The messages that the hosts of an exchange send.
struct Sending {
    std::uint32_t hosts = 0;
    std::uint32_t partners_max = 0;  ///< to whom a host sends
    double messages_per_host = 0;
};

Sending sending_of(const Exchange& exchange) {
    Sending all;
    double bytes = 0;
    for (std::size_t from = 0; from < exchange.groups.size(); ++from) {
        std::uint32_t partners = 0;
        for (std::size_t to = 0; to < exchange.groups.size(); ++to) {
            if (exchange.bytes[from][to] <= 0) continue;
            const std::uint32_t receivers = exchange.groups[to].hosts - (from == to ? 1 : 0);
            partners += receivers;
            bytes += exchange.bytes[from][to] * exchange.groups[from].hosts * receivers;
        }
        all.hosts += exchange.groups[from].hosts;
        all.partners_max = std::max(all.partners_max, partners);
    }
    all.messages_per_host = exchange.message_bytes > 0 ? bytes / exchange.message_bytes / all.hosts : 0;
    return all;
}

/// By the grid whose hosts send most nearly as many messages, of those that say something of it.
std::optional<Prediction::Measured> time_of_neighbours(const MeasuredCosts& costs, double messages_per_host,
                                                       double message_bytes, const Prediction& fluid) {
    std::optional<Prediction::Measured> nearest;
    double least = std::numeric_limits<double>::infinity();
    for (const MeasuredNeighbours& grid : costs.neighbours) {
        const double of_host = static_cast<double>(grid.flows.size()) / static_cast<double>(costs.hosts.size());
        const double difference = std::abs(of_host - messages_per_host);
        if (difference >= least) continue;
        auto time = time_with(grid.delays, grid.exchanges.overhead_s, "exchanges between neighbours", message_bytes, fluid);
        if (!time) continue;
        nearest = std::move(time);
        least = difference;
    }
    return nearest;
}

}  // namespace

void learn_delays(MeasuredCosts& costs, const Topology& topology) {
    DelayPoints alltoalls, gathers;
    for (MeasuredExchanges& measured : costs.all_to_alls)
        alltoalls.observe(measured, topology,
                          [](const HostCounts& spread, double bytes) { return exchange_among(spread, bytes); });
    const std::size_t root_cluster = topology.cluster_of(*topology.find_host(costs.hosts.front()));
    gathers.observe(costs.gather, topology, [&](const HostCounts& spread, double bytes) {
        return *exchange_with_root(RootDoes::receive, spread, root_cluster, bytes);
    });
    for (MeasuredNeighbours& grid : costs.neighbours) {
        DelayPoints neighbours;
        neighbours.observe(grid.exchanges, topology, [&](const HostCounts&, double bytes) {
            return exchange_between(costs.hosts, grid, topology, bytes);
        });
        grid.delays = neighbours.learn();
    }
    costs.alltoall_delays = alltoalls.learn();
    costs.gather_delays = gathers.learn();
}

FileResult<MeasuredCosts> read_measured_costs(std::string_view text, std::string_view file,
                                              const Topology& topology) {
    const auto mistake = [&](std::string reason, std::string advice) {
        return tl::unexpected(std::vector<FileError>{
            {std::string(file), 0, "", std::move(reason), std::move(advice)}});
    };
    constexpr const char* write_it = "write it with headway measure --json";
    auto document = parse_measured_document(text, file);
    if (!document) return tl::unexpected(std::move(document.error()));
    if (document->hosts.empty()) return mistake("hosts: it names none", write_it);
    if (!document->messages)
        return mistake("messages: it has none, as with --network-only; measure without that",
                       write_it);
    const auto hosts = topology.resolve(document->host_names());
    if (!hosts) {
        return mistake(
            "hosts: " + hosts.error().message,
            "measure the hosts of this network's clusters, by the names that they have there");
    }
    if (topology.count(*hosts).total() != document->hosts.size())
        return mistake("hosts: one of them is named twice", write_it);
    MeasuredCosts costs = costs_of(*document, topology);
    learn_delays(costs, topology);
    return costs;
}

double rto_s(const Topology& topology) {
    const MeasuredCosts* costs = topology.measured();
    return costs != nullptr && costs->rto_s ? *costs->rto_s : topology.least_timeout_s();
}

std::optional<Prediction::Measured> measured_time(const Topology& topology, const Exchange& exchange,
                                                  const Prediction& fluid) {
    const MeasuredCosts* costs = topology.measured();
    if (costs == nullptr) return std::nullopt;
    const Sending sending = sending_of(exchange);
    const std::uint32_t hosts = sending.hosts;
    std::optional<Prediction::Measured> time;
    for (const MeasuredExchanges& measured : costs->all_to_alls) {
        if (time || exchange.alltoall_bytes <= 0 || !is_spread_as(exchange, hosts, measured.spread)) continue;
        time = time_of(measured, exchange.alltoall_bytes, fmt::format("the all-to-alls measured on {} hosts", hosts));
    }
    if (exchange.gather_bytes > 0 && hosts == costs->gather.spread.total())
        time = time_of(costs->gather, exchange.gather_bytes, fmt::format("the gathers measured from {} hosts", hosts - 1));
    if (time) return time;
    if (exchange.gather_bytes > 0)
        return time_with(costs->gather_delays, costs->gather.overhead_s, "gathers", exchange.message_bytes, fluid);
    if (2 * sending.partners_max + 1 < hosts)
        time = time_of_neighbours(*costs, sending.messages_per_host, exchange.message_bytes, fluid);
    if (time) return time;
    const double overhead_s = costs->all_to_alls.empty() ? 0 : costs->all_to_alls.back().overhead_s;
    return time_with(costs->alltoall_delays, overhead_s, "all-to-alls", exchange.message_bytes, fluid);
}

}  // namespace headway
