// SPDX-License-Identifier: MIT
#include "host_ring.hpp"

#include <algorithm>

namespace headway::glue {
namespace {

int host_of(const HostRing::Hosts& hosts, int rank) {
    const auto host = std::find_if(hosts.begin(), hosts.end(), [&](const std::vector<int>& ranks) {
        return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
    });
    return static_cast<int>(host - hosts.begin());
}

}  // namespace

HostRing::HostRing(const Hosts& ranks_of_host, int own_rank)
    : hosts_(&ranks_of_host), own_rank_(own_rank), own_host_(host_of(ranks_of_host, own_rank)) {}

HostRing HostRing::led_by(int rank) const {
    HostRing led = *this;
    led.root_ = rank;
    led.root_host_ = host_of(*hosts_, rank);
    return led;
}

int HostRing::ranks() const {
    std::size_t ranks = 0;
    for (const auto& on_host : *hosts_) ranks += on_host.size();
    return static_cast<int>(ranks);
}

int HostRing::leader(int steps) const { return is_host_of_root(steps) ? root_ : ranks_on(steps)[0]; }

/// Numbered from the leader on, rank i of a binomial tree has i without its lowest bit for
/// a parent, and those for children that add a bit lower than that.
TreePlace HostRing::within_host() const {
    const std::vector<int>& ranks = ranks_on(0);
    const auto index_of = [&](int rank) {
        return static_cast<std::size_t>(std::find(ranks.begin(), ranks.end(), rank) - ranks.begin());
    };
    const std::size_t first = index_of(leader(0));
    const std::size_t own = (index_of(own_rank_) + ranks.size() - first) % ranks.size();
    const auto rank_of = [&](std::size_t number) { return ranks[(number + first) % ranks.size()]; };

    TreePlace place;
    if (own != 0) place.parent = rank_of(own & (own - 1));
    for (std::size_t bit = 1; (own & bit) == 0 && own + bit < ranks.size(); bit *= 2)
        place.children.push_back(rank_of(own + bit));
    std::reverse(place.children.begin(), place.children.end());  // the largest part first
    return place;
}

TreePlace HostRing::from_root() const {
    TreePlace place = within_host();
    if (!is_leader()) return place;
    if (!is_host_of_root(0)) place.parent = leader(-1);
    if (!is_host_of_root(1)) place.children.insert(place.children.begin(), leader(1));
    return place;
}

TreePlace HostRing::to_root() const {
    TreePlace place = within_host();
    if (!is_leader()) return place;
    if (!is_host_of_root(0)) place.parent = leader(1);
    if (!is_host_of_root(-1)) place.children.push_back(leader(-1));
    return place;
}

}  // namespace headway::glue
