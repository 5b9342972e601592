// SPDX-License-Identifier: Apache-2.0
#include "models/many_to_one.hpp"

#include <algorithm>
#include <limits>

namespace headway {
namespace {

/// From the start to the arrival over a path that begins or ends at `path.host`.
double arrival_s(const DelayedPath& path, double message_bytes) {
    return path.host.of(message_bytes) + message_bytes / path.rate_bytes_per_s;
}

/// A message whose path nobody waits on.
struct Message {
    double arrival_s;
    double service_s;
};

/// Sources with the least delay first; of equals, the order of input.
std::vector<Message> sorted_messages(std::span<const DelayedPath> sources, double message_bytes) {
    std::vector<Message> messages;
    messages.reserve(sources.size());
    for (const DelayedPath& source : sources) {
        messages.push_back({arrival_s(source, message_bytes), source.host.of(message_bytes)});
    }
    std::stable_sort(messages.begin(), messages.end(), [](const Message& a, const Message& b) {
        return a.service_s < b.service_s;
    });
    return messages;
}

double linear_s(const std::vector<Message>& messages) {
    double sum = messages.front().arrival_s;
    for (std::size_t i = 1; i < messages.size(); ++i) sum += messages[i].service_s;
    return sum;
}

double idle_s(std::vector<Message> messages) {
    std::stable_sort(
        messages.begin() + 1, messages.end(),
        [](const Message& a, const Message& b) { return a.arrival_s < b.arrival_s; });
    double idle = 0;
    double free_at = messages.front().arrival_s;
    for (std::size_t i = 1; i < messages.size(); ++i) {
        idle += std::max(0.0, messages[i].arrival_s - free_at);
        free_at = std::max(free_at, messages[i].arrival_s) + messages[i].service_s;
    }
    return idle;
}

}  // namespace

double point_to_point_s(const IndependentPair& pair, double message_bytes) {
    return pair.source.of(message_bytes) + pair.destination.of(message_bytes) +
           message_bytes / pair.rate_bytes_per_s;
}

Result<double> one_to_many_s(const ProcessingDelay& root,
                             std::span<const DelayedPath> destinations, double message_bytes,
                             double buffered_bytes) {
    if (destinations.empty()) return failure("there is no destination");
    double longest = -std::numeric_limits<double>::infinity();
    double sum = 0;
    for (const DelayedPath& destination : destinations) {
        const double one = arrival_s(destination, message_bytes);
        longest = std::max(longest, one);
        sum += one;
    }
    const double send = root.fixed_s + root.per_byte_s * message_bytes *
                                           static_cast<double>(destinations.size());
    return send + (message_bytes <= buffered_bytes ? longest : sum);
}

Result<double> independent_pairs_s(std::span<const IndependentPair> pairs, double message_bytes) {
    if (pairs.empty()) return failure("there is no pair");
    double longest = -std::numeric_limits<double>::infinity();
    for (const IndependentPair& pair : pairs) {
        longest = std::max(longest, point_to_point_s(pair, message_bytes));
    }
    return longest;
}

Result<ManyToOneTime> many_to_one(std::span<const DelayedPath> sources, double message_bytes,
                                  const ManyToOneRegions& regions, ReceiverIdle idle) {
    if (sources.empty()) return failure("there is no source");
    if (regions.small_bytes > regions.large_bytes) {
        return failure("the congested sizes begin at {} and end at {} bytes", regions.small_bytes,
                       regions.large_bytes);
    }
    const auto messages = sorted_messages(sources, message_bytes);
    ManyToOneTime result{0, linear_s(messages), idle_s(messages)};
    if (message_bytes <= regions.small_bytes) {
        const double waiting = idle == ReceiverIdle::counted ? result.idle_s : 0;
        result.time_s = regions.small_factor * (result.linear_s + waiting);
    } else if (message_bytes <= regions.large_bytes) {
        result.time_s = regions.congested_s;
    } else {
        result.time_s = regions.large_factor * result.linear_s;
    }
    return result;
}

Result<ManyToOneTime> gather(std::span<const DelayedPath> hosts, std::size_t root,
                             double message_bytes, const ManyToOneRegions& regions,
                             ReceiverIdle idle) {
    if (root >= hosts.size()) return failure("there is no host {}", root);
    std::vector<DelayedPath> sources(hosts.begin(), hosts.end());
    sources.erase(sources.begin() + static_cast<std::ptrdiff_t>(root));
    return many_to_one(sources, message_bytes, regions, idle);
}

}  // namespace headway
