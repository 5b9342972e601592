// SPDX-License-Identifier: Apache-2.0
#include "daemon/kernel_access.hpp"

#include <cstdlib>
#include <filesystem>

namespace headway {

Result<std::unique_ptr<KernelAccess>> KernelAccess::open(const Config& config) {
    auto transport = MnlTransport::open();
    if (!transport) return tl::unexpected(transport.error());
    std::unique_ptr<KernelAccess> access(new KernelAccess(std::move(*transport)));
    auto netlink = NetlinkTrafficControl::open(access->transport_, config.node.interface);
    if (!netlink) return tl::unexpected(netlink.error());
    access->netlink_.emplace(std::move(*netlink));
    if (config.kernel.via == KernelVia::tc) {
        TcTrafficControl::Options options;
        options.device = config.node.interface;
        options.plugin_dir = tc_plugin_dir(config.kernel);
        access->tc_.emplace(*access->netlink_, std::move(options));
    }
    return access;
}

std::optional<std::string> tc_plugin_dir(const KernelConfig& config) {
    namespace fs = std::filesystem;
    if (config.tc_plugin_dir) return config.tc_plugin_dir;
    if (std::getenv("TC_LIB_DIR") != nullptr) return std::nullopt;
    std::error_code error;
    const fs::path program = fs::read_symlink("/proc/self/exe", error);
    const fs::path beside = program.parent_path().parent_path() / "lib";
    if (!error && fs::exists(beside / "q_gap.so", error)) return beside.string();
    return std::nullopt;
}

}  // namespace headway
