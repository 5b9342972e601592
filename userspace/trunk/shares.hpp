// SPDX-License-Identifier: Apache-2.0
// How much of a trunk each host and each of its jobs may use: a function of the
// demands alone, in whole numbers, so that everybody who computes it from the
// same demands gets the same shares, in whatever order they came.
//
// Max-min: what a job or host does not want is divided among those that want
// more.  No host has less than the fallback, which it falls back to by itself
// when its daemon fails.  The shares of all configured hosts, the fallback for
// those without a demand, never add up to more than the trunk.  All rates are wire
// rates (base/wire.hpp), in one direction of the trunk.
#pragma once

#include <sys/types.h>

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"

namespace headway {

/// A configured host's place in the sorted list of names: all members number
/// the hosts of a trunk alike.
using HostNumber = std::uint32_t;

enum class SharePolicy {
    per_job,   ///< every job the same, by its weight; a job's hosts the same
    per_host,  ///< every host the same; a host's jobs the same
};

/// The settings that all members of a trunk must have alike.
struct SharedTrunk {
    BytesPerSecond capacity;
    BytesPerSecond fallback;   ///< what a host may use whatever becomes of its daemon
    std::uint32_t hosts = 0;   ///< all that are configured, alive or not
    SharePolicy policy = SharePolicy::per_job;
};

/// A tenth of the trunk for all hosts together; at least one byte per second each.
[[nodiscard]] BytesPerSecond default_fallback(BytesPerSecond capacity, std::uint32_t hosts);

/// Whether the fallbacks of all hosts fit into the trunk.
[[nodiscard]] Result<void> check_trunk(const SharedTrunk& trunk);

/// A job in the cluster: the same on all its nodes, and another than any other user's or any
/// earlier job's.  No number stands for it: users choose names, and whoever finds one with
/// another job's number would have that job's weight and a part of its share.
struct JobIdentity {
    uid_t uid = 0;
    std::uint64_t start = 0;
    std::string name;

    friend auto operator<=>(const JobIdentity&, const JobIdentity&) = default;
};

inline constexpr std::uint32_t share_weight_max = 1000;
inline constexpr BytesPerSecond no_limit_wanted{UINT64_MAX};

/// A job on a host wants to send across the trunk.  At most one per job and host.
struct Demand {
    HostNumber host = 0;
    JobIdentity job;
    std::uint32_t weight = 1;  ///< 1 .. share_weight_max; a job has the largest of its demands'
    BytesPerSecond wanted = no_limit_wanted;

    friend bool operator==(const Demand&, const Demand&) = default;
};

struct Shares {
    std::vector<BytesPerSecond> of_demand;  ///< in the order of the demands
    std::vector<BytesPerSecond> of_host;    ///< by host number, without demands the fallback
};

/// `trunk` fits (check_trunk()).  Demands of hosts beyond the trunk's get nothing.
/// Less than two bytes per second per demand are lost by rounding down.
[[nodiscard]] Shares compute_shares(const SharedTrunk& trunk, std::span<const Demand> demands);
using ShareFunction = Shares (*)(const SharedTrunk& trunk, std::span<const Demand> demands);

}  // namespace headway
