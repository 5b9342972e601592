// SPDX-License-Identifier: MIT
#include "library_environment.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "environment.hpp"
#include "mpi_library.hpp"

namespace headway::glue {
namespace {

// Open MPI's default without "put".  With PUT the sender of a message above the
// eager limit sends a header only and waits for the receiver's request, which
// queues behind the receiver's own data in the same TCP stream: the two halves
// of an exchange take turns.  Pacing makes the wait longer.
constexpr const char* tcp_flags_variable = "OMPI_MCA_btl_tcp_flags";
constexpr const char* tcp_flags_without_put = "send,inplace,need-ack,need-csum,hetero-rdma";

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
// queues behind the receiver's own data.  Up to this size messages go without asking;
// the receiver keeps what comes before its receive, so the size must have an end.
// UCX 1.13 knows no such limit for one transport only.
constexpr const char* rendezvous_variable = "UCX_RNDV_THRESH";
constexpr const char* rendezvous_from = "1m";

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

/// As mpirun numbers the programs of its line.  Of several, one may be without the
/// library (linked statically, say), and the flags of all must be the same.
bool is_one_of_several_programs() {
    const auto programs = environment_value("OMPI_NUM_APP_CTX");
    return programs && *programs != "1";
}

/// As Hydra tells: all ranks are on this node, and talk through its memory.
bool is_on_one_node() {
    const auto here = environment_value("MPI_LOCALNRANKS");
    return here && here == environment_value("PMI_SIZE");
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

}  // namespace

bool is_tcp_the_network(const char* transports, const char* devices, bool has_infiniband) {
    if (transports != nullptr && transports[0] != '^') {
        const auto names = words_of(transports);
        if (std::none_of(names.begin(), names.end(), is_infiniband_transport))
            return std::find(names.begin(), names.end(), "tcp") != names.end();
    }
    // names of InfiniBand devices have a port: mlx5_0:1
    if (devices != nullptr && std::string_view(devices) != "all")
        return std::string_view(devices).find(':') == std::string_view::npos;
    return !has_infiniband;
}

void LibraryEnvironment::apply(const Settings& settings) {
    if (!settings.transport) {
        told_.emplace_back("transport left alone");
    } else if (is_open_mpi) {
        apply_to_open_mpi(settings);
    } else {
        apply_to_mpich(settings);
    }
}

void LibraryEnvironment::apply_to_open_mpi(const Settings& settings) {
    if (is_one_of_several_programs() && !settings.all_ranks) {
        told_.emplace_back(
            "btl_tcp_flags left alone in a job of several programs (not with HEADWAY_ALL_RANKS=on)");
    } else {
        set_unless_given(tcp_flags_variable, tcp_flags_without_put);
    }
    const bool is_node_paced = has_daemon(settings.socket_path);
    if (environment_value(largest_fragment_variable)) {
        told_.emplace_back("btl_tcp_eager_limit left alone with btl_tcp_max_send_size given");
    } else if (is_node_paced) {
        set_unless_given(eager_limit_variable, eager_limit_bytes);
    }
    if (is_node_paced) set_unless_given(known_ranks_variable, known_ranks);
}

void LibraryEnvironment::apply_to_mpich(const Settings& settings) {
    if (is_on_one_node() || !has_daemon(settings.socket_path)) {
        told_.emplace_back("transport left alone");
    } else if (!is_tcp_the_network(std::getenv("UCX_TLS"), std::getenv("UCX_NET_DEVICES"),
                                   has_infiniband())) {
        told_.emplace_back("transport left alone, for TCP is not all of the network");
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
