// SPDX-License-Identifier: Apache-2.0
// `headway fit`: parameters of the models from measurements.
#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <iostream>
#include <limits>
#include <optional>
#include <string>

#include <fmt/ranges.h>

#include "base/file_error.hpp"
#include "base/json.hpp"
#include "base/progress.hpp"
#include "cli/command.hpp"
#include "cli/fit_models.hpp"
#include "cli/network_options.hpp"
#include "formats/measurement_csv.hpp"

namespace headway {
namespace {

struct FitOptions {
    std::string model;  ///< "contention", "manytoone", "plogpt"
    std::string file;   ///< CSV, or JSON if it begins with '{'
    // For CSV, which has measurements only:
    std::optional<double> processes;   ///< n; of a many-to-one the sources
    std::optional<double> startup_s;   ///< alpha, or C of every source
    std::optional<double> per_byte_s;  ///< beta, or t of every source
    std::optional<double> rate_bytes_per_s;  ///< of every path of a many-to-one
    std::optional<double> threshold_bytes;   ///< M; none: chosen
    std::string svg;                         ///< picture of measured against fitted
    bool json = false;
};

class FitCommand final : public Command {
public:
    explicit FitCommand(const CommandLine& line);
    [[nodiscard]] ExitStatus run() const override;

private:
    FitOptions options_;
};

constexpr const char* fit_verb = "fit";

ExitStatus usage_error(std::string message) {
    return tell(fit_verb, {std::move(message)}, ExitStatus::bad_config);
}

// -------------------------------------------------------------- CSV into JSON

struct Needed {
    const std::optional<double>& value;
    std::string_view option;
};

/// The measurements, and all that they need besides; what is wrong with the file is told first.
Result<Measurements> read_csv(std::string_view text, const FitOptions& options,
                              const std::vector<std::string>& known, std::initializer_list<Needed> needed) {
    auto table = parse_measurements(text, options.file, {"bytes", "seconds"}, known);
    if (!table) return table;
    if (table->rows.empty()) return failure("{}: it has columns and no measurement; write a line for each", options.file);
    std::vector<std::string_view> missing;
    for (const auto& [value, option] : needed) {
        if (!value) missing.push_back(option);
    }
    if (missing.empty()) return table;
    return failure("{}: CSV has measurements only; say {}, too", options.file, fmt::join(missing, ", "));
}

/// Rows as [[...], ...] of those columns.
EvalJson rows_json(const Measurements& table, const std::vector<std::string>& columns,
                   const auto& wanted) {
    EvalJson rows = EvalJson::array();
    for (const auto& row : table.rows) {
        if (!wanted(row)) continue;
        EvalJson values = EvalJson::array();
        for (const std::string& name : columns) values.push_back(row[*table.column(name)]);
        rows.push_back(std::move(values));
    }
    return rows;
}

Result<EvalJson> contention_from_csv(std::string_view text, const FitOptions& options) {
    const auto table = read_csv(text, options, {"bytes", "seconds", "processes", "variance"},
                                {{options.processes, "--processes"},
                                 {options.startup_s, "--alpha"},
                                 {options.per_byte_s, "--beta"}});
    if (!table) return tl::unexpected(table.error());
    EvalJson input{{"n", *options.processes}, {"alpha", *options.startup_s},
                   {"beta", *options.per_byte_s}};
    const auto processes = table->column("processes");
    const auto of_fit = [&](const std::vector<double>& row) {
        return !processes || row[*processes] == *options.processes;
    };
    input["samples"] = rows_json(*table, {"bytes", "seconds"}, of_fit);
    if (processes) {
        auto others = rows_json(*table, {"processes", "bytes", "seconds"},
                                [&](const auto& row) { return !of_fit(row); });
        if (!others.empty()) input["scaling"] = std::move(others);
    }
    if (table->column("variance")) {
        input["cov"] = EvalJson::array();
        for (const auto& row : rows_json(*table, {"variance"}, of_fit)) {
            input["cov"].push_back(row[0]);
        }
    }
    if (options.threshold_bytes) input["M"] = *options.threshold_bytes;
    return input;
}

Result<EvalJson> many_to_one_from_csv(std::string_view text, const FitOptions& options) {
    const auto table = read_csv(text, options, {"bytes", "seconds"},
                                {{options.processes, "--processes"},
                                 {options.startup_s, "--alpha"},
                                 {options.per_byte_s, "--beta"},
                                 {options.rate_bytes_per_s, "--rate"}});
    if (!table) return tl::unexpected(table.error());
    if (!(*options.processes >= 1 && *options.processes <= 65536)) {
        return failure("--processes is 1 .. 65536");
    }
    EvalJson input{{"sources", EvalJson::array()}, {"rates", EvalJson::array()}};
    for (int i = 0; i < *options.processes; ++i) {
        input["sources"].push_back({{"C", *options.startup_s}, {"t", *options.per_byte_s}});
        input["rates"].push_back(*options.rate_bytes_per_s);
    }
    input["samples"] =
        rows_json(*table, {"bytes", "seconds"}, [](const auto&) { return true; });
    return input;
}

Result<EvalJson> plogpt_from_csv(std::string_view, const FitOptions& options) {
    return failure("{}: PlogPT's measurements are of several kinds; give them as JSON, see "
                   "headway(1)",
                   options.file);
}

struct FittedModel {
    std::string_view name;
    Result<EvalJson> (*from_csv)(std::string_view, const FitOptions&);
    FitResult (*fit)(const EvalJson&, const ModelProgress&);
};

constexpr std::array models{
    FittedModel{"contention", contention_from_csv, fit_contention_json},
    FittedModel{"manytoone", many_to_one_from_csv, fit_many_to_one_json},
    FittedModel{"plogpt", plogpt_from_csv, fit_plogpt_json},
};

Result<EvalJson> read_input(const FittedModel& model, const FitOptions& options) {
    const auto text = read_text_file(options.file, data_file_max_bytes);
    if (!text) return failure("{}", text.error().front().to_string());
    const auto begin = text->find_first_not_of(" \t\r\n");
    if (begin == std::string::npos || (*text)[begin] != '{') return model.from_csv(*text, options);
    EvalJson input = parse_json<EvalJson>(*text);
    if (input.is_discarded()) return failure("{}: it begins as JSON and is none; jq . {} tells where", options.file, options.file);
    return input;
}

/// Infinite numbers have no JSON.
void infinite_to_null(EvalJson& json) {
    for (auto& value : json) {
        if (value.is_number_float() && !std::isfinite(value.get<double>())) value = nullptr;
    }
}

/// Of parameters that have no unit in their names.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> units{{
    {"alpha", "s"}, {"beta", "s per byte"}, {"L", "s"}, {"gap", "bytes, s"}, {"b", "bytes/s"}, {"d", "s"},
    {"rates", "bytes/s"}}};

std::string named_with_unit(const std::string& name) {
    const auto* unit = std::ranges::find(units, name, &std::pair<std::string_view, std::string_view>::first);
    return unit == units.end() ? name : fmt::format("{}, {}", name, unit->second);
}

/// Four digits; what is left of a difference by rounding is nothing.
std::string for_people(const EvalJson& value) {
    constexpr double rounding = 1e-12;
    if (value.is_null()) return "-";
    if (value.is_string()) return value.get<std::string>();
    if (!value.is_array()) {
        if (!value.is_number_float()) return json_text(value);
        const double number = value.get<double>();
        if (std::abs(number) >= 1e4) return fmt::format("{:.0f}", number);
        return fmt::format("{:.4g}", std::abs(number) < rounding ? 0 : number);
    }
    std::string list;
    for (const EvalJson& one : value) {
        list += fmt::format("{}{}", list.empty() ? "" : " ", one.is_array() ? fmt::format("({})", for_people(one)) : for_people(one));
    }
    return list;
}

void print_text(const FitReport& report) {
    for (const auto& [name, value] : report.found.items()) {
        if (value.is_array() && !value.empty() && value[0].is_object()) continue;  // as given
        fmt::print("{:<24}  {}\n", named_with_unit(name), for_people(value));
    }
    for (const std::string& remark : report.remarks) fmt::print("note: {}\n", remark);
}

}  // namespace

FitCommand::FitCommand(const CommandLine& line)
    : Command(line, fit_verb, "find a model's parameters in measurements") {
    const Verb& fit = verb();
    std::vector<std::string> names;
    for (const FittedModel& model : models) names.emplace_back(model.name);
    fit.add_option("MODEL", options_.model, "contention, manytoone or plogpt").required().one_of(names);
    fit.add_option("FILE", options_.file, "measurements, CSV or JSON").required();
    fit.add_option("--processes", options_.processes,
                   "of the measured collective; of a many-to-one the sources");
    fit.add_option("--alpha", options_.startup_s, "start-up of a message, s; C of a source");
    fit.add_option("--beta", options_.per_byte_s, "s per byte; t of a source");
    fit.add_option("--rate", options_.rate_bytes_per_s, "bytes/s of a path of a many-to-one");
    fit.add_option("--threshold", options_.threshold_bytes,
                   "M of a contention signature, bytes (default: chosen)");
    fit.add_option("--svg", options_.svg, "write a picture to this file");
    fit.add_flag("-j,--json", options_.json, "print JSON");
}

ExitStatus FitCommand::run() const {
    const FitOptions& options = options_;
    const auto* model = std::find_if(models.begin(), models.end(), [&](const FittedModel& known) {
        return known.name == options.model;
    });
    const auto input = read_input(*model, options);
    if (!input) return usage_error(input.error().message);
    const SteadyClock clock;
    Progress progress(std::cerr, clock, is_terminal_stderr(), "fitting");
    auto report = model->fit(*input, [&](std::uint64_t done, std::uint64_t all) {
        progress.show(done, all);
    });
    progress.erase();
    if (!report) return usage_error(fmt::format("{}: {}", options.file, report.error()));
    if (!options.svg.empty() && !write_file(fit_verb, options.svg, chart_svg(report->chart))) {
        return ExitStatus::failure;
    }
    infinite_to_null(report->found);
    if (options.json) {
        report->found["remarks"] = report->remarks;
        fmt::print("{}\n", json_text(report->found, 2));
    } else {
        print_text(*report);
    }
    return ExitStatus::ok;
}

std::unique_ptr<Command> fit_command(const CommandLine& line) {
    return std::make_unique<FitCommand>(line);
}

}  // namespace headway
