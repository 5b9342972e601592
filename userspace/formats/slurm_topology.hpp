// SPDX-License-Identifier: Apache-2.0
// topology.conf and topology.yaml of Slurm's topology/tree plugin.
//
//   SwitchName=s0 Nodes=n[0-7] LinkSpeed=1000        - topology: all
//   SwitchName=s1 Nodes=n[8-15] LinkSpeed=1000         tree:
//   SwitchName=top Switches=s[0-1] LinkSpeed=10000       switches:
//                                                          - {switch: top, children: "s[0-1]"}
//                                                          - {switch: s0, nodes: "n[0-7]"}
//
// Lines are read as Slurm reads them (formats/slurm_lines.hpp).  Slurm gives LinkSpeed no unit, so
// that whoever reads a file has to say it.  Headway takes it for the rate of the links that the line
// describes, those from the switch to its nodes or switches, up and down.  What
// `scontrol show topology` prints is read as well; blocks describe no network, and are refused.
//
// Not said by these formats: delays, buffers, directions, address prefixes; by topology.yaml, rates.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/file_error.hpp"
#include "formats/written_topology.hpp"
#include "network/network_tree.hpp"

namespace headway {

using ReadFile = std::function<FileResult<std::string>(const std::filesystem::path&)>;

struct SlurmOptions {
    std::optional<BitsPerSecond> link_speed_unit;  ///< what LinkSpeed=1 is
    std::optional<BitsPerSecond> default_rate;     ///< of lines without LinkSpeed
    ReadFile read_file{};                          ///< for Include; none: that is a mistake
};

[[nodiscard]] FileResult<NetworkTree> read_slurm_topology(std::string_view text,
                                                          std::string_view file,
                                                          const SlurmOptions& options);
/// The only tree, or of several the cluster's default.
[[nodiscard]] FileResult<NetworkTree> read_slurm_yaml(std::string_view text, std::string_view file,
                                                      const SlurmOptions& options);

/// Writes LinkSpeed only with a unit.  Fails, naming the switch, if one has both nodes and
/// switches, which Slurm refuses.
[[nodiscard]] Result<WrittenTopology> write_slurm_topology(const NetworkTree& tree,
                                                           const SlurmOptions& options);

}  // namespace headway
