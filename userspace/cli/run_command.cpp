// SPDX-License-Identifier: Apache-2.0
#include "cli/run_command.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

#include <fmt/core.h>

#include "cli/mpi_launch.hpp"
#include "config/config.hpp"
#include "job_start.hpp"
#include "study/recording_json.hpp"

namespace headway {
namespace {

namespace fs = std::filesystem;

/// For any MPI library; it does nothing in other programs, so launchers and shells may
/// have it, too.
constexpr const char* preload_name = "libheadway-mpi.so";

ExitStatus refuse(const std::string& sentence) {
    fmt::print(stderr, "headway: {}\n", sentence);
    return ExitStatus::bad_config;
}

/// Beside this program as it was built or installed.
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

/// Of the settings that must be the same in every rank, wherever it runs.
std::vector<std::string> own_settings() {
    std::vector<std::string> names;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view setting(*entry);
        const std::string_view name = setting.substr(0, setting.find('='));
        if (name == "HEADWAY" || name.substr(0, 8) == "HEADWAY_") names.emplace_back(name);
    }
    return names;
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
    verb().add_option("command", command_, "the job's command, after --").required();
    verb().add_option("--library-dir", library_directory_,
                      fmt::format("where {} is", preload_name));
}

ExitStatus JobCommand::run() const {
    const auto library = find_library(library_directory_);
    if (!library) return refuse(fmt::format("there is no {}; see --library-dir", preload_name));
    const auto of_verb = settings();
    if (!of_verb) return ExitStatus::bad_config;
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
    const auto config = verb().add_option("--config", network_, "the network, for nodes without headwayd; default: "
                                                                "~/.config/headway/headway.toml, if it is there");
    const auto user = verb().add_flag("--user", wants_planner_, "fail where no network is described");
    verb().add_flag("--no-user", refuses_planner_, "do not pace where no node has headwayd").excludes(user).excludes(config);
}

namespace {

/// The user's own; "": there is none.
std::string own_network() {
    const char* const folder = std::getenv("XDG_CONFIG_HOME");
    const char* const home = std::getenv("HOME");
    fs::path file;
    if (folder != nullptr && *folder != '\0') file = fs::path(folder);
    else if (home != nullptr && *home != '\0') file = fs::path(home) / ".config";
    else return "";
    file = file / "headway" / "headway.toml";
    std::error_code error;
    return fs::exists(file, error) ? file.string() : "";
}

}  // namespace

/// By which the ranks pace themselves where no node has a daemon.  False on a mistake, which has been told: one in a file
/// that was not asked for does not keep the job from running.
bool RunCommand::add_planner(std::vector<Setting>& settings) const {
    settings.emplace_back("HEADWAY_PLANNER", "");
    settings.emplace_back("HEADWAY_NETWORK", "");
    if (refuses_planner_) return true;
    const bool is_asked_for = wants_planner_ || !network_.empty();
    const std::string file = network_.empty() ? own_network() : network_;
    if (file.empty()) {
        if (is_asked_for) refuse("--user: no network is described; name a file with --config FILE, or put it at ~/.config/headway/headway.toml");
        return !is_asked_for;
    }
    if (const auto config = load_config(file, PrefixesAre::optional); !config) {
        report_config_errors(config.error());
        if (!is_asked_for) fmt::print(stderr, "headway: without {}, where no node has headwayd nothing is paced\n", file);
        return !is_asked_for;
    }
    std::error_code error;
    settings.emplace_back("HEADWAY_PLANNER", fs::read_symlink("/proc/self/exe", error).string());
    settings.emplace_back("HEADWAY_NETWORK", fs::absolute(file, error).string());
    return true;
}

std::optional<std::vector<JobCommand::Setting>> RunCommand::settings() const {
    glue::Complaints complaints;
    std::uint64_t start = glue::read_job_start(complaints);
    if (!complaints.empty()) {
        refuse(complaints.front() + "; unset it, and a number is drawn");
        return std::nullopt;
    }
    // one for all that is started here, unless who started this has drawn it
    if (start == 0) start = glue::draw_job_start();
    std::vector<Setting> settings;
    if (start != 0) settings.emplace_back(glue::job_start_variable, fmt::format("{}", start));
    if (!add_planner(settings)) return std::nullopt;
    if (report_ == "summary") {
        settings.emplace_back("HEADWAY_REPORT", report_);
    } else if (report_.ends_with(".json")) {
        settings.emplace_back("HEADWAY_REPORT", fs::absolute(report_).string());
    } else if (!report_.empty()) {
        refuse(fmt::format("--report {}: expected summary, or a file that ends in .json", report_));
        return std::nullopt;
    }
    if (pattern_.empty()) return settings;
    const auto text = read_text_file(pattern_, data_file_max_bytes);
    const auto read = text ? read_recording_json(*text, pattern_)
                           : FileResult<Recording>(tl::unexpected(text.error()));
    if (!read) {
        refuse(read.error().front().to_string());
        return std::nullopt;
    }
    settings.emplace_back("HEADWAY_PATTERN", fs::absolute(pattern_).string());
    return settings;
}

RecordCommand::RecordCommand(const CommandLine& line)
    : JobCommand(line, "record", "run an MPI job and store who sends how much to whom") {
    verb().add_option("-o,--output", recording_, "the recording").shows_default();
}

std::optional<std::vector<JobCommand::Setting>> RecordCommand::settings() const {
    return std::vector{Setting{"HEADWAY_RECORD", fs::absolute(recording_).string()}};
}

}  // namespace headway
