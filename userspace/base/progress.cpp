// SPDX-License-Identifier: Apache-2.0
#include "base/progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include <fmt/core.h>

namespace headway {

bool is_terminal_stderr() { return isatty(STDERR_FILENO) == 1; }

Progress::Progress(std::ostream& out, const Clock& clock, bool is_terminal, std::string what)
    : out_(out),
      clock_(clock),
      is_terminal_(is_terminal),
      what_(std::move(what)),
      started_(clock.now()),
      next_(started_ + first_after) {}

void Progress::show(std::uint64_t done, std::uint64_t all) {
    if (!is_terminal_) return;
    const auto now = clock_.now();
    if (now < next_) return;
    next_ = now + redraw_after;
    const double part = all == 0 ? 0 : static_cast<double>(std::min(done, all)) /
                                           static_cast<double>(all);
    const std::string text = line(part, now - started_);
    const std::size_t left_over = shown_columns_ - std::min(shown_columns_, text.size());
    out_ << '\r' << text << std::string(left_over, ' ') << std::flush;
    shown_columns_ = std::max(shown_columns_, text.size());
}

void Progress::erase() {
    if (shown_columns_ == 0) return;
    out_ << '\r' << std::string(shown_columns_, ' ') << '\r' << std::flush;
    shown_columns_ = 0;
}

std::string Progress::line(double part, std::chrono::nanoseconds elapsed) const {
    const auto filled = static_cast<unsigned>(part * bar_columns);
    std::string bar(filled, '=');
    if (filled < bar_columns) bar += '>';
    std::string text = fmt::format("{}  [{:<{}}] {:3.0f} %", what_, bar, bar_columns,
                                   std::floor(100 * part));
    if (part > 0) {
        const double elapsed_s = std::chrono::duration<double>(elapsed).count();
        text += fmt::format(", {:.0f} s left", std::ceil(elapsed_s * (1 - part) / part));
    }
    return text;
}

}  // namespace headway
