// SPDX-License-Identifier: Apache-2.0
// `headway eval`: the rates of models/matb.hpp, npb_pattern.hpp and pacing.hpp.
#pragma once

#include <span>

#include "study/eval_interface.hpp"

namespace headway {

[[nodiscard]] std::span<const EvalOperation> eval_matb_operations();

}  // namespace headway
