// SPDX-License-Identifier: Apache-2.0
#include "doctor/look.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include <fmt/format.h>

#include "base/file_descriptor.hpp"
#include "base/host_address.hpp"
#include "kernel/kernel_diff.hpp"
#include "kernel/netlink_attributes.hpp"
#include "kernel/netlink_exchange.hpp"
#include "kernel/netlink_traffic_control.hpp"
#include "look/device_facts.hpp"
#include "look/device_speed.hpp"
#include "look/neighbours.hpp"
#include "look/netlink_route.hpp"
#include "look/node_counters.hpp"
#include "look/tcp_sockets.hpp"
#include "protocol/control_client.hpp"

namespace headway {
namespace {

constexpr const char* setting_names[] = {
    "net/ipv4/tcp_congestion_control", "net/ipv4/tcp_early_retrans", "net/ipv4/tcp_recovery",
    "net/ipv4/tcp_sack", "net/ipv4/tcp_window_scaling", "net/ipv4/tcp_slow_start_after_idle",
    "net/ipv4/tcp_autocorking", "net/ipv4/tcp_rmem", "net/ipv4/tcp_wmem", "net/ipv4/tcp_rto_min_us",
    "net/ipv4/tcp_moderate_rcvbuf",
    "net/core/default_qdisc", "net/core/netdev_max_backlog", "net/ipv4/tcp_mem", "net/ipv4/tcp_ecn",
    "net/ipv4/conf/all/arp_ignore", "net/netfilter/nf_conntrack_max"};
constexpr const char* netstat_names[] = {"TCPTimeouts",    "TCPSynRetrans", "TCPLossProbes",  "TCPLostRetransmit",
                                         "TCPFastRetrans", "TCPRcvQDrop",   "TCPBacklogDrop", "ListenDrops",
                                         "TCPSACKReorder", "TCPTSReorder",  "TCPMemoryPressures",
                                         "IPReversePathFilter"};
constexpr const char* snmp_names[] = {"OutSegs", "RetransSegs", "InCsumErrors"};

std::string text_of_file(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

std::string first_line(std::string text) {
    return text.substr(0, text.find('\n'));
}

template <class Map>
typename Map::mapped_type found_in(const Map& map, const std::string& name) {
    const auto found = map.find(name);
    return found != map.end() ? found->second : typename Map::mapped_type{};
}

// ---------------------------------------------------------------------- routes

std::string address_text(const nlattr* attribute) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    const auto bytes = attribute_bytes(attribute);
    if (bytes.size() != 4 && bytes.size() != 16) return "";
    ::inet_ntop(bytes.size() == 4 ? AF_INET : AF_INET6, bytes.data(), text.data(), text.size());
    return text.data();
}

/// A host whose name has been looked up.
struct KnownHost {
    std::string host, address;
    double look_up_s = 0;
};

Result<KnownHost> look_up(const std::string& host) {
    const auto asked = std::chrono::steady_clock::now();
    auto address = resolve_host(host);
    if (!address) return tl::unexpected(address.error());
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - asked;
    return KnownHost{host, std::move(*address), took.count()};
}

Result<HostPath> path_to(NetlinkExchange& kernel, const KnownHost& known) {
    const auto query = encode_route_query(known.address);
    if (!query) return tl::unexpected(query.error());
    auto routes = kernel.query<RouteAnswer>(*query, decode_route);
    if (!routes) {
        return failure("the kernel has no route to {}: {}", known.address, routes.error().message);
    }
    const std::string device = routes->empty() ? "" : interface_name(static_cast<unsigned>(routes->back().ifindex));
    if (device.empty()) return failure("the kernel tells no interface towards {}", known.address);
    HostPath path = std::move(routes->back().path);
    path.host = known.host;
    path.address = known.address;
    path.device = device;
    path.look_up_s = known.look_up_s;
    return path;
}

void look_at_paths(Look& look, const std::vector<KnownHost>& hosts) {
    auto transport = MnlTransport::open();
    for (const KnownHost& known : hosts) {
        Result<HostPath> path = failure("netlink cannot be used");
        if (transport) {
            NetlinkExchange kernel(*transport);
            path = path_to(kernel, known);
        }
        if (path) {
            look.paths.push_back(std::move(*path));
        } else {
            look.failures.push_back({known.host, path.error().message});
        }
    }
}

/// The interface of the default route; "": there is none.
std::string default_device() {
    std::istringstream lines(text_of_file("/proc/net/route"));
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string device, destination;
        if (words >> device >> destination && destination == "00000000") return device;
    }
    return "";
}

// ------------------------------------------------------------------- questions

constexpr std::uint16_t discard_port = 9;
constexpr std::chrono::milliseconds answer_patience{800};  // less than TCP's first time-out

/// A connection that is being opened; none: it cannot be.
std::optional<FileDescriptor> begin_to_connect(const std::string& address) {
    sockaddr_in v4{};
    sockaddr_in6 v6{};
    v4.sin_family = AF_INET;
    v6.sin6_family = AF_INET6;
    v4.sin_port = v6.sin6_port = htons(discard_port);
    const bool is_v4 = ::inet_pton(AF_INET, address.c_str(), &v4.sin_addr) == 1;
    if (!is_v4 && ::inet_pton(AF_INET6, address.c_str(), &v6.sin6_addr) != 1) return std::nullopt;
    FileDescriptor file(::socket(is_v4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!file) return std::nullopt;
    const auto* const to = is_v4 ? reinterpret_cast<const sockaddr*>(&v4) : reinterpret_cast<const sockaddr*>(&v6);
    (void)::connect(file.get(), to, is_v4 ? sizeof(v4) : sizeof(v6));
    return file;
}

/// After poll() has told of it, or its time is up.
bool has_answered(const FileDescriptor& file, short events) {
    int error = 0;
    socklen_t size = sizeof(error);
    if (events == 0 || ::getsockopt(file.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) return false;
    return error == 0 || error == ECONNREFUSED || error == ECONNRESET;
}

// --------------------------------------------------------------------- devices

DeviceLook look_at_device(const std::string& name) {
    DeviceLook device{device_facts(name), device_counters(name)};
    auto transport = MnlTransport::open();
    if (!transport) return device;
    auto kernel = NetlinkTrafficControl::open(*transport, name);
    if (!kernel) return device;
    if (const auto root = kernel->root_qdisc(); root && *root) {
        device.qdisc = (*root)->kind;
        device.counters["qdisc/drops"] = (*root)->dropped_packets;
        device.is_qdisc_default = (*root)->is_default();
        device.is_qdisc_ours = device.qdisc == "gap" || program_qdisc_of(*root);
    }
    return device;
}

/// The block of addresses to which an interface's address belongs.
std::optional<IpPrefix> network_of(const sockaddr_in& address, const sockaddr* netmask) {
    if (netmask == nullptr) return std::nullopt;
    const std::uint32_t mask = reinterpret_cast<const sockaddr_in*>(netmask)->sin_addr.s_addr;
    const in_addr first{address.sin_addr.s_addr & mask};
    std::array<char, INET_ADDRSTRLEN> text{};
    ::inet_ntop(AF_INET, &first, text.data(), text.size());
    const auto network = parse_ip_prefix(fmt::format("{}/{}", text.data(), std::popcount(mask)));
    return network ? std::optional(*network) : std::nullopt;
}

/// Speeds that virtual devices tell are numbers that their drivers made up.
std::optional<BitsPerSecond> card_speed(const std::string& name) {
    const std::filesystem::path folder = "/sys/class/net/" + name;
    std::error_code error;
    const auto has = [&](const char* file) { return std::filesystem::exists(folder / file, error); };
    const std::string carrier = first_line(text_of_file(folder / "carrier"));
    return (has("device") || has("bonding")) && carrier == "1" ? device_speed(name) : std::nullopt;
}

void look_at_interfaces(Look& look) {
    ifaddrs* first = nullptr;
    if (::getifaddrs(&first) != 0) return;
    const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> all(first, ::freeifaddrs);
    for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
        const bool counts = one->ifa_addr != nullptr && one->ifa_addr->sa_family == AF_INET &&
                            (one->ifa_flags & IFF_UP) != 0 && (one->ifa_flags & IFF_LOOPBACK) == 0;
        if (!counts) continue;
        std::array<char, INET_ADDRSTRLEN> text{};
        const auto& address = *reinterpret_cast<const sockaddr_in*>(one->ifa_addr);
        ::inet_ntop(AF_INET, &address.sin_addr, text.data(), text.size());
        look.interfaces.try_emplace(one->ifa_name, InterfaceLook{text.data(), network_of(address, one->ifa_netmask),
                                                                 card_speed(one->ifa_name)});
    }
}

void look_at_settings(Look& look) {
    for (const std::string name : setting_names) {
        std::string text = first_line(text_of_file("/proc/sys/" + name));
        std::replace(text.begin(), text.end(), '\t', ' ');
        if (!text.empty()) look.settings[name.substr(name.rfind('/') + 1)] = text;
    }
}

DaemonLook look_at_daemon(const std::string& socket) {
    auto client = ControlClient::connect(socket);
    if (!client) return tl::unexpected(client.error());
    return client->request("status");
}

}  // namespace

std::string DeviceLook::fact(const std::string& name) const { return found_in(facts, name); }
std::uint64_t DeviceLook::counter(const std::string& name) const { return found_in(counters, name); }

std::uint32_t HostPath::longest_rtt_us() const {
    std::uint32_t longest = 0;
    for (const auto& [cookie, counts] : connections) longest = std::max(longest, counts.rtt_us);
    return longest;
}

std::uint32_t HostPath::longest_least_rtt_us() const {
    std::uint32_t longest = 0;
    for (const auto& [cookie, counts] : connections) longest = std::max(longest, counts.least_rtt_us);
    return longest;
}

std::optional<BitsPerSecond> DeviceLook::speed() const { return parse_device_speed(fact("speed")); }

std::string Look::setting(const std::string& name) const { return found_in(settings, name); }
std::uint64_t Look::tcp_counter(const std::string& name) const { return found_in(tcp, name); }
std::uint64_t Look::node_counter(const std::string& name) const { return found_in(node, name); }

std::optional<RouteAnswer> decode_route(const nlmsghdr* message) {
    const auto route = route_attributes(message);
    if (!route) return std::nullopt;
    const auto& at = *route;
    const auto metrics = attribute_table<RTAX_MAX>(attribute_bytes(at[RTA_METRICS]));
    RouteAnswer answer;
    answer.ifindex = static_cast<int>(attribute_u32(at[RTA_OIF]));
    answer.path.gateway = address_text(at[RTA_GATEWAY]);
    answer.path.source = address_text(at[RTA_PREFSRC]);
    answer.path.mtu_bytes = attribute_u32(metrics[RTAX_MTU]);
    if (metrics[RTAX_RTO_MIN]) answer.path.rto_min_ms = attribute_u32(metrics[RTAX_RTO_MIN]);
    answer.path.congestion_control = attribute_text(metrics[RTAX_CC_ALGO]);
    return answer;
}

std::map<std::string, std::uint64_t> tcp_counters_in(const std::string& netstat,
                                                     const std::string& snmp) {
    std::map<std::string, std::uint64_t> counters;
    for (const char* name : netstat_names) {
        if (const auto value = proc_net_counter(netstat, "TcpExt:", name)) counters[name] = *value;
    }
    for (const char* name : snmp_names) {
        if (const auto value = proc_net_counter(snmp, "Tcp:", name)) counters[name] = *value;
    }
    return counters;
}

void bring_up_to_date(HostPath& path, std::uint64_t cookie, const TcpInfoCounts& now) {
    TcpInfoCounts& known = path.connections[cookie];
    const TcpInfoCounts earlier = known;
    known = now;
    known.rtt_us = std::max(now.rtt_us, earlier.rtt_us);
    const bool is_halved = earlier.window_segments > 0 && 2 * now.window_segments <= earlier.window_segments;
    if (is_halved && now.retransmissions == earlier.retransmissions) ++path.restarts;
}

void look_at_connections(Look& look) {
    std::vector<IpPrefix> hosts;
    for (const HostPath& path : look.paths) {
        if (const auto address = parse_ip_prefix(path.address)) hosts.push_back(*address);
    }
    auto transport = MnlTransport::open(NETLINK_SOCK_DIAG);
    if (hosts.empty() || !transport) return;
    const auto flows = read_tcp_flows(*transport, hosts);
    if (!flows) return;
    for (HostPath& path : look.paths) {
        const auto address = parse_ip_prefix(path.address);
        for (const TcpFlow& flow : *flows) {
            if (address && flow.remote == *address) bring_up_to_date(path, flow.cookie, flow);
        }
    }
}

void ask_silent_hosts(Look& look) {
    const auto deadline = std::chrono::steady_clock::now() + answer_patience;
    std::vector<std::pair<HostPath*, FileDescriptor>> asked;
    for (HostPath& path : look.paths) {
        if (!path.connections.empty()) continue;
        if (auto file = begin_to_connect(path.address)) asked.emplace_back(&path, std::move(*file));
    }
    for (auto& [path, file] : asked) {
        pollfd waiting{file.get(), POLLOUT, 0};
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
        (void)::poll(&waiting, 1, std::max(0, static_cast<int>(left.count())));
        path->is_silent = !has_answered(file, waiting.revents);
    }
    auto transport = MnlTransport::open();
    for (HostPath& path : look.paths) {
        if (!path.is_silent || !transport) continue;
        NetlinkExchange kernel(*transport);
        path.is_without_neighbour =
            is_without_answer(kernel, path.device, path.gateway.empty() ? path.address : path.gateway);
    }
}

void keep_ended_connections(Look& look, const Look& earlier) {
    for (HostPath& path : look.paths) {
        for (const HostPath& before : earlier.paths) {
            if (before.host != path.host) continue;
            path.restarts = before.restarts;
            for (const auto& [cookie, counts] : before.connections) {
                const auto [now, is_gone] = path.connections.insert({cookie, counts});
                if (!is_gone) now->second.rtt_us = std::max(now->second.rtt_us, counts.rtt_us);
            }
        }
    }
}

namespace {

/// `found` has the hosts that cannot be looked at, if there are any.
Look look_at_all(Look found, const std::vector<KnownHost>& hosts, const std::string& daemon_socket) {
    const bool is_any_named = !hosts.empty() || !found.failures.empty();
    look_at_paths(found, hosts);
    look_at_connections(found);
    for (const HostPath& path : found.paths) found.devices.try_emplace(path.device);
    if (const std::string device = default_device(); !is_any_named && !device.empty()) {
        found.devices.try_emplace(device);
    }
    for (auto& [name, device] : found.devices) device = look_at_device(name);
    look_at_interfaces(found);
    look_at_settings(found);
    found.tcp = tcp_counters_in(text_of_file("/proc/self/net/netstat"),
                                text_of_file("/proc/self/net/snmp"));
    found.node = node_counters();
    std::ifstream("/proc/uptime") >> found.uptime_s;
    found.daemon = look_at_daemon(daemon_socket);
    return found;
}

}  // namespace

Look look(const std::vector<std::string>& hosts, const std::string& daemon_socket) {
    Look found;
    std::vector<KnownHost> known;
    for (const std::string& host : hosts) {
        auto one = look_up(host);
        if (one) {
            known.push_back(std::move(*one));
        } else {
            found.failures.push_back({host, one.error().message});
        }
    }
    return look_at_all(std::move(found), known, daemon_socket);
}

Look look_again(const Look& earlier, const std::string& daemon_socket) {
    Look found;
    found.failures = earlier.failures;
    std::vector<KnownHost> known;
    for (const HostPath& path : earlier.paths) known.push_back({path.host, path.address, path.look_up_s});
    return look_at_all(std::move(found), known, daemon_socket);
}

}  // namespace headway
