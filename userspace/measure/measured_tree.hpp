// SPDX-License-Identifier: Apache-2.0
// A measured network as a description that the writers of formats/ take.
#pragma once

#include <string>
#include <vector>

#include "measure/network_measurement.hpp"
#include "network/network_tree.hpp"

namespace headway {

/// Rates with three significant digits, hosts of a switch that differ by less than noise
/// alike.  Two switches are a star, as headway.toml has it.  `addresses` are the hosts';
/// a switch's prefixes are the smallest that have them and no other switch's.
[[nodiscard]] Result<NetworkTree> network_tree_of(const MeasuredNetwork& network,
                                                  const std::vector<std::string>& names,
                                                  const std::vector<std::string>& addresses);

/// Sentences on what network_tree_of() did not measure of its values: rates that are lower bounds, or
/// taken from elsewhere, and buffers that are left out.  All else is measured.
[[nodiscard]] std::vector<std::string> notes_on_values(const MeasuredNetwork& network,
                                                       const std::vector<std::string>& names);

/// Names every switch of the tree, by node, after what its hosts' names have in common.
[[nodiscard]] std::vector<std::string> switch_names(const HostTree& tree, const std::vector<std::string>& hosts);

}  // namespace headway
