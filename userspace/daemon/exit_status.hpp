// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace headway {

/// Of headwayd and of headway alike.
enum class ExitStatus {
    ok = 0,
    failure = 1,     ///< the kernel, the daemon or the system said no
    bad_config = 2,  ///< the configuration or the command line is wrong; nothing was done
};

}  // namespace headway
