// SPDX-License-Identifier: MIT
#include "daemon_link.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace headway::glue {
namespace {

constexpr std::size_t datagram_max_bytes = 65536;
constexpr std::size_t quoted_max_bytes = 200;
constexpr int protocol_version = 1;

tl::unexpected<LinkError> lost(std::string what) {
    return tl::unexpected(LinkError{std::move(what), true});
}

tl::unexpected<LinkError> system_error(const std::string& what) {
    return lost(what + ": " + std::strerror(errno));
}

/// connect() to a local socket blocks while the daemon's backlog is full, and recvmsg() until
/// there is an answer; this bounds both.
bool bound_blocking(int socket, std::chrono::milliseconds timeout) {
    timeval limit{};
    limit.tv_sec = timeout.count() / 1000;
    limit.tv_usec = static_cast<suseconds_t>(timeout.count() % 1000 * 1000);
    return ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) == 0 &&
           ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) == 0;
}

/// The daemon's own sentence about why it refused.
std::string refusal(const JsonObject& body) {
    const auto error = body.text("error");
    return error ? "headwayd: " + error->substr(0, quoted_max_bytes) : "headwayd refused without a reason";
}

}  // namespace

DaemonLink::DaemonLink(UniqueFd socket, std::chrono::milliseconds timeout)
    : socket_(std::move(socket)), timeout_(timeout), buffer_(datagram_max_bytes) {}

LinkResult<DaemonLink> DaemonLink::connect(const std::string& path,
                                           std::chrono::milliseconds timeout) {
    UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    if (!socket) return system_error("socket");
    if (!bound_blocking(socket.get(), timeout)) return system_error("setsockopt");
    return connect_by(std::move(socket), path, timeout);
}

LinkResult<DaemonLink> DaemonLink::connect_at_once(const std::string& path,
                                                   std::chrono::milliseconds timeout) {
    UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) return system_error("socket");
    return connect_by(std::move(socket), path, timeout);
}

LinkResult<DaemonLink> DaemonLink::over(UniqueFd socket, std::chrono::milliseconds timeout) {
    if (!bound_blocking(socket.get(), timeout)) return system_error("setsockopt");
    return DaemonLink(std::move(socket), timeout);
}

LinkResult<DaemonLink> DaemonLink::connect_by(UniqueFd socket, const std::string& path,
                                              std::chrono::milliseconds timeout) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof(address.sun_path))
        return lost("the socket's path is longer than a path may be: " + path);
    std::copy(path.begin(), path.end(), address.sun_path);
    int status = 0;
    do {
        status = ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address),
                           sizeof(address));
    } while (status != 0 && errno == EINTR);
    if (status == 0) return DaemonLink(std::move(socket), timeout);
    if (errno == ENOENT || errno == ECONNREFUSED)
        return lost("no headwayd at " + path + ", which systemctl start headwayd starts");
    return system_error("no headwayd at " + path);
}

LinkResult<JsonObject> DaemonLink::ask(const ObjectText& request) {
    const auto deadline = Clock::now() + timeout_;
    const auto id = send(request, deadline);
    if (!id) return tl::unexpected(id.error());
    auto answer = receive(deadline);
    if (!answer) return tl::unexpected(answer.error());
    if (answer->id != *id) return lost("headwayd answered something that was not asked");
    if (!answer->accepted) return tl::unexpected(LinkError{refusal(answer->body), false});
    return std::move(answer->body);
}

LinkResult<DaemonLink::AnswerWithFile> DaemonLink::ask_for_file(const ObjectText& request) {
    auto answer = ask(request);
    if (!answer) return tl::unexpected(answer.error());
    return AnswerWithFile{std::move(*answer), std::move(file_)};
}

LinkResult<std::uint64_t> DaemonLink::post(const ObjectText& request) {
    return send(request, Clock::now());
}

LinkResult<std::optional<DaemonLink::AnswerWithFile>> DaemonLink::take(std::uint64_t id) {
    pollfd polled{socket_.get(), POLLIN, 0};
    if (::poll(&polled, 1, 0) <= 0) return std::nullopt;
    auto answer = receive(Clock::now());
    if (!answer) return tl::unexpected(answer.error());
    if (answer->id != id) return lost("headwayd answered something that was not asked");
    if (!answer->accepted) return tl::unexpected(LinkError{refusal(answer->body), false});
    return AnswerWithFile{std::move(answer->body), std::move(file_)};
}

bool DaemonLink::is_hung_up() const {
    pollfd polled{socket_.get(), POLLRDHUP, 0};
    return ::poll(&polled, 1, 0) > 0;
}

LinkResult<std::uint64_t> DaemonLink::send(ObjectText request, Clock::time_point deadline) {
    const std::uint64_t id = ++last_id_;
    const std::string text = request.number("v", protocol_version).number("id", id).object();
    if (text.size() > datagram_max_bytes) {
        // nothing was sent, so the connection is as good as before
        return tl::unexpected(LinkError{"the job has too many hosts for one request to headwayd",
                                        false});
    }
    while (::send(socket_.get(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
        // The daemon's last words before it closed can still be read.
        if (errno == EPIPE) return id;
        if (errno != EINTR && errno != EAGAIN) return system_error("headwayd is gone");
        if (auto ready = wait_for(POLLOUT, deadline); !ready)
            return tl::unexpected(ready.error());
    }
    return id;
}

LinkResult<DaemonLink::Received> DaemonLink::receive(Clock::time_point deadline) {
    ssize_t size = receive_datagram();
    while (size < 0 && (errno == EINTR || errno == EAGAIN)) {
        if (auto ready = wait_for(POLLIN, deadline); !ready)
            return tl::unexpected(ready.error());
        size = receive_datagram();
    }
    if (size < 0) return system_error("headwayd is gone");
    if (size == 0) return lost("headwayd closed the connection");
    if (static_cast<std::size_t>(size) > buffer_.size())
        return lost("headwayd's answer is longer than the protocol allows");

    return read_answer(std::string(buffer_.data(), static_cast<std::size_t>(size)));
}

/// Its bytes into buffer_, the descriptor that came with it into file_.
ssize_t DaemonLink::receive_datagram() {
    file_ = UniqueFd();
    iovec piece{buffer_.data(), buffer_.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    // with MSG_TRUNC the size is the datagram's, even if that is too large
    const ssize_t size =
        ::recvmsg(socket_.get(), &message, MSG_TRUNC | MSG_CMSG_CLOEXEC);
    if (size < 0) return size;
    const cmsghdr* header = CMSG_FIRSTHDR(&message);
    if (header != nullptr && header->cmsg_level == SOL_SOCKET &&
        header->cmsg_type == SCM_RIGHTS && header->cmsg_len == CMSG_LEN(sizeof(int))) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(header), sizeof(fd));
        file_ = UniqueFd(fd);
    }
    return size;
}

LinkResult<DaemonLink::Received> DaemonLink::read_answer(std::string text) {
    auto body = JsonObject::read(std::move(text));
    const auto accepted = body ? body->flag("ok") : std::nullopt;
    const auto id = accepted ? body->whole_number("id") : std::nullopt;
    // To no request in particular: it wants nothing to do with this client.
    if (accepted && !*accepted && body->is_null("id")) return lost(refusal(*body));
    if (!id) return lost("headwayd's answer is not one of its protocol");
    return Received{*id, *accepted, std::move(*body)};
}

LinkResult<void> DaemonLink::wait_for(short events, Clock::time_point deadline) const {
    for (;;) {
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
        pollfd polled{socket_.get(), events, 0};
        const int ready = ::poll(&polled, 1, static_cast<int>(std::max<long>(left, 0)));
        if (ready > 0) return {};
        if (ready < 0 && errno != EINTR) return system_error("poll");
        if (ready == 0 && left <= 0)
            return lost("headwayd did not answer within " + std::to_string(timeout_.count()) +
                        " ms");
    }
}

}  // namespace headway::glue
