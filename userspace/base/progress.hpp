// SPDX-License-Identifier: Apache-2.0
// How far a long run has come, on a terminal:
//
//   predicting  [=======>            ]  35 %, 12 s left
//
// Shown from half a second on and redrawn ten times a second at most, so that
// calling it often costs little; a run that is soon over shows nothing.  The line
// is erased at the end.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>

#include "base/clock.hpp"

namespace headway {

[[nodiscard]] bool is_terminal_stderr();

class Progress {
public:
    static constexpr std::chrono::milliseconds first_after{500};
    static constexpr std::chrono::milliseconds redraw_after{100};
    static constexpr unsigned bar_columns = 20;

    /// It writes nothing unless `is_terminal`.
    Progress(std::ostream& out, const Clock& clock, bool is_terminal, std::string what);
    ~Progress() { erase(); }
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    /// `done` of `all`; nothing is known to be done while `all` is 0.
    void show(std::uint64_t done, std::uint64_t all);
    /// Before anything else is written to the terminal.
    void erase();

private:
    [[nodiscard]] std::string line(double part, std::chrono::nanoseconds elapsed) const;

    std::ostream& out_;
    const Clock& clock_;
    bool is_terminal_;
    std::string what_;
    std::chrono::nanoseconds started_;
    std::chrono::nanoseconds next_;
    std::size_t shown_columns_ = 0;
};

}  // namespace headway
