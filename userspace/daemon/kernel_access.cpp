// SPDX-License-Identifier: Apache-2.0
#include "daemon/kernel_access.hpp"

#include "kernel/device_speed.hpp"

namespace headway {

Result<std::unique_ptr<KernelAccess>> KernelAccess::open(const std::string& interface) {
    auto transport = MnlTransport::open();
    if (!transport) return tl::unexpected(transport.error());
    std::unique_ptr<KernelAccess> access(new KernelAccess(std::move(*transport), interface));
    auto control = NetlinkTrafficControl::open(access->transport_, interface);
    if (!control) return tl::unexpected(control.error());
    access->control_.emplace(std::move(*control));
    return access;
}

void KernelAccess::use_fq(const BpfPhaseMaps& program, BitsPerSecond host_rate) {
    classes_ = bpf_fq_classes(program.fq_classes_fd(), program.fq_clocks_fd());
    fq_.emplace(*control_, *classes_, clock_, [name = interface_, host_rate] {
        return device_speed(name).value_or(host_rate);
    });
}

}  // namespace headway
