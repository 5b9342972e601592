// SPDX-License-Identifier: Apache-2.0
// `headway eval`: the congestion factors of models/congestion.hpp.
#pragma once

#include <span>

#include "study/eval_interface.hpp"

namespace headway {

[[nodiscard]] std::span<const EvalOperation> eval_congestion_operations();

}  // namespace headway
