// SPDX-License-Identifier: Apache-2.0
#include "daemon/kernel_access.hpp"

namespace headway {

Result<std::unique_ptr<KernelAccess>> KernelAccess::open(const std::string& interface) {
    auto transport = MnlTransport::open();
    if (!transport) return tl::unexpected(transport.error());
    std::unique_ptr<KernelAccess> access(new KernelAccess(std::move(*transport)));
    auto control = NetlinkTrafficControl::open(access->transport_, interface);
    if (!control) return tl::unexpected(control.error());
    access->control_.emplace(std::move(*control));
    return access;
}

}  // namespace headway
