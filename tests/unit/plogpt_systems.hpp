// SPDX-License-Identifier: Apache-2.0
// Systems that the tests of PlogPT share.
#pragma once

#include <cmath>
#include <vector>

#include "models/plogpt_simulator.hpp"

namespace headway::test {

inline constexpr double mbit_bytes = 125e3;  ///< 1 Mbit in bytes

/// Table II of Nomura et al., bidirectional columns: b(h)/2^(h-1) in Mbit/s,
/// 2 d(h) in us.
inline PlogptLinks table_2() {
    PlogptLinks links;
    for (const double per_leaf : {580.2, 580.1, 576.0, 579.2, 485.0}) {
        const auto h = static_cast<int>(links.bandwidth_bytes_per_s.size()) + 1;
        links.bandwidth_bytes_per_s.push_back(std::ldexp(per_leaf * mbit_bytes, h - 1));
    }
    for (const double doubled_us : {502., 902., 913., 910., 909.}) {
        links.buffer_delay_s.push_back(doubled_us / 2 * 1e-6);
    }
    return links;
}

inline PlogptTree table_2_tree(double eps_s = plogpt_default_eps_s) {
    return *PlogptTree::make(table_2(), eps_s, PlogptTree::Clamp::yes);
}

/// No switch anywhere: b(h) = 2^(h-1) b(1), equal delays.
inline PlogptTree full_bisection_tree(unsigned height, double b1) {
    PlogptLinks links;
    for (unsigned h = 1; h <= height; ++h) {
        links.bandwidth_bytes_per_s.push_back(std::ldexp(b1, static_cast<int>(h) - 1));
        links.buffer_delay_s.push_back(1e-4);
    }
    return *PlogptTree::make(links, 0, PlogptTree::Clamp::yes);
}

/// A gap that is the same for messages of every size.
inline GapTable constant_gap(double gap_s) { return *GapTable::make({{0, gap_s}}); }

/// The sample of section III-E: b(1) = 3, b(2) = 4, g(m) = 8, L = 3.
inline PlogptSystem sample_system() {
    return {*PlogptTree::make({{3, 4}, {0, 0}}, plogpt_default_eps_s, PlogptTree::Clamp::yes),
            constant_gap(8), 3};
}

using Operations = std::vector<std::vector<PlogptOperation>>;

inline PlogptOperation irecv(std::uint32_t source) {
    return {PlogptOperationKind::irecv, source, 1, 0};
}
inline PlogptOperation isend(std::uint32_t destination, double bytes = 1) {
    return {PlogptOperationKind::isend, destination, bytes, 0};
}
inline PlogptOperation wait(std::uint32_t operation) {
    return {PlogptOperationKind::wait, 0, 0, operation};
}

/// Figure 9 of the paper.
inline Operations sample_programs() {
    Operations programs;
    for (std::uint32_t r = 0; r < 4; ++r) {
        programs.push_back({irecv(r ^ 2), isend(r ^ 2), wait(1), wait(0)});
    }
    programs[0].insert(programs[0].end(), {isend(3), wait(4)});
    programs[3].insert(programs[3].end(), {irecv(0), wait(4)});
    return programs;
}

}  // namespace headway::test
