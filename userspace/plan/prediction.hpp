// SPDX-License-Identifier: Apache-2.0
// From an exchange's network to its predicted time, in words as well.  Inner
// part of planner.hpp, which has the vocabulary.
#pragma once

#include "plan/planner.hpp"

namespace headway {

/// "trunk of a (up)", "edge of a receiver in b".
[[nodiscard]] std::string exchange_link_text(const Topology& topology, const Exchange& exchange,
                                             const ExchangeLink& link);

/// What the cable has in that direction.
[[nodiscard]] BitsPerSecond exchange_link_rate(const Topology& topology, const Exchange& exchange,
                                               const ExchangeLink& link);

/// Seconds for people: "1.54 s", "364 ms", "12.3 us".
[[nodiscard]] std::string seconds_text(double seconds);

/// Bytes for people: "512 KiB", "12.5 MiB".
[[nodiscard]] std::string bytes_text(double bytes);

/// The longest one-way delay between clusters that take part, in s.
[[nodiscard]] double exchange_latency_s(const Topology& topology, const Exchange& exchange);

/// Predicts one run of the network; every message starts at once.
[[nodiscard]] Prediction predict(const Topology& topology, const Exchange& exchange,
                                 const ExchangeNetwork& network);

/// Caps every flow at what its class leaves it: rates[group][cluster], bytes/s.
/// A class without a rate caps nothing.  A class is busy until its last message
/// ends, so that each gets its part by size.
void cap_flows(ExchangeNetwork& network, const Exchange& exchange,
               const std::vector<std::vector<std::optional<BytesPerSecond>>>& rates);

}  // namespace headway
