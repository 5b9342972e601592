// SPDX-License-Identifier: MIT
// Who sends to whom, where that is known without asking anybody: host by host, in
// messages of one size.  Hosts are places in the communicator's own `hosts`.
#pragma once

#include <mpi.h>

#include <cstddef>

#include "host_table.hpp"
#include "traffic_request.hpp"

namespace headway::glue {

/// A message from each rank to each of its neighbours; empty where those are not
/// known (neighbours.hpp), and of more ranks than headwayd wants to be told of.
[[nodiscard]] HostTraffic neighbour_traffic(const HostTable& table, MPI_Comm communicator,
                                            const HostSet& hosts);

/// A message from each host to the next of the ring (HostTable::ring_of); empty of more
/// hosts than headwayd wants to be told of.
[[nodiscard]] HostTraffic ring_traffic(const HostTable& table, MPI_Comm communicator,
                                       const HostSet& hosts);

/// headwayd is told of each pair of them.
inline constexpr std::size_t uneven_hosts_max = 64;

/// A message from each rank to each other where hosts have different numbers of ranks, so
/// that those with more need higher rates than the others.  Empty where all have as many, for
/// which headwayd plans without being told, and of more than uneven_hosts_max hosts.
[[nodiscard]] HostTraffic uneven_traffic(const HostTable& table, MPI_Comm communicator,
                                         const HostSet& hosts);

}  // namespace headway::glue
