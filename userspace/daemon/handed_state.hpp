// SPDX-License-Identifier: Apache-2.0
// What one run of the daemon tells the next of the processes that have joined, and
// its form as text.  Started jobs are jobs_file()'s; connections that have not joined
// are made anew.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/control_session.hpp"
#include "jobs/phase_jobs.hpp"

namespace headway {

/// A process that has joined: what its session was.
struct HandedClient {
    std::optional<HelloRequest> hello;
    std::uint64_t last_pattern = 0;
    std::vector<ActiveEnter> enters;  ///< what they wanted; nothing is in force yet
    std::optional<std::uint64_t> cgroup;  ///< as far as it is known
};

struct HandedState {
    std::string set_up;  ///< what slots and phases hang on: must be the same in both runs
    /// By number; the slots that are taken, and their cgroups, are those of `clients`.
    std::map<std::uint32_t, KeptJob> jobs;
    std::map<std::uint32_t, std::string> hosts;  ///< of jobs whose hosts are known: a host list
    std::map<PhaseSeat, HandedClient> clients;
    /// Processes of a run before still have the time to join again, and until then the
    /// classifier that knows their phases decides.
    bool is_incomplete = false;
};

/// A state as text: this of all that is not `clients` (empty: it is too much to be kept),
/// the clients' texts with commas in between, and the end.
[[nodiscard]] std::string handed_jobs_text(const HandedState& state);
[[nodiscard]] std::string handed_client_text(const ControlSession& joined,
                                             const std::optional<std::uint64_t>& cgroup);
constexpr std::string_view handed_text_end = "]}";
/// Fails on texts of other versions.  What it says may still be impossible.
[[nodiscard]] Result<HandedState> parse_handed_state(std::string_view text);

}  // namespace headway
