// SPDX-License-Identifier: Apache-2.0
// What went wrong, as a sentence for the person who has to mend it.  Errors are
// values: nothing in Headway throws across a module's boundary.
#pragma once

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>
#include <tl/expected.hpp>

namespace headway {

struct Error {
    std::string message;
    int error_number = 0;  ///< errno of the system call or of the kernel's answer; 0: none

    /// Returns this error with the caller's context in front: "while doing x: ...".
    [[nodiscard]] Error within(std::string_view context) const {
        return {fmt::format("{}: {}", context, message), error_number};
    }
};

template <class Value>
using Result = tl::expected<Value, Error>;

template <class... Args>
[[nodiscard]] tl::unexpected<Error> failure(fmt::format_string<Args...> format, Args&&... args) {
    return tl::unexpected(Error{fmt::format(format, std::forward<Args>(args)...)});
}

/// Makes an error as failure() does, with the errno that tells callers what kind of failure it is.
template <class... Args>
[[nodiscard]] tl::unexpected<Error> system_failure(int error_number,
                                                   fmt::format_string<Args...> format,
                                                   Args&&... args) {
    return tl::unexpected(Error{fmt::format(format, std::forward<Args>(args)...), error_number});
}

/// Makes an error of errno, which the system call that has just failed has set.
[[nodiscard]] inline tl::unexpected<Error> errno_failure(std::string_view what) {
    return system_failure(errno, "{}: {}", what, std::strerror(errno));
}

}  // namespace headway
