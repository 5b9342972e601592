// SPDX-License-Identifier: Apache-2.0
// A network interface for GapFrameTest: frames go out through a packet socket.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "base/file_descriptor.hpp"
#include "kernel/gap_frame_test.hpp"

namespace headway {

class PacketDevice final : public TestedDevice {
public:
    /// Fails without CAP_NET_RAW, and if there is no such interface.
    [[nodiscard]] static Result<PacketDevice> open(const std::string& name);

    [[nodiscard]] Result<GapCounters> counters() override;
    [[nodiscard]] Result<std::size_t> send(TcHandle classid, std::size_t frames) override;

private:
    static constexpr std::size_t frame_bytes = 60;

    PacketDevice(std::string name, FileDescriptor socket) : name_(std::move(name)), socket_(std::move(socket)) {}

    std::string name_;
    FileDescriptor socket_;
    std::array<std::byte, frame_bytes> frame_{};
};

}  // namespace headway
