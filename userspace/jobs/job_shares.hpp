// SPDX-License-Identifier: Apache-2.0
// What part of each link a job may use, of the jobs that a node knows.
//
// Every plan is made as if its job were alone: together its hosts then ask no
// more of any link than the link has.  If each job gets so much of its own
// plan's rates as its part of the link, and the parts of no link add up to more
// than one, all jobs together ask no more of it either, whatever their plans.
//
// The parts are those of trunk/shares.hpp with jobs that want all they
// can get: by weight, or every host of the jobs the same and a host's jobs the
// same.  A job that has a link to itself has all of it.
//
// A link is divided among users first, each of whom counts by the greatest weight of
// his jobs: who starts many jobs has no more of it.
//
// Jobs of one allocation of a batch system (its steps, what mpirun starts in it) count
// as one: they divide among them what one job in their place would have.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <vector>

#include "kernel/kernel_layout.hpp"
#include "network/link_part.hpp"
#include "network/topology.hpp"
#include "trunk/shares.hpp"

namespace headway {

struct SharingJob {
    HostSet hosts;
    uid_t user = 0;
    std::uint32_t weight = 1;    ///< all jobs of an allocation have the same
    std::size_t allocation = 0;  ///< a number; jobs with the same are of one allocation
};

/// Returns for each job a part for each class of the layout: the least of those of the links that
/// its packets may take from this node.
[[nodiscard]] std::vector<std::vector<LinkPart>> share_links(const Topology& topology,
                                                             const KernelLayout& layout,
                                                             SharePolicy policy,
                                                             std::span<const SharingJob> jobs);

/// Returns each job's part of one trunk; a job that does not cross it has `one`.
[[nodiscard]] std::vector<LinkPart> share_trunk(const Topology& topology, std::size_t trunk,
                                                SharePolicy policy,
                                                std::span<const SharingJob> jobs);

}  // namespace headway
