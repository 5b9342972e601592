// SPDX-License-Identifier: Apache-2.0
// Bounds on everything that a client can make grow.  What all users have together is divided
// among them by base/quota.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace headway {

/// Requests and answers, one JSON object each.
inline constexpr std::size_t datagram_max_bytes = 65536;

inline constexpr std::size_t clients_max = 2048;
inline constexpr std::size_t administrators_clients = 16;  ///< of these, for administrators alone
inline constexpr std::size_t patterns_per_client_max = 64;
inline constexpr std::size_t patterns_max = 16384;
inline constexpr std::size_t sharing_jobs_max = 256;  ///< whose hosts are known
inline constexpr std::size_t started_jobs_max = 128;
inline constexpr std::size_t administrators_jobs = 4;
/// A node is often one user's, so a user may have so many times as many slots, jobs with phases and
/// phases as are then left for one more user.
inline constexpr std::size_t phases_for_one_user = 3;
inline constexpr std::size_t demands_per_user_max = 16;  ///< jobs that share a trunk by agreement
/// A rank nests collectives only through threads or user-defined operations.
inline constexpr std::size_t enters_per_client_max = 16;
/// Names that the host lists of one request may stand for, together.
inline constexpr std::size_t hosts_per_request_max = 16384;
inline constexpr std::size_t algorithms_per_request_max = 32;
inline constexpr std::uint32_t ranks_per_host_max = 4096;
inline constexpr std::size_t job_name_max_bytes = 128;
/// One "traffic" request may name so many hosts.
inline constexpr std::size_t traffic_hosts_max = 512;
/// Plans that are kept for the next one who asks.
inline constexpr std::size_t plans_kept_max = 4096;
inline constexpr std::size_t whole_plans_kept_max = 4;
inline constexpr std::size_t host_lists_kept_max = 64;  ///< of requests, up to a datagram long
inline constexpr std::size_t traffic_plans_kept_max = 64;  ///< known by their whole request
/// Answers longer than a datagram wait here for clients to fetch them: so many bytes at most.
inline constexpr std::size_t long_answers_max_bytes = std::size_t{64} << 20;
/// Clients told by one status answer, for people to read.
inline constexpr std::size_t clients_in_status_max = 64;
inline constexpr std::size_t failed_in_status_max = 16;  ///< objects that the kernel refused
inline constexpr std::size_t jobs_in_status_max = 8;
inline constexpr std::size_t phases_in_status_max = 16;  ///< of a job

}  // namespace headway
