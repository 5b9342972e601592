// SPDX-License-Identifier: Apache-2.0
#include "cli/mpi_launch.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <string_view>

namespace headway {
namespace {

namespace fs = std::filesystem;

bool is_file(const fs::path& path) {
    std::error_code error;
    return fs::is_regular_file(path, error);
}

/// Finds the program as execvp does; returns the word itself where it finds nothing.
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

}  // namespace

// The end of a chain of links tells the launcher: it is orterun in Open MPI 4, and mpiexec.hydra in
// MPICH.  Open MPI 5 has a program mpirun of its own, beside its ompi_info, and Debian calls it
// mpirun.openmpi; PRRTE's are links to prte.
bool is_open_mpi_launcher(const std::string& word) {
    std::error_code error;
    const fs::path file = fs::canonical(find_program(word), error);
    if (error) return false;
    const std::string name = file.filename().string();
    constexpr std::array open_mpis{"orterun", "prte", "prterun", "prun", "mpirun.openmpi", "mpiexec.openmpi"};
    if (std::find(open_mpis.begin(), open_mpis.end(), name) != open_mpis.end()) return true;
    return (name == "mpirun" || name == "mpiexec") && is_file(file.parent_path() / "ompi_info");
}

bool is_launcher(const std::string& word) {
    if (is_open_mpi_launcher(word)) return true;
    std::error_code error;
    const fs::path found = find_program(word);
    const fs::path file = fs::canonical(found, error);
    const std::string name = (error ? found : file).filename().string();
    constexpr std::array others{"mpiexec.hydra", "mpirun", "mpiexec", "srun"};
    return std::find(others.begin(), others.end(), name) != others.end();
}

std::vector<std::string> handing_on(const std::vector<std::string>& command,
                                    const std::vector<std::string>& names) {
    std::vector<std::string> changed;
    for (const std::string& word : command) {
        changed.push_back(word);
        // -x is for one of the programs between ':'
        if (changed.size() != 1 && word != ":") continue;
        for (const std::string& name : names) changed.insert(changed.end(), {"-x", name});
    }
    return changed;
}

}  // namespace headway
