// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "base/json.hpp"
#include "network/measured_document.hpp"

namespace headway {
namespace {

using Document = MeasuredDocument;
using OrderedJson = nlohmann::ordered_json;

OrderedJson known(const std::optional<double>& value) {
    return value && std::isfinite(*value) ? OrderedJson(*value) : OrderedJson();
}

/// Rounded, as far as that is exact.
OrderedJson whole(const std::optional<double>& value) {
    constexpr double exact_max = 9007199254740992.0;  // 2^53
    if (!value || !(std::abs(*value) < exact_max)) return known(value);
    return std::llround(*value);
}

template <class Row>
OrderedJson rows(const std::vector<Row>& all, OrderedJson (*json_of)(const Row&)) {
    OrderedJson list = OrderedJson::array();
    for (const Row& row : all) list.push_back(json_of(row));
    return list;
}

OrderedJson host_json(const Document::Host& host) {
    return {{"name", host.name}, {"address", host.address}, {"node", host.node}};
}

OrderedJson link_json(const Document::Link& link) {
    return {{"hosts", link.hosts},
            {"is_trunk", link.is_trunk},
            {"direction", link.is_up ? "up" : "down"},
            {"bps", whole(link.bps)},
            {"exact", link.is_exact},
            {"delay_s", known(link.delay_s)},
            {"buffer_bytes", whole(link.buffer_bytes)},
            {"buffer_error_bytes", whole(link.buffer_error_bytes)},
            {"buffer_exact", link.is_buffer_exact}};
}

OrderedJson pair_json(const Document::Pair& pair) { return {pair.first, pair.second}; }

OrderedJson round_trip_json(const Document::RoundTrip& trip) {
    return {trip.hosts.first, trip.hosts.second, trip.shortest_s, trip.full_s};
}

OrderedJson sharing_json(const Document::BufferSharing& sharing) {
    return {{"port", sharing.port},
            {"other_port", sharing.other_port},
            {"alone_bytes", whole(sharing.alone_bytes)},
            {"together_bytes", whole(sharing.together_bytes)},
            {"error_bytes", whole(sharing.error_bytes)},
            {"shared", sharing.is_shared ? OrderedJson(*sharing.is_shared) : OrderedJson()}};
}

OrderedJson height_json(const Document::Height& height) {
    return {{"pairs", rows(height.pairs, pair_json)},
            {"one_way_bytes_per_s", known(height.one_way_bytes_per_s)},
            {"both_ways_bytes_per_s", known(height.both_ways_bytes_per_s)},
            {"buffer_delay_s", known(height.buffer_delay_s)},
            {"buffer_delay_exact", height.is_delay_exact}};
}

// -------------------------------------------------------------------- messages

OrderedJson time_json(const Document::Time& time) {
    return {{"bytes", time.bytes},
            {"seconds", known(time.mean_s)},
            {"half_width_s", known(time.half_width_s)},
            {"rounds", time.rounds},
            {"retransmissions", time.retransmissions}};
}

OrderedJson level_json(const Document::Level& level) { return {level.time_s, level.probability}; }

OrderedJson escalating_json(const Document::Time& time) {
    OrderedJson json = time_json(time);
    json["median_s"] = known(time.median_s);
    json["levels"] = rows(time.levels, level_json);
    return json;
}

OrderedJson gap_json(const Document::GapOfSize& point) { return {point.bytes, point.gap_s}; }

OrderedJson message_pair_json(const Document::MessagePair& pair) {
    return {{"from", pair.from},
            {"to", pair.to},
            {"L_s", known(pair.latency_s)},
            {"g0_s", known(pair.empty_gap_s)},
            {"alpha_s", known(pair.startup_s)},
            {"beta_s_per_byte", known(pair.per_byte_s)},
            {"one_way_bytes_per_s", known(pair.one_way_bytes_per_s)},
            {"both_ways_bytes_per_s", known(pair.both_ways_bytes_per_s)},
            {"round_trips", rows(pair.round_trips, time_json)},
            {"gap", rows(pair.gap, gap_json)}};
}

OrderedJson delay_json(const Document::ProcessingDelay& delay) {
    return {{"C", known(delay.fixed_s)}, {"t", known(delay.per_byte_s)}};
}

OrderedJson share_json(const Document::Share& share) {
    constexpr const char* directions[] = {"in", "out", "trunk"};
    return {{"hosts", share.hosts},
            {"direction", directions[static_cast<std::size_t>(share.direction)]},
            {"flows", share.flows},
            {"total_bytes_per_s", known(share.total_bytes_per_s)},
            {"least_bytes_per_s", known(share.least_bytes_per_s)},
            {"most_bytes_per_s", known(share.most_bytes_per_s)}};
}

OrderedJson all_to_all_json(const Document::AllToAll& all) {
    return {{"hosts", all.hosts}, {"times", rows(all.times, escalating_json)}};
}

OrderedJson neighbours_json(const Document::Neighbours& grid) {
    return {{"flows", rows(grid.flows, pair_json)}, {"times", rows(grid.times, escalating_json)}};
}

OrderedJson messages_json(const Document::Messages& messages) {
    const auto& both = messages.two_in_one_out;
    return {{"pairs", rows(messages.pairs, message_pair_json)},
            {"hosts", rows(messages.hosts, delay_json)},
            {"shares", rows(messages.shares, share_json)},
            {"two_in_one_out", both ? OrderedJson{{"in_bytes_per_s", known(both->in_bytes_per_s)},
                                           {"out_bytes_per_s", known(both->out_bytes_per_s)}}
                                    : OrderedJson()},
            {"all_to_all", rows(messages.all_to_all, all_to_all_json)},
            {"neighbours", rows(messages.neighbours, neighbours_json)},
            {"many_to_one", rows(messages.many_to_one, escalating_json)},
            {"one_to_many", rows(messages.one_to_many, time_json)},
            {"least_retransmission_timeout_s", known(messages.least_retransmission_timeout_s)}};
}

}  // namespace

std::string write_measured_document(const MeasuredDocument& document) {
    const OrderedJson json{{"format", "headway-measure"},
                    {"headway", document.headway},
                    {"hosts", rows(document.hosts, host_json)},
                    {"bytes_sent", document.bytes_sent},
                    {"seconds", known(document.seconds)},
                    {"start_skew_s", known(document.start_skew_s)},
                    {"resolution_s", known(document.resolution_s)},
                    {"links", rows(document.links, link_json)},
                    {"round_trips", rows(document.round_trips, round_trip_json)},
                    {"buffer_sharing", rows(document.buffer_sharing, sharing_json)},
                    {"heights", rows(document.heights, height_json)},
                    {"messages",
                     document.messages ? messages_json(*document.messages) : OrderedJson()},
                    {"models", document.models},
                    {"differences", document.differences},
                    {"remarks", document.remarks}};
    return json_text(json, 2) + "\n";
}

}  // namespace headway
