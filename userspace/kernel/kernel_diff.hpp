// SPDX-License-Identifier: Apache-2.0
// From what the kernel has to what it should have.  Pure: no kernel here.
#pragma once

#include <span>
#include <vector>

#include "kernel/traffic_control.hpp"

namespace headway {

/// All of the device that Headway may change.
struct KernelState {
    std::optional<RootQdisc> root;
    std::vector<ClassState> classes;
    std::vector<FilterState> filters;
};

/// Classes and filters are read only of a gap qdisc of our handle.
[[nodiscard]] Result<KernelState> read_kernel(TrafficControl& kernel);

/// A qdisc of our handles: made by this daemon, or by an earlier run.
[[nodiscard]] bool is_ours(const std::optional<RootQdisc>& root);
/// By what a BPF program paces there, at the root or below mq; none: the root is another.
[[nodiscard]] std::optional<ProgramQdisc> program_qdisc_of(const std::optional<RootQdisc>& root);

/// The refusal of a device whose root qdisc is neither its default nor ours;
/// none: it is free, or ours.
[[nodiscard]] std::optional<Error> somebody_elses(const std::optional<RootQdisc>& root);

/// The wanted state, as the requests that make it from a device's default: the root qdisc, then
/// classes (parents first) with their rates, then filters.
struct KernelDesire {
    std::vector<Change> build;
};

/// The classifier comes before that of an earlier run, which decides where this
/// one does not, and stays.
void put_before_classifier(std::vector<Change>& build, std::uint32_t earlier_program);

/// The program of the classifier that a run leaves; none: there is none.
[[nodiscard]] std::optional<std::uint32_t> classifier_of_run(const KernelState& observed);

struct KernelDiff {
    std::vector<Change> changes;  ///< to be made in this order
    /// To be looked at again later: classes that should go, but still hold
    /// packets, and those that go only with a parent in the wrong place.
    std::size_t unfinished = 0;
};

/// A class of ours is never taken
/// away to be made anew but where its parent is wrong; the classifier is
/// replaced with no packet between the old and the new one.  What is in our
/// qdisc and not desired goes: filters first, and classes once they are empty.
/// `observed.root` must not be somebody else's.
[[nodiscard]] KernelDiff diff_kernel(const KernelDesire& desire, const KernelState& observed);

/// Tells the differences in words: "the root qdisc was gone, ...".
[[nodiscard]] std::string diff_to_text(const KernelDiff& diff);

}  // namespace headway
