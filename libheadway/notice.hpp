// SPDX-License-Identifier: MIT
// The library says at most one line per job when it cannot pace.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "unique_fd.hpp"

namespace headway::glue {

/// "headway: TEXT" on stderr as one write, so that lines of several ranks do
/// not mix.  Control characters (the text may quote a stranger's answer) become
/// question marks.
/// Of a process that has no memory for the line, its first 500 bytes.
void say(std::string_view text) noexcept;

/// Tells of trouble during the run, when ranks cannot agree on who speaks: the
/// first one on this node does.  The right to speak is an abstract socket named
/// after the job, which goes away with the process that holds it.
class OncePerNode {
public:
    explicit OncePerNode(std::string job) : job_(std::move(job)) {}

    void set_job(std::string job) { job_ = std::move(job); }

    /// Says no more, because the job has been told already.
    void silence() { silent_ = true; }

    void say(const std::string& text);

private:
    [[nodiscard]] bool first_on_node();

    std::string job_;
    bool silent_ = false;
    UniqueFd right_to_speak_;
};

}  // namespace headway::glue
