// SPDX-License-Identifier: MIT
// The library preloaded into a program of the other MPI library.  The two have
// handles of different sizes, so that passing calls through is not possible: the
// program is started anew without it, before it has begun.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <string>
#include <string_view>

#include "mpi_library.hpp"
#include "notice.hpp"
#include "settings.hpp"

namespace headway::glue {
namespace {

/// A symbol that only the other library has.
constexpr const char* symbol_of_other = is_open_mpi ? "MPIR_Err_create_code" : "ompi_mpi_comm_world";
constexpr std::string_view own_name = is_open_mpi ? "libheadway-ompi.so" : "libheadway-mpich.so";

bool is_own(std::string_view path) {
    return path.size() >= own_name.size() && path.substr(path.size() - own_name.size()) == own_name;
}

/// LD_PRELOAD without us; false: we are not in it.
bool leave_preload() {
    const char* value = std::getenv("LD_PRELOAD");
    if (value == nullptr) return false;
    std::string others;
    bool found = false;
    for (std::string_view rest(value); !rest.empty();) {
        const std::size_t end = std::min(rest.find_first_of(": "), rest.size());
        const std::string_view entry = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        if (is_own(entry)) {
            found = true;
        } else if (!entry.empty()) {
            others += (others.empty() ? "" : ":") + std::string(entry);
        }
    }
    if (!found) return false;
    return (others.empty() ? ::unsetenv("LD_PRELOAD")
                           : ::setenv("LD_PRELOAD", others.c_str(), 1)) == 0;
}

/// glibc hands constructors what it hands main().
__attribute__((constructor)) void make_way(int, char** arguments, char**) {
    if (::dlsym(RTLD_DEFAULT, symbol_of_other) == nullptr) return;
    std::string program(PATH_MAX, '\0');
    const ssize_t size = ::readlink("/proc/self/exe", program.data(), program.size() - 1);
    if (size <= 0 || !leave_preload()) return;
    program.resize(static_cast<std::size_t>(size));
    if (read_settings().enabled && launched_first())
        say("not pacing: " + std::string(own_name) + " is for " + std::string(library_for_people) +
            ", the program uses another MPI library; HEADWAY=off says nothing");
    ::execv(program.c_str(), arguments);
}

}  // namespace
}  // namespace headway::glue
