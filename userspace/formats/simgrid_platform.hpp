// SPDX-License-Identifier: Apache-2.0
// SimGrid platform files (version 4 and 4.1), the part that is a tree of
// full-duplex cables.
//
//   <zone>, <AS>            any routing; only a grouping here
//   <host>, <router>        hosts and switches
//   <cluster>               FLAT or FAT_TREE (formats/simgrid_cluster.hpp)
//   <link>                  SPLITDUPLEX: a cable; SHARED: one direction of one
//   <route>                 joins two hosts or routers, by one link or several (formats/link_routes.hpp)
//   <zoneRoute>, <ASroute>  the same, joins its two gateways
//   <config>, <prop>        skipped, as are speed, core and loopbacks of hosts
//
// Everything else is refused by its name: what several cables share, what changes with
// time (traces, *_file) and what is no tree (TORUS, DRAGONFLY).  The first router of a file is
// the root of the tree.  Bandwidths are taken as rates of the wire.
#pragma once

#include <string_view>

#include "base/file_error.hpp"
#include "formats/written_topology.hpp"
#include "network/network_tree.hpp"

namespace headway {

[[nodiscard]] FileResult<NetworkTree> read_simgrid_platform(std::string_view text,
                                                            std::string_view file);

/// One zone with Dijkstra routing.  Fails, naming it, for a switch with the name
/// of a host: SimGrid has one name space.
[[nodiscard]] Result<WrittenTopology> write_simgrid_platform(const NetworkTree& tree);

}  // namespace headway
