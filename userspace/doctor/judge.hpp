// SPDX-License-Identifier: Apache-2.0
// What two looks at a node mean: what costs performance, and what to do about it.  Pure.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "doctor/look.hpp"

namespace headway {

enum class Weight {
    stalls,  ///< connections stand still for long
    loses,   ///< packets or bandwidth are lost
    slows,   ///< a setting costs time in some exchanges
    note,    ///< good to know; costs nothing by itself
};
[[nodiscard]] const char* weight_name(Weight weight);

struct Finding {
    Weight weight = Weight::note;
    std::string seen;   ///< a sentence
    std::string to_do;  ///< a sentence
};

/// The most important one first.  `between`: from one look to the other.
[[nodiscard]] std::vector<Finding> judge(const Look& before, const Look& after,
                                         std::chrono::duration<double> between);

[[nodiscard]] bool costs_performance(const std::vector<Finding>& findings);

/// The least retransmission time-out towards a host: its route's, or the system's.
[[nodiscard]] double rto_min_ms(const Look& look, const HostPath& path);

}  // namespace headway
