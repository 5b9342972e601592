// SPDX-License-Identifier: Apache-2.0
// The releases of Linux that the module sch_gap is tested with.  DKMS builds it for these and leaves others
// out, where fq paces: whoever looks at the node is told why.
#pragma once

#include <string>
#include <string_view>

namespace headway {

/// `release` as `uname -r` has it.
[[nodiscard]] bool is_tested_kernel(std::string_view release);

/// "" for a tested one, and otherwise "the module is tested with Linux ..., and this is Linux RELEASE".
[[nodiscard]] std::string why_kernel_is_not_tested(std::string_view release);

/// Returns the release of this machine's kernel.
[[nodiscard]] std::string running_kernel();

}  // namespace headway
