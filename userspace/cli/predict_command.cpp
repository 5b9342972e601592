// SPDX-License-Identifier: Apache-2.0
// `headway predict`: the time of a collective, a matrix or a program by every
// model that applies, as a table, as JSON and as a picture over message size or
// hosts.
#include <algorithm>
#include <bit>
#include <iostream>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "base/clock.hpp"
#include "base/progress.hpp"
#include "base/text_lines.hpp"
#include "cli/command.hpp"
#include "cli/network_options.hpp"
#include "cli/predicted_points.hpp"
#include "cli/shown_plan.hpp"
#include "config/config.hpp"
#include "formats/program_file.hpp"
#include "models/fitted_file.hpp"

namespace headway {
namespace {

struct PredictOptions {
    PatternOptions pattern;
    std::vector<std::string> bytes;  ///< sizes, or ranges "1KiB..1MiB" of powers of two
    std::string over = "bytes";      ///< or hosts: 1, 2, 4, ... of each cluster's instead
    std::vector<std::string> program;     ///< files of a GOAL schedule or a SimGrid trace
    std::vector<std::string> parameters;  ///< files that `headway fit --json` wrote
    std::string svg;                 ///< file to write the picture to; empty: none
    bool json = false;
};

class PredictCommand final : public Command {
public:
    explicit PredictCommand(const CommandLine& line);
    [[nodiscard]] ExitStatus run() const override;

private:
    PredictOptions options_;
};

constexpr const char* predict_verb = "predict";
constexpr std::size_t sizes_max = 200;
constexpr const char* default_bytes = "64KiB";

/// Cuts lists such as "1KiB,64KiB" at their commas.
std::vector<std::string> cut_sizes(const std::vector<std::string>& lists) {
    std::vector<std::string> texts;
    for (const std::string& list : lists) {
        for (const std::string_view text : split_words(list, ",")) texts.emplace_back(text);
    }
    return texts.empty() ? std::vector<std::string>{default_bytes} : texts;
}

/// "1KiB..1MiB": both ends, and every power of two between.
Result<void> append_range(std::vector<std::uint64_t>& sizes, std::string_view from,
                          std::string_view to) {
    const auto first = parse_message_size(from);
    if (!first) return tl::unexpected(first.error());
    if (to.empty()) return failure("--bytes: {}.. has no end; write both, such as 1KiB..1MiB", from);
    const auto last = parse_message_size(to);
    if (!last) return tl::unexpected(last.error());
    if (*first > *last) return failure("--bytes: {}..{} ends before it begins", from, to);
    sizes.push_back(*first);
    for (std::uint64_t size = std::bit_ceil(*first); size < *last; size *= 2) sizes.push_back(size);
    sizes.push_back(*last);
    return {};
}

Result<std::vector<std::uint64_t>> parse_sizes(const std::vector<std::string>& lists) {
    std::vector<std::uint64_t> sizes;
    for (const std::string& text : cut_sizes(lists)) {
        if (const std::size_t dots = text.find(".."); dots != std::string::npos) {
            const auto range = append_range(sizes, std::string_view(text).substr(0, dots),
                                            std::string_view(text).substr(dots + 2));
            if (!range) return tl::unexpected(range.error());
            continue;
        }
        const auto size = parse_message_size(text);
        if (!size) return tl::unexpected(size.error());
        sizes.push_back(*size);
    }
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    if (sizes.size() > sizes_max) return failure("--bytes: more than {} sizes", sizes_max);
    return sizes;
}

/// 1, 2, 4, ... hosts of each cluster, and all.
std::vector<HostCounts> host_steps(const HostCounts& all) {
    const std::uint32_t most = *std::max_element(all.per_cluster.begin(), all.per_cluster.end());
    std::vector<HostCounts> steps;
    for (std::uint32_t each = 1; each < most; each *= 2) {
        HostCounts counts = all;
        for (std::uint32_t& hosts : counts.per_cluster) hosts = std::min(hosts, each);
        steps.push_back(counts);
    }
    steps.push_back(all);
    return steps;
}

/// The user's question, checked and read.
struct Question {
    ChosenPattern pattern;
    std::uint32_t ranks_per_host = 1;
    std::vector<std::uint64_t> sizes;
    bool over_hosts = false;
    FittedParameters fitted;
};

using Points = std::vector<PredictedPoint>;

/// Adds the time that headwayd tells the MPI helper, beside those of the models.
Result<void> add_headwayd(ModelTimes& models, const Question& question, const HostCounts& hosts,
                          std::uint64_t bytes) {
    const auto called = plan_of_hosts(question.pattern, hosts, question.ranks_per_host, bytes);
    if (!called) return tl::unexpected(called.error());
    if (called->predicted) {
        models.times.push_back({"headwayd", called->predicted->low_s, called->predicted->high_s,
                                called->predicted->reason});
    } else {
        models.left_out.push_back("headwayd: " + called->plan.reason);
    }
    return {};
}

Result<Points> predict_operation(const Question& question, Progress& progress) {
    const ChosenPattern& pattern = question.pattern;
    const Topology& topology = pattern.config.topology;
    const auto operation = pattern.operation();
    if (!operation) {
        return failure("--operation: the models know nothing of {}; `headway plan` shows what headwayd "
                       "does with it", pattern.name());
    }
    const auto steps = question.over_hosts ? host_steps(pattern.counts)
                                           : std::vector{pattern.counts};
    Points points;
    for (const HostCounts& hosts : steps) {
        for (const std::uint64_t bytes : question.sizes) {
            progress.show(points.size(), steps.size() * question.sizes.size());
            auto models = predict_models(
                topology, pattern.config.policy.plan,
                {*operation, hosts, pattern.root ? topology.cluster_of(*pattern.root) : 0,
                 question.ranks_per_host, question.fitted},
                bytes);
            if (!models) return tl::unexpected(models.error());
            if (auto done = add_headwayd(*models, question, hosts, bytes); !done) {
                return tl::unexpected(done.error());
            }
            points.push_back({bytes, hosts.total(), std::move(*models)});
        }
    }
    return points;
}

Result<Points> predict_matrix(const Question& question, Progress& progress) {
    const ChosenPattern& pattern = question.pattern;
    auto models = predict_exchange(pattern.config.topology, pattern.config.policy.plan,
                                   *pattern.measured,
                                   [&](std::uint64_t done, std::uint64_t all) {
                                       progress.show(done, all);
                                   });
    if (!models) return tl::unexpected(models.error());
    return Points{{std::nullopt, pattern.counts.total(), std::move(*models)}};
}

Result<Points> predict_loaded(const Question& question, const LoadedProgram& program) {
    const ChosenPattern& pattern = question.pattern;
    const std::uint32_t processes = program.programs.processes();
    if (processes > pattern.counts.total() && !question.fitted.plogpt) {
        return failure("--program: {} ranks do not fit on {} hosts; PlogPT knows one on each",
                       processes, pattern.counts.total());
    }
    auto models = predict_program(pattern.config.topology, pattern.counts, question.fitted,
                                  program.programs);
    if (!models) return tl::unexpected(models.error().within("--program"));
    if (program.computations > 0) {
        models->left_out.push_back(fmt::format("computations: the program's {} take no time in "
                                               "PlogPT",
                                               program.computations));
    }
    return Points{{std::nullopt, pattern.counts.total(), std::move(*models)}};
}

Result<void> check(const PredictOptions& options, const Question& question) {
    if (question.over_hosts && question.sizes.size() > 1) {
        return failure("--over hosts wants one size");
    }
    const char* const alone = !options.program.empty()          ? "--program"
                              : !options.pattern.matrix.empty() ? "--matrix"
                                                                : nullptr;
    if (alone == nullptr) return {};
    if (!options.bytes.empty() || question.over_hosts || !options.svg.empty()) {
        return failure("{}: --bytes, --over and --svg are for operations", alone);
    }
    return {};
}

}  // namespace

PredictCommand::PredictCommand(const CommandLine& line)
    : Command(line, predict_verb, "predict the time of a collective or a program") {
    const Verb& predict = verb();
    add_pattern_options(predict, options_.pattern);
    predict.add_option("--bytes", options_.bytes,
                       "message sizes of a pair of ranks: 64KiB, or 1KiB..1MiB for powers of two")
        .default_text(default_bytes);
    predict.add_option("--over", options_.over,
                       "x axis of the picture: bytes, or hosts of each cluster")
        .one_of({"bytes", "hosts"});
    predict.add_option("--program", options_.program,
                       "simulate this program: a .goal schedule or SimGrid's trace")
        .excludes("--matrix")
        .excludes("--operation");
    predict.add_option("--parameters", options_.parameters,
                       "what headway fit --json has written; may be repeated");
    predict.add_option("--svg", options_.svg, "write a picture to this file");
    predict.add_flag("-j,--json", options_.json, "print JSON");
}

ExitStatus PredictCommand::run() const {
    auto pattern = choose_pattern(predict_verb, options_.pattern);
    if (!pattern) return ExitStatus::bad_config;
    auto sizes = parse_sizes(options_.bytes);
    if (!sizes) return tell(predict_verb, sizes.error(), ExitStatus::bad_config);
    // models that none of the files has are those of headway.toml's measurements
    auto fitted = load_fitted(options_.parameters, measured_parameters(pattern->config));
    if (!fitted) {
        report_config_errors(fitted.error());
        return ExitStatus::bad_config;
    }
    const Question question{std::move(*pattern), options_.pattern.ranks_per_host,
                            std::move(*sizes), options_.over == "hosts", std::move(*fitted)};
    if (const auto good = check(options_, question); !good) return tell(predict_verb, good.error(), ExitStatus::bad_config);

    const SteadyClock clock;
    Progress progress(std::cerr, clock, is_terminal_stderr(), "predicting");
    Result<Points> points;
    if (!options_.program.empty()) {
        const auto program = load_program(options_.program);
        if (!program) {
            report_config_errors(program.error());
            return ExitStatus::bad_config;
        }
        points = predict_loaded(question, *program);
    } else {
        points = question.pattern.measured ? predict_matrix(question, progress)
                                           : predict_operation(question, progress);
    }
    progress.erase();
    if (!points) return tell(predict_verb, points.error(), ExitStatus::bad_config);
    const std::string_view what =
        options_.program.empty() ? question.pattern.name() : std::string_view("program");
    if (!options_.svg.empty() &&
        !write_file(predict_verb, options_.svg,
                    chart_svg(points_chart(what, *points, question.over_hosts)))) {
        return ExitStatus::failure;
    }
    const auto& what_if = question.pattern.what_if;
    if (options_.json) print_points_json(what, what_if, *points);
    else print_points_text(what, what_if, *points);
    return ExitStatus::ok;
}

std::unique_ptr<Command> predict_command(const CommandLine& line) {
    return std::make_unique<PredictCommand>(line);
}

}  // namespace headway
