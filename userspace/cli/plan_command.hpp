// SPDX-License-Identifier: Apache-2.0
// `headway plan`: what the daemon would do for an all-to-all, and why; from
// the configuration's file alone, so that it can be tried anywhere.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/exit_status.hpp"

namespace headway {

enum class PlanFormat { text, json, tc };

struct PlanOptions {
    std::string config;
    std::vector<std::string> hosts{"all"};  ///< host lists; "all": every host of the file
    std::optional<std::uint64_t> message_bytes;
    std::uint32_t ranks_per_host = 1;
    std::vector<std::string> what_if;  ///< see cli/what_if.hpp
    std::string node;  ///< empty: this host if the file knows it
    PlanFormat format = PlanFormat::text;
};

[[nodiscard]] ExitStatus plan_command(const PlanOptions& options);

}  // namespace headway
