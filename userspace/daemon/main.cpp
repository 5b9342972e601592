// SPDX-License-Identifier: Apache-2.0
// headwayd: command line and log.
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/sinks/systemd_sink.h>

#include "base/version.hpp"
#include "config/config.hpp"
#include "daemon/daemon.hpp"

namespace headway {
namespace {

/// One event is one line, whatever programs and kernels have put into its text.
class OneLineSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
public:
    explicit OneLineSink(spdlog::sink_ptr next) : next_(std::move(next)) {}

private:
    void sink_it_(const spdlog::details::log_msg& message) override {
        std::string text(message.payload.data(), message.payload.size());
        while (text.ends_with('\n')) text.pop_back();
        std::replace_if(text.begin(), text.end(), [](unsigned char c) { return std::iscntrl(c) != 0; },
                        ' ');
        spdlog::details::log_msg line = message;
        line.payload = text;
        next_->log(line);
    }
    void flush_() override { next_->flush(); }
    // the pattern is the next one's
    void set_pattern_(const std::string& pattern) override { next_->set_pattern(pattern); }
    void set_formatter_(std::unique_ptr<spdlog::formatter> formatter) override {
        next_->set_formatter(std::move(formatter));
    }

    spdlog::sink_ptr next_;
};

/// To the journal with priorities if systemd started us, else to stderr.
std::shared_ptr<spdlog::logger> make_log(bool foreground, bool verbose) {
    spdlog::sink_ptr sink;
    if (!foreground && std::getenv("JOURNAL_STREAM") != nullptr) {
        sink = std::make_shared<spdlog::sinks::systemd_sink_st>("headwayd");
    } else {
        sink = std::make_shared<spdlog::sinks::stderr_sink_st>();
        sink->set_pattern("%Y-%m-%d %H:%M:%S.%e headwayd[%P]: %l: %v");
    }
    auto log = std::make_shared<spdlog::logger>("headwayd", std::make_shared<OneLineSink>(sink));
    log->set_level(verbose ? spdlog::level::debug : spdlog::level::info);
    log->flush_on(spdlog::level::debug);
    return log;
}

int run(int argc, char** argv) {
    std::string file = config_default_path;
    bool check = false;
    bool foreground = false;
    bool keep = false;
    bool restore = false;
    bool verbose = false;

    CLI::App line("Paces the MPI traffic of this node; see headwayd(8).", "headwayd");
    line.set_version_flag("--version", fmt::format("headwayd {}", version));
    line.add_option("--config", file, "configuration file")->capture_default_str();
    line.add_flag("--check-config", check, "check the configuration and end");
    line.add_flag("--keep", keep, "at the end leave everything in force for the next run");
    line.add_flag("--restore", restore, "give the interface its default, unless a headwayd runs, and end")
        ->excludes("--keep");
    line.add_flag("--foreground", foreground, "log to stderr even under systemd");
    line.add_flag("--verbose", verbose, "log every client");
    try {
        line.parse(argc, argv);
    } catch (const CLI::ParseError& told) {  // of --help and --version, too
        return static_cast<int>(line.exit(told) == 0 ? ExitStatus::ok : ExitStatus::bad_config);
    }

    if (check) return static_cast<int>(check_config(file));
    auto config = load_config(file);
    if (!config) {
        report_config_errors(config.error());
        return static_cast<int>(ExitStatus::bad_config);
    }
    const auto log = make_log(foreground, verbose);
    if (restore) return static_cast<int>(restore_interface(std::move(*config), *log));
    return static_cast<int>(
        run_daemon(std::move(*config), keep ? AtTheEnd::keep : AtTheEnd::restore, *log));
}

}  // namespace
}  // namespace headway

int main(int argc, char** argv) { return headway::run(argc, argv); }
