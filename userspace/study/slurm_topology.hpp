// SPDX-License-Identifier: Apache-2.0
// topology.conf of Slurm's topology/tree plugin.
//
//   SwitchName=s0 Nodes=n[0-7] LinkSpeed=1000
//   SwitchName=s1 Nodes=n[8-15] LinkSpeed=1000
//   SwitchName=top Switches=s[0-1] LinkSpeed=10000
//
// Parameter names in any case; '#' starts a comment; a backslash at the end of
// a line continues it.  Slurm gives LinkSpeed no unit, so that whoever reads a
// file has to say it.  Headway takes it for the rate of the links that the line
// describes, those from the switch to its nodes or switches, up and down.
//
// Not said by this format: delays, buffers, directions, address prefixes.
#pragma once

#include <optional>
#include <string_view>

#include "base/file_error.hpp"
#include "plan/network_tree.hpp"
#include "study/written_topology.hpp"

namespace headway {

struct SlurmOptions {
    std::optional<BitsPerSecond> link_speed_unit;  ///< what LinkSpeed=1 is
    std::optional<BitsPerSecond> default_rate;     ///< of lines without LinkSpeed
};

[[nodiscard]] FileResult<NetworkTree> read_slurm_topology(std::string_view text,
                                                          std::string_view file,
                                                          const SlurmOptions& options);

/// Without a unit no LinkSpeed is written.  Fails, naming the switch, if one has
/// both nodes and switches, which Slurm refuses.
[[nodiscard]] Result<WrittenTopology> write_slurm_topology(const NetworkTree& tree,
                                                           const SlurmOptions& options);

}  // namespace headway
