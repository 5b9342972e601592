// SPDX-License-Identifier: Apache-2.0
// What an administrator sets for sharing trunks: [coordination] of headway.toml, which
// config/config_tables.hpp reads.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "trunk/shares.hpp"

namespace headway {

/// The times that safety and speed of the coordination depend on.
struct LeaseTiming {
    using Time = std::chrono::nanoseconds;

    // Safety: Documentation/coordination.rst says what each has to cover.
    Time lease = std::chrono::seconds(10);   ///< of a member's keys in the store
    Time expires = std::chrono::seconds(2);  ///< of the guard class in the kernel
    Time margin = std::chrono::seconds(1);   ///< for a store that ends a lease early
    std::uint32_t drift_ppm = 1000;  ///< by how much two clocks may differ over the same time

    // Speed
    Time keep_alive_every = std::chrono::milliseconds(1500);
    Time refresh_every = std::chrono::milliseconds(500);
    Time request_timeout = std::chrono::seconds(1);  ///< then a request is made again
    Time retry_pause = std::chrono::milliseconds(200);
    Time patience = std::chrono::seconds(1);  ///< so long new demands wait for others to agree

    friend bool operator==(const LeaseTiming&, const LeaseTiming&) = default;

    /// Returns by how much two clocks may differ after `time`.
    [[nodiscard]] Time drift(Time time) const;
    /// For so long after a member asked to prolong the lease, the store surely still has it.
    [[nodiscard]] Time lease_at_least() const;
    /// After the store has been gone for so long, nobody uses its shares any more.
    [[nodiscard]] Time lease_at_most() const;
    /// A request that may raise a rate needs a lease that lasts so much longer: for
    /// `expires` its effect may be delayed, then for `expires` it may last.
    [[nodiscard]] Time needed() const;
};

/// Whether a member that is well keeps its rates: the lease survives two prolongings that fail.
[[nodiscard]] Result<void> check_timing(const LeaseTiming& timing);

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
