// SPDX-License-Identifier: Apache-2.0
#include "cli/top_frame.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/units.hpp"

namespace headway {
namespace {

const Json& member(const Json& object, const char* key) {
    static const Json none;
    if (!object.is_object()) return none;
    const auto found = object.find(key);
    return found == object.end() ? none : *found;
}

std::uint64_t number_of(const Json& object, const char* key) {
    const Json& value = member(object, key);
    return value.is_number_unsigned() ? value.get<std::uint64_t>() : 0;
}

std::string text_of(const Json& object, const char* key) {
    const Json& value = member(object, key);
    return value.is_string() ? value.get<std::string>() : "-";
}

/// To be walked over: what is no array is empty.
const Json& list_of(const Json& object, const char* key) {
    static const Json none = Json::array();
    const Json& value = member(object, key);
    return value.is_array() ? value : none;
}

std::uint64_t rise(std::uint64_t before, std::uint64_t now) {
    return now >= before ? now - before : now;
}

std::uint64_t rise_of(const Json& before, const Json& now, const char* key) {
    return rise(number_of(before, key), number_of(now, key));
}

std::uint64_t bits_per_s(std::uint64_t bytes, double interval_s) {
    return interval_s > 0 ? static_cast<std::uint64_t>(8.0 * static_cast<double>(bytes) / interval_s)
                          : 0;
}

/// The class of the same id in the other sample.
const Json& same_class(const Json& classes, const Json& one) {
    static const Json none = Json::object();
    for (const Json& other : classes) {
        if (text_of(other, "classid") == text_of(one, "classid")) return other;
    }
    return none;
}

Json trunk_json(const Json& before, const Json& now, double interval_s, std::uint64_t link_bits) {
    const std::uint64_t bits = bits_per_s(rise_of(before, now, "wire_bytes"), interval_s);
    return {{"cluster", text_of(now, "cluster")},
            {"classid", text_of(now, "classid")},
            {"in_kernel", member(now, "in_kernel") == true},
            {"wanted_bytes_per_s", member(now, "wanted_bytes_per_s")},
            {"bytes_per_s", member(now, "bytes_per_s")},
            {"sent_bits_per_s", bits},
            {"of_link", link_bits > 0 ? static_cast<double>(bits) / static_cast<double>(link_bits) : 0.0},
            {"packets", rise_of(before, now, "packets")},
            {"drops", rise_of(before, now, "drops")},
            {"backlog_bytes", number_of(now, "backlog_bytes")}};
}

/// Returns the part of the wire time between the samples that gap frames filled; null: not known.
Json gap_share(const TopSample& before, const TopSample& now, double interval_s,
               std::uint64_t link_bits) {
    if (!now.gaps || link_bits == 0 || interval_s <= 0) return nullptr;
    const std::uint64_t first = before.gaps ? before.gaps->gap_wire_bytes : now.gaps->gap_wire_bytes;
    return static_cast<double>(bits_per_s(rise(first, now.gaps->gap_wire_bytes), interval_s)) /
           static_cast<double>(link_bits);
}

Json tcp_json(const TopSample& before, const TopSample& now) {
    if (!now.tcp) return nullptr;
    const TcpCounters first = before.tcp.value_or(*now.tcp);
    return {{"timeouts", rise(first.timeouts, now.tcp->timeouts)},
            {"retransmissions", rise(first.retransmissions, now.tcp->retransmissions)},
            {"timeouts_total", now.tcp->timeouts},
            {"retransmissions_total", now.tcp->retransmissions}};
}

// ------------------------------------------------------------------------ text

std::string rate_text(const Json& bytes_per_s) {
    if (!bytes_per_s.is_number_unsigned()) return "unlimited";
    return rate_to_text(BytesPerSecond{bytes_per_s.get<std::uint64_t>()}.bits());
}

std::string percent_text(const Json& part) {
    return part.is_number() ? fmt::format("{:.1f} %", 100 * part.get<double>()) : "-";
}

void add_head(std::vector<std::string>& lines, const Json& frame) {
    lines.push_back(fmt::format("headway {}  node {}  interface {}  link {}{}{}", text_of(frame, "version"),
                                text_of(frame, "node"), text_of(frame, "interface"),
                                rate_to_text({number_of(frame, "link_bits_per_s")}),
                                member(frame, "off").is_object() ? "  PACING IS OFF" : "",
                                member(frame, "in_step") == true ? "" : "  NOT IN STEP"));
    const Json& tcp = member(frame, "tcp");
    lines.push_back(fmt::format(
        "gaps {}  clients {}  in collectives by request {}  TCP time-outs {}  retransmissions {}",
        percent_text(member(frame, "gap_share")), number_of(frame, "client_count"),
        number_of(frame, "active_enters"), tcp.is_object() ? fmt::to_string(number_of(tcp, "timeouts")) : "-",
        tcp.is_object() ? fmt::to_string(number_of(tcp, "retransmissions")) : "-"));
    if (const Json& error = member(frame, "kernel_error"); error.is_string()) {
        lines.push_back("kernel: " + error.get<std::string>());
    }
}

void add_trunks(std::vector<std::string>& lines, const Json& frame) {
    constexpr const char* row = "{:<6}  {:<12}  {:>14}  {:>14}  {:>14}  {:>8}  {:>9}  {:>6}  {:>9}";
    lines.emplace_back();
    lines.push_back(fmt::format(fmt::runtime(row), "class", "towards", "wanted", "in force", "sent",
                                "of link", "packets", "drops", "backlog"));
    for (const Json& one : list_of(frame, "trunks")) {
        const bool is_there = member(one, "in_kernel") == true;
        lines.push_back(fmt::format(
            fmt::runtime(row), text_of(one, "classid"), text_of(one, "cluster"),
            rate_text(member(one, "wanted_bytes_per_s")),
            is_there ? rate_text(member(one, "bytes_per_s")) : "missing",
            rate_to_text({number_of(one, "sent_bits_per_s")}), percent_text(member(one, "of_link")),
            number_of(one, "packets"), number_of(one, "drops"), number_of(one, "backlog_bytes")));
    }
}

/// The least part that the job has of what it would have alone.
std::string part_text(const Json& parts) {
    if (!parts.is_object()) return "all";
    double least = 1;
    for (const auto& [cluster, part] : parts.items()) {
        if (part.is_number()) least = std::min(least, part.get<double>());
    }
    return fmt::format("{:.1f} %", 100 * least);
}

void add_jobs(std::vector<std::string>& lines, const Json& frame) {
    constexpr const char* row = "{:<20}  {:>6}  {:>9}  {:>6}  {:>7}  {}";
    lines.emplace_back();
    lines.push_back(fmt::format(fmt::runtime(row), "job", "user", "processes", "weight", "part",
                                "phases"));
    for (const Json& job : list_of(frame, "jobs")) {
        std::string phases;
        for (const Json& phase : list_of(job, "phases")) {
            const std::uint64_t inside = number_of(phase, "processes");
            phases += fmt::format("{}{} ({}){}", phases.empty() ? "" : ", ", number_of(phase, "phase"),
                                  rate_text(member(phase, "bytes_per_s")),
                                  inside > 0 ? fmt::format(" x{}", inside) : "");
        }
        if (member(job, "paced") == true) phases = "paced all the time";
        lines.push_back(fmt::format(fmt::runtime(row), text_of(job, "job"), number_of(job, "uid"),
                                    number_of(job, "processes"), number_of(job, "weight"),
                                    part_text(member(job, "parts")), phases.empty() ? "-" : phases));
    }
}

/// Names come from the daemon, which lets ASCII through only.
void fit(std::vector<std::string>& lines, std::size_t width, std::size_t height) {
    if (height > 0 && lines.size() > height) lines.resize(height);
    for (std::string& line : lines) {
        std::replace_if(line.begin(), line.end(), [](unsigned char c) { return c < ' '; }, '?');
        if (width > 0 && line.size() > width) line.resize(width);
        while (line.ends_with(' ')) line.pop_back();
    }
}

/// How many clients are in each phase of their job, as far as the status tells.
void count_phases(Json& jobs, const Json& clients) {
    for (const Json& client : clients) {
        if (!member(client, "phase").is_number()) continue;
        for (Json& job : jobs) {
            if (text_of(job, "job") != text_of(client, "job") ||
                number_of(job, "uid") != number_of(client, "uid") ||
                !member(job, "phases").is_array()) {
                continue;
            }
            for (Json& phase : job["phases"]) {
                if (!phase.is_object() || number_of(phase, "phase") != number_of(client, "phase")) continue;
                phase["processes"] = number_of(phase, "processes") + 1;
            }
        }
    }
}

}  // namespace

Json top_frame(const TopSample& before, const TopSample& now) {
    const double interval_s = std::chrono::duration<double>(now.at - before.at).count();
    const Json& daemon = member(now.status, "daemon");
    const std::uint64_t link_bits = number_of(daemon, "link_bits_per_s");
    Json trunks = Json::array();
    for (const Json& one : list_of(now.status, "classes")) {
        trunks.push_back(trunk_json(same_class(list_of(before.status, "classes"), one), one, interval_s,
                                    link_bits));
    }
    Json jobs = list_of(now.status, "jobs");
    count_phases(jobs, list_of(now.status, "clients"));
    return {{"interval_s", interval_s},
            {"version", text_of(daemon, "version")},
            {"node", text_of(daemon, "node")},
            {"interface", text_of(daemon, "interface")},
            {"link_bits_per_s", link_bits},
            {"in_step", member(now.status, "in_step") == true},
            {"off", member(now.status, "off")},
            {"kernel_error", member(now.status, "kernel_error")},
            {"gap_share", gap_share(before, now, interval_s, link_bits)},
            {"client_count", number_of(now.status, "client_count")},
            {"active_enters", number_of(now.status, "active_enters")},
            {"trunks", std::move(trunks)},
            {"jobs", std::move(jobs)},
            {"tcp", tcp_json(before, now)}};
}

std::vector<std::string> top_lines(const Json& frame, std::size_t width, std::size_t height) {
    std::vector<std::string> lines;
    add_head(lines, frame);
    add_trunks(lines, frame);
    add_jobs(lines, frame);
    fit(lines, width, height);
    return lines;
}

}  // namespace headway
