// SPDX-License-Identifier: Apache-2.0
// A line for the log.
//
// spdlog's own functions that format compile all of fmt's formatter anew in every
// file that uses one; fmt::format() is compiled in its library.
#pragma once

#include <cctype>
#include <string>
#include <utility>

#include <fmt/core.h>
#include <spdlog/logger.h>

namespace headway {

/// One event is one line, whatever programs and kernels have put into its text.
[[nodiscard]] inline std::string one_line(std::string text) {
    while (text.ends_with('\n')) text.pop_back();
    for (char& c : text) {
        if (std::iscntrl(static_cast<unsigned char>(c)) != 0) c = ' ';
    }
    return text;
}

template <class... Args>
void log_line(spdlog::logger& log, spdlog::level::level_enum level,
              fmt::format_string<Args...> format, Args&&... args) {
    if (!log.should_log(level)) return;
    const std::string line = one_line(fmt::format(format, std::forward<Args>(args)...));
    log.log(level, spdlog::string_view_t(line));
}

template <class... Args>
void log_debug(spdlog::logger& log, fmt::format_string<Args...> format, Args&&... args) {
    log_line(log, spdlog::level::debug, format, std::forward<Args>(args)...);
}

template <class... Args>
void log_info(spdlog::logger& log, fmt::format_string<Args...> format, Args&&... args) {
    log_line(log, spdlog::level::info, format, std::forward<Args>(args)...);
}

template <class... Args>
void log_warning(spdlog::logger& log, fmt::format_string<Args...> format, Args&&... args) {
    log_line(log, spdlog::level::warn, format, std::forward<Args>(args)...);
}

template <class... Args>
void log_error(spdlog::logger& log, fmt::format_string<Args...> format, Args&&... args) {
    log_line(log, spdlog::level::err, format, std::forward<Args>(args)...);
}

}  // namespace headway
