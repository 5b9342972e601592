// SPDX-License-Identifier: Apache-2.0
// headwayd: command line and log.
#include <cstdlib>
#include <memory>
#include <string>

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/sinks/systemd_sink.h>

#include "base/command_line.hpp"
#include "base/version.hpp"
#include "config/config.hpp"
#include "daemon/daemon.hpp"

namespace headway {
namespace {

/// To the journal with priorities if systemd started us, else to stderr.
std::shared_ptr<spdlog::logger> make_log(bool foreground, bool verbose) {
    spdlog::sink_ptr sink;
    if (!foreground && std::getenv("JOURNAL_STREAM") != nullptr) {
        sink = std::make_shared<spdlog::sinks::systemd_sink_st>("headwayd");
    } else {
        sink = std::make_shared<spdlog::sinks::stderr_sink_st>();
        sink->set_pattern("%Y-%m-%d %H:%M:%S.%e headwayd[%P]: %l: %v");
    }
    auto log = std::make_shared<spdlog::logger>("headwayd", sink);
    log->set_level(verbose ? spdlog::level::debug : spdlog::level::info);
    log->flush_on(spdlog::level::debug);
    return log;
}

int run(int argc, char** argv) {
    std::string file = config_default_path;
    bool check = false, foreground = false, keep = false, restore = false, verbose = false;

    const CommandLine line("headwayd", "Paces the MPI traffic of this node; see headwayd(8).", version);
    const Verb program = line.program();
    program.add_option("--config", file, "configuration file").shows_default();
    program.add_flag("--check-config", check, "check the configuration and end");
    program.add_flag("--keep", keep, "at the end leave everything in force for the next run");
    program.add_flag("--restore", restore, "give the interface its default, unless a headwayd runs, and end")
        .excludes("--keep");
    program.add_flag("--foreground", foreground, "log to stderr even under systemd");
    program.add_flag("--verbose", verbose, "log every client");
    if (const auto status = line.read({argv + 1, argv + argc})) return static_cast<int>(*status);

    if (check) return static_cast<int>(check_config(file));
    auto config = load_config(file);
    if (!config) {
        report_config_errors(config.error());
        return static_cast<int>(ExitStatus::bad_config);
    }
    const auto log = make_log(foreground, verbose);
    const Task task = restore ? Task::restore : keep ? Task::pace_and_keep : Task::pace;
    return static_cast<int>(run_daemon(std::move(*config), task, *log));
}

}  // namespace
}  // namespace headway

int main(int argc, char** argv) { return headway::run(argc, argv); }
