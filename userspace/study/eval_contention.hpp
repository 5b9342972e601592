// SPDX-License-Identifier: Apache-2.0
// `headway eval`: the contention signatures of models/contention.hpp.
#pragma once

#include <span>

#include "study/eval_interface.hpp"

namespace headway {

[[nodiscard]] std::span<const EvalOperation> eval_contention_operations();

}  // namespace headway
