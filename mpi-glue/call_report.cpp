// SPDX-License-Identifier: MIT
#include "call_report.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <set>

namespace headway::glue {
namespace {

using Json = nlohmann::json;

constexpr unsigned sub_bits = 5;  // 32 classes in each power of two

/// Numbers below 64 have a class of their own.
std::uint32_t class_of(std::uint64_t ns) {
    const auto width = static_cast<unsigned>(std::bit_width(ns));
    if (width <= sub_bits + 1) return static_cast<std::uint32_t>(ns);
    const unsigned shift = width - sub_bits - 1;
    return static_cast<std::uint32_t>((shift << (sub_bits + 1)) + (ns >> shift));
}

/// The least number of the class.
std::uint64_t least_of(std::uint32_t index) {
    const std::uint32_t shift = index >> (sub_bits + 1);
    const std::uint64_t mantissa = index & ((1U << (sub_bits + 1)) - 1);
    return mantissa << shift;
}

std::string milliseconds(double seconds) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.3f", seconds * 1e3);
    return text.data();
}

std::string milliseconds(std::uint64_t ns) { return milliseconds(static_cast<double>(ns) / 1e9); }

std::string size_text(std::size_t size_class) {
    constexpr std::array<const char*, 4> units{"B", "KiB", "MiB", "GiB"};
    const std::size_t unit = std::min<std::size_t>(size_class / 10, units.size() - 1);
    return std::to_string(std::uint64_t{1} << (size_class - 10 * unit)) + " " + units[unit];
}

constexpr const char* unknown = "-";

std::string duration_text(const CallRow& row, std::uint64_t ns) {
    return row.durations.count() > 0 ? milliseconds(ns) : unknown;
}

std::string ratio_text(const CallRow& row) {
    const auto ratio = row.ratio();
    if (!ratio) return unknown;
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.2f", *ratio);
    return text.data();
}

using Line = std::array<std::string, 12>;

Line line_of(const CallKind& kind, const CallRow& row) {
    return {kind.communicator,
            kind.operation,
            size_text(kind.size_class),
            std::to_string(row.calls),
            std::to_string(row.bytes),
            kind.algorithm,
            kind.paced ? "yes" : "no",
            duration_text(row, row.durations.shortest_ns()),
            duration_text(row, row.durations.median_ns()),
            duration_text(row, row.durations.longest_ns()),
            row.predicted_s ? milliseconds(*row.predicted_s) : unknown,
            ratio_text(row)};
}

/// Columns as wide as their widest word, numbers to the right.
std::string aligned(const std::vector<Line>& lines) {
    std::array<std::size_t, std::tuple_size_v<Line>> widths{};
    for (const Line& line : lines) {
        for (std::size_t at = 0; at < line.size(); ++at)
            widths[at] = std::max(widths[at], line[at].size());
    }
    std::string text;
    for (const Line& line : lines) {
        std::string row;
        for (std::size_t at = 0; at < line.size(); ++at) {
            const std::string room(widths[at] - line[at].size(), ' ');
            const bool is_number = (at >= 2 && at <= 4) || at > 6;
            row += (at == 0 ? "" : "  ") + (is_number ? room + line[at] : line[at] + room);
        }
        row.erase(row.find_last_not_of(' ') + 1);
        text += row + "\n";
    }
    return text;
}

bool takes_longer(const std::pair<CallKind, CallRow>& one, const std::pair<CallKind, CallRow>& other) {
    const auto total = [](const CallRow& row) { return row.calls * row.durations.median_ns(); };
    return total(one.second) > total(other.second);
}

template <class Value>
std::optional<Value> member(const Json& json, const char* name) {
    const auto found = json.find(name);
    if (found == json.end()) return std::nullopt;
    if constexpr (std::is_same_v<Value, std::string>) {
        if (!found->is_string()) return std::nullopt;
    } else if constexpr (std::is_same_v<Value, bool>) {
        if (!found->is_boolean()) return std::nullopt;
    } else if constexpr (std::is_unsigned_v<Value>) {
        if (!found->is_number_unsigned()) return std::nullopt;
    } else {
        if (!found->is_number()) return std::nullopt;
    }
    return found->template get<Value>();
}

template <class Value>
Json or_null(const std::optional<Value>& value) {
    return value ? Json(*value) : Json(nullptr);
}

Json row_json(const CallKind& kind, const CallRow& row) {
    return {{"communicator", kind.communicator},
            {"operation", kind.operation},
            {"message_bytes_most", std::uint64_t{1} << kind.size_class},
            {"algorithm", kind.algorithm},
            {"paced", kind.paced},
            {"reason", kind.reason},
            {"calls", row.calls},
            {"bytes", row.bytes},
            {"duration", row.durations.to_json()},
            {"predicted_s", or_null(row.predicted_s)},
            {"ratio", or_null(row.ratio())}};
}

std::optional<std::pair<CallKind, CallRow>> row_from(const Json& json) {
    const auto communicator = member<std::string>(json, "communicator");
    const auto operation = member<std::string>(json, "operation");
    const auto most = member<std::uint64_t>(json, "message_bytes_most");
    const auto algorithm = member<std::string>(json, "algorithm");
    const auto paced = member<bool>(json, "paced");
    const auto reason = member<std::string>(json, "reason");
    const auto calls = member<std::uint64_t>(json, "calls");
    const auto bytes = member<std::uint64_t>(json, "bytes");
    const auto duration = json.find("duration");
    if (!communicator || !operation || !most || *most == 0 || !algorithm || !paced || !reason ||
        !calls || !bytes || duration == json.end())
        return std::nullopt;
    auto durations = Durations::from_json(*duration);
    if (!durations) return std::nullopt;
    const auto size_class = static_cast<std::size_t>(std::bit_width(*most) - 1);
    return std::pair{
        CallKind{*communicator, *operation, size_class, *algorithm, *paced, *reason},
        CallRow{*calls, *bytes, std::move(*durations), member<double>(json, "predicted_s")}};
}

Json connections_json(const ConnectionCounters& counters) {
    return {{"count", counters.connections},
            {"retransmitted_segments", counters.retransmissions},
            {"timeouts", or_null(counters.timeouts)}};
}

std::optional<ConnectionCounters> connections_from(const Json& json) {
    const auto count = member<std::uint64_t>(json, "count");
    const auto segments = member<std::uint64_t>(json, "retransmitted_segments");
    if (!count || !segments) return std::nullopt;
    return ConnectionCounters{*count, *segments, member<std::uint64_t>(json, "timeouts")};
}

/// Of the job's connections, and of everybody's on its nodes.
std::string lost_packets(const std::map<std::string, NodeCounters>& nodes) {
    NodeCounters all;
    for (const auto& [node, counters] : nodes) {
        all.timeouts += counters.timeouts;
        all.retransmissions += counters.retransmissions;
        all.own.add(counters.own);
    }
    const auto number = [](std::uint64_t count) { return std::to_string(count); };
    return "TCP between the job's ranks, " + number(all.own.connections) +
           " ends of connections that were open at the end: " +
           number(all.own.retransmissions) + " segments sent again, " +
           (all.own.timeouts ? number(*all.own.timeouts) + " time-outs"
                             : std::string("time-outs are not counted by this kernel")) +
           "\nTCP of the job's " + number(nodes.size()) + " nodes, all programs': " +
           number(all.timeouts) + " time-outs, " + number(all.retransmissions) +
           " segments sent again\n";
}

}  // namespace

void Durations::add(std::uint64_t ns) {
    ++classes_[class_of(ns)];
    ++count_;
    shortest_ns_ = std::min(shortest_ns_, ns);
    longest_ns_ = std::max(longest_ns_, ns);
}

void Durations::add(const Durations& other) {
    for (const auto& [index, count] : other.classes_) classes_[index] += count;
    count_ += other.count_;
    shortest_ns_ = std::min(shortest_ns_, other.shortest_ns_);
    longest_ns_ = std::max(longest_ns_, other.longest_ns_);
}

std::uint64_t Durations::median_ns() const {
    std::uint64_t seen = 0;
    for (const auto& [index, count] : classes_) {
        seen += count;
        if (2 * seen >= count_) return std::clamp(least_of(index), shortest_ns_, longest_ns_);
    }
    return 0;
}

nlohmann::json Durations::to_json() const {
    auto classes = Json::array();
    for (const auto& [index, count] : classes_) classes.push_back({index, count});
    return {{"min_ns", count_ > 0 ? shortest_ns_ : 0},
            {"median_ns", median_ns()},
            {"max_ns", longest_ns_},
            {"classes", std::move(classes)}};
}

std::optional<Durations> Durations::from_json(const nlohmann::json& json) {
    Durations durations;
    if (!json.is_object()) return std::nullopt;
    const auto shortest = member<std::uint64_t>(json, "min_ns");
    const auto longest = member<std::uint64_t>(json, "max_ns");
    const auto classes = json.find("classes");
    if (!shortest || !longest || classes == json.end() || !classes->is_array())
        return std::nullopt;
    for (const Json& pair : *classes) {
        if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number_unsigned() ||
            !pair[1].is_number_unsigned())
            return std::nullopt;
        durations.classes_[pair[0].get<std::uint32_t>()] += pair[1].get<std::uint64_t>();
        durations.count_ += pair[1].get<std::uint64_t>();
    }
    if (durations.count_ > 0) durations.shortest_ns_ = *shortest;
    durations.longest_ns_ = *longest;
    return durations;
}

std::optional<double> CallRow::ratio() const {
    if (!predicted_s || *predicted_s <= 0 || durations.count() == 0) return std::nullopt;
    return static_cast<double>(durations.median_ns()) / 1e9 / *predicted_s;
}

void CallReport::add(const CallKind& kind, std::uint64_t bytes,
                     std::optional<std::chrono::nanoseconds> duration) {
    CallRow& row = rows_[kind];
    ++row.calls;
    row.bytes += bytes;
    if (duration)
        row.durations.add(static_cast<std::uint64_t>(std::max<std::int64_t>(duration->count(), 0)));
}

void CallReport::set_node(std::string node, NodeCounters counters) {
    nodes_[std::move(node)] = counters;
}

void CallReport::add(const CallReport& other) {
    for (const auto& [kind, added] : other.rows_) {
        CallRow& row = rows_[kind];
        row.calls = std::max(row.calls, added.calls);
        row.bytes = std::max(row.bytes, added.bytes);
        row.durations.add(added.durations);
        if (!row.predicted_s) row.predicted_s = added.predicted_s;
    }
    for (const auto& [node, counters] : other.nodes_) {
        NodeCounters& known = nodes_[node];  // several ranks tell of one node
        known.timeouts = std::max(known.timeouts, counters.timeouts);
        known.retransmissions = std::max(known.retransmissions, counters.retransmissions);
        known.own.add(counters.own);
    }
    daemon_wait_ = std::max(daemon_wait_, other.daemon_wait_);
}

void CallReport::add_run(const CallReport& other) {
    for (const auto& [kind, added] : other.rows_) {
        CallRow& row = rows_[kind];
        row.calls += added.calls;
        row.bytes += added.bytes;
        row.durations.add(added.durations);
        if (added.predicted_s) row.predicted_s = added.predicted_s;
    }
    for (const auto& [node, counters] : other.nodes_) {
        NodeCounters& known = nodes_[node];
        known.timeouts += counters.timeouts;
        known.retransmissions += counters.retransmissions;
        known.own.add(counters.own);
    }
    daemon_wait_ = std::max(daemon_wait_, other.daemon_wait_);
}

nlohmann::json CallReport::to_json() const {
    Json json{{"collectives", Json::array()},
              {"nodes", Json::array()},
              {"daemon_wait_ns", daemon_wait_.count()}};
    for (const auto& [kind, row] : rows_) json["collectives"].push_back(row_json(kind, row));
    for (const auto& [node, counters] : nodes_) {
        json["nodes"].push_back({{"node", node},
                                 {"tcp_timeouts", counters.timeouts},
                                 {"tcp_retransmitted_segments", counters.retransmissions},
                                 {"own_connections", connections_json(counters.own)}});
    }
    return json;
}

tl::expected<CallReport, std::string> CallReport::from_json(const nlohmann::json& json) {
    const tl::unexpected nonsense(std::string("that is no report of a rank"));
    CallReport report;
    const auto collectives = json.find("collectives");
    const auto nodes = json.find("nodes");
    const auto waited = member<std::int64_t>(json, "daemon_wait_ns");
    if (!json.is_object() || collectives == json.end() || nodes == json.end() || !waited)
        return nonsense;
    for (const Json& row : *collectives) {
        auto read = row_from(row);
        if (!read) return nonsense;
        report.rows_.insert(std::move(*read));
    }
    for (const Json& node : *nodes) {
        const auto name = member<std::string>(node, "node");
        const auto timeouts = member<std::uint64_t>(node, "tcp_timeouts");
        const auto segments = member<std::uint64_t>(node, "tcp_retransmitted_segments");
        const auto own = node.find("own_connections");
        const auto counted = own != node.end() ? connections_from(*own) : std::nullopt;
        if (!name || !timeouts || !segments || !counted) return nonsense;
        report.nodes_[*name] = {*timeouts, *segments, *counted};
    }
    report.daemon_wait_ = std::chrono::nanoseconds(*waited);
    return report;
}

std::string CallReport::table() const {
    std::vector<std::pair<CallKind, CallRow>> rows(rows_.begin(), rows_.end());
    std::stable_sort(rows.begin(), rows.end(), takes_longer);
    std::vector<Line> lines{{"communicator", "operation", "message up to", "calls", "bytes",
                             "algorithm", "paced", "min ms", "median ms", "max ms", "predicted ms", "ratio"}};
    for (const auto& [kind, row] : rows) lines.push_back(line_of(kind, row));
    std::string text = aligned(lines);
    std::set<std::pair<std::string, std::string>> reasons;
    for (const auto& [kind, row] : rows) {
        if (!kind.paced && !kind.reason.empty()) reasons.emplace(kind.operation, kind.reason);
    }
    for (const auto& [operation, reason] : reasons)
        text += "not paced, " + operation + ": " + reason + "\n";
    text += lost_packets(nodes_);
    text += "waiting for headwayd took a rank " +
            milliseconds(static_cast<std::uint64_t>(daemon_wait_.count())) + " ms at most\n";
    return text;
}

}  // namespace headway::glue
