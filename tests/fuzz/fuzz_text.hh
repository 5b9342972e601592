// SPDX-License-Identifier: Apache-2.0
// What the fuzz targets of readers share: an input is a text, and what has to
// hold is that a reader says what is wrong or gives a result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include "base/file_error.hpp"

namespace headway::fuzz {

inline std::string_view text_of(const uint8_t* data, size_t size) {
    return {reinterpret_cast<const char*>(data), size};
}

inline void require(bool holds, const char* what) {
    if (holds) return;
    fmt::print(stderr, "broken: {}\n", what);
    std::abort();
}

/// True for a result; an error has to tell a reason.
template <class Value>
bool is_result(const FileResult<Value>& result) {
    if (result) return true;
    require(!result.error().empty(), "an error without mistakes");
    for (const FileError& error : result.error()) {
        require(!error.reason.empty(), "a mistake without a reason");
    }
    return false;
}

}  // namespace headway::fuzz
