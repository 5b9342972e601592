// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "jobs/job_table.hpp"
#include "jobs/node_planner.hpp"
#include "phase/phase_maps.hpp"
#include "protocol/protocol.hpp"

namespace headway {

/// The process at the other end, as the kernel knows it (SO_PEERCRED).
struct Peer {
    pid_t pid = 0;
    uid_t uid = 0;
    bool is_watched = true;  ///< the daemon sees the process end
    bool has_own_network = false;  ///< it is in another network namespace than the daemon
    int process = -1;        ///< its pidfd, which stays the server's; -1: none
    std::vector<gid_t> groups{};  ///< its own and the supplementary ones
};

/// A collective announced by "prepare".
struct PreparedPattern {
    CollectivePattern pattern;
    /// False if the topology was reloaded with other hosts, so that the counts in `pattern` mean
    /// nothing any more.
    bool is_current = true;
    std::uint64_t used = 0;  ///< the session's count of uses, at the last of this
};

/// All that one connection has asked for.
struct ControlSession {
    Peer peer;
    uid_t account = 0;  ///< whose quota it takes from: its user's, or that of all administrators, 0
    std::optional<HelloRequest> hello;
    std::optional<JobId> job;  ///< as the hello or the join named it; or of none, of the user's
    std::map<std::uint64_t, PreparedPattern> patterns;  ///< by id, from 1
    std::uint64_t last_pattern = 0;                     ///< its id
    std::uint64_t uses = 0;                             ///< of patterns
    std::vector<ActiveEnter> enters;  ///< innermost last
    std::optional<PhaseSeat> seat;    ///< it has joined its job's phases
    std::uint64_t handed_changes = 0;  ///< of what a HandedClient tells of it
    std::string long_answer;          ///< longer than a datagram; empty: it has been fetched
    std::size_t fetched_bytes = 0;    ///< of the long answer
};

}  // namespace headway
