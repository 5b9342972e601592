// SPDX-License-Identifier: Apache-2.0
#include "kernel/kernel_layout.hpp"

namespace headway {
namespace {

constexpr std::uint16_t first_class_minor = 0x10;
constexpr std::uint16_t shared_minor_offset = 0x100;

/// Makes what is above the clusters' classes.  Guard and cap begin at the fallback; the coordinator
/// changes them later.
std::vector<Change> set_up_above(const std::optional<ClassLease>& guard) {
    if (!guard) return {AddRootQdisc{root_handle}};
    const AddClass above{.classid = guard_class, .rate = {}, .lease = guard, .keeps_rate = true};
    const AddClass below{.classid = cap_class, .rate = guard->fallback, .parent = guard_class,
                         .keeps_rate = true};
    return {AddRootQdisc{root_handle}, above, below};
}

std::optional<TcHandle> parent_of(const KernelLayout& layout, std::size_t cluster) {
    if (!layout.guard || cluster == layout.own_cluster) return std::nullopt;
    return cap_class;
}

}  // namespace

TcHandle shared_class(TcHandle classid) {
    return tc_handle(classid.major(),
                     static_cast<std::uint16_t>(classid.minor() + shared_minor_offset));
}

KernelLayout make_kernel_layout(const Topology& topology, std::size_t own_cluster,
                                const std::optional<ClassLease>& guard,
                                const std::vector<std::uint32_t>& burst_bytes) {
    KernelLayout layout{own_cluster, guard, {}, set_up_above(guard), DeleteRootQdisc{root_handle}};
    std::uint16_t minor = first_class_minor;
    const auto add_class = [&](std::size_t cluster) {
        const std::uint32_t burst = burst_bytes.empty() ? 0 : burst_bytes[cluster];
        layout.classes.push_back({tc_handle(root_handle.major(), minor++), cluster, burst});
        layout.set_up.emplace_back(AddClass{.classid = layout.classes.back().classid, .rate = {},
                                            .parent = parent_of(layout, cluster), .burst_bytes = burst});
    };
    add_class(own_cluster);
    for (std::size_t cluster = 0; cluster < topology.clusters().size(); ++cluster) {
        if (cluster != own_cluster) add_class(cluster);
    }

    std::uint32_t handle = 1;
    for (const ClassLayout& target : layout.classes) {
        for (const IpPrefix& prefix : topology.clusters()[target.cluster].prefixes) {
            const auto preference =
                prefix.family == IpFamily::v4 ? filter_preference_v4 : filter_preference_v6;
            layout.set_up.emplace_back(AddFilter{preference, handle++, prefix, target.classid});
        }
    }
    return layout;
}

KernelLayout with_phases(const KernelLayout& layout, const PhaseProgram& program) {
    KernelLayout phases = layout;
    phases.set_up = set_up_above(layout.guard);
    for (const ClassLayout& target : layout.classes) {
        // Its first child comes with it: a class never changes from one that
        // queues packets to one that has children.
        phases.set_up.emplace_back(
            AddClass{target.classid, std::nullopt, parent_of(layout, target.cluster)});
        phases.set_up.emplace_back(AddClass{.classid = shared_class(target.classid), .rate = {},
                                            .parent = target.classid, .burst_bytes = target.burst_bytes});
    }
    phases.set_up.emplace_back(AddClassifier{filter_preference_v4, program, root_handle});
    return phases;
}

std::vector<ClassRate> class_rates(const KernelLayout& layout,
                                   const std::vector<std::vector<ClassRate>>& rates_by_cluster) {
    std::vector<ClassRate> rates;
    rates.reserve(layout.classes.size());
    for (const ClassLayout& target : layout.classes) {
        rates.push_back(rates_by_cluster.empty()
                            ? std::nullopt
                            : rates_by_cluster[layout.own_cluster][target.cluster]);
    }
    return rates;
}

}  // namespace headway
