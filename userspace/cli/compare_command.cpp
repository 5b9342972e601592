// SPDX-License-Identifier: Apache-2.0
// `headway compare`: predicted times of collectives beside measured ones, from the reports
// that the MPI helper writes (HEADWAY_REPORT=FILE.json).
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "base/whole_file.hpp"
#include "call_report.hpp"
#include "cli/command.hpp"
#include "cli/network_options.hpp"
#include "cli/svg_chart.hpp"

namespace headway {
namespace {

class CompareCommand final : public Command {
public:
    explicit CompareCommand(const CommandLine& line);
    [[nodiscard]] ExitStatus run() const override;

private:
    std::vector<std::string> reports_;
    std::string keep_;
    std::string svg_;
    bool json_ = false;
};

using glue::CallKind;
using glue::CallReport;
using glue::CallRow;

constexpr const char* compare_verb = "compare";
constexpr double close_enough = 0.10;

Result<CallReport> load_report(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return failure("{}: cannot be read", path);
    auto report = CallReport::from_json(std::string(std::istreambuf_iterator<char>(file), {}));
    if (!report) {
        return failure("{}: no report of a job ({}); HEADWAY_REPORT=FILE.json, or headway run --report, writes one",
                       path, report.error());
    }
    return std::move(*report);
}

/// Reads the file that was kept, if there is one, and then all reports.
Result<CallReport> load_all(const std::string& kept, const std::vector<std::string>& paths) {
    CallReport all;
    std::vector<std::string> files = paths;
    if (!kept.empty() && std::filesystem::exists(kept)) files.insert(files.begin(), kept);
    for (const std::string& path : files) {
        const auto report = load_report(path);
        if (!report) return tl::unexpected(report.error());
        all.add_run(*report);
    }
    return all;
}

std::string name_of(const CallKind& kind) {
    return fmt::format("{}, {}, {}{}", kind.operation, kind.communicator, kind.algorithm,
                       kind.paced ? ", paced" : "");
}

std::string size_of(const CallKind& kind) { return fmt::format("{} bytes", std::uint64_t{1} << kind.size_class); }

void print_verdict(const CallReport& all) {
    std::size_t judged = 0, close = 0;
    const std::pair<const CallKind, CallRow>* worst = nullptr;
    const auto off = [](const CallRow& row) { return std::abs(std::log(*row.ratio())); };
    for (const auto& entry : all.rows()) {
        const auto ratio = entry.second.ratio();
        if (!ratio || *ratio <= 0) continue;
        ++judged;
        if (std::abs(*ratio - 1) <= close_enough) ++close;
        if (worst == nullptr || off(entry.second) > off(worst->second)) worst = &entry;
    }
    if (judged == 0) {
        fmt::print("nothing was predicted: headwayd predicts of all-to-alls and of what it paces\n");
        return;
    }
    fmt::print("{} of {} kinds of calls that were predicted took within {:.0f} % of it; furthest off: {}, up to {}: {:.2f} times\n",
               close, judged, close_enough * 100, name_of(worst->first), size_of(worst->first), *worst->second.ratio());
}

/// Draws the medians and the predictions over the size, for each kind of calls that was predicted.
Chart chart_of(const CallReport& all) {
    std::map<std::string, std::pair<ChartSeries, ChartSeries>> series;
    for (const auto& [kind, row] : all.rows()) {
        if (!row.ratio()) continue;
        auto& [measured, predicted] = series[name_of(kind)];
        measured.name = name_of(kind) + ": measured";
        predicted.name = name_of(kind) + ": predicted";
        const double bytes = std::ldexp(1.0, static_cast<int>(kind.size_class));
        const double median_s = static_cast<double>(row.durations.median_ns()) / 1e9;
        measured.points.push_back({bytes, median_s, median_s});
        predicted.points.push_back({bytes, *row.predicted_s, *row.predicted_s});
    }
    Chart chart{"Collectives, predicted and measured",
                {"message up to", ChartAxis::Scale::logarithmic, ChartAxis::Unit::bytes},
                {"time", ChartAxis::Scale::logarithmic, ChartAxis::Unit::seconds},
                {}};
    for (auto& [name, both] : series) {
        chart.series.push_back(std::move(both.first));
        chart.series.push_back(std::move(both.second));
    }
    return chart;
}

/// A full disk does not lose the report that was kept before.
bool keep(const std::string& path, const CallReport& all) {
    const std::string trouble = write_whole(path, all.to_json());
    if (!trouble.empty()) fmt::print(stderr, "headway compare: {}: {}\n", path, trouble);
    return trouble.empty();
}

}  // namespace

CompareCommand::CompareCommand(const CommandLine& line)
    : Command(line, compare_verb, "compare what headwayd predicted with what was measured") {
    verb().add_option("REPORT", reports_, "a report of the MPI helper (headway run --report FILE.json)").required();
    verb().add_option("--keep", keep_, "add the reports to this file, one for each network, and compare all in it");
    verb().add_option("--svg", svg_, "write a picture to this file");
    verb().add_flag("-j,--json", json_, "print JSON");
}

ExitStatus CompareCommand::run() const {
    const auto all = load_all(keep_, reports_);
    if (!all) {
        fmt::print(stderr, "headway compare: {}\n", all.error().message);
        return ExitStatus::bad_config;
    }
    if (!keep_.empty() && !keep(keep_, *all)) return ExitStatus::failure;
    if (!svg_.empty() && !write_file(compare_verb, svg_, chart_svg(chart_of(*all)))) return ExitStatus::failure;
    if (json_) {
        fmt::print("{}", all->to_json());
    } else {
        fmt::print("{}", all->table());
        print_verdict(*all);
    }
    return ExitStatus::ok;
}

std::unique_ptr<Command> compare_command(const CommandLine& line) {
    return std::make_unique<CompareCommand>(line);
}

}  // namespace headway
