// SPDX-License-Identifier: Apache-2.0
#include "base/whole_file.hpp"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace headway {
namespace {

/// While there is one, a write beyond the limit of file sizes (RLIMIT_FSIZE) fails
/// as on a full disk, and does not end the program by a signal.
class WithoutSizeSignal {
public:
    WithoutSizeSignal() {
        sigemptyset(&signal_);
        sigaddset(&signal_, SIGXFSZ);
        pthread_sigmask(SIG_BLOCK, &signal_, &before_);
    }
    WithoutSizeSignal(const WithoutSizeSignal&) = delete;
    WithoutSizeSignal& operator=(const WithoutSizeSignal&) = delete;
    ~WithoutSizeSignal() {
        if (sigismember(&before_, SIGXFSZ) != 0) return;
        // the one that a write of this thread has left
        const timespec at_once{};
        while (sigtimedwait(&signal_, nullptr, &at_once) < 0 && errno == EINTR) continue;
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }

private:
    sigset_t signal_{};
    sigset_t before_{};
};

/// Everything, or why not.
std::string write_all(const std::string& path, std::string_view text) {
    std::FILE* file = std::fopen(path.c_str(), "we");
    if (file == nullptr) return std::strerror(errno);
    const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    const int write_error = errno;
    if (std::fclose(file) != 0) return std::strerror(errno);
    return written ? "" : std::strerror(write_error);
}

}  // namespace

std::string write_whole(const std::string& path, std::string_view text) {
    const WithoutSizeSignal without_signal;
    const std::string unfinished = path + "." + std::to_string(::getpid());
    std::string trouble = write_all(unfinished, text);
    if (trouble.empty() && std::rename(unfinished.c_str(), path.c_str()) != 0)
        trouble = std::strerror(errno);
    if (!trouble.empty()) std::remove(unfinished.c_str());
    return trouble;
}

}  // namespace headway
