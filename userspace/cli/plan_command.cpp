// SPDX-License-Identifier: Apache-2.0
// `headway plan`: how a collective, or a measured matrix, would be paced, and
// why; from the configuration's file alone, so that it can be tried anywhere.
#include <iostream>
#include <optional>
#include <string>

#include <fmt/core.h>

#include "base/clock.hpp"
#include "base/host_name.hpp"
#include "base/progress.hpp"
#include "base/text_lines.hpp"
#include "cli/alltoall_rules.hpp"
#include "cli/command.hpp"
#include "cli/network_options.hpp"
#include "cli/plan_output.hpp"
#include "cli/shown_plan.hpp"

namespace headway {
namespace {

struct PlanOptions {
    PatternOptions pattern;
    std::string bytes;  ///< message size of a pair of ranks; empty: any
    std::string node;   ///< empty: this host if the file knows it
    std::string rules;  ///< file to write Open MPI's rules to; empty: none
    bool json = false;
    bool tc = false;
};

class PlanCommand final : public Command {
public:
    explicit PlanCommand(const CommandLine& line);
    [[nodiscard]] ExitStatus run() const override;

private:
    PlanOptions options_;
};

constexpr const char* plan_verb = "plan";

/// Hosts of a cluster are alike, but for the root; of a matrix all differ.
std::vector<std::string> different_hosts(const ChosenPattern& pattern) {
    std::vector<std::string> names;
    if (pattern.root) names.push_back(pattern.host_name(*pattern.root));
    std::vector<bool> shown(pattern.counts.per_cluster.size());
    for (const std::size_t host : pattern.hosts) {
        const std::size_t cluster = pattern.config.topology.cluster_of(host);
        if (pattern.root == host || (shown[cluster] && !pattern.measured)) continue;
        shown[cluster] = true;
        names.push_back(pattern.host_name(host));
    }
    return names;
}

/// The node asked for; else this host; else those that differ.
Result<std::vector<std::string>> chosen_nodes(const ChosenPattern& pattern,
                                              const PlanOptions& options) {
    const Config& config = pattern.config;
    if (!options.node.empty()) {
        if (config.topology.find_host(options.node)) return std::vector{options.node};
        return failure("--node: host \"{}\" is in no cluster of {}", options.node, config.file);
    }
    const std::string own = config.node.name.value_or(host_name());
    if (config.topology.find_host(own)) return std::vector{own};
    if (options.tc) {
        return failure("this host, \"{}\", is in no cluster of {}; name a node with --node", own,
                       config.file);
    }
    return different_hosts(pattern);
}

bool is_alltoall(const ChosenPattern& pattern) {
    return pattern.planned->name == "alltoall" && !pattern.measured;
}

Result<void> check(const ChosenPattern& pattern, const PlanOptions& options) {
    if (pattern.measured && !options.bytes.empty()) {
        return failure("--bytes: with --matrix the matrix says how much");
    }
    if (!options.rules.empty() && !is_alltoall(pattern)) {
        return failure("--rules: they are written for an all-to-all");
    }
    if (!options.tc) return {};
    for (const Cluster& cluster : pattern.config.topology.clusters()) {
        if (cluster.prefixes.empty()) {
            return failure("--tc: the prefixes of \"{}\" are not known", cluster.name);
        }
    }
    return {};
}

Result<std::optional<std::uint64_t>> message_size(const PlanOptions& options) {
    if (options.bytes.empty()) return std::nullopt;
    if (options.bytes.find(',') != std::string::npos || options.bytes.find("..") != std::string::npos)
        return failure("--bytes: a plan is of one size; headway predict takes {}", options.bytes);
    const auto bytes = parse_message_size(options.bytes);
    if (!bytes) return tl::unexpected(bytes.error());
    return std::optional(*bytes);
}

ModelProgress shown_by(Progress& progress) {
    return [&](std::uint64_t done, std::uint64_t all) { progress.show(done, all); };
}

/// The file; true if it could be written.
Result<bool> write_rules(const ChosenPattern& pattern, const PlanOptions& options,
                         std::optional<std::uint64_t> message_bytes, Progress& progress) {
    const auto rules = make_alltoall_rules(pattern, options.pattern.ranks_per_host, message_bytes,
                                           shown_by(progress));
    progress.erase();
    if (!rules) return tl::unexpected(rules.error());
    if (rules->replaced > 0) {
        fmt::print(stderr, "headway plan: for {} another algorithm would be faster than "
                           "what Open MPI has\n",
                   counted(rules->replaced, "size"));
    }
    return write_file(plan_verb, options.rules, rules->text);
}

}  // namespace

PlanCommand::PlanCommand(const CommandLine& line)
    : Command(line, plan_verb, "show the rates of a collective, and why") {
    const Verb& plan = verb();
    add_pattern_options(plan, options_.pattern);
    plan.add_option("--bytes", options_.bytes, "message size of a pair of ranks, such as 64KiB");
    plan.add_option("--node", options_.node, "whose classes are shown (default: this host)");
    plan.add_option("--rules", options_.rules,
                    "write Open MPI's rules for the best all-to-all to this file");
    const auto tc = plan.add_flag("--tc", options_.tc, "print the node's set-up as input of tc -batch");
    plan.add_flag("-j,--json", options_.json, "print JSON").excludes(tc);
}

ExitStatus PlanCommand::run() const {
    const auto pattern = choose_pattern(plan_verb, options_.pattern);
    if (!pattern) return ExitStatus::bad_config;
    const auto bytes = message_size(options_);
    if (!bytes) return tell(plan_verb, bytes.error(), ExitStatus::bad_config);
    if (const auto good = check(*pattern, options_); !good) {
        return tell(plan_verb, good.error(), ExitStatus::bad_config);
    }
    const auto nodes = chosen_nodes(*pattern, options_);
    if (!nodes) return tell(plan_verb, nodes.error(), ExitStatus::bad_config);

    const std::uint32_t ranks = options_.pattern.ranks_per_host;
    const SteadyClock clock;
    Progress progress(std::cerr, clock, is_terminal_stderr(), "planning");
    const auto shown = show_plan(*pattern, ranks, *bytes, *nodes);
    if (!shown) return tell(plan_verb, shown.error(), ExitStatus::failure);
    if (!options_.rules.empty()) {
        const auto written = write_rules(*pattern, options_, *bytes, progress);
        if (!written) return tell(plan_verb, written.error(), ExitStatus::failure);
        if (!*written) return ExitStatus::failure;
    }
    if (options_.tc) print_plan_tc(*shown, pattern->config);
    else if (options_.json) print_plan_json(*shown, pattern->config);
    else print_plan_text(*shown, pattern->config);
    return ExitStatus::ok;
}

std::unique_ptr<Command> plan_command(const CommandLine& line) {
    return std::make_unique<PlanCommand>(line);
}

}  // namespace headway
