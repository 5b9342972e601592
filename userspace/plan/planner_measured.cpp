// SPDX-License-Identifier: Apache-2.0
#include "plan/planner_measured.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include <fmt/core.h>

#include "base/json_text.hpp"
#include "plan/planner.hpp"

namespace headway {
namespace {

constexpr std::size_t list_max = 100'000;
constexpr std::uint64_t processes_max = std::uint64_t{1} << 32;

tl::unexpected<std::string> wrong(std::string what) { return tl::unexpected(std::move(what)); }

/// Members that only tell how good a fit is: of no interest here, but no mistakes either.
void ignore(JsonReader& in, std::initializer_list<std::string_view> members) {
    for (const std::string_view member : members) {
        if (in.has(member)) static_cast<void>(in[member]);
    }
}

tl::expected<void, std::string> read_models(const nlohmann::json& models, MeasuredCosts& costs) {
    for (const nlohmann::json& model : models) {
        JsonReader in(model);
        if (in["model"].choice({"contention", "manytoone"}) == 0) {
            const auto read = read_contention(in);
            if (!read) return tl::unexpected(read.error());
            costs.contention = *read;
        } else {
            auto read = read_many_to_one(in);
            if (!read) return tl::unexpected(read.error());
            costs.many_to_one = std::move(*read);
        }
    }
    return {};
}

/// The names of the document's "hosts".
tl::expected<std::vector<std::string>, std::string> read_hosts(const nlohmann::json& document) {
    std::vector<std::string> names;
    const auto hosts = document.find("hosts");
    if (hosts == document.end() || !hosts->is_array() || hosts->empty())
        return wrong("hosts: it names none");
    for (const nlohmann::json& host : *hosts) {
        if (!host.is_object() || !host.contains("name") || !host["name"].is_string())
            return wrong("hosts: one of them has no name");
        names.push_back(host["name"].get<std::string>());
    }
    return names;
}

/// Of one of "many_to_one": its usual time, and the levels to which some rounds escalated.
tl::expected<MeasuredBurst, std::string> burst_of(const nlohmann::json& row, std::size_t senders) {
    JsonReader in(row);
    const double usual_s = in["seconds"].number(Sign::not_negative);
    MeasuredBurst burst{in["bytes"].number(Sign::positive) * static_cast<double>(senders), 0};
    const JsonValue levels = in["levels"];
    for (std::size_t i = 0, n = levels.size(0, list_max); i < n; ++i) {
        const auto level = levels[i].numbers(2, 2, Sign::not_negative);
        if (level.size() == 2) burst.delay_s += level[1] * std::max(0.0, level[0] - usual_s);
    }
    ignore(in, {"half_width_s", "rounds", "retransmissions"});
    if (auto error = in.finish()) return wrong("messages.many_to_one: " + *error);
    return burst;
}

tl::expected<void, std::string> read_bursts(const nlohmann::json& messages, MeasuredCosts& costs) {
    const auto rows = messages.find("many_to_one");
    if (rows == messages.end()) return {};
    if (!rows->is_array()) return wrong("messages.many_to_one: it is no array");
    for (const nlohmann::json& row : *rows) {
        const auto burst = burst_of(row, costs.hosts.size() - 1);
        if (!burst) return tl::unexpected(burst.error());
        costs.bursts.push_back(*burst);
    }
    std::sort(costs.bursts.begin(), costs.bursts.end(),
              [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
    return {};
}

tl::expected<MeasuredCosts, std::string> costs_of(const nlohmann::json& document) {
    MeasuredCosts costs;
    auto hosts = read_hosts(document);
    if (!hosts) return tl::unexpected(hosts.error());
    costs.hosts = std::move(*hosts);
    const auto messages = document.find("messages");
    if (messages == document.end() || !messages->is_object())
        return wrong("messages: it has none, as with --network-only; measure without that");
    if (const auto rto = messages->find("least_retransmission_timeout_s");
        rto != messages->end() && !rto->is_null()) {
        if (!rto->is_number() || !(rto->get<double>() > 0))
            return wrong("messages.least_retransmission_timeout_s: it is no positive number");
        costs.rto_s = rto->get<double>();
    }
    if (auto read = read_bursts(*messages, costs); !read) return tl::unexpected(read.error());
    if (const auto models = document.find("models"); models != document.end()) {
        if (!models->is_array()) return wrong("models: it is no array");
        if (auto read = read_models(*models, costs); !read) return wrong("models: " + read.error());
    }
    return costs;
}

std::uint32_t senders_of(const Exchange& exchange) {
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
    const double scale = static_cast<double>(senders_of(exchange)) / measured.total();
    for (std::size_t c = 0; c < hosts.size(); ++c) {
        if (std::abs(hosts[c] - scale * measured.per_cluster[c]) >= 1) return false;
    }
    return true;
}

std::optional<MeasuredTimes> alltoall_times(const MeasuredCosts& costs, const Exchange& exchange) {
    const double bytes = alltoall_bytes(exchange);
    if (!costs.contention || bytes <= 0 || !is_spread_as(exchange, costs.spread)) return std::nullopt;
    const FittedContention& fitted = *costs.contention;
    const std::uint64_t hosts = senders_of(exchange);
    return MeasuredTimes{
        fmt::format("the contention signature measured on {} hosts", fitted.processes),
        alltoall_contended_s(hosts, bytes, fitted.cost, fitted.signature),
        static_cast<double>(hosts - 1) * fitted.cost.startup_s,
        alltoall_bound_s(hosts, bytes, fitted.cost)};
}

/// On the straight line between measured bursts; none at all of no bytes.
double burst_delay_s(const std::vector<MeasuredBurst>& bursts, double bytes) {
    MeasuredBurst before;
    for (const MeasuredBurst& burst : bursts) {
        if (bytes <= burst.bytes) {
            const double part = (bytes - before.bytes) / (burst.bytes - before.bytes);
            return before.delay_s + part * (burst.delay_s - before.delay_s);
        }
        before = burst;
    }
    return before.delay_s;
}

std::optional<MeasuredTimes> gather_times(const MeasuredCosts& costs, const Exchange& exchange) {
    const double bytes = gather_bytes(exchange);
    if (!costs.many_to_one || bytes <= 0) return std::nullopt;
    const std::size_t senders = senders_of(exchange) - 1, measured = costs.many_to_one->sources.size();
    if (senders > measured || (senders < measured && costs.bursts.empty())) return std::nullopt;
    const auto sources = std::span(costs.many_to_one->sources).first(senders);
    ManyToOneRegions regions = costs.many_to_one->regions;
    double delay_s = 0;
    if (senders < measured) {
        regions.small_bytes = regions.large_bytes = std::numeric_limits<double>::infinity();
        delay_s = burst_delay_s(costs.bursts, static_cast<double>(senders) * bytes);
    }
    const auto time = many_to_one(sources, bytes, regions, ReceiverIdle::ignored);
    if (!time) return std::nullopt;
    double startup_s = 0;
    for (const DelayedPath& source : sources) startup_s += source.host.fixed_s;
    return MeasuredTimes{fmt::format("the many-to-one measured from {} hosts", measured),
                         time->time_s + delay_s, startup_s, time->linear_s};
}

}  // namespace

tl::expected<FittedContention, std::string> read_contention(JsonReader& in) {
    FittedContention fitted;
    fitted.processes = in["n"].count(2, processes_max);
    fitted.cost.startup_s = in["alpha"].number(Sign::not_negative);
    fitted.cost.per_byte_s = in["beta"].number(Sign::positive);
    fitted.signature.ratio = in["gamma"].number(Sign::positive);
    fitted.signature.startup_s = in["delta_s"].number();
    fitted.signature.threshold_bytes = in["M_bytes"].number_or_infinite(Sign::not_negative);
    ignore(in, {"gamma_standard_error", "delta_standard_error_s", "error_pct", "good",
                "saturation", "worst_error_pct"});
    if (auto error = in.finish()) return tl::unexpected(*error);
    return fitted;
}

tl::expected<FittedManyToOne, std::string> read_many_to_one(JsonReader& in) {
    FittedManyToOne fitted;
    const JsonValue sources = in["sources"];
    fitted.sources.resize(sources.size(1, list_max));
    for (std::size_t i = 0; i < fitted.sources.size(); ++i) {
        const JsonValue host = sources[i];
        if (!host.is_object_of({"C", "t"})) break;
        fitted.sources[i].host.fixed_s = host.member("C").number(Sign::not_negative);
        fitted.sources[i].host.per_byte_s = host.member("t").number(Sign::not_negative);
    }
    const auto rates =
        in["rates"].numbers(fitted.sources.size(), fitted.sources.size(), Sign::positive);
    for (std::size_t i = 0; i < rates.size(); ++i) fitted.sources[i].rate_bytes_per_s = rates[i];
    fitted.regions.small_bytes = in["M1_bytes"].number(Sign::not_negative);
    fitted.regions.large_bytes = in["M2_bytes"].number(Sign::not_negative);
    fitted.regions.congested_s = in["C_s"].number(Sign::not_negative);
    fitted.regions.small_factor = in["delta1"].number(Sign::not_negative);
    fitted.regions.large_factor = in["delta2"].number(Sign::not_negative);
    ignore(in, {"congested", "error_pct"});
    if (auto error = in.finish()) return tl::unexpected(*error);
    return fitted;
}

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
    auto costs = costs_of(document);
    if (!costs) return mistake(std::move(costs.error()), write_it);
    const auto hosts = topology.resolve(costs->hosts);
    if (!hosts) {
        return mistake("hosts: " + hosts.error().message,
                       "measure the hosts of this network's clusters, by the names that they have there");
    }
    costs->spread = topology.count(*hosts);
    if (costs->spread.total() != costs->hosts.size())
        return mistake("hosts: one of them is named twice", write_it);
    return std::move(*costs);
}

double rto_s(const Topology& topology) {
    const MeasuredCosts* costs = topology.measured();
    return costs == nullptr ? rto_default_s : costs->rto_s.value_or(rto_default_s);
}

double MeasuredTimes::paced_s(double fluid_s) const {
    return std::max(fluid_s + startup_s, least_s);
}

std::optional<MeasuredTimes> measured_times(const Topology& topology, const Exchange& exchange) {
    const MeasuredCosts* costs = topology.measured();
    if (costs == nullptr) return std::nullopt;
    if (auto times = alltoall_times(*costs, exchange)) return times;
    return gather_times(*costs, exchange);
}

}  // namespace headway
