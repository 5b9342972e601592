// SPDX-License-Identifier: MIT
// A rate that the program itself asks for, with HEADWAY_MATB; and the bandwidth
// that it divides, HEADWAY_MAXRATE.  Where the session has a slot the rate is a
// phase in it, beside whatever collectives enter and leave.  Else headwayd is
// asked over a connection of its own, opened at the first use:
//
//   {"op":"rate", "bytes_per_s":N}      N, or null: no limit of the program's
//
// A daemon without phases refuses that; then the program goes on unpaced, one
// line says so, and it is not asked again.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

#include "daemon_link.hpp"

namespace headway::glue {

enum class RateResult {
    set,
    unsupported,  ///< refused now or before
    no_daemon,
};

class RateControl {
public:
    /// Bytes of wire time per second, of this process to other clusters.
    RateResult set_rate(std::optional<std::uint64_t> bytes_per_s) noexcept;

    /// What the clusters of the job share, in bytes per second: HEADWAY_MAXRATE
    /// in the environment (Kbytes/s), or else the daemon's limiting link of an
    /// all-to-all of the whole job.  None: neither is known.
    [[nodiscard]] std::optional<std::uint64_t> max_bytes_per_s() noexcept;

    /// MPI is about to be finalised: the rate ends.
    void close() noexcept;

private:
    [[nodiscard]] LinkResult<DaemonLink::Json> ask(DaemonLink::Json request);
    [[nodiscard]] std::optional<std::uint64_t> ask_for_maximum();

    std::mutex mutex_;  ///< guards what follows
    bool tried_ = false;
    bool refused_ = false;
    std::optional<DaemonLink> link_;
    bool maximum_known_ = false;
    std::optional<std::uint64_t> maximum_;
};

/// The process's one; never destroyed, as helper().
[[nodiscard]] RateControl& rate_control();

}  // namespace headway::glue
