// SPDX-License-Identifier: Apache-2.0
// `headway compare`: a job's collectives beside those of another run, or predicted times beside
// measured ones, from the reports that the MPI helper writes (HEADWAY_REPORT=FILE.json).
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/file_error.hpp"
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
    [[nodiscard]] ExitStatus compare_two() const;

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
    auto text = read_text_file(path, data_file_max_bytes);
    if (!text) return failure("{}", text.error().front().to_string());
    auto report = CallReport::from_json(std::move(*text));
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
        if (all.has_run_of(*report)) {
            return failure("{}: its run has been added already, and would count twice; nothing is kept", path);
        }
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

// ------------------------------------------------------------------- two reports

/// Of calls that are paced in one report and not in the other, what is the same.
using CallName = std::tuple<std::string, std::string, std::size_t>;

struct BothRuns {
    std::array<glue::Durations, 2> durations;

    /// How many times as long as in the first report the median is; none: one has no such calls.
    [[nodiscard]] std::optional<double> ratio() const {
        const auto first_ns = durations[0].median_ns();
        if (durations[0].count() == 0 || durations[1].count() == 0 || first_ns == 0) return std::nullopt;
        return static_cast<double>(durations[1].median_ns()) / static_cast<double>(first_ns);
    }
};

std::map<CallName, BothRuns> set_beside(const std::array<CallReport, 2>& reports) {
    std::map<CallName, BothRuns> both;
    for (std::size_t i = 0; i < reports.size(); ++i) {
        for (const auto& [kind, row] : reports[i].rows())
            both[{kind.operation, kind.communicator, kind.size_class}].durations[i].add(row.durations);
    }
    return both;
}

std::string median_text(const glue::Durations& durations) {
    return durations.count() == 0 ? "-" : fmt::format("{:.3g}", static_cast<double>(durations.median_ns()) / 1e6);
}

nlohmann::ordered_json median_json(const glue::Durations& durations) {
    if (durations.count() == 0) return nullptr;
    return {{"calls_of_all_ranks", durations.count()}, {"median_s", static_cast<double>(durations.median_ns()) / 1e9}};
}

void print_both(const std::map<CallName, BothRuns>& both, const std::vector<std::string>& files) {
    fmt::print("first: {}; second: {}\n{:>10} {:>10} {:>6}  {}\n", files[0], files[1], "first ms", "second ms",
               "ratio", "calls, and their largest message");
    for (const auto& [name, runs] : both) {
        const auto& [operation, communicator, size_class] = name;
        const auto ratio = runs.ratio();
        fmt::print("{:>10} {:>10} {:>6}  {}, {}, up to {} bytes\n", median_text(runs.durations[0]),
                   median_text(runs.durations[1]), ratio ? fmt::format("{:.2f}", *ratio) : "-", operation,
                   communicator, std::uint64_t{1} << size_class);
    }
}

void print_both_json(const std::map<CallName, BothRuns>& both) {
    auto list = nlohmann::ordered_json::array();
    for (const auto& [name, runs] : both) {
        const auto& [operation, communicator, size_class] = name;
        const auto ratio = runs.ratio();
        list.push_back({{"operation", operation},
                        {"communicator", communicator},
                        {"message_bytes_most", std::uint64_t{1} << size_class},
                        {"first", median_json(runs.durations[0])},
                        {"second", median_json(runs.durations[1])},
                        {"ratio", ratio ? nlohmann::ordered_json(*ratio) : nullptr}});
    }
    fmt::print("{}\n", list.dump(2));
}

// ------------------------------------------------------ predicted and measured

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
    : Command(line, compare_verb, "compare two runs of a job, or a run with what was predicted of it") {
    verb()
        .add_option("REPORT", reports_,
                    "a report of headway run --report FILE.json, or two: each call's median in both, and their ratio")
        .required();
    verb().add_option("--keep", keep_, "add the reports to this file, one for each network, and compare all in it");
    verb().add_option("--svg", svg_, "write a picture to this file");
    verb().add_flag("-j,--json", json_, "print JSON");
}

ExitStatus CompareCommand::compare_two() const {
    std::array<CallReport, 2> both;
    for (std::size_t i = 0; i < both.size(); ++i) {
        auto report = load_report(reports_[i]);
        if (!report) return tell(compare_verb, report.error(), ExitStatus::bad_config);
        both[i] = std::move(*report);
    }
    json_ ? print_both_json(set_beside(both)) : print_both(set_beside(both), reports_);
    return ExitStatus::ok;
}

ExitStatus CompareCommand::run() const {
    if (keep_.empty() && reports_.size() > 1) {
        if (reports_.size() == 2 && svg_.empty()) return compare_two();
        return tell(compare_verb, {"two reports are compared, without --svg; --keep FILE adds up as many as there are"},
                    ExitStatus::bad_config);
    }
    const auto all = load_all(keep_, reports_);
    if (!all) {
        return tell(compare_verb, all.error(), ExitStatus::bad_config);
    }
    if (!keep_.empty() && !keep(keep_, *all)) return ExitStatus::failure;
    const Chart chart = chart_of(*all);
    if (!svg_.empty() && chart.series.empty())
        return tell(compare_verb, {"--svg: nothing was predicted, so that there is nothing to draw"}, ExitStatus::failure);
    if (!svg_.empty() && !write_file(compare_verb, svg_, chart_svg(chart))) return ExitStatus::failure;
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
