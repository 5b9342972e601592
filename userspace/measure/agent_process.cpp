// SPDX-License-Identifier: Apache-2.0
#include "measure/agent_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>
#include <utility>

extern char** environ;

namespace headway {
namespace {

constexpr std::size_t line_max_bytes = 64 << 20;
constexpr std::size_t complaint_max_bytes = 4096;
constexpr std::chrono::milliseconds end_patience{2000};
constexpr std::chrono::milliseconds say_patience{15'000};

struct Ends {
    FileDescriptor read, write;
};

Result<Ends> make_pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return errno_failure("pipe");
    return Ends{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

void read_available(int fd, std::string& text) {
    std::array<char, 65536> piece{};
    ssize_t got = 0;
    while ((got = ::read(fd, piece.data(), piece.size())) > 0) text.append(piece.data(), static_cast<std::size_t>(got));
}

}  // namespace

Result<AgentProcess> AgentProcess::start(const std::vector<std::string>& command) {
    std::array<int, 2> sockets{};
    // a socket rather than a pipe: writing to one whose reader is gone raises no signal
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0) return errno_failure("socketpair");
    FileDescriptor our_input(sockets[0]), its_input(sockets[1]);
    auto output = make_pipe();
    if (!output) return tl::unexpected(output.error());
    auto messages = make_pipe();
    if (!messages) return tl::unexpected(messages.error());
    for (const int fd : {output->read.get(), messages->read.get()}) ::fcntl(fd, F_SETFL, O_NONBLOCK);

    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, its_input.get(), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output->write.get(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, messages->write.get(), STDERR_FILENO);
    std::vector<std::string> words = command;
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_t pid = -1;
    const int error = ::posix_spawnp(&pid, arguments.front(), &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) return system_failure(error, "starting {}: {}", command.front(), std::strerror(error));
    return AgentProcess(pid, std::move(our_input), std::move(output->read), std::move(messages->read));
}

AgentProcess AgentProcess::over(FileDescriptor socket) {
    FileDescriptor input(::fcntl(socket.get(), F_DUPFD_CLOEXEC, 0));
    return AgentProcess(-1, std::move(input), std::move(socket), FileDescriptor());
}

AgentProcess::~AgentProcess() {
    if (pid_ < 0) return;
    input_.close();
    int status = 0;
    for (auto waited = end_patience; waited.count() > 0; waited -= std::chrono::milliseconds(5)) {
        if (::waitpid(pid_, &status, WNOHANG) != 0) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
}

Result<void> AgentProcess::say(std::string line) {
    line += '\n';
    std::string_view left = line;
    while (!left.empty()) {
        const ssize_t sent = ::send(input_.get(), left.data(), left.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0 && errno == EAGAIN) {
            pollfd waiting{input_.get(), POLLOUT, 0};
            if (::poll(&waiting, 1, static_cast<int>(say_patience.count())) == 1) continue;
            return failure("it takes no commands");
        }
        if (sent < 0) {
            static_cast<void>(receive());
            return failure("it has ended{}{}", complaint().empty() ? "" : ": ", complaint());
        }
        left.remove_prefix(static_cast<std::size_t>(sent));
    }
    return {};
}

std::optional<std::string> AgentProcess::line() {
    const auto end = received_.find('\n');
    if (end == std::string::npos) return std::nullopt;
    std::string first = received_.substr(0, end);
    received_.erase(0, end + 1);
    return first;
}

Result<void> AgentProcess::receive() {
    read_available(messages_.get(), complaint_);
    if (complaint_.size() > complaint_max_bytes) complaint_.erase(0, complaint_.size() - complaint_max_bytes);
    std::array<char, 65536> piece{};
    while (true) {
        const ssize_t got = ::read(output_.get(), piece.data(), piece.size());
        if (got > 0) {
            received_.append(piece.data(), static_cast<std::size_t>(got));
            if (received_.size() > line_max_bytes) return failure("it says more than anybody asked for");
            continue;
        }
        if (got < 0) return {};  // nothing more for now
        read_available(messages_.get(), complaint_);
        return failure("it has ended{}{}", complaint().empty() ? "" : ": ", complaint());
    }
}

std::string AgentProcess::complaint() const {
    const auto last = complaint_.find_last_not_of("\r\n ");
    if (last == std::string::npos) return "";
    const auto before = complaint_.find_last_of('\n', last);
    return complaint_.substr(before == std::string::npos ? 0 : before + 1,
                             last - (before == std::string::npos ? 0 : before + 1) + 1);
}

}  // namespace headway
