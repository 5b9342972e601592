// SPDX-License-Identifier: Apache-2.0
// The cluster whose all-to-alls the benches simulate.
#pragma once

#include <cmath>

#include "models/plogpt_simulator.hpp"

namespace headway::bench {

/// 1 Gbit/s at the leaves; from height 4 on, trunks of half of what is below.
inline PlogptSystem oversubscribed(unsigned height, double latency_s = 50e-6) {
    PlogptLinks links;
    for (unsigned h = 1; h <= height; ++h) {
        const double full = std::ldexp(125e6, static_cast<int>(h) - 1);
        links.bandwidth_bytes_per_s.push_back(h < 4 ? full : full / 2);
        links.buffer_delay_s.push_back(h < 4 ? 250e-6 : 450e-6);
    }
    return {*PlogptTree::make(links, plogpt_default_eps_s, PlogptTree::Clamp::yes),
            *GapTable::make({{0, 10e-6}, {1e6, 8.01e-3}}), latency_s};
}

}  // namespace headway::bench
