// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string_view>

namespace headway {
namespace {

volatile std::sig_atomic_t is_ended = 0;
volatile std::sig_atomic_t is_resized = 0;

void on_signal(int signal) {
    if (signal == SIGWINCH) is_resized = 1;
    else is_ended = 1;
}

void write_all(std::string_view text) {
    while (!text.empty()) {
        const ssize_t length = write(STDOUT_FILENO, text.data(), text.size());
        if (length < 0 && errno == EINTR) continue;
        if (length <= 0) return;
        text.remove_prefix(static_cast<std::size_t>(length));
    }
}

constexpr std::string_view other_screen = "\x1b[?1049h\x1b[?25l";
constexpr std::string_view first_screen = "\x1b[?25h\x1b[?1049l";

}  // namespace

Terminal::Terminal() {
    tcgetattr(STDIN_FILENO, &before_);
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    struct sigaction action {};
    action.sa_handler = on_signal;
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGWINCH}) sigaction(signal, &action, nullptr);
    write_all(other_screen);
}

Terminal::~Terminal() {
    write_all(first_screen);
    tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

bool Terminal::is_there() { return isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1; }

Terminal::Size Terminal::size() const {
    winsize size{};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
    return {size.ws_col, size.ws_row};
}

/// Over what is there, so that nothing flickers.
void Terminal::draw(const std::vector<std::string>& lines) const {
    std::string text = "\x1b[H";
    for (std::size_t i = 0; i < lines.size(); ++i) {
        if (i > 0) text += "\n";
        text += lines[i] + "\x1b[K";
    }
    text += "\x1b[J";
    write_all(text);
}

Terminal::Event Terminal::wait(std::chrono::milliseconds time) const {
    using Steady = std::chrono::steady_clock;
    const auto deadline = Steady::now() + time;
    for (;;) {
        if (is_ended != 0) return Event::quit;
        if (is_resized != 0) {
            is_resized = 0;
            return Event::resize;
        }
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Steady::now());
        if (left.count() <= 0) return Event::time;
        pollfd input{STDIN_FILENO, POLLIN, 0};
        // A signal just before this waits for the next frame at most.
        if (poll(&input, 1, static_cast<int>(left.count())) <= 0) continue;
        char key = 0;
        const ssize_t length = read(STDIN_FILENO, &key, 1);
        const bool is_gone = length == 0 && (input.revents & (POLLHUP | POLLERR)) != 0;
        if (is_gone || (length < 0 && errno != EINTR) || key == 'q' || key == 'Q') return Event::quit;
    }
}

}  // namespace headway
