// SPDX-License-Identifier: Apache-2.0
// A shown plan as text, as JSON and as input of `tc -batch`.
#pragma once

#include "cli/shown_plan.hpp"

namespace headway {

void print_plan_text(const ShownPlan& shown, const Config& config);
void print_plan_json(const ShownPlan& shown, const Config& config);
/// The first node's set-up and rates.
void print_plan_tc(const ShownPlan& shown, const Config& config);

/// "364 ms", "357 ms .. 757 ms".
[[nodiscard]] std::string prediction_range_text(double low_s, double high_s);

}  // namespace headway
