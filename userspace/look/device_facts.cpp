// SPDX-License-Identifier: Apache-2.0
#include "look/device_facts.hpp"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/file_descriptor.hpp"
#include "kernel/tested_kernels.hpp"
#include "look/pause_counters.hpp"

namespace headway {
namespace {

namespace fs = std::filesystem;

fs::path folder_of(const std::string& interface) { return fs::path("/sys/class/net") / interface; }

/// False: the driver has no such operation.
bool ethtool(const std::string& interface, void* request) {
    const FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq call{};
    interface.copy(call.ifr_name, IFNAMSIZ - 1);
    call.ifr_data = static_cast<char*>(request);
    return socket && ioctl(socket.get(), SIOCETHTOOL, &call) == 0;
}

void add_line(std::map<std::string, std::string>& facts, const fs::path& folder,
              const std::string& name) {
    std::string line;
    if (std::getline(std::ifstream(folder / name) >> std::ws, line)) facts[name] = line;
}

void add_link(std::map<std::string, std::string>& facts, const fs::path& folder,
              const std::string& name) {
    std::error_code error;
    const fs::path target = fs::read_symlink(folder / name, error);
    if (!error) facts[name] = target.filename();
}

std::size_t count_queues(const fs::path& folder, const std::string& prefix) {
    std::size_t count = 0;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder / "queues", error)) {
        if (entry.path().filename().string().starts_with(prefix)) ++count;
    }
    return count;
}

void add_driver(std::map<std::string, std::string>& facts, const std::string& interface) {
    ethtool_drvinfo info{};
    info.cmd = ETHTOOL_GDRVINFO;
    if (!ethtool(interface, &info)) return;
    facts["driver_name"] = info.driver;
    facts["driver_version"] = info.version;
    facts["firmware_version"] = info.fw_version;
    facts["bus"] = info.bus_info;
}

void add_pause(std::map<std::string, std::string>& facts, const std::string& interface) {
    ethtool_pauseparam pause{};
    pause.cmd = ETHTOOL_GPAUSEPARAM;
    if (!ethtool(interface, &pause)) return;
    facts["pause_rx"] = pause.rx_pause != 0 ? "on" : "off";
    facts["pause_tx"] = pause.tx_pause != 0 ? "on" : "off";
}

void add_offloads(std::map<std::string, std::string>& facts, const std::string& interface) {
    constexpr std::array<std::pair<const char*, std::uint32_t>, 3> offloads{
        {{"tso", ETHTOOL_GTSO}, {"gso", ETHTOOL_GGSO}, {"gro", ETHTOOL_GGRO}}};
    for (const auto& [name, question] : offloads) {
        ethtool_value answer{question, 0};
        if (ethtool(interface, &answer)) facts[name] = answer.data != 0 ? "on" : "off";
    }
}

/// The first word of each: what the kernel says behind it is a number for the same.
void add_bond(std::map<std::string, std::string>& facts, const fs::path& folder) {
    const auto add = [&](const char* fact, const char* file) {
        std::string word;
        if (std::ifstream(folder / "bonding" / file) >> word) facts[fact] = word;
    };
    add("bond_mode", "mode");
    add("bond_hash_policy", "xmit_hash_policy");
    std::ifstream members(folder / "bonding" / "slaves");
    std::string all, down;
    for (std::string member, state; members >> member;) {
        all += all.empty() ? member : " " + member;
        std::ifstream(folder / ("lower_" + member) / "bonding_slave" / "mii_status") >> state;
        if (state == "down") down += down.empty() ? member : " " + member;
    }
    if (!all.empty()) facts["bond_members"] = all;
    if (!down.empty()) facts["bond_members_down"] = down;
}

void add_ethtool_counters(std::map<std::string, std::uint64_t>& counters,
                          const std::string& interface) {
    ethtool_drvinfo info{};
    info.cmd = ETHTOOL_GDRVINFO;
    if (!ethtool(interface, &info) || info.n_stats == 0) return;
    const std::size_t count = info.n_stats;
    std::vector<std::uint64_t> names((sizeof(ethtool_gstrings) + count * ETH_GSTRING_LEN) / 8 + 1);
    std::vector<std::uint64_t> values(sizeof(ethtool_stats) / 8 + count + 1);
    auto* const strings = reinterpret_cast<ethtool_gstrings*>(names.data());
    strings->cmd = ETHTOOL_GSTRINGS;
    strings->string_set = ETH_SS_STATS;
    strings->len = info.n_stats;
    auto* const stats = reinterpret_cast<ethtool_stats*>(values.data());
    stats->cmd = ETHTOOL_GSTATS;
    stats->n_stats = info.n_stats;
    if (!ethtool(interface, strings) || !ethtool(interface, stats)) return;
    const auto* const text = reinterpret_cast<const char*>(strings) + sizeof(ethtool_gstrings);
    const auto* const numbers = reinterpret_cast<const char*>(stats) + sizeof(ethtool_stats);
    for (std::size_t i = 0; i < count; ++i) {
        const char* const name = text + i * ETH_GSTRING_LEN;
        std::uint64_t value = 0;
        std::memcpy(&value, numbers + i * sizeof(value), sizeof(value));
        counters["ethtool/" + std::string(name, strnlen(name, ETH_GSTRING_LEN))] = value;
    }
}

}  // namespace

std::map<std::string, std::string> device_facts(const std::string& interface) {
    std::map<std::string, std::string> facts;
    const fs::path folder = folder_of(interface);
    for (const char* name : {"speed", "duplex", "mtu", "operstate", "carrier", "carrier_changes",
                             "tx_queue_len", "type", "flags"}) {
        add_line(facts, folder, name);
    }
    add_line(facts, folder / "device", "vendor");
    add_line(facts, folder / "device", "device");
    add_link(facts, folder, "master");
    add_link(facts, folder / "device", "driver");
    std::ifstream uevent(folder / "uevent");
    for (std::string line; std::getline(uevent, line);) {
        if (line.starts_with("DEVTYPE=")) facts["kind"] = line.substr(std::strlen("DEVTYPE="));
    }
    facts["tx_queues"] = std::to_string(count_queues(folder, "tx-"));
    facts["rx_queues"] = std::to_string(count_queues(folder, "rx-"));
    add_driver(facts, interface);
    add_pause(facts, interface);
    add_offloads(facts, interface);
    add_bond(facts, folder);
    if (const std::string kernel = running_kernel(); !kernel.empty()) facts["kernel"] = kernel;
    return facts;
}

std::map<std::string, std::uint64_t> device_counters(const std::string& interface) {
    std::map<std::string, std::uint64_t> counters;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder_of(interface) / "statistics", error)) {
        std::uint64_t value = 0;
        if (std::ifstream(entry.path()) >> value) {
            counters["statistics/" + entry.path().filename().string()] = value;
        }
    }
    add_ethtool_counters(counters, interface);
    if (const auto frames = read_pause_frames(interface).received) {
        counters.try_emplace("ethtool/rx_pause_frames", *frames);  // many drivers tell it twice
    }
    return counters;
}

}  // namespace headway
