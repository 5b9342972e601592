// SPDX-License-Identifier: Apache-2.0
// The cgroup (v2) that a process is in, as the kernel says it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/error.hpp"

namespace headway {

/// The places where the kernel shows processes and cgroups.
struct CgroupFolders {
    std::string proc = "/proc";
    std::string cgroups = "/sys/fs/cgroup";
    bool must_be_cgroup2 = true;  ///< false: any folder will do, for a test without the privilege
};

/// The id that the kernel's bpf_skb_cgroup_id() gives for sockets that the process
/// makes.  `process`, its pidfd, says that the number was its own all the time: it
/// is looked at last.  Fails if the process has ended, may not be looked at, or is
/// in no cgroup that can be seen from here.
[[nodiscard]] Result<std::uint64_t> cgroup_of(pid_t pid, int process,
                                              const CgroupFolders& folders = {});

}  // namespace headway
