// SPDX-License-Identifier: Apache-2.0
// What an administrator sets for sharing trunks: [coordination] of headway.toml, which
// config/config_tables.hpp reads.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "trunk/lease_timing.hpp"
#include "trunk/trunk.hpp"

namespace headway {

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

}  // namespace headway
