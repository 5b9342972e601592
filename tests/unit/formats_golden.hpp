// SPDX-License-Identifier: Apache-2.0
// The files that the formats' tests and their fuzz targets share.
#pragma once

#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "base/file_error.hpp"

namespace headway::test {

inline std::string golden(const std::string& name) {
    std::ifstream file(std::string(HEADWAY_SOURCE_DIR "/tests/fuzz/corpus/") + name);
    EXPECT_TRUE(file) << name;
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

/// All mistakes, a line each.
template <class Value>
std::string told(const FileResult<Value>& result) {
    if (result) return "no mistakes";
    std::string text;
    for (const FileError& error : result.error()) {
        EXPECT_FALSE(error.reason.empty());
        text += error.to_string() + "\n";
    }
    return text;
}

}  // namespace headway::test
