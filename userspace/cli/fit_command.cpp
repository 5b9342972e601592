// SPDX-License-Identifier: Apache-2.0
// `headway fit`: parameters of the models from measurements.
#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <iostream>
#include <iterator>
#include <limits>
#include <optional>
#include <string>

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

constexpr std::size_t file_max_bytes = 64 << 20;

constexpr const char* fit_verb = "fit";

ExitStatus usage_error(std::string message) {
    return tell(fit_verb, {std::move(message)}, ExitStatus::bad_config);
}

Result<std::string> read_file(const std::string& name) {
    std::ifstream file(name, std::ios::binary);
    std::string text(std::istreambuf_iterator<char>(file), {});
    if (!file) return failure("cannot read {}", name);
    if (text.size() > file_max_bytes) return failure("{} is larger than 64 MiB", name);
    return text;
}

// -------------------------------------------------------------- CSV into JSON

Result<void> need(const std::optional<double>& value, std::string_view option) {
    if (value) return {};
    return failure("CSV has measurements only; {} is needed", option);
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
    for (const auto& given : {need(options.processes, "--processes"),
                              need(options.startup_s, "--alpha"),
                              need(options.per_byte_s, "--beta")}) {
        if (!given) return tl::unexpected(given.error());
    }
    const auto table = parse_measurements(text, options.file, {"bytes", "seconds"},
                                          {"bytes", "seconds", "processes", "variance"});
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
    for (const auto& given : {need(options.processes, "--processes"),
                              need(options.startup_s, "--alpha"),
                              need(options.per_byte_s, "--beta"),
                              need(options.rate_bytes_per_s, "--rate")}) {
        if (!given) return tl::unexpected(given.error());
    }
    if (!(*options.processes >= 1 && *options.processes <= 65536)) {
        return failure("--processes is 1 .. 65536");
    }
    const auto table =
        parse_measurements(text, options.file, {"bytes", "seconds"}, {"bytes", "seconds"});
    if (!table) return tl::unexpected(table.error());
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
    const auto text = read_file(options.file);
    if (!text) return tl::unexpected(text.error());
    const auto begin = text->find_first_not_of(" \t\r\n");
    if (begin == std::string::npos || (*text)[begin] != '{') return model.from_csv(*text, options);
    EvalJson input = parse_json<EvalJson>(*text);
    if (input.is_discarded()) return failure("{} is no JSON", options.file);
    return input;
}

/// Infinite numbers have no JSON.
void infinite_to_null(EvalJson& json) {
    for (auto& value : json) {
        if (value.is_number_float() && !std::isfinite(value.get<double>())) value = nullptr;
    }
}

void print_text(const FitReport& report) {
    for (const auto& [name, value] : report.found.items()) {
        if (value.is_array() && !value.empty() && value[0].is_object()) continue;  // as given
        fmt::print("{:<24}  {}\n", name, value.is_null() ? "-" : json_text(value));
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
