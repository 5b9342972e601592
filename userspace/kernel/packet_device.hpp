// SPDX-License-Identifier: Apache-2.0
// The short frames of GapFrameTest go out through a packet socket.
#pragma once

#include <string>

#include "kernel/gap_frame_test.hpp"

namespace headway {

/// Sends on that interface, as long as the result lives.  Fails without CAP_NET_RAW, and if
/// there is no such interface.
[[nodiscard]] Result<SendFrames> open_packet_device(const std::string& interface);

}  // namespace headway
