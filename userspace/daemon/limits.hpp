// SPDX-License-Identifier: Apache-2.0
// Bounds on everything that a client can make grow.
#pragma once

#include <cstddef>
#include <cstdint>

namespace headway {

/// Requests and answers, one JSON object each.
inline constexpr std::size_t datagram_max_bytes = 65536;

inline constexpr std::size_t clients_max = 2048;
/// One user cannot shut the others out.
inline constexpr std::size_t clients_per_user_max = 1024;

inline constexpr std::size_t patterns_per_client_max = 64;
/// A rank nests collectives only through threads or user-defined operations.
inline constexpr std::size_t enters_per_client_max = 16;
/// Names that the host lists of one request may stand for, together.
inline constexpr std::size_t hosts_per_request_max = 16384;
inline constexpr std::size_t algorithms_per_request_max = 32;
inline constexpr std::uint32_t ranks_per_host_max = 4096;
inline constexpr std::size_t job_name_max_bytes = 128;
/// A phase's rate is at least the link's divided by this: no process can bring
/// the node to a halt.
inline constexpr std::uint64_t slowest_rate_divisor = 1000;
/// Of one "traffic" request.
inline constexpr std::size_t traffic_hosts_max = 512;
/// Plans that are kept for the next one who asks.
inline constexpr std::size_t plans_kept_max = 4096;
inline constexpr std::size_t traffic_plans_kept_max = 64;  ///< known by their whole request
/// Clients told by one status answer, so that it fits into a datagram.
inline constexpr std::size_t clients_in_status_max = 64;
inline constexpr std::size_t failed_in_status_max = 16;  ///< objects that the kernel refused
inline constexpr std::size_t jobs_in_status_max = 8;
inline constexpr std::size_t jobs_in_list_max = 128;
inline constexpr std::size_t started_jobs_max = 128;
inline constexpr std::size_t started_jobs_per_user_max = 16;  ///< of users other than root
inline constexpr std::size_t phases_in_status_max = 16;  ///< of a job

}  // namespace headway
