// SPDX-License-Identifier: MIT
#include "planner_process.hpp"

#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace headway::glue {
namespace {

constexpr std::size_t stack_bytes = 64 * 1024;
constexpr int files_max = 4096;

/// What the process in between needs; nothing is allocated in it.
struct Start {
    const char* program;
    char* const* words;
    char* const* environment;
    const posix_spawnattr_t* attributes;
    int socket;
    int error;
};

/// All that the program is to have: launchers wait until nobody has anything open that they gave a rank.
int take_files(int socket) {
    const int nothing = ::open("/dev/null", O_RDWR);
    if (nothing < 0) return errno;
    if (::dup2(socket, STDIN_FILENO) < 0 || ::dup2(nothing, STDOUT_FILENO) < 0 || ::dup2(nothing, STDERR_FILENO) < 0)
        return errno;
    if (::syscall(SYS_close_range, 3U, ~0U, 0U) == 0) return 0;
    for (int file = 3; file < files_max; ++file) ::close(file);  // before Linux 5.9
    return 0;
}

/// Runs in the caller's memory, while the caller waits: the program's parent, which ends at once.
int start_and_end(void* argument) {
    Start& start = *static_cast<Start*>(argument);
    pid_t started = 0;
    start.error = take_files(start.socket);
    if (start.error == 0)
        start.error = ::posix_spawn(&started, start.program, nullptr, start.attributes, start.words, start.environment);
    ::_exit(0);
}

/// No handler of the program runs in the process in between, whose memory is the program's.
class SignalsBlocked {
public:
    SignalsBlocked() {
        sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_BLOCK, &all, &before_);
    }
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;
    ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

private:
    sigset_t before_{};
};

/// The planner blocks no signal, whatever the program does.
class SpawnAttributes {
public:
    SpawnAttributes() {
        ::posix_spawnattr_init(&attributes_);
        sigset_t none;
        ::sigemptyset(&none);
        ::posix_spawnattr_setsigmask(&attributes_, &none);
        ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK);
    }
    SpawnAttributes(const SpawnAttributes&) = delete;
    SpawnAttributes& operator=(const SpawnAttributes&) = delete;
    ~SpawnAttributes() { ::posix_spawnattr_destroy(&attributes_); }

    [[nodiscard]] const posix_spawnattr_t* get() const { return &attributes_; }

private:
    posix_spawnattr_t attributes_{};
};

/// An errno.  The process in between sends no signal when it ends, and is no child for wait().
int start_as_nobody_s_child(Start& start) {
    const SignalsBlocked quietly;
    std::vector<char> stack(stack_bytes);
    const auto top = reinterpret_cast<std::uintptr_t>(stack.data() + stack.size()) & ~std::uintptr_t{15};
    const pid_t between = ::clone(start_and_end, reinterpret_cast<void*>(top), CLONE_VM | CLONE_VFORK, &start);
    if (between < 0) return errno;
    while (::waitpid(between, nullptr, __WALL) < 0 && errno == EINTR) {
    }
    return start.error;
}

/// Without what concerns MPI programs alone.
std::vector<char*> environment_of_planner() {
    std::vector<char*> kept;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        if (std::string_view(*entry).substr(0, 11) != "LD_PRELOAD=") kept.push_back(*entry);
    }
    kept.push_back(nullptr);
    return kept;
}

}  // namespace

LinkResult<DaemonLink> start_planner(const PlannerPlan& plan) {
    std::array<int, 2> ends{-1, -1};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
        return tl::unexpected(LinkError{std::string("socketpair: ") + std::strerror(errno), true});
    UniqueFd own(ends[0]), planner_s(ends[1]);
    const std::array words{const_cast<char*>(plan.program.c_str()), const_cast<char*>("planner"),
                           const_cast<char*>("--network"), const_cast<char*>(plan.network.c_str()),
                           static_cast<char*>(nullptr)};
    const auto environment = environment_of_planner();
    const SpawnAttributes attributes;
    Start start{plan.program.c_str(), words.data(), environment.data(), attributes.get(), planner_s.get(), 0};
    const int error = start_as_nobody_s_child(start);
    if (error != 0) return tl::unexpected(LinkError{plan.program + ": " + std::strerror(error), true});
    return DaemonLink::over(std::move(own), plan.timeout);
}

}  // namespace headway::glue
