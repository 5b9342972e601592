// SPDX-License-Identifier: MIT
// The HEADWAY_* environment variables of an MPI program, read once, before MPI_Init.
#pragma once

#include <string>

#include "session_options.hpp"

namespace headway::glue {

struct Settings : SessionOptions {
    bool transport = true;          ///< HEADWAY_TRANSPORT=off: the library's TCP is left alone
    bool algorithm = true;          ///< HEADWAY_ALGORITHM=off: none of our own algorithms
    bool all_ranks = false;         ///< HEADWAY_ALL_RANKS=on: the user says that all have the library
    int maxrate_kbytes_per_s = 0;   ///< HEADWAY_MAXRATE; 0: what headwayd says
    std::string report;  ///< HEADWAY_REPORT: summary or FILE.json; rank 0's holds
    std::string planner;  ///< HEADWAY_PLANNER: the program that plans where no node has a daemon; "": none does
    std::string node;     ///< HEADWAY_NODE: this node in that description; "": the host's name
    std::string network;  ///< HEADWAY_NETWORK: the description of the network that it is given
    std::string pattern_file;  ///< HEADWAY_PATTERN: a recording to pace by
    Complaints complaints;
};

[[nodiscard]] Settings read_settings();

/// Version and settings in which all ranks must agree, for they decide which collectives
/// the library itself calls.
[[nodiscard]] std::string agreed_version(const Settings& settings);

}  // namespace headway::glue
