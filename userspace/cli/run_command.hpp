// SPDX-License-Identifier: Apache-2.0
// headway run, headway record: an MPI job with libheadway-mpi.so preloaded.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

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
    /// Of the ranks, besides what every job gets, "" of what they are not to have; none on a mistake, which has been told.
    [[nodiscard]] virtual std::optional<std::vector<Setting>> settings() const = 0;

private:
    std::vector<std::string> command_;
    std::string library_directory_;
};

class RunCommand final : public JobCommand {
public:
    explicit RunCommand(const CommandLine& line);

private:
    [[nodiscard]] std::optional<std::vector<Setting>> settings() const override;
    [[nodiscard]] bool add_planner(std::vector<Setting>& settings) const;

    std::string pattern_;
    std::string report_;
    std::string network_;
    bool wants_planner_ = false;
    bool refuses_planner_ = false;
};

class RecordCommand final : public JobCommand {
public:
    explicit RecordCommand(const CommandLine& line);

private:
    [[nodiscard]] std::optional<std::vector<Setting>> settings() const override;

    std::string recording_ = "headway-recording.json";
};

}  // namespace headway
