// SPDX-License-Identifier: Apache-2.0
#include "models/plogpt_closed.hpp"

#include <cmath>

#include "models/plogpt_rto.hpp"

namespace headway {

PlogptAlltoallTimes plogpt_alltoall(const PlogptTree& tree, const PlogptAlltoallCase& alltoall) {
    double sending_s = 0;
    for (unsigned h = 1; h <= alltoall.levels; ++h) {
        const double messages = std::ldexp(1.0, static_cast<int>(h) - 1);
        sending_s += messages * messages * tree.bandwidth(1) / tree.bandwidth(h) * alltoall.gap_s;
    }
    PlogptAlltoallTimes times;
    times.rto_heights = plogpt_rto_heights(tree, alltoall.levels, alltoall.message_bytes);
    const double partners = std::ldexp(1.0, static_cast<int>(alltoall.levels)) - 1;
    times.a_s = sending_s + partners * alltoall.latency_s;
    times.b_s = sending_s + alltoall.latency_s;
    if (!times.rto_heights.empty()) {  // also for an infinite T_RTO
        times.b_s += static_cast<double>(times.rto_heights.size()) * alltoall.timeout_s;
    }
    return times;
}

}  // namespace headway
