// SPDX-License-Identifier: MIT
#include "library_environment.hpp"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "mpi_library.hpp"
#include "tuned_rules.hpp"

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
// largest fragment.
constexpr const char* eager_limit_variable = "OMPI_MCA_btl_tcp_eager_limit";
constexpr const char* eager_limit_bytes = "131072";

// The same of MPICH, which sends through UCX: its rendezvous waits for a request that
// queues behind the receiver's own data.  Up to this size messages go without asking;
// the receiver keeps what comes before its receive, so the size must have an end.
constexpr const char* rendezvous_variable = "UCX_RNDV_THRESH";
constexpr const char* rendezvous_from = "1m";

constexpr std::string_view tuned_prefix = "OMPI_MCA_coll_tuned_";

/// The first of the user's own settings that begins with `prefix`, or "".
std::string user_setting(std::string_view prefix) {
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        if (std::string_view(*entry).substr(0, prefix.size()) == prefix) return *entry;
    }
    return "";
}

}  // namespace

void LibraryEnvironment::apply(const Settings& settings) {
    if (settings.transport) {
        apply_transport();
    } else {
        told_.emplace_back("transport left alone");
    }
    if (!is_open_mpi) return;  // our own algorithms do without MPICH's choice
    if (settings.algorithm) {
        apply_algorithm();
    } else {
        told_.emplace_back("algorithm left alone");
    }
}

void LibraryEnvironment::apply_transport() {
    if (is_open_mpi) {
        set_unless_given(tcp_flags_variable, tcp_flags_without_put);
        set_unless_given(eager_limit_variable, eager_limit_bytes);
    } else {
        set_unless_given(rendezvous_variable, rendezvous_from);
    }
}

void LibraryEnvironment::set_unless_given(const char* variable, const char* value) {
    if (const char* own = std::getenv(variable)) {
        told_.push_back(std::string(variable) + "=" + own + " kept");
        return;
    }
    set(variable, value);
    constexpr std::string_view prefix = "OMPI_MCA_";
    std::string_view name = variable;
    if (name.substr(0, prefix.size()) == prefix) name.remove_prefix(prefix.size());
    told_.push_back(std::string(name) + "=" + value + " (not with HEADWAY_TRANSPORT=off)");
}

// Any coll_tuned setting of the user's keeps us out: turning dynamic rules on
// would bring to life forced algorithms of his that lie dormant without them.
void LibraryEnvironment::apply_algorithm() {
    if (const std::string own = user_setting(tuned_prefix); !own.empty()) {
        told_.push_back(own + " kept, algorithm left alone");
        return;
    }
    set("OMPI_MCA_coll_tuned_use_dynamic_rules", "1");
    set("OMPI_MCA_coll_tuned_alltoallv_algorithm", "1");
    auto rules = tuned_rules_file(tuned_rules_text());
    if (!rules) {
        told_.push_back("linear all-to-allv only: " + rules.error());
        return;
    }
    rules_ = std::move(*rules);
    set("OMPI_MCA_coll_tuned_dynamic_rules_filename", tuned_rules_path(rules_));
    told_.push_back("linear all-to-all from " + std::to_string(linear_from_bytes) +
                    " bytes a pair and linear all-to-allv (not with HEADWAY_ALGORITHM=off)");
}

void LibraryEnvironment::set(const std::string& variable, const std::string& value) {
    if (::setenv(variable.c_str(), value.c_str(), 1) == 0) variables_.push_back(variable);
}

void LibraryEnvironment::restore() {
    for (const std::string& variable : variables_) ::unsetenv(variable.c_str());
    variables_.clear();
    rules_ = UniqueFd();
}

std::string LibraryEnvironment::summary() const {
    std::string text;
    for (const std::string& phrase : told_) text += (text.empty() ? "" : ", ") + phrase;
    return text;
}

}  // namespace headway::glue
