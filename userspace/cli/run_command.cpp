// SPDX-License-Identifier: Apache-2.0
// headway run, headway record: an MPI job with libheadway-mpi.so preloaded.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <tl/expected.hpp>

#include "base/error.hpp"
#include "cli/command.hpp"
#include "cli/job_measurement.hpp"
#include "cli/mpi_launch.hpp"
#include "config/config.hpp"
#include "config/network_line.hpp"
#include "config/user_networks.hpp"
#include "formats/recording_json.hpp"
#include "job_start.hpp"

namespace headway {
namespace {

/// A verb that becomes the job's launcher, whose exit status is that of the
/// command; run() returns only if that fails.
class JobCommand : public Command {
public:
    [[nodiscard]] ExitStatus run() const override;

protected:
    JobCommand(const CommandLine& line, const std::string& name, const std::string& description);

    using Setting = std::pair<std::string, std::string>;
    /// Or with which status to end instead of starting the command; why has been told.
    using Settings = tl::expected<std::vector<Setting>, ExitStatus>;
    /// Of the ranks, besides what every job gets, "" of what they are not to have.  `preload`: the
    /// library's path.
    [[nodiscard]] virtual Settings settings(const std::string& preload) const = 0;
    [[nodiscard]] const std::vector<std::string>& command() const { return command_; }

private:
    std::vector<std::string> command_;
    std::string library_directory_;
};

class RunCommand final : public JobCommand {
public:
    explicit RunCommand(const CommandLine& line);

private:
    [[nodiscard]] Settings settings(const std::string& preload) const override;
    [[nodiscard]] tl::expected<void, ExitStatus> add_planner(std::vector<Setting>& settings,
                                                             const std::string& preload) const;
    [[nodiscard]] Result<std::string> known_network() const;
    [[nodiscard]] tl::expected<std::string, ExitStatus> network(const std::string& preload) const;

    std::string pattern_;
    std::string report_;
    std::string config_;
    std::string line_;
    bool measures_ = false;
    bool wants_planner_ = false;
    bool refuses_planner_ = false;
};

class RecordCommand final : public JobCommand {
public:
    explicit RecordCommand(const CommandLine& line);

private:
    [[nodiscard]] Settings settings(const std::string& preload) const override;

    std::string recording_ = "headway-recording.json";
};

namespace fs = std::filesystem;

/// The library works with any MPI library; it does nothing in other programs, so launchers and
/// shells may have it, too.
constexpr const char* preload_name = "libheadway-mpi.so";
constexpr const char* agent_name = "libheadway-agent.so";  ///< beside it

ExitStatus refuse(const std::string& sentence) {
    fmt::print(stderr, "headway: {}\n", sentence);
    return ExitStatus::bad_config;
}

/// Looks for the library beside this program, as it was built or as it was installed.
std::optional<fs::path> find_library(const std::string& directory) {
    std::error_code error;
    std::vector<fs::path> places;
    if (!directory.empty()) {
        places.emplace_back(directory);
    } else {
        const fs::path prefix = fs::read_symlink("/proc/self/exe", error).parent_path().parent_path();
        places = {prefix / "lib", prefix / HEADWAY_LIBRARY_DIRECTORY};
    }
    for (const fs::path& place : places) {
        fs::path file = fs::absolute(place / preload_name, error);
        if (fs::exists(file, error)) return file;
    }
    return std::nullopt;
}

/// After what is preloaded already: a tool wants to see the program's calls first.
std::string preload_value(const fs::path& library) {
    const char* own = std::getenv("LD_PRELOAD");
    return own != nullptr && *own != '\0' ? fmt::format("{}:{}", own, library.string())
                                          : library.string();
}

/// Names the settings that must be the same in every rank, wherever it runs.
std::vector<std::string> own_settings() {
    std::vector<std::string> names;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view setting(*entry);
        const std::string_view name = setting.substr(0, setting.find('='));
        if (name == "HEADWAY" || name.substr(0, 8) == "HEADWAY_") names.emplace_back(name);
    }
    return names;
}

/// Why a file could not be written at the end of the job, whose result would be lost; "": it can be.
std::string why_not_writable(const fs::path& file) {
    std::error_code error;
    const fs::path folder = fs::absolute(file, error).parent_path();
    if (fs::is_directory(file, error)) return "it is a folder; name a file in it";
    if (::access(folder.c_str(), W_OK) != 0) return fmt::format("{}: {}", folder.string(), std::strerror(errno));
    if (::access(file.c_str(), F_OK) == 0 && ::access(file.c_str(), W_OK) != 0) return std::strerror(errno);
    return "";
}

ExitStatus become(const std::vector<std::string>& command) {
    std::vector<char*> words;
    for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    ::execvp(words.front(), words.data());
    const int reason = errno;
    fmt::print(stderr, "headway: {}: {}\n", command.front(), std::strerror(reason));
    return reason == ENOENT ? ExitStatus::no_command : ExitStatus::cannot_execute;
}

}  // namespace

JobCommand::JobCommand(const CommandLine& line, const std::string& name, const std::string& description)
    : Command(line, name, description) {
    verb().add_command(command_, "the job's command and its words").required();
    verb().add_option("--library-dir", library_directory_,
                      fmt::format("where {} is", preload_name));
}

ExitStatus JobCommand::run() const {
    const auto library = find_library(library_directory_);
    if (!library) return refuse(fmt::format("there is no {}; see --library-dir", preload_name));
    const auto of_verb = settings(library->string());
    if (!of_verb) return of_verb.error();
    for (const auto& [name, value] : *of_verb) {
        value.empty() ? ::unsetenv(name.c_str()) : ::setenv(name.c_str(), value.c_str(), 1);
    }
    ::setenv("LD_PRELOAD", preload_value(*library).c_str(), 1);
    if (!is_open_mpi_launcher(command_.front())) return become(command_);
    std::vector<std::string> names = own_settings();
    names.emplace_back("LD_PRELOAD");
    return become(handing_on(command_, names));
}

RunCommand::RunCommand(const CommandLine& line) : JobCommand(line, "run", "run an MPI job, paced") {
    verb().add_option("--pattern", pattern_, "a recording, by which the job is paced");
    verb().add_option("--report", report_,
                      "at the end tell what the collectives did: summary, or a file that ends in .json");
    const auto config =
        verb().add_option("-c,--config", config_,
                          "the network, for nodes without headwayd: a headway.toml; default: the "
                          "user's own, or what headway measure has found between the hosts");
    const auto as_line = verb().add_option(
        "--network", line_, "the same as a line: \"a[0-7] 1gbit | b[0-7] 1gbit : 2.5gbit\"");
    as_line.excludes(config);
    const auto measure =
        verb().add_flag("--measure", measures_,
                        "find out what the network between the job's hosts is, before it begins");
    measure.excludes(config).excludes(as_line);
    const auto user = verb().add_flag("--user", wants_planner_, "fail where no network is described");
    verb()
        .add_flag("--no-user", refuses_planner_, "do not pace where no node has headwayd")
        .excludes(user)
        .excludes(config)
        .excludes(measure)
        .excludes(as_line);
}

/// Returns the network that the ranks' planner is told; "" if none is known.
Result<std::string> RunCommand::known_network() const {
    if (!line_.empty()) {
        // the nodes' planner looks at their cards
        const auto read = parse_network_line(line_, [] { return rate_max; });
        return read ? Result<std::string>(line_) : tl::unexpected(read.error().within("--network"));
    }
    std::error_code error;
    const auto own = config_.empty() ? user_config_file() : std::optional(fs::path(config_));
    if (own && (!config_.empty() || fs::exists(*own, error))) {
        if (const auto read = load_config(*own, PrefixesAre::optional); !read) {
            report_config_errors(read.error());
            return failure("{} is not used: it has mistakes", own->string());
        }
        return fs::absolute(*own, error).string();
    }
    const auto measured = user_networks_folder();
    return measured && fs::exists(*measured, error) ? measured->string() : "";
}

/// Returns known_network(), or what --measure finds out.  The job runs in spite of a mistake in
/// something that the user did not ask for, and of a measurement that fails.
tl::expected<std::string, ExitStatus> RunCommand::network(const std::string& preload) const {
    Result<std::string> found("");
    bool is_asked_for = wants_planner_;
    if (measures_) {
        if (is_rank() || !is_launcher(command().front())) {
            return tl::unexpected(refuse(
                "--measure: the command has to be the job's launcher, such as mpirun or srun"));
        }
        const auto done =
            measure_job(command(), (fs::path(preload).parent_path() / agent_name).string());
        if (done && done->job_status)
            return tl::unexpected(static_cast<ExitStatus>(*done->job_status));
        if (done)
            found = done->network;
        else
            found = failure("--measure: nothing is measured: {}", done.error().message);
    } else {
        is_asked_for |= !config_.empty() || !line_.empty();
        found = known_network();
        if (found && found->empty() && wants_planner_) {
            found = failure(
                "--user: no network is described; say --network or --config, or let --measure find "
                "out what it is");
        }
    }
    if (found) return std::move(*found);
    const ExitStatus status = refuse(found.error().message);
    if (is_asked_for) return tl::unexpected(status);
    return "";
}

/// By which the ranks pace themselves where no node has a daemon.
tl::expected<void, ExitStatus> RunCommand::add_planner(std::vector<Setting>& settings,
                                                       const std::string& preload) const {
    std::string planner, network_or_none;
    if (!refuses_planner_) {
        auto known = network(preload);
        if (!known) return tl::unexpected(known.error());
        std::error_code error;
        planner = fs::read_symlink("/proc/self/exe", error).string();
        network_or_none = std::move(*known);
    }
    settings.emplace_back("HEADWAY_PLANNER", std::move(planner));
    settings.emplace_back("HEADWAY_NETWORK", std::move(network_or_none));
    return {};
}

JobCommand::Settings RunCommand::settings(const std::string& preload) const {
    glue::Complaints complaints;
    std::uint64_t start = glue::read_job_start(complaints);
    if (!complaints.empty()) {
        return tl::unexpected(refuse(complaints.front() + "; unset it, and a number is drawn"));
    }
    // one for all that is started here, unless who started this has drawn it
    if (start == 0) start = glue::draw_job_start();
    std::vector<Setting> settings;
    if (start != 0) settings.emplace_back(glue::job_start_variable, fmt::format("{}", start));
    if (const auto added = add_planner(settings, preload); !added)
        return tl::unexpected(added.error());
    if (report_ == "summary") {
        settings.emplace_back("HEADWAY_REPORT", report_);
    } else if (report_.ends_with(".json")) {
        if (const auto why = why_not_writable(report_); !why.empty())
            return tl::unexpected(refuse(fmt::format("--report {}: cannot be written: {}", report_, why)));
        settings.emplace_back("HEADWAY_REPORT", fs::absolute(report_).string());
    } else if (!report_.empty()) {
        return tl::unexpected(refuse(
            fmt::format("--report {}: expected summary, or a file that ends in .json", report_)));
    }
    if (pattern_.empty()) return settings;
    const auto text = read_text_file(pattern_, data_file_max_bytes);
    const auto read = text ? read_recording_json(*text, pattern_)
                           : FileResult<Recording>(tl::unexpected(text.error()));
    if (!read) return tl::unexpected(refuse(read.error().front().to_string()));
    settings.emplace_back("HEADWAY_PATTERN", fs::absolute(pattern_).string());
    return settings;
}

RecordCommand::RecordCommand(const CommandLine& line)
    : JobCommand(line, "record", "run an MPI job and store who sends how much to whom") {
    verb().add_option("-o,--output", recording_, "the recording").shows_default();
}

JobCommand::Settings RecordCommand::settings(const std::string&) const {
    if (const auto why = why_not_writable(recording_); !why.empty())
        return tl::unexpected(refuse(fmt::format("--output {}: cannot be written: {}", recording_, why)));
    return std::vector{Setting{"HEADWAY_RECORD", fs::absolute(recording_).string()}};
}

std::unique_ptr<Command> run_command(const CommandLine& line) {
    return std::make_unique<RunCommand>(line);
}

std::unique_ptr<Command> record_command(const CommandLine& line) {
    return std::make_unique<RecordCommand>(line);
}

}  // namespace headway
