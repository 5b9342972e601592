// SPDX-License-Identifier: MIT
// What the MPI library must be told before MPI_Init so that a paced exchange can
// be fast.  It is told through environment variables, which it reads in MPI_Init;
// afterwards they are taken back, so that child processes and spawned jobs do not
// inherit them.
//
// Every rank must come to the same settings, and before MPI_Init ranks cannot
// talk.  So nothing here depends on the node (such as whether it has a daemon),
// only on the environment, which mpirun makes the same for all ranks.
#pragma once

#include <string>
#include <vector>

#include "settings.hpp"
#include "unique_fd.hpp"

namespace headway::glue {

class LibraryEnvironment {
public:
    LibraryEnvironment() = default;
    LibraryEnvironment(const LibraryEnvironment&) = delete;
    LibraryEnvironment& operator=(const LibraryEnvironment&) = delete;
    ~LibraryEnvironment() { restore(); }

    /// Sets what `settings` ask for and the user has not set himself.
    void apply(const Settings& settings);

    /// Takes back what apply() set.
    void restore();

    /// What was set or left, and how to switch it off: for the user's eyes.
    [[nodiscard]] std::string summary() const;

private:
    void apply_transport();
    void apply_algorithm();
    void set_unless_given(const char* variable, const char* value);
    void set(const std::string& variable, const std::string& value);

    std::vector<std::string> variables_;  ///< set by us
    std::vector<std::string> told_;       ///< one phrase for each decision
    UniqueFd rules_;
};

}  // namespace headway::glue
