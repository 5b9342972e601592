// SPDX-License-Identifier: Apache-2.0
// What `headway eval` and the adapters of the models agree on.
//
// An operation is a row {model, op, function}: the function takes the "input"
// of a line, already parsed, and gives the "result" or one sentence that says
// what is wrong.  The line, its id, and what goes wrong before or after are
// in eval_lines.cpp.
//
// To add a model:
//   1. study/eval_<model>.hpp declares
//          [[nodiscard]] std::span<const EvalOperation> eval_<model>_operations();
//      study/eval_<model>.cpp holds the functions and the table, and no
//      arithmetic: that is in models/.
//   2. It is named once more in the list in eval_lines.cpp (eval_operations()).
//   3. Golden lines go to tests/unit/eval_<model>_test.cpp.
//
// A function reads its input through EvalInput (study/eval_input.hpp), asks it for
// finish() once, and then computes.
//
// A result holds plain numbers; an infinite one becomes null on the way out, a
// NaN makes the whole line an error.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <tl/expected.hpp>

#include "study/eval_input.hpp"

namespace headway {

using EvalJson = nlohmann::json;
using EvalResult = tl::expected<EvalJson, std::string>;

template <class... Args>
[[nodiscard]] tl::unexpected<std::string> eval_failure(fmt::format_string<Args...> format,
                                                       Args&&... args) {
    return tl::unexpected(fmt::format(format, std::forward<Args>(args)...));
}

struct EvalOperation {
    std::string_view model;
    std::string_view op;
    EvalResult (*run)(const EvalJson& input);
};

}  // namespace headway
