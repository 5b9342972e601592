// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace headway {

/// One of several files that are read together.
struct NamedText {
    std::string file;
    std::string_view text;
};

}  // namespace headway
