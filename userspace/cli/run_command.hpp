// SPDX-License-Identifier: Apache-2.0
// headway run, headway record: an MPI job with libheadway-mpi.so preloaded.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

#include "base/error.hpp"
#include "cli/command.hpp"

namespace headway {

/// A verb that becomes the job's launcher, whose exit status is that of the
/// command; run() returns only if that fails.
class JobCommand : public Command {
public:
    [[nodiscard]] ExitStatus run() const override;

protected:
    JobCommand(const CommandLine& line, const std::string& name, const std::string& description);

    using Setting = std::pair<std::string, std::string>;
    /// Or with which status to end instead of starting the command; why has been told.
    using Settings = tl::expected<std::vector<Setting>, ExitStatus>;
    /// Of the ranks, besides what every job gets, "" of what they are not to have.  `preload`: the
    /// library's path.
    [[nodiscard]] virtual Settings settings(const std::string& preload) const = 0;
    [[nodiscard]] const std::vector<std::string>& command() const { return command_; }

private:
    std::vector<std::string> command_;
    std::string library_directory_;
};

class RunCommand final : public JobCommand {
public:
    explicit RunCommand(const CommandLine& line);

private:
    [[nodiscard]] Settings settings(const std::string& preload) const override;
    [[nodiscard]] tl::expected<void, ExitStatus> add_planner(std::vector<Setting>& settings,
                                                             const std::string& preload) const;
    [[nodiscard]] Result<std::string> known_network() const;
    [[nodiscard]] tl::expected<std::string, ExitStatus> network(const std::string& preload) const;

    std::string pattern_;
    std::string report_;
    std::string config_;
    std::string line_;
    bool measures_ = false;
    bool wants_planner_ = false;
    bool refuses_planner_ = false;
};

class RecordCommand final : public JobCommand {
public:
    explicit RecordCommand(const CommandLine& line);

private:
    [[nodiscard]] Settings settings(const std::string& preload) const override;

    std::string recording_ = "headway-recording.json";
};

}  // namespace headway
