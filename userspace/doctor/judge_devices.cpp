// SPDX-License-Identifier: Apache-2.0
// What the interfaces towards the hosts, and the node's others, cost.
#include <algorithm>
#include <array>
#include <set>
#include <sstream>
#include <string>

#include <fmt/format.h>

#include "base/text_lines.hpp"
#include "base/units.hpp"
#include "doctor/examination.hpp"
#include "kernel/tested_kernels.hpp"

namespace headway {
namespace {

// Cards of clusters are faster; who runs at 100 Mbit/s has negotiated badly.
constexpr std::uint64_t slowest_card_bps = 100'000'000;

/// Drivers of cards that drop the PAUSE frames of everybody but their own firmware, by a
/// filter that the driver installs: so gap frames take no time there.
constexpr std::array drivers_without_gap_frames{"i40e", "ice"};

/// Queues that hold packets until there is no room; others drop some on purpose.
const std::set<std::string> plain_queues{"pfifo", "bfifo", "pfifo_fast", "mq", "noqueue"};

void judge_link(Examination& of, const std::string& name, const DeviceLook& device) {
    // operstate follows the carrier within a second, and a device that is down tells of no carrier
    const std::string carrier = device.fact("carrier");
    if (carrier == "0" || (carrier.empty() && device.fact("operstate") == "down")) {
        of.add_cause_of_losses(Cause::no_link, fmt::format("{} has no link.", name),
            "Look at the cable and the port of the switch.");
    }
    if (device.fact("duplex") == "half") {
        of.add_cause_of_losses(
            Cause::half_duplex, fmt::format("{} works in half duplex: data and acknowledgements collide.", name),
            fmt::format("Let both ends negotiate (ethtool -s {} autoneg on).", name));
    }
    // a tunnel's speed is a number that its driver made up
    const bool is_card = device.fact("driver_name") != "tun";
    if (const auto speed = device.speed(); is_card && speed && speed->value <= slowest_card_bps) {
        of.add(Weight::slows, Cause::slow_link, fmt::format("{} runs at {} only.", name, rate_to_text(*speed)),
            fmt::format("ethtool -s {} autoneg on, and if that does not mend it another cable or port; ethtool {} "
                        "tells what both ends offer.",
                        name, name));
    }
    if (const auto broken = of.device_rose(name, "statistics/rx_crc_errors"); broken > 0) {
        of.add_cause_of_losses(Cause::broken_frames,
            fmt::format("{} has received {} broken {}.", name,
                        counted(broken, "frame"), in_seconds(of.seconds)),
            "Change the cable or the transceiver.");
    }
}

void judge_received(Examination& of, const std::string& name) {
    std::uint64_t lost = 0;
    for (const char* counter : {"statistics/rx_missed_errors", "statistics/rx_fifo_errors"})
        lost += of.device_rose(name, counter);
    if (lost > 0) {
        of.add_cause_of_losses(Cause::receive_ring,
            fmt::format("{} has lost {} {} because its receive ring was full.", name,
                        counted(lost, "frame"), in_seconds(of.seconds)),
            fmt::format("A longer ring (ethtool -G {} rx ...), or interrupts on more processors.", name));
    }
    if (const auto dropped = of.device_rose(name, "statistics/tx_dropped"); dropped > 0) {
        of.add_cause_of_losses(Cause::dropped_by_driver,
            fmt::format("{} has dropped {} of its own {} before they were sent.", name,
                        counted(dropped, "frame"), in_seconds(of.seconds)),
            fmt::format("Look at the queue of {} (tc -s qdisc show dev {}).", name, name));
    }
}

void judge_pause(Examination& of, const std::string& name, const DeviceLook& device) {
    for (const auto& [counter, value] : device.counters) {
        const bool counts_pauses = counter.starts_with("ethtool/") && counter.find("rx") != std::string::npos &&
                                   (counter.find("pause") != std::string::npos ||
                                    counter.find("xoff") != std::string::npos);
        const auto pauses = counts_pauses ? of.device_rose(name, counter.c_str()) : 0;
        if (pauses == 0) continue;
        of.add(Weight::loses, Cause::paused,
            fmt::format("the switch has paused {} {} {} ({}).", name,
                        counted(pauses, "time"), in_seconds(of.seconds), counter),
            "The switch's buffers fill: pace the senders (headway run --measure -- mpirun ./program).  Paused links "
            "also hold up traffic that has nothing to do with the full port.");
        break;
    }
    if (device.fact("pause_tx") == "on") {
        of.add(Weight::note, Cause::sends_pause,
            fmt::format("{} may send PAUSE frames itself, which gap frames would cancel: headwayd "
                        "paces it by the timer.",
                        name),
            fmt::format("For gap frames: ethtool -A {} tx off.", name));
    }
    const std::string driver = device.fact("driver_name");
    if (std::find(drivers_without_gap_frames.begin(), drivers_without_gap_frames.end(), driver) !=
        drivers_without_gap_frames.end()) {
        of.add(Weight::note, Cause::no_gap_frames,
            fmt::format("{} is driven by {}, which drops PAUSE frames that the host sends: gap frames "
                        "take no time there.",
                        name, driver),
            "Leave it to headwayd, whose self-test chooses the timer.");
    }
}

/// DKMS leaves the module out where nobody has tested it.
void judge_kernel(Examination& of, const std::string& name, const DeviceLook& device) {
    const std::string why = why_kernel_is_not_tested(device.fact("kernel"));
    if (device.qdisc == "gap" || why.empty()) return;
    of.add(
        Weight::note, Cause::kernel_not_tested,
        fmt::format("{} is paced less exactly than by the module sch_gap: {}.", name, why),
        "Boot one of these kernels; headway-dkms builds the module for it.");
}


void judge_qdisc(Examination& of, const std::string& name, const DeviceLook& device) {
    if (device.is_qdisc_default) return;
    if (device.is_qdisc_ours) {
        if (!of.after.daemon) {
            of.add(Weight::slows, Cause::leftover_qdisc,
                fmt::format("{} has Headway's qdisc {}, and headwayd does not answer: its classes keep "
                            "the rates that they fell back to.",
                            name, device.qdisc),
                "Start headwayd, or remove the qdisc (tc qdisc del dev " + name + " root).");
        }
        judge_kernel(of, name, device);
        return;
    }
    for (const char* forgotten : {"tbf", "netem"}) {
        if (device.qdisc != forgotten) continue;
        of.add_cause_of_losses(Cause::limiting_qdisc,
            fmt::format("somebody has given {} the qdisc {}, which limits, delays or drops what it sends.", name,
                        forgotten),
            fmt::format("tc qdisc del dev {} root, unless it is meant to be there.", name));
    }
    for (const char* shaper : {"htb", "hfsc", "cake", "cbq"}) {
        if (device.qdisc != shaper) continue;
        of.add(Weight::note, Cause::other_qdisc,
            fmt::format("somebody has given {} the qdisc {}, which may limit or delay what it sends.",
                        name, shaper),
            fmt::format("See tc -s qdisc show dev {}; headwayd does not replace it.", name));
    }
}

void judge_own_queue(Examination& of, const std::string& name, const DeviceLook& device) {
    const auto dropped = of.device_rose(name, "qdisc/drops");
    if (dropped == 0 || !plain_queues.contains(device.qdisc)) return;
    of.add_cause_of_losses(Cause::short_queue,
        fmt::format("the qdisc {} of {} has dropped {} {}: it is too short for what this node sends.", device.qdisc,
                    name, counted(dropped, "packet"), in_seconds(of.seconds)),
        device.is_qdisc_default
            ? fmt::format("ip link set dev {} txqueuelen 1000", name)
            : fmt::format("tc qdisc del dev {} root, unless it is meant to be there, or a longer limit.", name));
}

void judge_bond(Examination& of, const std::string& name, const DeviceLook& device) {
    const std::string policy = device.fact("bond_hash_policy"), mode = device.fact("bond_mode");
    std::istringstream dead(device.fact("bond_members_down"));
    for (std::string member; dead >> member;) {
        of.add(Weight::loses, Cause::bond_member,
               fmt::format("{} has lost its member {}, which has no link: the others carry its share.", name, member),
               fmt::format("Look at the cable of {0} and at its port of the switch (ip link show {0}).", member));
    }
    const bool is_hashed = mode == "balance-xor" || mode == "802.3ad";
    if (is_hashed && policy == "layer2") {
        of.add(Weight::slows, Cause::bond_hash,
               fmt::format("{} chooses its links by MAC addresses alone (xmit_hash_policy layer2): all connections to "
                           "one host, or through one router, share a link.",
                           name),
               fmt::format("ip link set {} type bond xmit_hash_policy layer3+4", name));
    }
}

void judge_device(Examination& of, const std::string& name, const DeviceLook& device) {
    judge_link(of, name, device);
    judge_received(of, name);
    judge_pause(of, name, device);
    judge_qdisc(of, name, device);
    judge_own_queue(of, name, device);
    judge_bond(of, name, device);
    for (const char* offload : {"tso", "gso", "gro"}) {
        if (device.fact(offload) == "off") {
            of.add(
                Weight::slows, Cause::offload,
                fmt::format("{}: {} is off, so each packet is handled by itself.", name, offload),
                fmt::format("ethtool -K {} {} on, unless it was switched off for a reason.", name, offload));
        }
    }
}

/// A host that has two ways gets the one that its address stands for.
void judge_choice(Examination& of) {
    for (const HostPath& path : of.after.paths) {
        const auto used = of.after.interfaces.find(path.device);
        if (used == of.after.interfaces.end() || !used->second.card_speed) continue;
        for (const auto& [name, other] : of.after.interfaces) {
            if (!other.card_speed || other.card_speed->value < 2 * used->second.card_speed->value) continue;
            of.add(Weight::loses, Cause::slower_interface,
                   fmt::format("the way to {} ({}) goes by {} at {}, and the node has {} at {}.", path.host,
                               path.address, path.device, rate_to_text(*used->second.card_speed), name,
                               rate_to_text(*other.card_speed)),
                   fmt::format("If the hosts have addresses there, name the interface: mpirun --mca btl_tcp_if_include "
                               "{0}, or UCX_NET_DEVICES={0}; or name the hosts by these addresses.",
                               name));
            return;
        }
    }
}

/// Linux answers ARP for any of its addresses on any interface.
void judge_shared_networks(Examination& of) {
    if (of.after.setting("arp_ignore") != "0") return;
    for (const auto& [name, device] : of.after.devices) {
        const auto own = of.after.interfaces.find(name);
        if (own == of.after.interfaces.end()) continue;
        for (const auto& [other, look] : of.after.interfaces) {
            if (other == name || !look.network || look.network != own->second.network) continue;
            of.add(Weight::slows, Cause::shared_network,
                   fmt::format("{} and {} have addresses of the same network, {}: both answer ARP for either, and all "
                               "that the node sends leaves by one of them.",
                               name, other, look.network->to_string()),
                   "Give each interface a network of its own, or make a bond of them.  At least: sysctl -w "
                   "net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2");
            return;
        }
    }
}

}  // namespace

void judge_devices(Examination& of) {
    for (const auto& [name, device] : of.after.devices) judge_device(of, name, device);
    judge_choice(of);
    judge_shared_networks(of);
}

/// Open MPI uses all interfaces that are up, and MPICH's UCX the fastest ones.
void judge_other_interfaces(Examination& of) {
    std::string used, others;
    for (const auto& [name, look] : of.after.interfaces) {
        auto& list = of.after.devices.contains(name) ? used : others;
        list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", name, look.address);
    }
    if (used.empty() || others.empty()) return;
    const std::string& first = of.after.devices.begin()->first;
    of.add(Weight::note, Cause::other_interfaces,
           fmt::format("the node has other interfaces that are up, {}, where Open MPI and UCX connect as well if "
                       "the other hosts have addresses there.",
                       others),
           fmt::format("Name the one to use: mpirun --mca btl_tcp_if_include {0}, or UCX_NET_DEVICES={0}.", first));
}

}  // namespace headway
