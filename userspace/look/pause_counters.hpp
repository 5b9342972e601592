// SPDX-License-Identifier: Apache-2.0
// PAUSE frames that a card has received and sent, as drivers tell them since Linux 5.9 (ethtool -I --show-pause).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernel/netlink_exchange.hpp"

namespace headway {

struct PauseFrames {
    std::optional<std::uint64_t> received, sent;  ///< none: the driver does not count them
};

/// One message of the answer to ETHTOOL_MSG_PAUSE_GET.
[[nodiscard]] std::optional<PauseFrames> decode_pause_frames(const nlmsghdr* message);

/// Asks the kernel, by generic netlink; nothing: it does not tell.
[[nodiscard]] PauseFrames read_pause_frames(const std::string& interface);

}  // namespace headway
