// SPDX-License-Identifier: Apache-2.0
// `headway predict`: the time of a collective by every model that applies, as a
// table, as JSON and as a picture over message size or hosts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/exit_status.hpp"

namespace headway {

struct PredictOptions {
    std::string config;
    std::string operation = "alltoall";
    std::vector<std::string> hosts{"all"};  ///< host lists; "all": every host of the file
    std::string root;                       ///< a host; empty: the first that takes part
    std::vector<std::string> bytes{"64KiB"};  ///< sizes, or ranges "1KiB..1MiB" of powers of two
    bool over_hosts = false;  ///< for 2, 4, 8, ... of each cluster's hosts instead
    std::uint32_t ranks_per_host = 1;
    std::vector<std::string> what_if;  ///< see model/what_if.hpp
    std::string svg;                   ///< file to write the picture to; empty: none
    bool json = false;
};

[[nodiscard]] ExitStatus predict_command(const PredictOptions& options);

}  // namespace headway
