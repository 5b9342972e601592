// SPDX-License-Identifier: Apache-2.0
// What headway-eval and the adapters of the models agree on.
//
// An operation is a row {model, op, function}: the function takes the "input"
// of a line, already parsed, and gives the "result" or one sentence that says
// what is wrong.  The line, its id, and what goes wrong before or after are
// in eval_lines.cpp.
//
// To add a model:
//   1. eval_<model>.cpp holds the functions and the table, and no arithmetic:
//      that is in userspace/models/.
//   2. Its table is declared below, and named once more in the list in
//      eval_lines.cpp (eval_operations()).
//   3. Golden lines go to headway-eval.1 and known_answers.py, and its reference
//      in Python stands beside these.
//
// A function reads its input through EvalInput (models/eval_input.hpp), asks it for
// finish() once, and then computes.
//
// A result holds plain numbers; an infinite one becomes null on the way out, a
// NaN makes the whole line an error.
#pragma once

#include <span>
#include <string_view>

#include "models/eval_input.hpp"

namespace headway {

struct EvalOperation {
    std::string_view model;
    std::string_view op;
    EvalResult (*run)(const EvalJson& input);
};

[[nodiscard]] std::span<const EvalOperation> eval_congestion_operations();
[[nodiscard]] std::span<const EvalOperation> eval_contention_operations();
[[nodiscard]] std::span<const EvalOperation> eval_manytoone_operations();
[[nodiscard]] std::span<const EvalOperation> eval_matb_operations();
[[nodiscard]] std::span<const EvalOperation> eval_plogpt_operations();

}  // namespace headway
