// SPDX-License-Identifier: Apache-2.0
// The qdisc that is a BPF program (pacing_qdisc.bpf.c), in the kernel.
#pragma once

#include <cstdint>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"

struct bpf_object;

namespace headway {

/// Linux 6.16 and later, built with CONFIG_NET_SCH_BPF.
[[nodiscard]] bool kernel_has_bpf_qdiscs();

/// Before the object is loaded: makes room for so many instances, one for each TX queue, with a place for each
/// clock of a class.  Fails where that would take more memory than a node can spare.
[[nodiscard]] Result<void> size_qdisc(bpf_object& object, std::uint32_t instances);

/// Once it is loaded: gives each instance its places.
[[nodiscard]] Result<void> fill_qdisc(const bpf_object& object, std::uint32_t instances);

/// While this is there, the kernel makes qdiscs by the program's name.  The ones that are there by then hold the
/// program themselves, so that nothing is left behind whenever headwayd ends.
class QdiscName {
public:
    QdiscName() = default;  ///< of no qdisc
    /// Qdiscs may be made on that device of the name space that the caller is in.  Another headwayd that sets up a
    /// device at the same time has the name first: this waits for at most a second.
    [[nodiscard]] static Result<QdiscName> claim(const bpf_object& object, int ifindex);

private:
    explicit QdiscName(FileDescriptor link) : link_(std::move(link)) {}

    FileDescriptor link_;
};

}  // namespace headway
