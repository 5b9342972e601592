// SPDX-License-Identifier: Apache-2.0
#include "kernel/netlink_exchange.hpp"

#include <libmnl/libmnl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "kernel/netlink_attributes.hpp"

namespace headway {
namespace {

// As many refusals fit into the smallest usual receive buffer.
constexpr std::size_t messages_per_send = 64;
// The kernel refuses more than half of a socket's usual send buffer at once.
constexpr std::size_t bytes_per_send = 64 * 1024;

std::size_t count_for_one_send(std::span<const NetlinkMessage> requests) {
    std::size_t count = 0, bytes = 0;
    while (count < std::min(requests.size(), messages_per_send)) {
        bytes += NLMSG_ALIGN(requests[count].bytes().size());
        if (count > 0 && bytes > bytes_per_send) break;
        ++count;
    }
    return count;
}

constexpr int dump_attempts = 10;

/// What an acknowledgement, a refusal or the end of a dump says: nothing or an error, in the
/// kernel's own words if it has any.
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

std::vector<Result<void>> NetlinkExchange::transact(std::span<NetlinkMessage> requests) {
    std::vector<Result<void>> outcomes;
    outcomes.reserve(requests.size());
    Result<void> transfer = begin();
    while (transfer && !requests.empty()) {
        const std::size_t count = count_for_one_send(requests);
        transfer = transact_some(requests.first(count), outcomes);
        requests = requests.subspan(count);
    }
    outcomes.resize(outcomes.size() + requests.size(), transfer);
    return outcomes;
}

/// Fails if answers are missing.
Result<void> NetlinkExchange::transact_some(std::span<NetlinkMessage> requests,
                                            std::vector<Result<void>>& outcomes) {
    const std::uint32_t first = next_sequence_;
    std::vector<std::byte> bytes;
    for (NetlinkMessage& request : requests) {
        request.header()->nlmsg_seq = next_sequence_++;
        // The kernel takes them in their order and tells every refusal: when the last one is
        // acknowledged, those it has said nothing of are carried out.
        if (&request != &requests.back()) request.header()->nlmsg_flags &= ~NLM_F_ACK;
        bytes.insert(bytes.end(), request.bytes().begin(), request.bytes().end());
        bytes.resize(NLMSG_ALIGN(bytes.size()));
    }

    std::vector<std::optional<Result<void>>> answers(requests.size());
    Result<void> transfer = send(bytes);
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

}  // namespace headway
