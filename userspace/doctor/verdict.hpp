// SPDX-License-Identifier: Apache-2.0
// Whether Headway would help this node: one sentence, made of two looks.  Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "doctor/judge.hpp"

namespace headway {

enum class Answer {
    would_help,
    would_not_help,
    cannot_tell,  ///< not yet: what to run is said
};
[[nodiscard]] const char* answer_name(Answer answer);

struct Verdict {
    Answer answer = Answer::cannot_tell;
    std::string why;    ///< a sentence
    std::string to_do;  ///< a sentence, with what to run next
};

/// `findings`: judge()'s, of the same looks.
[[nodiscard]] Verdict verdict(const Look& before, const Look& after, const std::vector<Finding>& findings,
                              std::chrono::duration<double> between);

}  // namespace headway
