// SPDX-License-Identifier: Apache-2.0
// A command that runs beside this program, which waits for its end.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"

namespace headway {

/// Ended, if this object does before it.
class ChildProcess {
public:
    struct Streams {
        bool has_input = true;            ///< false: its standard input is empty
        bool prints_to_stderr = false;    ///< its standard output is this program's standard error
    };
    [[nodiscard]] static Result<ChildProcess> start(const std::vector<std::string>& command, Streams streams);

    ChildProcess(ChildProcess&& other) noexcept;
    ChildProcess& operator=(ChildProcess&&) = delete;
    ~ChildProcess();

    /// Becomes readable at its end.
    [[nodiscard]] int fd() const { return fd_.get(); }

    [[nodiscard]] bool has_ended_within(std::chrono::milliseconds patience) const;

    /// Returns the exit status as a shell has it.
    [[nodiscard]] int wait();

private:
    ChildProcess(pid_t pid, FileDescriptor fd);

    pid_t pid_;
    FileDescriptor fd_;
};

}  // namespace headway
