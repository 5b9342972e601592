// SPDX-License-Identifier: Apache-2.0
#include "daemon/state_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/file_descriptor.hpp"

namespace headway {
namespace {

constexpr std::size_t longest_bytes = 64U << 20;
constexpr mode_t folder_mode = 0755;

}  // namespace

Result<std::optional<std::string>> StateFile::read() const {
    const FileDescriptor file(open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!file && errno == ENOENT) return std::nullopt;
    if (!file) return errno_failure(path_);
    std::string text;
    std::array<char, 4096> piece{};
    while (text.size() <= longest_bytes) {
        const ssize_t length = ::read(file.get(), piece.data(), piece.size());
        if (length < 0 && errno == EINTR) continue;
        if (length < 0) return errno_failure(path_);
        if (length == 0) return text;
        text.append(piece.data(), static_cast<std::size_t>(length));
    }
    return failure("{} is too long", path_);
}

Result<void> StateFile::write(const std::string& text) const {
    const std::string folder = std::filesystem::path(path_).parent_path();
    if (mkdir(folder.c_str(), folder_mode) != 0 && errno != EEXIST) return errno_failure(folder);
    const std::string beside = path_ + ".new";
    const FileDescriptor file(open(beside.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file) return errno_failure(beside);
    std::string_view left = text;
    while (!left.empty()) {
        const ssize_t length = ::write(file.get(), left.data(), left.size());
        if (length < 0 && errno == EINTR) continue;
        if (length < 0) return errno_failure(beside);
        left.remove_prefix(static_cast<std::size_t>(length));
    }
    // without this a power cut could leave the new name with an empty file
    if (fsync(file.get()) != 0) return errno_failure(beside);
    if (std::rename(beside.c_str(), path_.c_str()) != 0) return errno_failure(path_);
    return store_names();
}

/// Stores the folder's names, so that it has them after a power cut, too.
Result<void> StateFile::store_names() const {
    const std::string folder = std::filesystem::path(path_).parent_path();
    const FileDescriptor names(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    // some file systems store names themselves, and say that this is no file to store
    if (!names || (fsync(names.get()) != 0 && errno != EINVAL)) return errno_failure(folder);
    return {};
}

bool StateFile::remove() const {
    if (unlink(path_.c_str()) != 0) return errno == ENOENT;
    return store_names().has_value();
}

StateFile jobs_file(const std::string& socket) { return StateFile(socket + ".jobs"); }

StateFile off_file(const std::string& socket) {
    const char* const given = std::getenv("STATE_DIRECTORY");
    std::string name = socket.substr(socket.find_first_not_of('/'));
    std::replace(name.begin(), name.end(), '/', '-');
    return StateFile(fmt::format("{}/{}.off", given != nullptr ? given : "/var/lib/headway", name));
}

}  // namespace headway
