// SPDX-License-Identifier: Apache-2.0
// What headway doctor looks at, as values.  Nothing here needs root, the qdisc's module or
// the daemon, and nothing is changed.
#pragma once

#include <linux/netlink.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/ip_prefix.hpp"
#include "base/units.hpp"
#include "look/tcp_counters.hpp"

namespace headway {

/// How the kernel would send to a host.
struct HostPath {
    std::string host;     ///< as it was named
    std::string address;  ///< of the host
    std::string device;
    std::string gateway;  ///< "": the host is on the same network
    std::string source;   ///< address of this node
    std::uint32_t mtu_bytes = 0;            ///< 0: the device's
    std::optional<std::uint32_t> rto_min_ms;  ///< of the route; none: the system's
    std::string congestion_control;         ///< of the route; "": the system's
    bool is_silent = false;  ///< ask_silent_hosts() has had no answer
    bool is_without_neighbour = false;  ///< nor has ARP, or IPv6's neighbour discovery, of the next hop
    double look_up_s = 0;    ///< how long its name took to look up
    std::map<std::uint64_t, TcpInfoCounts> connections{};  ///< to the host, by the kernel's number
    std::uint32_t restarts = 0;  ///< times that one's window shrank to half or less with nothing sent again

    /// Returns the longest round trip of these connections; 0: of none it is known.
    [[nodiscard]] std::uint32_t longest_rtt_us() const;
    /// The same of the shortest round trips that each has ever had: without queues.
    [[nodiscard]] std::uint32_t longest_least_rtt_us() const;
};

struct HostFailure {
    std::string host;
    std::string why;
};

/// An interface of a path, as device_facts() and device_counters() read it.
struct DeviceLook {
    std::map<std::string, std::string> facts;
    std::map<std::string, std::uint64_t> counters;
    std::string qdisc = "noqueue";  ///< at the root
    bool is_qdisc_default = true;   ///< the kernel's own, installed by nobody
    bool is_qdisc_ours = false;     ///< gap, or what headwayd makes without its module

    /// "": it is not known.
    [[nodiscard]] std::string fact(const std::string& name) const;
    [[nodiscard]] std::uint64_t counter(const std::string& name) const;
    /// Returns the device's speed; none: the device does not know it.
    [[nodiscard]] std::optional<BitsPerSecond> speed() const;
};

/// An interface that is up, has an IPv4 address, and is not loopback.
struct InterfaceLook {
    std::string address;
    std::optional<IpPrefix> network;          ///< of the address
    std::optional<BitsPerSecond> card_speed;  ///< none: it has no link, or is no card and no bond of cards
};

/// headwayd's answer to "status", or the reason why there is none.
using DaemonLook = Result<nlohmann::json>;

/// At one moment.
struct Look {
    std::vector<HostPath> paths;
    std::vector<HostFailure> failures;  ///< hosts without a path
    std::map<std::string, DeviceLook> devices;
    std::map<std::string, InterfaceLook> interfaces;  ///< by name
    std::map<std::string, std::string> settings;   ///< of the network, as below /proc/sys
    std::map<std::string, std::uint64_t> node;     ///< what the kernel counts beside TCP, and memory_pages
    std::map<std::string, std::uint64_t> tcp;      ///< counters of TCP since the node's start
    double uptime_s = 0;                           ///< since the node's start; 0: unknown
    DaemonLook daemon = failure("nobody has asked");

    [[nodiscard]] std::string setting(const std::string& name) const;
    [[nodiscard]] std::uint64_t tcp_counter(const std::string& name) const;
    [[nodiscard]] std::uint64_t node_counter(const std::string& name) const;
};

/// Towards each of the hosts; without any, of the interface of the default route.
/// `daemon_socket`: where headwayd listens.
[[nodiscard]] Look look(const std::vector<std::string>& hosts, const std::string& daemon_socket);

/// At the same hosts, by the addresses that they had: a slow name service is waited for once.
[[nodiscard]] Look look_again(const Look& earlier, const std::string& daemon_socket);

/// Brings the connections of a look up to date, and keeps those that have ended.  A round trip is the
/// longest of those that were seen.
void look_at_connections(Look& look);

/// Asks the hosts to which there is no connection for one, on a port that nobody serves: a refusal is
/// an answer.  It waits for all of them for less than TCP's first time-out.
void ask_silent_hosts(Look& look);

/// Adds the connections that have ended since an earlier look to the same hosts.
void keep_ended_connections(Look& look, const Look& earlier);

/// One of them.
void bring_up_to_date(HostPath& path, std::uint64_t cookie, const TcpInfoCounts& now);

// Readers of what the kernel says, for tests.

/// The answer to encode_route_query().
struct RouteAnswer {
    int ifindex = 0;
    HostPath path;
};
[[nodiscard]] std::optional<RouteAnswer> decode_route(const nlmsghdr* message);

/// Reads the counters in /proc/net/netstat and /proc/net/snmp.
[[nodiscard]] std::map<std::string, std::uint64_t> tcp_counters_in(const std::string& netstat,
                                                                   const std::string& snmp);

}  // namespace headway
