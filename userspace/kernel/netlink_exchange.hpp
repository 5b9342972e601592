// SPDX-License-Identifier: Apache-2.0
// Questions and answers over netlink: sequence numbers, acknowledgements,
// dumps in many parts that may be interrupted.
//
// The kernel answers within the system call that sends, unless it has no memory for the
// answer or somebody else holds the lock of all network configuration.  Each exchange waits
// for its answers so long and no longer; after one that did not get them the socket is
// replaced, because what is in it, or missing in it, would be the next one's trouble.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "kernel/netlink_message.hpp"
#include "kernel/netlink_transport.hpp"

namespace headway {

/// For the answers of one exchange, together.
inline constexpr std::chrono::seconds netlink_patience{2};

class NetlinkExchange {
public:
    explicit NetlinkExchange(NetlinkTransport& transport) : transport_(transport) {}

    /// Sends requests that ask for an acknowledgement, in one system call (a
    /// few if there are many), and tells the outcome of each.  The kernel
    /// carries out all of them, whatever became of the earlier ones; but where it
    /// does not answer, those of later system calls are not sent.
    [[nodiscard]] std::vector<Result<void>> transact(std::span<NetlinkMessage> requests);

    /// Sends a query and gathers what `decode` makes of each message of the answer: a State,
    /// none (it is about something else), or an error.  A dump during which the kernel's
    /// tables changed is asked for again.
    template <class State, class Decode>
    [[nodiscard]] Result<std::vector<State>> query(const NetlinkMessage& request, Decode decode) {
        std::vector<State> states;
        const auto visit = [&](const nlmsghdr* message) -> Result<void> {
            Result<std::optional<State>> decoded = decode(message);
            if (!decoded) return tl::unexpected(decoded.error());
            if (*decoded) states.push_back(std::move(**decoded));
            return {};
        };
        const auto answered = query(request, [&] { states.clear(); }, visit);
        if (!answered) return tl::unexpected(answered.error());
        return states;
    }

private:
    using Datagram = std::span<const std::byte>;
    using Visitor = std::function<Result<void>(const nlmsghdr*)>;

    /// `restart` is called before each attempt.
    [[nodiscard]] Result<void> query(NetlinkMessage request, const std::function<void()>& restart,
                                     const Visitor& visit);
    [[nodiscard]] Result<void> begin();
    [[nodiscard]] Result<void> send(Datagram messages);
    [[nodiscard]] Result<Datagram> receive();
    [[nodiscard]] Result<void> transact_some(std::span<NetlinkMessage> requests,
                                             std::vector<Result<void>>& outcomes);
    [[nodiscard]] Result<void> read_answer(std::uint32_t sequence, bool is_dump,
                                           const Visitor& visit, bool& interrupted);

    NetlinkTransport& transport_;
    std::uint32_t next_sequence_ = 1;
    NetlinkTransport::Clock::time_point deadline_;  ///< of the exchange
    bool is_broken_ = false;  ///< an exchange has not got its answers
};

}  // namespace headway
