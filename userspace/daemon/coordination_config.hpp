// SPDX-License-Identifier: Apache-2.0
// [coordination] of headway.toml.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "coordination/lease_timing.hpp"
#include "coordination/trunk.hpp"

namespace headway {

class TomlReader;  // its header has all of toml++

struct CoordinationConfig {
    std::vector<std::string> endpoints;  ///< of etcd
    std::string prefix = "/headway/";    ///< of all keys
    std::string ca_file;                 ///< as the next: empty if not set
    std::string cert_file;
    std::string key_file;
    std::string user;
    std::string password_file;
    SharePolicy policy = SharePolicy::per_job;
    std::map<std::string, std::uint32_t> weights{};  ///< by a job's name; 1 for others
    std::optional<BitsPerSecond> fallback;           ///< of a host; none: default_fallback()
    LeaseTiming timing;

    friend bool operator==(const CoordinationConfig&, const CoordinationConfig&) = default;
};

/// None: via = "none", or a mistake.
[[nodiscard]] std::optional<CoordinationConfig> read_coordination(TomlReader& reader);

}  // namespace headway
