// SPDX-License-Identifier: Apache-2.0
#include "cli/mpi_launch.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "cli/elf_needed.hpp"

namespace headway {
namespace {

namespace fs = std::filesystem;

bool is_file(const fs::path& path) {
    std::error_code error;
    return fs::is_regular_file(path, error);
}

/// As execvp searches; the word itself where it finds nothing.
fs::path find_program(const std::string& word) {
    if (word.find('/') != std::string::npos) return word;
    const char* value = std::getenv("PATH");
    std::string_view rest = value != nullptr ? value : "/usr/bin:/bin";
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find(':'), rest.size());
        const fs::path candidate = fs::path(rest.substr(0, end)) / word;
        if (is_file(candidate)) return candidate;
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return word;
}

bool starts_with_any(const std::string& text, std::initializer_list<std::string_view> beginnings) {
    return std::any_of(beginnings.begin(), beginnings.end(), [&](std::string_view beginning) {
        return text.compare(0, beginning.size(), beginning) == 0;
    });
}

MpiLauncher launcher_of(const fs::path& program) {
    std::error_code error;
    const fs::path file = fs::canonical(program, error);
    const std::string name = error ? program.filename().string() : file.filename().string();
    if (name.find("hydra") != std::string::npos) return MpiLauncher::hydra;
    if (starts_with_any(name, {"orterun", "prterun", "prun"})) return MpiLauncher::open_mpi;
    for (const std::string& library : elf_needed(file)) {
        if (starts_with_any(library, {"libopen-rte.so", "libprrte.so"}))
            return MpiLauncher::open_mpi;
    }
    return MpiLauncher::other;
}

// MPICH's own builds and others of its ABI call it libmpi.so.12, Open MPI's have
// other numbers.
MpiLibrary library_of(const fs::path& program) {
    for (const std::string& library : elf_needed(program)) {
        if (starts_with_any(library, {"libmpich", "libmpi.so.12", "libmpifort.so.12"}))
            return MpiLibrary::mpich;
        if (starts_with_any(library, {"libmpi.so", "libmpi_mpifh.so", "libmpi_usempi"}))
            return MpiLibrary::open_mpi;
    }
    return MpiLibrary::unknown;
}

MpiLibrary library_of(MpiLauncher launcher) {
    if (launcher == MpiLauncher::open_mpi) return MpiLibrary::open_mpi;
    if (launcher == MpiLauncher::hydra) return MpiLibrary::mpich;
    return MpiLibrary::unknown;
}

std::vector<std::string> as_options(MpiLauncher launcher, const Environment& environment) {
    std::vector<std::string> options;
    for (const auto& [name, value] : environment) {
        if (launcher == MpiLauncher::open_mpi) {
            options.insert(options.end(), {"-x", name + "=" + value});
        } else {
            options.insert(options.end(), {"-genv", name, value});
        }
    }
    return options;
}

}  // namespace

MpiLaunch inspect_launch(const std::vector<std::string>& command) {
    MpiLaunch launch;
    if (command.empty()) return launch;
    launch.launcher = launcher_of(find_program(command.front()));
    for (const std::string& word : command) {
        launch.library = library_of(find_program(word));
        if (launch.library != MpiLibrary::unknown) return launch;
    }
    launch.library = library_of(launch.launcher);
    return launch;
}

std::string helper_file_name(MpiLibrary library) {
    return library == MpiLibrary::mpich ? "libheadway-mpich.so" : "libheadway-ompi.so";
}

std::vector<std::string> with_environment(const std::vector<std::string>& command,
                                          MpiLauncher launcher, const Environment& environment) {
    if (launcher == MpiLauncher::other || command.empty()) return command;
    const auto options = as_options(launcher, environment);
    std::vector<std::string> changed;
    for (const std::string& word : command) {
        changed.push_back(word);
        // Open MPI's -x is for one of the programs between ':'
        if (changed.size() == 1 || (word == ":" && launcher == MpiLauncher::open_mpi))
            changed.insert(changed.end(), options.begin(), options.end());
    }
    return changed;
}

}  // namespace headway
