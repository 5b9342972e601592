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
#include "formats/recording_json.hpp"

namespace headway {
namespace {

namespace fs = std::filesystem;

ExitStatus refuse(const std::string& sentence) {
    fmt::print(stderr, "headway: {}\n", sentence);
    return ExitStatus::bad_config;
}

/// Beside this program as it was built or installed.
std::optional<fs::path> find_library(const std::string& directory, const std::string& name) {
    std::error_code error;
    std::vector<fs::path> places;
    if (!directory.empty()) {
        places.emplace_back(directory);
    } else {
        const fs::path prefix = fs::read_symlink("/proc/self/exe", error).parent_path().parent_path();
        places = {prefix / "lib", prefix / HEADWAY_LIBRARY_DIRECTORY};
    }
    for (const fs::path& place : places) {
        fs::path file = fs::absolute(place / name, error);
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

/// What must be the same in every rank, wherever it runs.
void add_own_settings(Environment& environment) {
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view setting(*entry);
        const std::size_t end = setting.find('=');
        if (end == std::string_view::npos) continue;
        const std::string_view name = setting.substr(0, end);
        if (name == "HEADWAY" || name.substr(0, 8) == "HEADWAY_")
            environment.emplace_back(name, setting.substr(end + 1));
    }
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
                      "where libheadway-ompi.so and libheadway-mpich.so are");
}

ExitStatus JobCommand::run() const {
    const MpiLaunch launch = inspect_launch(command_);
    if (launch.library == MpiLibrary::unknown)
        return refuse("neither the launcher nor the program is one of Open MPI or MPICH");
    const std::string name = helper_file_name(launch.library);
    const auto library = find_library(library_directory_, name);
    if (!library) return refuse(fmt::format("there is no {}; see --library-dir", name));

    Environment environment;
    add_own_settings(environment);
    environment.emplace_back("LD_PRELOAD", preload_value(*library));
    const auto own = own_setting();
    if (!own) return ExitStatus::bad_config;
    if (!own->first.empty()) environment.push_back(*own);
    if (launch.launcher == MpiLauncher::other) {
        for (const auto& [variable, value] : environment)
            ::setenv(variable.c_str(), value.c_str(), 1);
    }
    return become(with_environment(command_, launch.launcher, environment));
}

RunCommand::RunCommand(const CommandLine& line) : JobCommand(line, "run", "run an MPI job, paced") {
    verb().add_option("--pattern", pattern_, "a recording, by which the job is paced");
}

std::optional<JobCommand::Setting> RunCommand::own_setting() const {
    if (pattern_.empty()) return Setting{};
    const auto text = read_text_file(pattern_, data_file_max_bytes);
    const auto read = text ? read_recording_json(*text, pattern_)
                           : FileResult<Recording>(tl::unexpected(text.error()));
    if (!read) {
        refuse(read.error().front().to_string());
        return std::nullopt;
    }
    return Setting{"HEADWAY_PATTERN", fs::absolute(pattern_).string()};
}

RecordCommand::RecordCommand(const CommandLine& line)
    : JobCommand(line, "record", "run an MPI job and store who sends how much to whom") {
    verb().add_option("-o,--output", recording_, "the recording").shows_default();
}

std::optional<JobCommand::Setting> RecordCommand::own_setting() const {
    return Setting{"HEADWAY_RECORD", fs::absolute(recording_).string()};
}

}  // namespace headway
