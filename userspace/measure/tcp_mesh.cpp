// SPDX-License-Identifier: Apache-2.0
#include "measure/tcp_mesh.hpp"

#include <endian.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

#include "look/tcp_counters.hpp"

namespace headway {
namespace {

using SteadyTime = std::chrono::steady_clock;

constexpr std::size_t chunk_bytes = 256 << 10;

/// How a connection begins: whose measurement it is of, and who connects.
using Greeting = std::array<std::uint64_t, 2>;

int milliseconds_left(SteadyTime::time_point until) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - SteadyTime::now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
}

void make_prompt(int fd) {
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
}

struct ConnectionState {
    std::uint64_t needed_retransmissions = 0;
    std::uint32_t timeout_us = 0;
};

ConnectionState state_of(int fd) {
    tcp_info info{};
    socklen_t length = sizeof(info);
    if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return {};
    const auto bytes = std::as_bytes(std::span(&info, 1)).first(length);
    return {counts_in(bytes).needed_retransmissions(), info.tcpi_rto};
}

/// One transfer of a step, both ways alike.
struct Work {
    int fd = -1;
    std::size_t peer = 0;
    std::uint64_t left = 0;
    std::size_t place = 0;  ///< in the step's list
};

/// Moves all bytes that can be moved now; fails if the other end is gone.
template <class Move, class Done>
Result<void> advance(std::vector<Work>& works, const char* what, Move move, Done done) {
    for (Work& work : works) {
        while (work.left > 0) {
            const ssize_t moved = move(work.fd, std::min<std::uint64_t>(work.left, chunk_bytes));
            if (moved > 0) {
                work.left -= static_cast<std::uint64_t>(moved);
                if (work.left == 0) done(work);
                continue;
            }
            if (moved < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
            if (moved < 0 && errno == EINTR) continue;
            if (moved == 0) return failure("host {} closed its connection", work.peer);
            return errno_failure(fmt::format("{} host {}", what, work.peer));
        }
    }
    std::erase_if(works, [](const Work& work) { return work.left == 0; });
    return {};
}

}  // namespace

Result<void> TcpMesh::connect(std::uint64_t token, std::size_t self, std::span<const SocketAddress> addresses,
                              std::chrono::nanoseconds patience) {
    const auto until = SteadyTime::now() + patience;
    peers_.clear();
    for (std::size_t peer = 0; peer < self; ++peer) {
        if (auto connected = connect_to(token, self, peer, addresses[peer]); !connected) return connected;
    }
    while (peers_.size() + 1 < addresses.size()) {
        if (auto accepted = accept_one(token, until); !accepted) return accepted;
    }
    is_usable_ = true;
    return {};
}

Result<void> TcpMesh::connect_to(std::uint64_t token, std::size_t self, std::size_t peer,
                                 const SocketAddress& address) {
    FileDescriptor fd(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!fd) return errno_failure("socket");
    const unsigned patience_ms = 5000;
    ::setsockopt(fd.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, &patience_ms, sizeof(patience_ms));
    const timeval limit{5, 0};
    ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    if (::connect(fd.get(), address.get(), address.length) != 0)
        return errno_failure(fmt::format("connecting to host {}", peer));
    const Greeting greeting{htobe64(token), htobe64(self)};
    if (::send(fd.get(), greeting.data(), sizeof(greeting), MSG_NOSIGNAL) != sizeof(greeting))
        return errno_failure(fmt::format("greeting host {}", peer));
    make_prompt(fd.get());
    peers_.insert_or_assign(peer, std::move(fd));
    return {};
}

Result<void> TcpMesh::accept_one(std::uint64_t token, SteadyTime::time_point until) {
    pollfd waiting{listener_.fd.get(), POLLIN, 0};
    if (::poll(&waiting, 1, milliseconds_left(until)) <= 0)
        return failure("not all hosts have connected: {} have", peers_.size());
    FileDescriptor fd(::accept4(listener_.fd.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!fd) return {};
    const timeval limit{1, 0};
    ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    Greeting greeting{};
    if (::recv(fd.get(), greeting.data(), sizeof(greeting), MSG_WAITALL) != sizeof(greeting)) return {};
    if (be64toh(greeting[0]) != token) return {};  // somebody else's
    make_prompt(fd.get());
    peers_.insert_or_assign(be64toh(greeting[1]), std::move(fd));
    return {};
}

Result<ProgramOutcome> TcpMesh::run(const HostProgram& program, std::uint32_t rounds,
                                    std::chrono::nanoseconds patience) {
    if (!is_usable_) return failure("its connections are not there, or an earlier experiment has failed");
    for (const Step& step : program.steps) {
        for (const auto* list : {&step.send, &step.receive}) {
            for (const Transfer& transfer : *list) {
                if (!peers_.contains(transfer.peer)) return failure("there is no host {}", transfer.peer);
            }
        }
    }
    ::prctl(PR_SET_TIMERSLACK, 1UL);  // pauses are exact
    std::uint64_t before = 0;
    for (const auto& [peer, fd] : peers_) before += state_of(fd.get()).needed_retransmissions;
    const auto until = SteadyTime::now() + patience;
    ProgramOutcome outcome;
    for (std::uint32_t round = 0; round < rounds; ++round) {
        auto began = SteadyTime::now();
        const auto since_began = [&](Time now) { return std::chrono::duration<double>(now - began).count(); };
        std::vector<double> received_s;
        for (std::size_t i = 0; i < program.steps.size(); ++i) {
            const Step& step = program.steps[i];
            if (step.pause.count() > 0) std::this_thread::sleep_for(step.pause);
            if (i == program.untimed_steps) began = SteadyTime::now();
            const auto received = run_step(step, until);
            if (!received) {
                is_usable_ = false;
                return tl::unexpected(received.error());
            }
            received_s.clear();
            for (const Time at : *received) received_s.push_back(since_began(at));
        }
        outcome.round_s.push_back(since_began(SteadyTime::now()));
        outcome.received_s.push_back(std::move(received_s));
    }
    for (const auto& [peer, fd] : peers_) {
        const ConnectionState state = state_of(fd.get());
        outcome.retransmissions += state.needed_retransmissions;
        if (state.timeout_us > 0 && (outcome.retransmission_timeout_us == 0 ||
                                     state.timeout_us < outcome.retransmission_timeout_us))
            outcome.retransmission_timeout_us = state.timeout_us;
    }
    outcome.retransmissions -= std::min(before, outcome.retransmissions);
    return outcome;
}

Result<std::vector<TcpMesh::Time>> TcpMesh::run_step(const Step& step, SteadyTime::time_point until) {
    static const std::vector<std::byte> zeros(chunk_bytes);
    thread_local std::vector<std::byte> scratch(chunk_bytes);
    const auto works_of = [&](const std::vector<Transfer>& transfers) {
        std::vector<Work> works;
        for (const Transfer& transfer : transfers)
            works.push_back({peers_.at(transfer.peer).get(), transfer.peer, transfer.bytes, works.size()});
        return works;
    };
    std::vector<Time> received_at(step.receive.size());
    std::vector<Work> sending = works_of(step.send), receiving = works_of(step.receive);
    std::vector<pollfd> waiting;
    while (true) {
        const auto sent = advance(
            sending, "sending to",
            [](int fd, std::uint64_t bytes) { return ::send(fd, zeros.data(), bytes, MSG_NOSIGNAL); }, [](const Work&) {});
        if (!sent) return tl::unexpected(sent.error());
        const auto received = advance(
            receiving, "receiving from",
            [&](int fd, std::uint64_t bytes) { return ::recv(fd, scratch.data(), bytes, 0); },
            [&](const Work& work) { received_at[work.place] = SteadyTime::now(); });
        if (!received) return tl::unexpected(received.error());
        if (sending.empty() && receiving.empty()) return received_at;
        waiting.clear();
        for (const Work& work : sending) waiting.push_back({work.fd, POLLOUT, 0});
        for (const Work& work : receiving) waiting.push_back({work.fd, POLLIN, 0});
        const int left = milliseconds_left(until);
        if (left == 0) {
            const Work& late = receiving.empty() ? sending.front() : receiving.front();
            return failure("host {} did not {} in time", late.peer, receiving.empty() ? "receive" : "send");
        }
        if (::poll(waiting.data(), waiting.size(), left) < 0 && errno != EINTR) return errno_failure("poll");
    }
}

}  // namespace headway
