// SPDX-License-Identifier: Apache-2.0
// An agent as its coordinator sees it, with a line each way: a process that was started by a
// launch command such as `ssh HOST`, or one that has called (agent_call.hpp).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"

namespace headway {

class AgentProcess {
public:
    /// The program is searched in PATH.
    [[nodiscard]] static Result<AgentProcess> start(const std::vector<std::string>& command);
    /// Behind a socket, which does not block; it ends when that is closed.
    [[nodiscard]] static AgentProcess over(FileDescriptor socket);

    AgentProcess(AgentProcess&& other) noexcept
        : pid_(std::exchange(other.pid_, -1)), input_(std::move(other.input_)), output_(std::move(other.output_)),
          messages_(std::move(other.messages_)), received_(std::move(other.received_)),
          complaint_(std::move(other.complaint_)) {}
    AgentProcess& operator=(AgentProcess&&) = delete;
    /// Ends its input, gives it a moment to end, then kills it.
    ~AgentProcess();

    /// Fails if it is gone.
    [[nodiscard]] Result<void> say(std::string line);
    /// A whole line that has come; none yet: poll output() and messages().
    [[nodiscard]] std::optional<std::string> line();
    /// Reads what there is.  Fails if the process has closed its output, with what it last
    /// said on standard error.
    [[nodiscard]] Result<void> receive();

    [[nodiscard]] int output() const { return output_.get(); }
    [[nodiscard]] int messages() const { return messages_.get(); }
    /// The last line on its standard error; "": none.
    [[nodiscard]] std::string complaint() const;

private:
    AgentProcess(pid_t pid, FileDescriptor input, FileDescriptor output, FileDescriptor messages)
        : pid_(pid), input_(std::move(input)), output_(std::move(output)), messages_(std::move(messages)) {}

    pid_t pid_ = -1;
    FileDescriptor input_, output_, messages_;
    std::string received_;
    std::string complaint_;
};

}  // namespace headway
