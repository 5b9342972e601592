// SPDX-License-Identifier: Apache-2.0
// One direction of one trunk and how the hosts in front of it share it.  All
// rates are wire rates (base/wire.hpp).
#pragma once

#include <cstdint>

#include "base/error.hpp"
#include "base/rate.hpp"

namespace headway {

/// A configured host's place in the sorted list of names: all members number
/// the hosts of a trunk alike.
using HostNumber = std::uint32_t;

enum class SharePolicy {
    per_job,   ///< every job the same, by its weight; a job's hosts the same
    per_host,  ///< every host the same; a host's jobs the same
};

/// What every member of a trunk is configured with, alike.
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

}  // namespace headway
