// SPDX-License-Identifier: Apache-2.0
// A terminal that is drawn on as a whole: plain ANSI, no library.
#pragma once

#include <termios.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace headway {

/// From here to the end of its life standard output shows frames instead of lines,
/// and standard input gives keys without waiting for a line.  What was on the
/// screen comes back, also after SIGINT and SIGTERM, which wait() reports.
class Terminal {
public:
    Terminal();
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;
    ~Terminal();

    /// Both ends of the program are a terminal.
    [[nodiscard]] static bool is_there();

    struct Size {
        std::size_t width = 80;
        std::size_t height = 24;
    };
    [[nodiscard]] Size size() const;
    void draw(const std::vector<std::string>& lines) const;

    enum class Event { quit, resize, time };
    /// A key that ends it (q, or the input's end), another size, or the time is up.
    [[nodiscard]] Event wait(std::chrono::milliseconds time) const;

private:
    termios before_{};
};

}  // namespace headway
