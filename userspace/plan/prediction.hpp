// SPDX-License-Identifier: Apache-2.0
// How long an exchange takes, by the fluid model and in words as well; planner.hpp has
// the vocabulary.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "plan/exchange.hpp"

namespace headway {

/// How long a collective takes.
struct Prediction {
    double low_s = 0;            ///< without time-outs
    double high_s = 0;           ///< with one on every link that can overflow
    std::uint32_t timeouts = 0;  ///< how many that are
    std::string reason;          ///< what limits, and what can overflow
    double frame_loss = 0;       ///< part of a link's frames, by chance, though all hosts send evenly
    double piled_up_bytes = 0;   ///< in front of one link, at the most
    /// The time by measurements of this network (planner_measured.hpp), which replace the model's.
    struct Measured {
        double time_s = 0;
        std::string source;      ///< "the all-to-alls measured on 8 hosts"
        bool was_lossy = false;  ///< packets were lost, unpaced: then it decides
        double timeout_part = 0;  ///< of calls that are expected to meet a time-out
        double overhead_s = 0;   ///< of the hosts: what the fluid model leaves out
        double usual_s = 0;      ///< median of calls that meet no time-out
    };
    std::optional<Measured> measured{};

    /// Whether what was measured decides, instead of the fluid model.
    [[nodiscard]] bool is_known_lossy() const { return measured && measured->was_lossy; }
    [[nodiscard]] bool loses_nothing() const { return timeouts == 0 && !is_known_lossy(); }
};

/// Seconds for people: "1.54 s", "364 ms", "12.3 us".
[[nodiscard]] std::string seconds_text(double seconds);

/// Bytes for people: "512 KiB", "12.5 MiB".
[[nodiscard]] std::string bytes_text(double bytes);

/// Predicts one run of the network; every message starts at once.
[[nodiscard]] Prediction predict(const ExchangeNetwork& network);

}  // namespace headway
