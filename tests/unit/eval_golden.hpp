// SPDX-License-Identifier: Apache-2.0
// Lines in, lines out: what tests of `headway eval` compare.
#pragma once

#include <cmath>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "study/eval_interface.hpp"
#include "study/eval_lines.hpp"

namespace headway::test {

/// Whether two results are the same, numbers to 1e-9 of their size.
inline bool same_result(const EvalJson& got, const EvalJson& wanted) {
    if (got.is_number() && wanted.is_number()) {
        const double a = got.get<double>();
        const double b = wanted.get<double>();
        return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b));
    }
    if (got.type() != wanted.type() || got.size() != wanted.size()) return false;
    if (got.is_array()) {
        for (std::size_t i = 0; i < got.size(); ++i) {
            if (!same_result(got[i], wanted[i])) return false;
        }
        return true;
    }
    if (got.is_object()) {
        for (const auto& [key, value] : wanted.items()) {
            if (!got.contains(key) || !same_result(got[key], value)) return false;
        }
        return true;
    }
    return got == wanted;
}

/// `line` is answered with `result`, both JSON.
inline void expect_result(std::string_view line, std::string_view result) {
    const EvalJson got = EvalJson::parse(eval_line(line).line);
    ASSERT_TRUE(got.contains("result")) << line << "\n" << got.dump();
    EXPECT_EQ(got["id"], EvalJson::parse(line)["id"]);
    EXPECT_TRUE(same_result(got["result"], EvalJson::parse(result)))
        << line << "\ngives  " << got["result"].dump() << "\nnot    " << result;
}

/// `line` is answered with this error.
inline void expect_error(std::string_view line, std::string_view error) {
    const EvalJson got = EvalJson::parse(eval_line(line).line);
    EXPECT_EQ(got.value("error", got.dump()), error) << line;
}

}  // namespace headway::test
