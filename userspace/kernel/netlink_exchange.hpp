// SPDX-License-Identifier: Apache-2.0
// Questions and answers over netlink: sequence numbers, acknowledgements,
// dumps in many parts that may be interrupted.
//
// The kernel answers within the system call that sends, unless it has no memory for the
// answer or somebody else holds the lock of all network configuration.  Each exchange waits
// for its answers so long and no longer; after one that did not get them the socket is
// replaced, because what is in it, or missing in it, would be the next one's trouble.
#pragma once

#include <linux/netlink.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"

struct mnl_socket;

namespace headway {

/// One request.  Sequence number and port id are the sender's business.
class NetlinkMessage {
public:
    [[nodiscard]] nlmsghdr* header() { return reinterpret_cast<nlmsghdr*>(bytes_.data()); }
    [[nodiscard]] const nlmsghdr* header() const {
        return reinterpret_cast<const nlmsghdr*>(bytes_.data());
    }
    [[nodiscard]] std::span<const std::byte> bytes() const {
        return std::span(bytes_).first(header()->nlmsg_len);
    }

private:
    static constexpr std::size_t capacity_bytes = 4608;  // a class with a whole table has 4200
    alignas(NLMSG_ALIGNTO) std::array<std::byte, capacity_bytes> bytes_{};
};

/// Requests one after the other, as they are sent.
class NetlinkBatch {
public:
    void add(const NetlinkMessage& message) {
        begins_.push_back(bytes_.size());
        bytes_.insert(bytes_.end(), message.bytes().begin(), message.bytes().end());
        bytes_.resize(NLMSG_ALIGN(bytes_.size()));
    }
    [[nodiscard]] std::size_t size() const { return begins_.size(); }
    [[nodiscard]] nlmsghdr& operator[](std::size_t number) {
        return *reinterpret_cast<nlmsghdr*>(bytes_.data() + begins_[number]);
    }
    /// From one request to before another; size(): to the end.
    [[nodiscard]] std::span<const std::byte> bytes(std::size_t first, std::size_t last) const {
        const std::size_t end = last < size() ? begins_[last] : bytes_.size();
        return std::span(bytes_).subspan(begins_[first], end - begins_[first]);
    }

private:
    std::vector<std::byte> bytes_;
    std::vector<std::size_t> begins_;
};

/// The kernel's sentence in an acknowledgement or in the end of a dump; empty
/// if it sent none.
[[nodiscard]] std::string extended_ack_text(const nlmsghdr* message);

/// A netlink socket, or what stands in for one.
class NetlinkTransport {
public:
    using Clock = std::chrono::steady_clock;

    virtual ~NetlinkTransport() = default;

    [[nodiscard]] virtual std::uint32_t port_id() const = 0;

    /// Hands over one or more complete messages in one system call.
    [[nodiscard]] virtual Result<void> send(std::span<const std::byte> messages) = 0;

    /// The next datagram (one or more messages), aligned for them; valid until
    /// the next call.  Fails with ETIMEDOUT if the kernel stays silent until then.
    [[nodiscard]] virtual Result<std::span<const std::byte>> receive(Clock::time_point deadline) = 0;

    /// Opens another socket in the place of this one, with the same port: nothing is left in it.
    /// If that fails there is none, until it succeeds.
    [[nodiscard]] virtual Result<void> reopen() = 0;

protected:
    NetlinkTransport() = default;
    NetlinkTransport(const NetlinkTransport&) = default;
    NetlinkTransport& operator=(const NetlinkTransport&) = default;
};

/// The kernel of this network namespace, through libmnl.
class MnlTransport final : public NetlinkTransport {
public:
    /// Opens a socket of one of the kernel's families, NETLINK_ROUTE (0) or another, which also
    /// hears the news of `groups` (RTMGRP_*).  Fails if no such socket can be had.
    [[nodiscard]] static Result<MnlTransport> open(int family = 0, std::uint32_t groups = 0);

    [[nodiscard]] std::uint32_t port_id() const override;
    [[nodiscard]] Result<void> send(std::span<const std::byte> messages) override;
    [[nodiscard]] Result<std::span<const std::byte>> receive(Clock::time_point deadline) override;
    [[nodiscard]] Result<void> reopen() override;
    /// Readable when there is something to receive.
    [[nodiscard]] int fd() const;

private:
    struct Close {
        void operator()(mnl_socket* socket) const;
    };

    using Socket = std::unique_ptr<mnl_socket, Close>;

    MnlTransport(int family, std::uint32_t groups);
    [[nodiscard]] Result<void> wait(Clock::time_point deadline) const;

    int family_;
    std::uint32_t groups_;
    Socket socket_;  ///< none: reopening has failed
    std::uint32_t port_;
    std::vector<std::byte> buffer_;  // from the heap: large, and aligned as messages need
};

/// All answers of one exchange together may take so long.
inline constexpr std::chrono::seconds netlink_patience{2};

class NetlinkExchange {
public:
    explicit NetlinkExchange(NetlinkTransport& transport) : transport_(transport) {}

    /// Sends requests that ask for an acknowledgement, in one system call (a
    /// few if there are many), and tells the outcome of each.  The kernel
    /// carries out all of them, whatever became of the earlier ones; but where it
    /// does not answer, those of later system calls are not sent.
    [[nodiscard]] std::vector<Result<void>> transact(NetlinkBatch& requests);

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
    [[nodiscard]] Result<void> transact_some(NetlinkBatch& requests, std::size_t last,
                                             std::vector<Result<void>>& outcomes);
    [[nodiscard]] Result<void> read_answer(std::uint32_t sequence, bool is_dump,
                                           const Visitor& visit, bool& interrupted);

    NetlinkTransport& transport_;
    std::uint32_t next_sequence_ = 1;
    NetlinkTransport::Clock::time_point deadline_;  ///< of the exchange
    bool is_broken_ = false;  ///< an exchange has not got its answers
};

}  // namespace headway
