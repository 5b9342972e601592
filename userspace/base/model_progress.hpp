// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

namespace headway {

/// Hears how many of all steps of a long calculation are done; may be empty.
using ModelProgress = std::function<void(std::uint64_t done, std::uint64_t all)>;

}  // namespace headway
