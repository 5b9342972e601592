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

/// Member `own` of `members` that are numbered from the root of a binomial tree on: it has its number without the lowest
/// bit for a parent, and those for children that add a bit lower than that, the largest part first.
void add_to_binomial_tree(TreePlace& place, int own, int members, const auto& rank_of) {
    if (own != 0) place.parent = rank_of(own & (own - 1));
    int bit = 1;
    while ((own & bit) == 0 && own + bit < members) bit *= 2;
    for (bit /= 2; bit > 0; bit /= 2) place.add_child(rank_of(own + bit));
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

int HostRing::leader(int steps) const { return is_host_of_root(steps) ? root_ : ranks_on(steps)[0]; }

TreePlace HostRing::within_host() const {
    const std::vector<int>& ranks = ranks_on(0);
    const int count = static_cast<int>(ranks.size());
    const auto index_of = [&](int rank) {
        return static_cast<int>(std::find(ranks.begin(), ranks.end(), rank) - ranks.begin());
    };
    const int first = index_of(leader(0));
    TreePlace place;
    add_to_binomial_tree(place, wrapped(index_of(own_rank_) - first, count), count,
                         [&](int number) { return ranks[static_cast<std::size_t>(wrapped(number + first, count))]; });
    return place;
}

TreePlace HostRing::from_root(Shape shape) const {
    TreePlace within = within_host();
    if (!is_leader()) return within;
    TreePlace place;  // those on other hosts come first
    if (shape == Shape::tree) {
        add_to_binomial_tree(place, wrapped(own_host_ - root_host_, hosts()), hosts(),
                             [&](int number) { return leader(root_host_ + number - own_host_); });
    } else {
        if (!is_host_of_root(0)) place.parent = leader(-1);
        if (!is_host_of_root(1)) place.add_child(leader(1));
    }
    for (const int child : within.children()) place.add_child(child);
    return place;
}

}  // namespace headway::glue
