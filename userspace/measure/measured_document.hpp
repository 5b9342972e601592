// SPDX-License-Identifier: Apache-2.0
// The result of `headway measure`: one JSON object.
//
//   {"format": "headway-measure", "headway": VERSION, "hosts": [{"name", "address", "node"}],
//    "bytes_sent", "seconds", "start_skew_s", "resolution_s",
//    "links": [{"hosts": [below it], "is_trunk", "direction": "up" | "down", "bps", "exact",
//               "delay_s", "buffer_bytes", "buffer_error_bytes", "buffer_exact"}],
//    "round_trips": [[i, j, s of the shortest frame, s of a full one]],
//    "buffer_sharing": [{"port", "other_port", "alone_bytes", "together_bytes", "error_bytes", "shared"}],
//    "heights": [{"pairs": [[i, j]], "one_way_bytes_per_s", "both_ways_bytes_per_s", "buffer_delay_s",
//                 "buffer_delay_exact"}],
//    "messages": {
//      "pairs": [{"from", "to", "L_s", "g0_s", "alpha_s", "beta_s_per_byte", "one_way_bytes_per_s",
//                 "both_ways_bytes_per_s", "round_trips": [TIME], "gap": [[m, s]]}],
//      "hosts": [{"C", "t"}],
//      "shares": [{"hosts": [of the link], "direction": "in" | "out" | "trunk", "flows", "total_bytes_per_s",
//                  "least_bytes_per_s", "most_bytes_per_s"}],
//      "two_in_one_out": {"in_bytes_per_s", "out_bytes_per_s"},
//      "all_to_all": [{"hosts", "times": [ESCALATING]}],
//      "neighbours": [{"flows": [[i, j]], "times": [ESCALATING]}],
//      "many_to_one": [ESCALATING],
//      "one_to_many": [TIME],
//      "least_retransmission_timeout_s"},
//    "models": [what headway fit --json writes of a model],
//    "differences": [sentences], "remarks": [sentences]}
//
// A TIME is {"bytes", "seconds", "half_width_s", "rounds", "retransmissions" (segments; not of what had arrived)}, the mean and
// its interval of 95 % confidence; ESCALATING a TIME of the rounds that are on no level, and "median_s" of these
// and "levels": [[s, probability]]; where every round is on a level, the mean and the median are null.
// Bits and bytes of links and heights (PlogPT's, of one direction) are those of the wire, buffers are of
// frames, those of messages of payload.  What is not known is null.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "measure/message_measurement.hpp"
#include "measure/network_difference.hpp"
#include "measure/network_measurement.hpp"

namespace headway {

struct MeasureCircumstances {
    std::vector<std::string> hosts;
    std::vector<std::string> addresses;
    std::vector<std::string> nodes;  ///< what the hosts call themselves
    std::uint64_t bytes_sent = 0;
    double seconds = 0;
    double start_skew_s = 0;
};

/// A network as a document tells of it, for comparisons.
struct MeasuredRecord {
    std::vector<std::string> hosts;
    ComparedNetwork links;
    double resolution_s = 0;
};

/// Reads what measured_json() writes.  Errors name the file.
[[nodiscard]] Result<MeasuredRecord> read_measured(std::string_view text, std::string_view file);

/// `messages` may be missing.
[[nodiscard]] nlohmann::ordered_json measured_json(const MeasuredNetwork& network,
                                                   const MeasuredMessages* messages,
                                                   const MeasureCircumstances& circumstances,
                                                   const std::vector<std::string>& differences);

/// Writes the document for people, without the round trips.
[[nodiscard]] std::string measured_text(const MeasuredNetwork& network, const MeasuredMessages* messages,
                                        const MeasureCircumstances& circumstances,
                                        const std::vector<std::string>& differences);

}  // namespace headway
