// SPDX-License-Identifier: Apache-2.0
// Switches as the files of Slurm describe them, each with what is below it, and the tree that they
// are.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "formats/file_mistakes.hpp"
#include "formats/slurm_topology.hpp"
#include "network/network_tree.hpp"

namespace headway {

inline constexpr const char* slurm_switch_advice =
    "write SwitchName=NAME with Nodes=LIST or Switches=LIST, and perhaps LinkSpeed=NUMBER";

inline constexpr const char* slurm_tree_advice =
    "Headway needs switches and what is below each, as topology/tree has them";

/// One switch, in the words of the file.
struct SlurmSwitch {
    std::string file;
    std::uint32_t line = 0;
    std::string name;
    std::optional<std::string> nodes;
    std::optional<std::string> switches;
    std::optional<std::string> speed;
};

/// The tree; all mistakes, those that were made before it included.  A switch may have its nodes
/// beside its switches, as `scontrol show topology` prints them: those of the switches below it.
[[nodiscard]] FileResult<NetworkTree> tree_of_slurm(const std::vector<SlurmSwitch>& switches, std::string_view file,
                                                    const SlurmOptions& options,
                                                    FileMistakes& mistakes);

}  // namespace headway
