// SPDX-License-Identifier: MIT
#include "call_report.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <set>

#include "object_text.hpp"

namespace headway::glue {
namespace {

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

std::string row_json(const CallKind& kind, const CallRow& row) {
    ObjectText json;
    json.text("communicator", kind.communicator).text("operation", kind.operation);
    json.number("message_bytes_most", std::uint64_t{1} << kind.size_class);
    json.text("algorithm", kind.algorithm).flag("paced", kind.paced).text("reason", kind.reason);
    json.number("calls", row.calls).number("bytes", row.bytes).json("duration", row.durations.to_json());
    json.number("predicted_s", row.predicted_s).number("ratio", row.ratio());
    return json.object();
}

std::optional<std::pair<CallKind, CallRow>> row_from(const JsonObject& json) {
    const auto communicator = json.text("communicator");
    const auto operation = json.text("operation");
    const auto most = json.whole_number("message_bytes_most");
    const auto algorithm = json.text("algorithm");
    const auto paced = json.flag("paced");
    const auto reason = json.text("reason");
    const auto calls = json.whole_number("calls");
    const auto bytes = json.whole_number("bytes");
    auto durations = Durations::from_json(json, "duration");
    if (!communicator || !operation || !most || *most == 0 || !algorithm || !paced || !reason ||
        !calls || !bytes || !durations)
        return std::nullopt;
    const auto size_class = static_cast<std::size_t>(std::bit_width(*most) - 1);
    return std::pair{
        CallKind{*communicator, *operation, size_class, *algorithm, *paced, *reason},
        CallRow{*calls, *bytes, std::move(*durations), json.number("predicted_s")}};
}

std::string node_json(const std::string& node, const NodeCounters& counters) {
    ObjectText own;
    own.number("count", counters.own.connections).number("retransmitted_segments", counters.own.retransmissions);
    own.number("timeouts", counters.own.timeouts);
    ObjectText json;
    json.text("node", node).number("tcp_timeouts", counters.timeouts);
    json.number("tcp_retransmitted_segments", counters.retransmissions).json("own_connections", own.object());
    return json.object();
}

std::optional<std::pair<std::string, NodeCounters>> node_from(const JsonObject& json) {
    const auto name = json.text("node");
    const auto timeouts = json.whole_number("tcp_timeouts");
    const auto segments = json.whole_number("tcp_retransmitted_segments");
    const auto own_count = json.whole_number("own_connections.count");
    const auto own_segments = json.whole_number("own_connections.retransmitted_segments");
    if (!name || !timeouts || !segments || !own_count || !own_segments) return std::nullopt;
    const ConnectionCounters own{*own_count, *own_segments, json.whole_number("own_connections.timeouts")};
    return std::pair{*name, NodeCounters{*timeouts, *segments, own}};
}

/// A list with a line for each.
std::string list_json(const auto& pairs, const auto& json_of) {
    std::string list;
    for (const auto& [key, value] : pairs) list += (list.empty() ? "\n  " : ",\n  ") + json_of(key, value);
    return "[" + list + "]";
}

/// Tells of the packets lost by the job's connections, and by everybody's on its nodes.
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
           number(all.own.retransmissions) + " segments lost and sent again, " +
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

std::string Durations::to_json() const {
    std::string classes;
    for (const auto& [index, count] : classes_)
        classes += (classes.empty() ? "[" : ",[") + std::to_string(index) + "," + std::to_string(count) + "]";
    ObjectText json;
    json.number("min_ns", count_ > 0 ? shortest_ns_ : 0).number("median_ns", median_ns()).number("max_ns", longest_ns_);
    return json.json("classes", "[" + classes + "]").object();
}

std::optional<Durations> Durations::from_json(const JsonObject& json, const std::string& path) {
    const auto shortest = json.whole_number(path + ".min_ns");
    const auto longest = json.whole_number(path + ".max_ns");
    const auto classes = json.whole_numbers(path + ".classes");  // pairs
    if (!shortest || !longest || json.list_size(path + ".classes") != classes.size() || classes.size() % 2 != 0) return std::nullopt;
    Durations durations;
    for (std::size_t at = 0; at < classes.size(); at += 2) {
        durations.classes_[static_cast<std::uint32_t>(classes[at])] += classes[at + 1];
        durations.count_ += classes[at + 1];
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
    runs_.insert(runs_.end(), other.runs_.begin(), other.runs_.end());
    daemon_wait_ = std::max(daemon_wait_, other.daemon_wait_);
}

bool CallReport::has_run_of(const CallReport& other) const {
    return std::find_first_of(runs_.begin(), runs_.end(), other.runs_.begin(), other.runs_.end()) != runs_.end();
}

std::string CallReport::to_json() const {
    ObjectText json;
    json.json("collectives", list_json(rows_, row_json)).json("nodes", list_json(nodes_, node_json));
    std::string runs;
    for (const std::uint64_t run : runs_) runs += (runs.empty() ? "" : ",") + std::to_string(run);
    json.json("runs", "[" + runs + "]");
    return json.number("daemon_wait_ns", daemon_wait_.count()).object() + "\n";
}

tl::expected<CallReport, std::string> CallReport::from_json(std::string text) {
    CallReport report;
    std::size_t rows = 0, nodes = 0;  // that could be read
    const auto take = [&](std::string_view path, const JsonObject& json) {
        const auto add = [&](auto& known, auto read, std::size_t& sound) {
            if (!read) return;
            known.insert(std::move(*read));
            ++sound;
        };
        if (path == "collectives") add(report.rows_, row_from(json), rows);
        if (path == "nodes") add(report.nodes_, node_from(json), nodes);
    };
    const auto json = JsonObject::read(std::move(text), take);
    const auto waited = json ? json->whole_number("daemon_wait_ns") : std::nullopt;
    if (!json) return tl::unexpected(std::string("it is no JSON object"));
    if (json->list_size("collectives") != rows || json->list_size("nodes") != nodes || !waited)
        return tl::unexpected(std::string("its members are not those of a report"));
    report.runs_ = json->whole_numbers("runs");
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
