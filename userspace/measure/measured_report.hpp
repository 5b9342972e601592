// SPDX-License-Identifier: Apache-2.0
// What `headway measure` has found, as a document for programs (network/measured_document.hpp) and
// as a text for people.
#pragma once

#include <string>
#include <vector>

#include "measure/message_measurement.hpp"
#include "measure/network_measurement.hpp"
#include "network/measured_document.hpp"

namespace headway {

struct MeasureCircumstances {
    std::vector<std::string> hosts;
    std::vector<std::string> addresses;
    std::vector<std::string> nodes;  ///< what the hosts call themselves
    std::uint64_t bytes_sent = 0;
    double seconds = 0;
    double start_skew_s = 0;
};

/// `messages` may be missing.
[[nodiscard]] MeasuredDocument document_of(const MeasuredNetwork& network,
                                           const MeasuredMessages* messages,
                                           const MeasureCircumstances& circumstances,
                                           const std::vector<std::string>& differences);

/// The same for people, without the round trips.
[[nodiscard]] std::string measured_text(const MeasuredNetwork& network, const MeasuredMessages* messages,
                                        const MeasureCircumstances& circumstances,
                                        const std::vector<std::string>& differences);

}  // namespace headway
