// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "base/file_descriptor.hpp"
#include "protocol/protocol.hpp"

namespace headway {

/// A connection to headwayd's control socket.
class ControlClient {
public:
    /// Fails if nobody listens there.
    [[nodiscard]] static Result<ControlClient> connect(const std::string& path);

    /// Sends {"v":1,"id":...,"op":op} with the members of `members` and waits
    /// for the answer, 5 s at most for each datagram of it.  An answer that says no is a
    /// failure.
    [[nodiscard]] Result<Json> request(const std::string& op, const Json& members = Json::object());

private:
    explicit ControlClient(FileDescriptor socket) : socket_(std::move(socket)) {}

    Result<Json> exchange(const std::string& op, const Json& members);

    FileDescriptor socket_;
    std::uint64_t next_id_ = 1;
};

}  // namespace headway
