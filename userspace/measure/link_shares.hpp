// SPDX-License-Identifier: Apache-2.0
// How TCP's flows share a link: into a host, out of one, across a trunk, and into and out of a
// host at the same time.
//
// Source: Zhu et al., "Modeling contention effects by congestion factors", 5.1 (fairness: n
// flows of one link get the same) and 5.2 (the asymmetric property: a host with two flows in
// and one out gave each of the three the same on their network).
//
// Each flow carries one message of `share_bytes` in a round, all begin together, and a flow's
// rate is the message over the time until the last byte was received; of a flow away from the
// host that looks, until the receiver's answer of one byte.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "measure/network_measurement.hpp"

namespace headway {

/// Rates are of payload, means over rounds.
struct SharedLink {
    enum class Place { into_host, out_of_host, across_trunk };

    Place place = Place::into_host;
    std::size_t node = 0;   ///< the host, or the trunk's switch
    std::size_t flows = 0;
    double total_bytes_per_s = 0;  ///< until the last flow's end
    double least_bytes_per_s = 0;  ///< of the flow that got least
    double most_bytes_per_s = 0;
};

/// Two flows into a host and one out of it.
struct FlowsBothWays {
    double in_bytes_per_s = 0;   ///< of each, in the mean
    double out_bytes_per_s = 0;
};

struct MeasuredShares {
    std::vector<SharedLink> links;
    std::optional<FlowsBothWays> both_ways;  ///< none: that takes four hosts
};

/// Measures how the link of the first host and every trunk are shared by 1, 2, 4 .. flows. It calls
/// `advance` after each experiment.
[[nodiscard]] Result<MeasuredShares> measure_shares(Laboratory& laboratory, const MeasuredNetwork& network,
                                                    const std::function<void()>& advance);

}  // namespace headway
