// SPDX-License-Identifier: Apache-2.0
#include "kernel/netlink_exchange.hpp"

#include <libmnl/libmnl.h>
#include <linux/netlink.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <limits>
#include <utility>

#include "kernel/netlink_attributes.hpp"

namespace headway {
namespace {

// A dump's datagrams are as large as the reader's buffer allows, up to 32 KiB.
constexpr std::size_t transport_buffer_bytes = 32768;

tl::unexpected<Error> not_open() {
    return system_failure(ENOTCONN, "the netlink socket could not be opened again");
}

}  // namespace

void MnlTransport::Close::operator()(mnl_socket* socket) const { mnl_socket_close(socket); }

MnlTransport::MnlTransport(int family, std::uint32_t groups)
    : family_(family),
      groups_(groups),
      port_(MNL_SOCKET_AUTOPID),
      buffer_(transport_buffer_bytes) {}

Result<MnlTransport> MnlTransport::open(int family, std::uint32_t groups) {
    MnlTransport transport(family, groups);
    if (auto opened = transport.reopen(); !opened) return tl::unexpected(opened.error());
    return transport;
}

/// By the port others know whose changes these are (kernel_monitor.hpp); the first time it is
/// the kernel that chooses one.
Result<void> MnlTransport::reopen() {
    socket_.reset();
    Socket socket(mnl_socket_open2(family_, SOCK_CLOEXEC));
    if (!socket) return errno_failure("opening a netlink socket");
    if (mnl_socket_bind(socket.get(), groups_, static_cast<pid_t>(port_)) != 0) {
        return errno_failure("binding a netlink socket");
    }
    // The kernel's sentences, and refused requests not sent back.
    int on = 1;
    if (mnl_socket_setsockopt(socket.get(), NETLINK_EXT_ACK, &on, sizeof(on)) != 0) {
        return errno_failure("netlink option EXT_ACK");
    }
    if (mnl_socket_setsockopt(socket.get(), NETLINK_CAP_ACK, &on, sizeof(on)) != 0) {
        return errno_failure("netlink option CAP_ACK");
    }
    port_ = mnl_socket_get_portid(socket.get());
    socket_ = std::move(socket);
    return {};
}

int MnlTransport::fd() const { return mnl_socket_get_fd(socket_.get()); }

std::uint32_t MnlTransport::port_id() const { return port_; }

Result<void> MnlTransport::send(std::span<const std::byte> messages) {
    if (!socket_) return not_open();
    const ssize_t sent = mnl_socket_sendto(socket_.get(), messages.data(), messages.size());
    if (sent == static_cast<ssize_t>(messages.size())) return {};
    return errno_failure("sending to the kernel");
}

/// Waits until there is something to read, or an error of the socket, which recvmsg() tells.
Result<void> MnlTransport::wait(Clock::time_point deadline) const {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) return system_failure(ETIMEDOUT, "the kernel did not answer in time");
    pollfd polled{fd(), POLLIN, 0};
    const int ready = poll(&polled, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno != EINTR) return errno_failure("waiting for the kernel");
    return {};
}

Result<std::span<const std::byte>> MnlTransport::receive(Clock::time_point deadline) {
    if (!socket_) return not_open();
    while (true) {
        sockaddr_nl sender{};
        iovec piece{buffer_.data(), buffer_.size()};
        msghdr message{};
        message.msg_name = &sender;
        message.msg_namelen = sizeof(sender);
        message.msg_iov = &piece;
        message.msg_iovlen = 1;
        const ssize_t received = recvmsg(fd(), &message, MSG_DONTWAIT);
        if (received < 0 && errno == EAGAIN) {
            if (auto waited = wait(deadline); !waited) return tl::unexpected(waited.error());
            continue;
        }
        if (received < 0) return errno_failure("receiving from the kernel");
        // Other processes may send to this socket, too: only port 0 is the kernel.
        if (message.msg_namelen != sizeof(sender) || sender.nl_pid != 0) continue;
        if ((message.msg_flags & MSG_TRUNC) != 0) {
            return system_failure(EMSGSIZE, "an answer of the kernel is larger than {} bytes",
                                  buffer_.size());
        }
        return std::span<const std::byte>(buffer_).first(static_cast<std::size_t>(received));
    }
}

namespace {

// So many refusals fit into the smallest usual receive buffer.
constexpr std::size_t messages_per_send = 64;
// The kernel refuses more than half of a socket's usual send buffer at once.
constexpr std::size_t bytes_per_send = 64 * 1024;

/// Before which request a system call ends that begins with `first`.
std::size_t end_of_send(const NetlinkBatch& requests, std::size_t first) {
    std::size_t last = first + 1;
    while (last < std::min(requests.size(), first + messages_per_send) &&
           requests.bytes(first, last + 1).size() <= bytes_per_send) {
        ++last;
    }
    return last;
}

constexpr int dump_attempts = 10;

/// Returns the result of an acknowledgement, a refusal or the end of a dump: nothing, or an error
/// in the kernel's own words if it has any.
Result<void> outcome_of(const nlmsghdr* message) {
    const bool is_end = message->nlmsg_type == NLMSG_DONE;
    if (message->nlmsg_len < NLMSG_LENGTH(is_end ? sizeof(int) : sizeof(nlmsgerr))) {
        return is_end ? Result<void>() : system_failure(EBADMSG, "the kernel's answer is cut off");
    }
    int answer = 0;  // both begin with an error number, as a negative one
    std::memcpy(&answer, mnl_nlmsg_get_payload(message), sizeof(answer));
    if (answer == 0 || (is_end && answer > 0)) return {};
    const int error = answer == std::numeric_limits<int>::min() ? EBADMSG : -answer;
    const std::string text = extended_ack_text(message);
    return text.empty() ? system_failure(error, "{}", std::strerror(error))
                        : system_failure(error, "{} ({})", text, std::strerror(error));
}

/// Calls `handle` for every message that answers us.  Others are left over
/// from a question whose answer came too late; they are passed over.
template <class Handle>
void for_each_answer(std::span<const std::byte> datagram, std::uint32_t port_id, Handle handle) {
    for_each_message(datagram, [&](const nlmsghdr* message) {
        if (mnl_nlmsg_portid_ok(message, port_id)) handle(message);
    });
}

}  // namespace

Result<void> NetlinkExchange::begin() {
    deadline_ = NetlinkTransport::Clock::now() + netlink_patience;
    if (!is_broken_) return {};
    if (auto reopened = transport_.reopen(); !reopened) return reopened;
    is_broken_ = false;
    return {};
}

Result<void> NetlinkExchange::send(Datagram messages) {
    auto sent = transport_.send(messages);
    is_broken_ = !sent;
    return sent;
}

Result<NetlinkExchange::Datagram> NetlinkExchange::receive() {
    auto datagram = transport_.receive(deadline_);
    is_broken_ = !datagram;
    return datagram;
}

std::vector<Result<void>> NetlinkExchange::transact(NetlinkBatch& requests) {
    std::vector<Result<void>> outcomes;
    outcomes.reserve(requests.size());
    Result<void> transfer = begin();
    while (transfer && outcomes.size() < requests.size()) {
        transfer = transact_some(requests, end_of_send(requests, outcomes.size()), outcomes);
    }
    outcomes.resize(requests.size(), transfer);
    return outcomes;
}

/// Sends the requests after `outcomes` and adds their outcomes.  Fails if answers are missing.
Result<void> NetlinkExchange::transact_some(NetlinkBatch& requests, std::size_t last,
                                            std::vector<Result<void>>& outcomes) {
    const std::size_t begin = outcomes.size();
    const std::uint32_t first = next_sequence_;
    for (std::size_t i = begin; i < last; ++i) {
        requests[i].nlmsg_seq = next_sequence_++;
        // The kernel takes them in their order and tells every refusal: when the last one is
        // acknowledged, those it has said nothing of are carried out.
        if (i + 1 < last) requests[i].nlmsg_flags &= ~NLM_F_ACK;
    }

    std::vector<std::optional<Result<void>>> answers(last - begin);
    Result<void> transfer = send(requests.bytes(begin, last));
    while (transfer && !answers.back()) {
        const auto datagram = receive();
        if (!datagram) {
            transfer = tl::unexpected(datagram.error());
            break;
        }
        for_each_answer(*datagram, transport_.port_id(), [&](const nlmsghdr* message) {
            const std::uint32_t index = message->nlmsg_seq - first;
            if (message->nlmsg_type != NLMSG_ERROR || index >= answers.size()) return;
            answers[index] = outcome_of(message);
        });
    }
    for (auto& answer : answers) outcomes.push_back(answer ? std::move(*answer) : transfer);
    return transfer;
}

Result<void> NetlinkExchange::query(NetlinkMessage request, const std::function<void()>& restart,
                                    const Visitor& visit) {
    const bool is_dump = (request.header()->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP;
    if (auto begun = begin(); !begun) return begun;
    for (int attempt = 0; attempt < dump_attempts; ++attempt) {
        restart();
        request.header()->nlmsg_seq = next_sequence_++;
        if (auto sent = send(request.bytes()); !sent) return sent;
        bool interrupted = false;
        auto answered = read_answer(request.header()->nlmsg_seq, is_dump, visit, interrupted);
        if (!answered && answered.error().error_number != EINTR) return answered;
        if (answered && !interrupted) return {};
    }
    return system_failure(EINTR, "the kernel's tables changed during each of {} attempts to read "
                          "them", dump_attempts);
}

Result<void> NetlinkExchange::read_answer(std::uint32_t sequence, bool is_dump,
                                          const Visitor& visit, bool& interrupted) {
    Result<void> result;
    bool done = false;
    while (!done) {
        const auto datagram = receive();
        if (!datagram) return tl::unexpected(datagram.error());
        for_each_answer(*datagram, transport_.port_id(), [&](const nlmsghdr* message) {
            if (message->nlmsg_seq != sequence || done) return;
            if ((message->nlmsg_flags & NLM_F_DUMP_INTR) != 0) interrupted = true;
            switch (message->nlmsg_type) {
                case NLMSG_ERROR:
                    result = outcome_of(message);
                    done = true;
                    break;
                case NLMSG_DONE:
                    if (auto end = outcome_of(message); !end) result = end;
                    done = is_dump;
                    break;
                default:
                    // The whole answer is read even so: what is left in the
                    // socket would only delay the next question.
                    if (auto visited = visit(message); !visited && result) result = visited;
            }
        });
    }
    return result;
}

std::string extended_ack_text(const nlmsghdr* message) {
    if ((message->nlmsg_flags & NLM_F_ACK_TLVS) == 0) return {};
    // An error carries the refused request back, whole unless NLM_F_CAPPED;
    // the end of a dump carries a number only.
    std::size_t offset_bytes = sizeof(int);
    if (message->nlmsg_type == NLMSG_ERROR) {
        offset_bytes = sizeof(nlmsgerr);
        if (message->nlmsg_len < NLMSG_LENGTH(offset_bytes)) return {};
        const auto* error = static_cast<const nlmsgerr*>(mnl_nlmsg_get_payload(message));
        if ((message->nlmsg_flags & NLM_F_CAPPED) == 0 && error->error != 0) {
            offset_bytes += NLMSG_ALIGN(error->msg.nlmsg_len) - NLMSG_HDRLEN;
        }
    }
    if (message->nlmsg_len < NLMSG_LENGTH(offset_bytes)) return {};
    const auto at = attribute_table<NLMSGERR_ATTR_MAX>(attributes_of(message, offset_bytes));
    return attribute_text(at[NLMSGERR_ATTR_MSG]);
}

}  // namespace headway
