// SPDX-License-Identifier: Apache-2.0
#include "models/contention.hpp"

#include <algorithm>

namespace headway {
namespace {

/// The messages that one process sends, or receives.
struct Load {
    double messages = 0;
    double bytes = 0;

    void add(double message_bytes) {
        if (message_bytes > 0) ++messages;
        bytes += message_bytes;
    }
};

}  // namespace

Result<double> exchange_bound_s(const std::vector<std::vector<double>>& bytes,
                                const TransmissionCost& cost) {
    std::vector<Load> sent(bytes.size());
    std::vector<Load> received(bytes.size());
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (bytes[i].size() != bytes.size()) {
            return failure("row {} has {} messages for {} processes", i, bytes[i].size(),
                           bytes.size());
        }
        for (std::size_t j = 0; j < bytes.size(); ++j) {
            if (i == j) continue;
            if (!(bytes[i][j] >= 0)) return failure("the message from {} to {} is negative", i, j);
            sent[i].add(bytes[i][j]);
            received[j].add(bytes[i][j]);
        }
    }
    Load most;
    for (const auto* loads : {&sent, &received}) {
        for (const Load& load : *loads) {
            most.messages = std::max(most.messages, load.messages);
            most.bytes = std::max(most.bytes, load.bytes);
        }
    }
    return most.messages * cost.startup_s + most.bytes * cost.per_byte_s;
}

double alltoall_bound_s(std::uint64_t processes, double message_bytes,
                        const TransmissionCost& cost) {
    return alltoall_contended_s(processes, message_bytes, cost, {});
}

double alltoall_contended_s(std::uint64_t processes, double message_bytes,
                            const TransmissionCost& cost, const ContentionSignature& signature) {
    double message_s = cost.startup_s + message_bytes * cost.per_byte_s * signature.ratio;
    if (message_bytes >= signature.threshold_bytes) message_s += signature.startup_s;
    return static_cast<double>(processes - 1) * message_s;
}

Result<TwoClusterExchange> two_cluster_exchange(std::pair<double, double> local_s,
                                                std::pair<std::uint64_t, std::uint64_t> processes,
                                                const TransmissionCost& wide_area,
                                                double message_bytes) {
    const auto [fewer, more] = std::minmax(processes.first, processes.second);
    if (fewer == 0) return failure("a cluster has no processes");
    const double inside_s = std::max(local_s.first, local_s.second);
    const double steps = static_cast<double>((more - 1) / fewer + 1);
    const auto with = [&](std::uint64_t messages) {
        return inside_s + steps * wide_area.of(message_bytes * static_cast<double>(messages));
    };
    return TwoClusterExchange{with(fewer + more), with(fewer), 2 * more, 2 * fewer * more};
}

}  // namespace headway
