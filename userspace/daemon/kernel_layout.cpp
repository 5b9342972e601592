// SPDX-License-Identifier: Apache-2.0
#include "daemon/kernel_layout.hpp"

namespace headway {
namespace {

constexpr std::uint16_t first_class_minor = 0x10;
constexpr std::uint16_t rest_minor_offset = 0x100;

}  // namespace

TcHandle rest_class(TcHandle classid) {
    return tc_handle(classid.major(),
                     static_cast<std::uint16_t>(classid.minor() + rest_minor_offset));
}

KernelLayout make_kernel_layout(const Topology& topology, std::size_t own_cluster) {
    KernelLayout layout{own_cluster, {}, {AddRootQdisc{root_handle}}, DeleteRootQdisc{root_handle}};
    std::uint16_t minor = first_class_minor;
    const auto add_class = [&](std::size_t cluster) {
        layout.classes.push_back({tc_handle(root_handle.major(), minor++), cluster});
        layout.set_up.emplace_back(AddClass{layout.classes.back().classid, std::nullopt});
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

KernelLayout with_phases(const KernelLayout& layout, const PhaseProgram& program,
                         std::chrono::nanoseconds linger) {
    KernelLayout phases = layout;
    phases.set_up = {AddRootQdisc{root_handle}};
    for (const ClassLayout& target : layout.classes) {
        // Its first child comes with it: a class never changes from one that
        // queues packets to one that has children.
        phases.set_up.emplace_back(AddClass{target.classid, std::nullopt, std::nullopt, linger});
        phases.set_up.emplace_back(
            AddClass{rest_class(target.classid), std::nullopt, target.classid});
    }
    phases.set_up.emplace_back(AddClassifier{filter_preference_v4, program, root_handle});
    return phases;
}

std::vector<Change> linger_changes(const KernelLayout& layout, std::chrono::nanoseconds linger) {
    std::vector<Change> changes;
    for (const ClassLayout& target : layout.classes) {
        changes.emplace_back(ChangeClassOrder{target.classid, linger});
    }
    return changes;
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
