// SPDX-License-Identifier: Apache-2.0
// What `headway predict` has found, as text, as JSON and as a picture.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/svg_chart.hpp"
#include "models/predict_models.hpp"
#include "protocol/protocol.hpp"

namespace headway {

/// The predictions at one place of the picture's x axis.
struct PredictedPoint {
    std::optional<std::uint64_t> message_bytes;  ///< none: messages are of several sizes
    std::uint32_t hosts = 0;
    ModelTimes models;
};

/// Writes each model's time and reason, without the models that were left out.
[[nodiscard]] Json model_times_json(const ModelTimes& models);

/// `what_if`: changes of the network that were asked for.
void print_points_text(std::string_view what, const std::vector<std::string>& what_if,
                       const std::vector<PredictedPoint>& points);
void print_points_json(std::string_view what, const std::vector<std::string>& what_if,
                       const std::vector<PredictedPoint>& points);
[[nodiscard]] Chart points_chart(std::string_view what, const std::vector<PredictedPoint>& points,
                                 bool over_hosts);

}  // namespace headway
