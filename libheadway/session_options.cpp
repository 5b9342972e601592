// SPDX-License-Identifier: MIT
#include "session_options.hpp"

#include "job_start.hpp"

namespace headway::glue {

void read_session_options(SessionOptions& options, Complaints& complaints) {
    constexpr int longest_timeout_ms = 60'000;
    read_switch("HEADWAY", options.enabled, complaints);
    read_switch("HEADWAY_VERBOSE", options.verbose, complaints);
    read_word("HEADWAY_SIBLINGS", "overlap", "disjoint", options.siblings_disjoint, complaints);
    if (const auto path = environment_value("HEADWAY_SOCKET")) options.socket_path = *path;
    options.job_start = read_job_start(complaints);
    auto timeout_ms = static_cast<int>(options.timeout.count());
    read_number("HEADWAY_TIMEOUT_MS", 1, longest_timeout_ms, timeout_ms, complaints);
    options.timeout = std::chrono::milliseconds(timeout_ms);
}

}  // namespace headway::glue
