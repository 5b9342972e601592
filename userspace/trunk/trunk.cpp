// SPDX-License-Identifier: Apache-2.0
#include "trunk/trunk.hpp"

#include <algorithm>

namespace headway {

BytesPerSecond default_fallback(BytesPerSecond capacity, std::uint32_t hosts) {
    const std::uint64_t each = capacity.value / 10 / std::max<std::uint32_t>(hosts, 1);
    return {std::max<std::uint64_t>(each, 1)};
}

Result<void> check_trunk(const SharedTrunk& trunk) {
    if (trunk.hosts == 0) return failure("a shared trunk needs hosts");
    if (trunk.capacity.value == 0 || trunk.capacity.value > GAP_RATE_MAX)
        return failure("a shared trunk's rate is 8 bit/s to {}", rate_to_text(rate_max));
    if (trunk.fallback.value == 0) return failure("a host's fallback is at least 8 bit/s");
    if (trunk.fallback.value > trunk.capacity.value / trunk.hosts)
        return failure("{} hosts with a fallback of {} each ask for more than the trunk's {}",
                       trunk.hosts, rate_to_text(trunk.fallback.bits()),
                       rate_to_text(trunk.capacity.bits()));
    return {};
}

}  // namespace headway
