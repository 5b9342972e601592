// SPDX-License-Identifier: MIT
// A connection to headwayd's control socket (Documentation/control-protocol.rst):
// one JSON object per datagram.  Whatever the other end does (nothing, nonsense,
// closing) ends as an error within the time-out; after an error of the
// connection itself it cannot be used any more.
//
// Not thread safe: the caller serialises.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "json_object.hpp"
#include "object_text.hpp"
#include "unique_fd.hpp"

namespace headway::glue {

struct LinkError {
    std::string what;
    bool lost = true;  ///< false: the daemon refused this request, the connection is fine
};

template <class Value>
using LinkResult = tl::expected<Value, LinkError>;

class DaemonLink {
public:
    [[nodiscard]] static LinkResult<DaemonLink> connect(const std::string& path,
                                                        std::chrono::milliseconds timeout);

    /// Connects without ever waiting: a daemon too busy to accept counts as none.
    [[nodiscard]] static LinkResult<DaemonLink> connect_at_once(const std::string& path,
                                                                std::chrono::milliseconds timeout);

    /// Somebody who speaks its protocol is at the other end.
    [[nodiscard]] static LinkResult<DaemonLink> over(UniqueFd socket, std::chrono::milliseconds timeout);

    /// Sends and waits for the answer, an object whose "ok" is true.
    [[nodiscard]] LinkResult<JsonObject> ask(const ObjectText& request);

    /// An answer that a descriptor may come with.
    struct AnswerWithFile {
        JsonObject body;
        UniqueFd file;
    };
    [[nodiscard]] LinkResult<AnswerWithFile> ask_for_file(const ObjectText& request);

    /// Sends what take() then wants the id of.  Neither ever waits, and nothing
    /// else may be asked in between.
    [[nodiscard]] LinkResult<std::uint64_t> post(const ObjectText& request);
    /// The answer to the oldest post() not taken yet; none: it has not come.
    [[nodiscard]] LinkResult<std::optional<AnswerWithFile>> take(std::uint64_t id);

    /// The daemon has closed the connection, or is gone.  One system call.
    [[nodiscard]] bool is_hung_up() const;

private:
    using Clock = std::chrono::steady_clock;
    struct Received {
        std::uint64_t id = 0;
        bool accepted = false;
        JsonObject body;
    };

    DaemonLink(UniqueFd socket, std::chrono::milliseconds timeout);

    [[nodiscard]] static LinkResult<DaemonLink> connect_by(UniqueFd socket, const std::string& path,
                                                           std::chrono::milliseconds timeout);
    [[nodiscard]] LinkResult<std::uint64_t> send(ObjectText request, Clock::time_point deadline);
    [[nodiscard]] LinkResult<Received> receive(Clock::time_point deadline);
    [[nodiscard]] ssize_t receive_datagram();
    [[nodiscard]] static LinkResult<Received> read_answer(std::string text);
    [[nodiscard]] LinkResult<void> wait_for(short events, Clock::time_point deadline) const;

    UniqueFd socket_;
    std::chrono::milliseconds timeout_;
    std::uint64_t last_id_ = 0;
    std::vector<char> buffer_;
    UniqueFd file_;  ///< that came with the last datagram
};

}  // namespace headway::glue
