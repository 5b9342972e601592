// SPDX-License-Identifier: Apache-2.0
#include "daemon/job_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "netlink/file_descriptor.hpp"

namespace headway {
namespace {

constexpr std::size_t longest_bytes = 64U << 20;

tl::unexpected<Error> file_failure(const std::string& path) {
    return system_failure(errno, "{}: {}", path, std::strerror(errno));
}

}  // namespace

Result<std::optional<std::string>> JobFile::read() const {
    const FileDescriptor file(open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!file && errno == ENOENT) return std::nullopt;
    if (!file) return file_failure(path_);
    std::string text;
    std::array<char, 4096> piece{};
    while (text.size() <= longest_bytes) {
        const ssize_t length = ::read(file.get(), piece.data(), piece.size());
        if (length < 0 && errno == EINTR) continue;
        if (length < 0) return file_failure(path_);
        if (length == 0) return text;
        text.append(piece.data(), static_cast<std::size_t>(length));
    }
    return failure("{} is too long", path_);
}

Result<void> JobFile::write(const std::string& text) const {
    const std::string beside = path_ + ".new";
    const FileDescriptor file(open(beside.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file) return file_failure(beside);
    std::string_view left = text;
    while (!left.empty()) {
        const ssize_t length = ::write(file.get(), left.data(), left.size());
        if (length < 0 && errno == EINTR) continue;
        if (length < 0) return file_failure(beside);
        left.remove_prefix(static_cast<std::size_t>(length));
    }
    if (std::rename(beside.c_str(), path_.c_str()) != 0) return file_failure(path_);
    return {};
}

void JobFile::remove() const { unlink(path_.c_str()); }

}  // namespace headway
