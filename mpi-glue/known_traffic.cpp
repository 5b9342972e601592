// SPDX-License-Identifier: MIT
#include "known_traffic.hpp"

#include <algorithm>
#include <utility>

#include "neighbours.hpp"

namespace headway::glue {
namespace {

void add_message(HostTraffic& traffic, int from, int to) {
    if (from != to) ++traffic[std::pair{from, to}];
}

}  // namespace

HostTraffic neighbour_traffic(const HostTable& table, MPI_Comm communicator,
                              const HostSet& hosts) {
    HostTraffic traffic;
    const std::vector<int> places = table.places_of(communicator, hosts);
    if (places.size() > HostTable::told_max) return traffic;
    const auto destinations = destinations_of_all(communicator);
    for (std::size_t rank = 0; rank < destinations.size(); ++rank) {
        for (const int to : destinations[rank])
            add_message(traffic, places[rank], places[static_cast<std::size_t>(to)]);
    }
    return traffic;
}

HostTraffic ring_traffic(const HostTable& table, MPI_Comm communicator, const HostSet& hosts) {
    HostTraffic traffic;
    if (hosts.size() > HostTable::told_max) return traffic;
    const std::vector<int> places = table.places_of(communicator, hosts);
    std::vector<int> ring;  // the hosts' places
    for (const auto& cluster : table.clusters_of(communicator)) {
        for (const auto& ranks : cluster) ring.push_back(places[static_cast<std::size_t>(ranks.front())]);
    }
    for (std::size_t host = 0; host < ring.size(); ++host)
        add_message(traffic, ring[host], ring[(host + 1) % ring.size()]);
    return traffic;
}

HostTraffic uneven_traffic(const HostTable& table, MPI_Comm communicator, const HostSet& hosts) {
    HostTraffic traffic;
    if (hosts.size() > uneven_hosts_max) return traffic;
    std::vector<int> ranks(hosts.size());
    for (const int place : table.places_of(communicator, hosts))
        ++ranks[static_cast<std::size_t>(place)];
    const auto [least, most] = std::minmax_element(ranks.begin(), ranks.end());
    if (least == ranks.end() || *least == *most) return traffic;
    for (std::size_t from = 0; from < ranks.size(); ++from) {
        for (std::size_t to = 0; to < ranks.size(); ++to) {
            if (from != to)
                traffic[std::pair{static_cast<int>(from), static_cast<int>(to)}] =
                    double(ranks[from]) * ranks[to];
        }
    }
    return traffic;
}

}  // namespace headway::glue
