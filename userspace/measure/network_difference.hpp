// SPDX-License-Identifier: Apache-2.0
// What a description of a network says, against what was measured.
//
// Both are compared by their links: a link divides the measured hosts in two, and links that
// divide them alike are one, whatever switches are between them and wherever the root is.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "measure/network_measurement.hpp"
#include "network/measured_document.hpp"
#include "network/network_tree.hpp"

namespace headway {

/// The hosts of one side, by number in increasing order: of the side without host 0.
using HostSide = std::vector<std::size_t>;

/// One direction of a link.
struct LinkSide {
    double bytes_per_s = 0;
    bool is_exact = true;  ///< else: at least that much
    std::optional<double> buffer_bytes;
    double buffer_error_bytes = 0;
};

/// The link as seen from `HostSide`.
struct ComparedLink {
    LinkSide out, in;
    double delay_s = 0;
};

using ComparedNetwork = std::map<HostSide, ComparedLink>;

/// Returns the links between the measured hosts only; fails for a host that is not in the tree.  Of
/// several links that a hash chooses no rate or buffer is known.
[[nodiscard]] Result<ComparedNetwork> links_of(const NetworkTree& tree, const std::vector<std::string>& hosts);
[[nodiscard]] ComparedNetwork links_of(const MeasuredNetwork& network);
[[nodiscard]] ComparedNetwork links_of(const MeasuredDocument& document);

/// Adds a link that has `below` on its side; `out` is what leaves it.  Links that divide the
/// hosts alike become one; one with no host or all of them on a side is none.
void add_link(ComparedNetwork& links, HostSide below, std::size_t hosts, ComparedLink link);

/// The other network of a comparison: a description that may be wrong, or an earlier measurement,
/// since which the network may have changed.
enum class SaidBy { description, earlier_measurement };

/// Sentences, each about one thing that a description has wrong; none: it is right.  A rate
/// may differ by 5 %, a delay by 10 % or what could not be resolved, a buffer by 15 %, its
/// error or the two frames that a port holds beside its queue.
[[nodiscard]] std::vector<std::string> differences(const ComparedNetwork& said, const ComparedNetwork& measured,
                                                   const std::vector<std::string>& hosts, double resolution_s,
                                                   SaidBy by = SaidBy::description);

}  // namespace headway
