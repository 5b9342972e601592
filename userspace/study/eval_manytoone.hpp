// SPDX-License-Identifier: Apache-2.0
// `headway eval`: the heterogeneous hosts of models/many_to_one.hpp.
#pragma once

#include <span>

#include "study/eval_interface.hpp"

namespace headway {

[[nodiscard]] std::span<const EvalOperation> eval_manytoone_operations();

}  // namespace headway
