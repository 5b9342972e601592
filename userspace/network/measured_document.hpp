// SPDX-License-Identifier: Apache-2.0
// The document that `headway measure` writes of a network: one JSON object.
//
//   {"format": "headway-measure", "headway": VERSION, "hosts": [{"name", "address", "node"}],
//    "bytes_sent", "seconds", "start_skew_s", "resolution_s",
//    "links": [{"hosts": [below it], "is_trunk", "direction": "up" | "down", "bps", "exact",
//               "delay_s", "buffer_bytes", "buffer_error_bytes", "buffer_exact"}],
//    "round_trips": [[i, j, s of the shortest frame, s of a full one]],
//    "buffer_sharing": [{"port", "other_port", "alone_bytes", "together_bytes", "error_bytes",
//                        "shared"}],
//    "heights": [{"pairs": [[i, j]], "one_way_bytes_per_s", "both_ways_bytes_per_s",
//                 "buffer_delay_s", "buffer_delay_exact"}],
//    "messages": {
//      "pairs": [{"from", "to", "L_s", "g0_s", "alpha_s", "beta_s_per_byte",
//                 "one_way_bytes_per_s", "both_ways_bytes_per_s", "round_trips": [TIME],
//                 "gap": [[m, s]]}],
//      "hosts": [{"C", "t"}],
//      "shares": [{"hosts": [of the link], "direction": "in" | "out" | "trunk", "flows",
//                  "total_bytes_per_s", "least_bytes_per_s", "most_bytes_per_s"}],
//      "two_in_one_out": {"in_bytes_per_s", "out_bytes_per_s"},
//      "all_to_all": [{"hosts", "times": [ESCALATING]}],
//      "neighbours": [{"flows": [[i, j]], "times": [ESCALATING]}],
//      "many_to_one": [ESCALATING],
//      "one_to_many": [TIME],
//      "least_retransmission_timeout_s"},
//    "models": [what headway fit --json writes of a model],
//    "differences": [sentences], "remarks": [sentences]}
//
// A TIME is {"bytes", "seconds", "half_width_s", "rounds", "retransmissions" (segments; not of
// what had arrived)}, the mean and its interval of 95 % confidence; ESCALATING a TIME of the
// rounds that are on no level, and "median_s" of these and "levels": [[s, probability]]; where
// every round is on a level, the mean and the median are null.
// Bits and bytes of links and heights (PlogPT's, of one direction) are those of the wire, buffers
// are of frames, those of messages of payload.  What is not known is null or left out, and the
// reader passes over members that it does not know, but for those of a row.
//
// Everybody who reads a document reads it here: plans (plan/planner_measured.hpp), predictions
// (models/fitted_file.hpp) and comparisons (measure/measured_report.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>
#include <tl/expected.hpp>

#include "base/file_error.hpp"

namespace headway {

struct MeasuredDocument {
    /// Of two hosts, by their places in `hosts`.
    using Pair = std::pair<std::size_t, std::size_t>;

    struct Host {
        std::string name, address;
        std::string node;  ///< what it calls itself
    };
    /// One direction of a link.
    struct Link {
        std::vector<std::string> hosts;  ///< below it
        bool is_trunk = false, is_up = false;
        std::optional<double> bps;
        bool is_exact = false;          ///< else: at least that much
        std::optional<double> delay_s;  ///< of trunks
        std::optional<double> buffer_bytes, buffer_error_bytes;
        bool is_buffer_exact = false;
    };
    struct RoundTrip {
        Pair hosts;
        double shortest_s = 0, full_s = 0;  ///< of frames of these sizes
    };
    /// The buffer before a port, alone and while another port of its switch is full as well.
    struct BufferSharing {
        std::string port, other_port;  ///< hosts
        double alone_bytes = 0, together_bytes = 0, error_bytes = 0;
        std::optional<bool> is_shared;
    };
    struct Height {
        std::vector<Pair> pairs;
        std::optional<double> one_way_bytes_per_s, both_ways_bytes_per_s, buffer_delay_s;
        bool is_delay_exact = false;
    };
    struct Level {
        double time_s = 0, probability = 0;
    };
    /// TIME, and ESCALATING.
    struct Time {
        std::uint64_t bytes = 0;
        std::optional<double> mean_s, half_width_s;
        std::uint64_t rounds = 0, retransmissions = 0;
        std::optional<double> median_s;  ///< of a TIME none
        std::vector<Level> levels;
    };
    struct GapOfSize {
        double bytes = 0, gap_s = 0;
    };
    struct MessagePair {
        std::string from, to;
        std::optional<double> latency_s, empty_gap_s, startup_s, per_byte_s;
        std::optional<double> one_way_bytes_per_s, both_ways_bytes_per_s;
        std::vector<Time> round_trips;
        std::vector<GapOfSize> gap;
    };
    struct ProcessingDelay {
        std::optional<double> fixed_s, per_byte_s;
    };
    struct Share {
        enum class Direction { in, out, trunk };
        std::vector<std::string> hosts;  ///< of the link
        Direction direction = Direction::in;
        std::uint64_t flows = 0;
        std::optional<double> total_bytes_per_s, least_bytes_per_s, most_bytes_per_s;
    };
    struct TwoInOneOut {
        std::optional<double> in_bytes_per_s, out_bytes_per_s;
    };
    struct AllToAll {
        std::uint64_t hosts = 0;  ///< at least two
        std::vector<Time> times;
    };
    struct Neighbours {
        std::vector<Pair> flows;
        std::vector<Time> times;
    };
    struct Messages {
        std::vector<MessagePair> pairs;
        std::vector<ProcessingDelay> hosts;
        std::vector<Share> shares;
        std::optional<TwoInOneOut> two_in_one_out;
        std::vector<AllToAll> all_to_all;
        std::vector<Neighbours> neighbours;
        std::vector<Time> many_to_one, one_to_many;
        std::optional<double> least_retransmission_timeout_s;
    };

    std::string headway;  ///< the version that has written it
    std::vector<Host> hosts;
    std::uint64_t bytes_sent = 0;
    std::optional<double> seconds, start_skew_s, resolution_s;
    std::vector<Link> links;
    std::vector<RoundTrip> round_trips;
    std::vector<BufferSharing> buffer_sharing;
    std::vector<Height> heights;
    std::optional<Messages> messages;  ///< none: measured with --network-only
    std::vector<nlohmann::ordered_json> models;  ///< objects
    std::vector<std::string> differences, remarks;

    [[nodiscard]] std::vector<std::string> host_names() const;
};

/// Whether the object calls itself such a document.
[[nodiscard]] bool is_measured_document(const nlohmann::json& json);

/// Of an object that is one; or the first mistake, with its place.
[[nodiscard]] tl::expected<MeasuredDocument, std::string> read_measured_document(
    const nlohmann::json& json);

/// Of a file's text.
[[nodiscard]] FileResult<MeasuredDocument> parse_measured_document(std::string_view text,
                                                                   std::string_view file);

/// The same as text, with a newline at its end.
[[nodiscard]] std::string write_measured_document(const MeasuredDocument& document);

}  // namespace headway
