// SPDX-License-Identifier: Apache-2.0
#include "base/child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/file_descriptor.hpp"

extern char** environ;

namespace headway {
namespace {

constexpr std::size_t messages_max_bytes = 65536;

/// The input as a file in memory: unlike a pipe it never blocks the writer.
Result<FileDescriptor> input_file(std::string_view input) {
    FileDescriptor file(memfd_create("input", MFD_CLOEXEC));
    if (file.get() < 0) return system_failure(errno, "memfd_create: {}", std::strerror(errno));
    while (!input.empty()) {
        const ssize_t written = write(file.get(), input.data(), input.size());
        if (written < 0) return system_failure(errno, "writing input: {}", std::strerror(errno));
        input.remove_prefix(static_cast<std::size_t>(written));
    }
    if (lseek(file.get(), 0, SEEK_SET) != 0) {
        return system_failure(errno, "rewinding input: {}", std::strerror(errno));
    }
    return file;
}

std::vector<std::string> child_environment(const ChildCommand& command) {
    std::vector<std::string> merged;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view name(*entry, std::strcspn(*entry, "="));
        bool replaced = false;
        for (const auto& [key, value] : command.environment) replaced |= key == name;
        if (!replaced) merged.emplace_back(*entry);
    }
    for (const auto& [key, value] : command.environment) merged.push_back(key + "=" + value);
    return merged;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
    std::vector<char*> list;
    for (std::string& text : strings) list.push_back(text.data());
    list.push_back(nullptr);
    return list;
}

Result<pid_t> spawn(const ChildCommand& command, int input, int output) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
    // The daemon blocks the signals it reads from a descriptor; the child must
    // not inherit that.
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);

    auto arguments = command.arguments;
    auto environment = child_environment(command);
    pid_t child = 0;
    const int error = posix_spawnp(&child, arguments.front().c_str(), &actions, &attributes,
                                   pointers(arguments).data(), pointers(environment).data());
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (error == 0) return child;
    return system_failure(error, "starting {}: {}", arguments.front(), std::strerror(error));
}


/// Collects output until the child closes it; false if the deadline passed.
bool read_messages(int fd, std::chrono::steady_clock::time_point deadline, std::string& messages) {
    while (true) {
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(
                deadline - std::chrono::steady_clock::now());
        if (left.count() <= 0) return false;
        pollfd waiting{fd, POLLIN, 0};
        if (poll(&waiting, 1, static_cast<int>(left.count())) <= 0) continue;
        std::array<char, 4096> piece{};
        const ssize_t got = read(fd, piece.data(), piece.size());
        if (got <= 0) return true;
        const auto room = messages_max_bytes - messages.size();
        messages.append(piece.data(), std::min(room, static_cast<std::size_t>(got)));
    }
}

int wait_for(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

Result<ChildOutcome> run_child(const ChildCommand& command) {
    const auto deadline = std::chrono::steady_clock::now() + command.deadline;
    auto input = input_file(command.input);
    if (!input) return tl::unexpected(input.error());
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) {
        return system_failure(errno, "pipe: {}", std::strerror(errno));
    }
    const FileDescriptor read_end(ends[0]);
    FileDescriptor write_end(ends[1]);

    const auto child = spawn(command, input->get(), write_end.get());
    if (!child) return tl::unexpected(child.error());
    write_end.close();

    ChildOutcome outcome;
    const bool in_time = read_messages(read_end.get(), deadline, outcome.messages);
    if (!in_time) kill(*child, SIGKILL);
    outcome.exit_status = wait_for(*child);
    if (!in_time) {
        return system_failure(ETIMEDOUT, "{} did not end within {} ms and was killed",
                              command.arguments.front(), command.deadline.count());
    }
    return outcome;
}

}  // namespace headway
