// SPDX-License-Identifier: Apache-2.0
// TCP connections between all hosts of a measurement, and messages over them by a program.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "measure/laboratory.hpp"
#include "measure/measure_socket.hpp"

namespace headway {

class TcpMesh {
public:
    explicit TcpMesh(BoundSocket listener) : listener_(std::move(listener)) {}

    [[nodiscard]] std::uint16_t port() const { return listener_.port; }

    /// Connects to the hosts with smaller numbers and is connected to by the others, in so
    /// long; `addresses` are of all hosts, by number.  Errors name the host by its number.
    [[nodiscard]] Result<void> connect(std::uint64_t token, std::size_t self,
                                       std::span<const SocketAddress> addresses,
                                       std::chrono::nanoseconds patience);

    /// One host's part.  Fails if it takes longer than `patience`; then the connections
    /// cannot be used any more, for nobody knows where in the program the others are.
    [[nodiscard]] Result<ProgramOutcome> run(const HostProgram& program, std::uint32_t rounds,
                                             std::chrono::nanoseconds patience);

private:
    using Time = std::chrono::steady_clock::time_point;

    Result<void> connect_to(std::uint64_t token, std::size_t self, std::size_t peer,
                            const SocketAddress& address);
    Result<void> accept_one(std::uint64_t token, Time until);
    /// When each transfer was received, in the step's order.
    Result<std::vector<Time>> run_step(const Step& step, Time until);

    BoundSocket listener_;
    std::map<std::size_t, FileDescriptor> peers_;
    bool is_usable_ = false;
};

}  // namespace headway
