// SPDX-License-Identifier: Apache-2.0
#include "daemon/etcd_process.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/log.hpp"

namespace headway {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds first_pause = 500ms;
constexpr std::chrono::milliseconds longest_pause = 30s;
/// A child that has been killed may take so long to end.
constexpr std::chrono::milliseconds end_patience = 500ms;
/// Then others in the event loop have their turn.
constexpr int packets_at_once = 64;

/// In the child: nothing of headwayd but the socket.
[[noreturn]] void become(const std::vector<std::string>& command, int socket) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    dup2(socket, STDIN_FILENO);
    std::vector<char*> arguments;
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    execv(arguments[0], arguments.data());
    _exit(127);
}

}  // namespace

EtcdProcess::EtcdProcess(EventLoop& loop, std::vector<std::string> command,
                         HostNumbers& hosts, Handler handler, spdlog::logger& log)
    : loop_(loop),
      command_(std::move(command)),
      hosts_(hosts),
      handler_(std::move(handler)),
      log_(log),
      pause_(first_pause),
      restart_(loop.timer([this] { restart(); })) {}

EtcdProcess::~EtcdProcess() { kill_child(); }

void EtcdProcess::kill_child() {
    packets_.reset();
    socket_.close();
    if (child_ == 0) return;
    kill(child_, SIGKILL);
    const FileDescriptor process(static_cast<int>(syscall(SYS_pidfd_open, child_, 0)));
    pollfd ending{process.get(), POLLIN, 0};
    (void)poll(&ending, 1, static_cast<int>(end_patience.count()));
    killed_.push_back(std::exchange(child_, 0));
    reap();
}

/// One that the kernel holds up, as on a disk that does not answer, ends when it is let go.
void EtcdProcess::reap() {
    std::erase_if(killed_, [](pid_t child) { return waitpid(child, nullptr, WNOHANG) != 0; });
}

Result<void> EtcdProcess::start() {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
        return errno_failure("socketpair");
    FileDescriptor ours(ends[0]);
    const FileDescriptor theirs(ends[1]);
    const pid_t child = fork();
    if (child < 0) return errno_failure("starting " + command_[0]);
    if (child == 0) become(command_, theirs.get());
    child_ = child;
    socket_ = std::move(ours);
    packets_ = loop_.readable(socket_.get(), "listening to headway-etcd", [this] {
        if (const auto read = read_packets(); !read) end(read.error().message);
    });
    return loop_.check();
}

void EtcdProcess::send(const std::string& packet) {
    if (!socket_) return;
    if (::send(socket_.get(), packet.data(), packet.size(), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return;
    // The end of it is noticed as such: nothing is ended while actions are carried out.
    if (errno == EAGAIN || errno == EWOULDBLOCK) kill(child_, SIGKILL);
}

Result<void> EtcdProcess::read_packets() {
    std::vector<char> packet(store_packet_max_bytes);
    for (int i = 0; i < packets_at_once; ++i) {
        const ssize_t got = recv(socket_.get(), packet.data(), packet.size(), MSG_DONTWAIT | MSG_TRUNC);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return {};
        if (got <= 0) return failure("it has ended");
        if (static_cast<std::size_t>(got) > packet.size()) return failure("a packet is too long");
        const std::string_view text(packet.data(), static_cast<std::size_t>(got));
        const auto report = parse_store_report(text, hosts_);
        if (!report) return tl::unexpected(report.error());
        if (auto taken = handler_.report(*report); !taken) return taken;
        if (std::holds_alternative<SnapshotBegins>(*report)) pause_ = first_pause;
    }
    return {};
}

void EtcdProcess::end(const std::string& why) {
    log_warning(log_, "HW-503 starting headway-etcd again: {}", why);
    kill_child();
    handler_.gone();
    restart_later();
}

void EtcdProcess::restart_later() {
    start_timer(restart_, pause_);
    pause_ = std::min(pause_ * 2, longest_pause);
}

void EtcdProcess::restart() {
    const auto started = start();
    if (started) return;
    log_warning(log_, "HW-504 cannot start headway-etcd, trying again: {}",
                started.error().message);
    if (child_ != 0) end("it cannot be listened to");
    else restart_later();
}

void EtcdProcess::finish(std::chrono::milliseconds within) {
    if (child_ == 0) return;
    packets_.reset();
    shutdown(socket_.get(), SHUT_WR);
    const auto deadline = std::chrono::steady_clock::now() + within;
    // what it still reports is read away, so that it can end
    std::vector<char> packet(store_packet_max_bytes);
    for (;;) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(
            deadline - std::chrono::steady_clock::now());
        pollfd waiting{socket_.get(), POLLIN, 0};
        if (left.count() <= 0 || poll(&waiting, 1, static_cast<int>(left.count())) <= 0) break;
        if (recv(socket_.get(), packet.data(), packet.size(), MSG_DONTWAIT) <= 0) break;
    }
    kill_child();
}

}  // namespace headway
