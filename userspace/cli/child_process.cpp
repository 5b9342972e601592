// SPDX-License-Identifier: Apache-2.0
#include "cli/child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

extern char** environ;

namespace headway {
namespace {

constexpr std::chrono::seconds end_patience{10};

FileDescriptor open_process(pid_t pid) {
    return FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

}  // namespace

Result<ChildProcess> ChildProcess::start(const std::vector<std::string>& command, Streams streams) {
    // nobody would know its end
    if (!open_process(::getpid())) return errno_failure("pidfd_open, which Linux has from 5.3 on");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    if (!streams.has_input) posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (streams.prints_to_stderr) posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    std::vector<char*> words;
    for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    pid_t pid = -1;
    const int error = ::posix_spawnp(&pid, words.front(), &actions, nullptr, words.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) return system_failure(error, "{}: {}", command.front(), std::strerror(error));
    return ChildProcess(pid, open_process(pid));
}

ChildProcess::ChildProcess(pid_t pid, FileDescriptor fd) : pid_(pid), fd_(std::move(fd)) {}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), fd_(std::move(other.fd_)) {}

ChildProcess::~ChildProcess() {
    if (pid_ < 0) return;
    for (const int signal : {0, SIGTERM, SIGKILL}) {
        if (signal != 0) ::kill(pid_, signal);
        if (has_ended_within(end_patience)) break;
    }
    (void)wait();
}

bool ChildProcess::has_ended_within(std::chrono::milliseconds patience) const {
    pollfd waiting{fd_.get(), POLLIN, 0};
    return ::poll(&waiting, 1, static_cast<int>(patience.count())) == 1;
}

int ChildProcess::wait() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {}
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace headway
