// SPDX-License-Identifier: Apache-2.0
// A verb of the command line: its options, and what it does.
//
// A command adds its verb and options when it is made, and runs after the
// command line has been read.  main.cpp has the list.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <sstream>
#include <string>
#include <string_view>

#include "base/command_line.hpp"
#include "base/error.hpp"
#include "base/exit_status.hpp"

namespace headway {

/// Says on standard error why a verb ends with that status, each line below its name.
inline ExitStatus tell(std::string_view verb, const Error& error, ExitStatus status) {
    std::istringstream lines(error.message);
    for (std::string line; std::getline(lines, line);) fmt::print(stderr, "headway {}: {}\n", verb, line);
    return status;
}

class Command {
public:
    virtual ~Command() = default;
    Command(const Command&) = delete;  // options are kept by reference
    Command& operator=(const Command&) = delete;

    [[nodiscard]] bool is_chosen() const { return verb_.is_chosen(); }
    [[nodiscard]] virtual ExitStatus run() const = 0;

protected:
    Command(const CommandLine& line, const std::string& name, const std::string& description)
        : verb_(line.program().add_verb(name, description)) {}

    [[nodiscard]] const Verb& verb() const { return verb_; }

private:
    Verb verb_;
};

}  // namespace headway
