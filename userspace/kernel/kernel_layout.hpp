// SPDX-License-Identifier: Apache-2.0
// What headwayd keeps in the kernel of a node:
//
//   qdisc gap 1:            root of the interface
//     class 1:10            packets to hosts of the node's own cluster
//     class 1:11, 1:12, ... to the other clusters, in the order of the file
//   flower filters          one per prefix: destination -> class
//
// Where the trunk is shared (Documentation/coordination.rst) the classes to other
// clusters are not below the root but below two more, 1:2 (guard) and 1:3 (cap).
//
// Everything else (no prefix matches) leaves unpaced.  At rest all classes are
// unlimited; a collective lowers some of them while it runs.
//
// With phases (userspace/phase/) each of these classes has children, which a
// BPF classifier chooses instead of the filters:
//
//     class 1:10              cap on all of them
//       class 1:110           packets of all jobs, each at its phase's rate
//       class 1:1001, ...     those of one job each, where jobs are told apart; as several of a
//                             node's jobs may send a burst at once, these classes have none
//
// Which phase a packet is of is a number that the classifier gives it; what the
// number means is in the tables of these classes (userspace/phase/phase_tables.hpp).
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "kernel/traffic_control.hpp"
#include "network/topology.hpp"

namespace headway {

inline constexpr TcHandle root_handle = tc_handle(1, 0);

/// Filters of IPv4 and of IPv6 prefixes.  tc's "pref".
inline constexpr std::uint16_t filter_preference_v4 = 10;
inline constexpr std::uint16_t filter_preference_v6 = 11;

/// One class, in the order of the class ids.
struct ClassLayout {
    TcHandle classid;
    std::size_t cluster = 0;  ///< packets to this cluster's hosts
    std::uint32_t burst_bytes = 0;
};

/// There while the self-test runs (kernel/gap_frame_test.hpp), and nobody else's business.
inline constexpr TcHandle selftest_class = tc_handle(1, 0xfff0);

/// Above all classes whose packets cross the trunk, one below the other.
inline constexpr TcHandle guard_class = tc_handle(1, 2);
inline constexpr TcHandle cap_class = tc_handle(1, 3);

/// The class below that one which all jobs share.
[[nodiscard]] TcHandle shared_class(TcHandle classid);

struct KernelLayout {
    std::size_t own_cluster = 0;
    std::optional<ClassLease> guard;   ///< none: no guard, no cap
    std::vector<ClassLayout> classes;  ///< the own cluster's first
    std::vector<Change> set_up;        ///< in the order in which they build on each other
    Change tear_down;                  ///< undoes any beginning of set_up that has the qdisc
};

/// `burst_bytes`: by the cluster to which a class leads; none: all are 0.
[[nodiscard]] KernelLayout make_kernel_layout(const Topology& topology, std::size_t own_cluster,
                                              const std::optional<ClassLease>& guard = {},
                                              const std::vector<std::uint32_t>& burst_bytes = {});

/// Adds phases below the classes of a layout.
[[nodiscard]] KernelLayout with_phases(const KernelLayout& layout, const PhaseProgram& program);

/// The rates of a plan for a node of `layout`'s own cluster, one per class of
/// the layout.  None: the plan does not limit that class.
[[nodiscard]] std::vector<ClassRate> class_rates(
    const KernelLayout& layout, const std::vector<std::vector<ClassRate>>& rates_by_cluster);

}  // namespace headway
