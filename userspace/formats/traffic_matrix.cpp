// SPDX-License-Identifier: Apache-2.0
#include "formats/traffic_matrix.hpp"

#include <algorithm>
#include <tuple>

namespace headway {
namespace {

bool is_before(const TrafficFlow& a, const TrafficFlow& b) {
    return std::tie(a.source, a.destination) < std::tie(b.source, b.destination);
}

}  // namespace

Result<TrafficMatrix> TrafficMatrix::make(std::uint32_t ranks, std::vector<TrafficFlow> flows) {
    if (ranks > ranks_max) return failure("{} ranks are more than {}", ranks, ranks_max);
    if (flows.size() > flows_max) return failure("more than {} flows", flows_max);
    std::stable_sort(flows.begin(), flows.end(), is_before);
    TrafficMatrix matrix;
    matrix.ranks_ = ranks;
    std::uint64_t bytes = 0, messages = 0;
    for (const TrafficFlow& flow : flows) {
        if (flow.source >= ranks || flow.destination >= ranks) {
            return failure("a message from rank {} to rank {}, but there are {} ranks", flow.source,
                           flow.destination, ranks);
        }
        if (flow.bytes == 0 && flow.messages == 0) continue;
        if (flow.bytes > bytes_max - bytes || flow.messages > messages_max - messages) {
            return failure("up to the messages from rank {} to rank {} they are more than {} EiB or {} messages",
                           flow.source, flow.destination, bytes_max >> 60, messages_max);
        }
        bytes += flow.bytes;
        messages += flow.messages;
        if (matrix.flows_.empty() || is_before(matrix.flows_.back(), flow)) {
            matrix.flows_.push_back(flow);
            continue;
        }
        TrafficFlow& sum = matrix.flows_.back();
        sum.bytes += flow.bytes;
        sum.messages += flow.messages;
    }
    return matrix;
}

std::uint64_t TrafficMatrix::bytes(std::uint32_t source, std::uint32_t destination) const {
    const TrafficFlow wanted{source, destination, 0, 0};
    const auto found = std::lower_bound(flows_.begin(), flows_.end(), wanted, is_before);
    if (found == flows_.end() || is_before(wanted, *found)) return 0;
    return found->bytes;
}

std::optional<double> TrafficMatrix::message_bytes() const {
    double bytes = 0, messages = 0;
    for (const TrafficFlow& flow : flows_) {
        if (flow.messages == 0) continue;
        bytes += static_cast<double>(flow.bytes);
        messages += static_cast<double>(flow.messages);
    }
    if (messages == 0) return std::nullopt;
    return bytes / messages;
}

}  // namespace headway
