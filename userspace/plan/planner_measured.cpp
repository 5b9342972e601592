// SPDX-License-Identifier: Apache-2.0
#include "plan/planner_measured.hpp"

#include <algorithm>
#include <cmath>

#include "base/json.hpp"

namespace headway {
namespace {

constexpr std::size_t list_max = 100'000;

/// Reads what plans use of a document (measure/measured_document.hpp).
class CostsReader {
public:
    explicit CostsReader(const nlohmann::json& document) : in_(document) {
        read_hosts(document.value("hosts", nlohmann::json()));
        const nlohmann::json messages = document.value("messages", nlohmann::json());
        if (messages.is_object()) read_messages(messages);
        else in_.fail("messages: it has none, as with --network-only; measure without that");
    }

    [[nodiscard]] const std::optional<std::string>& mistake() const { return in_.mistake(); }
    [[nodiscard]] MeasuredCosts take() { return std::move(costs_); }

private:
    void read_hosts(const nlohmann::json& hosts) {
        if (!hosts.is_array() || hosts.empty()) return in_.fail("hosts: it names none");
        for (const nlohmann::json& host : hosts) {
            if (!host.is_object() || !host.contains("name") || !host["name"].is_string())
                return in_.fail("hosts: one of them has no name");
            costs_.hosts.push_back(host["name"].get<std::string>());
        }
    }

    void read_messages(const nlohmann::json& messages) {
        const auto rto = messages.value("least_retransmission_timeout_s", nlohmann::json());
        if (rto.is_number() && rto.get<double>() > 0) costs_.rto_s = rto.get<double>();
        else if (!rto.is_null())
            in_.fail("messages.least_retransmission_timeout_s: it is no positive number");
        if (messages.contains("all_to_all")) read_all_to_alls(messages["all_to_all"]);
        if (messages.contains("many_to_one"))
            costs_.gather = sizes_of(messages["many_to_one"], "messages.many_to_one");
    }

    /// Those of the all-to-alls that all hosts took part in.
    void read_all_to_alls(const nlohmann::json& rows) {
        constexpr const char* place = "messages.all_to_all";
        if (!rows.is_array()) return in_.fail("{}: it is no array", place);
        for (const nlohmann::json& row : rows) {
            JsonReader in(row);
            const std::uint64_t hosts = in["hosts"].count(2, list_max);
            static_cast<void>(in["times"]);
            if (auto error = in.finish()) return in_.fail("{}: {}", place, *error);
            if (hosts == costs_.hosts.size()) costs_.all_to_all = sizes_of(row["times"], place);
        }
    }

    std::vector<MeasuredSize> sizes_of(const nlohmann::json& rows, std::string_view place) {
        std::vector<MeasuredSize> sizes;
        if (!rows.is_array()) in_.fail("{}: it is no array", place);
        for (const nlohmann::json& row : rows) sizes.push_back(size_of(row, place));
        std::ranges::sort(sizes, {}, &MeasuredSize::bytes);
        return sizes;
    }

    /// A TIME of the document.  Its mean is that of the usual rounds; those that met a time-out
    /// are "levels", where there are any.
    MeasuredSize size_of(const nlohmann::json& row, std::string_view place) {
        constexpr double rule_of_three = 3;  // of n cases none: 95 % sure of no more than 3 / n
        constexpr std::uint64_t rounds_max = 1'000'000'000;
        JsonReader in(row);
        MeasuredSize size{in["bytes"].number(Sign::positive),
                          in["seconds"].number(Sign::positive), 0,
                          in["retransmissions"].count(0, UINT64_MAX) > 0};
        const auto rounds = static_cast<double>(in["rounds"].count(1, rounds_max));
        static_cast<void>(in["half_width_s"]);
        const JsonValue levels = in.optional("levels");
        for (std::size_t i = 0, n = levels.size(0, list_max); i < n; ++i) {
            const auto level = levels[i].numbers(2, 2, Sign::not_negative);
            if (level.size() == 2)
                size.delay_s += level[1] * std::max(0.0, level[0] - size.time_s);
        }
        if (size.was_lossy && size.delay_s == 0)
            size.delay_s = rule_of_three / rounds * costs_.rto_s.value_or(rto_default_s);
        size.time_s += size.delay_s;
        if (auto error = in.finish()) in_.fail("{}: {}", place, *error);
        return size;
    }

    JsonReader in_;
    MeasuredCosts costs_;
};

std::uint32_t hosts_of(const Exchange& exchange) {
    std::uint32_t hosts = 0;
    for (const HostGroup& group : exchange.groups) hosts += group.hosts;
    return hosts;
}

/// The bytes of each message if all hosts send the same to all others; else 0.
double alltoall_bytes(const Exchange& exchange) {
    double bytes = 0;
    for (std::size_t i = 0; i < exchange.groups.size(); ++i) {
        for (std::size_t j = 0; j < exchange.groups.size(); ++j) {
            if (i == j && exchange.groups[i].hosts < 2) continue;
            if (bytes == 0) bytes = exchange.bytes[i][j];
            if (exchange.bytes[i][j] != bytes || bytes <= 0) return 0;
        }
    }
    return bytes;
}

/// The bytes of each message if all send the same to the last group, one host; else 0.
double gather_bytes(const Exchange& exchange) {
    if (exchange.groups.size() < 2 || exchange.groups.back().hosts != 1) return 0;
    const std::size_t root = exchange.groups.size() - 1;
    const double bytes = exchange.bytes[0][root];
    for (std::size_t i = 0; i <= root; ++i) {
        for (std::size_t j = 0; j <= root; ++j) {
            const double wanted = j == root && i != root ? bytes : 0;
            if (exchange.bytes[i][j] != wanted) return 0;
        }
    }
    return bytes;
}

/// Within one host of each cluster.
bool is_spread_as(const Exchange& exchange, const HostCounts& measured) {
    std::vector<double> hosts(measured.per_cluster.size(), 0);
    for (const HostGroup& group : exchange.groups) hosts[group.cluster] += group.hosts;
    const double scale = static_cast<double>(hosts_of(exchange)) / measured.total();
    for (std::size_t c = 0; c < hosts.size(); ++c) {
        if (std::abs(hosts[c] - scale * measured.per_cluster[c]) >= 1) return false;
    }
    return true;
}

/// None: smaller or larger than all that was measured.
std::optional<MeasuredSize> between(const std::vector<MeasuredSize>& sizes, double bytes) {
    const auto after = std::find_if(sizes.begin(), sizes.end(),
                                    [&](const MeasuredSize& size) { return size.bytes >= bytes; });
    if (after == sizes.end()) return std::nullopt;
    if (after->bytes == bytes) return *after;
    if (after == sizes.begin()) return std::nullopt;
    const MeasuredSize& before = *(after - 1);
    const double part = (bytes - before.bytes) / (after->bytes - before.bytes);
    return MeasuredSize{bytes, std::lerp(before.time_s, after->time_s, part),
                        std::lerp(before.delay_s, after->delay_s, part),
                        before.was_lossy || after->was_lossy};
}

double fluid_s(const Topology& topology, const Exchange& exchange) {
    return predict(ExchangeNetwork(topology, exchange, 1)).low_s;
}

/// By how much the smallest measured exchange took longer than the fluid model says.
double overhead_s(const Topology& topology, Exchange exchange, double bytes,
                  const MeasuredSize& least) {
    for (auto& row : exchange.bytes) {
        for (double& some : row) some *= least.bytes / bytes;
    }
    return std::max(0.0, least.time_s - fluid_s(topology, exchange));
}

std::optional<MeasuredTimes> alltoall_times(const MeasuredCosts& costs, const Topology& topology,
                                            const Exchange& exchange) {
    const double bytes = alltoall_bytes(exchange);
    if (bytes <= 0 || hosts_of(exchange) != costs.hosts.size()) return std::nullopt;
    if (!is_spread_as(exchange, costs.spread)) return std::nullopt;
    const auto size = between(costs.all_to_all, bytes);
    if (!size) return std::nullopt;
    return MeasuredTimes{
        {size->time_s, fmt::format("the all-to-alls measured on {} hosts", costs.hosts.size()),
         size->was_lossy},
        overhead_s(topology, exchange, bytes, costs.all_to_all.front())};
}

std::optional<MeasuredTimes> gather_times(const MeasuredCosts& costs, const Topology& topology,
                                          const Exchange& exchange) {
    const double bytes = gather_bytes(exchange);
    const double senders = hosts_of(exchange) - 1.0;
    const double measured = static_cast<double>(costs.hosts.size()) - 1;
    if (bytes <= 0 || senders > measured) return std::nullopt;
    // as large a burst of all senders
    const auto size = between(costs.gather, bytes * senders / measured);
    if (!size) return std::nullopt;
    MeasuredTimes times{{size->time_s, fmt::format("the gathers measured from {} hosts", measured),
                         size->was_lossy}};
    if (senders == measured) {
        times.overhead_s = overhead_s(topology, exchange, bytes, costs.gather.front());
    } else {
        times.unpaced.time_s = fluid_s(topology, exchange) + size->delay_s;
    }
    return times;
}

}  // namespace

FileResult<MeasuredCosts> read_measured_costs(std::string_view text, std::string_view file,
                                              const Topology& topology) {
    const auto mistake = [&](std::string reason, std::string advice) {
        return tl::unexpected(std::vector<FileError>{
            {std::string(file), 0, "", std::move(reason), std::move(advice)}});
    };
    constexpr const char* write_it = "write it with headway measure --json";
    const auto document = parse_json<nlohmann::json>(text);
    if (!document.is_object() || document.value("format", nlohmann::json()) != "headway-measure")
        return mistake("it is no document of headway measure", write_it);
    CostsReader reader(document);
    if (reader.mistake()) return mistake(*reader.mistake(), write_it);
    MeasuredCosts costs = reader.take();
    const auto hosts = topology.resolve(costs.hosts);
    if (!hosts) {
        return mistake(
            "hosts: " + hosts.error().message,
            "measure the hosts of this network's clusters, by the names that they have there");
    }
    costs.spread = topology.count(*hosts);
    if (costs.spread.total() != costs.hosts.size())
        return mistake("hosts: one of them is named twice", write_it);
    return costs;
}

double rto_s(const Topology& topology) {
    const MeasuredCosts* costs = topology.measured();
    return costs == nullptr ? rto_default_s : costs->rto_s.value_or(rto_default_s);
}

std::optional<MeasuredTimes> measured_times(const Topology& topology, const Exchange& exchange) {
    const MeasuredCosts* costs = topology.measured();
    if (costs == nullptr) return std::nullopt;
    if (auto times = alltoall_times(*costs, topology, exchange)) return times;
    return gather_times(*costs, topology, exchange);
}

}  // namespace headway
