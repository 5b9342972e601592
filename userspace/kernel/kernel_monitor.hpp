// SPDX-License-Identifier: Apache-2.0
// What others do to the device: the kernel tells it to whoever listens.
#pragma once

#include <cstdint>
#include <string>

#include <linux/netlink.h>

#include "base/error.hpp"
#include "kernel/netlink_exchange.hpp"

namespace headway {

/// A device whose changes the monitor tells.
struct MonitoredDevice {
    std::string name;
    int ifindex = 0;
};

/// True if the message may mean that the device, its qdisc, a class or a filter
/// is not as it was.
[[nodiscard]] bool concerns(const nlmsghdr* message, const MonitoredDevice& device);

class KernelMonitor {
public:
    /// Opens a monitor that does not hear of changes by this netlink port, the daemon's own: the
    /// kernel drops these by a socket filter, so that the daemon does not wake up after each of its
    /// requests.
    [[nodiscard]] static Result<KernelMonitor> open(std::uint32_t own_port);

    /// Opens another socket in the place of one that read() cannot read.
    [[nodiscard]] Result<void> reopen();

    /// Readable when there is something to read.
    [[nodiscard]] int fd() const { return transport_.fd(); }

    /// Reads what there is; true if any of it concerns the device, or if so much
    /// came that the kernel dropped some (ENOBUFS).
    [[nodiscard]] Result<bool> read(const MonitoredDevice& device);

private:
    KernelMonitor(MnlTransport transport, std::uint32_t own_port)
        : transport_(std::move(transport)), own_port_(own_port) {}

    MnlTransport transport_;
    std::uint32_t own_port_;
};

}  // namespace headway
