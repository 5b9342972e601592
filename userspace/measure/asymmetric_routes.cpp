// SPDX-License-Identifier: Apache-2.0
#include "measure/asymmetric_routes.hpp"

#include <map>
#include <utility>

#include "base/text_lines.hpp"

namespace headway {
namespace {

std::string routers(unsigned hops) {
    return hops == 0 ? "no router" : counted(hops, "router");
}

std::string and_others(std::size_t others, const char* what) {
    return others == 0 ? "" : ", and so for " + counted(others, fmt::format("other {}", what));
}

}  // namespace

std::optional<std::string> routes_that_differ(std::span<const SeenRoute> routes, const std::vector<std::string>& names) {
    std::map<std::pair<std::size_t, std::size_t>, unsigned> hops;
    for (const SeenRoute& route : routes) {
        if (route.hops) hops[{route.from, route.to}] = *route.hops;
    }
    std::string first;
    std::size_t pairs = 0;
    for (const auto& [ends, there] : hops) {
        const auto [from, to] = ends;
        const auto back = hops.find({to, from});
        if (from > to || back == hops.end() || back->second == there) continue;
        if (pairs++ > 0) continue;
        first = fmt::format("frames from {} to {} pass {}, those from {} to {} {}", names[from], names[to], routers(there),
                            names[to], names[from], routers(back->second));
    }
    if (pairs == 0) return std::nullopt;
    return fmt::format("{}{}: half of a round trip is no time of one way then, and the tree would be wrong.  Look at the "
                       "routes of both hosts (ip route get) and of the routers, and have them take the same way back; or "
                       "measure hosts that do not need these routers", first, and_others(pairs - 1, "pair"));
}

std::vector<std::string> interfaces_that_differ(std::span<const SeenRoute> routes, const std::vector<std::string>& names) {
    std::map<std::size_t, std::vector<const SeenRoute*>> by_host;
    for (const SeenRoute& route : routes) {
        if (!route.enters.empty() && !route.leaves.empty() && route.enters != route.leaves) by_host[route.to].push_back(&route);
    }
    std::vector<std::string> sentences;
    for (const auto& [host, differing] : by_host) {
        const SeenRoute& one = *differing.front();
        sentences.push_back(fmt::format(
            "frames from {} come to {} by its interface {}, but those from {} to {} leave by {}{}: what is said of the link "
            "of {} is of both, and half of a round trip may be no time of one way.  Have it use one of them (ip route get; "
            "arp_ignore and arp_announce where both are in one network), or name the address of one in --hosts",
            names[one.from], names[host], one.enters, names[host], names[one.from], one.leaves,
            and_others(differing.size() - 1, "host"), names[host]));
    }
    return sentences;
}

}  // namespace headway
