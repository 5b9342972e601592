// SPDX-License-Identifier: Apache-2.0
#include "kernel/kernel_layout.hpp"

#include <algorithm>
#include <iterator>

namespace headway {
namespace {

constexpr std::uint16_t first_class_minor = 0x10;
constexpr std::uint16_t shared_minor_offset = 0x100;

/// Guard and cap are made at the fallback; what becomes of them later is not the
/// layout's business.
std::vector<Change> fence(const ClassLease& guard) {
    AddClass above{guard_class, std::nullopt};
    above.lease = guard;
    above.keeps_rate = true;
    AddClass below{cap_class, guard.fallback, guard_class};
    below.keeps_rate = true;
    return {above, below};
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
                                const std::optional<ClassLease>& guard) {
    KernelLayout layout{
        own_cluster, guard, {}, {AddRootQdisc{root_handle}}, DeleteRootQdisc{root_handle}};
    if (guard) std::ranges::copy(fence(*guard), std::back_inserter(layout.set_up));
    std::uint16_t minor = first_class_minor;
    const auto add_class = [&](std::size_t cluster) {
        layout.classes.push_back({tc_handle(root_handle.major(), minor++), cluster});
        layout.set_up.emplace_back(
            AddClass{layout.classes.back().classid, std::nullopt, parent_of(layout, cluster)});
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
    phases.set_up = {AddRootQdisc{root_handle}};
    if (layout.guard) std::ranges::copy(fence(*layout.guard), std::back_inserter(phases.set_up));
    for (const ClassLayout& target : layout.classes) {
        // Its first child comes with it: a class never changes from one that
        // queues packets to one that has children.
        phases.set_up.emplace_back(
            AddClass{target.classid, std::nullopt, parent_of(layout, target.cluster)});
        phases.set_up.emplace_back(
            AddClass{shared_class(target.classid), std::nullopt, target.classid});
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
