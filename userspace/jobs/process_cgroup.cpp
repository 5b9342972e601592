// SPDX-License-Identifier: Apache-2.0
#include "jobs/process_cgroup.hpp"

#include <linux/magic.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace headway {
namespace {

/// The folder of cgroups v2 on a machine that has v1 beside them.
constexpr const char* hybrid_folder = "/unified";
constexpr std::string_view v2_prefix = "0::";

/// From the line of cgroups v2: "0::/path".
Result<std::string> path_of(pid_t pid, const std::string& proc) {
    const std::string file = fmt::format("{}/{}/cgroup", proc, pid);
    std::ifstream in(file);
    if (!in) return errno_failure(file);
    for (std::string line; std::getline(in, line);) {
        if (!line.starts_with(v2_prefix)) continue;
        std::string path = line.substr(v2_prefix.size());
        // of another cgroup namespace, or gone
        if (path.find("/..") != std::string::npos || path.ends_with(" (deleted)")) {
            return failure("{}: {} cannot be seen from here", file, path);
        }
        return path;
    }
    return failure("{} names no cgroup of version 2", file);
}

/// A folder's inode number is the cgroup's id.
Result<std::uint64_t> id_of(const std::string& folder, bool must_be_cgroup2) {
    struct statfs system {};
    struct stat found {};
    if (statfs(folder.c_str(), &system) != 0 || stat(folder.c_str(), &found) != 0) {
        return errno_failure(folder);
    }
    if (must_be_cgroup2 && system.f_type != CGROUP2_SUPER_MAGIC) {
        return failure("{} is no cgroup of version 2", folder);
    }
    return found.st_ino;
}

/// Unless it is, its number may have been another's when it was looked up.
bool is_alive(int process) {
    pollfd polled{process, POLLIN, 0};
    return process >= 0 && poll(&polled, 1, 0) == 0;
}

}  // namespace

Result<std::uint64_t> cgroup_of(pid_t pid, int process, const CgroupFolders& folders) {
    const auto path = path_of(pid, folders.proc);
    if (!path) return tl::unexpected(path.error());
    auto id = id_of(folders.cgroups + *path, folders.must_be_cgroup2);
    if (!id) {
        const auto hybrid = id_of(folders.cgroups + hybrid_folder + *path, folders.must_be_cgroup2);
        if (hybrid) id = hybrid;
    }
    if (id && !is_alive(process)) return failure("process {} has ended", pid);
    return id;
}

}  // namespace headway
