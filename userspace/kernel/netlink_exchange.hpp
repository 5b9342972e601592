// SPDX-License-Identifier: Apache-2.0
// Questions and answers over netlink: sequence numbers, acknowledgements,
// dumps in many parts that may be interrupted.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "kernel/netlink_message.hpp"
#include "kernel/netlink_transport.hpp"

namespace headway {

class NetlinkExchange {
public:
    explicit NetlinkExchange(NetlinkTransport& transport) : transport_(transport) {}

    /// Sends requests that ask for an acknowledgement, in one system call (a
    /// few if there are many), and tells the outcome of each.  The kernel
    /// carries out all of them, whatever became of the earlier ones.
    [[nodiscard]] std::vector<Result<void>> transact(std::span<NetlinkMessage> requests);

    using Visitor = std::function<Result<void>(const nlmsghdr*)>;

    /// Sends a query and shows `visit` every message of the answer.  `restart`
    /// is called before each attempt: a dump during which the kernel's tables
    /// changed is asked for again.
    [[nodiscard]] Result<void> query(NetlinkMessage request, const std::function<void()>& restart,
                                     const Visitor& visit);

private:
    void transact_some(std::span<NetlinkMessage> requests, std::vector<Result<void>>& outcomes);
    [[nodiscard]] Result<void> read_answer(std::uint32_t sequence, bool is_dump,
                                           const Visitor& visit, bool& interrupted);

    NetlinkTransport& transport_;
    std::uint32_t next_sequence_ = 1;
};

}  // namespace headway
