// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace headway {

/// Exit codes that headwayd and headway share.
enum class ExitStatus {
    ok = 0,
    failure = 1,     ///< the kernel, the daemon or the system said no
    bad_config = 2,  ///< the configuration or the command line is wrong; nothing was done
    cannot_tell = 3,  ///< headway doctor has seen too little to judge by
    cannot_execute = 126,  ///< the command of headway run, as shells say it
    no_command = 127,      ///< there is no such command
};

}  // namespace headway
