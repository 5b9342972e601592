// SPDX-License-Identifier: Apache-2.0
// headway: the command line for administrators; see headway(1).
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/eval_command.hpp"
#include "cli/fit_command.hpp"
#include "cli/plan_command.hpp"
#include "cli/predict_command.hpp"
#include "cli/status_command.hpp"
#include "cli/topology_command.hpp"
#include "daemon/config.hpp"
#include "daemon/config_report.hpp"
#include "daemon/limits.hpp"
#include "daemon/version.hpp"

namespace headway {
namespace {

int to_int(ExitStatus status) { return static_cast<int>(status); }

void add_config_option(CLI::App& app, std::string& file) {
    app.add_option("--config", file, "configuration file")->default_str(config_default_path);
}

int run(int argc, char** argv) {
    CLI::App app("Shows what Headway does and would do.", "headway");
    app.require_subcommand(1);
    app.set_version_flag("--version", fmt::format("headway {}", version));

    PlanOptions plan_options;
    plan_options.config = config_default_path;
    std::uint64_t message_bytes = 0;
    bool plan_json = false;
    bool plan_tc = false;
    auto* plan = app.add_subcommand("plan", "show the rates of an all-to-all, and why");
    add_config_option(*plan, plan_options.config);
    plan->add_option("--hosts", plan_options.hosts, "who takes part: lists such as a[0-3],b[0-3], "
                     "or all")->default_str("all");
    auto* bytes = plan->add_option("--bytes", message_bytes, "message size of a pair of ranks");
    plan->add_option("--ranks-per-host", plan_options.ranks_per_host, "ranks on each host")
        ->check(CLI::Range(1U, ranks_per_host_max));
    plan->add_option("--what-if", plan_options.what_if,
                     "plan another network: trunk=20gbit, host@a=1gbit, trunk_buffer=1MiB, "
                     "delay=5ms; may be repeated");
    plan->add_option("--node", plan_options.node, "whose classes are shown (default: this host)");
    auto* tc = plan->add_flag("--tc", plan_tc, "print the node's set-up as input of tc -batch");
    plan->add_flag("--json", plan_json, "print JSON")->excludes(tc);

    PredictOptions predict_options;
    predict_options.config = config_default_path;
    std::string predict_over = "bytes";
    auto* predict = app.add_subcommand("predict", "predict the time of a collective");
    add_config_option(*predict, predict_options.config);
    predict->add_option("--operation", predict_options.operation,
                        "alltoall, allgather, gather, scatter, bcast or reduce")
        ->default_str("alltoall");
    predict->add_option("--hosts", predict_options.hosts, "who takes part, as for plan")
        ->default_str("all");
    predict->add_option("--root", predict_options.root,
                        "the root's host (default: one of the first cluster that takes part)");
    predict->add_option("--bytes", predict_options.bytes,
                        "message sizes of a pair of ranks: 64KiB, or 1KiB..1MiB for powers of two")
        ->default_str("64KiB");
    predict->add_option("--over", predict_over, "x axis of the picture: bytes, or hosts of each "
                        "cluster")->check(CLI::IsMember({"bytes", "hosts"}));
    predict->add_option("--ranks-per-host", predict_options.ranks_per_host, "ranks on each host")
        ->check(CLI::Range(1U, ranks_per_host_max));
    predict->add_option("--what-if", predict_options.what_if, "predict another network, as for plan");
    predict->add_option("--svg", predict_options.svg, "write a picture to this file");
    predict->add_flag("--json", predict_options.json, "print JSON");

    FitOptions fit_options;
    auto* fit = app.add_subcommand("fit", "find a model's parameters in measurements");
    fit->add_option("model", fit_options.model, "contention, manytoone or plogpt")->required();
    fit->add_option("file", fit_options.file, "measurements, CSV or JSON")->required();
    fit->add_option("--processes", fit_options.processes,
                    "of the measured collective; of a many-to-one the sources");
    fit->add_option("--alpha", fit_options.startup_s, "start-up of a message, s; C of a source");
    fit->add_option("--beta", fit_options.per_byte_s, "s per byte; t of a source");
    fit->add_option("--rate", fit_options.rate_bytes_per_s, "bytes/s of a path of a many-to-one");
    fit->add_option("--threshold", fit_options.threshold_bytes,
                    "M of a contention signature, bytes (default: chosen)");
    fit->add_option("--svg", fit_options.svg, "write a picture to this file");
    fit->add_flag("--json", fit_options.json, "print JSON");

    StatusOptions status_options;
    status_options.config = config_default_path;
    auto* status = app.add_subcommand("status", "show what the running headwayd does");
    add_config_option(*status, status_options.config);
    status->add_option("--socket", status_options.socket,
                       "control socket (default: as the configuration says)");
    status->add_flag("--json", status_options.json, "print JSON");

    std::string checked_file;
    auto* check = app.add_subcommand("check-config", "tell every mistake in a configuration file");
    check->add_option("file", checked_file, "the file")->required();

    std::vector<std::string> eval_files;
    auto* eval = app.add_subcommand("eval", "answer questions to the models, a JSON line each");
    eval->add_option("file", eval_files, "files of lines (default: standard input)");

    const TopologyCommand topology(app);

    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {  // CLI11 knows no other way
        return app.exit(error) == 0 ? 0 : to_int(ExitStatus::bad_config);
    }
    if (*plan) {
        if (*bytes) plan_options.message_bytes = message_bytes;
        plan_options.format = plan_tc     ? PlanFormat::tc
                              : plan_json ? PlanFormat::json
                                          : PlanFormat::text;
        return to_int(plan_command(plan_options));
    }
    if (*predict) {
        predict_options.over_hosts = predict_over == "hosts";
        return to_int(predict_command(predict_options));
    }
    if (*fit) return to_int(fit_command(fit_options));
    if (*status) return to_int(status_command(status_options));
    if (topology.is_chosen()) return to_int(topology.run());
    if (*eval) return to_int(eval_command(eval_files));
    return to_int(check_config(checked_file));
}

}  // namespace
}  // namespace headway

int main(int argc, char** argv) { return headway::run(argc, argv); }
