// SPDX-License-Identifier: MIT
#include "library_environment.hpp"

#include <dlfcn.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "environment.hpp"
#include "mpi_library.hpp"

namespace headway::glue {
namespace {

// The sender of a message above the eager limit, with PUT, sends a header only and waits for the
// receiver's request, which queues behind the receiver's own data in the same TCP stream: the two
// halves of an exchange take turns.  Pacing makes the wait longer.  Without RDMA for a request
// there is no PUT.
constexpr const char* rdma_variable = "OMPI_MCA_pml_ob1_max_rdma_per_request";
constexpr const char* no_rdma = "0";

// A message of 64 KiB, with its header, is just above Open MPI's eager limit of
// 65536 bytes: all but its last few bytes go at once, and these follow a round trip
// later, when the receiver has asked for them.  This is btl_tcp_max_send_size, the
// largest fragment, by its default.
constexpr const char* eager_limit_variable = "OMPI_MCA_btl_tcp_eager_limit";
constexpr const char* eager_limit_bytes = "131072";
constexpr const char* largest_fragment_variable = "OMPI_MCA_btl_tcp_max_send_size";

// Open MPI finds out where a rank is before its first message to it, and Open MPI 5 sleeps for 0.1 ms and more
// meanwhile.  In the middle of a job's first exchange the ranks get out of step by that, and messages that were
// to follow each other meet at a switch's port.  In jobs of fewer ranks than this it does so in MPI_Init.
constexpr const char* known_ranks_variable = "OMPI_MCA_mpi_add_procs_cutoff";
constexpr const char* known_ranks = "1024";

// As the eager limit, of MPICH, which sends through UCX: its rendezvous waits for a request that
// queues behind the receiver's own data.  Messages of less than this go without asking;
// the receiver keeps what comes before its receive, however many they are, so the size has to be small.
constexpr const char* rendezvous_variable = "UCX_RNDV_THRESH";
constexpr const char* rendezvous_from = "128k";
// From 1.17 on UCX can be told so of other nodes alone, and what goes through a node's memory is left to it.
constexpr const char* rendezvous_from_between_nodes = "intra:auto,inter:128k";
constexpr std::pair<unsigned, unsigned> ucx_that_knows_nodes{1, 17};
constexpr const char* rendezvous_library = "libucp.so.0";

constexpr const char* pml_variable = "OMPI_MCA_pml";
constexpr const char* btl_variable = "OMPI_MCA_btl";
constexpr const char* not_all_tcp = "transport left alone, for TCP is not all of the network";
constexpr const char* infiniband_devices = "/sys/class/infiniband";

bool has_daemon(const std::string& socket_path) {
    struct stat status {};
    return ::stat(socket_path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode);
}

bool has_infiniband() {
    std::error_code none;
    const std::filesystem::directory_iterator devices(infiniband_devices, none);
    return !none && devices != std::filesystem::directory_iterator();
}

/// Says whether mpirun or Hydra tells that all ranks are on this node, and talk through its memory.
bool is_on_one_node() {
    const auto here = environment_value(is_open_mpi() ? "OMPI_COMM_WORLD_LOCAL_SIZE" : "MPI_LOCALNRANKS");
    return here && here == environment_value(is_open_mpi() ? "OMPI_COMM_WORLD_SIZE" : "PMI_SIZE");
}

/// Returns the major and the minor number of the UCX in this process; none: there is no UCX.
std::optional<std::pair<unsigned, unsigned>> ucx_version() {
    void* const library = ::dlopen(rendezvous_library, RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) return std::nullopt;
    using GetVersion = void (*)(unsigned* major, unsigned* minor, unsigned* release);
    const auto get_version = reinterpret_cast<GetVersion>(::dlsym(library, "ucp_get_version"));
    unsigned major = 0, minor = 0, release = 0;
    if (get_version != nullptr) get_version(&major, &minor, &release);
    ::dlclose(library);
    return std::pair{major, minor};
}

std::vector<std::string_view> words_of(std::string_view list) {
    std::vector<std::string_view> words;
    while (!list.empty()) {
        const std::size_t end = std::min(list.find(','), list.size());
        words.push_back(list.substr(0, end));
        list.remove_prefix(std::min(end + 1, list.size()));
    }
    return words;
}

bool is_infiniband_transport(std::string_view name) {
    constexpr std::array<std::string_view, 5> prefixes{"rc", "dc", "ud", "ib", "all"};
    return std::any_of(prefixes.begin(), prefixes.end(), [&](std::string_view prefix) {
        return name.substr(0, prefix.size()) == prefix;
    });
}

bool has(const std::vector<std::string_view>& words, std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

bool is_tcp_the_network(const char* transports, const char* devices, bool has_infiniband) {
    if (transports != nullptr && transports[0] != '^') {
        const auto names = words_of(transports);
        if (std::none_of(names.begin(), names.end(), is_infiniband_transport))
            return has(names, "tcp");
    }
    // names of InfiniBand devices have a port: mlx5_0:1
    if (devices != nullptr && std::string_view(devices) != "all")
        return std::string_view(devices).find(':') == std::string_view::npos;
    return !has_infiniband;
}

bool is_tcp_the_network_of_open_mpi(const char* pml, const char* btl, bool has_infiniband) {
    if (pml != nullptr && pml[0] != '^' && !has(words_of(pml), "ob1")) return false;
    if (btl == nullptr || btl[0] == '^') return !has_infiniband;
    const auto names = words_of(btl);
    return has(names, "tcp") && !has(names, "openib") && !has(names, "uct");
}

void LibraryEnvironment::apply(const Settings& settings) {
    const bool may_be_paced = has_daemon(settings.socket_path) || !settings.planner.empty();
    if (!settings.transport || !may_be_paced || is_on_one_node()) {
        told_.emplace_back("transport left alone");
    } else if (is_open_mpi()) {
        apply_to_open_mpi();
    } else {
        apply_to_mpich();
    }
}

void LibraryEnvironment::apply_to_open_mpi() {
    if (!is_tcp_the_network_of_open_mpi(std::getenv(pml_variable), std::getenv(btl_variable), has_infiniband())) {
        told_.emplace_back(not_all_tcp);
        return;
    }
    set_unless_given(rdma_variable, no_rdma);
    if (environment_value(largest_fragment_variable)) {
        told_.emplace_back("btl_tcp_eager_limit left alone with btl_tcp_max_send_size given");
    } else {
        set_unless_given(eager_limit_variable, eager_limit_bytes);
    }
    set_unless_given(known_ranks_variable, known_ranks);
}

void LibraryEnvironment::apply_to_mpich() {
    const auto version = ucx_version();
    if (!version) {
        told_.emplace_back("transport left alone, for it does not send through UCX");
    } else if (!is_tcp_the_network(std::getenv("UCX_TLS"), std::getenv("UCX_NET_DEVICES"), has_infiniband())) {
        told_.emplace_back(not_all_tcp);
    } else if (*version >= ucx_that_knows_nodes) {
        set_unless_given(rendezvous_variable, rendezvous_from_between_nodes);
    } else {
        set_unless_given(rendezvous_variable, rendezvous_from);
    }
}

void LibraryEnvironment::set_unless_given(const char* variable, const char* value) {
    if (const char* own = std::getenv(variable)) {
        told_.push_back(std::string(variable) + "=" + own + " kept");
        return;
    }
    if (::setenv(variable, value, 1) != 0) return;
    variables_.emplace_back(variable);
    constexpr std::string_view prefix = "OMPI_MCA_";
    std::string_view name = variable;
    if (name.substr(0, prefix.size()) == prefix) name.remove_prefix(prefix.size());
    told_.push_back(std::string(name) + "=" + value + " (not with HEADWAY_TRANSPORT=off)");
}

void LibraryEnvironment::restore() {
    for (const std::string& variable : variables_) ::unsetenv(variable.c_str());
    variables_.clear();
}

std::string LibraryEnvironment::summary() const {
    std::string text;
    for (const std::string& phrase : told_) text += (text.empty() ? "" : ", ") + phrase;
    return text;
}

}  // namespace headway::glue
